//! A file that only grows: what must not be lost, on the disk before it is acknowledged.
//!
//! ```text
//! "fingerpost provider 1\n" │ line │ line │ …
//! line:  16 hexadecimal digits of SHA-256 of the rest │ " " │ JSON │ "\n"
//! ```
//!
//! Each line is one change, whole or not at all: what a crash tore off at the end was never acknowledged.
//! Damage elsewhere is reported, the file kept aside for people, and every line that checks out counts.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use ring::digest::{SHA256, digest};
use serde::Serialize;
use serde::de::DeserializeOwned;

const HEADER: &str = "fingerpost provider 1\n";
const DIGITS: usize = 16;

/// A journal of changes of one type.
#[derive(Debug)]
pub struct Journal<T> {
    path: PathBuf,
    file: File,
    length: u64,
    /// Set where the file's end is not known any more: nothing may be added behind it.
    broken: bool,
    lines: PhantomData<fn(T)>,
}

/// What a journal held when it was opened.
#[derive(Debug)]
pub struct Opened<T> {
    /// The journal, to add to.
    pub journal: Journal<T>,
    /// What it holds, in order.
    pub changes: Vec<T>,
    /// What is wrong with it, for people.
    pub trouble: Option<String>,
}

impl<T: Serialize + DeserializeOwned> Journal<T> {
    /// Opens a journal, or begins one.
    pub fn open(path: &Path) -> io::Result<Opened<T>> {
        let text = match fs::read(path) {
            Ok(octets) => octets,
            Err(error) if error.kind() == io::ErrorKind::NotFound => HEADER.into(),
            Err(error) => return Err(error),
        };
        let (changes, damage) = read::<T>(&text);
        let trouble = match damage {
            Damage::None => None,
            Damage::Torn => {
                Some(format!("the end of {} was torn off by a crash and is dropped", path.display()))
            }
            Damage::Inside => {
                let aside = keep_aside(path)?;
                let aside = aside.display();
                Some(format!(
                    "{} is damaged: what can be read stands, and it is kept as {aside}",
                    path.display()
                ))
            }
        };
        let journal = Journal::begin(path, &changes)?;
        Ok(Opened { journal, changes, trouble })
    }

    /// Writes a journal of these changes alone, in place of whatever is there.
    fn begin(path: &Path, changes: &[T]) -> io::Result<Journal<T>> {
        let mut text = HEADER.as_bytes().to_vec();
        text.extend(lines(changes)?);
        let aside = path.with_extension("new");
        let mut file = File::create(&aside)?;
        file.write_all(&text)?;
        file.sync_all()?;
        fs::rename(&aside, path)?;
        File::open(path.parent().unwrap_or(Path::new(".")))?.sync_all()?;
        let file = OpenOptions::new().append(true).open(path)?;
        Ok(Journal {
            path: path.to_owned(),
            file,
            length: text.len() as u64,
            broken: false,
            lines: PhantomData,
        })
    }

    /// Adds changes with one write and waits for the disk. After an error nothing of it counts.
    pub fn append(&mut self, changes: &[T]) -> io::Result<()> {
        if self.broken {
            return Err(io::Error::other("an earlier write failed and could not be taken back"));
        }
        let text = lines(changes)?;
        match self.file.write_all(&text).and_then(|()| self.file.sync_data()) {
            Ok(()) => {
                self.length += text.len() as u64;
                Ok(())
            }
            Err(error) => {
                let taken_back = self.file.set_len(self.length).and_then(|()| self.file.sync_data());
                self.broken = taken_back.is_err();
                Err(error)
            }
        }
    }

    /// Replaces everything by these changes, which amount to the same.
    pub fn compact(&mut self, changes: &[T]) -> io::Result<()> {
        *self = Journal::begin(&self.path, changes)?;
        Ok(())
    }

    /// How many octets it has.
    pub fn length(&self) -> u64 {
        self.length
    }
}

enum Damage {
    None,
    Torn,
    Inside,
}

fn lines<T: Serialize>(changes: &[T]) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    for change in changes {
        let json = serde_json::to_string(change).map_err(io::Error::other)?;
        text.extend_from_slice(format!("{} {json}\n", checksum(json.as_bytes())).as_bytes());
    }
    Ok(text)
}

