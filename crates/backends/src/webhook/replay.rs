//! Which nonces have been used, in bounded memory.
//!
//! A nonce counts for as long as its timestamp does, so nonces are kept by the minute of their timestamp and
//! forgotten a minute at a time. Sixteen octets are kept of each, whatever its length. When the memory is full
//! a new nonce is turned away: forgetting an old one instead would let it be replayed, and only who has the
//! secret can fill the memory.

use std::collections::{BTreeMap, HashSet};

use ring::digest::{SHA256, digest};

/// How far a timestamp may be from the server's clock, in seconds.
pub const WINDOW: i64 = 300;
/// How many nonces are kept; about 40 MB. At 10 minutes each that is 1,700 requests a second.
pub const CAPACITY: usize = 1 << 20;

const MINUTE: i64 = 60;

/// The nonces that have been used lately.
#[derive(Debug)]
pub struct Nonces {
    minutes: BTreeMap<i64, HashSet<[u8; 16]>>,
    count: usize,
    capacity: usize,
}

/// What came of remembering a nonce.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remembered {
    /// It is new, and known from now on.
    New,
    /// It has been used.
    Reused,
    /// There is no room for another one at the moment.
    Full,
}

impl Nonces {
    /// A memory for so many nonces.
    pub fn new(capacity: usize) -> Nonces {
        Nonces { minutes: BTreeMap::new(), count: 0, capacity }
    }

    /// Remembers the nonce of a request with a fresh timestamp; times are seconds since 1970.
    pub fn remember(&mut self, nonce: &str, timestamp: i64, now: i64) -> Remembered {
        self.forget(now);
        let short = shortened(nonce);
        if self.minutes.values().any(|minute| minute.contains(&short)) {
            return Remembered::Reused;
        }
        if self.count >= self.capacity {
            return Remembered::Full;
        }
        self.minutes.entry(timestamp.div_euclid(MINUTE)).or_default().insert(short);
        self.count += 1;
        Remembered::New
    }

    /// How many are kept.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Drops the minutes all of whose timestamps are stale.
    fn forget(&mut self, now: i64) {
        let first = (now - WINDOW).div_euclid(MINUTE);
        while let Some(minute) = self.minutes.first_entry().filter(|minute| *minute.key() < first) {
            self.count -= minute.remove().len();
        }
    }
}

impl Default for Nonces {
    fn default() -> Nonces {
        Nonces::new(CAPACITY)
    }
}

fn shortened(nonce: &str) -> [u8; 16] {
    let mut short = [0; 16];
    short.copy_from_slice(&digest(&SHA256, nonce.as_bytes()).as_ref()[..16]);
    short
}
