//! What those ask who bring a cluster in line with the plan.

use api::Kind;

use crate::children::ChildRef;
use crate::facts::Index;
use crate::input::ClusterId;
use crate::marks::{CONTROLLER_ANNOTATIONS, LAST_VALID_SPEC, MANAGED_BY, PARENT_ZONE};
use crate::notes::kuadrant::POLICY_AFFECTED;
use crate::output::Outcome;
use crate::planner::Planner;

/// Whether a label of a DNSEndpoint is one that the plan sets.
pub fn is_child_label(key: &str) -> bool {
    key == MANAGED_BY || key.starts_with("router.io/")
}

/// Whether an annotation of a DNSEndpoint is one that the plan sets.
pub fn is_child_annotation(key: &str) -> bool {
    CONTROLLER_ANNOTATIONS.contains(&key)
}

/// Whether a label or annotation of one of our objects is one that the plan sets.
pub fn is_own_metadata(key: &str) -> bool {
    [PARENT_ZONE, LAST_VALID_SPEC].contains(&key)
}

/// Whether a condition of somebody else's object is one that the plan sets.
pub fn is_own_condition(kind: &str) -> bool {
    kind == POLICY_AFFECTED
}

impl Planner {
    /// The fingerprint of what a planned child says.
    pub fn child_fingerprint(&self, child: &ChildRef) -> Option<u64> {
        let made = self.made.get(&self.maker_of(child)?)?;
        made.iter().find(|made| made.child == *child).map(|made| made.fingerprint)
    }

    /// Whether children in a namespace may hang on an object of which no valid version is known.
    ///
    /// Nobody knows what such an object wants, so what it may have owned stays as it is.
    pub fn is_frozen(&self, cluster: ClusterId, namespace: &str) -> bool {
        let unknown = self.snapshot.unknown.iter().filter(|key| key.cluster == cluster);
        let has_unknown = unknown.into_iter().any(|key| match key.reference.kind {
            Kind::ClusterIdentity | Kind::DNSConfiguration | Kind::Gateway => true,
            Kind::DNSPolicy
            | Kind::ServiceRoute
            | Kind::DNSRecord
            | Kind::Record
            | Kind::Placement
            | Kind::KuadrantDNSPolicy
            | Kind::ListenerGateway => *key.reference.namespace == *namespace,
            _ => false,
        });
        has_unknown || self.has_starving_gateway(cluster, namespace)
    }

    /// Whether a gateway of a namespace is ours to answer for and has lost its addresses before we saw any:
    /// what an earlier process made of it stays.
    fn has_starving_gateway(&self, cluster: ClusterId, namespace: &str) -> bool {
        let index = Index::ListenerGateways(cluster, namespace.into());
        let mut outcomes = self.snapshot.indexed(&index).filter_map(|(_, id)| self.evaluated(id));
        outcomes.any(|one| match &one.output.outcome {
            Outcome::Listeners(outcome) => outcome.trouble.is_some() && one.output.claims.is_empty(),
            _ => false,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use crate::{Change, ObjectRef, Setting};
    use api::Problem;

    #[test]
    fn what_hangs_on_an_unknown_object_is_frozen_until_it_is_known_or_gone() {
        let mut planner = Planner::in_cluster("here".to_owned(), Setting::Operator);
        let policy = ObjectRef { kind: Kind::DNSPolicy, namespace: "shop".into(), name: "p".into() };
        let here = ClusterId(0);
        planner.apply(vec![Change::Broken(
            here,
            policy.clone(),
            vec![Problem::new("spec", "", "unreadable")],
        )]);
        assert!(planner.is_frozen(here, "shop"));
        assert!(!planner.is_frozen(here, "other"));
        planner.apply(vec![Change::Delete(here, policy)]);
        assert!(!planner.is_frozen(here, "shop"));
        let identity =
            ObjectRef { kind: Kind::ClusterIdentity, namespace: "".into(), name: "cluster-identity".into() };
        planner.apply(vec![Change::Broken(here, identity, vec![Problem::new("spec", "", "unreadable")])]);
        assert!(planner.is_frozen(here, "other"), "everything hangs on the identity");
    }
}
