//! From an address to the order of choices that is right for it.
//!
//! Ranges with the same order are merged. The ends of a range say how far an answer reaches (RFC 7871
//! section 7.2.1).

use std::net::IpAddr;

use dns::Geo;

use super::built_in;
use super::ipv4_ranges::Ipv4Ranges;
use super::ipv6_ranges::Ipv6Ranges;
use super::places::Orders;
use super::steps::Steps;
use super::{Inner, Places, Whereabouts};

/// The orders of one list of places for every address.
#[derive(Debug)]
pub(crate) struct Table {
    ipv4: Ipv4Ranges,
    /// Where it has nothing the built-in table is asked.
    ipv6: Ipv6Ranges,
    /// The order for each country of the built-in table.
    countries: Box<[u16]>,
    orders: Box<[u16]>,
    places: Places,
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
        let (ipv4, ipv6) = (Ipv4Ranges::new(&ipv4), Ipv6Ranges::new(&ipv6));
        let orders = orders.finish();
        Table { ipv4, ipv6, countries, orders, places }
    }

    /// The country or continent that a choice is for.
    pub(in crate::steering) fn geo(&self, choice: usize) -> Option<Geo> {
        self.places.geo(choice)
    }

    /// The choices, the best for an address first, and how many bits of it the answer looked at.
    ///
    /// Apart: within the loop that answers, all other choices would pay for the registers that it takes.
    #[inline(never)]
    pub(in crate::steering) fn find(&self, address: IpAddr) -> (&[u16], u8) {
        let (order, bits) = match address {
            IpAddr::V4(address) => self.ipv4.find(address.to_bits()),
            IpAddr::V6(address) => match self.ipv6.find(address.to_bits()) {
                (Some(order), bits) => (order, bits),
                (None, bits) => (self.of_built_in(address.into()), bits.max(built_in::IPV6_PREFIX)),
            },
        };
        let choices = self.places.count();
        let start = usize::from(order) * choices;
        (&self.orders[start..start + choices], bits)
    }

    /// What looking an IPv4 address of this block up reads first, for whoever wants it to be at hand by then.
    #[inline]
    pub(crate) fn first_lines(&self, block: u16) -> [&u8; 2] {
        self.ipv4.first_lines(block)
    }

    /// What it reads next.
    #[inline]
    pub(crate) fn second_line(&self, block: u16) -> &[u8] {
        self.ipv4.second_line(block)
    }

    fn of_built_in(&self, address: IpAddr) -> u16 {
        self.countries[usize::from(built_in::country(address))]
    }
}

fn of_country(country: u16) -> Whereabouts {
    built_in::letters(country).map(Whereabouts::in_country).unwrap_or_default()
}

#[cfg(test)]
impl Table {
    /// How much memory an IPv4 query may touch.
    pub(super) fn ipv4_octets(&self) -> usize {
        self.ipv4.octets() + self.orders.len() * 2
    }
}
