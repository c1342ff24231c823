//! Deliveries of the operator: what a class may reach, and who we are there.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use backends::delivery::Fence;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;

use super::Operator;
use super::lease::Leadership;
use crate::cluster::Connection;
use crate::deliveries::{Circumstances, Counts, Deliveries, Memory};
use crate::instance::Instance;
use crate::probes::Probes;

/// The namespace that every cluster has, once and for good.
const ETERNAL: &str = "kube-system";
/// How long one attempt to learn who we are may take, and how long until the next.
const TIMEOUT: Duration = Duration::from_secs(5);
const AGAIN: Duration = Duration::from_secs(1);

/// Who leads may write, while more is left of the lease than a request may take.
struct Leads {
    leadership: Leadership,
    /// The most lease that a request waits for. A class may have a longer timeout than the lease lasts, and
    /// would never be written to; then a request that outlives the lease is left to the receiver's fence.
    most: Duration,
}

impl Fence for Leads {
    fn may_send(&self, timeout: Duration) -> bool {
        self.leadership.may_send(timeout.min(self.most))
    }

    fn generation(&self) -> u64 {
        self.leadership.generation()
    }
}

/// Why there is no owner ID in a cluster.
const UNKNOWN_CLUSTER: &str = "let the operator read the namespace kube-system, whose uid tells clusters apart, or give \
                               --owner";

impl Operator<'_> {
    /// Probes that have nothing to do yet. They outlive a plan that failed, so that nothing is forgotten.
    pub(super) fn probes(&self, instance: &Instance) -> Result<Arc<Probes>> {
        let guard = Arc::new(self.arguments.delivery.targets.guard(self.forbidden.clone())?);
        let probes = Probes::start(instance.health.clone(), guard, instance.sightings.clone());
        Ok(Arc::new(probes.context("cannot start probing")?))
    }

    /// Deliveries that have not begun.
    pub(super) async fn deliveries(&self, counts: Counts) -> Result<Deliveries> {
        let delivery = &self.arguments.delivery;
        let owner = match &delivery.owner {
            Some(owner) => Ok(owner.clone()),
            None => owner(&self.connection).await.ok_or_else(|| UNKNOWN_CLUSTER.into()),
        };
        self.forbidden.known().await;
        let guard = Arc::new(delivery.targets.guard(self.forbidden.clone())?);
        let circumstances = Circumstances {
            owner,
            eyes: delivery.eyes(&guard),
            guard,
            fence: Arc::new(Leads {
                leadership: self.leadership.clone(),
                most: self.arguments.leader_election_renew_deadline / 2,
            }),
            secrets: self.secrets.clone(),
            secret_changes: self.secrets.changes(),
            retry: delivery.retry(),
            health_interval: delivery.health_check_interval,
            drift_interval: delivery.drift_interval,
            counts,
        };
        Ok(Deliveries::new(circumstances, Memory::elsewhere()))
    }
}

/// What tells this cluster from others; nothing where we may not know. Waits for the API server.
pub(crate) async fn owner(connection: &Connection) -> Option<String> {
    let namespaces: Api<Namespace> = Api::all(connection.client.clone());
    loop {
        match tokio::time::timeout(TIMEOUT, namespaces.get(ETERNAL)).await {
            Ok(Ok(namespace)) => return namespace.metadata.uid.map(|uid| format!("cluster-{uid}")),
            Ok(Err(kube::Error::Api(status))) if status.code == 403 => {
                tracing::warn!(
                    "the namespace {ETERNAL} cannot be read: nothing is written to providers without --owner"
                );
                return None;
            }
            // A cluster that has just been made has it in a moment.
            _ => tokio::time::sleep(AGAIN).await,
        }
    }
}
