//! A child object as it stands in the cluster: whose it is, and a fingerprint of what we would set.
//!
//! Only the fields that the plan sets are compared. What others add beside them is theirs.

use std::collections::BTreeMap;

use api::{Kind, Lookup};
use planner::ChildKind;
use planner::marks::MANAGED_BY;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::fingerprint::fingerprint;

/// Our name among the managers of fields.
pub const MANAGER: &str = "fingerpost";

/// The content of every default policy: none is written twice.
const UNCHANGED: u64 = 0;

/// What a child in the cluster says, as far as we are concerned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildSeen {
    /// Whether we made it: it has an owner of ours, or we are a manager of its fields.
    pub ours: bool,
    /// The fingerprint of what we would set.
    pub content: u64,
    /// The kinds of its owners, as far as they are ours.
    pub owners: Box<[Kind]>,
}

#[derive(Deserialize)]
struct Child {
    metadata: Metadata,
    #[serde(default)]
    spec: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    #[serde(default)]
    owner_references: Vec<Owner>,
    #[serde(default)]
    managed_fields: Vec<Manager>,
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct Owner {
    api_version: String,
    kind: String,
    name: String,
    #[serde(default)]
    uid: String,
}

impl Owner {
    /// Whether its kind is ours: of somebody else's objects, others may make children too.
    fn is_ours(&self) -> bool {
        matches!(Kind::lookup(&self.api_version, &self.kind), Lookup::Known(kind) if kind.is_ours())
    }
}

#[derive(Deserialize)]
struct Manager {
    #[serde(default)]
    manager: String,
}

impl ChildSeen {
    /// Reads a child.
    pub fn parse(kind: ChildKind, text: &str) -> Result<ChildSeen, serde_json::Error> {
        if kind == ChildKind::DefaultPolicy {
            return ChildSeen::default_policy(serde_json::from_str(text)?);
        }
        serde_json::from_str(text).map(|child| ChildSeen::of(kind, child))
    }

    /// The fingerprint of a child as it is planned.
    pub fn planned(kind: ChildKind, manifest: Value) -> Option<u64> {
        if kind == ChildKind::DefaultPolicy {
            return Some(UNCHANGED);
        }
        serde_json::from_value(manifest).ok().map(|child| ChildSeen::of(kind, child).content)
    }

    /// A policy is ours while it is as we made it, whoever manages its status. It is made once, so that it
    /// never differs from what we would set.
    fn default_policy(mut manifest: Value) -> Result<ChildSeen, serde_json::Error> {
        api::prune(Kind::KuadrantDNSPolicy, &mut manifest);
        let policy = api::decode(Kind::KuadrantDNSPolicy, manifest).ok();
        let ours = policy.is_some_and(|policy| planner::is_default_policy(&policy));
        Ok(ChildSeen { ours, owners: Box::new([]), content: UNCHANGED })
    }

    fn of(kind: ChildKind, mut child: Child) -> ChildSeen {
        let metadata = &mut child.metadata;
        let managed = metadata.managed_fields.iter().any(|one| one.manager == MANAGER);
        metadata.owner_references.retain(|owner| planner::is_child_owner(&owner.api_version));
        let ours = managed || metadata.owner_references.iter().any(Owner::is_ours);
        let owners = metadata.owner_references.iter().filter_map(|owner| {
            match Kind::lookup(&owner.api_version, &owner.kind) {
                Lookup::Known(kind) => Some(kind),
                _ => None,
            }
        });
        let owners = owners.collect();
        ChildSeen { ours, owners, content: fingerprint(&content(kind, child)) }
    }
}

/// The fields of a child that we set, in one order, as a manifest without its head.
pub fn own_fields(kind: ChildKind, manifest: Value) -> Option<Value> {
    let mut child: Child = serde_json::from_value(manifest).ok()?;
    child.metadata.owner_references.retain(|owner| planner::is_child_owner(&owner.api_version));
    Some(content(kind, child))
}

/// What is ours of an object's status: all of it where the kind is ours, else the conditions that we set.
pub fn own_status(kind: Kind, status: Value) -> Value {
    if kind.is_ours() {
        return status;
    }
    let conditions = status.get("conditions").and_then(Value::as_array).into_iter().flatten();
    let own = |condition: &&Value| condition["type"].as_str().is_some_and(planner::is_own_condition);
    match conditions.filter(own).cloned().collect::<Vec<_>>() {
        none if none.is_empty() => json!({}),
        own => json!({ "conditions": own }),
    }
}

fn content(kind: ChildKind, child: Child) -> Value {
    let Metadata { mut labels, mut annotations, mut owner_references, .. } = child.metadata;
    owner_references.sort_by(|one, other| (&one.kind, &one.name).cmp(&(&other.kind, &other.name)));
    let mut spec = child.spec;
    match kind {
        ChildKind::DNSEndpoint => {
            labels.retain(|key, _| planner::is_child_label(key));
            annotations.retain(|key, _| planner::is_child_annotation(key));
            spec.retain(|key, _| key == "endpoints");
        }
        ChildKind::DefaultPolicy => {
            labels.retain(|key, _| key == MANAGED_BY);
            annotations.clear();
        }
        ChildKind::IstioGateway => {
            labels.clear();
            annotations.clear();
            spec.retain(|key, _| key == "selector" || key == "servers");
            if let Some(Value::Object(selector)) = spec.get_mut("selector") {
                selector.retain(|key, _| key == "istio");
            }
        }
    }
    let metadata =
        json!({ "labels": labels, "annotations": annotations, "ownerReferences": owner_references });
    json!({ "metadata": metadata, "spec": spec })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn gateway(change: impl FnOnce(&mut Value)) -> ChildSeen {
        let mut manifest = json!({
            "metadata": {
                "name": "edge",
                "ownerReferences": [{ "apiVersion": "routing.router.io/v1alpha1", "kind": "Gateway", "name": "edge", "uid": "1" }],
            },
            "spec": { "selector": { "istio": "a" }, "servers": [{ "hosts": ["x"] }] },
        });
        change(&mut manifest);
        ChildSeen::parse(ChildKind::IstioGateway, &manifest.to_string()).unwrap()
    }

    #[test]
    fn what_others_add_is_not_seen_and_what_they_change_is() {
        let plain = gateway(|_| {});
        assert!(plain.ours);
        assert_eq!(gateway(|child| child["metadata"]["labels"] = json!({ "team": "x" })), plain);
        assert_eq!(gateway(|child| child["spec"]["selector"]["zone"] = json!("b")), plain);
        let foreign_owner = json!({ "apiVersion": "v1", "kind": "ConfigMap", "name": "x", "uid": "2" });
        let added = |child: &mut Value| {
            child["metadata"]["ownerReferences"].as_array_mut().unwrap().push(foreign_owner);
        };
        assert_eq!(gateway(added), plain);
        assert_ne!(gateway(|child| child["spec"]["selector"]["istio"] = json!("b")).content, plain.content);
        assert_ne!(gateway(|child| child["spec"]["servers"] = json!([])).content, plain.content);
        assert_ne!(gateway(|child| child["metadata"]["ownerReferences"] = json!([])).content, plain.content);
    }

    #[test]
    fn a_child_is_ours_by_its_owner_or_by_our_hand_in_it() {
        let orphan = |child: &mut Value| child["metadata"]["ownerReferences"] = json!([]);
        assert!(!gateway(orphan).ours);
        let managed = |child: &mut Value| {
            orphan(child);
            child["metadata"]["managedFields"] = json!([{ "manager": "fingerpost", "fieldsV1": {} }]);
        };
        assert!(gateway(managed).ours);
    }
}
