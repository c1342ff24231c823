//! Looks at the installed CRDs: an operator that is newer than they are says so, and uses what is there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::Request;
use kube::Client;
use serde_json::Value;

const LOOK_AGAIN: Duration = Duration::from_secs(600);
const TIMEOUT: Duration = Duration::from_secs(10);
/// How many fields are named in the log; the rest is counted.
const MOST_NAMED: usize = 5;

/// The fields that installed CRDs lack, by CRD; clones show the same.
#[derive(Clone, Debug, Default)]
pub struct Outdated(Arc<Mutex<BTreeMap<String, usize>>>);

impl Outdated {
    /// How many fields each installed CRD lacks.
    pub fn counts(&self) -> BTreeMap<String, usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn note(&self, name: &str, missing: &BTreeSet<String>) {
        let before =
            self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), missing.len());
        if missing.is_empty() || before == Some(missing.len()) {
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
        tokio::time::sleep(LOOK_AGAIN).await;
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
}
