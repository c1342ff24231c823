//! The journal: what changed since the zones were last written whole.
//!
//! ```text
//! journal, journal.copy:
//! "fingerpost journal 1\n" │ frame: hash of the index it belongs to │ frame │ frame │ …
//! frame:  length, 4 octets │ SHA-256 of the frame before and the content, 32 octets │ content
//! ```
//!
//! Each checksum holds the one before it, so that a frame counts only behind those it was written
//! behind. A frame that is damaged in one copy is read from the other; from the first frame that checks out in
//! neither nothing is used. The first frame names the index of the zones that the others change: over any other
//! zones they would put old answers back.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use ring::digest::{Context, SHA256};

use super::sealed;

pub(super) const JOURNAL: &str = "journal";
const HEADER: &[u8] = b"fingerpost journal 1\n";
const CHECKSUM: usize = 32;
/// A journal may always grow to this size, however small the zones are.
const LEAST: u64 = 1 << 20;

/// The hash of an index, or of a frame and all before it.
pub(super) type Checksum = [u8; CHECKSUM];

/// A journal that is being written.
#[derive(Debug)]
pub(super) struct Journal {
    files: [File; 2],
    last: Checksum,
    length: u64,
    most: u64,
}

/// What the copies of a journal hold together.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Frames<'a> {
    /// Whether the journal belongs to the index.
    pub(super) belongs: bool,
    /// What was written, in order.
    pub(super) contents: Vec<&'a [u8]>,
    /// Whether a copy holds something that does not check out.
    pub(super) torn: bool,
    /// Whether all copies end in something that does not check out.
    pub(super) lost: bool,
}

impl Journal {
    /// Begins anew, for zones with this index that take so many octets. The directory still has to
    /// be synced.
    pub(super) fn begin(root: &Path, index: &Checksum, size_of_zones: u64) -> io::Result<Journal> {
        let (first, last) = frame(&[0; CHECKSUM], index);
        let start = [HEADER, &first].concat();
        let [one, two] = paths(root);
        let open = |path: &Path| {
            sealed::replace_one(path, &[&start])?;
            OpenOptions::new().write(true).open(path)
        };
        let files = [open(&one)?, open(&two)?];
        Ok(Journal { files, last, length: start.len() as u64, most: size_of_zones.max(LEAST) })
    }

    /// Adds frames to both copies and waits for the disk. After an error nothing counts as added, and the next
    /// frames are written over what the error left.
    pub(super) fn append(&mut self, contents: &[Vec<u8>]) -> io::Result<()> {
        let (mut octets, mut last) = (Vec::new(), self.last);
        for content in contents {
            let (frame, checksum) = frame(&last, content);
            octets.extend_from_slice(&frame);
            last = checksum;
        }
        for file in &self.files {
            if file.metadata()?.len() != self.length {
                file.set_len(self.length)?;
            }
            file.write_all_at(&octets, self.length)?;
            file.sync_data()?;
        }
        (self.last, self.length) = (last, self.length + octets.len() as u64);
        Ok(())
    }

    /// Whether writing the zones whole is cheaper by now than reading all this would be.
    pub(super) fn is_long(&self) -> bool {
        self.length > self.most
    }
}

/// The two copies of the journal.
pub(super) fn paths(root: &Path) -> [PathBuf; 2] {
    let path = root.join(JOURNAL);
    [path.clone(), sealed::copy_of(&path)]
}

/// Removes the copies of a journal that do not belong to this index, so that no later index with the same
/// content finds them.
pub(super) fn remove_foreign(root: &Path, index: Option<&Checksum>) -> io::Result<()> {
    for path in paths(root) {
        let start = match File::open(&path) {
            Ok(file) => start_of(file)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        if !index.is_some_and(|index| frames(&[&start], index).belongs) {
            fs::remove_file(&path)?;
            sealed::sync_directory(root)?;
        }
    }
    Ok(())
}

fn start_of(file: File) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    file.take((HEADER.len() + 4 + 2 * CHECKSUM) as u64).read_to_end(&mut start)?;
    Ok(start)
}

