//! The objects that Fingerpost is about: all of them at once, to compare and to remove.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::{Value, json};

use super::{Api, Cluster};

/// Where the lists of all kinds are that Fingerpost owns or writes.
const LISTS: [&str; 13] = [
    "/apis/cluster.router.io/v1alpha1/clusteridentities",
    "/apis/cluster.router.io/v1alpha1/dnsconfigurations",
    "/apis/routing.router.io/v1alpha1/gateways",
    "/apis/routing.router.io/v1alpha1/dnspolicies",
    "/apis/routing.router.io/v1alpha1/serviceroutes",
    "/apis/kuadrant.io/v1alpha1/dnspolicies",
    "/apis/dns.homelab.mortenolsen.pro/v1alpha1/dnsclasses",
    "/apis/dns.homelab.mortenolsen.pro/v1alpha1/dnsrecords",
    "/apis/kubi.zone/v1alpha1/zones",
    "/apis/kubi.zone/v1alpha1/records",
    "/apis/fingerpost.dev/v1alpha1/placements",
    "/apis/externaldns.k8s.io/v1alpha1/dnsendpoints",
    "/apis/networking.istio.io/v1/gateways",
];

/// The annotation of a Namespace that grants domains to it.
const GRANTS: &str = "fingerpost.dev/domains";

/// Fields that differ between two runs of the same thing: identities, versions, times and serials.
///
/// A serial counts changes, and how many of them fall together is not decided by the world.
const PASSING: [&str; 11] = [
    "uid",
    "resourceVersion",
    "generation",
    "observedGeneration",
    "creationTimestamp",
    "deletionTimestamp",
    "managedFields",
    "lastTransitionTime",
    "lastUpdateTime",
    "serial",
    "kubectl.kubernetes.io/last-applied-configuration",
];

/// The objects of a cluster by `Kind.group namespace/name`, without what passes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Objects(pub BTreeMap<String, Value>);

impl Cluster {
    /// Every object of our kinds and every child, as they are now.
    pub fn objects(&self) -> Result<Objects> {
        let api = self.api();
        let mut objects = Objects::default();
        for object in all(&api)? {
            objects.add(object);
        }
        Ok(objects)
    }

    /// Removes every object of our kinds, every child, every Service of a test, every domain grant, and what an
    /// operator keeps.
    pub fn remove_objects(&self) -> Result<()> {
        let api = self.api();
        let hooks = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
        api.delete(&format!("{hooks}/fingerpost"))?;
        for object in all(&api)?.iter().chain(&kept(&api)?) {
            release(&api, object)?;
        }
        withdraw_grants(&api)?;
        self.wait_for("the objects to go", |api| Ok(all(api)?.is_empty().then_some(())))
    }
}

impl Objects {
    /// Adds an object under its key, without what passes.
    pub fn add(&mut self, mut object: Value) {
        let key = key(&object);
        settle(&mut object);
        self.0.insert(key, object);
    }

    /// What is different in another set, in words; empty where nothing is.
    pub fn differences(&self, other: &Objects) -> Vec<String> {
        let keys = self.0.keys().chain(other.0.keys().filter(|key| !self.0.contains_key(*key)));
        let differing = keys.filter(|key| self.0.get(*key) != other.0.get(*key));
        let show = |object: Option<&Value>| object.map_or("nothing".to_owned(), Value::to_string);
        differing
            .map(|key| format!("{key}\n  {}\n  {}", show(self.0.get(key)), show(other.0.get(key))))
            .collect()
    }
}

fn all(api: &Api) -> Result<Vec<Value>> {
    let lists = LISTS.iter().map(|path| api.list_whole(path)).collect::<Result<Vec<_>>>()?;
    Ok(lists.concat())
}

/// What an operator keeps beside the objects, and the Services, Gateways and ManagedClusters that tests made.
fn kept(api: &Api) -> Result<Vec<Value>> {
    let named = |object: &Value, name: &str| object["metadata"]["name"] == name;
    let mut kept = api.list_whole("/api/v1/services")?;
    kept.retain(|service| !named(service, "kubernetes"));
    kept.extend(api.list_whole("/apis/gateway.networking.k8s.io/v1/gateways")?);
    kept.extend(api.list_whole("/apis/cluster.open-cluster-management.io/v1/managedclusters")?);
    let configs = api.list_whole("/api/v1/configmaps")?;
    kept.extend(configs.into_iter().filter(|object| named(object, "fingerpost-serials")));
    let leases = api.list_whole("/apis/coordination.k8s.io/v1/leases")?;
    kept.extend(leases.into_iter().filter(|object| named(object, "fingerpost-operator")));
    Ok(kept)
}

/// Removes the domain grants of all Namespaces: these are never deleted, and a grant binds every test.
fn withdraw_grants(api: &Api) -> Result<()> {
    for namespace in api.list_whole("/api/v1/namespaces")? {
        if !namespace["metadata"]["annotations"][GRANTS].is_null() {
            let withdrawn = json!({"metadata": {"annotations": {GRANTS: null}}});
            api.merge(&api.path_of(&namespace)?, &withdrawn)?;
        }
    }
    Ok(())
}

fn release(api: &Api, object: &Value) -> Result<()> {
    let path = api.path_of(object)?;
    if object["metadata"]["finalizers"].is_array() {
        // Whoever set them is not running any more.
        let _ = api.merge(&path, &json!({"metadata": {"finalizers": null}}));
    }
    api.delete(&path)
}

fn key(object: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let group = text(&object["apiVersion"]);
    let group = group.rsplit_once('/').map_or("", |(group, _)| group);
    let metadata = &object["metadata"];
    format!("{}.{group} {}/{}", text(&object["kind"]), text(&metadata["namespace"]), text(&metadata["name"]))
}

/// Takes out what passes, at every depth, and the serial out of SOA records.
fn settle(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !PASSING.contains(&name.as_str()));
            if fields.get("type").is_some_and(|kind| kind == "SOA") {
                fields.remove("rdata");
            }
            fields.values_mut().for_each(settle);
            fields.retain(|_, field| !field.as_object().is_some_and(serde_json::Map::is_empty));
        }
        Value::Array(items) => items.iter_mut().for_each(settle),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    fn zone(uid: &str, hash: &str) -> Value {
        json!({"apiVersion": "kubi.zone/v1alpha1", "kind": "Zone",
            "metadata": {"name": "a", "namespace": "n", "uid": uid},
            "status": {"hash": hash, "serial": 7, "entries": [{"type": "SOA", "rdata": uid}]}})
    }

    fn objects(object: Value) -> Objects {
        let mut objects = Objects::default();
        objects.add(object);
        objects
    }

    #[test]
    fn what_passes_is_no_difference_and_what_stays_is() {
        let first = objects(zone("1", "x"));
        assert_eq!(first.differences(&objects(zone("2", "x"))), Vec::<String>::new());
        let differences = first.differences(&objects(zone("1", "y")));
        assert!(differences[0].starts_with("Zone.kubi.zone n/a\n"), "{differences:?}");
        assert_eq!(first.differences(&Objects::default()).len(), 1);
    }
}
