//! Why a name answers as it does: the objects behind it, those that wanted it and did not get it,
//! and those that would make it answer if something else were there.

mod listeners;
mod placement;
mod versions;

use std::collections::BTreeMap;
use std::sync::Arc;

use api::dnsclass::{Backend, DNSClassSpec};
use api::router::{DNSPolicySpec, GatewaySpec, ServiceRouteSpec};
use api::{Kind, Object, Spec};
use dns::Name;
use serde::{Deserialize, Serialize};

use crate::facts::{Index, ObjectKey};
use crate::front::gateway::GatewayState;
use crate::input::ClusterId;
use crate::note::Note;
use crate::output::{Claim, Outcome};
use crate::planner::{LostClaim, Planner};
use crate::snapshot::{Entry, Id};
use crate::zone_table::Standing;
pub use versions::NotInForce;

/// The story of a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Story {
    /// The name.
    pub name: Name,
    /// The zone that it is answered from, and where that comes from; `None` where no zone holds it.
    pub zone: Option<ZoneStory>,
    /// The objects that it is answered for.
    pub makers: Vec<Actor>,
    /// The objects that want it and lost it to another.
    pub losers: Vec<Actor>,
    /// The objects that would have it if something else were there: what to change.
    pub missing: Vec<Actor>,
    /// The objects behind the name whose newest version is not in force: the version before is still served.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_in_force: Vec<NotInForce>,
}

/// The zone of a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ZoneStory {
    /// Its origin.
    pub origin: Name,
    /// Where it comes from, in words.
    pub source: String,
    /// Whether the name comes from the zone file itself.
    pub in_file: bool,
}

/// An object's part in the story.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Actor {
    /// The cluster's name.
    pub cluster: String,
    /// The object's kind.
    pub kind: String,
    /// `namespace/name`, or the name of a cluster-scoped object.
    pub object: String,
    /// What it says about the name: `CNAME target. in weu, ttl 300`.
    pub records: Vec<String>,
    /// The way from the object to the name, step by step.
    pub way: Vec<String>,
    /// How it fares, in one word.
    pub reason: String,
    /// How it fares, in a sentence.
    pub message: String,
}

impl Planner {
    /// Tells the story of a name.
    pub fn explain(&self, name: &Name) -> Story {
        let mut story = Story {
            name: name.clone(),
            zone: self.zone_story(name),
            makers: Vec::new(),
            losers: Vec::new(),
            missing: Vec::new(),
            not_in_force: Vec::new(),
        };
        let mut actors = BTreeMap::new();
        for (id, entry) in self.snapshot.entries() {
            let Some(evaluated) = self.evaluated(id) else { continue };
            let claims: Vec<usize> = numbers_for(&evaluated.output.claims, name);
            let lost = |number: &usize| self.lost(id).iter().any(|one| usize::from(one.claim) == *number);
            let standing = |number: &usize| !lost(number) && !self.turned_away.contains(&id);
            if claims.is_empty() {
                if !self.wants(entry, &evaluated.output.outcome, name) && !self.waits_for(entry, name) {
                    continue;
                }
                story.missing.push(self.actor(id, entry, &claims));
            } else if claims.iter().any(standing) {
                story.makers.push(self.actor(id, entry, &claims));
            } else {
                story.losers.push(self.loser(id, entry, &claims));
            }
            actors.insert(id, !claims.is_empty());
        }
        story.not_in_force = self.not_in_force(&story, &actors);
        for actors in [&mut story.makers, &mut story.losers, &mut story.missing] {
            actors.sort_by(|one, other| {
                (&one.cluster, &one.kind, &one.object).cmp(&(&other.cluster, &other.kind, &other.object))
            });
        }
        story
    }

    fn zone_story(&self, name: &Name) -> Option<ZoneStory> {
        let holder = name.suffix_keys().find_map(|key| self.table.holder_by_key(key))?;
        let zone = self.zone(&holder.zone.origin)?;
        let in_file = zone.base.as_ref().is_some_and(|base| !base.sets_at(name.key()).is_empty());
        Some(ZoneStory { origin: zone.origin, source: zone.source, in_file })
    }

    /// Whether an object that claims nothing is nevertheless about the name.
    fn wants(&self, entry: &Entry, outcome: &Outcome, name: &Name) -> bool {
        let Some(object) = &entry.object else { return false };
        match (&object.spec, outcome) {
            (Spec::ServiceRoute(spec), _) => self.route_host(entry.key.cluster, spec).as_ref() == Some(name),
            (Spec::Gateway(_), Outcome::Gateway(outcome)) => match &outcome.state {
                GatewayState::NoAddress { host }
                | GatewayState::Conflict { host, .. }
                | GatewayState::ForeignName { host, .. } => host == name,
                GatewayState::Ready { host } => host == name && outcome.owners.is_empty(),
                GatewayState::NoIdentity | GatewayState::BadHost(_) => false,
            },
            (Spec::Record(_), Outcome::Record(outcome)) => outcome.fqdn.as_ref() == Some(name),
            (Spec::DNSRecord(_), Outcome::DnsRecord(outcome)) => outcome.fqdn.as_ref() == Some(name),
            (Spec::Placement(_), Outcome::Placement(outcome)) => outcome.name.as_ref() == Some(name),
            (Spec::ListenerGateway(_), Outcome::Listeners(outcome)) => {
                outcome.managed.iter().any(|(host, _)| host == name)
            }
            (Spec::Zone(_), Outcome::Zone(outcome)) => {
                let is_served = matches!(outcome.standing, Standing::At(_)) && outcome.conflict.is_none();
                !is_served && outcome.standing.origin() == Some(name)
            }
            (Spec::DNSEndpoint(spec), Outcome::Endpoint(outcome)) if !outcome.ours => {
                spec.endpoints.iter().any(|endpoint| Name::parse(&endpoint.dns_name).as_ref() == Ok(name))
            }
            _ => false,
        }
    }

