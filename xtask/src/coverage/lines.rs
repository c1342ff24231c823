//! Line counts of one crate, without its test code.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// Which lines of a crate have run.
pub(super) struct Coverage {
    name: String,
    /// By file: lines that could run and lines that did.
    files: BTreeMap<PathBuf, (usize, usize)>,
}

impl Coverage {
    /// Reads lcov's text and keeps the files below `source`, without their tests.
    pub(super) fn read(name: &str, lcov: &str, source: &Path) -> Result<Coverage> {
        let mut files = BTreeMap::new();
        for (path, counts) in counts_by_file(lcov) {
            let Ok(relative) = path.strip_prefix(source) else { continue };
            if is_test_file(relative) {
                continue;
            }
            let text =
                std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            files.insert(relative.to_path_buf(), tally(&counts, first_test_line(&text)));
        }
        Ok(Coverage { name: name.to_owned(), files })
    }

    /// The crate's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The share of lines that ran, in percent.
    pub(super) fn percent(&self) -> f64 {
        let (all, ran) = self.files.values().fold((0, 0), |sum, file| (sum.0 + file.0, sum.1 + file.1));
        share(all, ran)
    }
}

impl fmt::Display for Coverage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<40} {:>5.1} %", self.name, self.percent())?;
        for (path, (all, ran)) in &self.files {
            write!(f, "\n  {:<38} {:>5.1} %  {ran} of {all} lines", path.display(), share(*all, *ran))?;
        }
        Ok(())
    }
}

fn share(all: usize, ran: usize) -> f64 {
    if all == 0 { 100.0 } else { 100.0 * ran as f64 / all as f64 }
}

/// `SF:` starts a file, `DA:line,count` is a line of it.
fn counts_by_file(lcov: &str) -> Vec<(PathBuf, Vec<(usize, u64)>)> {
    let mut files: Vec<(PathBuf, Vec<(usize, u64)>)> = Vec::new();
    for line in lcov.lines() {
        if let Some(path) = line.strip_prefix("SF:") {
            files.push((path.into(), Vec::new()));
        } else if let (Some(count), Some((_, counts))) = (line_count(line), files.last_mut()) {
            counts.push(count);
        }
    }
    files
}

fn line_count(line: &str) -> Option<(usize, u64)> {
    let (number, count) = line.strip_prefix("DA:")?.split_once(',')?;
    Some((number.parse().ok()?, count.parse().ok()?))
}

fn is_test_file(path: &Path) -> bool {
    path.components().any(|part| matches!(part.as_os_str().to_str(), Some("tests" | "tests.rs")))
}

/// Inline tests stand at the end of a file, so everything from there on is left out.
fn first_test_line(text: &str) -> usize {
    text.lines().position(|line| line == "mod tests {").map_or(usize::MAX, |index| index + 1)
}

fn tally(counts: &[(usize, u64)], first_test_line: usize) -> (usize, usize) {
    let lines = counts.iter().filter(|(number, _)| *number < first_test_line);
    lines.fold((0, 0), |(all, ran), (_, count)| (all + 1, ran + usize::from(*count > 0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inline_tests_do_not_count() {
        let text = "fn a() {}\nfn b() {}\n#[cfg(test)]\nmod tests {\n}\n";
        let lcov = "SF:/x/a.rs\nDA:1,4\nDA:2,0\nDA:5,9\nend_of_record\n";
        let files = counts_by_file(lcov);
        assert_eq!(tally(&files[0].1, first_test_line(text)), (2, 1));
    }

    #[test]
    fn a_declared_test_file_hides_nothing() {
        assert_eq!(first_test_line("#[cfg(test)]\nmod tests;\nfn a() {}\n"), usize::MAX);
    }

    #[test]
    fn files_of_tests_do_not_count() {
        assert!(is_test_file(Path::new("zone_file/tests.rs")));
        assert!(is_test_file(Path::new("tests/names.rs")));
        assert!(!is_test_file(Path::new("testing.rs")));
    }

    #[test]
    fn a_crate_without_lines_is_covered() {
        assert_eq!(share(0, 0), 100.0);
        assert_eq!(share(8, 6), 75.0);
    }
}
