//! Sorts records by moving numbers: eight octets of each key at a time stand beside the record's
//! place, so that hardly any comparison has to look at the record itself.

use super::{Order, Records};

const WORD: usize = 8;

impl Records {
    /// The canonical order; nothing is sorted where all came in order.
    pub(in super::super) fn order(&self) -> Order {
        if self.in_order {
            return Order { inside: self.all().collect(), outside: Vec::new() };
        }
        let (inside, outside): (Vec<u32>, Vec<u32>) = self.all().partition(|at| self.get(*at).inside);
        let mut words: Vec<(u64, u32)> = inside.iter().map(|at| (0, *at)).collect();
        drop(inside);
        self.sort(&mut words, 0);
        Order { inside: words.iter().map(|(_, at)| *at).collect(), outside }
    }

    /// Sorts records whose keys are equal up to `depth`.
    fn sort(&self, records: &mut [(u64, u32)], depth: usize) {
        for (next, at) in records.iter_mut() {
            *next = word(self.get(*at).key, depth);
        }
        records.sort_unstable();
        for alike in records.chunk_by_mut(|a, b| a.0 == b.0).filter(|alike| alike.len() > 1) {
            match self.ends_in(alike[0].1, depth) {
                true => alike.sort_unstable_by(|a, b| self.by_type(a.1, b.1)),
                false => self.sort(alike, depth + WORD),
            }
        }
    }

    /// Whether the key ends before the next word. Then so do all that have the same word here: no
    /// key has two zero octets in a row, and those that are missing count as zero.
    fn ends_in(&self, at: u32, depth: usize) -> bool {
        self.get(at).key.len() < depth + WORD
    }

    /// By type and data, then by the order of the lines.
    fn by_type(&self, a: u32, b: u32) -> std::cmp::Ordering {
        let (one, other) = (self.get(a), self.get(b));
        (one.rtype, one.wire, a).cmp(&(other.rtype, other.wire, b))
    }
}

/// Eight octets of the key as a number that sorts as they do.
fn word(key: &[u8], depth: usize) -> u64 {
    let rest = key.get(depth..).unwrap_or_default();
    match rest.first_chunk::<WORD>() {
        Some(octets) => u64::from_be_bytes(*octets),
        None => {
            let mut octets = [0; WORD];
            octets[..rest.len()].copy_from_slice(rest);
            u64::from_be_bytes(octets)
        }
    }
}
