//! The highest generation that each owner has written with: a sender that was replaced is told so.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use backends::webhook::Fence;
use serde::{Deserialize, Serialize};

use super::journal::{Change, Journal, Opened};

/// How many owners are remembered; a client may name any.
const MOST_OWNERS: usize = 10_000;

/// What is remembered of owners.
pub struct Fences(Mutex<Known>);

struct Known {
    highest: BTreeMap<String, u64>,
    journal: Option<Journal<Line>>,
}

#[derive(Serialize, Deserialize)]
struct Line {
    owner: String,
    generation: u64,
}

impl Change for Line {
    fn label(&self) -> String {
        self.owner.clone()
    }
}

/// What a fence says about a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passage {
    /// It may write.
    Open,
    /// A newer one has written.
    Stale,
    /// This cannot be remembered at the moment, so it may not write.
    Unknown,
}

impl Fences {
    /// Fences in a file, or in memory alone; the second is what is wrong with the file. What is lost of it is
    /// done without: a generation that is known is never lowered.
    pub fn open(file: Option<&Path>) -> io::Result<(Fences, Option<String>)> {
        let (journal, lines, trouble) = match file.map(Journal::open).transpose()? {
            Some(Opened { journal, changes, trouble, .. }) => (Some(journal), changes, trouble),
            None => (None, Vec::new(), None),
        };
        let (mut highest, count) = (BTreeMap::<String, u64>::new(), lines.len());
        for Line { owner, generation } in lines {
            let known = highest.entry(owner).or_default();
            *known = generation.max(*known);
        }
        let mut known = Known { highest, journal };
        known.rewrite_if_worthwhile(count);
        Ok((Fences(Mutex::new(known)), trouble))
    }

    /// Whether a sender may write; a new generation is on the disk before it has written anything.
    pub fn pass(&self, fence: &Fence) -> Passage {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match known.highest.get(&fence.owner) {
            Some(highest) if fence.generation < *highest => Passage::Stale,
            Some(highest) if fence.generation == *highest => Passage::Open,
            None if known.highest.len() >= MOST_OWNERS => Passage::Unknown,
            _ => known.raise(fence),
        }
    }
}

impl Known {
    /// A disk that refuses this now may take it with the next generation.
    fn rewrite_if_worthwhile(&mut self, lines: usize) {
        let whole = self.lines();
        let Some(journal) = &mut self.journal else { return };
        if !journal.is_stale() && lines <= whole.len() {
            return;
        }
        if let Err(error) = journal.rewrite(&whole) {
            tracing::warn!("the generations cannot be written anew: {error}");
        }
    }

    fn lines(&self) -> Vec<Line> {
        let line =
            |(owner, generation): (&String, &u64)| Line { owner: owner.clone(), generation: *generation };
        self.highest.iter().map(line).collect()
    }

    fn raise(&mut self, fence: &Fence) -> Passage {
        let line = Line { owner: fence.owner.clone(), generation: fence.generation };
        let whole = self.lines();
        if let Some(Err(error)) = self.journal.as_mut().map(|journal| journal.append(&[line], || whole)) {
            tracing::error!("the generations cannot be kept: {error}");
            return Passage::Unknown;
        }
        self.highest.insert(fence.owner.clone(), fence.generation);
        Passage::Open
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn an_older_generation_is_turned_away_after_a_restart_too() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("generations");
        let fence = |owner: &str, generation| Fence { owner: owner.to_owned(), generation };
        let fences = Fences::open(Some(&file)).unwrap().0;
        assert_eq!(fences.pass(&fence("blue", 7)), Passage::Open);
        assert_eq!(fences.pass(&fence("blue", 7)), Passage::Open);
        assert_eq!(fences.pass(&fence("blue", 6)), Passage::Stale);
        assert_eq!(fences.pass(&fence("green", 1)), Passage::Open);
        let again = Fences::open(Some(&file)).unwrap().0;
        assert_eq!(again.pass(&fence("blue", 6)), Passage::Stale);
        assert_eq!(again.pass(&fence("blue", 8)), Passage::Open);
        assert_eq!(again.pass(&fence("blue", 7)), Passage::Stale);
        let third = Fences::open(Some(&file)).unwrap().0;
        assert_eq!(third.pass(&fence("blue", 7)), Passage::Stale);
        let lines = std::fs::read_to_string(&file).unwrap().lines().count();
        assert_eq!(lines, 3, "one line for each owner, after the first");
    }
}
