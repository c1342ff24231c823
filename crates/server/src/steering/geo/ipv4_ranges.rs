//! The value of every IPv4 address, in little memory: a query should find it in the processor's cache.
//!
//! Addresses fall into blocks by their upper half. For each block the index says how many ranges
//! start before it, so of a range's start only the lower half is kept.

use super::steps::Steps;

/// Merged ranges.
#[derive(Debug)]
pub(super) struct Ipv4Ranges {
    /// For each block, and for the end, how many ranges start before it.
    index: Packed,
    starts: Box<[u16]>,
    values: Packed,
}

/// Numbers in no more octets than the largest needs.
#[derive(Debug)]
enum Packed {
    Octets(Box<[u8]>),
    Short(Box<[u16]>),
    Long(Box<[u32]>),
}

const BLOCK_BITS: u32 = 16;
const BLOCKS: u32 = 1 << BLOCK_BITS;

impl Ipv4Ranges {
    /// Makes ranges from steps that begin at the first address and have a value everywhere.
    pub(super) fn new(steps: &Steps) -> Ipv4Ranges {
        let starts: Vec<u32> = steps.iter().map(|(start, _)| start as u32).collect();
        let before = |block: u32| match block {
            BLOCKS => starts.len(),
            block => starts.partition_point(|start| *start < block << BLOCK_BITS),
        };
        let index: Vec<u32> = (0..=BLOCKS).map(|block| before(block) as u32).collect();
        let values: Vec<u32> = steps.iter().map(|(_, value)| u32::from(value.unwrap_or_default())).collect();
        let starts = starts.iter().map(|start| *start as u16).collect();
        Ipv4Ranges { index: Packed::new(&index), starts, values: Packed::new(&values) }
    }

    /// The value at an address, and the prefix of the largest network around it that has it alike.
    pub(super) fn find(&self, address: u32) -> (u16, u8) {
        let block = (address >> BLOCK_BITS) as usize;
        let (first, next) = (self.index.get(block), self.index.get(block + 1));
        let started = self.starts[first..next].partition_point(|start| *start <= address as u16);
        // The first range starts with the first address, so there is one.
        let at = (first + started).saturating_sub(1);
        let full = |at: usize| (address & !0xffff) | u32::from(self.starts[at]);
        // The network must not reach the last address before the range, nor the first after it.
        let before = (started > 0 && at > 0).then(|| shared(address, full(at) - 1) + 1);
        let after = (at + 1 < next).then(|| shared(address, full(at + 1)) + 1);
        let least = before.max(after).unwrap_or(0);
        (self.values.get(at) as u16, if least > 16 { least } else { self.widened(block, at, least) })
    }

    /// The shortest prefix from `least` on whose blocks are all in the range, as this block is.
    fn widened(&self, block: usize, at: usize, least: u8) -> u8 {
        let mut prefix = 16;
        while prefix > least && self.covers(block, at, prefix - 1) {
            prefix -= 1;
        }
        prefix
    }

    /// Whether no other range starts in the network around a block, and this one not inside of it.
    fn covers(&self, block: usize, at: usize, prefix: u8) -> bool {
        let size = 1 << (16 - prefix);
        let low = block & !(size - 1);
        match self.index.get(low + size) - self.index.get(low) {
            0 => true,
            1 => self.index.get(low) == at && self.index.get(low + 1) == at + 1 && self.starts[at] == 0,
            _ => false,
        }
    }

    /// How much memory a query may touch.
    #[cfg(test)]
    pub(super) fn octets(&self) -> usize {
        self.index.octets() + self.starts.len() * 2 + self.values.octets()
    }
}

/// How many bits from the top two addresses share.
fn shared(one: u32, other: u32) -> u8 {
    (one ^ other).leading_zeros() as u8
}

impl Packed {
    fn new(numbers: &[u32]) -> Packed {
        match numbers.iter().max() {
            Some(0x1_0000..) => Packed::Long(numbers.into()),
            Some(0x100..) => Packed::Short(numbers.iter().map(|number| *number as u16).collect()),
            _ => Packed::Octets(numbers.iter().map(|number| *number as u8).collect()),
        }
    }

    fn get(&self, at: usize) -> usize {
        match self {
            Packed::Octets(numbers) => usize::from(numbers[at]),
            Packed::Short(numbers) => usize::from(numbers[at]),
            Packed::Long(numbers) => numbers[at] as usize,
        }
    }

    #[cfg(test)]
    fn octets(&self) -> usize {
        match self {
            Packed::Octets(numbers) => numbers.len(),
            Packed::Short(numbers) => numbers.len() * 2,
            Packed::Long(numbers) => numbers.len() * 4,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use proptest::prelude::*;

    /// Starts that are often at the edges of blocks and of larger networks.
    fn starts() -> impl Strategy<Value = Vec<u32>> {
        let start =
            (any::<u32>(), 0u32..33).prop_map(|(address, zeros)| address.checked_shl(zeros).unwrap_or(0));
        proptest::collection::vec(start, 0..40)
    }

    proptest! {
        #[test]
        fn a_value_and_its_prefix_are_those_of_the_range(starts in starts(), at in any::<u32>(), edge in 0usize..40) {
            let mut starts = starts;
            starts.push(0);
            starts.sort_unstable();
            starts.dedup();
            // Neighbours differ, so that every start stays.
            let mut steps = Steps::default();
            let many = starts.len() > 20;
            let value = |number: usize| (number % 3) as u16 * if many { 300 } else { 1 };
            starts.iter().enumerate().for_each(|(number, start)| steps.push(u128::from(*start), Some(value(number))));
            let ranges = Ipv4Ranges::new(&steps);
            let near = starts[edge % starts.len()];
            for address in [at, near, near.wrapping_sub(1), near.wrapping_add(1)] {
                let (got, prefix) = ranges.find(address);
                let number = starts.partition_point(|start| *start <= address) - 1;
                prop_assert_eq!(got, value(number));
                let low = starts[number];
                let high = starts.get(number + 1).map_or(u32::MAX, |next| next - 1);
                let fits = |prefix: u8| {
                    let hosts = u32::MAX.checked_shr(u32::from(prefix)).unwrap_or(0);
                    address & !hosts >= low && address | hosts <= high
                };
                prop_assert!(fits(prefix), "{address:#x}/{prefix} leaves {low:#x} to {high:#x}");
                prop_assert!(prefix == 0 || !fits(prefix - 1), "{address:#x}/{prefix} could be larger");
            }
        }
    }

    #[test]
    fn more_ranges_than_a_short_number_can_count_are_found_too() {
        let mut steps = Steps::default();
        (0..70_000u32).for_each(|at| steps.push(u128::from(at * 1000), Some((at % 2) as u16)));
        let ranges = Ipv4Ranges::new(&steps);
        for at in [0, 1, 65_535, 65_536, 69_999] {
            assert_eq!(ranges.find(at * 1000 + 999).0, (at % 2) as u16);
        }
    }
}
