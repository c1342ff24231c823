//! A journal as text (pure).
//!
//! ```text
//! "fingerpost provider 2\n" │ line │ line │ …
//! line:  sum of the head │ tab │ head, JSON │ tab │ change, JSON │ "\n"
//! head:  place, label and sum of the change
//! ```
//!
//! A sum is the first 16 hexadecimal digits of SHA-256. A head that checks out tells what a damaged change
//! belonged to. Lines of version 1 have no head: the sum of the change, a space, the change.

use std::io;

use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

use super::Change;

/// How a file begins. Nothing depends on it: every line proves itself.
pub(super) const HEADER: &str = "fingerpost provider 2\n";
const FIRST_HEADER: &str = "fingerpost provider 1\n";
const DIGITS: usize = 16;

/// Where a line belongs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    /// Counts how often the files were written anew.
    pub(super) epoch: u64,
    /// Counts the lines of an epoch, from 0.
    pub(super) line: u64,
    /// How many lines were there from the beginning of the epoch.
    pub(super) base: u64,
}

#[derive(Serialize, Deserialize)]
struct Head {
    #[serde(flatten)]
    place: Place,
    label: String,
    sum: String,
}

/// What a line turned out to be.
#[derive(Debug)]
pub(super) enum Line<T> {
    /// The beginning of a file.
    Header,
    /// A change in its place.
    Whole(Place, T),
    /// A change that is damaged, its place and label.
    Damaged(Place, String),
    /// A change of version 1.
    First(T),
    /// Nothing that checks out.
    Garbage,
}

impl Place {
    /// The first place of the next epoch.
    pub(super) fn next_epoch(self, base: u64) -> Place {
        Place { epoch: self.epoch + 1, line: 0, base }
    }
}

/// Changes as lines from this place on, and the place after them.
pub(super) fn written<T: Change>(changes: &[T], mut place: Place) -> io::Result<(Vec<u8>, Place)> {
    let mut text = Vec::new();
    for change in changes {
        let body = serde_json::to_string(change).map_err(io::Error::other)?;
        let head = Head { place, label: change.label(), sum: sum(body.as_bytes()) };
        let head = serde_json::to_string(&head).map_err(io::Error::other)?;
        text.extend_from_slice(format!("{}\t{head}\t{body}\n", sum(head.as_bytes())).as_bytes());
        place.line += 1;
    }
    Ok((text, place))
}

/// Reads a line, with its end.
pub(super) fn read_line<T: Change>(line: &[u8]) -> Line<T> {
    if line == HEADER.as_bytes() || line == FIRST_HEADER.as_bytes() {
        return Line::Header;
    }
    let Some(line) = line.strip_suffix(b"\n") else { return Line::Garbage };
    headed(line).or_else(|| first(line)).unwrap_or(Line::Garbage)
}

fn headed<T: Change>(line: &[u8]) -> Option<Line<T>> {
    let mut parts = line.splitn(3, |octet| *octet == b'\t');
    let (stated, head) = (parts.next()?, parts.next()?);
    if sum(head).as_bytes() != stated {
        return None;
    }
    let head: Head = serde_json::from_slice(head).ok()?;
    let body = parts.next().filter(|body| sum(body) == head.sum);
    match body.and_then(|body| serde_json::from_slice(body).ok()) {
        Some(change) => Some(Line::Whole(head.place, change)),
        None => Some(Line::Damaged(head.place, head.label)),
    }
}

fn first<T: Change>(line: &[u8]) -> Option<Line<T>> {
    let (stated, json) = line.split_at_checked(DIGITS)?;
    let json = json.strip_prefix(b" ").filter(|json| sum(json).as_bytes() == stated)?;
    serde_json::from_slice(json).ok().map(Line::First)
}

fn sum(octets: &[u8]) -> String {
    digest(&SHA256, octets).as_ref().iter().take(DIGITS / 2).map(|octet| format!("{octet:02x}")).collect()
}
