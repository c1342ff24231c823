//! How we stand with the other owners of one type of a name. Pure.
//!
//! ```text
//!                      another has it, and lives
//!              ┌──────────────────────────────────────► Waits ──┐ it died, or named us its heir
//! we want it ──┤ nobody has it, or it is shared                 ▼
//!              └──────────────► ours ◄──── TakesOver ◄──── Claims
//!                 another claims it │ we hand it over            its counter moved: Yields
//!                                   ▼
//!                            Frozen, HandsOver
//! ```
//!
//! Every step is a mark that is written and read back, with all other marks, before the next. So of two who
//! step at once at least one sees the other, and whoever came for something that another has goes back.

use std::collections::BTreeMap;

use dns::{Name, Rdata, RecordSet, Rtype};

use super::held::Other;
use crate::Entry;
use crate::marks::{Mark, Share, Terms};

/// Another owner, as far as its counter tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pulse {
    /// Its counter moves, or was not watched for long enough.
    Beats,
    /// It has no counter, and has had none for long: it may not know what one is.
    Missing,
    /// Its counter has not moved for so long that it is gone.
    Stopped,
}

/// What we want of a type.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Want {
    /// Nothing.
    Nothing,
    /// That whatever is ours stays as it is.
    AsItIs,
    /// These records.
    Records {
        share: Share,
        /// Together with those of others.
        shared: bool,
        /// Until this owner takes over.
        heir: Option<String>,
    },
}

/// Everything that decides how we stand.
pub(super) struct Seat<'a> {
    pub(super) us: &'a str,
    pub(super) rtype: Rtype,
    /// What our mark says, if it names the type.
    pub(super) own: Option<&'a Terms>,
    pub(super) want: Want,
    pub(super) others: &'a BTreeMap<String, Other>,
    pub(super) pulse: &'a dyn Fn(&str) -> Pulse,
}

/// How we stand with the others.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Footing {
    /// Several owners add up to the set.
    Shared(Sharing),
    /// It is another's, who lives.
    Waits(String),
    /// It was another's, and our mark is to say that we take over.
    Claims(String),
    /// Our mark says so; those of these owners are to say it no longer.
    TakesOver(Vec<String>),
    /// Another claims it too, and will give way or take over: nothing is written.
    Frozen(String),
    /// Another has it too, and we give way.
    Yields(String),
    /// It is ours and goes to this owner, who waits for it.
    HandsOver(String),
    /// Another has it, and we want it no longer.
    Leaves,
}

/// A set that several owners add up to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sharing {
    /// What our mark is to say.
    pub(super) share: Share,
    /// What is to stand; none: nobody adds anything.
    pub(super) whole: Option<Share>,
    /// Owners that are gone, whose part is not in it.
    pub(super) gone: Vec<String>,
    /// Whether somebody is leaving, who may be about to delete the set.
    pub(super) is_left: bool,
}

