//! The way from a Gateway of the Gateway API to its answers: its policy, its classes, its clusters, and how
//! its classes steer.

use api::Kind;
use dns::Geo;

use crate::facts::ObjectKey;
use crate::front::listener_gateway::ListenersOutcome;
use crate::input::ObjectRef;
use crate::notes::kuadrant::gateway_steering;
use crate::output::Outcome;
use crate::planner::Planner;
use crate::snapshot::{Entry, Id};

impl Planner {
    pub(super) fn listeners_way(&self, entry: &Entry) -> Vec<String> {
        let Some(id) = self.snapshot.id(&entry.key) else { return Vec::new() };
        let Some(outcome) = self.listeners_outcome(id) else { return Vec::new() };
        let mut way = vec![match &outcome.policy {
            Some(policy) => format!("DNSPolicy {}/{policy}: applies to it", entry.key.reference.namespace),
            None => "no DNSPolicy: all clusters are answered alike".to_owned(),
        }];
        way.extend(outcome.backings.keys().map(|class| self.class_text(entry.key.cluster, class)));
        way.extend(outcome.clusters.iter().map(|(name, weight, geo)| cluster_text(name, *weight, *geo)));
        let steering = gateway_steering(self, id);
        way.extend(steering.map(|note| format!("{} {}: {}", note.condition, note.reason, note.message)));
        way
    }

    /// The policy of a gateway, which tells what became of the gateway's names.
    pub(super) fn policy_of_gateway(&self, id: Id) -> Option<Id> {
        let key = &self.snapshot.entry(id)?.key;
        let name = self.listeners_outcome(id)?.policy.clone()?;
        let namespace = key.reference.namespace.clone();
        let policy = ObjectRef { kind: Kind::KuadrantDNSPolicy, namespace, name };
        self.snapshot.id(&ObjectKey::new(key.cluster, policy))
    }

    fn listeners_outcome(&self, id: Id) -> Option<&ListenersOutcome> {
        match &self.evaluated(id)?.output.outcome {
            Outcome::Listeners(outcome) => Some(outcome),
            _ => None,
        }
    }
}

fn cluster_text(name: &str, weight: u32, geo: Option<Geo>) -> String {
    let place = geo.map(|geo| format!(", in {geo}")).unwrap_or_default();
    format!("cluster {name}: weight {weight}{place}")
}
