//! Which object or zone file another object waits for: what has to be mended first.

use std::sync::Arc;

use api::Kind;
use dns::Name;

use crate::facts::ObjectKey;
use crate::front::dns_policy::PolicyState;
use crate::front::dns_record::DnsRecordState;
use crate::front::gateway::GatewayState;
use crate::front::kuadrant_policy::Attachment;
use crate::front::placement::PlacementState;
use crate::front::record::RecordState;
use crate::front::service_route::RouteOutcome;
use crate::front::zone::ZoneOutcome;
use crate::input::{ClusterId, ObjectRef};
use crate::output::Outcome;
use crate::place::Scope;
use crate::planner::Planner;
use crate::snapshot::{Entry, Id};
use crate::zone_table::{Source, Standing};

/// What an object waits for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// An object that is missing, invalid or not in effect itself.
    Object(ClusterId, ObjectRef),
    /// A zone file that cannot be served.
    File(ClusterId, Arc<str>),
}

impl Planner {
    /// What an object waits for, where nothing is wrong with the object itself.
    pub fn cause(&self, cluster: ClusterId, reference: &ObjectRef) -> Option<Cause> {
        let id = self.snapshot.id(&ObjectKey::new(cluster, reference.clone()))?;
        let entry = self.snapshot.entry(id)?;
        if entry.trouble.is_some() || entry.waiting.is_some() {
            return None;
        }
        let of_outcome = self.cause_of(entry, &self.evaluated(id)?.output.outcome);
        of_outcome.map(|object| Cause::Object(cluster, object)).or_else(|| self.unserved_zone(id))
    }

    fn cause_of(&self, entry: &Entry, outcome: &Outcome) -> Option<ObjectRef> {
        let class = |name: &str| Some(object(Kind::DNSClass, "", name));
        match outcome {
            Outcome::Zone(outcome) => zone(outcome),
            Outcome::Record(outcome) => match &outcome.state {
                RecordState::ZoneMissing(zone) | RecordState::ZoneConflicted(zone) => Some(zone_at(zone)),
                _ => None,
            },
            Outcome::Policy(outcome) => self.missing_for_policy(entry, &outcome.state),
            Outcome::Gateway(outcome) if matches!(outcome.state, GatewayState::NoIdentity) => {
                Some(self.identity_of(entry))
            }
            Outcome::Route(outcome) => self.missing_for_route(entry, outcome),
            Outcome::Configuration(missing) => class(missing.first()?),
            Outcome::DnsRecord(outcome) if outcome.state == DnsRecordState::NoClass => {
                class(&outcome.identity.as_ref()?.class)
            }
            Outcome::Placement(outcome) => match (&outcome.state, &outcome.class) {
                (PlacementState::NoClass(name), _) | (PlacementState::Claimed, Some((name, None))) => {
                    class(name)
                }
                _ => None,
            },
            Outcome::GatewayPolicy(Attachment::TargetNotFound) => {
                let spec = crate::front::kuadrant_policy::spec_of(entry.object.as_deref()?)?;
                Some(object(Kind::ListenerGateway, &entry.key.reference.namespace, &spec.target_ref.name))
            }
            _ => None,
        }
    }

    fn missing_for_policy(&self, entry: &Entry, state: &PolicyState) -> Option<ObjectRef> {
        match state {
            PolicyState::NoIdentity => Some(self.identity_of(entry)),
            PolicyState::NoConfiguration => {
                Some(self.invalid_or(entry, Kind::DNSConfiguration, "", "dns-config"))
            }
            _ => None,
        }
    }

    fn missing_for_route(&self, entry: &Entry, outcome: &RouteOutcome) -> Option<ObjectRef> {
        match outcome {
            RouteOutcome::NoPolicy => {
                let namespace = &entry.key.reference.namespace;
                Some(self.invalid_or(entry, Kind::DNSPolicy, namespace, ""))
            }
            RouteOutcome::PolicyInactive { why, .. } => self.missing_for_policy(entry, why),
            RouteOutcome::NoIdentity => Some(self.identity_of(entry)),
            RouteOutcome::NoGateway => match &entry.object.as_ref()?.spec {
                api::Spec::ServiceRoute(route) => {
                    Some(object(Kind::Gateway, &route.gateway_namespace, &route.gateway_name))
                }
                _ => None,
            },
            _ => None,
        }
    }

    fn identity_of(&self, entry: &Entry) -> ObjectRef {
        self.invalid_or(entry, Kind::ClusterIdentity, "", "cluster-identity")
    }

    /// The object of a kind of which no valid version is known; where there is none, one of the usual name is missing.
    fn invalid_or(&self, entry: &Entry, kind: Kind, namespace: &str, usual: &str) -> ObjectRef {
        let first = ObjectKey::new(entry.key.cluster, object(kind, namespace, ""));
        let found = self.snapshot.unknown.range(first.clone()..).next();
        let is_of_kind = |key: &&ObjectKey| {
            key.cluster == first.cluster
                && key.reference.kind == kind
                && key.reference.namespace == first.reference.namespace
        };
        found.filter(is_of_kind).map_or(object(kind, namespace, usual), |key| key.reference.clone())
    }

    /// The zone that an object's names lie in, where it cannot be served.
    fn unserved_zone(&self, id: Id) -> Option<Cause> {
        let output = &self.evaluated(id)?.output;
        let is_ours = |scope: &Scope| *scope == Scope::Everywhere || self.is_in_a_view(scope);
        let mut claims =
            output.claims.iter().filter(|claim| !claim.is_reservation() && is_ours(&claim.scope));
        let claimed = claims.find_map(|claim| self.unserved(&claim.zone));
        claimed.or_else(|| match &output.outcome {
            Outcome::Record(outcome) if outcome.state == RecordState::NoZone => {
                let name = outcome.fqdn.as_ref()?;
                let holder = name.suffix_keys().find_map(|key| self.table.holder_by_key(key))?;
                self.unserved(&holder.zone.origin)
            }
            _ => None,
        })
    }

    fn unserved(&self, origin: &Name) -> Option<Cause> {
        let holder = self.table.holder(origin).filter(|holder| holder.unavailable.is_some())?;
        match &holder.zone.source {
            Source::Object(zone) => self.reference(*zone).map(|(cluster, zone)| Cause::Object(cluster, zone)),
            Source::File(cluster, path) => Some(Cause::File(*cluster, path.clone())),
            Source::Identity(_) | Source::Domain(_) => None,
        }
    }
}

fn zone(outcome: &ZoneOutcome) -> Option<ObjectRef> {
    match (&outcome.standing, &outcome.missing_class) {
        (Standing::ParentMissing(parent), _) => Some(zone_at(parent)),
        (Standing::At(_), Some(class)) => Some(object(Kind::DNSClass, "", class)),
        _ => None,
    }
}

fn zone_at(text: &str) -> ObjectRef {
    let (namespace, name) = text.split_once('/').unwrap_or(("", text));
    object(Kind::Zone, namespace, name)
}

fn object(kind: Kind, namespace: &str, name: &str) -> ObjectRef {
    ObjectRef { kind, namespace: namespace.into(), name: name.into() }
}