/// Reads the copies of the journal of an index, as far as one of them checks out.
///
/// The header is not looked at: the first frame proves as much. Frames of another journal do not fit the
/// checksums before them.
pub(super) fn frames<'a>(copies: &[&'a [u8]], index: &Checksum) -> Frames<'a> {
    let bodies: Vec<&'a [u8]> =
        copies.iter().map(|octets| octets.get(HEADER.len()..).unwrap_or_default()).collect();
    let is_cut = !bodies.is_empty() && bodies.iter().all(|octets| octets.is_empty());
    let mut found = Frames { torn: is_cut, lost: is_cut, ..Frames::default() };
    let (mut last, mut at) = ([0; CHECKSUM], 0);
    loop {
        let rests: Vec<&'a [u8]> = bodies.iter().map(|octets| octets.get(at..).unwrap_or_default()).collect();
        let read: Vec<_> = rests.iter().map(|rest| next(&last, rest)).collect();
        let is_wanted = |content: &[u8]| found.belongs || content == index;
        let wanted = read.iter().flatten().find(|(content, _, _)| is_wanted(content));
        let unread = rests.iter().zip(&read).filter(|(rest, frame)| frame.is_none() && !rest.is_empty());
        let unread = unread.count();
        found.torn |= unread > 0;
        let Some((content, checksum, taken)) = wanted else {
            found.lost |= unread > 0 && unread == copies.len();
            return found;
        };
        if found.belongs {
            found.contents.push(content);
        }
        found.belongs = true;
        (last, at) = (*checksum, at + taken);
    }
}

/// The content of the first frame, its checksum, and how many octets the frame takes.
fn next<'a>(last: &Checksum, octets: &'a [u8]) -> Option<(&'a [u8], Checksum, usize)> {
    let (length, rest) = octets.split_first_chunk::<4>()?;
    let (checksum, rest) = rest.split_first_chunk::<CHECKSUM>()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    let content = rest.get(..length)?;
    (self::checksum(last, content) == *checksum).then_some((content, *checksum, 4 + CHECKSUM + length))
}

/// A frame and its checksum.
fn frame(last: &Checksum, content: &[u8]) -> (Vec<u8>, Checksum) {
    let checksum = checksum(last, content);
    // What is longer than its length can say is not read again, and costs nothing but that.
    let length = u32::try_from(content.len()).unwrap_or(u32::MAX);
    ([&length.to_be_bytes(), &checksum[..], content].concat(), checksum)
}

fn checksum(last: &Checksum, content: &[u8]) -> Checksum {
    let mut context = Context::new(&SHA256);
    context.update(last);
    context.update(content);
    array(context.finish().as_ref())
}

/// The hash of an index.
pub(super) fn index_hash(content: &[u8]) -> Checksum {
    array(ring::digest::digest(&SHA256, content).as_ref())
}

