//! The hash of a name, made from the root down.
//!
//! A name's hash is made from its parent's, so one pass over a name gives the hashes of all its
//! suffixes too. Letters count without regard to case. The hash is keyed once a process: who does
//! not know the key cannot choose names that fall together.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use dns::Name;

/// The most octets of a label that are read at a time.
const WORD: usize = 8;
/// Room for the longest label and a word more.
const LABEL_ROOM: usize = 72;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
const EVERY_OCTET: u64 = 0x0101_0101_0101_0101;

static KEY: LazyLock<HashKey> = LazyLock::new(|| {
    let state = RandomState::new();
    HashKey { root: state.hash_one(1), factor: state.hash_one(2) | 1 }
});

/// What makes the hashes of this process its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct HashKey {
    /// The hash of the root.
    pub(super) root: u64,
    factor: u64,
}

impl HashKey {
    pub(super) fn of_process() -> HashKey {
        *KEY
    }

    /// The hash of a child, whose label starts at `at` in a buffer with a word's room after it.
    #[inline]
    pub(super) fn child(self, parent: u64, buffer: &[u8], at: usize, length: usize) -> u64 {
        // The length is keyed too: added as it is, it could be made up for by the first octet.
        let mut hash = parent ^ (length as u64).wrapping_mul(self.factor);
        let (mut at, end) = (at, at + length);
        while at + WORD < end {
            hash = self.mix(hash ^ fold(word(buffer, at)));
            at += WORD;
        }
        self.mix(hash ^ fold(word(buffer, at) & low_octets(end - at)))
    }

    /// The hash of a child by its label alone.
    pub(super) fn child_named(self, parent: u64, label: &[u8]) -> u64 {
        let mut room = [0; LABEL_ROOM];
        let length = label.len().min(LABEL_ROOM - WORD);
        room[..length].copy_from_slice(&label[..length]);
        self.child(parent, &room, 0, length)
    }

    /// The hashes of a name and its ancestors, the root's first.
    pub(super) fn suffixes(self, name: &Name) -> impl Iterator<Item = u64> {
        let below = name.labels().rev().scan(self.root, move |hash, label| {
            *hash = self.child_named(*hash, &label);
            Some(*hash)
        });
        std::iter::once(self.root).chain(below)
    }

    #[inline]
    fn mix(self, value: u64) -> u64 {
        let product = u128::from(value) * u128::from(self.factor);
        (product as u64) ^ ((product >> 64) as u64)
    }
}

/// Eight octets as one number; past the end of the buffer there are none.
#[inline]
fn word(buffer: &[u8], at: usize) -> u64 {
    match buffer.get(at..at + WORD).map(<[u8; WORD]>::try_from) {
        Some(Ok(octets)) => u64::from_le_bytes(octets),
        _ => 0,
    }
}

/// A mask for the first octets of a word.
#[inline]
fn low_octets(count: usize) -> u64 {
    if count >= WORD { u64::MAX } else { (1 << (count * 8)) - 1 }
}

/// Eight octets with their capital letters made small.
#[inline]
pub(super) fn fold(word: u64) -> u64 {
    let low = word & !HIGH_BITS;
    let from_a = low + (0x80 - u64::from(b'A')) * EVERY_OCTET;
    let past_z = low + (0x7f - u64::from(b'Z')) * EVERY_OCTET;
    let capitals = from_a & !past_z & !word & HIGH_BITS;
    word | capitals >> 2
}

/// Whether octets with any letters are `small` ones, which have no capitals.
#[inline]
pub(super) fn same_folded(octets: &[u8], small: &[u8]) -> bool {
    if octets.len() != small.len() {
        return false;
    }
    let same = |(a, b): (&[u8; WORD], &[u8; WORD])| is_folded(u64::from_le_bytes(*a), u64::from_le_bytes(*b));
    // The last word has the rest, and some octets a second time.
    match octets.last_chunk().zip(small.last_chunk()) {
        Some(last) => same(last) && octets.as_chunks().0.iter().zip(small.as_chunks().0).all(same),
        None => is_folded(part(octets), part(small)),
    }
}

/// Whether a word is the same as a small one; most have no capitals, and need no folding.
#[inline]
fn is_folded(word: u64, small: u64) -> bool {
    word == small || fold(word) == small
}

/// The octets of less than a word as one number, some of them twice.
#[inline]
fn part(octets: &[u8]) -> u64 {
    if let (Some(first), Some(last)) = (octets.first_chunk(), octets.last_chunk()) {
        return u64::from(u32::from_le_bytes(*first)) | u64::from(u32::from_le_bytes(*last)) << 32;
    }
    match *octets {
        [a, b, c] => u64::from_le_bytes([a, b, c, 0, 0, 0, 0, 0]),
        [a, b] => u64::from(u16::from_le_bytes([a, b])),
        [a] => u64::from(a),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn eight_octets_fold_like_one(octets: [u8; 8]) {
            let folded = fold(u64::from_le_bytes(octets)).to_le_bytes();
            prop_assert_eq!(folded, octets.map(|octet| octet.to_ascii_lowercase()));
        }

        #[test]
        fn a_label_hashes_alike_in_any_case_and_place(
            label in vec(any::<u8>(), 1..=63), before in 0usize..20, after in vec(any::<u8>(), 8..20),
        ) {
            let key = HashKey::of_process();
            let buffer = [&vec![7; before], &label[..], &after].concat();
            let hash = key.child(5, &buffer, before, label.len());
            prop_assert_eq!(hash, key.child_named(5, &label.to_ascii_uppercase()));
            prop_assert_ne!(hash, key.child_named(6, &label));
            prop_assert_ne!(hash, key.child_named(5, &label[1..]));
        }

        #[test]
        fn octets_are_the_same_exactly_when_they_fold_alike(
            one in vec(any::<u8>(), 0..20), other in vec(any::<u8>(), 0..20),
        ) {
            let small = one.to_ascii_lowercase();
            prop_assert!(same_folded(&one, &small));
            prop_assert_eq!(same_folded(&other, &small), other.to_ascii_lowercase() == small);
        }
    }

    #[test]
    fn a_length_is_not_made_up_for_by_an_octet() {
        let key = HashKey::of_process();
        assert_ne!(key.child_named(5, &[1]), key.child_named(5, &[]));
        assert_ne!(key.child_named(5, b"a"), key.child_named(5, &[b'a' ^ 1 ^ 2, 0]));
    }

    #[test]
    fn the_hashes_of_suffixes_start_at_the_root() {
        let key = HashKey::of_process();
        let name: Name = "www.example.org".parse().unwrap();
        let parent: Vec<u64> = key.suffixes(&name.parent().unwrap()).collect();
        let all: Vec<u64> = key.suffixes(&name).collect();
        assert_eq!(parent, all[..3]);
        assert_eq!(all[0], key.root);
    }
}
