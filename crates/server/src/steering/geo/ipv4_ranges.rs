//! The value of every IPv4 address, in little memory: a query should find it in the processor's cache.
//!
//! Addresses fall into blocks by their upper half. For each block the index says how many ranges
//! start before it, so of a range's start only the lower half is kept, and its value beside it: a
//! lookup reads one line of the index and one of the ranges. Where a block is of one range as a whole,
//! how far the range reaches around it was worked out beforehand.

use std::ops::Range;

use super::steps::Steps;

/// Merged ranges.
#[derive(Debug)]
pub(super) struct Ipv4Ranges {
    index: Index,
    ranges: Ranges,
    /// For each block of one range the prefix of the largest network around it in that range, less one, in half
    /// an octet.
    prefixes: Box<[u8]>,
    /// Whether one range is all there is.
    alike: bool,
}

/// The lower half of each range's start, then its value, in no more octets than values need.
#[derive(Debug)]
enum Ranges {
    Short(Box<[[u8; 3]]>),
    Long(Box<[[u8; 4]]>),
}

/// How many ranges start before each block and before the end.
#[derive(Debug)]
enum Index {
    /// Before each group of blocks, and from there to each block and to the group's end: half of what whole numbers take.
    Grouped(Box<[u32; GROUPS]>, Box<[[[u8; 2]; GROUP + 1]; GROUPS]>),
    /// Where a group has too many for that.
    Plain(Box<[[u8; 4]]>),
}

const BLOCK_BITS: u32 = 16;
const BLOCKS: u32 = 1 << BLOCK_BITS;
/// How many blocks are a group.
const GROUP: usize = 64;
const GROUPS: usize = BLOCKS as usize / GROUP;

impl Ipv4Ranges {
    /// Makes ranges from steps that begin at the first address and have a value everywhere.
    pub(super) fn new(steps: &Steps) -> Ipv4Ranges {
        let steps: Vec<(u32, u16)> =
            steps.iter().map(|(start, value)| (start as u32, value.unwrap_or_default())).collect();
        let before = |block: u32| match block {
            BLOCKS => steps.len(),
            block => steps.partition_point(|(start, _)| *start < block << BLOCK_BITS),
        };
        let index: Vec<u32> = (0..=BLOCKS).map(|block| before(block) as u32).collect();
        let half = |block: u32| widest(&steps, block << BLOCK_BITS).clamp(1, BLOCK_BITS as u8) - 1;
        let prefixes = (0..BLOCKS).step_by(2).map(|even| half(even) | half(even + 1) << 4).collect();
        let alike = steps.len() == 1;
        Ipv4Ranges { index: Index::new(&index), ranges: Ranges::new(&steps), prefixes, alike }
    }

    /// The value at an address, and the prefix of the largest network around it that has it alike.
    #[inline]
    pub(super) fn find(&self, address: u32) -> (u16, u8) {
        let block = (address >> BLOCK_BITS) as u16;
        let within = self.index.within(block);
        let (value, prefix) = match &self.ranges {
            Ranges::Short(ranges) => find_in(ranges, within, address as u16),
            Ranges::Long(ranges) => find_in(ranges, within, address as u16),
        };
        (value, prefix.unwrap_or_else(|| self.around(block)))
    }

    /// The prefix of the largest network around a block of one range.
    #[inline]
    fn around(&self, block: u16) -> u8 {
        let halves = self.prefixes[usize::from(block) / 2];
        let half = if block.is_multiple_of(2) { halves & 0xf } else { halves >> 4 };
        if self.alike { 0 } else { half + 1 }
    }

    /// What a lookup reads first, for whoever wants it to be at hand by then.
    #[inline]
    pub(super) fn first_lines(&self, block: u16) -> [&u8; 2] {
        let number = match &self.index {
            Index::Grouped(_, groups) => &groups[usize::from(block) / GROUP][usize::from(block) % GROUP][0],
            Index::Plain(numbers) => &numbers[usize::from(block)][0],
        };
        [number, &self.prefixes[usize::from(block) / 2]]
    }

    /// What a lookup reads next.
    #[inline]
    pub(super) fn second_line(&self, block: u16) -> &[u8] {
        let within = self.index.within(block);
        // Where none starts in the block, the one before goes on there.
        let read = within.start.saturating_sub(1)..within.end;
        match &self.ranges {
            Ranges::Short(ranges) => ranges[read].as_flattened(),
            Ranges::Long(ranges) => ranges[read].as_flattened(),
        }
    }

    /// How much memory a query may touch.
    #[cfg(test)]
    pub(super) fn octets(&self) -> usize {
        let ranges = match &self.ranges {
            Ranges::Short(ranges) => ranges.as_flattened().len(),
            Ranges::Long(ranges) => ranges.as_flattened().len(),
        };
        self.index.octets() + ranges + self.prefixes.len()
    }
}

