//! Directing Placements in the operator: only while it leads, with the Secrets that tenants may use.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use api::placement::Placement;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use planner::ObjectRef;
use serde_json::json;

use super::Operator;
use crate::directing::{Directing, Done, SWITCHOVER, SWITCHOVER_FORCE};
use crate::instance::Instance;
use crate::witness::Means;

/// How long one attempt to take an annotation away may take, how long until the next, and how many.
const TIMEOUT: Duration = Duration::from_secs(5);
const AGAIN: Duration = Duration::from_secs(2);
const ATTEMPTS: usize = 10;

impl Operator<'_> {
    /// Directs nothing yet.
    pub(super) fn directing(&self, instance: &Instance) -> Result<Directing> {
        let guard = self.arguments.delivery.targets.guard(self.forbidden.clone())?;
        let means = Means { secrets: self.secrets.clone(), guard: Arc::new(guard), tenants: true };
        let board = instance.directions.clone();
        let leadership = self.leadership.clone();
        board.led_by(move || leadership.may_send(Duration::ZERO));
        // What was before stands in the statuses.
        let directing = Directing::new(means, self.secrets.changes(), board, BTreeMap::new());
        Ok(directing.on_done(done(self.connection.client.clone())))
    }
}

/// Takes the annotation away that ordered a switchover.
fn done(client: Client) -> Done {
    Arc::new(move |object: &ObjectRef| {
        let api: Api<Placement> = Api::namespaced(client.clone(), &object.namespace);
        tokio::spawn(take_away(api, object.name.to_string()));
    })
}

async fn take_away(api: Api<Placement>, name: String) {
    let patch =
        Patch::Merge(json!({ "metadata": { "annotations": { SWITCHOVER: null, SWITCHOVER_FORCE: null } } }));
    let parameters = PatchParams::default();
    for _ in 0..ATTEMPTS {
        let sent = api.patch_metadata(&name, &parameters, &patch);
        match tokio::time::timeout(TIMEOUT, sent).await {
            Ok(Ok(_)) => return,
            Ok(Err(kube::Error::Api(status))) if matches!(status.code, 403 | 404) => {
                tracing::warn!(name, code = status.code, "the annotation {SWITCHOVER} cannot be taken away");
                return;
            }
            _ => tokio::time::sleep(AGAIN).await,
        }
    }
}
