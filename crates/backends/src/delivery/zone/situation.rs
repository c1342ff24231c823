//! What one name needs, worked out from what is wanted, held and marked there.

use std::collections::BTreeSet;

use dns::{Name, Rtype};

use super::footing::Footing;
use super::held::{Held, is_as_wanted, standing};
use super::sharing::{Dealings, Footings};
use super::{At, Zone};
use crate::powerdns::steered::STEERED;
use crate::{Entry, SetKey};

/// What a name needs first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    /// To read what stands there.
    Look,
    /// A mark that names what is to be written.
    Mark,
    /// What is wanted, written; what excludes it goes in the same batch.
    Put,
    /// To read what was written.
    ReadBack,
    /// Time, after a failure.
    Waiting,
    /// What is not wanted, deleted.
    Delete,
    /// A mark without what is gone.
    Unmark,
}

/// Something that is wanted at a name.
#[derive(Debug)]
pub(super) struct Wish {
    pub(super) entry: Entry,
    /// Whether somebody asked for it by name, so that its state is told.
    pub(super) is_told: bool,
    pub(super) fate: Fate,
    /// Whether it is written only after another owner has left.
    pub(super) is_late: bool,
    /// Whether another owner may be about to delete it, so that it is not told to stand yet.
    pub(super) is_unsure: bool,
}

/// Whether a wish can be granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// It may be written.
    Free,
    /// Somebody else's record is in its way.
    Blocked,
    /// It has no place in this zone: an inner origin has no SOA and NS of its own.
    Misplaced,
    /// It is passing from us to another owner, or from another to us: it stays as it is.
    Frozen,
}

/// What is the matter at a name.
#[derive(Debug, Default)]
pub(super) struct Situation {
    pub(super) wishes: Vec<Wish>,
    /// Free, and not in our mark.
    pub(super) unmarked: Vec<Rtype>,
    /// Free, in our mark, not as wanted, and to be written now.
    pub(super) puts: Vec<Rtype>,
    /// Ours, and to go in the batch of the puts that they exclude.
    pub(super) clearing: Vec<Rtype>,
    /// Ours, not wanted, and to go once all that is wanted stands.
    pub(super) deletes: Vec<Rtype>,
    /// Ours, not wanted, and to stay until what replaces them stands.
    pub(super) relied_on: Vec<Rtype>,
    /// In our mark for nothing.
    pub(super) excess: Vec<Rtype>,
    /// Whether something stands there that has to be read first.
    pub(super) is_unknown: bool,
    /// Whether something waits after a failure.
    pub(super) is_waiting: bool,
    /// What there is to be done with other owners.
    pub(super) dealings: Dealings,
}

impl Situation {
    /// Whether all is as it should be, if what was written stands.
    pub(super) fn is_settled(&self) -> bool {
        self.count() == 0 && self.relied_on.is_empty() && !self.is_unknown && !self.is_waiting
    }

    /// How much there is to write.
    fn count(&self) -> usize {
        let sets = self.unmarked.len() + self.puts.len() + self.deletes.len() + self.excess.len();
        sets + self.dealings.count()
    }
}

impl Zone {
    /// What is the matter at a name.
    pub(super) fn situation(&self, name: &Name, at: At<'_>) -> Situation {
        let marked = self.marks.types(name);
        let kept = self.kept(name);
        let footings = self.footings(name, &marked, at);
        let wishes = self.wishes(name, &marked, &footings);
        let free: BTreeSet<Rtype> =
            wishes.iter().filter(|wish| wish.fate == Fate::Free).map(|wish| wish.entry.set.rtype).collect();
        let mut situation = Situation { wishes, ..Situation::default() };
        situation.unmarked = free.difference(&marked).copied().collect();
        situation.is_unknown = self.is_unknown(name, &marked, &situation);
        let ours: Vec<Rtype> = standing(&self.held, name).map(|(rtype, _)| rtype).collect();
        // Who takes over the addresses of a name takes over the program that answers with addresses.
        let is_ours =
            |rtype: &Rtype| marked.contains(rtype) || (*rtype == STEERED && self.is_adoptable(name, STEERED));
        let ours: Vec<Rtype> = ours.into_iter().filter(is_ours).collect();
        let unwanted = |rtype: &Rtype| {
            let stays = kept.contains(rtype) || footings.get(rtype).is_some_and(Footing::keeps_set);
            !free.contains(rtype) && !stays && !self.is_fixed(name, *rtype)
        };
        let disposable: Vec<Rtype> = ours.iter().copied().filter(unwanted).collect();
        self.plan_puts(&marked, &ours, &disposable, &mut situation, at);
        if at.class.complete {
            (situation.relied_on, situation.deletes) =
                disposable.into_iter().partition(|rtype| self.is_relied_on(*rtype, &situation));
            situation.excess =
                marked.iter().copied().filter(|rtype| !ours.contains(rtype) && unwanted(rtype)).collect();
        }
        if self.is_contested(name) {
            self.deal(name, &marked, &footings, &mut situation, at);
        }
        self.hold_back(name, &mut situation, at);
        situation
    }

