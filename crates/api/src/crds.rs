//! The definitions of our kinds, as an API server takes them.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt;
use serde::Serialize;
use serde_json::{Value, json};

use crate::dnsclass::{DNSClass, DNSClassStatus, DNSRecord, DNSRecordStatus};
use crate::kuadrant::{KuadrantDNSPolicy, KuadrantDNSPolicyStatus};
use crate::kubizone::{Record, RecordStatus, Zone, ZoneStatus};
use crate::placement::{Placement, PlacementStatus};
use crate::router::{
    ClusterIdentity, ClusterIdentityStatus, DNSConfiguration, DNSConfigurationStatus, DNSPolicy,
    DNSPolicyStatus, Gateway, GatewayStatus, ServiceRoute, ServiceRouteStatus,
};

/// The definitions of all our kinds, sorted by name.
pub fn crds() -> Vec<CustomResourceDefinition> {
    let mut crds = vec![
        crd::<ClusterIdentity, ClusterIdentityStatus>(),
        crd::<DNSConfiguration, DNSConfigurationStatus>(),
        crd::<Gateway, GatewayStatus>(),
        crd::<DNSPolicy, DNSPolicyStatus>(),
        crd::<ServiceRoute, ServiceRouteStatus>(),
        crd::<KuadrantDNSPolicy, KuadrantDNSPolicyStatus>(),
        crd::<DNSClass, DNSClassStatus>(),
        crd::<DNSRecord, DNSRecordStatus>(),
        crd::<Zone, ZoneStatus>(),
        crd::<Record, RecordStatus>(),
        crd::<Placement, PlacementStatus>(),
    ];
    crds.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    crds
}

/// All definitions as one YAML stream.
pub fn crds_yaml() -> String {
    crds().iter().map(|crd| format!("---\n{}", crd_yaml(crd))).collect()
}

/// One definition as YAML.
pub fn crd_yaml(crd: &CustomResourceDefinition) -> String {
    serde_saphyr::to_string(crd).unwrap_or_default()
}

/// A kind's definition, with the status that an object has at first sight.
fn crd<K: CustomResourceExt, S: Default + Serialize>() -> CustomResourceDefinition {
    let mut crd = K::crd();
    for version in &mut crd.spec.versions {
        let Some(schema) = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut())
        else {
            continue;
        };
        let mut value = json!(schema);
        value["properties"]["status"]["default"] = json!(S::default());
        tidy(&mut value);
        if let Ok(tidied) = serde_json::from_value(value) {
            *schema = tidied;
        }
    }
    crd
}

/// Takes out of a schema what an API server would stumble over or warn about.
///
/// - `nullable` would keep an explicit null, for which CEL's `has` is true; without it the API
///   server prunes nulls, so that null and absent are the same.
/// - It knows no formats of unsigned integers; their bounds say the same.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            object.remove("nullable");
            if object.get("format").and_then(Value::as_str).is_some_and(|format| format.starts_with("uint")) {
                object.remove("format");
            }
            object.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        _ => {}
    }
}
