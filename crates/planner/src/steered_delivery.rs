//! What providers are given of steered record sets, and how that follows the health of targets.

use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use dns::{Member, Name, Rdata, RecordSet, Rtype, Steering};
use rustc_hash::FxHasher;

use crate::delivering::Duty;
use crate::delivery::set_hash;
use crate::facts::ObjectKey;
use crate::lowering::{Abilities, by_places, expresses, flat, pruned};
use crate::output::Claim;
use crate::planner::Planner;
use crate::probe::TargetState;
use crate::snapshot::Id;

/// How a class steers what it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Manner {
    /// There is nothing to steer.
    Plain,
    /// By itself, probes included.
    Native,
    /// By itself, among what our probes hold up.
    Among,
    /// Not at all: it is given what would be answered, as far as that is the same for all clients.
    Membership,
}

/// Which targets of a set are taken to be up.
struct Alive<'a> {
    planner: &'a Planner,
    data: &'a [Rdata],
    /// What was last given while something was up.
    usable: BTreeSet<String>,
    any_seen_up: bool,
}

impl<'a> Alive<'a> {
    fn of(
        planner: &'a Planner,
        data: &'a [Rdata],
        steering: &Steering,
        usable: &BTreeSet<String>,
    ) -> Alive<'a> {
        let seen_up = |member: &Member| {
            member.probe.and_then(|probe| planner.probing.health(probe)).is_some_and(|health| health.seen_up)
        };
        let any_seen_up = steering.members().iter().any(seen_up);
        let known: BTreeSet<String> = data.iter().map(text).collect();
        Alive { planner, data, usable: usable.intersection(&known).cloned().collect(), any_seen_up }
    }

    fn was_usable(&self, member: Member) -> bool {
        self.data.get(usize::from(member.data)).is_some_and(|data| self.usable.contains(&text(data)))
    }

    /// A target that was never seen up counts as up until another of its set has been; where it is known
    /// what was usable before, that decides until there are results.
    fn is_alive(&self, member: Member) -> bool {
        let Some(probe) = member.probe else { return true };
        let health = self.planner.probing.health(probe);
        let unseen = || match self.usable.is_empty() {
            true => !self.any_seen_up,
            false => self.was_usable(member),
        };
        match health.map(|health| (health.state, health.seen_up)) {
            Some((TargetState::Up, _)) => true,
            Some((TargetState::Down, true)) => false,
            Some((TargetState::Down, false)) => !self.any_seen_up && unseen(),
            Some((TargetState::Unknown, _)) | None => unseen(),
        }
    }

    /// The tree of what is up, and whether anything is; where nothing is, that of what was usable last.
    fn pruned(&self, steering: &Steering) -> (Option<Steering>, bool) {
        if let Some(alive) = pruned(steering, &|member| self.is_alive(member)) {
            return (Some(alive), true);
        }
        let usable = pruned(steering, &|member| self.was_usable(member));
        (usable.or_else(|| pruned(steering, &|_| true)), false)
    }
}

/// Data as a status has it.
fn text(data: &Rdata) -> String {
    data.target().map_or_else(|| data.to_string(), |name| name.undotted())
}

impl Planner {
    /// What stands for a steered set at a class, and how the class steers it.
    pub(crate) fn lowered(&self, owner: Option<Id>, class: &str, set: RecordSet) -> (RecordSet, Manner) {
        let Some(steering) = set.steering.clone() else { return (set, Manner::Plain) };
        let probes = |probe| self.probing.spec(probe);
        // Owners add up to plain records only, so one who shares gives those that it would answer with.
        let is_shared = owner.is_some_and(|id| self.terms(id).0);
        let abilities = if is_shared { &Abilities::NONE } else { self.abilities_for(class, set.rtype) };
        let told = in_places(&set);
        if expresses(&told, &probes, abilities) {
            return (told, Manner::Native);
        }
        let alive = Alive::of(self, &set.data, &steering, &self.usable_of(owner));
        let up = told.steering.as_ref().and_then(|steering| alive.pruned(steering).0);
        let Some(up) = up else { return (set, Manner::Membership) };
        let among = restricted(told, &up);
        let can_choose = expresses(&among, &probes, abilities);
        if can_choose && is_a_choice(&up) {
            return (among, Manner::Among);
        }
        // Where only one choice is up, there is nothing to choose that the class could not.
        let is_left = can_choose && is_a_choice(&steering) && !is_ordered(&steering);
        let up = alive.pruned(&steering).0.unwrap_or(up);
        (members(set, &up), if is_left { Manner::Among } else { Manner::Membership })
    }

