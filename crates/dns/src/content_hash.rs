//! A hash of records that is the same in every process and version.
//!
//! Serials are decided by it, also after an upgrade, so it must never change: FNV-1a with 64 bits
//! over the name's key (its length first), type, TTL and data, and the finalizer of MurmurHash3 on
//! top, since a zone's hash is a sum and the sum of plain FNV hashes collides too easily.

use crate::{Geo, Location, Member, Name, Rdata, Rtype, Steering};

/// The hash of one record. The hash of a zone is the wrapping sum of its records' hashes, so one
/// changed record changes it by a difference.
///
/// The serial of a SOA does not count: it follows from the hash.
pub fn entry_hash(name: &Name, rtype: Rtype, ttl: u32, rdata: &Rdata) -> u64 {
    hash_parts(name.key(), &[], rtype, ttl, rdata.wire())
}

/// The hash of a record whose name's key comes in two parts.
pub(crate) fn hash_parts(key: &[u8], rest_of_key: &[u8], rtype: Rtype, ttl: u32, wire: &[u8]) -> u64 {
    let key_length = (key.len() + rest_of_key.len()) as u16;
    let (before, after) = around_serial(rtype, wire);
    let mut state = Fnv::new();
    state.feed(&key_length.to_be_bytes());
    state.feed(key);
    state.feed(rest_of_key);
    state.feed(&rtype.0.to_be_bytes());
    state.feed(&ttl.to_be_bytes());
    state.feed(before);
    state.feed(after);
    state.finish()
}

/// The data before and after the serial; all of it is "before" where there is none.
fn around_serial(rtype: Rtype, wire: &[u8]) -> (&[u8], &[u8]) {
    match wire.len().checked_sub(20) {
        Some(at) if rtype == Rtype::SOA => (&wire[..at], &wire[at + 4..]),
        _ => (wire, &[]),
    }
}

/// The hash of how a name's records of one type are steered, the same in every process and version.
pub fn steering_hash(name: &Name, rtype: Rtype, steering: &Steering) -> u64 {
    let mut state = Fnv::new();
    state.feed(name.key());
    state.feed(&rtype.0.to_be_bytes());
    state.feed_steering(steering);
    state.finish()
}

/// A hash of some texts, where each ends included, that is the same in every process and version.
pub fn stable_hash<'a>(texts: impl IntoIterator<Item = &'a [u8]>) -> u64 {
    let mut state = Fnv::new();
    for text in texts {
        state.feed(&(text.len() as u64).to_be_bytes());
        state.feed(text);
    }
    state.finish()
}

struct Fnv(u64);

impl Fnv {
    fn new() -> Fnv {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    fn feed(&mut self, octets: &[u8]) {
        for octet in octets {
            self.0 = (self.0 ^ u64::from(*octet)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }

    /// A node is fed as a letter, what it is, and how many are below it, so that no two trees read the same.
    fn feed_steering(&mut self, steering: &Steering) {
        match steering {
            Steering::All(members) => {
                self.feed_head(b'a', members.len());
                members.iter().for_each(|member| self.feed_member(member));
            }
            Steering::Weighted { sticky, choices } => {
                self.feed_head(if *sticky { b's' } else { b'w' }, choices.len());
                for (weight, choice) in choices {
                    self.feed(&weight.to_be_bytes());
                    self.feed_steering(choice);
                }
            }
            Steering::Geo { choices, default } => {
                self.feed_head(b'g', choices.len());
                for (geo, choice) in choices {
                    self.feed_geo(Some(*geo));
                    self.feed_steering(choice);
                }
                self.feed_steering(default);
            }
            Steering::Failover(groups) => {
                self.feed_head(b'f', groups.len());
                groups.iter().for_each(|group| self.feed_steering(group));
            }
            Steering::Closest(choices) => {
                self.feed_head(b'c', choices.len());
                for (location, choice) in choices {
                    self.feed_location(location);
                    self.feed_steering(choice);
                }
            }
            Steering::Named(name, choice) => {
                self.feed_head(b'n', name.len());
                self.feed(name.as_bytes());
                self.feed_steering(choice);
            }
        }
    }

    fn feed_head(&mut self, letter: u8, count: usize) {
        self.feed(&[letter]);
        self.feed(&(count as u64).to_be_bytes());
    }

    fn feed_member(&mut self, member: &Member) {
        self.feed(&member.data.to_be_bytes());
        self.feed(&[u8::from(member.probe.is_some())]);
        self.feed(&member.probe.map_or(0, |probe| probe.0).to_be_bytes());
    }

    fn feed_location(&mut self, location: &Location) {
        self.feed_geo(location.geo);
        self.feed(&[u8::from(location.coordinates.is_some())]);
        let (latitude, longitude) = location.coordinates.unwrap_or_default();
        self.feed(&latitude.to_be_bytes());
        self.feed(&longitude.to_be_bytes());
    }

    fn feed_geo(&mut self, geo: Option<Geo>) {
        match geo {
            None => self.feed(&[0, 0, 0]),
            Some(Geo::Country([first, second])) => self.feed(&[1, first, second]),
            Some(Geo::Continent([first, second])) => self.feed(&[2, first, second]),
        }
    }

    fn finish(self) -> u64 {
        let mut hash = self.0;
        hash = (hash ^ hash >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
        hash = (hash ^ hash >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        hash ^ hash >> 33
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use std::collections::BTreeSet;

    use super::*;
    use crate::ProbeId;

    #[test]
    fn two_ways_of_steering_have_two_hashes_which_stay() {
        let member = |data, probe: Option<u64>| Member { data, probe: probe.map(ProbeId) };
        let all = |data| Steering::All(vec![member(data, None)]);
        let weighted = |sticky, weight| Steering::Weighted { sticky, choices: vec![(weight, all(0))] };
        let at = |geo, coordinates| Steering::Closest(vec![(Location { geo, coordinates }, all(0))]);
        let geo = |geo| Steering::Geo { choices: vec![(geo, all(0))], default: Box::new(all(1)) };
        let country = Geo::Country(*b"IE");
        let ways = [
            all(0),
            all(1),
            Steering::All(vec![member(0, Some(0))]),
            Steering::Failover(vec![all(0), all(1)]),
            Steering::Failover(vec![all(1), all(0)]),
            Steering::Named("a".into(), Box::new(all(0))),
            weighted(true, 1),
            weighted(false, 1),
            weighted(false, 2),
            geo(country),
            geo(Geo::Continent(*b"IE")),
            at(None, None),
            at(Some(country), None),
            at(None, Some((0, 0))),
        ];
        let name = Name::parse("www.example.org").unwrap();
        let hashes: BTreeSet<u64> = ways.iter().map(|way| steering_hash(&name, Rtype::A, way)).collect();
        assert_eq!(hashes.len(), ways.len());
        assert_eq!(steering_hash(&name, Rtype::A, &weighted(true, 1)), 15_922_698_472_451_614_867);
    }
}
