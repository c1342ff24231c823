//! Who else than our own server is given records of a name, and what was read back of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use api::dnsclass::{Backend, DNSClassSpec};
use api::{Kind, Spec};
use dns::{Name, RecordSet, Rtype, without_passwords};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Telling;
use super::objects::ObjectName;
use crate::delivery::{Sight, Told, WantedSet, set_hash};
use crate::input::ClusterId;
use crate::note::{ConditionStatus, Note};
use crate::output::{ChildSeed, SeedDelivery};
use crate::place::{Place, Scope};
use crate::planner::{Evaluated, Planner};
use crate::query::ZoneInfo;
use crate::snapshot::Id;

/// How many names are looked at to find one that makes a name above it exist.
const MOST_LOOKED_AT: usize = 10_000;

/// What delivers records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum BackendKind {
    /// A server of the webhook protocol.
    Webhook,
    /// PowerDNS, by its HTTP API.
    Powerdns,
    /// A DNS server, by dynamic updates (RFC 2136).
    Rfc2136,
    /// A provider of ExternalDNS, by its webhook protocol.
    #[serde(rename = "externalDNSWebhook")]
    ExternalDnsWebhook,
    /// An ExternalDNS, by DNSEndpoint objects.
    #[serde(rename = "externalDNS")]
    ExternalDns,
    /// Zone files in a folder.
    ZoneFile,
    /// Our own server.
    Embedded,
}

/// What delivers records, and where to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BackendName {
    /// What it is.
    pub kind: BackendKind,
    /// Its URL, address or folder, or the controller of an ExternalDNS. It holds no password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// Records of a name that are delivered to somebody else's DNS server.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Delivery {
    /// The DNSClass; none for a controller of the DNSConfiguration without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<ObjectName>,
    /// What delivers them, and where to.
    pub backend: BackendName,
    /// The DNSEndpoint that an ExternalDNS reads, as `namespace/name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub endpoint: Option<String>,
    /// The records.
    pub sets: Vec<DeliveredSet>,
}

/// A record set that is delivered.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeliveredSet {
    /// Its type.
    #[serde(rename = "type")]
    #[schemars(with = "String")]
    pub rtype: Rtype,
    /// Its TTL in seconds; none where what is there stays as it is for now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u32>,
    /// Its data; empty where what is there stays as it is for now.
    pub data: Vec<String>,
    /// Whether clients get a part of the data, as the provider chooses.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub steered: bool,
    /// What was read back.
    #[serde(flatten)]
    pub state: DeliveryState,
    /// What the zone's servers answer, where they were asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen: Option<Seen>,
}

/// What was read back of a record set.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "state", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum DeliveryState {
    /// Nothing: files do not say what is at the provider.
    Unknown,
    /// Another version, or none, was read back so far.
    Pending,
    /// It was handed over; nothing was read back.
    HandedOver,
    /// It was read back as it is here.
    Published,
    /// It could not be delivered.
    Failed {
        /// Why, in one word.
        reason: String,
        /// Why, in a sentence.
        message: String,
    },
    /// Another owner's record is there.
    Foreign {
        /// The owner ID, where an ownership record names it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<String>,
    },
}

impl DeliveryState {
    /// Whether it is known that the record set is not there.
    pub fn is_refused(&self) -> bool {
        matches!(self, DeliveryState::Failed { .. } | DeliveryState::Foreign { .. })
    }
}

/// What the servers that a zone is delegated to answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "answer", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Seen {
    /// All of them have the record set.
    Visible,
    /// One of them does not have it.
    NotVisible {
        /// That server.
        server: String,
    },
    /// The zone is delegated to no server.
    NotDelegated,
    /// The zone is delegated to other servers than the provider's.
    DelegatedElsewhere,
    /// No server answered.
    NoAnswer,
}

/// Somebody else's DNS server that holds records of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The region or class.
    pub place: Place,
    /// What delivers there.
    pub backend: BackendName,
}

