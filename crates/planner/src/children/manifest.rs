//! The manifests of child objects.

use api::{Kind, Object, Spec};
use dns::{Rdata, Rtype};
use serde_json::{Value, json};

use super::told::tree;
use super::{ChildRef, ChildSet, gateway_of, label_value};
use crate::front::kuadrant_policy::default_policy;
use crate::marks::{
    CONTROLLER_ANNOTATIONS, CONTROLLER_LABEL, DEFAULT_MANAGER, MANAGED_BY, MANAGER, REGION_LABEL,
};
use crate::output::{ChildSeed, Outcome};
use crate::planner::{Evaluated, Planner};
use crate::record_tree::TreeOwner;
use crate::record_tree::TreeSet;
use crate::snapshot::Id;

impl Planner {
    pub(super) fn dns_endpoint(&self, id: Id, child: &ChildRef) -> Option<Value> {
        let (object, evaluated) = (self.snapshot.object(id)?, self.evaluated(id)?);
        let named = |number: &usize| self.child_name(id, object, evaluated, *number) == child.name;
        let number = (0..evaluated.output.children.len()).find(named)?;
        let seed = &evaluated.output.children[number];
        let sets = self.child_sets(id, evaluated, seed);
        Some(json!({
            "apiVersion": "externaldns.k8s.io/v1alpha1",
            "kind": "DNSEndpoint",
            "metadata": {
                "name": child.name,
                "namespace": child.namespace,
                "labels": labels(object, seed),
                "annotations": annotations(seed),
                "ownerReferences": owners(object, evaluated),
            },
            "spec": { "endpoints": endpoints(object, &sets, &evaluated.output.outcome) },
        }))
    }

    /// It is labelled as ours and has no owner: it is the user's once it is edited, whatever becomes of the
    /// gateway.
    pub(super) fn default_policy(&self, id: Id, child: &ChildRef) -> Option<Value> {
        let gateway = &self.snapshot.object(id)?.meta.name;
        let spec = default_policy(gateway);
        Some(json!({
            "apiVersion": Kind::KuadrantDNSPolicy.api_version(),
            "kind": Kind::KuadrantDNSPolicy.kind(),
            "metadata": {
                "name": child.name,
                "namespace": child.namespace,
                "labels": { MANAGED_BY: DEFAULT_MANAGER },
            },
            "spec": spec,
        }))
    }

    pub(super) fn istio_gateway(&self, id: Id, child: &ChildRef) -> Option<Value> {
        let object = self.snapshot.object(id)?;
        let Spec::Gateway(spec) = &object.spec else { return None };
        let mut tls = json!({ "mode": "SIMPLE" });
        if let Some(credential) = &spec.credential_name {
            tls["credentialName"] = json!(credential);
        }
        Some(json!({
            "apiVersion": "networking.istio.io/v1",
            "kind": "Gateway",
            "metadata": {
                "name": child.name,
                "namespace": child.namespace,
                "ownerReferences": [owner(Kind::Gateway, &object.meta.name, object.meta.uid.as_deref())],
            },
            "spec": {
                "selector": { "istio": spec.controller },
                "servers": [{
                    "port": { "number": 443, "name": "https", "protocol": "HTTPS" },
                    "tls": tls,
                    "hosts": self.hosts.get(&gateway_of(child))?.sorted(),
                }],
            },
        }))
    }
}

fn owners(object: &Object, evaluated: &Evaluated) -> Vec<Value> {
    match &evaluated.output.outcome {
        Outcome::Gateway(outcome) => {
            let owners = outcome.owners.iter();
            owners.map(|one| owner(Kind::Gateway, &one.name, one.uid.as_deref())).collect()
        }
        _ => vec![owner(object.kind(), &object.meta.name, object.meta.uid.as_deref())],
    }
}

fn owner(kind: Kind, name: &str, uid: Option<&str>) -> Value {
    let mut owner = json!({ "apiVersion": kind.api_version(), "kind": kind.kind(), "name": name });
    if let Some(uid) = uid {
        owner["uid"] = json!(uid);
    }
    owner
}

