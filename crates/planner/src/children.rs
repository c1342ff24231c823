//! Child objects: the DNSEndpoints of routes and gateways, and the Istio Gateways.
//!
//! The plan keeps only what they are made of; a manifest is built when somebody wants to see it.

mod manifest;
mod told;

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use api::{Kind, Object, Spec};
use dns::{Rdata, Steering};
use rustc_hash::FxHasher;
use serde_json::Value;
use smallvec::SmallVec;

use crate::facts::{Index, ObjectKey};
use crate::input::{ClusterId, ObjectRef};
use crate::output::{ChildSeed, Claim, Outcome, SeedDelivery};
use crate::planner::{Evaluated, Ids, Planner};
use crate::rank::Rank;
use crate::setting::Setting;
use crate::snapshot::Id;

pub(crate) use told::ToldSet;

const MAX_LABEL_VALUE: usize = 63;
const MAX_OBJECT_NAME: usize = 253;

/// What kind of child.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChildKind {
    /// `externaldns.k8s.io/v1alpha1 DNSEndpoint`
    DNSEndpoint,
    /// `networking.istio.io/v1 Gateway`
    IstioGateway,
    /// The `kuadrant.io/v1alpha1 DNSPolicy` of a gateway that has none of a user's: made once, and the
    /// user's as soon as somebody edits it.
    DefaultPolicy,
}

impl fmt::Display for ChildKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            ChildKind::DNSEndpoint => "DNSEndpoint",
            ChildKind::IstioGateway => "Istio Gateway",
            ChildKind::DefaultPolicy => "DNSPolicy",
        })
    }
}

/// Which child object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChildRef {
    /// In which cluster.
    pub cluster: ClusterId,
    /// Of which kind.
    pub kind: ChildKind,
    /// In which namespace.
    pub namespace: Arc<str>,
    /// By which name.
    pub name: Arc<str>,
}

impl ChildRef {
    /// The hash of a DNSEndpoint's name, by which its maker is found.
    fn hash(&self) -> u64 {
        name_hash(self.cluster, &self.namespace, &self.name)
    }

    fn hash_of_endpoint(&self) -> Option<u64> {
        (self.kind == ChildKind::DNSEndpoint).then(|| self.hash())
    }
}

/// A record set as a DNSEndpoint says it.
#[derive(Clone, Debug)]
pub(crate) struct ChildSet<'a> {
    pub(crate) claim: &'a Claim,
    /// Its TTL, where that is the DNSEndpoint's to say.
    pub(crate) ttl: Option<u32>,
    pub(crate) data: &'a [Rdata],
    /// What is up of its steering, and the data that stands for it where there is no record tree.
    pub(crate) steered: Option<(Steering, Arc<[Rdata]>)>,
}

/// A child as it was last made.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) child: ChildRef,
    pub(crate) fingerprint: u64,
    /// Our own server answers what it says, whether or not the child is there.
    pub(crate) answered: bool,
}

impl Planner {
    /// All child objects, sorted.
    pub fn children(&self) -> Vec<ChildRef> {
        let mut children: Vec<_> = self.made.values().flatten().map(|made| made.child.clone()).collect();
        children.sort();
        children
    }

    /// The children of one object, each with a fingerprint of what it says.
    pub fn children_of_object(&self, cluster: ClusterId, reference: &ObjectRef) -> Vec<(ChildRef, u64)> {
        let id = self.snapshot.id(&ObjectKey::new(cluster, reference.clone()));
        let made = id.and_then(|id| self.made.get(&id)).into_iter().flatten();
        made.map(|made| (made.child.clone(), made.fingerprint)).collect()
    }

    /// The manifest of a child object.
    pub fn child(&self, child: &ChildRef) -> Option<Value> {
        let maker = self.maker_of(child)?;
        match child.kind {
            ChildKind::IstioGateway => self.istio_gateway(maker, child),
            ChildKind::DNSEndpoint => self.dns_endpoint(maker, child),
            ChildKind::DefaultPolicy => self.default_policy(maker, child),
        }
    }

