//! Why a name answers as it does: the objects behind it, those that want it and did not get it, those that
//! would make it answer if something else existed, and who delivers it. All of it is data; `explain` prints it.

mod delivery;
mod listeners;
mod objects;
mod placement;
mod router;
mod similar;
mod versions;
mod way;

use std::collections::{BTreeMap, BTreeSet};

use api::{Object, Spec};
use dns::{Name, Rtype};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::input::ClusterId;
use crate::note::Note;
use crate::output::{Claim, Outcome};
use crate::place::Scope;
use crate::planner::{LostClaim, Planner};
use crate::snapshot::{Entry, Id};
use crate::zone_table::{Source, Standing};

use api::router::ServiceRouteSpec;

use crate::front::gateway::GatewayState;

pub use delivery::{
    BackendKind, BackendName, DeliveredSet, Delivery, DeliveryState, Destination, Seen, deciding_names,
};
pub use objects::{Location, ObjectName};
pub use versions::NotInForce;
pub use way::{RegionHealth, WayStep};

/// The story of a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Story {
    /// The name.
    #[schemars(with = "String")]
    pub name: Name,
    /// The zone that the name is in, and where the zone comes from; none where no zone holds the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<ZoneStory>,
    /// The objects that the name is answered for.
    pub makers: Vec<Actor>,
    /// The objects that want the name and lost it to another.
    pub losers: Vec<Actor>,
    /// The objects that would have the name if something else existed: what to change.
    pub missing: Vec<Actor>,
    /// The objects behind the name whose newest version is not in force: the version before is still served.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_in_force: Vec<NotInForce>,
    /// Who else than our own server is given records of the name, and what came of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deliveries: Vec<Delivery>,
    /// Known names that differ from this one by a few letters, where nothing declares this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub similar: Vec<Name>,
    /// The record types that the name has, whichever were asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub types: Vec<Rtype>,
}

/// The zone of a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ZoneStory {
    /// Its origin.
    #[schemars(with = "String")]
    pub origin: Name,
    /// Where it comes from, in words.
    pub source: String,
    /// The Zone or zone file that declares it; none where objects in it imply it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declared_by: Option<ObjectName>,
    /// Whether the name comes from the zone file itself.
    pub in_file: bool,
}

/// An object's part in the story.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Actor {
    /// The object.
    #[serde(flatten)]
    pub object: ObjectName,
    /// The records that it asks for at the name.
    pub records: Vec<ActorRecord>,
    /// The way from the object to the name, step by step.
    pub way: Vec<WayStep>,
    /// Its status in one word.
    pub reason: String,
    /// Its status in a sentence.
    pub message: String,
}

/// A record set that an object asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ActorRecord {
    /// Its type.
    #[serde(rename = "type")]
    #[schemars(with = "String")]
    pub rtype: Rtype,
    /// Its TTL in seconds.
    pub ttl: u32,
    /// Its data.
    pub data: Vec<String>,
    /// The region or class that it is for; none where it is for all views.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The object that has it instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost_to: Option<ObjectName>,
}

impl Story {
    /// Whether any object or zone file declares the name.
    pub fn is_declared(&self) -> bool {
        let actors = [&self.makers, &self.losers, &self.missing];
        let in_file = self.zone.as_ref().is_some_and(|zone| zone.in_file || zone.origin == self.name);
        in_file || actors.iter().any(|actors| !actors.is_empty())
    }

    /// Every object in the story, to say where it is declared.
    pub fn objects_mut(&mut self) -> Vec<&mut ObjectName> {
        let Story { zone, makers, losers, missing, not_in_force, deliveries, .. } = self;
        let actors = makers.iter_mut().chain(losers).chain(missing);
        let mut all: Vec<&mut ObjectName> = actors.flat_map(Actor::objects_mut).collect();
        all.extend(zone.iter_mut().filter_map(|zone| zone.declared_by.as_mut()));
        all.extend(not_in_force.iter_mut().map(|one| &mut one.object));
        all.extend(deliveries.iter_mut().filter_map(|one| one.class.as_mut()));
        all
    }
}

impl Actor {
    fn objects_mut(&mut self) -> impl Iterator<Item = &mut ObjectName> {
        let holders = self.records.iter_mut().filter_map(|record| record.lost_to.as_mut());
        let way = self.way.iter_mut().filter_map(WayStep::object_mut);
        std::iter::once(&mut self.object).chain(holders).chain(way)
    }
}

impl Planner {
    /// Tells the story of a name.
    pub fn explain(&self, name: &Name) -> Story {
        self.explain_types(name, None)
    }

    /// Tells the story of a name as far as it is about some record types.
    pub fn explain_types(&self, name: &Name, types: Option<&[Rtype]>) -> Story {
        Telling { planner: self, name, types }.story()
    }

    pub(super) fn route_host(&self, cluster: ClusterId, spec: &ServiceRouteSpec) -> Option<Name> {
        let identity = self.snapshot.identity(cluster)?;
        identity.route_host(&spec.service_name, &spec.environment, &spec.application).ok()
    }
}