    /// The part of a set's steering that is up, for those who steer through record sets.
    pub(crate) fn steering_alive(&self, owner: Id, data: &[Rdata], steering: &Steering) -> Option<Steering> {
        Alive::of(self, data, steering, &self.usable_of(Some(owner))).pruned(steering).0
    }

    /// How a class steers a claim.
    pub(crate) fn manner(&self, id: Id, class: &str, claim: &Claim) -> Manner {
        self.lowered(Some(id), class, claim.set()).1
    }

    fn usable_of(&self, owner: Option<Id>) -> BTreeSet<String> {
        let key = owner.and_then(|id| self.snapshot.entry(id)).map(|entry| &entry.key);
        key.map(|key| self.snapshot.usable(key)).unwrap_or_default()
    }

    /// The data of a claim that some client gets, as texts, health considered; and whether anything is up.
    pub(crate) fn answered(&self, id: Id, claim: &Claim) -> (BTreeSet<String>, bool) {
        let Some(steering) = &claim.steering else { return (claim.data.iter().map(text).collect(), true) };
        let usable = if self.is_given_members(claim) { self.usable_of(Some(id)) } else { BTreeSet::new() };
        let (tree, is_up) = Alive::of(self, &claim.data, steering, &usable).pruned(steering);
        let members = tree.map(|tree| tree.members()).unwrap_or_default();
        let data = members.iter().filter_map(|member| claim.data.get(usize::from(member.data)));
        (data.map(text).collect(), is_up)
    }

    /// Whether a claim's provider steers by what we give it.
    fn is_given_members(&self, claim: &Claim) -> bool {
        let Some(class) = claim.scope.class() else { return false };
        let probes = |probe| self.probing.spec(probe);
        let abilities = self.abilities_for(class, claim.rtype);
        let is_provided = self.delivering.classes.contains_key(class);
        is_provided && !expresses(&in_places(&claim.set()), &probes, abilities)
    }

    /// How much of steering a class can do by itself for sets of a type: those of addresses.
    fn abilities_for(&self, class: &str, rtype: Rtype) -> &Abilities {
        let told = self.delivering.abilities.get(class);
        let told = told.filter(|_| matches!(rtype, Rtype::A | Rtype::AAAA));
        told.unwrap_or(&Abilities::NONE)
    }

    /// The objects with steered claims of a class.
    pub(crate) fn steered_by_class(&self, class: &str) -> Vec<Id> {
        let is_steered = |id: &Id| {
            let claims = self.evaluated(*id).map(|one| &one.output.claims[..]).unwrap_or_default();
            claims.iter().any(|claim| claim.steering.is_some() && claim.scope.is_class(class))
        };
        self.snapshot.entries().map(|(id, _)| id).filter(is_steered).collect()
    }

    /// Puts down what is usable of an object's steered claims, where providers are given members; gives
    /// what delivery has to know of it.
    pub(crate) fn settle_steered(&mut self, id: Id) -> Vec<Duty> {
        let claims = self.evaluated(id).map(|one| one.output.claims.clone()).unwrap_or_default();
        let steered: Vec<&Claim> = claims.iter().filter(|claim| claim.steering.is_some()).collect();
        let given: Vec<&&Claim> = steered.iter().filter(|claim| self.is_given_members(claim)).collect();
        let usable: BTreeSet<String> = given.iter().flat_map(|claim| self.answered(id, claim).0).collect();
        if let Some(key) = self.snapshot.entry(id).map(|entry| entry.key.clone()) {
            self.keep_usable(key, usable);
        }
        let terms = self.terms(id);
        let with_terms = claims.iter().filter(|claim| claim.steering.is_some() || terms != (false, None));
        let duties = with_terms.filter_map(|claim| {
            let class = claim.scope.class().filter(|class| self.delivering.classes.contains_key(*class))?;
            let lowered = self.lowered(Some(id), class, claim.set());
            Some((claim.zone.clone(), claim.name.clone(), hash(&lowered, &terms)))
        });
        let duties: Vec<(Name, Name, u64)> = duties.collect();
        duties.into_iter().map(|(zone, name, hash)| (self.zone_number(&zone), name, hash)).collect()
    }

