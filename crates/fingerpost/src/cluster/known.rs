//! Which objects of a kind are known, so that what is gone can be told after a full reading, and
//! events that come twice or late change nothing.

use std::collections::{HashMap, HashSet, VecDeque};

use super::Key;

/// How many deleted objects are remembered, against late events about them.
const MOST_REMEMBERED: usize = 4_096;

/// The objects of one kind.
#[derive(Debug, Default)]
pub(super) struct Known {
    versions: HashMap<Key, u64>,
    deleted: VecDeque<(Key, u64)>,
    /// What the full reading under way has shown so far.
    reading: Option<HashSet<Key>>,
}

/// How a full reading ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Read {
    /// These are no longer there.
    Gone(Vec<Key>),
    /// It showed nothing at all: not to be believed without a second look.
    ///
    /// At a start too, when nothing is known yet: what the objects own may be there.
    Emptied,
}

impl Known {
    pub(super) fn len(&self) -> usize {
        self.versions.len()
    }

    /// A full reading begins.
    pub(super) fn begin(&mut self) {
        self.reading = Some(HashSet::new());
    }

    /// The cluster was set back: versions count anew, and what arrives is news whatever its version.
    pub(super) fn rewind(&mut self) {
        self.versions.values_mut().for_each(|version| *version = 0);
        self.deleted.clear();
    }

    /// An object is there; whether that is news.
    pub(super) fn arrives(&mut self, key: &Key, version: u64) -> bool {
        if let Some(reading) = &mut self.reading {
            reading.insert(key.clone());
        }
        let is_news = match self.versions.get(key) {
            Some(known) => version > *known || version == 0,
            None => !self.was_deleted_after(key, version),
        };
        if is_news {
            self.versions.insert(key.clone(), version);
        }
        is_news
    }

    /// An object was deleted; whether that is news.
    pub(super) fn leaves(&mut self, key: &Key, version: u64) -> bool {
        if self.versions.get(key).is_none_or(|known| version > 0 && version < *known) {
            return false;
        }
        self.versions.remove(key);
        self.deleted.push_back((key.clone(), version));
        if self.deleted.len() > MOST_REMEMBERED {
            self.deleted.pop_front();
        }
        true
    }

    /// A full reading has shown everything; `believed` says that an empty one was looked at twice.
    pub(super) fn end(&mut self, believed: bool) -> Read {
        let Some(reading) = self.reading.take() else { return Read::Gone(Vec::new()) };
        if reading.is_empty() && !believed {
            self.reading = Some(reading);
            return Read::Emptied;
        }
        let mut gone: Vec<Key> = self.versions.keys().filter(|key| !reading.contains(key)).cloned().collect();
        gone.sort();
        for key in &gone {
            self.versions.remove(key);
        }
        Read::Gone(gone)
    }

    fn was_deleted_after(&self, key: &Key, version: u64) -> bool {
        version > 0 && self.deleted.iter().any(|(deleted, at)| deleted == key && version <= *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> Key {
        Key { namespace: "shop".into(), name: name.into() }
    }

    #[test]
    fn doubled_and_late_events_are_no_news() {
        let mut known = Known::default();
        assert!(known.arrives(&key("a"), 5));
        assert!(!known.arrives(&key("a"), 5));
        assert!(!known.arrives(&key("a"), 4));
        assert!(known.arrives(&key("a"), 6));
        assert!(!known.leaves(&key("a"), 3), "a deletion of an earlier life");
        assert!(known.leaves(&key("a"), 7));
        assert!(!known.leaves(&key("a"), 7));
        assert!(!known.arrives(&key("a"), 6), "a late event does not bring it back");
        assert!(known.arrives(&key("a"), 8), "a new life does");
    }

    #[test]
    fn a_full_reading_tells_what_is_gone() {
        let mut known = Known::default();
        known.arrives(&key("a"), 1);
        known.arrives(&key("b"), 2);
        known.begin();
        assert!(!known.arrives(&key("b"), 2), "unchanged is no news");
        assert_eq!(known.end(false), Read::Gone(vec![key("a")]));
        assert_eq!(known.len(), 1);
    }

    #[test]
    fn an_empty_reading_is_looked_at_twice() {
        let mut known = Known::default();
        known.begin();
        assert_eq!(known.end(false), Read::Emptied, "at a start too: what the objects own may be there");
        assert_eq!(known.end(true), Read::Gone(vec![]));
        known.arrives(&key("a"), 1);
        known.begin();
        assert_eq!(known.end(false), Read::Emptied);
        assert_eq!(known.len(), 1, "nothing is gone yet");
        assert_eq!(known.end(true), Read::Gone(vec![key("a")]));
    }

    #[test]
    fn after_the_cluster_was_set_back_an_older_version_is_news() {
        let mut known = Known::default();
        known.arrives(&key("a"), 9);
        known.arrives(&key("b"), 8);
        known.leaves(&key("b"), 10);
        known.rewind();
        known.begin();
        assert!(known.arrives(&key("a"), 5));
        assert!(known.arrives(&key("b"), 6), "its deletion was undone");
        assert_eq!(known.end(false), Read::Gone(vec![]));
    }

    #[test]
    fn the_memory_of_deletions_is_bounded() {
        let mut known = Known::default();
        for number in 0..2 * MOST_REMEMBERED as u64 {
            let key = key(&number.to_string());
            known.arrives(&key, number + 1);
            known.leaves(&key, number + 2);
        }
        assert_eq!((known.len(), known.deleted.len()), (0, MOST_REMEMBERED));
    }
}