    /// Which wishes are written now, and what has to make room for them in the same batch.
    fn plan_puts(
        &self,
        marked: &BTreeSet<Rtype>,
        ours: &[Rtype],
        disposable: &[Rtype],
        situation: &mut Situation,
        at: At<'_>,
    ) {
        for wish in situation.wishes.iter().filter(|wish| wish.fate == Fate::Free) {
            let rtype = wish.entry.set.rtype;
            if !marked.contains(&rtype) || self.stands(&wish.entry) || wish.is_late {
                continue;
            }
            let in_the_way: Vec<Rtype> =
                ours.iter().copied().filter(|other| excludes(rtype, *other)).collect();
            let can_go = in_the_way.iter().all(|other| at.class.complete && disposable.contains(other));
            // What may not go yet is told to leave later, and then this is worked out again.
            if can_go {
                situation.puts.push(rtype);
                situation.clearing.extend(in_the_way);
            }
        }
        situation.clearing.sort_unstable();
        situation.clearing.dedup();
    }

    /// Whether a set has to stay until something that may replace it stands, lest the name be without
    /// an answer.
    fn is_relied_on(&self, rtype: Rtype, situation: &Situation) -> bool {
        let wishes = situation.wishes.iter().filter(|wish| wish.fate != Fate::Misplaced);
        let mut missing = wishes.filter(|wish| wish.fate == Fate::Blocked || !self.stands(&wish.entry));
        missing.any(|wish| replaces(wish.entry.set.rtype, rtype))
    }

    /// Takes out what waits after a failure of its own.
    fn hold_back(&self, name: &Name, situation: &mut Situation, at: At<'_>) {
        let Some(active) = self.active.get(name) else { return };
        let waits = |rtype: &Rtype| active.waits.get(rtype).is_some_and(|backoff| backoff.until() > at.now);
        let before = situation.count();
        let Situation { unmarked, puts, deletes, excess, dealings, .. } = situation;
        for types in [unmarked, puts, deletes, excess] {
            types.retain(|rtype| !waits(rtype));
        }
        if active.waits.keys().any(waits) {
            dealings.put_off();
        }
        situation.is_waiting |= situation.count() < before;
        if situation.puts.is_empty() {
            situation.clearing.clear();
        }
    }

    /// What a name needs first; `None`: nothing.
    pub(super) fn stage(&self, name: &Name, situation: &Situation, at: At<'_>) -> Option<Stage> {
        let active = self.active.get(name);
        let unread = active.is_some_and(|active| !active.unread.is_empty());
        let look = situation.is_unknown || active.is_some_and(|active| active.look);
        let unreadable = active.is_some_and(|active| active.unreadable.until() > at.now);
        match () {
            () if look && unreadable => Some(Stage::Waiting),
            () if look => Some(Stage::Look),
            () if !situation.unmarked.is_empty() || situation.dealings.come_first() => Some(Stage::Mark),
            () if !situation.puts.is_empty() => Some(Stage::Put),
            () if unread => Some(Stage::ReadBack),
            () if !situation.deletes.is_empty() => Some(Stage::Delete),
            () if !situation.excess.is_empty() || situation.dealings.come_last() => Some(Stage::Unmark),
            () if situation.is_waiting => Some(Stage::Waiting),
            () => None,
        }
    }

    /// What is wanted at a name, the innermost origin's first; each type once.
    fn wishes(&self, name: &Name, marked: &BTreeSet<Rtype>, footings: &Footings) -> Vec<Wish> {
        let mut entries: Vec<(Entry, bool)> = Vec::new();
        let sets = self.wanted_at(name).flat_map(|wanted| &wanted.sets);
        entries.extend(sets.map(|set| (set.entry.clone(), true)));
        entries.extend(self.apex(name, marked).into_iter().map(|entry| (entry, false)));
        entries.extend(footings.iter().filter_map(|(rtype, footing)| {
            let whole = footing.whole()?;
            Some((Entry::from(whole.to_set(name, *rtype)), false))
        }));
        let mut seen = BTreeSet::new();
        entries.retain(|(entry, _)| seen.insert(entry.set.rtype));
        let wish = |(entry, is_told): (Entry, bool)| {
            let fate = self.fate(&SetKey::of(&entry.set), marked);
            let wish = Wish { entry, is_told, fate, is_late: false, is_unsure: false };
            match footings.get(&wish.entry.set.rtype) {
                Some(footing) => self.among_others(wish, footing),
                None => wish,
            }
        };
        entries.into_iter().map(wish).collect()
    }