    fn keep_usable(&mut self, key: ObjectKey, usable: BTreeSet<String>) {
        match self.snapshot.placed.get_mut(&key) {
            Some(placed) => placed.usable = usable,
            None if usable.is_empty() => {}
            None => self.snapshot.placed.entry(key).or_default().usable = usable,
        }
    }
}

fn hash((set, manner): &(RecordSet, Manner), terms: &(bool, Option<Box<str>>)) -> u64 {
    let mut hasher = FxHasher::default();
    (set_hash(set), set.rtype, manner, terms).hash(&mut hasher);
    hasher.finish()
}

/// A set as a provider is told of it that knows places: of regions it is not told where they are.
fn in_places(set: &RecordSet) -> RecordSet {
    let places = set.steering.as_deref().and_then(by_places).map(Arc::new);
    RecordSet { steering: places.or_else(|| set.steering.clone()), ..set.clone() }
}

/// What a class is given that does not steer: of aliases one.
fn membership(tree: &Steering, rtype: Rtype) -> Vec<u16> {
    let mut positions = flat(tree);
    if rtype == Rtype::CNAME {
        positions.truncate(1);
    }
    positions
}

/// Whether clients differ in what they get from a tree.
fn is_a_choice(tree: &Steering) -> bool {
    match tree {
        Steering::All(_) => false,
        Steering::Named(_, choice) => is_a_choice(choice),
        Steering::Failover(groups) => groups.len() > 1,
        Steering::Weighted { choices, .. } => choices.len() > 1,
        Steering::Closest(choices) => choices.len() > 1,
        Steering::Geo { choices, .. } => !choices.is_empty(),
    }
}

/// Whether the order of groups decides, and not who asks.
fn is_ordered(tree: &Steering) -> bool {
    match tree {
        Steering::Named(_, choice) => is_ordered(choice),
        tree => matches!(tree, Steering::Failover(_)),
    }
}

/// What stands for a tree where nobody steers.
fn members(set: RecordSet, tree: &Steering) -> RecordSet {
    let positions = membership(tree, set.rtype);
    let data = positions.iter().filter_map(|at| set.data.get(usize::from(*at)).cloned()).collect();
    RecordSet::new(set.name, set.rtype, set.ttl, data)
}

/// The set with the tree's own data and nothing else.
fn restricted(set: RecordSet, tree: &Steering) -> RecordSet {
    let mut kept: Vec<u16> = tree.members().iter().map(|member| member.data).collect();
    kept.sort_unstable();
    kept.dedup();
    let data = kept.iter().filter_map(|at| set.data.get(usize::from(*at)).cloned()).collect();
    let steering = Some(Arc::new(moved(tree, &kept)));
    RecordSet { data, steering, ..set }
}

/// The tree with positions among those that are kept.
fn moved(tree: &Steering, kept: &[u16]) -> Steering {
    let inner = |choice: &Steering| moved(choice, kept);
    match tree {
        Steering::All(members) => {
            let at = |member: &Member| kept.binary_search(&member.data).ok();
            let members = members.iter().filter_map(|one| Some(Member { data: at(one)? as u16, ..*one }));
            Steering::All(members.collect())
        }
        Steering::Weighted { sticky, choices } => Steering::Weighted {
            sticky: *sticky,
            choices: choices.iter().map(|(weight, choice)| (*weight, inner(choice))).collect(),
        },
        Steering::Geo { choices, default } => Steering::Geo {
            choices: choices.iter().map(|(geo, choice)| (*geo, inner(choice))).collect(),
            default: Box::new(inner(default)),
        },
        Steering::Failover(groups) => Steering::Failover(groups.iter().map(inner).collect()),
        Steering::Closest(choices) => {
            Steering::Closest(choices.iter().map(|(at, choice)| (*at, inner(choice))).collect())
        }
        Steering::Named(name, choice) => Steering::Named(name.clone(), Box::new(inner(choice))),
    }
}
