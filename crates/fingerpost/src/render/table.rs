//! Columns without borders.

use comfy_table::{ContentArrangement, Table, presets};
use dns::visible;

/// The rows as lines with aligned columns, two spaces apart. Control characters are escaped, so a row is one line.
pub fn lines(rows: impl IntoIterator<Item = Vec<String>>) -> Vec<String> {
    let rows =
        rows.into_iter().map(|row| row.iter().map(|cell| visible(cell).into_owned()).collect::<Vec<_>>());
    let mut table = Table::new();
    table.load_preset(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.add_rows(rows);
    for column in table.column_iter_mut() {
        column.set_padding((0, 2));
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_lines_have_no_tail() {
        let rows = [vec!["a".to_owned(), "1".to_owned()], vec!["long".to_owned(), "22".to_owned()]];
        assert_eq!(lines(rows), ["a     1", "long  22"]);
    }

    #[test]
    fn control_characters_in_a_cell_are_escaped() {
        let row = vec!["a\u{1b}[31m\nb".to_owned(), "1".to_owned()];
        assert_eq!(lines([row]), ["a\\u{1b}[31m\\nb  1"]);
    }

    #[test]
    fn nothing_is_no_line() {
        assert_eq!(lines([]), [""; 0]);
    }
}