/// What a class delivers to. Nothing of its secrets is in it.
pub(super) fn backend_name(spec: &DNSClassSpec) -> Option<BackendName> {
    let (kind, target) = match spec.backend()? {
        Backend::Webhook(url) => (BackendKind::Webhook, Some(url.to_owned())),
        Backend::Powerdns(powerdns) => (BackendKind::Powerdns, Some(powerdns.url.clone())),
        Backend::Rfc2136(server) => (BackendKind::Rfc2136, Some(server.server.clone())),
        Backend::ExternalDNSWebhook(webhook) => (BackendKind::ExternalDnsWebhook, Some(webhook.url.clone())),
        Backend::ExternalDNS(external) => (BackendKind::ExternalDns, Some(external.controller.clone())),
        Backend::ZoneFile(file) => (BackendKind::ZoneFile, Some(file.directory.clone())),
        Backend::Embedded(_) => (BackendKind::Embedded, None),
    };
    Some(BackendName { kind, target: target.map(|target| without_passwords(&target).into_owned()) })
}

impl Planner {
    /// Where else than in the views records of a name are delivered: of the name itself, and of the wildcards and
    /// delegations that decide about it.
    pub fn destinations(&self, name: &Name) -> Vec<Destination> {
        let Some(holder) = name.suffix_keys().find_map(|key| self.table.holder_by_key(key)) else {
            return Vec::new();
        };
        let origin = &holder.zone.origin;
        let mut places: BTreeSet<Place> = BTreeSet::new();
        for owner in deciding_names(name, origin) {
            let scopes = self.sets(origin, &owner).into_iter().map(|(scope, _)| scope);
            places.extend(scopes.filter_map(|scope| match scope {
                Scope::At(place) => Some(place),
                Scope::Everywhere => None,
            }));
        }
        let is_view = |place: &Place| self.views.places.contains(place);
        let served = |place: &Place| self.views.shown.iter().any(|view| view.place.as_ref() == Some(place));
        let elsewhere = places.into_iter().filter(|place| !is_view(place) && !served(place));
        elsewhere.filter_map(|place| Some(Destination { backend: self.backend_of(&place)?, place })).collect()
    }

    /// A place that is delivered elsewhere than to our own server, where it is one.
    pub fn destination(&self, place: Place) -> Option<Destination> {
        let is_region = matches!(place, Place::Region(_));
        Some(Destination { backend: self.backend_of(&place)?, place }).filter(|_| !is_region)
    }

    fn backend_of(&self, place: &Place) -> Option<BackendName> {
        match place {
            Place::Class(class) => match &self.class_object(class)?.spec {
                Spec::DNSClass(spec) => backend_name(spec).filter(|one| one.kind != BackendKind::Embedded),
                _ => None,
            },
            Place::Region(_) => {
                let clusters = (0..self.clusters.len() as u16).map(ClusterId);
                let controllers = clusters.filter_map(|cluster| self.snapshot.controllers(cluster));
                let here = controllers.flat_map(|all| all.iter()).filter(|one| one.place == *place);
                let names: BTreeSet<String> = here.map(|one| one.name.to_string()).collect();
                let target = names.into_iter().collect::<Vec<_>>().join(", ");
                Some(BackendName { kind: BackendKind::ExternalDns, target: Some(target) })
            }
        }
    }

    /// The record sets of a name that are delivered to a place, as they are given to the provider.
    pub fn delivered_sets(&self, place: &Place, zone: &Name, name: &Name) -> Vec<RecordSet> {
        let is_provider = |class: &str| self.delivering.classes.contains_key(class);
        match place {
            Place::Class(class) if is_provider(class) => {
                self.wanted(class, zone, name).into_iter().filter_map(|wanted| wanted.set).collect()
            }
            _ => {
                let here = Scope::At(place.clone());
                let sets = self.sets(zone, name).into_iter();
                sets.filter(|(scope, _)| *scope == here).map(|(_, set)| set).collect()
            }
        }
    }