    /// The object that a child is made for.
    pub(crate) fn maker_of(&self, child: &ChildRef) -> Option<Id> {
        let makes =
            |id: &Id| self.made.get(id).is_some_and(|made| made.iter().any(|one| one.child == *child));
        if child.kind == ChildKind::IstioGateway {
            return self.snapshot.id(&gateway_of(child)).filter(makes);
        }
        if child.kind == ChildKind::DefaultPolicy {
            let index = Index::ListenerGateways(child.cluster, child.namespace.clone());
            return self.snapshot.indexed(&index).map(|(_, id)| id).find(makes);
        }
        let key = child.hash();
        let wanting = self.child_names.get(&key).into_iter().flatten().map(|(id, _)| *id);
        wanting.chain(self.renamed.get(&key).into_iter().flatten().copied()).find(makes)
    }

    /// Keeps the table of those children whose name is not the one that their maker wants.
    pub(crate) fn move_renamed(&mut self, id: Id, before: &[Made], now: &[Made]) {
        for key in before.iter().filter_map(|made| made.child.hash_of_endpoint()) {
            if let Some(makers) = self.renamed.get_mut(&key) {
                makers.retain(|maker| *maker != id);
                if makers.is_empty() {
                    self.renamed.remove(&key);
                }
            }
        }
        for key in now.iter().filter_map(|made| made.child.hash_of_endpoint()) {
            let wanting = self.child_names.get(&key).map(|owners| &owners[..]).unwrap_or_default();
            if !wanting.iter().any(|(owner, _)| *owner == id) {
                self.renamed.entry(key).or_default().push(id);
            }
        }
    }

    /// The children that an object has now.
    pub(crate) fn children_of(&self, id: Id) -> SmallVec<[Made; 1]> {
        let mut children = SmallVec::new();
        let Some(entry) = self.snapshot.entry(id) else { return children };
        let (Some(object), Some(evaluated)) = (&entry.object, self.evaluated(id)) else { return children };
        let namespace = &object.meta.namespace;
        let child =
            |kind, name| ChildRef { cluster: entry.key.cluster, kind, namespace: namespace.clone(), name };
        for (number, seed) in evaluated.output.children.iter().enumerate() {
            let sets = self.child_sets(id, evaluated, seed);
            if !sets.is_empty() {
                let name = self.child_name(id, object, evaluated, number);
                let fingerprint = fingerprint_of_endpoint(object, evaluated, seed, &sets);
                let child = child(ChildKind::DNSEndpoint, name);
                children.push(Made {
                    child,
                    fingerprint,
                    answered: seed.delivery != SeedDelivery::Controller,
                });
            }
        }
        if self.wants_default_policy(&evaluated.output.outcome) {
            let name = shorten(format!("{}-default", object.meta.name), MAX_OBJECT_NAME);
            let child = child(ChildKind::DefaultPolicy, name.into());
            children.push(Made { child, fingerprint: 0, answered: true });
        }
        if let (Spec::Gateway(spec), Some(hosts)) = (&object.spec, self.hosts.get(&entry.key)) {
            let mut hasher = FxHasher::default();
            (hosts.fingerprint(), &spec.controller, &spec.credential_name, &object.meta.uid)
                .hash(&mut hasher);
            let made = child(ChildKind::IstioGateway, object.meta.name.clone());
            children.push(Made { child: made, fingerprint: hasher.finish(), answered: false });
        }
        children
    }

    /// Whether a gateway is to have a default policy: where objects are made, and a name is ours to answer.
    fn wants_default_policy(&self, outcome: &Outcome) -> bool {
        match outcome {
            Outcome::Listeners(outcome) => {
                self.setting == Setting::Operator && outcome.wants_default && !outcome.managed.is_empty()
            }
            _ => false,
        }
    }