fn read<T: DeserializeOwned>(octets: &[u8]) -> (Vec<T>, Damage) {
    let Some(body) = octets.strip_prefix(HEADER.as_bytes()) else {
        return (Vec::new(), Damage::Inside);
    };
    let whole = body.iter().rposition(|octet| *octet == b'\n').map_or(0, |end| end + 1);
    let lines: Vec<&[u8]> = body[..whole].split_inclusive(|octet| *octet == b'\n').collect();
    let changes: Vec<Option<T>> = lines.iter().map(|line| read_line(line)).collect();
    let bad = changes.iter().filter(|change| change.is_none()).count();
    let last_is_bad = changes.last().is_some_and(Option::is_none);
    let damage = match bad {
        0 if whole == body.len() => Damage::None,
        0 => Damage::Torn,
        1 if last_is_bad && whole == body.len() => Damage::Torn,
        _ => Damage::Inside,
    };
    (changes.into_iter().flatten().collect(), damage)
}

fn read_line<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    let (sum, json) = line.strip_suffix(b"\n")?.split_at_checked(DIGITS)?;
    let json = json.strip_prefix(b" ")?;
    (checksum(json).as_bytes() == sum).then(|| serde_json::from_slice(json).ok()).flatten()
}

fn checksum(octets: &[u8]) -> String {
    digest(&SHA256, octets).as_ref().iter().take(DIGITS / 2).map(|octet| format!("{octet:02x}")).collect()
}

fn keep_aside(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let free = (1u32..).map(|n| path.with_file_name(format!("{name}.bad-{n}"))).find(|to| !to.exists());
    let to = free.ok_or_else(|| io::Error::other("no free name"))?;
    fs::copy(path, &to)?;
    Ok(to)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    fn opened(path: &Path) -> Opened<String> {
        Journal::open(path).unwrap()
    }

    fn filled(path: &Path) -> Vec<u8> {
        let mut journal = opened(path).journal;
        journal.append(&["one".to_owned(), "two".to_owned()]).unwrap();
        journal.append(&["three".to_owned()]).unwrap();
        fs::read(path).unwrap()
    }

    #[test]
    fn a_journal_torn_at_any_octet_keeps_every_whole_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records");
        let whole = filled(&path);
        for length in HEADER.len()..whole.len() {
            fs::write(&path, &whole[..length]).unwrap();
            let lines = whole[HEADER.len()..length].iter().filter(|octet| **octet == b'\n').count();
            let found = opened(&path);
            assert_eq!(found.changes, ["one", "two", "three"][..lines], "torn after {length} octets");
            let boundary = whole[..length].ends_with(b"\n");
            assert_eq!(found.trouble.is_none(), boundary, "torn after {length} octets");
        }
    }

    #[test]
    fn a_torn_end_is_gone_before_anything_is_added() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records");
        let whole = filled(&path);
        fs::write(&path, &whole[..whole.len() - 3]).unwrap();
        opened(&path).journal.append(&["four".to_owned()]).unwrap();
        let found = opened(&path);
        assert_eq!(found.changes, ["one", "two", "four"]);
        assert_eq!(found.trouble, None);
    }

    #[test]
    fn damage_inside_costs_one_line_and_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records");
        let mut whole = filled(&path);
        whole[HEADER.len() + 20] ^= 1;
        fs::write(&path, &whole).unwrap();
        let found = opened(&path);
        assert_eq!(found.changes, ["two", "three"]);
        assert!(found.trouble.unwrap().contains("records.bad-1"));
        assert_eq!(fs::read(folder.path().join("records.bad-1")).unwrap(), whole);
    }

    #[test]
    fn what_is_compacted_reads_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("records");
        let mut journal = opened(&path).journal;
        for number in 0..100 {
            journal.append(&[number.to_string()]).unwrap();
        }
        let before = journal.length();
        journal.compact(&["99".to_owned()]).unwrap();
        assert!(journal.length() < before);
        journal.append(&["100".to_owned()]).unwrap();
        assert_eq!(opened(&path).changes, ["99", "100"]);
    }
}
