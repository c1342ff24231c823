//! What is to be done at a name that several owners have to do with.

use std::collections::{BTreeMap, BTreeSet};

use dns::{Name, Rtype};

use super::footing::{Footing, Seat, Sharing, Want, can_be_shared};
use super::held::Held;
use super::situation::{Fate, Situation, Wish};
use super::{At, Zone};
use crate::marks::{Share, Terms};
use crate::{Entry, SetKey};

/// How we stand with others, by type; types that nobody else has to do with are not in it.
pub(super) type Footings = BTreeMap<Rtype, Footing>;

/// What there is to be done with other owners at a name.
#[derive(Debug, Default)]
pub(super) struct Dealings {
    /// What our mark is to say to them.
    pub(super) terms: Terms,
    /// Whether it says something else, and is to be written before anything else is.
    pub(super) is_said: bool,
    /// Types that our mark is to name no longer, because another has them.
    pub(super) given_up: BTreeSet<Rtype>,
    /// What other owners' marks are to name no longer, before the sets are written.
    pub(super) taken: Vec<(String, Rtype)>,
    /// What the marks of owners that are gone are to say no longer, after that.
    pub(super) buried: Vec<(String, Rtype)>,
}

impl Dealings {
    /// How much there is to write.
    pub(super) fn count(&self) -> usize {
        usize::from(self.is_said) + self.taken.len() + self.buried.len()
    }

    /// Whether a mark has to change before any set does.
    pub(super) fn come_first(&self) -> bool {
        self.is_said || !self.taken.is_empty()
    }

    /// Whether a mark has to change after all sets have.
    pub(super) fn come_last(&self) -> bool {
        !self.buried.is_empty()
    }

    /// Has our mark say of a type what it says now.
    fn repeat(&mut self, rtype: Rtype, before: &Terms) {
        (self.terms.heir, self.terms.from) = (before.heir.clone(), before.from.clone());
        let share = before.shares.get(&rtype).cloned();
        self.terms.shares.extend(share.map(|share| (rtype, share)));
    }

    /// Leaves it for later.
    pub(super) fn put_off(&mut self) {
        self.is_said = false;
        self.taken.clear();
        self.buried.clear();
    }
}

impl Footing {
    /// Whether what stands there of ours is not to be deleted, although we do not want it.
    pub(super) fn keeps_set(&self) -> bool {
        match self {
            Footing::Shared(sharing) => sharing.whole.is_some(),
            _ => true,
        }
    }

    /// What a shared set adds up to.
    pub(super) fn whole(&self) -> Option<&Share> {
        match self {
            Footing::Shared(sharing) => sharing.whole.as_ref(),
            _ => None,
        }
    }
}

impl Zone {
    /// Remembers whether other owners have to do with a name, or may.
    pub(super) fn note_contested(&mut self, name: &Name) {
        match self.is_contested(name) {
            true => self.contested.insert(name.clone()),
            false => self.contested.remove(name),
        };
    }

    /// Whether other owners have to do with what we have or want at a name, or may.
    pub(super) fn is_contested(&self, name: &Name) -> bool {
        if !self.turn.reads_zones() || !self.has_room {
            return false;
        }
        let shares = || self.wanted_at(name).any(|wanted| wanted.shared.iter().copied().any(can_be_shared));
        self.marks.terms(name).is_some() || shares() || self.is_met(name)
    }

    /// Whether another owner has or wants something that we have or want.
    fn is_met(&self, name: &Name) -> bool {
        let Some(others) = self.marks.others(name) else { return false };
        let ours = self.types_of_ours(name);
        let met = |rtype: &Rtype| ours.contains(rtype);
        others.values().any(|other| other.mark.types.iter().chain(&other.mark.terms.wants).any(met))
    }

    /// The types that we have or want at a name.
    pub(super) fn types_of_ours(&self, name: &Name) -> BTreeSet<Rtype> {
        let wanted =
            self.wanted_at(name).flat_map(|wanted| wanted.sets.iter().map(|set| set.entry.set.rtype));
        wanted.chain(self.marks.types(name)).collect()
    }

    /// How we stand with the other owners of a name.
    pub(super) fn footings(&self, name: &Name, marked: &BTreeSet<Rtype>, at: At<'_>) -> Footings {
        if !self.is_contested(name) {
            return Footings::new();
        }
        let (terms, nobody, empty) = (self.marks.terms(name), BTreeMap::new(), Terms::default());
        let types = self.types_of_ours(name).into_iter().filter(|rtype| !self.is_fixed(name, *rtype));
        let pulse = |owner: &str| self.pulses.of(owner);
        let seat = |rtype: Rtype| Seat {
            us: &self.owner,
            rtype,
            own: marked.contains(&rtype).then(|| terms.unwrap_or(&empty)),
            want: self.want(name, rtype, at),
            others: self.marks.others(name).unwrap_or(&nobody),
            pulse: &pulse,
        };
        types.filter_map(|rtype| Some((rtype, seat(rtype).footing()?))).collect()
    }

    /// What the plan wants of a type; before all of it was told, what is not wanted stays.
    fn want(&self, name: &Name, rtype: Rtype, at: At<'_>) -> Want {
        let wanted = self.wanted_at(name).find_map(|wanted| Some((wanted, wanted.set(rtype)?)));
        let stays = || !at.class.complete || self.kept(name).contains(&rtype);
        match wanted {
            Some((wanted, set)) => Want::Records {
                share: Share::of(&set.entry.set),
                shared: wanted.shared.contains(&rtype) && can_be_shared(rtype),
                heir: wanted.heir.clone(),
            },
            None if stays() => Want::AsItIs,
            None => Want::Nothing,
        }
    }

