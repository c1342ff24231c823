//! How far the first reading has come, for whoever waits for it.

use std::cell::{Cell, RefCell};

/// How far a reading has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// How many files have been looked at.
    pub files: usize,
    /// How many files there are.
    pub all_files: usize,
    /// How many octets of them have been read.
    pub octets: u64,
    /// How many octets they have.
    pub all_octets: u64,
    /// How many records of the zone file that is being read have been read.
    pub records: usize,
}

/// Counts, and tells.
pub(super) struct Meter<'a> {
    progress: Cell<Progress>,
    tell: RefCell<&'a mut dyn FnMut(&Progress)>,
}

impl<'a> Meter<'a> {
    pub(super) fn new(all_files: usize, all_octets: u64, tell: &'a mut dyn FnMut(&Progress)) -> Meter<'a> {
        let progress = Progress { all_files, all_octets, ..Progress::default() };
        Meter { progress: Cell::new(progress), tell: RefCell::new(tell) }
    }

    pub(super) fn octets(&self) -> u64 {
        self.progress.get().octets
    }

    /// Part of a zone file was read, which has so many records so far.
    pub(super) fn read(&self, octets: usize, records: usize) {
        self.change(|progress| {
            progress.octets += octets as u64;
            progress.records = records;
        });
    }

    /// What was read since does not count.
    pub(super) fn back_to(&self, octets: u64) {
        self.change(|progress| progress.octets = octets);
    }

    /// A file is done, with which so many octets are.
    pub(super) fn done(&self, octets: u64) {
        self.change(|progress| {
            progress.files += 1;
            progress.octets = octets;
            progress.records = 0;
        });
    }

    fn change(&self, change: impl FnOnce(&mut Progress)) {
        let mut progress = self.progress.get();
        change(&mut progress);
        self.progress.set(progress);
        (self.tell.borrow_mut())(&progress);
    }
}
