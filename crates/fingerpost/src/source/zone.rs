//! A master file with what it includes.
//!
//! Every `*.zone` file in the folder is a zone of its own, included or not; a part that is only
//! to be included has another ending, such as `.inc`. `$INCLUDE` is relative to the including
//! file and never leaves the folder, whatever `..` and links say.

use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use dns::{Included, Name, PackedZone};
use planner::FileNote;

use super::settled::{self, Unread};
use super::walk::Stamp;

/// What a zone file holds, and which files it was made from.
pub(super) struct ZoneReading {
    pub(super) zone: Result<(Arc<PackedZone>, Vec<FileNote>), Refused>,
    pub(super) includes: Vec<Include>,
}

/// The zone's origin where it is known, and what is wrong.
pub(super) type Refused = (Option<Name>, FileNote);

/// A file that a zone file includes, or would if it were there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Include {
    /// Below the folder.
    pub(super) path: PathBuf,
    /// As it was when it was read; `None` when it was not there.
    pub(super) stamp: Option<Stamp>,
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

/// Reads a zone file's text.
pub(super) fn read(place: Place<'_>, label: &str, text: &str) -> ZoneReading {
    let mut includes: Vec<Include> = Vec::new();
    let mut include = |including: &str, written: &str| {
        let path = target(place, including, written)?;
        let full = place.root.join(&path);
        includes.push(Include { stamp: stamp_of(&full), path: path.clone() });
        Ok(Included {
            text: text_of(place.root, &full)?,
            path: format!("{}{}", place.prefix, path.display()),
        })
    };
    let zone = match dns::read_zone(label, text, &mut include) {
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
    };
    ZoneReading { zone, includes }
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

/// The text, unless a link leads out of the folder.
fn text_of(root: &Path, full: &Path) -> Result<String, String> {
    let unreadable = |error: std::io::Error| format!("`{}` cannot be read: {error}", full.display());
    let real = full.canonicalize().map_err(unreadable)?;
    if !real.starts_with(root.canonicalize().map_err(unreadable)?) {
        return Err(leaves(&full.display().to_string()));
    }
    if !real.is_file() {
        return Err(format!("`{}` is not a file", full.display()));
    }
    match settled::read(&real) {
        Ok((_, text)) => Ok(text),
        Err(Unread::Unsettled) => Err(format!("`{}` is being written", full.display())),
        Err(Unread::Unreadable(why)) => Err(format!("`{}` cannot be read: {why}", full.display())),
    }
}
