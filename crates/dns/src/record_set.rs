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
}
