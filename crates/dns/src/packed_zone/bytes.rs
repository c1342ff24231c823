//! A packed zone as octets, for the state on disk.
//!
//! What is read back was perhaps written by another version or damaged, so every name and every
//! record's data is checked again.
//!
//! ```text
//! magic and version, content hash, length of the origin's key, origin's key, buffer
//! ```

use super::node::Reader;
use super::{Builder, PackedNode, PackedZone, PackedZoneError};
use crate::{Name, Rdata, Rtype};

/// The last octet is the version of the form.
const MAGIC: &[u8] = b"fpz\x01";

impl PackedZone {
    /// The zone as octets that [`PackedZone::from_bytes`] reads.
    pub fn to_bytes(&self) -> Vec<u8> {
        let key = self.origin.key();
        [MAGIC, &self.hash.to_be_bytes(), &(key.len() as u16).to_be_bytes(), key, &self.buffer].concat()
    }

    /// Reads what [`PackedZone::to_bytes`] wrote; anything else is refused.
    pub fn from_bytes(octets: &[u8]) -> Result<PackedZone, PackedZoneError> {
        let mut reader = Reader(octets.strip_prefix(MAGIC).ok_or(PackedZoneError::Malformed)?);
        let hash = reader.take(8).ok_or(PackedZoneError::Malformed)?;
        let origin = reader.record().filter(|key| Name::is_key(key)).ok_or(PackedZoneError::Malformed)?;
        let buffer = reader.0;
        let zone = rebuilt(Name::from_key(origin), buffer)?;
        // Counts of zero and the like would have come out differently; the hash tells when nodes
        // are missing.
        let same = *zone.buffer == *buffer && zone.hash.to_be_bytes() == hash;
        if same { Ok(zone) } else { Err(PackedZoneError::Malformed) }
    }
}

fn rebuilt(origin: Name, buffer: &[u8]) -> Result<PackedZone, PackedZoneError> {
    let mut builder = Builder::new(origin.clone());
    let mut rest = buffer;
    let mut last_key = None;
    while !rest.is_empty() {
        let node = PackedNode::read(&origin, rest).ok_or(PackedZoneError::Malformed)?;
        let key = node.key_below_origin();
        if last_key.is_some_and(|last| last >= key) || !Name::is_key(node.name().key()) {
            return Err(PackedZoneError::Malformed);
        }
        rest = push_node(&mut builder, rest, key)?;
        last_key = Some(key);
    }
    builder.finish()
}

/// Copies a node record by record, in strict order; gives what comes after it.
fn push_node<'a>(builder: &mut Builder, octets: &'a [u8], key: &[u8]) -> Result<&'a [u8], PackedZoneError> {
    let mut reader = Reader(octets);
    let mut number_of_sets = reader.take(2 + key.len()).and_then(|_| reader.u16());
    let mut last = None;
    while let Some(left) = number_of_sets.and_then(|number| number.checked_sub(1)) {
        number_of_sets = Some(left);
        let (rtype, ttl, count) = header(&mut reader).ok_or(PackedZoneError::Malformed)?;
        for _ in 0..count {
            let wire = reader.record().filter(|wire| is_canonical(rtype, wire));
            let wire = wire.filter(|wire| last < Some((rtype, *wire))).ok_or(PackedZoneError::Malformed)?;
            builder.push(key, rtype, ttl, wire)?;
            last = Some((rtype, wire));
        }
    }
    Ok(reader.0)
}

fn header(reader: &mut Reader<'_>) -> Option<(Rtype, u32, u32)> {
    Some((Rtype(reader.u16()?), reader.u32()?, reader.u32()?))
}

fn is_canonical(rtype: Rtype, wire: &[u8]) -> bool {
    Rdata::from_wire(rtype, wire).is_ok_and(|data| data.wire() == wire)
}