impl Seat<'_> {
    /// How we stand; `None`: nobody else has to do with it.
    pub(super) fn footing(&self) -> Option<Footing> {
        let share = self.share();
        let holders = self.others.iter().filter(|(_, other)| other.mark.types.contains(&self.rtype));
        let rivals: Vec<(&str, &Mark)> = holders
            .filter(|(_, other)| share.is_none() || !other.mark.terms.shares.contains_key(&self.rtype))
            .map(|(owner, other)| (owner.as_str(), &other.mark))
            .collect();
        match (rivals.is_empty(), share) {
            (true, Some(share)) => Some(Footing::Shared(self.sharing(share))),
            (true, None) => self.heir().map(Footing::HandsOver),
            (false, _) => self.among(&rivals),
        }
    }

    /// What our mark is to add to a shared set; `None`: it is ours alone.
    fn share(&self) -> Option<Share> {
        let said = self.own.and_then(|own| own.shares.get(&self.rtype));
        let is_joint = || self.others.values().any(|other| other.mark.terms.shares.contains_key(&self.rtype));
        match &self.want {
            Want::Records { share, shared: true, .. } => Some(share.clone()),
            // Whoever wants to have alone what others share goes on sharing it until they have left.
            Want::Records { share, .. } => said.filter(|_| is_joint()).map(|_| share.clone()),
            Want::AsItIs => said.cloned(),
            Want::Nothing => said.map(|said| Share { ttl: said.ttl, data: Vec::new() }),
        }
    }

    fn sharing(&self, share: Share) -> Sharing {
        let parts = || {
            self.others.iter().filter_map(|(owner, other)| {
                let part =
                    other.mark.types.contains(&self.rtype).then(|| other.mark.terms.shares.get(&self.rtype));
                part.flatten().map(|part| (owner, part, self.is_gone(owner)))
            })
        };
        let ours = std::iter::once(&share);
        let living = union(ours.chain(parts().filter(|part| !part.2).map(|part| part.1)));
        // The last answer stays, whoever it is from.
        let (whole, keeps) = match living {
            Some(whole) => (Some(whole), false),
            None => (union(parts().map(|part| part.1)), true),
        };
        let gone = parts().filter(|part| part.2 && !keeps).map(|part| part.0.clone()).collect();
        let is_left = parts().any(|(_, part, is_gone)| part.data.is_empty() && !is_gone);
        Sharing { whole, gone, is_left, share }
    }

    /// Whether the owner of a part is gone. One who shares has a counter, so a missing one counts.
    fn is_gone(&self, owner: &str) -> bool {
        (self.pulse)(owner) != Pulse::Beats
    }

    /// Who is to take over what is ours alone: whom the plan names, or when we want it no longer, whoever
    /// waits. Only one who waits and lives can.
    fn heir(&self) -> Option<String> {
        self.own?;
        let waits = |owner: &&String| self.waits(owner);
        match &self.want {
            Want::Records { heir, .. } => heir.as_ref().filter(waits).cloned(),
            Want::Nothing => self.others.keys().find(waits).cloned(),
            Want::AsItIs => None,
        }
    }

    fn waits(&self, owner: &String) -> bool {
        let mark = self.others.get(owner).map(|other| &other.mark);
        let beats = || (self.pulse)(owner) == Pulse::Beats;
        mark.is_some_and(|mark| mark.terms.wants.contains(&self.rtype)) && beats()
    }

    /// How we stand where others have it, and not together with us.
    fn among(&self, rivals: &[(&str, &Mark)]) -> Option<Footing> {
        let is_free = |mark: &Mark| mark.terms.heir.as_deref() == Some(self.us);
        let in_the_way =
            rivals.iter().find(|(owner, mark)| !is_free(mark) && (self.pulse)(owner) != Pulse::Stopped);
        let (first, _) = rivals.first()?;
        match (self.own, &self.want, in_the_way) {
            (Some(own), Want::Nothing, Some((owner, mark))) => match self.is_guest(own, owner, mark) {
                true => Some(Footing::Leaves),
                false => Some(Footing::HandsOver((*owner).to_owned())),
            },
            (None, Want::Nothing | Want::AsItIs, _) => None,
            (None, _, None) => Some(Footing::Claims((*first).to_owned())),
            (None, _, Some((owner, _))) => Some(Footing::Waits((*owner).to_owned())),
            (Some(_), _, None) => {
                Some(Footing::TakesOver(rivals.iter().map(|(owner, _)| (*owner).to_owned()).collect()))
            }
            (Some(own), _, Some((owner, mark))) => match self.gives_way(own, owner, mark) {
                true => Some(Footing::Yields((*owner).to_owned())),
                false => Some(Footing::Frozen((*owner).to_owned())),
            },
        }
    }

    /// Whether we came for what the other has, and it did not come for ours.
    fn is_guest(&self, own: &Terms, owner: &str, mark: &Mark) -> bool {
        own.from.as_deref() == Some(owner) && mark.terms.from.as_deref() != Some(self.us)
    }

    /// Whether it is we who go back, where our mark and another's both name the type.
    ///
    /// Both find this out, and exactly one of them has to: if both did, what one of them wrote already would be
    /// nobody's.
    fn gives_way(&self, own: &Terms, owner: &str, mark: &Mark) -> bool {
        let they = &mark.terms;
        match (own.from.as_deref(), they.from.as_deref()) {
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some(ours), Some(theirs)) if (ours == owner) != (theirs == self.us) => ours == owner,
            (Some(_), Some(_)) => self.us > owner,
            (None, None) => self.us > owner,
        }
    }
}

/// What several owners add up to: all of their records, and the shortest of their TTLs.
fn union<'a>(parts: impl Iterator<Item = &'a Share>) -> Option<Share> {
    let parts: Vec<&Share> = parts.filter(|part| !part.data.is_empty()).collect();
    let ttl = parts.iter().map(|part| part.ttl).min()?;
    let mut data: Vec<Rdata> = parts.into_iter().flat_map(|part| part.data.iter().cloned()).collect();
    data.sort();
    data.dedup();
    Some(Share { ttl, data })
}

impl Share {
    /// The set that this adds up to at a name.
    pub(super) fn to_set(&self, name: &Name, rtype: Rtype) -> RecordSet {
        RecordSet::new(name.clone(), rtype, self.ttl, self.data.clone())
    }

    /// Whether this has all of these records.
    pub(super) fn has(&self, entry: &Entry) -> bool {
        entry.set.data.iter().all(|data| self.data.contains(data))
    }

    /// What an owner adds to a set of which it wants these records.
    pub(super) fn of(set: &RecordSet) -> Share {
        Share { ttl: set.ttl, data: set.data.to_vec() }
    }
}

/// Whether owners can add up to a set of a type: not where a name has only one.
pub(super) fn can_be_shared(rtype: Rtype) -> bool {
    !matches!(rtype, Rtype::CNAME | Rtype::SOA | Rtype::DNAME) && rtype.refusal().is_none()
}

#[cfg(test)]
mod tests;
