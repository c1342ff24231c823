//! A zone's SOA record, ready to be copied into a message.

use dns::{Name, RecordSet, Rtype};

const POINTER: u16 = 0xc000;

/// The SOA record with holes where pointers to the origin go.
#[derive(Clone, Debug)]
pub(crate) struct SoaRecord {
    octets: Box<[u8]>,
    /// Where the pointers go; the first is the owner's.
    holes: [Option<u16>; 3],
    ttl_at: usize,
    ttl: u32,
    /// How long a negative answer may be kept (RFC 2308 section 3).
    negative_ttl: u32,
}

impl SoaRecord {
    pub(crate) fn new(origin: &Name, set: &RecordSet) -> Option<SoaRecord> {
        let soa = set.data.first()?.as_soa()?;
        let mut octets = Vec::with_capacity(64);
        let mut holes = [None; 3];
        push_name(&mut octets, &mut holes[0], origin, origin);
        octets.extend([Rtype::SOA.0, 1].into_iter().flat_map(u16::to_be_bytes));
        let ttl_at = octets.len();
        octets.extend([0; 6]);
        let start = octets.len();
        push_name(&mut octets, &mut holes[1], &soa.mname, origin);
        push_name(&mut octets, &mut holes[2], &soa.rname, origin);
        let numbers = [soa.serial, soa.refresh, soa.retry, soa.expire, soa.minimum];
        octets.extend(numbers.into_iter().flat_map(u32::to_be_bytes));
        let length = u16::try_from(octets.len() - start).ok()?;
        octets[start - 2..start].copy_from_slice(&length.to_be_bytes());
        let negative_ttl = set.ttl.min(soa.minimum);
        Some(SoaRecord { octets: octets.into(), holes, ttl_at, ttl: set.ttl, negative_ttl })
    }

    /// Writes the record at the start of `out`, for a message that has the origin at `origin_at`;
    /// gives its length.
    #[inline]
    pub(super) fn write(&self, out: &mut [u8], origin_at: usize, negative: bool) -> Option<usize> {
        let out = out.get_mut(..self.octets.len())?;
        out.copy_from_slice(&self.octets);
        let pointer = (POINTER | u16::try_from(origin_at).ok()?).to_be_bytes();
        for hole in self.holes.iter().flatten() {
            let at = usize::from(*hole);
            out.get_mut(at..at + 2)?.copy_from_slice(&pointer);
        }
        let ttl = if negative { self.negative_ttl } else { self.ttl };
        out.get_mut(self.ttl_at..self.ttl_at + 4)?.copy_from_slice(&ttl.to_be_bytes());
        Some(self.octets.len())
    }
}

/// Writes a name, with a hole where it ends in the origin.
fn push_name(octets: &mut Vec<u8>, hole: &mut Option<u16>, name: &Name, origin: &Name) {
    let wire = name.to_wire();
    if origin.is_root() || !name.is_in(origin) {
        octets.extend_from_slice(&wire);
        return;
    }
    octets.extend_from_slice(&wire[..wire.len() - origin.wire_len()]);
    *hole = u16::try_from(octets.len()).ok();
    octets.extend_from_slice(&[0; 2]);
}
