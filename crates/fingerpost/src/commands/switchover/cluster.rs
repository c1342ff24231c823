//! A Placement of a cluster, by an annotation that the operator follows.

use std::time::Duration;

use anyhow::{Context, Result};
use api::placement::Placement;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::Place;
use super::state::State;
use crate::cli::SwitchoverArguments;
use crate::cluster::Connection;
use crate::directing::{Delivery, DeliveryState, SWITCHOVER, SWITCHOVER_FORCE};

/// How long one call may take.
const TIMEOUT: Duration = Duration::from_secs(10);

pub(super) struct Cluster {
    runtime: Runtime,
    api: Api<Placement>,
    name: String,
}

impl Cluster {
    pub(super) fn open(arguments: &SwitchoverArguments) -> Result<Cluster> {
        let runtime = Runtime::new().context("cannot start")?;
        let connection = runtime.block_on(Connection::open(&arguments.cluster))?;
        let (namespace, name) = match arguments.placement.split_once('/') {
            Some((namespace, name)) => (namespace.to_owned(), name.to_owned()),
            None => (connection.namespace.clone(), arguments.placement.clone()),
        };
        Ok(Cluster { api: Api::namespaced(connection.client, &namespace), runtime, name })
    }

    fn call<T>(&self, call: impl Future<Output = kube::Result<T>>) -> Result<T> {
        let bounded = async { tokio::time::timeout(TIMEOUT, call).await };
        let answer = self.runtime.block_on(bounded).context("the API server does not answer in time")?;
        answer.with_context(|| format!("the Placement {}", self.name))
    }
}

impl Place for Cluster {
    fn look(&mut self) -> Result<State> {
        let placement = self.call(self.api.get(&self.name))?;
        let status = serde_json::to_value(&placement.status)?;
        let ordered = placement.metadata.annotations.as_ref().and_then(|all| all.get(SWITCHOVER)).cloned();
        Ok(State(json!({
            "witness": placement.spec.witness.is_some(),
            "healthChecked": placement.spec.health_check.is_some(),
            "holder": status["lease"]["holder"],
            "generation": status["lease"]["generation"],
            "active": status["active"],
            "answering": status["answering"],
            "delivery": delivery(&placement, &status),
            "trouble": trouble(&status),
            "switchingTo": ordered,
            "regions": status["regions"],
            "history": status["history"],
        })))
    }

    fn order(&mut self, to: &str, force: bool) -> Result<()> {
        let insists = force.then_some("true");
        let annotations = json!({ SWITCHOVER: to, SWITCHOVER_FORCE: insists });
        let patch = Patch::Merge(json!({ "metadata": { "annotations": annotations } }));
        let parameters = PatchParams::default();
        self.call(self.api.patch_metadata(&self.name, &parameters, &patch)).map(drop)
    }
}

/// Whether what the status answers stands, where it is about the version in force.
fn delivery(placement: &Placement, status: &Value) -> Delivery {
    let delivery = Delivery::of(&status["conditions"]);
    match status["observedGeneration"] == json!(placement.metadata.generation) {
        true => delivery,
        false => {
            let message = "the operator has not looked at the newest version yet".to_owned();
            Delivery { state: DeliveryState::Awaited, message }
        }
    }
}

/// Why the witness cannot be asked, where it cannot.
fn trouble(status: &Value) -> Option<&str> {
    let mut conditions = status["conditions"].as_array()?.iter();
    let witness = conditions.find(|condition| condition["type"] == "Witness")?;
    witness["message"].as_str().filter(|_| witness["reason"] == "Unreachable")
}
