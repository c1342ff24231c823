//! A packed zone as octets, to be kept on disk.
//!
//! ```text
//! "fpz" and the version │ hash of the content │ length of the origin's key, key │ the nodes' buffer
//! ```
//!
//! The buffer is the one in memory, so reading is one pass that checks it and notes where the nodes
//! are. Whatever the octets are, they are a zone or refused: nobody who reads the zone has to doubt
//! its buffer.

use super::node::Reader;
use super::{PackedNode, PackedZone, PackedZoneError};
use crate::content_hash::hash_parts;
use crate::name::{MAX_WIRE, labels_len};
use crate::rdata::is_canonical;
use crate::{Name, Rtype};

/// Names the format and its version; another version begins with another form.
const MAGIC: &[u8] = b"fpz\x01";

impl PackedZone {
    /// The zone as octets that [`PackedZone::from_bytes`] reads.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (head, nodes) = self.as_parts();
        [&head, nodes].concat()
    }

    /// The octets of [`PackedZone::to_bytes`] in two parts, of which the second, which is nearly
    /// all, is lent.
    pub fn as_parts(&self) -> (Vec<u8>, &[u8]) {
        let key = self.origin.key();
        let head = [MAGIC, &self.hash.to_be_bytes(), &(key.len() as u16).to_be_bytes(), key].concat();
        (head, &self.buffer)
    }

    /// Reads what [`PackedZone::to_bytes`] wrote; anything else is refused.
    pub fn from_bytes(octets: &[u8]) -> Result<PackedZone, PackedZoneError> {
        PackedZone::from_vec(octets.to_vec())
    }

    /// As [`PackedZone::from_bytes`]; the octets become the zone, without a copy.
    pub fn from_vec(mut octets: Vec<u8>) -> Result<PackedZone, PackedZoneError> {
        let (hash, origin, head) = head(&octets).ok_or(PackedZoneError::Malformed)?;
        octets.drain(..head);
        let checked = Checked::read(&origin, &octets).ok_or(PackedZoneError::Malformed)?;
        let apex = Some(PackedNode::new(&origin, &octets)).filter(|node| node.key_below_origin().is_empty());
        let soa = apex.and_then(|apex| apex.set(Rtype::SOA)).map(|soa| soa.to_record_set(origin.clone()));
        // The hash tells when nodes are missing.
        let soa = soa.filter(|_| checked.soas == 1 && checked.hash == hash);
        let zone = PackedZone {
            soa: soa.ok_or(PackedZoneError::Malformed)?,
            origin,
            records: checked.records,
            sets: checked.sets,
            hash,
            places: checked.places.into(),
            buffer: octets.into(),
        };
        if checked.has_refused { zone.without_refused() } else { Ok(zone) }
    }

    /// The zone without the types that no record may have: an earlier version may have kept some.
    fn without_refused(&self) -> Result<PackedZone, PackedZoneError> {
        let allowed = self.iter().filter(|set| set.rtype.refusal().is_none());
        PackedZone::from_sets(self.origin.clone(), allowed)
    }
}

/// The hash, the origin, and how long the head is.
fn head(octets: &[u8]) -> Option<(u64, Name, usize)> {
    let mut reader = Reader(octets.strip_prefix(MAGIC)?);
    let hash = u64::from_be_bytes(reader.take(8)?.try_into().ok()?);
    let origin = reader.record().filter(|key| Name::is_key(key))?;
    Some((hash, Name::from_key(origin), octets.len() - reader.0.len()))
}

/// What one pass over the nodes finds.
#[derive(Default)]
struct Checked {
    places: Vec<u32>,
    records: usize,
    sets: usize,
    soas: usize,
    hash: u64,
    /// Whether some set has a type that no record may have.
    has_refused: bool,
}

impl Checked {
    fn read(origin: &Name, nodes: &[u8]) -> Option<Checked> {
        u32::try_from(nodes.len()).ok()?;
        let room = MAX_WIRE - origin.wire_len();
        let mut checked = Checked::default();
        let mut reader = Reader(nodes);
        let mut last_key = None;
        while !reader.0.is_empty() {
            checked.places.push((nodes.len() - reader.0.len()) as u32);
            let below = reader.record().filter(|below| last_key.is_none_or(|last| last < *below))?;
            labels_len(below).filter(|length| *length <= room)?;
            checked.read_sets(origin, below, &mut reader)?;
            last_key = Some(below);
        }
        checked.places.shrink_to_fit();
        Some(checked)
    }

    /// At least one set, the types in order.
    fn read_sets(&mut self, origin: &Name, below: &[u8], reader: &mut Reader<'_>) -> Option<()> {
        let count = reader.u16().filter(|count| *count > 0)?;
        let mut last = None;
        for _ in 0..count {
            let rtype = Rtype(reader.u16()?);
            if last.is_some_and(|last| last >= rtype) {
                return None;
            }
            let ttl = reader.u32()?;
            self.read_records(reader, |wire| hash_parts(origin.key(), below, rtype, ttl, wire), rtype)?;
            self.has_refused |= rtype.refusal().is_some();
            last = Some(rtype);
        }
        self.sets += usize::from(count);
        Some(())
    }

    /// At least one record, in order, each as its type has it.
    fn read_records(
        &mut self,
        reader: &mut Reader<'_>,
        hash: impl Fn(&[u8]) -> u64,
        rtype: Rtype,
    ) -> Option<()> {
        let count = reader.u32().filter(|count| *count > 0)?;
        let mut last = None;
        for _ in 0..count {
            let wire = reader.record().filter(|wire| last.is_none_or(|last| last < *wire))?;
            if !is_canonical(rtype, wire) {
                return None;
            }
            self.hash = self.hash.wrapping_add(hash(wire));
            last = Some(wire);
        }
        self.records += count as usize;
        self.soas += if rtype == Rtype::SOA { count as usize } else { 0 };
        Some(())
    }
}
