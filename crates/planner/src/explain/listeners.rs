//! The way from a Gateway of the Gateway API to its answers: its policy, its classes, its clusters, and how
//! its classes steer.

use api::Kind;

use super::way::WayStep;
use crate::facts::ObjectKey;
use crate::front::listener_gateway::ListenersOutcome;
use crate::input::ObjectRef;
use crate::note::Note;
use crate::notes::kuadrant::gateway_steering;
use crate::output::Outcome;
use crate::planner::Planner;
use crate::snapshot::{Entry, Id};

impl Planner {
    pub(super) fn listeners_way(&self, entry: &Entry) -> Vec<WayStep> {
        let Some(id) = self.snapshot.id(&entry.key) else { return Vec::new() };
        let Some(outcome) = self.listeners_outcome(id) else { return Vec::new() };
        let ObjectKey { cluster, reference } = &entry.key;
        let policy = outcome.policy.as_ref();
        let policy =
            policy.map(|policy| self.named(*cluster, Kind::KuadrantDNSPolicy, &reference.namespace, policy));
        let mut way = vec![WayStep::GatewayPolicy { object: policy }];
        way.extend(outcome.backings.keys().map(|class| self.class_step(*cluster, class)));
        way.extend(outcome.clusters.iter().map(|(name, weight, geo)| WayStep::Cluster {
            name: name.to_string(),
            weight: *weight,
            geo: geo.map(|geo| geo.to_string()),
        }));
        way.extend(gateway_steering(self, id).map(condition_step));
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

/// A condition that is about how a name is answered.
pub(super) fn condition_step(note: Note) -> WayStep {
    let (condition, reason) = (note.condition.to_owned(), note.reason.to_owned());
    WayStep::Condition { condition, reason, message: note.message }
}
