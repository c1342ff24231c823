#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;

impl Change for String {
    fn label(&self) -> String {
        self.chars().next().map(String::from).unwrap_or_default()
    }
}

fn opened(path: &Path) -> Opened<String> {
    Journal::open(path).unwrap()
}

/// Opens a journal and writes it anew where it has to be, as its owners do.
fn mended(path: &Path) -> Opened<String> {
    let mut opened = opened(path);
    if opened.journal.is_stale() {
        opened.journal.rewrite(&opened.changes).unwrap();
    }
    opened
}

fn append(journal: &mut Journal<String>, changes: &[&str]) {
    let changes: Vec<String> = changes.iter().map(|change| (*change).to_owned()).collect();
    journal.append(&changes, || panic!("nothing has to be written anew")).unwrap();
}

const CHANGES: [&str; 4] = ["alpha", "beta", "gamma", "delta"];

/// A journal in two epochs: two changes from its beginning, and two that were appended.
fn filled(path: &Path) -> Vec<u8> {
    let mut journal = mended(path).journal;
    journal.rewrite(&["alpha".to_owned(), "beta".to_owned()]).unwrap();
    append(&mut journal, &["gamma"]);
    append(&mut journal, &["delta"]);
    let [one, two] = paths(path).map(|path| fs::read(path).unwrap());
    assert_eq!(one, two);
    one
}

fn write(path: &Path, one: &[u8], two: &[u8]) {
    for (path, octets) in paths(path).iter().zip([one, two]) {
        fs::write(path, octets).unwrap();
    }
}

fn recovered(one: &[u8], two: &[u8]) -> recovery::Recovered<String> {
    recovery::recover(&[Some(one.to_vec()), Some(two.to_vec())])
}

fn flipped(octets: &[u8], at: usize, bit: usize) -> Vec<u8> {
    let mut changed = octets.to_vec();
    changed[at] ^= 1 << bit;
    changed
}

/// Which line an octet is in; the header is none.
fn line_of(octets: &[u8], at: usize) -> Option<usize> {
    let line = octets[..at].iter().filter(|octet| **octet == b'\n').count();
    line.checked_sub(1)
}

#[test]
fn a_flipped_bit_anywhere_in_either_file_loses_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records");
    let whole = filled(&path);
    for at in 0..whole.len() {
        for bit in 0..8 {
            let damaged = flipped(&whole, at, bit);
            for (one, two) in [(&damaged, &whole), (&whole, &damaged)] {
                let found = recovered(one, two);
                assert_eq!(found.changes, CHANGES, "octet {at}, bit {bit}");
                assert_eq!(found.loss, Loss::None, "octet {at}, bit {bit}");
                assert!(found.is_damaged || found.is_torn, "octet {at}, bit {bit}");
                assert!(!found.is_whole, "octet {at}, bit {bit}");
            }
        }
    }
}

#[test]
fn two_flipped_bits_lose_nothing_or_are_known_as_a_loss() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records");
    let whole = filled(&path);
    for at in (0..whole.len()).step_by(3) {
        for other in (0..whole.len()).step_by(5) {
            let found = recovered(&flipped(&whole, at, at % 8), &flipped(&whole, other, other % 8));
            let same = line_of(&whole, at).is_some() && line_of(&whole, at) == line_of(&whole, other);
            match found.loss {
                Loss::None => assert_eq!(found.changes, CHANGES, "octets {at} and {other}"),
                Loss::Labels(labels) => {
                    let touched = [touched(&whole, at), touched(&whole, other)];
                    let both = |label: &String| touched.iter().all(|labels| labels.contains(label));
                    assert!(labels.iter().all(both), "octets {at} and {other}: {labels:?}");
                }
                Loss::All => assert!(same || is_end(&whole, at) || is_end(&whole, other), "{at} and {other}"),
            }
        }
    }
}

/// The labels of the lines that are damaged where an octet is.
fn touched(octets: &[u8], at: usize) -> Vec<String> {
    let next = is_end(octets, at).then(|| line_of(octets, at).map_or(0, |line| line + 1));
    let lines = line_of(octets, at).into_iter().chain(next);
    lines.filter_map(|line| CHANGES.get(line)).map(|change| change[..1].to_owned()).collect()
}

/// Whether an octet ends a line, so that its change is one of two lines.
fn is_end(octets: &[u8], at: usize) -> bool {
    octets[at] == b'\n'
}

#[test]
fn a_last_line_that_is_lost_with_the_end_of_the_line_before_it_is_known_as_a_loss() {
    let folder = tempfile::tempdir().unwrap();
    let whole = filled(&folder.path().join("records"));
    let last = whole[..whole.len() - 1].iter().rposition(|octet| *octet == b'\n').unwrap();
    let merged = flipped(&whole, last, 0);
    for at in last + 1..whole.len() {
        let damaged = flipped(&whole, at, at % 8);
        for (one, two) in [(&merged, &damaged), (&damaged, &merged)] {
            assert_ne!(recovered(one, two).loss, Loss::None, "octet {at}");
        }
    }
}

#[test]
fn files_that_end_inside_their_header_are_known_as_a_loss() {
    let folder = tempfile::tempdir().unwrap();
    let whole = filled(&folder.path().join("records"));
    for length in 0..HEADER.len() {
        let cut = &whole[..length];
        assert_eq!(recovered(cut, cut).loss, Loss::All, "both have {length} octets");
        let one = recovery::recover::<String>(&[Some(cut.to_vec()), None]);
        assert_eq!(one.loss, Loss::All, "the only file has {length} octets");
        assert_eq!(recovered(cut, &whole).changes, CHANGES, "the copy is whole");
        assert_eq!(recovered(cut, HEADER.as_bytes()).loss, Loss::None, "nothing was ever written");
    }
}

