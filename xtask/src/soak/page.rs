//! The page on which the counts are kept: a table with a row for each part, found by its first cell.

use anyhow::{Result, bail};

/// The page with what was seen in the last cell of a row.
pub(super) fn with(text: &str, key: &str, seen: &str) -> Result<String> {
    let start = format!("| `{key}` |");
    let mut found = false;
    let lines = text.lines().map(|line| match line.strip_prefix(&start) {
        Some(rest) => {
            found = true;
            format!("{start}{}| {} |", kept(rest), seen.replace('|', "/"))
        }
        None => line.to_owned(),
    });
    let text = lines.map(|line| line + "\n").collect();
    if !found {
        bail!("the page has no row for `{key}`");
    }
    Ok(text)
}

/// The cells of a row but for the last.
fn kept(row: &str) -> &str {
    let row = row.trim_end().trim_end_matches('|');
    row.rfind('|').map_or(row, |at| &row[..at])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    const PAGE: &str =
        "# Page\n\n| | what | seen |\n|---|---|---|\n| `one` | first | never |\n| `two` | second | 5 |\n";

    #[test]
    fn one_row_is_written_and_all_else_stands() {
        let page = with(PAGE, "one", "7 | 8").unwrap();
        assert_eq!(page, PAGE.replace("never", "7 / 8"));
        assert_eq!(with(&page, "one", "never").unwrap(), PAGE);
    }

    #[test]
    fn a_page_without_the_row_is_not_touched() {
        assert_eq!(with(PAGE, "three", "1").unwrap_err().to_string(), "the page has no row for `three`");
    }
}
