//! What two copies of a journal hold together (pure).
//!
//! A change counts when it is whole in one of the copies. The copies may be of two epochs, after a crash between
//! the two files: both then hold the same. The places tell which changes there were, so that one that is in
//! neither copy is known to be lost.

use std::collections::{BTreeMap, BTreeSet};

use super::Change;
use super::lines::{self, HEADER, Line, Place};

/// What was acknowledged and cannot be read any more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Loss {
    /// Nothing.
    #[default]
    None,
    /// Changes that belong to these labels, and to no other.
    Labels(BTreeSet<String>),
    /// Changes of which nothing is known.
    All,
}

/// What was found.
pub(super) struct Recovered<T> {
    /// The changes, in order.
    pub(super) changes: Vec<T>,
    /// What is missing among them.
    pub(super) loss: Loss,
    /// The place of the next change.
    pub(super) next: Place,
    /// Whether both files are as they would be written.
    pub(super) is_whole: bool,
    /// Whether a file holds what was not written to it.
    pub(super) is_damaged: bool,
    /// Whether the last write was cut short.
    pub(super) is_torn: bool,
}

/// A line with a place: where it ends in the file, and the change where it is whole, else its label.
type Placed<T> = (Place, usize, Result<T, String>);
/// The lines of one epoch, by their number.
type Epoch<T> = BTreeMap<u64, Placed<T>>;

/// One copy, as it was read.
struct Copy<T> {
    /// The lines with a place, in the order of the file.
    lines: Vec<Placed<T>>,
    first: Vec<T>,
    /// Lines that do not check out: among or before the others, and after the last of them.
    inside: usize,
    after: usize,
    has_header: bool,
    /// How many octets it has.
    length: usize,
    /// Whether the last line has no end.
    is_cut: bool,
}

/// Brings the copies of a journal together; a file that is missing is `None`.
pub(super) fn recover<T: Change>(copies: &[Option<Vec<u8>>; 2]) -> Recovered<T> {
    let present: Vec<Copy<T>> = copies.iter().flatten().map(|octets| Copy::read(octets)).collect();
    let both = present.len() == copies.len();
    let has_places = present.iter().any(|copy| !copy.lines.is_empty());
    let has_first = present.iter().any(|copy| !copy.first.is_empty());
    if has_first && !has_places {
        return first_version(present);
    }
    let is_whole = both && present.iter().all(Copy::is_whole) && same_length(&present);
    let is_damaged = present.iter().any(|copy| copy.inside > 0 || copy.has_damage() || !copy.has_header);
    let has_tail = present.iter().any(|copy| copy.after > 0);
    let is_cut_to_nothing = !present.is_empty() && !has_places && !present.iter().any(|copy| copy.has_header);
    let mut found = by_place(present);
    if is_cut_to_nothing {
        // A file gets its name after its header is synced, so that no crash leaves one without a header.
        found.loss = Loss::All;
    }
    found.is_whole = is_whole && found.loss == Loss::None;
    found.is_damaged = is_damaged || found.loss != Loss::None;
    found.is_torn = has_tail;
    found
}

impl<T: Change> Copy<T> {
    fn read(octets: &[u8]) -> Copy<T> {
        let (length, is_cut) = (octets.len(), !octets.ends_with(b"\n"));
        let (lines, first) = (Vec::new(), Vec::new());
        let mut copy = Copy { lines, first, inside: 0, after: 0, has_header: false, length, is_cut };
        let mut end = 0;
        for (index, line) in octets.split_inclusive(|octet| *octet == b'\n').enumerate() {
            end += line.len();
            match lines::read_line(line) {
                Line::Header => copy.has_header |= index == 0,
                // Nothing depends on the header; what is longer has swallowed a line.
                Line::Garbage if index == 0 && line.len() <= HEADER.len() => {}
                Line::Garbage => copy.after += 1,
                Line::Whole(place, change) => copy.add(place, end, Ok(change)),
                Line::Damaged(place, label) => copy.add(place, end, Err(label)),
                Line::First(change) => {
                    copy.inside += std::mem::take(&mut copy.after);
                    copy.first.push(change);
                }
            }
        }
        copy
    }

    fn add(&mut self, place: Place, end: usize, change: Result<T, String>) {
        self.inside += std::mem::take(&mut self.after);
        self.lines.push((place, end, change));
    }

    fn has_damage(&self) -> bool {
        self.lines.iter().any(|(_, _, change)| change.is_err())
    }