    /// What a child is to say: the claims of its maker that stand; where its maker's class is an
    /// ExternalDNS, the whole record sets, which the oldest of those has that they are made of.
    pub(crate) fn child_sets<'a>(
        &'a self,
        id: Id,
        evaluated: &'a Evaluated,
        seed: &ChildSeed,
    ) -> Vec<ChildSet<'a>> {
        let claims = self.standing_claims(id, evaluated, seed).into_iter();
        if !seed.is_of_class() {
            return claims
                .map(|claim| ChildSet { claim, ttl: None, data: &claim.data, steered: None })
                .collect();
        }
        claims.filter_map(|claim| self.whole_set(id, claim)).collect()
    }

    fn whole_set<'a>(&'a self, id: Id, claim: &'a Claim) -> Option<ChildSet<'a>> {
        let number = *self.zone_numbers.get(&claim.zone)?;
        let node = self.zones[number as usize].nodes.get(&claim.name)?;
        let set = node.sets.iter().find(|set| set.scope == claim.scope && set.rtype == claim.rtype)?;
        let owner = self.set_owner(number, node, claim.scope.class()?, claim.rtype);
        if owner != Some(id) {
            return None;
        }
        let steering = set.steering.as_deref().and_then(|tree| self.steering_alive(id, &set.data, tree));
        let members =
            || self.lowered(Some(id), claim.scope.class().unwrap_or(""), set.named(&claim.name)).0.data;
        let steered = steering.map(|steering| (steering, members()));
        Some(ChildSet { claim, ttl: Some(set.ttl), data: &set.data, steered })
    }

    /// The claims of a child that stand, which is what it may publish.
    pub(crate) fn standing_claims<'a>(
        &self,
        id: Id,
        evaluated: &'a Evaluated,
        seed: &ChildSeed,
    ) -> Vec<&'a Claim> {
        if self.turned_away.contains(&id) {
            return Vec::new();
        }
        let lost = self.losses.get(&id).map(|lost| &lost[..]).unwrap_or_default();
        let stands = |number: &usize| !lost.iter().any(|one| usize::from(one.claim) == *number);
        seed.claims().filter(stands).filter_map(|number| evaluated.output.claims.get(number)).collect()
    }

    /// Keeps the table of who wants which child name.
    pub(crate) fn move_child_names(&mut self, id: Id, before: Option<&Evaluated>, again: &mut Ids) {
        let now = self.evaluated.get(id.0 as usize).and_then(Option::as_deref);
        let (old, new) = (wanted_names(before), wanted_names(now));
        let rank = |one: Option<&Evaluated>| one.map(|one| one.rank.clone());
        // Of several that want one name the oldest gets it, so another age counts like another name.
        if old == new && (new.is_empty() || rank(before) == rank(now)) {
            return;
        }
        for (_, key) in old {
            if let Some(owners) = self.child_names.get_mut(&key) {
                owners.retain(|(owner, _)| *owner != id);
                again.extend(owners.iter().map(|(owner, _)| *owner));
                if owners.is_empty() {
                    self.child_names.remove(&key);
                }
            }
        }
        for (number, key) in new {
            let owners = self.child_names.entry(key).or_default();
            again.extend(owners.iter().map(|(owner, _)| *owner));
            owners.push((id, number));
        }
    }

    /// The name of a child: as the document has it; where two would be the same, the younger's
    /// gets a hash.
    pub(crate) fn child_name(
        &self,
        id: Id,
        object: &Object,
        evaluated: &Evaluated,
        number: usize,
    ) -> Arc<str> {
        let seed = &evaluated.output.children[number];
        let base = seed_name(&object.meta.name, seed);
        let key = name_hash(evaluated.rank.cluster, &object.meta.namespace, &base);
        let owners = self.child_names.get(&key).map(|owners| &owners[..]).unwrap_or_default();
        let order = |(owner, number): &(Id, u16)| (self.name_rank(*owner), *number);
        let first = owners.iter().min_by_key(|owner| order(owner));
        match first {
            Some((owner, at)) if (*owner, usize::from(*at)) != (id, number) => {
                let suffix = stable_hash(&format!(
                    "{}/{}/{}",
                    object.kind().kind(),
                    object.meta.name,
                    seed.controller
                ));
                shorten(format!("{base}-{suffix}"), MAX_OBJECT_NAME).into()
            }
            _ => base.into(),
        }
    }

    /// A DNSEndpoint that somebody wrote keeps its name before all of ours.
    fn name_rank(&self, id: Id) -> (bool, Option<&Rank>) {
        let evaluated = self.evaluated(id);
        let written = evaluated.is_some_and(|one| matches!(one.output.outcome, Outcome::Endpoint(_)));
        (!written, evaluated.map(|one| &one.rank))
    }
}

