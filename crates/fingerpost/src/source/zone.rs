//! A master file with what it includes.
//!
//! Every `*.zone` file in the folder is a zone of its own, included or not; a part that is only
//! to be included has another ending, such as `.inc`. `$INCLUDE` is relative to the including
//! file and never leaves the folder, whatever `..` and links say.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use dns::{Included, Name, PackedZone, ZoneReader};
use planner::FileNote;
use ring::digest::{Context, SHA256, digest};

use super::bounds;
use super::meter::Meter;
use super::settled::{self, Unread, Wanted};
use super::walk::Stamp;
use crate::state::{ZoneTexts, hex};

/// The SHA-256 of a text.
pub(super) type Digest = [u8; 32];

/// What a zone file holds, and which files it was made from.
pub(super) struct ZoneReading {
    pub(super) glance: Glance,
    pub(super) zone: Result<(Arc<PackedZone>, Vec<FileNote>), Refused>,
    pub(super) includes: Vec<Include>,
}

/// The zone's origin where it is known, and what is wrong.
pub(super) type Refused = (Option<Name>, FileNote);

/// What can be told of a file's text without understanding it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Glance {
    pub(super) stamp: Stamp,
    pub(super) digest: Digest,
    /// There is nothing but white space and comments.
    pub(super) blank: bool,
    /// Its last line is whole.
    pub(super) ends_with_a_line: bool,
}

impl Glance {
    /// The length of the text, where its last line is whole.
    pub(super) fn whole(&self) -> Option<u64> {
        self.ends_with_a_line.then(|| self.stamp.size())
    }

    /// Whether it is what a write that was cut off leaves: shorter than a text of whole lines, and with a last line
    /// that is not whole.
    pub(super) fn is_cut_off(&self, last: Option<u64>) -> bool {
        !self.ends_with_a_line && last.is_some_and(|last| self.stamp.size() < last)
    }
}

/// A file that a zone file includes, or would if it were there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Include {
    /// Below the folder.
    pub(super) path: PathBuf,
    /// As it was when it was read; `None` when it was not there.
    pub(super) stamp: Option<Stamp>,
    /// Of its text; `None` when there was none.
    pub(super) digest: Option<Digest>,
    /// The length of its text, where its last line is whole.
    pub(super) whole: Option<u64>,
}

/// Where a folder is, and how its files are called in messages.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub(super) root: &'a Path,
    /// Stands before a path below the folder to make its label.
    pub(super) prefix: &'a str,
}

impl Include {
    pub(super) fn changed(&self, root: &Path) -> bool {
        stamp_of(&root.join(&self.path)) != self.stamp
    }
}

fn stamp_of(path: &Path) -> Option<Stamp> {
    fs::metadata(path).ok().map(|metadata| Stamp::of(&metadata))
}

/// Looks at a file's text without reading a zone from it, which is cheap.
pub(super) fn glance(root: &Path, path: &Path) -> Result<Glance, Unread> {
    settled::attempt(|| {
        let mut sight = Sight::default();
        let stamp = settled::read_parts(zone_file(root, path), &mut |part| sight.take(part))?;
        Ok(stamp.map(|stamp| sight.glance(stamp)))
    })
}

fn zone_file<'a>(root: &'a Path, path: &'a Path) -> Wanted<'a> {
    Wanted { root, path, most: bounds::ZONE_FILE }
}

/// The included files of the last good content, by their paths below the folder.
pub(super) type LastIncludes = BTreeMap<PathBuf, LastInclude>;

/// What is known of an included file of the last good content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LastInclude {
    hash: String,
    /// The length of its text, where its last line was whole.
    whole: Option<u64>,
}

/// The last good content's included files, from memory.
pub(super) fn last_includes(includes: &[Include]) -> LastIncludes {
    let last = |include: &Include| Some(LastInclude { hash: hex(&include.digest?), whole: include.whole });
    includes.iter().filter_map(|include| Some((include.path.clone(), last(include)?))).collect()
}