    /// Whether every line is whole and in its place.
    fn is_whole(&self) -> bool {
        let in_place = |(index, (place, _, change)): (usize, &Placed<T>)| {
            let epoch = self.lines.first().map(|(place, _, _)| place.epoch);
            place.line == index as u64 && Some(place.epoch) == epoch && change.is_ok()
        };
        self.has_header
            && self.inside + self.after == 0
            && self.first.is_empty()
            && self.lines.iter().enumerate().all(in_place)
    }

    /// How many octets it has of an epoch, readable or not. A line without a place may be of any.
    fn length_of(&self, epoch: u64) -> usize {
        let is_of = self.lines.is_empty() || self.lines.iter().any(|(place, _, _)| place.epoch == epoch);
        if is_of { self.length } else { 0 }
    }
}

fn same_length<T>(copies: &[Copy<T>]) -> bool {
    let places = |copy: &Copy<T>| copy.lines.last().map(|(place, _, _)| *place);
    copies.windows(2).all(|pair| places(&pair[0]) == places(&pair[1]))
}

/// The changes of the last epoch that is complete; where none is, those of the last one, with what is missing.
fn by_place<T: Change>(copies: Vec<Copy<T>>) -> Recovered<T> {
    let mut epochs: BTreeSet<u64> =
        copies.iter().flat_map(|copy| copy.lines.iter().map(|(place, _, _)| place.epoch)).collect();
    let lengths = |epoch: u64| copies.iter().map(|copy| copy.length_of(epoch)).collect::<Vec<usize>>();
    let last = epochs.pop_last().unwrap_or_default();
    let before = epochs.pop_last().map(|epoch| (epoch, lengths(epoch)));
    let last_lengths = lengths(last);
    let mut by_epoch: BTreeMap<u64, Epoch<T>> = BTreeMap::new();
    for (place, end, change) in copies.into_iter().flat_map(|copy| copy.lines) {
        let line = by_epoch.entry(place.epoch).or_default().entry(place.line);
        let held = line.or_insert_with(|| (place, end, Err(String::new())));
        if held.2.is_err() {
            *held = (place, end, change);
        }
    }
    let mut take = |epoch: u64, lengths: &[usize]| {
        one_epoch(epoch, by_epoch.remove(&epoch).unwrap_or_default(), lengths)
    };
    let found = take(last, &last_lengths);
    // Nothing is appended before both files have the new epoch: until then the one before it holds the same.
    match before {
        Some((epoch, lengths)) if found.loss != Loss::None && found.next.line <= found.next.base => {
            let older = take(epoch, &lengths);
            let next = Place { epoch: last, ..older.next };
            if older.loss == Loss::None { Recovered { next, ..older } } else { found }
        }
        _ => found,
    }
}

fn one_epoch<T>(epoch: u64, mut lines: Epoch<T>, lengths: &[usize]) -> Recovered<T> {
    let base = lines.values().next().map_or(0, |(place, _, _)| place.base);
    let (known, known_length) =
        lines.last_key_value().map_or((0, HEADER.len()), |(line, (_, end, _))| (line + 1, *end));
    let end = known.max(base);
    let (mut changes, mut lost, mut unknown) = (Vec::new(), BTreeSet::new(), false);
    for line in 0..end {
        match lines.remove(&line) {
            Some((_, _, Ok(change))) => changes.push(change),
            Some((_, _, Err(label))) => drop(lost.insert(label)),
            None => unknown = true,
        }
    }
    // A crash leaves one file with more than the other; that both have more than checks out is damage. Both have
    // the same octets, so their lengths tell, also where the end of a line is damaged.
    unknown |= !lengths.is_empty() && lengths.iter().all(|length| *length > known_length);
    let loss = match (unknown, lost.is_empty()) {
        (true, _) => Loss::All,
        (false, false) => Loss::Labels(lost),
        (false, true) => Loss::None,
    };
    let next = Place { epoch, line: end, base };
    Recovered { changes, loss, next, is_whole: false, is_damaged: false, is_torn: false }
}

/// A journal of version 1 is one file, so what is damaged in it is lost.
fn first_version<T: Change>(copies: Vec<Copy<T>>) -> Recovered<T> {
    let is_torn = copies.iter().any(|copy| copy.after > 0);
    let is_damaged = copies.iter().any(|copy| copy.inside > 0 || copy.after > usize::from(copy.is_cut));
    let loss = if is_damaged { Loss::All } else { Loss::None };
    let changes = copies.into_iter().flat_map(|copy| copy.first).collect();
    Recovered { changes, loss, next: Place::default(), is_whole: false, is_damaged, is_torn }
}
