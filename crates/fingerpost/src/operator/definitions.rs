//! Looks at the installed CRDs: an operator that is newer than they are says so, and uses what is there.
//!
//! The API server refuses an apply with a field that the CRD does not have, so such fields are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use api::Kind;
use http::Request;
use kube::Client;
use serde_json::Value;
use tokio::sync::Notify;

use crate::cluster::Subject;

const LOOK_AGAIN: Duration = Duration::from_secs(600);
/// Between two looks at least, however often a look is asked for.
const PAUSE: Duration = Duration::from_secs(1);
const TIMEOUT: Duration = Duration::from_secs(10);
/// How many fields are named in the log; the rest is counted.
const MOST_NAMED: usize = 5;

/// The fields that installed CRDs lack, by CRD; clones show the same.
#[derive(Clone, Debug, Default)]
pub struct Outdated(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    missing: Mutex<BTreeMap<String, BTreeSet<String>>>,
    asked: Notify,
}

impl Outdated {
    /// How many fields each installed CRD lacks.
    pub fn counts(&self) -> BTreeMap<String, usize> {
        self.missing().iter().map(|(name, fields)| (name.clone(), fields.len())).collect()
    }

    /// A status without the fields that the installed CRD does not have.
    pub fn known_part(&self, kind: Kind, mut status: Value) -> Value {
        if let Some(fields) =
            self.missing().get(&Subject::Kind(kind).qualified()).filter(|all| !all.is_empty())
        {
            leave_out(&mut status, "status", fields);
        }
        status
    }

    /// Asks for another look, because the API server does not know a field.
    pub fn look_again(&self) {
        self.0.asked.notify_one();
    }

    fn missing(&self) -> MutexGuard<'_, BTreeMap<String, BTreeSet<String>>> {
        self.0.missing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, name: &str, missing: &BTreeSet<String>) {
        let before = self.missing().insert(name.to_owned(), missing.clone());
        if missing.is_empty() || before.as_ref() == Some(missing) {
            return;
        }
        let named: Vec<&str> = missing.iter().take(MOST_NAMED).map(String::as_str).collect();
        let more = missing.len() - named.len();
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        tracing::warn!(
            crd = name,
            "the installed CRD is older than this operator and lacks {}{more}; what it has is used: \
             apply the newer one with `fingerpost crds | kubectl apply --server-side -f -`",
            named.join(", ")
        );
    }
}

/// Compares the installed CRDs with ours, again and again, until the process ends.
pub async fn watch(client: Client, outdated: Outdated) {
    let ours: Vec<Value> = api::crds().iter().filter_map(|crd| serde_json::to_value(crd).ok()).collect();
    loop {
        for crd in &ours {
            let name = crd["metadata"]["name"].as_str().unwrap_or_default();
            if let Some(installed) = installed(&client, name).await {
                outdated.note(name, &missing(crd, &installed));
            }
        }
        tokio::time::sleep(PAUSE).await;
        // Asked or not, it is time to look again.
        let _ = tokio::time::timeout(LOOK_AGAIN, outdated.0.asked.notified()).await;
    }
}

/// Removes the fields of these paths; a path has `[]` for the items of a list and `{}` for those of a map.
fn leave_out(value: &mut Value, path: &str, fields: &BTreeSet<String>) {
    match value {
        Value::Object(inner) => {
            inner.retain(|name, _| !fields.contains(&format!("{path}.{name}")));
            for (name, field) in inner {
                leave_out(field, &format!("{path}.{name}"), fields);
                leave_out(field, &format!("{path}{{}}"), fields);
            }
        }
        Value::Array(items) => {
            items.iter_mut().for_each(|item| leave_out(item, &format!("{path}[]"), fields));
        }
        _ => {}
    }
}

/// The CRD as it is installed; a missing one is the watches' affair.
async fn installed(client: &Client, name: &str) -> Option<Value> {
    let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
    let request = Request::get(path).body(Vec::new()).ok()?;
    match tokio::time::timeout(TIMEOUT, client.request::<Value>(request)).await {
        Ok(Ok(crd)) => Some(crd),
        Ok(Err(kube::Error::Api(status))) if status.code == 404 => None,
        Ok(Err(error)) => {
            tracing::debug!(crd = name, "cannot be read: {error}");
            None
        }
        Err(_) => None,
    }
}

/// The fields that ours has and the installed one has not.
fn missing(ours: &Value, installed: &Value) -> BTreeSet<String> {
    fields(ours).difference(&fields(installed)).cloned().collect()
}

fn fields(crd: &Value) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for version in crd["spec"]["versions"].as_array().into_iter().flatten() {
        collect(&version["schema"]["openAPIV3Schema"], String::new(), &mut found);
    }
    found
}

fn collect(schema: &Value, path: String, found: &mut BTreeSet<String>) {
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        found.insert(path.clone());
        collect(inner, path, found);
    }
    for (key, mark) in [("items", "[]"), ("additionalProperties", "{}")] {
        if schema[key].is_object() {
            collect(&schema[key], format!("{path}{mark}"), found);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use serde_json::json;

    #[test]
    fn an_older_crd_is_told_by_the_fields_it_lacks() {
        let ours = serde_json::to_value(&api::crds()[0]).unwrap();
        assert!(missing(&ours, &ours).is_empty());
        let mut older = ours.clone();
        let spec = &mut older["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"];
        spec.as_object_mut().unwrap().remove("adoptsRegions").unwrap();
        assert_eq!(missing(&ours, &older), BTreeSet::from(["spec.adoptsRegions".to_owned()]));
        assert!(missing(&older, &ours).is_empty(), "a newer CRD is fine");
    }

    #[test]
    fn what_a_crd_does_not_have_is_left_out_at_every_depth() {
        let outdated = Outdated::default();
        let missing = ["status.entryCount", "status.entries[].ttl", "status.regions{}.since"];
        outdated.note("zones.kubi.zone", &missing.map(str::to_owned).into());
        let status = json!({ "serial": 7, "entryCount": 1, "entries": [{ "ttl": 5, "type": "A" }],
            "regions": { "weu": { "since": 1, "up": true } } });
        let known =
            json!({ "serial": 7, "entries": [{ "type": "A" }], "regions": { "weu": { "up": true } } });
        assert_eq!(outdated.known_part(Kind::Zone, status.clone()), known);
        assert_eq!(outdated.known_part(Kind::Record, status.clone()), status, "another CRD");
    }
}