/// The same, from the state directory.
pub(super) fn saved_includes(texts: &ZoneTexts) -> LastIncludes {
    let whole =
        |path: &str| texts.whole_includes.iter().find(|(of, _)| of == path).map(|(_, length)| *length);
    let last = |(path, hash): &(String, String)| {
        (PathBuf::from(path), LastInclude { hash: hash.clone(), whole: whole(path) })
    };
    texts.includes.iter().map(last).collect()
}

/// Reads a zone file.
pub(super) fn read(
    place: Place<'_>,
    label: &str,
    path: &Path,
    last: &LastIncludes,
    meter: &Meter<'_>,
) -> Result<ZoneReading, Unread> {
    settled::attempt(|| {
        let mut includes: Vec<Include> = Vec::new();
        let mut left = bounds::INCLUDED;
        let mut include = |including: &str, written: &str| {
            let path = target(place, including, written)?;
            let included = included(place, &path, left, &mut includes)?;
            left = left.saturating_sub(included.text.len() as u64);
            refuse_cut_off(&path, &included.text, last)?;
            Ok(included)
        };
        let mut reader = ZoneReader::new(label, &mut include).of_user();
        let mut sight = Sight::default();
        let before = meter.octets();
        let stamp = settled::read_parts(zone_file(place.root, path), &mut |part| {
            sight.take(part);
            reader.feed(part);
            meter.read(part.len(), reader.records());
        })?;
        let Some(stamp) = stamp else {
            meter.back_to(before);
            return Ok(None);
        };
        let zone = judged(reader.finish());
        Ok(Some(ZoneReading { glance: sight.glance(stamp), zone, includes }))
    })
}

fn judged(
    read: Result<dns::ReadZone, dns::ZoneFileError>,
) -> Result<(Arc<PackedZone>, Vec<FileNote>), Refused> {
    match read {
        Ok(read) => {
            let note = |r: dns::Remark| FileNote {
                path: r.path,
                line: r.line,
                column: r.column,
                message: r.message,
            };
            Ok((Arc::new(read.zone), read.remarks.into_iter().map(note).collect()))
        }
        Err(e) => {
            Err((e.origin, FileNote { path: e.path, line: e.line, column: e.column, message: e.message }))
        }
    }
}

/// An included file that lost its whole content, or ends inside a line before the length that it had, is a broken one:
/// the records in it were not deleted line by line.
fn refuse_cut_off(path: &Path, text: &str, last: &LastIncludes) -> Result<(), String> {
    let Some(last) = last.get(path) else { return Ok(()) };
    let mut sight = Sight::default();
    sight.take(text.as_bytes());
    let is_shorter = last.whole.is_some_and(|last| (text.len() as u64) < last);
    let message = match (sight.blank && last.hash != hex(&digest_of(text)), whole_length(text)) {
        (true, _) => "is empty; remove its $INCLUDE to remove the records that it had",
        (false, None) if is_shorter => {
            "is shorter than its last good content and ends inside a line, as when a write is cut off: if that is \
             meant, end it with a new line"
        }
        _ => return Ok(()),
    };
    Err(format!("`{}` {message}", path.display()))
}

/// The length of a text, where its last line is whole.
fn whole_length(text: &str) -> Option<u64> {
    text.ends_with('\n').then_some(text.len() as u64)
}

fn digest_of(text: &str) -> Digest {
    as_digest(&digest(&SHA256, text.as_bytes()))
}

/// What has been seen of a text.
struct Sight {
    context: Context,
    blank: bool,
    in_comment: bool,
    last: Option<u8>,
}

impl Default for Sight {
    fn default() -> Sight {
        Sight { context: Context::new(&SHA256), blank: true, in_comment: false, last: None }
    }
}

impl Sight {
    fn take(&mut self, part: &[u8]) {
        self.context.update(part);
        self.last = part.last().copied().or(self.last);
        self.blank = self.blank && part.iter().all(|octet| self.is_blank(*octet));
    }

    fn is_blank(&mut self, octet: u8) -> bool {
        self.in_comment = (self.in_comment || octet == b';') && octet != b'\n';
        self.in_comment || octet.is_ascii_whitespace()
    }

    fn glance(self, stamp: Stamp) -> Glance {
        let ends_with_a_line = self.last == Some(b'\n');
        Glance { stamp, digest: as_digest(&self.context.finish()), blank: self.blank, ends_with_a_line }
    }
}