/// What a story is about.
struct Telling<'a> {
    planner: &'a Planner,
    name: &'a Name,
    types: Option<&'a [Rtype]>,
}

/// What an object is to a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The name is answered for it.
    Makes,
    /// It claims the name and does not have it.
    Lost,
    /// It would claim the name if something else existed.
    Wants,
}

impl Telling<'_> {
    fn story(&self) -> Story {
        let mut story = Story {
            name: self.name.clone(),
            zone: self.zone_story(),
            makers: Vec::new(),
            losers: Vec::new(),
            missing: Vec::new(),
            not_in_force: Vec::new(),
            deliveries: Vec::new(),
            similar: Vec::new(),
            types: self.types_at_name(),
        };
        let (mut actors, mut makers) = (BTreeMap::new(), BTreeSet::new());
        for (id, entry) in self.planner.snapshot.entries() {
            let Some(part) = self.tell(id, entry, &mut story) else { continue };
            actors.insert(id, part != Part::Wants);
            makers.extend((part == Part::Makes).then_some(id));
        }
        story.not_in_force = self.planner.not_in_force(&story, &actors);
        story.deliveries = self.deliveries(&makers);
        for actors in [&mut story.makers, &mut story.losers, &mut story.missing] {
            actors.sort_by(|one, other| one.object.cmp(&other.object));
        }
        if !story.is_declared() && story.types.is_empty() {
            story.similar = self.planner.similar(self.name);
        }
        story
    }

    /// Adds an object's part, where it has one.
    /// Adds an object that is about the name to the story.
    fn tell(&self, id: Id, entry: &Entry, story: &mut Story) -> Option<Part> {
        let planner = self.planner;
        let evaluated = planner.evaluated(id)?;
        let claims = self.claims_on_name(&evaluated.output.claims);
        let lost = |number: &usize| planner.lost(id).iter().any(|one| usize::from(one.claim) == *number);
        let is_kept = |number: &usize| !lost(number) && !planner.turned_away.contains(&id);
        if claims.is_empty() {
            let is_wanted = self.wants(entry, &evaluated.output.outcome) || self.waits_for(entry);
            return is_wanted.then(|| {
                story.missing.push(self.actor(id, entry, &claims));
                Part::Wants
            });
        }
        if claims.iter().any(is_kept) {
            story.makers.push(self.actor(id, entry, &claims));
            return Some(Part::Makes);
        }
        story.losers.push(self.loser(id, entry, &claims));
        Some(Part::Lost)
    }

    fn zone_story(&self) -> Option<ZoneStory> {
        let planner = self.planner;
        let holder = self.name.suffix_keys().find_map(|key| planner.table.holder_by_key(key))?;
        let zone = planner.zone(&holder.zone.origin)?;
        let in_file = zone
            .base
            .as_ref()
            .is_some_and(|base| base.sets_at(self.name.key()).iter().any(|set| self.is_asked_for(set.rtype)));
        let declared_by = match &holder.zone.source {
            Source::Object(id) => planner.snapshot.entry(*id).map(|entry| planner.object_name(&entry.key)),
            Source::File(cluster, path) => Some(planner.zone_file_name(*cluster, path)),
            Source::Identity(_) | Source::Domain(_) => None,
        };
        Some(ZoneStory { origin: zone.origin, source: zone.source, declared_by, in_file })
    }

    /// The types that the name has in any view or class.
    fn types_at_name(&self) -> Vec<Rtype> {
        let planner = self.planner;
        let Some(holder) = self.name.suffix_keys().find_map(|key| planner.table.holder_by_key(key)) else {
            return Vec::new();
        };
        let own = planner.sets(&holder.zone.origin, self.name).into_iter().map(|(_, set)| set.rtype);
        let base = holder.base.iter().flat_map(|base| base.sets_at(self.name.key()));
        let types: BTreeSet<Rtype> = own.chain(base.map(|set| set.rtype)).collect();
        types.into_iter().filter(|rtype| *rtype != Rtype::SOA).collect()
    }

    /// Whether records of a type belong to what was asked for.
    fn is_asked_for(&self, rtype: Rtype) -> bool {
        self.types.is_none_or(|types| types.contains(&rtype))
    }

    /// Whether what was asked for has records that say which addresses a name has.
    fn asks_for_addresses(&self) -> bool {
        [Rtype::A, Rtype::AAAA].into_iter().any(|rtype| self.is_asked_for(rtype))
    }

    /// Which claims are on the name.
    fn claims_on_name(&self, claims: &[Claim]) -> Vec<usize> {
        let is_on = |claim: &Claim| {
            claim.name == *self.name && !claim.is_reservation() && self.is_asked_for(claim.rtype)
        };
        claims.iter().enumerate().filter(|(_, claim)| is_on(claim)).map(|(number, _)| number).collect()
    }

    /// Whether an object that claims nothing is nevertheless about the name.
    fn wants(&self, entry: &Entry, outcome: &Outcome) -> bool {
        let Some(object) = &entry.object else { return false };
        let name = self.name;
        match (&object.spec, outcome) {
            (Spec::ServiceRoute(spec), _) => {
                self.planner.route_host(entry.key.cluster, spec).as_ref() == Some(name)
            }
            (Spec::Gateway(_), Outcome::Gateway(outcome)) => {
                let is_named = match &outcome.state {
                    GatewayState::NoAddress { host }
                    | GatewayState::Conflict { host, .. }
                    | GatewayState::ForeignName { host, .. } => host == name,
                    GatewayState::Ready { host } => host == name && outcome.owners.is_empty(),
                    GatewayState::NoIdentity | GatewayState::BadHost(_) => false,
                };
                is_named && self.asks_for_addresses()
            }
            (Spec::Record(spec), Outcome::Record(outcome)) => {
                outcome.fqdn.as_ref() == Some(name) && self.is_asked_for_text(&spec.r#type)
            }
            (Spec::DNSRecord(spec), Outcome::DnsRecord(outcome)) => {
                outcome.fqdn.as_ref() == Some(name) && self.is_asked_for(spec.r#type.rtype())
            }
            (Spec::Placement(_), Outcome::Placement(outcome)) => {
                outcome.name.as_ref() == Some(name) && self.asks_for_addresses()
            }
            (Spec::ListenerGateway(_), Outcome::Listeners(outcome)) => {
                outcome.managed.iter().any(|(host, _)| host == name) && self.asks_for_addresses()
            }
            (Spec::Zone(_), Outcome::Zone(outcome)) => {
                let is_served = matches!(outcome.standing, Standing::At(_)) && outcome.conflict.is_none();
                !is_served && outcome.standing.origin() == Some(name)
            }
            (Spec::DNSEndpoint(spec), Outcome::Endpoint(outcome)) if !outcome.ours => {
                spec.endpoints.iter().any(|endpoint| {
                    Name::parse(&endpoint.dns_name).as_ref() == Ok(name)
                        && self.is_asked_for_text(&endpoint.record_type)
                })
            }
            _ => false,
        }
    }

    /// Whether records of a type that an object names by a text belong to what was asked for.
    fn is_asked_for_text(&self, rtype: &str) -> bool {
        rtype.parse().is_ok_and(|rtype| self.is_asked_for(rtype)) || self.types.is_none()
    }

    /// Whether the newest version of an object is about the name and waits for a target.
    fn waits_for(&self, entry: &Entry) -> bool {
        let named = match entry.waiting.as_ref().map(|waiting| &waiting.version.spec) {
            Some(Spec::ServiceRoute(spec)) => self.planner.route_host(entry.key.cluster, spec),
            Some(Spec::DNSRecord(spec)) if self.is_asked_for(spec.r#type.rtype()) => spec.name().ok(),
            Some(Spec::Placement(spec)) if self.asks_for_addresses() => Name::parse(&spec.hostname).ok(),
            _ => None,
        };
        named.as_ref() == Some(self.name)
    }

    fn actor(&self, id: Id, entry: &Entry, claims: &[usize]) -> Actor {
        let planner = self.planner;
        let notes = planner.notes_of(planner.policy_of_gateway(id).unwrap_or(id));
        let ready = notes.iter().find(|note| note.condition == "Ready");
        let part = |text: fn(&Note) -> String| ready.map(text).unwrap_or_default();
        let way = |object: &std::sync::Arc<Object>| planner.way(entry, object);
        Actor {
            object: planner.object_name(&entry.key),
            records: self.records(id, claims),
            way: entry.object.as_ref().map(way).unwrap_or_default(),
            reason: part(|note| note.reason.to_owned()),
            message: part(|note| note.message.clone()),
        }
    }

    /// An object that lost the name: its status is to whom, whatever else is wrong with it.
    fn loser(&self, id: Id, entry: &Entry, claims: &[usize]) -> Actor {
        let actor = self.actor(id, entry, claims);
        match self.planner.conflict(id) {
            Some(message) => Actor { reason: "NameConflict".to_owned(), message, ..actor },
            None => actor,
        }
    }

    fn records(&self, id: Id, claims: &[usize]) -> Vec<ActorRecord> {
        let Some(evaluated) = self.planner.evaluated(id) else { return Vec::new() };
        let record = |number: &usize| {
            let claim = evaluated.output.claims.get(*number)?;
            let is_this = |lost: &&LostClaim| usize::from(lost.claim) == *number;
            let lost = self.planner.lost(id).iter().find(is_this);
            Some(ActorRecord {
                rtype: claim.rtype,
                ttl: claim.ttl,
                data: claim.data.iter().map(ToString::to_string).collect(),
                place: match &claim.scope {
                    Scope::Everywhere => None,
                    Scope::At(place) => Some(place.name().to_string()),
                },
                lost_to: lost.map(|lost| self.planner.claimant(&lost.holder)),
            })
        };
        claims.iter().filter_map(record).collect()
    }
}

/// An object as messages name it.
fn object_text(entry: &Entry) -> String {
    match &*entry.key.reference.namespace {
        "" => entry.key.reference.name.to_string(),
        namespace => format!("{namespace}/{}", entry.key.reference.name),
    }
}