    /// The first name below a name that has records at a place: it makes the name exist.
    pub fn first_name_below(&self, place: &Place, zone: &Name, name: &Name) -> Option<Name> {
        let here = Scope::At(place.clone());
        let below = self.zone_state(zone)?.nodes.range(name.clone()..);
        let below = below.take_while(|(known, _)| known.is_in(name)).filter(|(known, _)| *known != name);
        below
            .take(MOST_LOOKED_AT)
            .find(|(_, node)| node.sets.iter().any(|set| set.scope == here))
            .map(|(known, _)| known.clone())
    }

    /// The zone that holds a name: the longest that it is in.
    pub fn zone_around(&self, name: &Name) -> Option<ZoneInfo> {
        let holder = name.suffix_keys().find_map(|key| self.table.holder_by_key(key))?;
        self.zone(&holder.zone.origin)
    }
}

/// The names whose records decide how a name of a zone is answered: itself, its wildcards, and what is above it.
pub fn deciding_names<'a>(name: &'a Name, origin: &'a Name) -> impl Iterator<Item = Name> + 'a {
    let above = name.suffixes().take_while(move |suffix| suffix.is_in(origin));
    above.flat_map(move |suffix| {
        let wildcard = (suffix != *name).then(|| suffix.child(b"*").ok()).flatten();
        std::iter::once(suffix).chain(wildcard)
    })
}

