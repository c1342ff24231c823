//! A manifest file cut into its YAML documents, each with the line it starts at.
//!
//! A line that begins with `---` or `...` ends a document wherever it stands, even inside a quoted
//! string (YAML 1.2.2 section 9.1.2), so cutting by lines is exact. It keeps one document's trouble
//! from its neighbours, and positions stay absolute.

/// One document of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Document<'a> {
    /// The lines before it in the file.
    pub(super) lines_before: u32,
    /// Its text, its own marker line included.
    pub(super) text: &'a str,
}

/// The documents of a file that hold something.
pub(super) fn documents(text: &str) -> Vec<Document<'_>> {
    let mut found = Vec::new();
    let mut current = Document { lines_before: 0, text: "" };
    let (mut start, mut at) = (0, 0);
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let begins = is_marker(line, "---") && !is_preamble(&text[start..at]);
        if begins || is_marker(line, "...") {
            let end = if begins { at } else { at + line.len() };
            current.text = &text[start..end];
            found.push(current);
            start = end;
            current.lines_before = number as u32 + u32::from(!begins);
        }
        at += line.len();
    }
    current.text = &text[start..];
    found.push(current);
    found.retain(|document| holds_something(document.text));
    found
}

fn is_marker(line: &str, marker: &str) -> bool {
    line.strip_prefix(marker).is_some_and(|rest| rest.trim_start().len() < rest.len() || rest.is_empty())
}

/// Directives and comments belong to the document whose marker follows.
fn is_preamble(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').lines().all(|line| is_blank(line) || line.starts_with('%'))
}

fn holds_something(text: &str) -> bool {
    !is_preamble(text) && text.lines().any(|line| !is_blank(without_marker(line)) && !line.starts_with('%'))
}

fn without_marker(line: &str) -> &str {
    if is_marker(line, "---") || is_marker(line, "...") { &line[3..] } else { line }
}

fn is_blank(line: &str) -> bool {
    let line = line.trim_start();
    line.is_empty() || line.starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("a: 1\n", &[(0, "a: 1\n")])]
    #[case("a: 1\n---\nb: 2\n", &[(0, "a: 1\n"), (1, "---\nb: 2\n")])]
    #[case("---\na: 1\n---\nb: 2", &[(0, "---\na: 1\n"), (2, "---\nb: 2")])]
    #[case("# first\n\n---\na: 1\n", &[(0, "# first\n\n---\na: 1\n")])]
    #[case("%YAML 1.2\n---\na: 1\n", &[(0, "%YAML 1.2\n---\na: 1\n")])]
    #[case("a: 1\n...\nb: 2\n", &[(0, "a: 1\n...\n"), (2, "b: 2\n")])]
    #[case("a: 1\n---\n---\n# nothing\n---\nb: 2\n", &[(0, "a: 1\n"), (4, "---\nb: 2\n")])]
    #[case("--- {a: 1}\n--- # two\nb: 2\n", &[(0, "--- {a: 1}\n"), (1, "--- # two\nb: 2\n")])]
    #[case("---\r\na: 1\r\n---\r\nb: 2\r\n", &[(0, "---\r\na: 1\r\n"), (2, "---\r\nb: 2\r\n")])]
    #[case("a: |\n  ---\n  x\n----: 1\n", &[(0, "a: |\n  ---\n  x\n----: 1\n")])]
    #[case("", &[])]
    #[case("\u{feff}# only a comment\n", &[])]
    #[case("---\n...\n", &[])]
    fn a_file_is_cut_at_its_markers(#[case] text: &str, #[case] expected: &[(u32, &str)]) {
        let found: Vec<_> = documents(text).iter().map(|d| (d.lines_before, d.text)).collect();
        assert_eq!(found, expected);
    }
}
