//! Functions of addresses that are constant between steps: how networks become ranges.
//!
//! Addresses are numbers here, IPv4 in the lower 32 bits. A layer is laid over another where it has
//! a value, so that a table is made from the class's networks over a database over the built-in table
//! in one pass over each.

use std::net::IpAddr;

use crate::Network;

/// Values from each start to the next; before the first start and where it says so there is none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Steps(Vec<(u128, Option<u16>)>);

impl Steps {
    /// Goes on with a value from an address on, which is not below the last one.
    pub(super) fn push(&mut self, start: u128, value: Option<u16>) {
        if self.0.last().is_some_and(|(last, _)| *last == start) {
            self.0.pop();
        }
        if self.0.last().map_or(Some(None), |(_, last)| Some(*last)) != Some(value) {
            self.0.push((start, value));
        }
    }

    /// Gives a range a value and ends it there; nothing follows the last of all addresses.
    pub(super) fn push_range(&mut self, (first, last): (u128, u128), value: Option<u16>) {
        self.push(first, value);
        if let Some(next) = last.checked_add(1) {
            self.push(next, None);
        }
    }

    /// The networks with their values; the longest prefix decides. They are sorted, so that a network
    /// comes after those that hold it.
    pub(super) fn of_networks(networks: impl Iterator<Item = (Network, u16)>) -> Steps {
        let mut steps = Steps::default();
        let mut around: Vec<(u128, u16)> = Vec::new();
        for (network, value) in networks {
            let (first, last) = range(&network);
            steps.close(&mut around, Some(first));
            steps.push(first, Some(value));
            around.push((last, value));
        }
        steps.close(&mut around, None);
        steps
    }

    /// Ends the networks that end before an address; the one around each goes on.
    fn close(&mut self, around: &mut Vec<(u128, u16)>, before: Option<u128>) {
        while let Some((last, _)) = around.pop_if(|(last, _)| before.is_none_or(|before| *last < before)) {
            if let Some(next) = last.checked_add(1) {
                self.push(next, around.last().map(|(_, value)| *value));
            }
        }
    }

    /// This layer over another.
    pub(super) fn over(&self, under: &Steps) -> Steps {
        let mut merged = Steps::default();
        let (mut upper, mut lower) = (self.0.iter().peekable(), under.0.iter().peekable());
        let (mut above, mut below) = (None, None);
        while let Some(start) = [upper.peek(), lower.peek()].into_iter().flatten().map(|(at, _)| *at).min() {
            above = upper.next_if(|(at, _)| *at == start).map_or(above, |(_, value)| *value);
            below = lower.next_if(|(at, _)| *at == start).map_or(below, |(_, value)| *value);
            merged.push(start, above.or(below));
        }
        merged
    }

    /// Each start with its value.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u128, Option<u16>)> {
        self.0.iter().copied()
    }
}

/// An address as a number.
pub(super) fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(address.to_bits()),
        IpAddr::V6(address) => address.to_bits(),
    }
}

/// The first and the last address of a network.
pub(super) fn range(network: &Network) -> (u128, u128) {
    let width: u32 = if network.address().is_ipv4() { 32 } else { 128 };
    let first = number(network.address());
    let host_bits = width - u32::from(network.prefix());
    let hosts = 1u128.checked_shl(host_bits).map_or(u128::MAX, |size| size - 1);
    (first, first | hosts)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use proptest::prelude::*;

    fn value_at(steps: &Steps, address: u128) -> Option<u16> {
        steps.iter().take_while(|(start, _)| *start <= address).last().and_then(|(_, value)| value)
    }

    /// Networks in the last 64 addresses, so that they often nest and reach the end.
    fn networks() -> impl Strategy<Value = Vec<(Network, u16)>> {
        proptest::collection::vec((192u32..256, 26u8..=32, 0u16..4), 0..12).prop_map(|drawn| {
            let network = |low: u32, prefix| Network::new(IpAddr::from((!0xff | low).to_be_bytes()), prefix);
            let mut networks: Vec<(Network, u16)> =
                drawn.into_iter().map(|(low, prefix, value)| (network(low, prefix), value)).collect();
            networks.sort_by_key(|(network, _)| *network);
            networks.dedup_by_key(|(network, _)| *network);
            networks
        })
    }

    /// By definition: the longest prefix that holds the address.
    fn naive(networks: &[(Network, u16)], address: u128) -> Option<u16> {
        let address = IpAddr::from((address as u32).to_be_bytes());
        let holding = networks.iter().filter(|(network, _)| network.contains(address));
        holding.max_by_key(|(network, _)| network.prefix()).map(|(_, value)| *value)
    }

    proptest! {
        #[test]
        fn steps_are_what_the_longest_prefixes_say_layer_by_layer(upper in networks(), lower in networks()) {
            let (above, below) =
                (Steps::of_networks(upper.iter().copied()), Steps::of_networks(lower.iter().copied()));
            let merged = above.over(&below);
            for address in u128::from(u32::MAX) - 80..=u128::from(u32::MAX) {
                let wanted = naive(&upper, address).or(naive(&lower, address));
                prop_assert_eq!(value_at(&merged, address), wanted, "at {}", address);
            }
            let pairs: Vec<_> = merged.iter().collect();
            prop_assert!(pairs.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 != two[1].1));
        }
    }

    #[test]
    fn the_network_of_everything_ends_nowhere() {
        let steps = Steps::of_networks([("::/0".parse().unwrap(), 7)].into_iter());
        assert_eq!(steps.iter().collect::<Vec<_>>(), [(0, Some(7))]);
    }
}