fn as_digest(digest: &ring::digest::Digest) -> Digest {
    let mut out = Digest::default();
    out.copy_from_slice(digest.as_ref());
    out
}

fn included(
    place: Place<'_>,
    path: &Path,
    left: u64,
    includes: &mut Vec<Include>,
) -> Result<Included, String> {
    let full = place.root.join(path);
    let text = text_of(place.root, &full, left);
    let known = text.as_deref().ok();
    let (digest, whole) = (known.map(digest_of), known.and_then(whole_length));
    includes.push(Include { stamp: stamp_of(&full), path: path.to_owned(), digest, whole });
    Ok(Included { text: text?, path: format!("{}{}", place.prefix, path.display()) })
}

/// Another version may read the same text otherwise.
const READER: &str = env!("CARGO_PKG_VERSION");

/// The texts that a zone was read from, and by whom, for the state directory.
pub(super) fn texts(glance: &Glance, includes: &[Include]) -> ZoneTexts {
    let include = |include: &Include| {
        let digest = include.digest.map(|digest| hex(&digest)).unwrap_or_default();
        (include.path.display().to_string(), digest)
    };
    let whole = |include: &Include| Some((include.path.display().to_string(), include.whole?));
    ZoneTexts {
        reader: READER.to_owned(),
        text: hex(&glance.digest),
        whole: glance.whole(),
        includes: includes.iter().map(include).collect(),
        whole_includes: includes.iter().filter_map(whole).collect(),
    }
}

/// The included files as they stand, where a file with this text and these includes would read as it
/// did; `None` where any of them is another now.
pub(super) fn unchanged_includes(
    place: Place<'_>,
    glance: &Glance,
    texts: &ZoneTexts,
) -> Option<Vec<Include>> {
    if texts.reader != READER || hex(&glance.digest) != texts.text {
        return None;
    }
    let include = |(path, expected): &(String, String)| {
        let full = place.root.join(path);
        let stamp = stamp_of(&full);
        let text = text_of(place.root, &full, bounds::INCLUDED).ok()?;
        let (found, whole) = (digest_of(&text), whole_length(&text));
        (hex(&found) == *expected).then(|| Include { path: path.into(), stamp, digest: Some(found), whole })
    };
    texts.includes.iter().map(include).collect()
}

/// The included file's path below the folder, by its spelling.
fn target(place: Place<'_>, including: &str, written: &str) -> Result<PathBuf, String> {
    let from = Path::new(including.strip_prefix(place.prefix).unwrap_or(including));
    let below = match Path::new(written).strip_prefix(place.root) {
        Ok(below) => below.to_owned(),
        Err(_) => from.parent().unwrap_or(Path::new("")).join(written),
    };
    normal(&below).ok_or_else(|| leaves(written))
}

fn leaves(written: &str) -> String {
    format!("`{written}` leaves the folder: put what is included inside it")
}

/// The path without `.` and `..`; `None` when it is absolute or climbs out.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => out.push(name),
            Component::CurDir => {}
            Component::ParentDir if out.pop() => {}
            _ => return None,
        }
    }
    Some(out)
}

/// The text of an included file; `left` is how much of it there may be.
fn text_of(root: &Path, full: &Path, left: u64) -> Result<String, String> {
    let shown = full.strip_prefix(root).unwrap_or(full).display();
    if full.exists() && bounds::real(root, full).is_err() {
        return Err(leaves(&shown.to_string()));
    }
    if fs::metadata(full).is_ok_and(|metadata| metadata.is_file() && metadata.len() > left) {
        let most = bounds::INCLUDED >> 20;
        return Err(format!(
            "the files that the zone includes have more than {most} MiB: `{shown}` is refused"
        ));
    }
    match settled::read(Wanted { root, path: full, most: left }) {
        Ok((_, text)) => Ok(text),
        Err(Unread::Unsettled) => Err(format!("`{shown}` is being written")),
        Err(Unread::Unreadable(why)) => Err(format!("`{shown}` cannot be read: {why}")),
    }
}