    /// Whether the newest version of an object is about the name and waits for a target.
    fn waits_for(&self, entry: &Entry, name: &Name) -> bool {
        let named = match entry.waiting.as_ref().map(|waiting| &waiting.version.spec) {
            Some(Spec::ServiceRoute(spec)) => self.route_host(entry.key.cluster, spec),
            Some(Spec::DNSRecord(spec)) => spec.name().ok(),
            Some(Spec::Placement(spec)) => Name::parse(&spec.hostname).ok(),
            _ => None,
        };
        named.as_ref() == Some(name)
    }

    fn route_host(&self, cluster: ClusterId, spec: &ServiceRouteSpec) -> Option<Name> {
        let identity = self.snapshot.identity(cluster)?;
        identity.route_host(&spec.service_name, &spec.environment, &spec.application).ok()
    }

    fn actor(&self, id: Id, entry: &Entry, claims: &[usize]) -> Actor {
        let notes = self.notes_of(self.policy_of_gateway(id).unwrap_or(id));
        let ready = notes.iter().find(|note| note.condition == "Ready");
        let part = |text: fn(&Note) -> String| ready.map(text).unwrap_or_default();
        Actor {
            cluster: self.cluster_name(entry.key.cluster).to_owned(),
            kind: entry.key.reference.kind.kind().to_owned(),
            object: object_text(entry),
            records: self.records(id, claims),
            way: entry.object.as_ref().map(|object| self.way(entry, object)).unwrap_or_default(),
            reason: part(|note| note.reason.to_owned()),
            message: part(|note| note.message.clone()),
        }
    }

    /// An object that lost the name: how it fares is to whom, whatever else is wrong with it.
    fn loser(&self, id: Id, entry: &Entry, claims: &[usize]) -> Actor {
        let actor = self.actor(id, entry, claims);
        match self.conflict(id) {
            Some(message) => Actor { reason: "NameConflict".to_owned(), message, ..actor },
            None => actor,
        }
    }

    fn records(&self, id: Id, claims: &[usize]) -> Vec<String> {
        let Some(evaluated) = self.evaluated(id) else { return Vec::new() };
        let claim = |number: &usize| {
            let claim = evaluated.output.claims.get(*number)?;
            let lost = self.lost(id).iter().find(|one| usize::from(one.claim) == *number);
            let kind = |lost: &LostClaim| lost.holder.kind.map_or("zone file", Kind::kind);
            let lost = lost.map(|lost| format!(", but it belongs to {} {}", kind(lost), lost.holder));
            let lost = lost.unwrap_or_default();
            Some(format!("{}{lost}", claim_text(claim)))
        };
        claims.iter().filter_map(claim).collect()
    }

    /// The objects that an object's name and answers are made of.
    fn way(&self, entry: &Entry, object: &Object) -> Vec<String> {
        let cluster = entry.key.cluster;
        match &object.spec {
            Spec::ServiceRoute(spec) => self.route_way(cluster, object, spec),
            Spec::Gateway(spec) => self.gateway_way(entry, spec),
            Spec::Placement(spec) => self.placement_way(entry, spec),
            Spec::ListenerGateway(_) => self.listeners_way(entry),
            Spec::DNSRecord(spec) => vec![self.class_text(cluster, &spec.dns_class_ref.name)],
            Spec::Record(spec) => vec![match &spec.zone_ref {
                Some(zone) => format!("spec.zoneRef: Zone {}", zone.name),
                None => "no zoneRef: the longest Zone that permits it adopts it".to_owned(),
            }],
            _ => Vec::new(),
        }
    }

    /// A class and what it delivers by.
    fn class_text(&self, cluster: ClusterId, name: &str) -> String {
        let reference = crate::ObjectRef { kind: Kind::DNSClass, namespace: "".into(), name: name.into() };
        let object =
            self.snapshot.id(&ObjectKey::new(cluster, reference)).and_then(|id| self.snapshot.object(id));
        match object.map(|object| &object.spec) {
            Some(Spec::DNSClass(spec)) => format!("DNSClass {name}: {}", backend_text(spec)),
            _ => format!("DNSClass {name}: there is none"),
        }
    }