    /// A wish, as other owners let it be.
    pub(super) fn among_others(&self, mut wish: Wish, footing: &Footing) -> Wish {
        match footing {
            Footing::Shared(sharing) => {
                // Whoever leaves waits for nobody, or two who do would wait for each other.
                let is_leaving = sharing.share.data.is_empty();
                wish.is_late = sharing.is_left && !is_leaving && !self.is_established(&wish.entry);
                wish.is_unsure = sharing.is_left;
                let key = SetKey::of(&wish.entry.set);
                if let Some(whole) = &sharing.whole {
                    wish.entry.set = whole.to_set(&key.name, key.rtype);
                }
                let is_free = wish.fate != Fate::Blocked || self.marks.other_owner(&key).is_some();
                wish.fate = if is_free { Fate::Free } else { Fate::Blocked };
            }
            Footing::Claims(_) | Footing::TakesOver(_) => wish.fate = Fate::Free,
            Footing::Waits(_) | Footing::Yields(_) => wish.fate = Fate::Blocked,
            Footing::Frozen(_) | Footing::HandsOver(_) | Footing::Leaves => wish.fate = Fate::Frozen,
        }
        wish
    }

    /// Whether a shared set has our part in it already.
    pub(super) fn is_established(&self, own: &Entry) -> bool {
        let held = self.held.get(&SetKey::of(&own.set));
        matches!(held, Some(Held::Content(entry)) if own.set.data.iter().all(|data| entry.set.data.contains(data)))
    }

    /// Whether a set of ours stands, as far as we add to it, together with those of others.
    pub(super) fn stands_among_others(&self, own: &Entry) -> bool {
        let terms = self.marks.terms(&own.set.name);
        let said = terms.and_then(|terms| terms.shares.get(&own.set.rtype));
        said.is_some_and(|said| said.has(own)) && self.is_established(own)
    }

    /// Works out what there is to be done with other owners.
    pub(super) fn deal(
        &self,
        name: &Name,
        marked: &BTreeSet<Rtype>,
        footings: &Footings,
        situation: &mut Situation,
        at: At<'_>,
    ) {
        let before = self.marks.terms(name).cloned().unwrap_or_default();
        for (rtype, footing) in footings {
            self.deal_with(*rtype, footing, marked, &before, situation);
        }
        self.bury_waiting(name, marked, situation);
        let Situation { dealings, unmarked, .. } = situation;
        dealings.terms.shares.retain(|rtype, _| marked.contains(rtype) || unmarked.contains(rtype));
        dealings.is_said = dealings.terms != before || !dealings.given_up.is_empty();
        // What nobody spoke of yet may be told of before long.
        if !at.class.complete && self.wanted_at(name).next().is_none() {
            dealings.put_off();
        }
    }

    fn deal_with(
        &self,
        rtype: Rtype,
        footing: &Footing,
        marked: &BTreeSet<Rtype>,
        before: &Terms,
        situation: &mut Situation,
    ) {
        let dealings = &mut situation.dealings;
        match footing {
            Footing::Shared(sharing) => {
                dealings.terms.shares.insert(rtype, sharing.share.clone());
                self.deal_with_sharers(rtype, sharing, before, situation)
            }
            Footing::Waits(_) => drop(dealings.terms.wants.insert(rtype)),
            Footing::Yields(_) => {
                dealings.terms.wants.insert(rtype);
                dealings.given_up.insert(rtype);
            }
            Footing::Claims(owner) => dealings.terms.from = Some(owner.clone()),
            Footing::TakesOver(owners) => {
                dealings.terms.from = before.from.clone();
                dealings.taken.extend(owners.iter().map(|owner| (owner.clone(), rtype)));
            }
            Footing::HandsOver(heir) => dealings.terms.heir = Some(heir.clone()),
            Footing::Frozen(_) => dealings.repeat(rtype, before),
            Footing::Leaves => {
                dealings.repeat(rtype, before);
                situation.excess.extend(marked.get(&rtype));
            }
        }
    }

    /// Once a shared set is what it should be: our mark goes if we have left, and so do those of the gone.
    fn deal_with_sharers(&self, rtype: Rtype, sharing: &Sharing, before: &Terms, situation: &mut Situation) {
        let wish = situation.wishes.iter().find(|wish| wish.entry.set.rtype == rtype);
        let Some(wish) = wish.filter(|wish| wish.fate == Fate::Free && self.stands(&wish.entry)) else {
            return;
        };
        let is_leaving = !wish.is_told && sharing.share.data.is_empty();
        if is_leaving && before.shares.get(&rtype) == Some(&sharing.share) {
            situation.excess.push(rtype);
        }
        situation.dealings.buried.extend(sharing.gone.iter().map(|owner| (owner.clone(), rtype)));
    }

    /// Whoever waits for something of ours, and has been gone for very long, waits no longer.
    fn bury_waiting(&self, name: &Name, marked: &BTreeSet<Rtype>, situation: &mut Situation) {
        let others = self.marks.others(name).into_iter().flatten();
        for (owner, other) in others.filter(|(owner, _)| self.pulses.is_forgotten(owner)) {
            let ours = other.mark.terms.wants.iter().filter(|rtype| marked.contains(rtype));
            situation.dealings.buried.extend(ours.map(|rtype| (owner.clone(), *rtype)));
        }
    }
}