    /// The SOA and name servers of the zone itself, where they are ours to keep.
    fn apex(&self, name: &Name, marked: &BTreeSet<Rtype>) -> Vec<Entry> {
        let facts = self.origins.get(name).filter(|_| *name == self.name);
        let Some(facts) = facts.and_then(|origin| origin.facts.as_ref()) else { return Vec::new() };
        let is_ours = |rtype: Rtype| {
            marked.contains(&rtype) || self.adopted.contains(&SetKey { name: name.clone(), rtype })
        };
        let sets = [&facts.soa, &facts.name_servers];
        sets.into_iter().filter(|set| is_ours(set.rtype)).map(|set| Entry::from(set.clone())).collect()
    }

    fn fate(&self, key: &SetKey, marked: &BTreeSet<Rtype>) -> Fate {
        let inner = key.name != self.name;
        let of_a_zone = matches!(key.rtype, Rtype::NS | Rtype::DS) && self.origins.contains_key(&key.name);
        if inner && (key.rtype == Rtype::SOA || of_a_zone) {
            return Fate::Misplaced;
        }
        let in_corner = self.corner.as_ref().is_some_and(|corner| key.name.is_in(corner));
        let foreign = |rtype: Rtype| !marked.contains(&rtype) && !self.is_adoptable(&key.name, rtype);
        // Where sets are read one by one, what else stands at the name is the server's to judge.
        let by_name = self.turn.reads_zones();
        let in_the_way = |rtype: Rtype| rtype == key.rtype || (by_name && excludes(rtype, key.rtype));
        let blocked = standing(&self.held, &key.name).any(|(rtype, _)| foreign(rtype) && in_the_way(rtype));
        if in_corner || blocked { Fate::Blocked } else { Fate::Free }
    }

    fn is_adoptable(&self, name: &Name, rtype: Rtype) -> bool {
        let key = SetKey { name: name.clone(), rtype };
        self.adopted.contains(&key) && self.marks.other_owner(&key).is_none()
    }

    /// Whether a zone cannot be without it.
    pub(super) fn is_fixed(&self, name: &Name, rtype: Rtype) -> bool {
        *name == self.name && matches!(rtype, Rtype::SOA | Rtype::NS)
    }

    pub(super) fn kept(&self, name: &Name) -> BTreeSet<Rtype> {
        self.wanted_at(name).flat_map(|wanted| wanted.kept.iter().copied()).collect()
    }

    /// Whether exactly this stands there.
    pub(super) fn stands(&self, wanted: &Entry) -> bool {
        let held = self.held.get(&SetKey::of(&wanted.set));
        matches!(held, Some(Held::Content(entry)) if is_as_wanted(entry, wanted))
    }

    /// Whether a decision at this name needs content that was not read.
    fn is_unknown(&self, name: &Name, marked: &BTreeSet<Rtype>, situation: &Situation) -> bool {
        let held = |rtype: Rtype| self.held.get(&SetKey { name: name.clone(), rtype });
        let unread_own = marked.iter().any(|rtype| held(*rtype) == Some(&Held::Something));
        let by_key = !self.turn.reads_zones();
        let wished = situation.wishes.iter().map(|wish| wish.entry.set.rtype);
        unread_own || (by_key && wished.chain(marked.iter().copied()).any(|rtype| held(rtype).is_none()))
    }

    /// Without marks, what is wanted and either not there or there already is ours.
    pub(super) fn claim_wanted(&mut self, name: &Name) {
        let wishes = self.wishes(name, &self.marks.types(name), &Footings::new());
        for wish in wishes.iter().filter(|wish| wish.fate != Fate::Misplaced) {
            let key = SetKey::of(&wish.entry.set);
            let is_absent = self.held.get(&key) == Some(&Held::Absent);
            let may_be_made = wish.fate == Fate::Free && (is_absent || self.adopted.contains(&key));
            if may_be_made || self.stands(&wish.entry) {
                self.marks.claim(&key);
            }
        }
    }
}

/// Whether two types cannot stand at one name (RFC 2181 section 10.1), or must not: where addresses and
/// a program that chooses among them stand together, both are answered with.
fn excludes(one: Rtype, other: Rtype) -> bool {
    let beside_anything = |rtype: Rtype| matches!(rtype, Rtype::RRSIG | Rtype::NSEC);
    let alias = (one == Rtype::CNAME) != (other == Rtype::CNAME);
    let is_address = |rtype: Rtype| matches!(rtype, Rtype::A | Rtype::AAAA);
    let steered = (one == STEERED && is_address(other)) || (is_address(one) && other == STEERED);
    steered || (alias && !beside_anything(one) && !beside_anything(other))
}

/// Whether clients that used one type may be served by the other.
fn replaces(one: Rtype, other: Rtype) -> bool {
    let leads_somewhere = |rtype: Rtype| {
        matches!(rtype, Rtype::A | Rtype::AAAA | Rtype::CNAME | Rtype::HTTPS | Rtype::SVCB | STEERED)
    };
    excludes(one, other) || (leads_somewhere(one) && leads_somewhere(other))
}
