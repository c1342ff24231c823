//! Marks: who owns what at a provider, written down beside the records.
//!
//! A mark is a TXT record in one corner of the zone, one per owner and name:
//!
//! ```text
//! <owner code>.<hash of the name>._fingerpost.<zone>  TXT
//!     "v=fingerpost1 owner=… generation=… name=… types=A,AAAA"
//!     "… types=A targets=A/30/192.0.2.1"      a set that several owners add up to
//!     "… types= wants=A"                      another has the set, and this one waits for it
//!     "… types=A heir=…" "… types=A from=…"   the set passes to another owner, or comes from one
//! <owner code>._alive._fingerpost.<zone>  TXT
//!     "v=fingerpost1 owner=… generation=… counter=…"             moves every 30 seconds
//!     "v=fingerpost1 owner=… generation=… counter=… looks=60"    rests; its owner looks every minute
//! ```
//!
//! It never stands below the name that it marks, where a delegation, a DNAME or a wildcard would hide
//! it, and it says nothing about data that is its owner's alone, so that changed data leaves it alone. What
//! does not read back as exactly what we would have written there is no mark.

pub mod external_dns;
mod liveness;
mod terms;
mod text;

use std::collections::BTreeSet;

use dns::{Name, Rdata, RecordSet, Rtype};
use ring::digest;

use crate::SetKey;
pub use liveness::{Liveness, liveness_key};
pub use terms::{Share, Terms};

/// How long a resolver may keep a mark; nobody asks for them but us.
const TTL: u32 = 300;
const CORNER: &[u8] = b"_fingerpost";

/// What one owner has at one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Who.
    pub owner: String,
    /// The fencing token of whoever wrote it.
    pub generation: u64,
    /// The marked name.
    pub name: Name,
    /// The types at that name which are the owner's.
    pub types: BTreeSet<Rtype>,
    /// What it says to the other owners.
    pub terms: Terms,
}

impl Mark {
    /// The mark of what is an owner's alone.
    pub fn new(owner: String, generation: u64, name: Name, types: BTreeSet<Rtype>) -> Mark {
        Mark { owner, generation, name, types, terms: Terms::default() }
    }

    /// The mark without a word about a type; `None` where nothing is left of it.
    pub fn without(&self, rtype: Rtype) -> Option<Mark> {
        let mut mark = self.clone();
        mark.types.remove(&rtype);
        mark.terms.forget(rtype);
        (!mark.is_empty()).then_some(mark)
    }

    /// The mark after another owner took a type over. Its owner is taken to wait for it until it says otherwise,
    /// so that the new holder is watched from the first moment on.
    pub fn after_loss_of(&self, rtype: Rtype) -> Mark {
        let mut mark = self.clone();
        mark.types.remove(&rtype);
        mark.terms.forget(rtype);
        mark.terms.wants.insert(rtype);
        if mark.types.is_empty() {
            (mark.terms.heir, mark.terms.from) = (None, None);
        }
        mark
    }

    /// Whether it says nothing.
    pub fn is_empty(&self) -> bool {
        self.types.is_empty() && self.terms.wants.is_empty()
    }

    /// The mark as a record set; `None` where the zone's name leaves no room for it.
    pub fn to_set(&self, zone: &Name) -> Option<RecordSet> {
        let name = mark_name(&self.owner, &self.name, zone)?;
        Some(RecordSet::new(name, Rtype::TXT, TTL, vec![Rdata::txt(&text::written(self))]))
    }

    /// Reads a mark; `None` for everything that is not one, be it in a single character.
    pub fn read(set: &RecordSet, zone: &Name) -> Option<Mark> {
        let [data] = &set.data[..] else { return None };
        let text = text_of(data)?;
        let mark = text::read(&text)?;
        let in_place = mark.name.is_in(zone) && mark_name(&mark.owner, &mark.name, zone)? == set.name;
        (in_place && text::written(&mark) == text).then_some(mark)
    }
}

/// Where an owner's mark of a name stands; `None` where the zone's name leaves no room for it.
pub fn mark_name(owner: &str, name: &Name, zone: &Name) -> Option<Name> {
    let hash = hex(name.key(), 16);
    let code = hex(owner.as_bytes(), 5);
    corner(zone)?.child(hash.as_bytes()).ok()?.child(code.as_bytes()).ok()
}

/// The key of an owner's mark of a name.
pub fn mark_key(owner: &str, name: &Name, zone: &Name) -> Option<SetKey> {
    Some(SetKey { name: mark_name(owner, name, zone)?, rtype: Rtype::TXT })
}

/// The name below which a zone's marks stand.
pub fn corner(zone: &Name) -> Option<Name> {
    zone.child(CORNER).ok()
}

/// The first octets of the SHA-256 of something, in hex.
pub(crate) fn hex(octets: &[u8], length: usize) -> String {
    let digest = digest::digest(&digest::SHA256, octets);
    let mut text = String::with_capacity(2 * length);
    for octet in digest.as_ref().iter().take(length) {
        text.extend(
            [octet >> 4, octet & 15].map(|digit| char::from(b"0123456789abcdef"[usize::from(digit)])),
        );
    }
    text
}

/// The strings of TXT data as one text.
fn text_of(data: &Rdata) -> Option<String> {
    let mut rest = (data.rtype() == Rtype::TXT).then(|| data.wire())?;
    let mut text = Vec::with_capacity(rest.len());
    while let Some((length, tail)) = rest.split_first() {
        let (string, tail) = tail.split_at_checked(usize::from(*length))?;
        text.extend_from_slice(string);
        rest = tail;
    }
    String::from_utf8(text).ok()
}

#[cfg(test)]
mod tests;