fn array(octets: &[u8]) -> Checksum {
    let mut array = [0; CHECKSUM];
    array.iter_mut().zip(octets).for_each(|(to, from)| *to = *from);
    array
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    const INDEX: Checksum = [7; CHECKSUM];

    /// A journal with these frames, as octets; both copies are the same.
    fn written(contents: &[&[u8]]) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::begin(folder.path(), &INDEX, 0).unwrap();
        for content in contents {
            journal.append(&[content.to_vec()]).unwrap();
        }
        let [one, two] = paths(folder.path()).map(|path| fs::read(path).unwrap());
        assert_eq!(one, two);
        one
    }

    fn changed(octets: &[u8], at: usize) -> Vec<u8> {
        let mut changed = octets.to_vec();
        changed[at] ^= 1 << (at % 8);
        changed
    }

    #[test]
    fn what_was_appended_comes_back_in_order() {
        let octets = written(&[b"one", b"", b"three"]);
        let read = frames(&[&octets, &octets], &INDEX);
        assert_eq!(read.contents, [&b"one"[..], b"", b"three"]);
        assert_eq!((read.belongs, read.torn, read.lost), (true, false, false));
    }

    #[test]
    fn copies_torn_at_every_octet_hold_the_whole_frames_before_it() {
        let ends: Vec<usize> =
            [&[][..], &[&b"one"[..]], &[b"one", b"two"]].iter().map(|some| written(some).len()).collect();
        let octets = written(&[b"one", b"two"]);
        for length in 0..=octets.len() {
            let torn = &octets[..length];
            let read = frames(&[torn, torn], &INDEX);
            let whole = ends.iter().filter(|end| **end <= length).count();
            assert_eq!(read.belongs, whole > 0, "torn after {length} octets");
            assert_eq!(read.contents.len(), whole.saturating_sub(1), "torn after {length} octets");
            assert_eq!(read.lost, !ends.contains(&length), "torn after {length} octets");
            assert_eq!(frames(&[torn, &octets], &INDEX).contents.len(), 2, "the other copy has all");
            assert_eq!(frames(&[&octets, torn], &INDEX).contents.len(), 2, "the other copy has all");
        }
    }

    #[test]
    fn a_changed_bit_in_each_copy_costs_nothing_unless_it_is_in_the_same_frame() {
        let octets = written(&[b"one", b"two"]);
        let (first, second) = (written(&[]).len(), written(&[b"one"]).len());
        let frame_of = |at: usize| match at {
            at if at < HEADER.len() => None,
            at => Some(usize::from(at >= first) + usize::from(at >= second)),
        };
        for at in 0..octets.len() {
            let damaged = changed(&octets, at);
            let read = frames(&[&damaged, &octets], &INDEX);
            assert_eq!((read.contents.len(), read.lost), (2, false), "changed at {at}");
            for other in 0..octets.len() {
                let second = changed(&octets, other);
                let read = frames(&[&damaged, &second], &INDEX);
                let same = frame_of(at).filter(|frame| frame_of(other) == Some(*frame));
                assert_eq!(read.belongs, same != Some(0), "changed at {at} and {other}");
                let expected = same.map_or(2, |frame| frame.saturating_sub(1));
                assert_eq!(read.contents.len(), expected, "changed at {at} and {other}");
                assert_eq!(read.lost, same.is_some(), "changed at {at} and {other}");
            }
        }
    }

    #[test]
    fn a_frame_of_another_journal_or_out_of_its_order_does_not_count() {
        let (first, both) = (written(&[b"one"]), written(&[b"one", b"two"]));
        let start = written(&[]).len();
        let second = &both[first.len()..];
        assert_eq!(frames(&[&[&both[..start], second].concat()], &INDEX).contents.len(), 0);
        assert_eq!(frames(&[&[&both[..], second].concat()], &INDEX).contents.len(), 2);
        assert_eq!(frames(&[&both], &[8; CHECKSUM]), Frames::default(), "it is no damage");
    }

    #[test]
    fn what_an_error_left_is_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::begin(folder.path(), &INDEX, 0).unwrap();
        let path = folder.path().join(JOURNAL);
        let octets = [fs::read(&path).unwrap(), b"half a frame".to_vec()].concat();
        fs::write(&path, octets).unwrap();
        journal.append(&[b"x".to_vec()]).unwrap();
        let copies = paths(folder.path()).map(|path| fs::read(path).unwrap());
        assert_eq!(copies[0], copies[1]);
        assert_eq!(frames(&[&copies[0]], &INDEX).contents, [b"x"]);
    }

    #[test]
    fn it_is_long_when_it_is_larger_than_the_zones_and_a_mebibyte() {
        let folder = tempfile::tempdir().unwrap();
        for (zones, is_long) in [(0, true), (3 << 20, false)] {
            let mut journal = Journal::begin(folder.path(), &INDEX, zones).unwrap();
            assert!(!journal.is_long());
            journal.append(&[vec![0; 1 << 20]]).unwrap();
            assert_eq!(journal.is_long(), is_long);
        }
    }
}
