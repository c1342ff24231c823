//! The way from a router's Gateway or ServiceRoute to its name.

use api::Kind;
use api::router::{DNSPolicySpec, GatewaySpec, ServiceRouteSpec};
use api::{Object, Spec};

use super::objects::ObjectName;
use super::way::WayStep;
use crate::facts::{Index, ObjectKey};
use crate::input::{ClusterId, ObjectRef};
use crate::output::Outcome;
use crate::planner::Planner;
use crate::snapshot::Entry;

/// The names that a ClusterIdentity may have: ours, and the one of the operator that we take over from.
const IDENTITY_NAMES: [&str; 2] = ["cluster-identity", "clusteridentity"];

impl Planner {
    pub(super) fn gateway_way(&self, entry: &Entry, spec: &GatewaySpec) -> Vec<WayStep> {
        let evaluated = self.snapshot.id(&entry.key).and_then(|id| self.evaluated(id));
        let service = match evaluated.map(|one| &one.output.outcome) {
            Some(Outcome::Gateway(outcome)) => outcome.service.as_deref(),
            _ => None,
        };
        let named = |service: &str| {
            let (namespace, name) = service.split_once('/').unwrap_or(("", service));
            self.named(entry.key.cluster, Kind::Service, namespace, name)
        };
        let service = WayStep::Service { object: service.map(named), controller: spec.controller.clone() };
        self.identity_step(entry.key.cluster).into_iter().chain([service]).collect()
    }

    pub(super) fn route_way(
        &self,
        cluster: ClusterId,
        object: &Object,
        spec: &ServiceRouteSpec,
    ) -> Vec<WayStep> {
        let mut way: Vec<WayStep> = self.identity_step(cluster).into_iter().collect();
        let index = Index::Policies(cluster, object.meta.namespace.clone());
        let policy = self.snapshot.indexed(&index).next().and_then(|(_, id)| self.snapshot.entry(id));
        way.extend(policy.and_then(|policy| self.policy_step(policy)));
        way.push(self.gateway_step(cluster, spec));
        way
    }

    fn identity_step(&self, cluster: ClusterId) -> Option<WayStep> {
        let identity = self.snapshot.identity(cluster)?;
        Some(WayStep::Identity {
            object: self.identity_name(cluster),
            cluster_name: identity.cluster.to_string(),
            region: identity.region.to_string(),
            environment_letter: identity.environment_letter.to_string(),
            domain: identity.domain.undotted(),
        })
    }

    fn identity_name(&self, cluster: ClusterId) -> ObjectName {
        let is_there = |name: &&str| {
            let reference =
                ObjectRef { kind: Kind::ClusterIdentity, namespace: "".into(), name: (**name).into() };
            self.snapshot.id(&ObjectKey::new(cluster, reference)).is_some()
        };
        let name = IDENTITY_NAMES.into_iter().find(is_there).unwrap_or(IDENTITY_NAMES[0]);
        self.named(cluster, Kind::ClusterIdentity, "", name)
    }

    fn policy_step(&self, policy: &Entry) -> Option<WayStep> {
        let Spec::DNSPolicy(spec) = &policy.object.as_ref()?.spec else { return None };
        let spec: &DNSPolicySpec = spec;
        let own_region = self.snapshot.identity(policy.key.cluster).map(|own| own.region.to_string());
        Some(WayStep::Policy {
            object: self.object_name(&policy.key),
            mode: format!("{:?}", spec.mode),
            source_region: spec.source_region().map(str::to_owned),
            source_cluster: spec.source_cluster().map(str::to_owned),
            own_region,
        })
    }

    fn gateway_step(&self, cluster: ClusterId, spec: &ServiceRouteSpec) -> WayStep {
        let (namespace, name) = (&*spec.gateway_namespace, &*spec.gateway_name);
        let reference = ObjectRef { kind: Kind::Gateway, namespace: namespace.into(), name: name.into() };
        let id = self.snapshot.id(&ObjectKey::new(cluster, reference));
        let object = self.named(cluster, Kind::Gateway, namespace, name);
        match id.and_then(|id| self.snapshot.object(id)).map(|object| &object.spec) {
            Some(Spec::Gateway(spec)) => WayStep::Gateway {
                object,
                found: true,
                target_postfix: Some(spec.target_postfix.clone()),
                controller: Some(spec.controller.clone()),
            },
            _ => WayStep::Gateway { object, found: false, target_postfix: None, controller: None },
        }
    }
}
