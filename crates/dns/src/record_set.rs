//! Record sets: all data of one name and type, with one TTL (RFC 2181 section 5).

use std::sync::Arc;

use crate::{Name, Rdata, Rtype, Steering};

/// The data that one name has for one type. The data is sorted and without duplicates.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RecordSet {
    /// Whose data this is.
    pub name: Name,
    /// The type of all of the data.
    pub rtype: Rtype,
    /// How long a resolver may keep it, in seconds.
    pub ttl: u32,
    /// At least one item.
    pub data: Arc<[Rdata]>,
    /// Which part of the data a client gets; without it all of it.
    pub steering: Option<Arc<Steering>>,
}

impl RecordSet {
    /// Makes a record set; sorts the data and drops duplicates.
    pub fn new(name: Name, rtype: Rtype, ttl: u32, mut data: Vec<Rdata>) -> RecordSet {
        data.sort_unstable();
        data.dedup();
        RecordSet { name, rtype, ttl, data: data.into(), steering: None }
    }

    /// Makes a steered record set. The positions in `steering` are those in `data` as it is given;
    /// sorting the data and dropping duplicates moves them along.
    pub fn steered(name: Name, rtype: Rtype, ttl: u32, data: Vec<Rdata>, steering: Steering) -> RecordSet {
        let given = data.clone();
        let set = RecordSet::new(name, rtype, ttl, data);
        let moved = given.iter().map_while(|item| set.position(item)).collect::<Vec<u16>>();
        RecordSet { steering: Some(Arc::new(steering.moved(&moved))), ..set }
    }

    /// Where an item is in the data; beyond what a position can say there is none.
    fn position(&self, item: &Rdata) -> Option<u16> {
        self.data.binary_search(item).ok()?.try_into().ok()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::{Member, ProbeId};

    #[test]
    fn positions_follow_the_data_through_sorting_and_dropped_duplicates() {
        let name: Name = "www.example.".parse().unwrap();
        let address = |text: &str| Rdata::parse(Rtype::A, text, &name).unwrap();
        let given = ["192.0.2.9", "192.0.2.1", "192.0.2.9", "192.0.2.5"].map(address).to_vec();
        let member = |data| Member { data, probe: Some(ProbeId(u64::from(data))) };
        let groups = [0, 1, 2, 3, 4].map(|data| Steering::All(vec![member(data)])).to_vec();
        let set = RecordSet::steered(name, Rtype::A, 30, given.clone(), Steering::Failover(groups));
        let members = set.steering.unwrap().members();
        assert_eq!(members.len(), 4, "the fifth group had no data");
        for (at, member) in members.iter().enumerate() {
            assert_eq!(member.probe, Some(ProbeId(at as u64)));
            assert_eq!(set.data[usize::from(member.data)], given[at]);
        }
    }
}