/// The value at the lower half of an address in its block, and the prefix of the largest network in the
/// block that has it alike; none where that is the block, or more.
#[inline]
fn find_in<const N: usize>(ranges: &[[u8; N]], block: Range<usize>, low: u16) -> (u16, Option<u8>) {
    // In most blocks none starts: the one before goes on.
    if block.is_empty() {
        return (value(&ranges[block.start.saturating_sub(1)]), None);
    }
    let started = ranges[block.clone()].partition_point(|range| start(range) <= low);
    // The first range starts with the first address, so there is one.
    let at = (block.start + started).saturating_sub(1);
    // The network must not reach the last address before the range, nor the first after it.
    let before = if started > 0 { start(&ranges[at]).checked_sub(1) } else { None };
    let after = (at + 1 < block.end).then(|| start(&ranges[at + 1]));
    let shared = |other: u16| (low ^ other).leading_zeros() as u8;
    let prefix = before.map(shared).max(after.map(shared)).map(|bits| bits + BLOCK_BITS as u8 + 1);
    (value(&ranges[at]), prefix)
}

#[inline]
fn start<const N: usize>(range: &[u8; N]) -> u16 {
    u16::from_le_bytes([range[0], range[1]])
}

#[inline]
fn value<const N: usize>(range: &[u8; N]) -> u16 {
    u16::from_le_bytes([range[2], range.get(3).copied().unwrap_or(0)])
}

/// The prefix of the largest network around an address in its range.
fn widest(steps: &[(u32, u16)], address: u32) -> u8 {
    let next = steps.partition_point(|(start, _)| *start <= address);
    let first = next.checked_sub(1).map_or(0, |at| steps[at].0);
    let shared = |other: u32| (address ^ other).leading_zeros() as u8;
    let before = first.checked_sub(1).map(shared);
    let after = steps.get(next).map(|(start, _)| shared(*start));
    before.max(after).map_or(0, |bits| bits + 1)
}

impl Ranges {
    fn new(steps: &[(u32, u16)]) -> Ranges {
        let octets = |(start, value): &(u32, u16)| {
            let ([low, high], [value, more]) = ((*start as u16).to_le_bytes(), value.to_le_bytes());
            [low, high, value, more]
        };
        let long = steps.iter().map(octets);
        match steps.iter().all(|(_, value)| *value < 0x100) {
            true => Ranges::Short(long.map(|[low, high, value, _]| [low, high, value]).collect()),
            false => Ranges::Long(long.collect()),
        }
    }
}

impl Index {
    fn new(numbers: &[u32]) -> Index {
        Index::grouped(numbers)
            .unwrap_or_else(|| Index::Plain(numbers.iter().map(|number| number.to_le_bytes()).collect()))
    }

    fn grouped(numbers: &[u32]) -> Option<Index> {
        let group = |at: usize| -> Option<[[u8; 2]; GROUP + 1]> {
            let numbers = numbers.get(at * GROUP..=(at + 1) * GROUP)?;
            let from_start = |number: &u32| u16::try_from(number - numbers[0]).ok();
            let blocks: Option<Vec<_>> =
                numbers.iter().map(|one| from_start(one).map(u16::to_le_bytes)).collect();
            blocks?.try_into().ok()
        };
        let starts: Vec<u32> = numbers.iter().copied().step_by(GROUP).take(GROUPS).collect();
        let groups: Vec<_> = (0..GROUPS).map(group).collect::<Option<_>>()?;
        Some(Index::Grouped(starts.try_into().ok()?, groups.try_into().ok()?))
    }

    /// The ranges that start in a block.
    #[inline]
    fn within(&self, block: u16) -> Range<usize> {
        let at = usize::from(block);
        match self {
            Index::Grouped(starts, groups) => {
                let (start, blocks) = (starts[at / GROUP] as usize, &groups[at / GROUP]);
                let number = |at: usize| start + usize::from(u16::from_le_bytes(blocks[at]));
                number(at % GROUP)..number(at % GROUP + 1)
            }
            Index::Plain(numbers) => {
                let number = |at: usize| u32::from_le_bytes(numbers[at]) as usize;
                number(at)..number(at + 1)
            }
        }
    }

    #[cfg(test)]
    fn octets(&self) -> usize {
        match self {
            Index::Grouped(starts, groups) => size_of_val(&**starts) + size_of_val(&**groups),
            Index::Plain(numbers) => size_of_val(&**numbers),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use proptest::prelude::*;
    use rstest::rstest;

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

    #[rstest]
    #[case::in_many_groups(1000, true)]
    #[case::in_one_group(50, false)]
    fn more_ranges_than_a_short_number_can_count_are_found_too(#[case] length: u32, #[case] grouped: bool) {
        let mut steps = Steps::default();
        (0..70_000u32).for_each(|at| steps.push(u128::from(at * length), Some((at % 2) as u16)));
        let ranges = Ipv4Ranges::new(&steps);
        assert_eq!(matches!(ranges.index, Index::Grouped(..)), grouped);
        for at in [0, 1, 65_535, 65_536, 69_999] {
            assert_eq!(ranges.find(at * length + length - 1).0, (at % 2) as u16);
        }
    }
}
