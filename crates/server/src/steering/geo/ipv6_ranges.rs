//! The value of every IPv6 address that something is known of beside the built-in table.

use super::steps::Steps;

/// Merged ranges.
#[derive(Debug)]
pub(super) struct Ipv6Ranges {
    starts: Box<[u128]>,
    values: Box<[Option<u16>]>,
}

impl Ipv6Ranges {
    pub(super) fn new(steps: &Steps) -> Ipv6Ranges {
        // There is always a range around an address.
        let first = steps.iter().next().is_none_or(|(start, _)| start != 0).then_some((0, None));
        let (starts, values): (Vec<u128>, Vec<Option<u16>>) = first.into_iter().chain(steps.iter()).unzip();
        Ipv6Ranges { starts: starts.into(), values: values.into() }
    }

    /// The value at an address, and the prefix of the largest network around it that has it alike.
    pub(super) fn find(&self, address: u128) -> (Option<u16>, u8) {
        let at = self.starts.partition_point(|start| *start <= address).saturating_sub(1);
        let shared = |other: u128| (address ^ other).leading_zeros() as u8;
        let before = (at > 0).then(|| shared(self.starts[at] - 1) + 1);
        let after = self.starts.get(at + 1).map(|next| shared(*next) + 1);
        (self.values[at], before.max(after).unwrap_or(0))
    }
}