    fn gateway_way(&self, entry: &Entry, spec: &GatewaySpec) -> Vec<String> {
        let identity = self.snapshot.identity(entry.key.cluster).map(|identity| {
            let (cluster, region, domain) = (&identity.cluster, &identity.region, identity.domain.undotted());
            format!("ClusterIdentity cluster-identity: cluster {cluster}, region {region}, domain {domain}")
        });
        let evaluated = self.snapshot.id(&entry.key).and_then(|id| self.evaluated(id));
        let service = match evaluated.map(|one| &one.output.outcome) {
            Some(Outcome::Gateway(outcome)) => outcome.service.as_deref(),
            _ => None,
        };
        let service = match service {
            Some(service) => {
                format!("Service {service}: the load balancer of controller {}", spec.controller)
            }
            None => format!("no LoadBalancer Service is named {0} or labelled istio={0}", spec.controller),
        };
        identity.into_iter().chain([service]).collect()
    }

    fn route_way(&self, cluster: ClusterId, object: &Object, spec: &ServiceRouteSpec) -> Vec<String> {
        let mut way = Vec::new();
        if let Some(identity) = self.snapshot.identity(cluster) {
            way.push(format!(
                "ClusterIdentity cluster-identity: environmentLetter {}, domain {}",
                identity.environment_letter,
                identity.domain.undotted()
            ));
        }
        let index = Index::Policies(cluster, object.meta.namespace.clone());
        let policy = self.snapshot.indexed(&index).next().and_then(|(_, id)| self.snapshot.object(id));
        if let Some(Spec::DNSPolicy(policy_spec)) = policy.map(|policy| &policy.spec) {
            let name = policy.map(|policy| policy.meta.name.clone()).unwrap_or_default();
            way.push(format!(
                "DNSPolicy {}/{name}: {}",
                object.meta.namespace,
                self.policy_text(cluster, policy_spec)
            ));
        }
        way.push(self.gateway_text(cluster, spec));
        way
    }

    fn policy_text(&self, cluster: ClusterId, spec: &DNSPolicySpec) -> String {
        let mut parts = vec![format!("mode {:?}", spec.mode)];
        parts.extend(spec.source_region().map(|region| format!("sourceRegion {region}")));
        parts.extend(spec.source_cluster().map(|name| format!("sourceCluster {name}")));
        let own =
            self.snapshot.identity(cluster).map(|identity| format!("this cluster is in {}", identity.region));
        parts.extend(own);
        parts.join(", ")
    }

    fn gateway_text(&self, cluster: ClusterId, spec: &ServiceRouteSpec) -> String {
        let name = format!("{}/{}", spec.gateway_namespace, spec.gateway_name);
        let (namespace, gateway): (Arc<str>, Arc<str>) =
            (spec.gateway_namespace.as_ref().into(), spec.gateway_name.as_ref().into());
        let reference = crate::ObjectRef { kind: Kind::Gateway, namespace, name: gateway };
        let id = self.snapshot.id(&ObjectKey::new(cluster, reference));
        match id.and_then(|id| self.snapshot.object(id)).map(|object| &object.spec) {
            Some(Spec::Gateway(spec)) => {
                format!(
                    "Gateway {name}: targetPostfix {}, controller {}",
                    spec.target_postfix, spec.controller
                )
            }
            _ => format!("Gateway {name}: there is none"),
        }
    }
}

/// What a class delivers by. Nothing of its secrets is in it.
fn backend_text(spec: &DNSClassSpec) -> String {
    match spec.backend() {
        Some(Backend::Webhook(url)) => format!("webhook server {url}"),
        Some(Backend::Powerdns(powerdns)) => format!("PowerDNS at {}", powerdns.url),
        Some(Backend::Rfc2136(server)) => format!("dynamic updates to {}", server.server),
        Some(Backend::ExternalDNSWebhook(webhook)) => format!("ExternalDNS provider at {}", webhook.url),
        Some(Backend::ExternalDNS(external)) => {
            format!("DNSEndpoints for controller {}", external.controller)
        }
        Some(Backend::ZoneFile(file)) => format!("zone files in {}", file.directory),
        Some(Backend::Embedded(_)) => "our own server".to_owned(),
        None => "no back-end".to_owned(),
    }
}

/// Which claims are on the name.
fn numbers_for(claims: &[Claim], name: &Name) -> Vec<usize> {
    let numbered = claims.iter().enumerate();
    let is_on = |claim: &Claim| claim.name == *name && !claim.is_reservation();
    numbered.filter(|(_, claim)| is_on(claim)).map(|(number, _)| number).collect()
}

fn claim_text(claim: &Claim) -> String {
    let data: Vec<String> = claim.data.iter().map(ToString::to_string).collect();
    let place = match claim.scope.to_string().as_str() {
        "*" => "everywhere".to_owned(),
        place => format!("in {place}"),
    };
    format!("{} {} {place}, ttl {}", claim.rtype, data.join(", "), claim.ttl)
}

fn object_text(entry: &Entry) -> String {
    match &*entry.key.reference.namespace {
        "" => entry.key.reference.name.to_string(),
        namespace => format!("{namespace}/{}", entry.key.reference.name),
    }
}
