//! Liveness: one record per owner and zone, whose counter moves while the owner lives and others have to do with
//! its names.
//!
//! Where nobody has, the counter rests, and says how often its owner looks at the zone. So nothing is written at
//! rest, and yet whoever comes for a name can tell whether its holder is gone: one that lives sees the newcomer's
//! mark when it looks next, and moves its counter. A counter that neither moves nor rests says that its owner is
//! gone. Readers that know of no rest take one that rests for no liveness, and wait.

use dns::{Name, Rdata, RecordSet, Rtype};

use super::{TTL, corner, hex, text, text_of};
use crate::SetKey;

const PLACE: &[u8] = b"_alive";

/// That an owner lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Liveness {
    /// Who.
    pub owner: String,
    /// The fencing token of whoever wrote it.
    pub generation: u64,
    /// Moves with every renewal.
    pub counter: u64,
    /// How often the owner looks at the zone, in seconds, while its counter rests; `None`: it moves.
    pub looks: Option<u32>,
}

impl Liveness {
    /// The record; `None` where the zone's name leaves no room for it.
    pub fn to_set(&self, zone: &Name) -> Option<RecordSet> {
        let key = liveness_key(&self.owner, zone)?;
        Some(RecordSet::new(key.name, Rtype::TXT, TTL, vec![Rdata::txt(&text::liveness(self))]))
    }

    /// Reads one; `None` for everything that is none, be it in a single character.
    pub fn read(set: &RecordSet, zone: &Name) -> Option<Liveness> {
        let [data] = &set.data[..] else { return None };
        let text = text_of(data)?;
        let read = text::read_liveness(&text)?;
        let in_place = liveness_key(&read.owner, zone)?.name == set.name;
        (in_place && text::liveness(&read) == text).then_some(read)
    }
}

/// Where an owner's liveness stands; `None` where the zone's name leaves no room for it.
pub fn liveness_key(owner: &str, zone: &Name) -> Option<SetKey> {
    let code = hex(owner.as_bytes(), 5);
    let name = corner(zone)?.child(PLACE).ok()?.child(code.as_bytes()).ok()?;
    Some(SetKey { name, rtype: Rtype::TXT })
}
