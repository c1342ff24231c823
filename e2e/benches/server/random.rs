//! Numbers that look random and are the same in every run.

/// Another number for each input, without a pattern (the finishing steps of SplitMix64).
pub(crate) fn mixed(input: u64) -> u64 {
    let mut number = input.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

/// A number below `limit`.
pub(crate) fn below(input: u64, limit: usize) -> usize {
    usize::try_from(mixed(input) % limit.max(1) as u64).unwrap_or(0)
}