/// The Gateway that an Istio Gateway is made for: it has the same name.
fn gateway_of(child: &ChildRef) -> ObjectKey {
    let (namespace, name) = (child.namespace.clone(), child.name.clone());
    ObjectKey::new(child.cluster, ObjectRef { kind: Kind::Gateway, namespace, name })
}

/// The hash of a child's name within its namespace.
///
/// Two names with one hash would only give the younger a suffix that it does not need.
fn name_hash(cluster: ClusterId, namespace: &str, name: &str) -> u64 {
    let mut hasher = FxHasher::default();
    (cluster, namespace, name).hash(&mut hasher);
    hasher.finish()
}

/// The child names that an object wants, by the number of the seed.
fn wanted_names(evaluated: Option<&Evaluated>) -> Vec<(u16, u64)> {
    let Some(Evaluated { rank, output }) = evaluated else { return Vec::new() };
    let key = |name: &str| name_hash(rank.cluster, &rank.namespace, name);
    match &output.outcome {
        Outcome::Endpoint(outcome) if !outcome.ours => vec![(u16::MAX, key(&rank.name))],
        _ => {
            let seeds = output.children.iter().enumerate();
            seeds.map(|(number, seed)| (number as u16, key(&seed_name(&rank.name, seed)))).collect()
        }
    }
}

/// The document's names: `<route>-<controller>` and `gateway-controller-<controller>-<postfix>-<dns>`.
fn seed_name(owner: &str, seed: &ChildSeed) -> String {
    let name = match &seed.gateway {
        Some(gateway) => format!("gateway-controller-{gateway}-{}", seed.controller),
        None => format!("{owner}-{}", seed.controller),
    };
    shorten(name, MAX_OBJECT_NAME)
}

fn fingerprint_of_endpoint(
    object: &Object,
    evaluated: &Evaluated,
    seed: &ChildSeed,
    sets: &[ChildSet<'_>],
) -> u64 {
    let mut hasher = FxHasher::default();
    for ChildSet { claim, ttl, data, steered } in sets {
        // A record tree at a zone's own name has another form.
        let is_apex = claim.zone == claim.name;
        (&claim.name, is_apex, claim.rtype, data, ttl, steered).hash(&mut hasher);
    }
    if let Outcome::DnsRecord(outcome) = &evaluated.output.outcome {
        outcome.properties.hash(&mut hasher);
    }
    (&seed.controller, &seed.region, &object.meta.uid).hash(&mut hasher);
    if let Outcome::Gateway(outcome) = &evaluated.output.outcome {
        outcome.owners.hash(&mut hasher);
    }
    hasher.finish()
}

/// A label value: at most 63 characters, shortened with a stable hash.
pub(crate) fn label_value(text: &str) -> String {
    shorten(text.to_owned(), MAX_LABEL_VALUE)
}

fn shorten(text: String, most: usize) -> String {
    if text.len() <= most {
        return text;
    }
    let hash = stable_hash(&text);
    let cut = (0..=most - hash.len() - 1).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let kept = text[..cut].trim_end_matches(['-', '.', '_']);
    format!("{kept}-{hash}")
}

/// Eight hexadecimal digits that say the same in every process and version (FNV-1a).
pub(crate) fn stable_hash(text: &str) -> String {
    let fold = |sum: u64, octet: u8| (sum ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, fold);
    format!("{:08x}", (hash ^ (hash >> 32)) as u32)
}
