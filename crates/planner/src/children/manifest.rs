//! The manifests of child objects.

use api::{Kind, Object, Spec};
use dns::{Name, Rdata, Rtype};
use serde_json::{Value, json};

use super::{ChildRef, gateway_of, label_value};
use crate::marks::{CONTROLLER_ANNOTATIONS, CONTROLLER_LABEL, MANAGED_BY, MANAGER, REGION_LABEL};
use crate::output::{ChildSeed, Claim, Outcome};
use crate::planner::{Evaluated, Planner};
use crate::snapshot::Id;

impl Planner {
    pub(super) fn dns_endpoint(&self, id: Id, child: &ChildRef) -> Option<Value> {
        let (object, evaluated) = (self.snapshot.object(id)?, self.evaluated(id)?);
        let named = |number: &usize| self.child_name(id, object, evaluated, *number) == child.name;
        let number = (0..evaluated.output.children.len()).find(named)?;
        let seed = &evaluated.output.children[number];
        let claims = self.standing_claims(id, evaluated, seed);
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
            "spec": { "endpoints": endpoints(&claims) },
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
        REGION_LABEL: value(&seed.region),
    });
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

fn endpoints(claims: &[&Claim]) -> Vec<Value> {
    let mut sorted: Vec<_> = claims.iter().collect();
    sorted.sort_by_key(|claim| (&claim.name, claim.rtype));
    let endpoint = |claim: &&&Claim| {
        json!({
            "dnsName": claim.name.undotted(),
            "recordType": claim.rtype.to_string(),
            "targets": claim.data.iter().map(target).collect::<Vec<_>>(),
        })
    };
    sorted.iter().map(endpoint).collect()
}

/// A target as ExternalDNS wants it: without the final dot.
fn target(data: &Rdata) -> String {
    match data.rtype() {
        Rtype::CNAME => data.target().as_ref().map_or_else(|| data.to_string(), Name::undotted),
        _ => data.to_string(),
    }
}
