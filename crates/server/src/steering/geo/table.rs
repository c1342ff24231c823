//! From an address to the order of choices that is right for it.
//!
//! Ranges with the same order are merged. IPv4 is found by the upper 16 bits of the address, then
//! among the few ranges that begin there, so that what a query touches stays small. The ends of a
//! range say how far an answer reaches (RFC 7871 section 7.2.1).

use std::net::IpAddr;

use super::built_in;
use super::places::Orders;
use super::steps::Steps;
use super::{Inner, Places, Whereabouts};

/// Where the table has nothing, and the built-in one is asked.
const BUILT_IN: u16 = u16::MAX;

/// The orders of one list of places for every address.
#[derive(Debug)]
pub(in crate::steering) struct Table {
    ipv4: Ipv4Ranges,
    ipv6: Ranges<u128>,
    /// The order for each country of the built-in table.
    countries: Box<[u16]>,
    orders: Box<[u16]>,
    places: Places,
}

/// Where ranges start, and their values.
#[derive(Debug)]
struct Ranges<Address> {
    starts: Box<[Address]>,
    values: Box<[u16]>,
}

#[derive(Debug)]
struct Ipv4Ranges {
    /// For each upper half of an address the range that its first address is in, and one more.
    index: Index,
    ranges: Ranges<u32>,
}

/// Half the size where the numbers allow it.
#[derive(Debug)]
enum Index {
    Short(Box<[u16]>),
    Long(Box<[u32]>),
}

impl Table {
    pub(super) fn new(source: &Inner, places: Places) -> Table {
        let mut orders = Orders::new(&places);
        let countries: Box<[u16]> =
            (0..built_in::COUNTRIES as u16).map(|country| orders.number(&of_country(country))).collect();
        let (database4, database6) =
            source.database.as_ref().map(|one| one.steps(|place| orders.number(place))).unwrap_or_default();
        let mut networks = |ipv4: bool| {
            let of_family = source.networks.iter().filter(|(one, _)| one.address().is_ipv4() == ipv4);
            Steps::of_networks(of_family.map(|(one, geo)| (*one, orders.number(&Whereabouts::from(*geo)))))
        };
        let mut built_in = Steps::default();
        for (start, country) in built_in::ipv4() {
            built_in.push(u128::from(*start), countries.get(usize::from(*country)).copied());
        }
        let ipv4 = networks(true).over(&database4).over(&built_in);
        let ipv6 = networks(false).over(&database6);
        let (ipv4, ipv6) = (Ipv4Ranges::new(&ipv4), Ranges::new(&ipv6, |start| start));
        let orders = orders.finish();
        Table { ipv4, ipv6, countries, orders, places }
    }

    /// What a choice is for, in words.
    pub(in crate::steering) fn label(&self, choice: usize) -> String {
        self.places.label(choice)
    }

    /// The choices, the best for an address first, and how many bits of it the answer looked at.
    pub(in crate::steering) fn find(&self, address: IpAddr) -> (&[u16], u8) {
        let (order, bits) = match address {
            IpAddr::V4(address) => self.ipv4.find(address.to_bits()),
            IpAddr::V6(address) => match self.ipv6.find(address.to_bits(), 0, self.ipv6.starts.len()) {
                (BUILT_IN, bits) => (
                    self.countries[usize::from(built_in::country(address.into()))],
                    bits.max(built_in::IPV6_PREFIX),
                ),
                found => found,
            },
        };
        let choices = self.places.count();
        let start = usize::from(order) * choices;
        (&self.orders[start..start + choices], bits)
    }
}

fn of_country(country: u16) -> Whereabouts {
    built_in::letters(country).map(Whereabouts::in_country).unwrap_or_default()
}

impl<Address: Copy> Ranges<Address> {
    fn new(steps: &Steps, address: impl Fn(u128) -> Address) -> Ranges<Address> {
        // There is always a range around an address.
        let mut steps: Vec<(u128, Option<u16>)> = steps.iter().collect();
        if steps.first().is_none_or(|(start, _)| *start != 0) {
            steps.insert(0, (0, None));
        }
        Ranges {
            starts: steps.iter().map(|(start, _)| address(*start)).collect(),
            values: steps.iter().map(|(_, value)| value.unwrap_or(BUILT_IN)).collect(),
        }
    }
}

/// What ranges do with an address, whichever width it has.
trait Number: Copy + Ord {
    /// How many bits from the top two numbers share.
    fn shared(self, other: Self) -> u8;
    /// The number before.
    fn before(self) -> Self;
}

impl Number for u32 {
    fn shared(self, other: u32) -> u8 {
        (self ^ other).leading_zeros() as u8
    }

    fn before(self) -> u32 {
        self.wrapping_sub(1)
    }
}

impl Number for u128 {
    fn shared(self, other: u128) -> u8 {
        (self ^ other).leading_zeros() as u8
    }

    fn before(self) -> u128 {
        self.wrapping_sub(1)
    }
}

impl<Address: Number> Ranges<Address> {
    /// The value at an address, which lies in a range from number `low` to before `high`, and the
    /// prefix of the largest network around it that lies in the range.
    fn find(&self, address: Address, low: usize, high: usize) -> (u16, u8) {
        let within = &self.starts[low..high];
        let at = low + within.partition_point(|start| *start <= address) - 1;
        // The network must not reach the last address before the range nor the first after it.
        let before = (at > 0).then(|| address.shared(self.starts[at].before()) + 1);
        let after = self.starts.get(at + 1).map(|next| address.shared(*next) + 1);
        (self.values[at], before.max(after).unwrap_or(0))
    }
}

impl Ipv4Ranges {
    fn new(steps: &Steps) -> Ipv4Ranges {
        let ranges = Ranges::new(steps, |start| start as u32);
        let holder = |block: u32| {
            let first = block.checked_shl(16).filter(|_| block <= 0xffff);
            let after = |first| ranges.starts.partition_point(|start| *start <= first);
            first.map_or(ranges.starts.len(), after) - 1
        };
        let blocks = 0..=0x1_0000;
        let index = match u16::try_from(ranges.starts.len()) {
            Ok(_) => Index::Short(blocks.map(|block| holder(block) as u16).collect()),
            Err(_) => Index::Long(blocks.map(|block| holder(block) as u32).collect()),
        };
        Ipv4Ranges { index, ranges }
    }

    fn find(&self, address: u32) -> (u16, u8) {
        let block = (address >> 16) as usize;
        let (low, high) = match &self.index {
            Index::Short(index) => (usize::from(index[block]), usize::from(index[block + 1])),
            Index::Long(index) => (index[block] as usize, index[block + 1] as usize),
        };
        self.ranges.find(address, low, high + 1)
    }
}
