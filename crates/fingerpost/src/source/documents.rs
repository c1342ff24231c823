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
    /// How many parser events its aliases may add to those of its text.
    pub(super) aliased: usize,
}

/// How many parser events the aliases of a whole file may add, beside one for each octet.
const ALIASED: usize = 100_000;

/// The documents of a file that hold something.
pub(super) fn documents(text: &str) -> Vec<Document<'_>> {
    let mut found = Vec::new();
    let mut current = Document { lines_before: 0, text: "", aliased: 0 };
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
    share_aliases(&mut found);
    found
}

/// What aliases may cost is shared by the documents that may have some, so that the cost of a file is
/// bounded by its length however many documents it has.
fn share_aliases(documents: &mut [Document<'_>]) {
    let may_have = |document: &Document<'_>| document.text.contains('*');
    let sharing = documents.iter().filter(|document| may_have(document)).count();
    for document in documents.iter_mut().filter(|document| may_have(document)) {
        document.aliased = document.text.len() + ALIASED / sharing.max(1);
    }
}

/// Whether a text is what a write that was cut off leaves of the last one: its beginning, up to a place where no edit
/// ends. Such places are inside a line, behind a marker that nothing follows where the last text has none at
/// its end, inside a document that others followed, behind a key that had a block, and before a document's spec.
pub(super) fn is_cut_off(text: &str, last: &str) -> bool {
    let Some(rest) = last.strip_prefix(text).filter(|rest| holds_something(rest)) else { return false };
    let is_inside_a_line = || !text.ends_with('\n') && !is_blank(rest.lines().next().unwrap_or_default());
    let ends_with_a_marker = |text: &str| {
        let last = text.lines().rev().find(|line| !is_blank(line));
        last.is_some_and(|line| is_marker(line, "---") && is_blank(without_marker(line)))
    };
    // Some programs write a marker behind every document.
    let is_behind_a_marker = || ends_with_a_marker(text) && !ends_with_a_marker(last);
    let is_inside_a_document = || {
        let mut lines = rest.lines().filter(|line| !is_blank(line) && !ends_with_a_marker(text));
        lines.next().is_some_and(|line| !is_marker(line, "---")) && lines.any(|line| is_marker(line, "---"))
    };
    let is_behind_a_key = || {
        let next = rest.lines().find(|line| !is_blank(line));
        let last = text.lines().rev().find(|line| !is_blank(line));
        last.zip(next).is_some_and(|(key, next)| key.trim_end().ends_with(':') && is_inside(next, key))
    };
    let is_before_the_spec = || {
        let mut lines = rest.lines().take_while(|line| !is_marker(line, "---"));
        !ends_with_a_marker(text) && lines.any(|line| line.starts_with("spec:"))
    };
    is_inside_a_line()
        || is_behind_a_marker()
        || is_inside_a_document()
        || is_behind_a_key()
        || is_before_the_spec()
}

/// Whether a line begins the block of the key before it. The items of a list may have the key's own indentation.
fn is_inside(line: &str, key: &str) -> bool {
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let is_item = line.trim_start().starts_with("- ");
    indentation(line) > indentation(key) || is_item && indentation(line) == indentation(key)
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

    #[rstest]
    #[case::inside_a_line("a: 1\nb: 2\n", "a: 1\nb: ", true)]
    #[case::inside_a_value("a: 1\nb: 22\n", "a: 1\nb: 2", true)]
    #[case::without_the_last_line_feed("a: 1\nb: 2\n", "a: 1\nb: 2", false)]
    #[case::behind_a_line_of_the_last_document("a: 1\nb: 2\n", "a: 1\n", false)]
    #[case::behind_a_line_without_its_end("a: 1\nb: 2\n", "a: 1", false)]
    #[case::inside_the_first_document("a: 1\nb: 2\n---\nc: 3\n", "a: 1\n", true)]
    #[case::behind_the_first_document("a: 1\n---\nb: 2\n", "a: 1\n", false)]
    #[case::behind_a_marker("a: 1\n---\nb: 2\n", "a: 1\n---\n", true)]
    #[case::behind_a_marker_and_a_comment("a: 1\n---\n# next\nb: 2\n", "a: 1\n---\n# next\n", true)]
    #[case::every_document_ends_with_a_marker("a: 1\n---\nb: 2\n---\n", "a: 1\n---\n", false)]
    #[case::inside_a_comment_at_the_end("a: 1\n# the end\n", "a: 1\n# th", true)]
    #[case::behind_a_key_that_had_a_mapping("a:\n  b: 2\n", "a:\n", true)]
    #[case::behind_a_key_that_had_a_list("a:\n- b\n", "a:\n", true)]
    #[case::behind_a_key_and_a_comment("a:\n  # which\n  b: 2\n", "a:\n  # which\n", true)]
    #[case::behind_a_key_without_a_block("a:\nb: 2\n", "a:\n", false)]
    #[case::behind_an_item_of_a_list("a:\n- b\n- c\n", "a:\n- b\n", false)]
    #[case::before_the_spec("a: 1\nspec:\n  b: 2\n", "a: 1\n", true)]
    #[case::before_the_document_of_a_spec("a: 1\n---\nspec: 2\n", "a: 1\n", false)]
    #[case::another_text("a: 1\nb: 2\n", "a: 2", false)]
    #[case::a_longer_text("a: 1\n", "a: 1\nb", false)]
    fn a_text_that_was_cut_off_is_told_from_an_edit(
        #[case] last: &str,
        #[case] text: &str,
        #[case] expected: bool,
    ) {
        assert_eq!(is_cut_off(text, last), expected);
    }

    #[test]
    fn the_cost_of_aliases_is_bounded_by_the_length_of_the_file() {
        let text = "---\na: &a [1]\nb: *a\n".repeat(10_000) + "---\nc: 1\n";
        let found = documents(&text);
        assert_eq!(found.last().map(|document| document.aliased), Some(0));
        assert!(found.iter().map(|document| document.aliased).sum::<usize>() <= text.len() + ALIASED);
    }
}