#[test]
fn a_crash_at_any_octet_of_a_write_is_no_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records");
    let whole = filled(&path);
    let last = whole[..whole.len() - 1].iter().rposition(|octet| *octet == b'\n').unwrap() + 1;
    for length in last..=whole.len() {
        // The first file is written and synced before the second one.
        let during_the_first = (&whole[..length], &whole[..last]);
        let during_the_second = (&whole[..], &whole[..length]);
        for (one, two) in [during_the_first, during_the_second] {
            write(&path, one, two);
            let found = mended(&path);
            let whole_lines = if one.len() == whole.len() { 4 } else { 3 };
            assert_eq!(found.changes, CHANGES[..whole_lines], "after {length} octets");
            assert_eq!(found.loss, Loss::None);
            let mut journal = found.journal;
            append(&mut journal, &["omega"]);
            let again = opened(&path);
            assert_eq!(again.changes[..whole_lines], CHANGES[..whole_lines]);
            assert_eq!((again.changes.len(), again.trouble), (whole_lines + 1, None));
        }
    }
}

#[test]
fn the_second_file_may_be_behind_by_any_number_of_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records");
    let whole = filled(&path);
    for length in 0..whole.len() {
        write(&path, &whole, &whole[..length]);
        let found = opened(&path);
        assert_eq!((found.changes.len(), found.loss), (4, Loss::None), "after {length} octets");
        // The first one torn as well, in a write that was never acknowledged.
        let torn = [&whole[..], b"0123456789abcdef\t{\"epo"].concat();
        write(&path, &torn, &whole[..length]);
        assert_eq!(opened(&path).loss, Loss::None, "after {length} octets");
    }
    fs::remove_file(path.with_extension("copy")).unwrap();
    fs::write(&path, &whole).unwrap();
    assert_eq!(opened(&path).changes, CHANGES);
}

#[test]
fn a_crash_while_the_files_are_written_anew_leaves_one_epoch_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records");
    let before = filled(&path);
    let mut journal = opened(&path).journal;
    journal.rewrite(&CHANGES.map(str::to_owned)).unwrap();
    let after = fs::read(&path).unwrap();
    write(&path, &after, &before);
    assert_eq!(opened(&path).changes, CHANGES);
    for at in 0..after.len() {
        write(&path, &flipped(&after, at, at % 8), &before);
        let found = mended(&path);
        assert_eq!((found.changes.len(), found.loss), (4, Loss::None), "octet {at}");
        let mut journal = found.journal;
        append(&mut journal, &["omega"]);
        assert_eq!(opened(&path).changes.len(), 5, "octet {at}: no older epoch comes back");
        for aside in ["records.bad-1", "records.copy.bad-1"] {
            let _ = fs::remove_file(folder.path().join(aside));
        }
    }
}

#[test]
fn damaged_files_are_kept_for_people_before_they_are_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records");
    let whole = filled(&path);
    let damaged = flipped(&whole, 3, 3);
    write(&path, &damaged, &whole);
    assert!(mended(&path).trouble.unwrap().contains("is damaged"));
    assert_eq!(fs::read(folder.path().join("records.bad-1")).unwrap(), damaged);
    let again = opened(&path);
    assert_eq!((again.trouble, again.journal.is_stale()), (None, false));
}

#[test]
fn a_journal_of_version_1_is_read_and_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records");
    let line = |text: &str| {
        let digest = ring::digest::digest(&ring::digest::SHA256, text.as_bytes());
        let sum: String = digest.as_ref()[..8].iter().map(|octet| format!("{octet:02x}")).collect();
        format!("{sum} {text}\n")
    };
    let old = format!("fingerpost provider 1\n{}{}", line("\"one\""), line("\"two\""));
    for end in ["", "0123"] {
        fs::write(&path, format!("{old}{end}")).unwrap();
        let found = mended(&path);
        assert_eq!((found.changes, found.loss), (vec!["one".to_owned(), "two".to_owned()], Loss::None));
        assert_eq!(opened(&path).changes, ["one", "two"], "now in two files");
        fs::remove_file(path.with_extension("copy")).unwrap();
    }
    for at in 0..old.len() {
        fs::write(&path, flipped(old.as_bytes(), at, at % 8)).unwrap();
        let found = opened(&path);
        let is_known = found.loss == Loss::All || found.changes == ["one", "two"];
        // The last line end is the only octet whose loss looks like a crash.
        assert!(is_known || at == old.len() - 1, "octet {at}: {:?}", found.changes);
    }
}

#[test]
fn what_is_written_anew_reads_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records");
    let mut journal = mended(&path).journal;
    for number in 0..100 {
        append(&mut journal, &[&number.to_string()]);
    }
    let before = journal.length();
    journal.rewrite(&["99".to_owned()]).unwrap();
    assert!(journal.length() < before);
    append(&mut journal, &["100"]);
    assert_eq!(opened(&path).changes, ["99", "100"]);
}

#[test]
fn a_write_that_fails_leaves_nothing_and_the_next_one_counts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("records");
    let mut journal = mended(&path).journal;
    append(&mut journal, &["one"]);
    // A file that cannot be written nor cut.
    journal.files = Some([File::open(&path).unwrap(), File::open(&path).unwrap()]);
    let refused = journal.append(&["two".to_owned()], Vec::new);
    assert!(refused.is_err() && journal.is_stale());
    journal.append(&["three".to_owned()], || vec!["one".to_owned()]).unwrap();
    assert_eq!(opened(&path).changes, ["one", "three"]);
}