impl Telling<'_> {
    /// Who else than our own server is given records of the name.
    pub(super) fn deliveries(&self, makers: &BTreeSet<Id>) -> Vec<Delivery> {
        let mut all = self.provider_deliveries(makers);
        all.extend(makers.iter().flat_map(|id| self.endpoints(*id)));
        all.sort();
        all
    }

    fn provider_deliveries(&self, makers: &BTreeSet<Id>) -> Vec<Delivery> {
        let planner = self.planner;
        let Some(holder) = self.name.suffix_keys().find_map(|key| planner.table.holder_by_key(key)) else {
            return Vec::new();
        };
        let origin = &holder.zone.origin;
        let mut all = Vec::new();
        for (class, object) in &planner.delivering.classes {
            let wanted = planner.wanted(class, origin, self.name);
            let wanted = wanted.into_iter().filter(|set| self.is_asked_for(set.rtype));
            let sets: Vec<DeliveredSet> =
                wanted.map(|set| self.provider_set(class, origin, set, makers)).collect();
            let Spec::DNSClass(spec) = &object.spec else { continue };
            if let (Some(backend), false) = (backend_name(spec), sets.is_empty()) {
                let id = planner.ids_of_class(class).next().and_then(|id| planner.snapshot.entry(id));
                let class = id.map(|entry| planner.object_name(&entry.key));
                all.push(Delivery { class, backend, endpoint: None, sets });
            }
        }
        all
    }

    fn provider_set(
        &self,
        class: &Arc<str>,
        origin: &Name,
        wanted: WantedSet,
        makers: &BTreeSet<Id>,
    ) -> DeliveredSet {
        let planner = self.planner;
        let key = planner.zone_numbers.get(origin).map(|zone| (*zone, self.name.clone(), wanted.rtype));
        let told = key.as_ref().and_then(|key| planner.delivering.told.get(class, key));
        let hash = wanted.set.as_ref().map(set_hash);
        let state = match told {
            Some(Told::Stands(stands)) if Some(*stands) == hash => DeliveryState::Published,
            Some(Told::Stands(_) | Told::Outdated) => DeliveryState::Pending,
            Some(Told::Failed(trouble)) => DeliveryState::Failed {
                reason: trouble.reason.to_string(),
                message: trouble.message.to_string(),
            },
            Some(Told::Foreign { owner, .. }) => {
                DeliveryState::Foreign { owner: owner.as_ref().map(ToString::to_string) }
            }
            None => self.reported(makers, wanted.rtype, class).unwrap_or(DeliveryState::Unknown),
        };
        let seen = key.and_then(|key| planner.delivering.told.looked_up(class, &key).cloned());
        let seen = seen.filter(|(looked_for, _)| Some(*looked_for) == hash);
        DeliveredSet {
            rtype: wanted.rtype,
            ttl: wanted.set.as_ref().map(|set| set.ttl),
            data: wanted.set.iter().flat_map(|set| set.data.iter()).map(ToString::to_string).collect(),
            steered: wanted.set.is_some_and(|set| set.steering.is_some()),
            state,
            seen: seen.map(|(_, sight)| Seen::of(&sight)),
        }
    }

    /// What the status of the object behind a record set says, where statuses are read.
    fn reported(&self, makers: &BTreeSet<Id>, rtype: Rtype, class: &str) -> Option<DeliveryState> {
        if !self.planner.snapshot.reads_statuses {
            return None;
        }
        let makes = |id: &&Id| {
            let claims = self.planner.evaluated(**id).map(|one| &one.output.claims[..]).unwrap_or_default();
            claims
                .iter()
                .any(|claim| claim.name == *self.name && claim.rtype == rtype && claim.scope.is_class(class))
        };
        let maker = makers.iter().find(makes)?;
        Some(state_by_notes(&self.planner.notes_of(*maker)))
    }

    /// The DNSEndpoints of an object that hold records of the name, for an ExternalDNS.
    fn endpoints(&self, id: Id) -> Vec<Delivery> {
        let planner = self.planner;
        let Some(evaluated) = planner.evaluated(id) else { return Vec::new() };
        let seeds = evaluated.output.children.iter().enumerate();
        let seeds = seeds.filter(|(_, seed)| seed.delivery == SeedDelivery::Controller);
        seeds.filter_map(|(number, seed)| self.endpoint(id, evaluated, number, seed)).collect()
    }

    fn endpoint(&self, id: Id, evaluated: &Evaluated, number: usize, seed: &ChildSeed) -> Option<Delivery> {
        let planner = self.planner;
        let claims = planner.standing_claims(id, evaluated, seed).into_iter();
        let here = claims.filter(|claim| claim.name == *self.name && self.is_asked_for(claim.rtype));
        let state = state_by_notes(&planner.notes_of(id));
        let sets: Vec<DeliveredSet> = here
            .clone()
            .map(|claim| DeliveredSet {
                rtype: claim.rtype,
                ttl: Some(claim.ttl),
                data: claim.data.iter().map(ToString::to_string).collect(),
                steered: claim.steering.is_some(),
                state: state.clone(),
                seen: None,
            })
            .collect();
        if sets.is_empty() {
            return None;
        }
        let object = planner.snapshot.object(id)?;
        let name = planner.child_name(id, object, evaluated, number);
        let class = here.filter_map(|claim| claim.scope.class()).next().filter(|_| seed.is_of_class());
        let cluster = evaluated.rank.cluster;
        Some(Delivery {
            class: class.map(|class| planner.named(cluster, Kind::DNSClass, "", class)),
            backend: BackendName {
                kind: BackendKind::ExternalDns,
                target: Some(seed.controller.to_string()),
            },
            endpoint: Some(format!("{}/{name}", object.meta.namespace)),
            sets,
        })
    }
}

/// What an object's conditions say of its delivery: `Published` where it has that, else `Ready`.
fn state_by_notes(notes: &[Note]) -> DeliveryState {
    let named = |condition: &str| notes.iter().find(|note| note.condition == condition);
    match named("Published").or_else(|| named("Ready")) {
        Some(note) if note.status == ConditionStatus::True => DeliveryState::Published,
        Some(note) if note.status == ConditionStatus::False => {
            DeliveryState::Failed { reason: note.reason.to_owned(), message: note.message.clone() }
        }
        Some(note) if note.reason == "Pending" => DeliveryState::Pending,
        _ => DeliveryState::HandedOver,
    }
}

impl Seen {
    fn of(sight: &Sight) -> Seen {
        match sight {
            Sight::Visible => Seen::Visible,
            Sight::NotVisible(server) => Seen::NotVisible { server: server.to_string() },
            Sight::NotDelegated => Seen::NotDelegated,
            Sight::DelegatedElsewhere => Seen::DelegatedElsewhere,
            Sight::NoAnswer => Seen::NoAnswer,
        }
    }
}