fn labels(object: &Object, seed: &ChildSeed) -> Value {
    let value = |text: &str| Value::String(label_value(text));
    let mut labels = json!({
        MANAGED_BY: MANAGER,
        CONTROLLER_LABEL: value(&seed.controller),
    });
    if seed.is_of_class() {
        return labels;
    }
    labels[REGION_LABEL] = value(&seed.region);
    match &object.spec {
        Spec::Gateway(spec) => {
            labels["router.io/istio-controller"] = value(&spec.controller);
            labels["router.io/target-postfix"] = value(&spec.target_postfix);
            labels["router.io/resource-type"] = value("gateway-service");
        }
        _ => {
            labels["router.io/serviceroute"] = value(&object.meta.name);
            labels["router.io/source-namespace"] = value(&object.meta.namespace);
        }
    }
    labels
}

fn annotations(seed: &ChildSeed) -> Value {
    CONTROLLER_ANNOTATIONS.iter().map(|key| ((*key).to_owned(), json!(seed.controller))).collect()
}

/// The endpoints of a child by name: a tree for a name that is steered, else its sets as they are.
fn endpoints(object: &Object, sets: &[ChildSet<'_>], outcome: &Outcome) -> Vec<Value> {
    let mut sorted: Vec<&ChildSet<'_>> = sets.iter().collect();
    sorted.sort_by_key(|set| (&set.claim.name, set.claim.rtype));
    let settings: Vec<Value> = match outcome {
        Outcome::DnsRecord(outcome) => {
            let settings = outcome.properties.iter();
            settings.map(|(name, value)| json!({ "name": name, "value": value })).collect()
        }
        _ => Vec::new(),
    };
    let owner = TreeOwner::of(object);
    let names = sorted.chunk_by(|one, other| one.claim.name == other.claim.name);
    names.flat_map(|sets| endpoints_of_name(&owner, sets, &settings)).collect()
}

fn endpoints_of_name(owner: &TreeOwner, sets: &[&ChildSet<'_>], settings: &[Value]) -> Vec<Value> {
    match tree(owner, sets) {
        Some(tree) => tree.iter().map(tree_endpoint).collect(),
        None => sets.iter().map(|set| endpoint(set, settings)).collect(),
    }
}

fn endpoint(set: &ChildSet<'_>, settings: &[Value]) -> Value {
    let mut endpoint = json!({
        "dnsName": set.claim.name.undotted(),
        "recordType": set.claim.rtype.to_string(),
        "targets": set.flat().iter().map(target).collect::<Vec<_>>(),
    });
    if let Some(ttl) = set.ttl {
        endpoint["recordTTL"] = json!(ttl);
    }
    if !settings.is_empty() {
        endpoint["providerSpecific"] = json!(settings);
    }
    endpoint
}

fn tree_endpoint(set: &TreeSet) -> Value {
    let mut endpoint = json!({
        "dnsName": set.name.undotted(),
        "recordType": set.rtype.to_string(),
        "targets": set.data.iter().map(target).collect::<Vec<_>>(),
        "recordTTL": set.ttl,
    });
    if let Some(identifier) = &set.identifier {
        endpoint["setIdentifier"] = json!(identifier);
    }
    if let Some((name, value)) = &set.property {
        endpoint["providerSpecific"] = json!([{ "name": name, "value": value }]);
    }
    endpoint
}

/// A target as ExternalDNS wants it: text as it is, and names without the final dot, but for SRV.
fn target(data: &Rdata) -> String {
    let text = data.to_string();
    match data.rtype() {
        Rtype::TXT => plain_text(data),
        Rtype::CNAME | Rtype::NS | Rtype::PTR | Rtype::MX if text.len() > 1 => {
            text.strip_suffix('.').map(str::to_owned).unwrap_or(text)
        }
        _ => text,
    }
}

/// The strings of a TXT record as one text.
fn plain_text(data: &Rdata) -> String {
    let (mut text, mut rest) = (Vec::new(), data.wire());
    while let Some((length, after)) = rest.split_first() {
        let (string, after) = after.split_at(usize::from(*length).min(after.len()));
        text.extend_from_slice(string);
        rest = after;
    }
    String::from_utf8_lossy(&text).into_owned()
}
