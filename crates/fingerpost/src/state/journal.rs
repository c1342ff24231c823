//! The journal: what changed since the zones were last written whole.
//!
//! ```text
//! "fingerpost journal 1\n" │ frame: hash of the index it belongs to │ frame │ frame │ …
//! frame:  length, 4 octets │ SHA-256 of the frame before and the content, 32 octets │ content
//! ```
//!
//! Each checksum holds the one before it, so that a frame counts only behind those it was written
//! behind. From the first frame that does not check out nothing is used. The first frame says over
//! which zones the others go: over any others they would put old answers back.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

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
    file: File,
    last: Checksum,
    length: u64,
    most: u64,
}

/// What a journal's octets hold.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Frames<'a> {
    /// The hash of the index that it belongs to; none when not even that can be read.
    pub(super) index: Option<Checksum>,
    /// What was written, in order.
    pub(super) contents: Vec<&'a [u8]>,
    /// Whether something follows that does not check out.
    pub(super) torn: bool,
}

impl Journal {
    /// Begins anew, for zones with this index that take so many octets. The directory still has to
    /// be synced.
    pub(super) fn begin(root: &Path, index: &Checksum, size_of_zones: u64) -> io::Result<Journal> {
        let (first, last) = frame(&[0; CHECKSUM], index);
        let start = [HEADER, &first].concat();
        let path = root.join(JOURNAL);
        let aside = path.with_extension(sealed::ASIDE);
        let mut file = File::create(&aside)?;
        file.write_all(&start)?;
        file.sync_all()?;
        fs::rename(&aside, &path)?;
        Ok(Journal { file, last, length: start.len() as u64, most: size_of_zones.max(LEAST) })
    }

    /// Adds frames with one write and waits for the disk. After an error nothing may be added.
    pub(super) fn append(&mut self, contents: &[Vec<u8>]) -> io::Result<()> {
        let mut octets = Vec::new();
        for content in contents {
            let (frame, checksum) = frame(&self.last, content);
            octets.extend_from_slice(&frame);
            self.last = checksum;
        }
        self.file.write_all(&octets)?;
        self.length += octets.len() as u64;
        self.file.sync_data()
    }

    /// Whether writing the zones whole is cheaper by now than reading all this would be.
    pub(super) fn is_long(&self) -> bool {
        self.length > self.most
    }
}

/// Takes a journal away that does not belong to this index, so that no later index with the same
/// content finds it.
pub(super) fn remove_foreign(root: &Path, index: Option<&Checksum>) -> io::Result<()> {
    let path = root.join(JOURNAL);
    let start = match File::open(&path) {
        Ok(file) => start_of(file)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    if index.is_some() && frames(&start).index.as_ref() == index {
        return Ok(());
    }
    fs::remove_file(&path)?;
    sealed::sync_directory(root)
}

fn start_of(file: File) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    file.take((HEADER.len() + 4 + 2 * CHECKSUM) as u64).read_to_end(&mut start)?;
    Ok(start)
}

/// Reads a journal as far as it checks out.
pub(super) fn frames(octets: &[u8]) -> Frames<'_> {
    let Some(mut rest) = octets.strip_prefix(HEADER) else {
        return Frames { torn: true, ..Frames::default() };
    };
    let mut found = Vec::new();
    let mut last = [0; CHECKSUM];
    while let Some((content, checksum, after)) = next(&last, rest) {
        found.push(content);
        (last, rest) = (checksum, after);
    }
    let index = found.first().and_then(|content| Checksum::try_from(*content).ok());
    if index.is_none() {
        return Frames { torn: true, ..Frames::default() };
    }
    Frames { index, contents: found.split_off(1), torn: !rest.is_empty() }
}

/// The content of the first frame, its checksum, and what follows it.
fn next<'a>(last: &Checksum, octets: &'a [u8]) -> Option<(&'a [u8], Checksum, &'a [u8])> {
    let (length, rest) = octets.split_first_chunk::<4>()?;
    let (checksum, rest) = rest.split_first_chunk::<CHECKSUM>()?;
    let (content, after) = rest.split_at_checked(usize::try_from(u32::from_be_bytes(*length)).ok()?)?;
    (self::checksum(last, content) == *checksum).then_some((content, *checksum, after))
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

    /// A journal with these frames, as octets.
    fn written(contents: &[&[u8]]) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::begin(folder.path(), &INDEX, 0).unwrap();
        for content in contents {
            journal.append(&[content.to_vec()]).unwrap();
        }
        fs::read(folder.path().join(JOURNAL)).unwrap()
    }

    #[test]
    fn what_was_appended_comes_back_in_order() {
        let octets = written(&[b"one", b"", b"three"]);
        assert_eq!(frames(&octets).contents, [&b"one"[..], b"", b"three"]);
        assert_eq!((frames(&octets).index, frames(&octets).torn), (Some(INDEX), false));
    }

    #[test]
    fn a_journal_torn_at_every_byte_holds_the_whole_frames_before_it() {
        let ends: Vec<usize> =
            [&[][..], &[&b"one"[..]], &[b"one", b"two"]].iter().map(|some| written(some).len()).collect();
        let octets = written(&[b"one", b"two"]);
        for length in 0..=octets.len() {
            let read = frames(&octets[..length]);
            let whole = ends.iter().filter(|end| **end <= length).count();
            assert_eq!(read.index.is_some(), whole > 0, "torn after {length} octets");
            assert_eq!(read.contents.len(), whole.saturating_sub(1), "torn after {length} octets");
            assert_eq!(read.torn, !ends.contains(&length), "torn after {length} octets");
        }
    }

    #[test]
    fn a_changed_bit_ends_the_journal_there() {
        let octets = written(&[b"one", b"two"]);
        let second = written(&[b"one"]).len();
        for at in 0..octets.len() {
            let mut changed = octets.clone();
            changed[at] ^= 1;
            let read = frames(&changed);
            assert!(read.torn, "changed at {at}");
            assert_eq!(read.contents.len(), usize::from(at >= second), "changed at {at}");
        }
    }

    #[test]
    fn a_frame_of_another_journal_or_out_of_its_order_does_not_count() {
        let (first, both) = (written(&[b"one"]), written(&[b"one", b"two"]));
        let start = written(&[]).len();
        let second = &both[first.len()..];
        assert_eq!(frames(&[&both[..start], second].concat()).contents.len(), 0);
        assert_eq!(frames(&[&both[..], second].concat()).contents.len(), 2);
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
