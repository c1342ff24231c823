//! The core Service: what a gateway's load balancer was given as addresses.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::addresses::{Rejected, is_address, is_host_name};
use super::other_fields::{MisspeltField, OtherFields, belongs_to_metadata};
use crate::Published;
use crate::meta::ForeignMetadata;
use crate::object::{Body, Manifest};
use crate::{Meta, Problem};

const LOAD_BALANCER: &str = "LoadBalancer";

/// A Service, as far as its load balancer goes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Service {
    /// Whether `spec.type` is `LoadBalancer`.
    pub load_balancer: bool,
    /// The addresses in `status.loadBalancer.ingress`, in order.
    pub ingress: Vec<Ingress>,
    /// What is ignored there.
    #[serde(skip)]
    pub rejected: Rejected,
    /// Misspelt parts of the object.
    #[serde(skip)]
    pub(super) mistakes: Vec<Problem>,
}

/// One address of a load balancer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ingress {
    /// Its IP address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ip: Option<String>,
    /// Its host name, where the provider gives no address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
}

impl Ingress {
    pub(super) fn address(&self) -> Option<IpAddr> {
        self.ip.as_ref()?.parse().ok()
    }
}

impl Service {
    /// Adds what an entry of the status has; what is no address is put aside.
    fn add(&mut self, Ingress { ip, hostname }: Ingress) {
        if ip.is_none() && hostname.is_none() {
            self.rejected.empty += 1;
            return;
        }
        let (ip, bad_ip) = sorted(ip, is_address);
        let (hostname, bad_hostname) = sorted(hostname, is_host_name);
        self.rejected.texts.extend(bad_ip.into_iter().chain(bad_hostname));
        if ip.is_some() || hostname.is_some() {
            self.ingress.push(Ingress { ip, hostname });
        }
    }
}

/// A text that is good, or else bad.
fn sorted(text: Option<String>, is_good: fn(&str) -> bool) -> (Option<String>, Option<String>) {
    match text {
        Some(text) if is_good(&text) => (Some(text), None),
        bad => (None, bad),
    }
}

impl Body for Service {
    type Manifest = ServiceManifest;

    fn write(&self) -> Value {
        let kind = if self.load_balancer { LOAD_BALANCER } else { "ClusterIP" };
        json!({ "spec": { "type": kind }, "status": { "loadBalancer": { "ingress": self.ingress } } })
    }

    fn validate(&self, _: &Meta) -> Vec<Problem> {
        Vec::new()
    }
}

/// A Service as it is read.
#[derive(Deserialize)]
pub(crate) struct ServiceManifest {
    metadata: ForeignMetadata,
    spec: Option<Spec>,
    status: Option<Status>,
    #[serde(default, rename = "namespace", deserialize_with = "belongs_to_metadata")]
    _namespace: (),
    #[serde(flatten)]
    others: OtherFields,
}

impl ServiceManifest {
    /// Parts of the object that are misspelt, or have the wrong indentation.
    fn mistakes(&self) -> Vec<Problem> {
        let mut mistakes = self.others.misspelt_parts(self.spec.is_some(), self.status.is_some());
        mistakes.extend(self.others.misplaced("", &["loadBalancer"]));
        mistakes.extend(
            self.spec.iter().flat_map(|spec| spec.others.misplaced("spec", &["loadBalancer", "status"])),
        );
        mistakes
            .extend(self.status.iter().flat_map(|status| status.others.misplaced("status", &["ingress"])));
        mistakes
    }
}

#[derive(Deserialize)]
struct Spec {
    r#type: Option<String>,
    #[serde(flatten)]
    others: OtherFields,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Status {
    load_balancer: Option<LoadBalancer>,
    #[serde(flatten)]
    others: OtherFields,
}

#[derive(Deserialize)]
struct LoadBalancer {
    ingress: Option<Vec<Ingress>>,
    #[serde(flatten)]
    others: OtherFields,
}

impl Status {
    /// The entries of the load balancer, and the fields that stand in their place with a misspelt name.
    fn entries(self) -> (Vec<Ingress>, Vec<MisspeltField>) {
        match self.load_balancer {
            Some(LoadBalancer { ingress: Some(entries), .. }) => (entries, Vec::new()),
            Some(balancer) => (Vec::new(), balancer.others.misspelt("ingress")),
            None => (Vec::new(), self.others.misspelt("loadBalancer")),
        }
    }
}

impl Manifest for ServiceManifest {
    type Body = Service;

    fn open(self) -> (Meta, Service, Option<Published>) {
        let mistakes = self.mistakes();
        let (entries, misspelt) = self.status.map(Status::entries).unwrap_or_default();
        let load_balancer = self.spec.and_then(|spec| spec.r#type).as_deref() == Some(LOAD_BALANCER);
        let mut service = Service { load_balancer, ..Service::default() };
        entries.into_iter().for_each(|entry| service.add(entry));
        service.rejected.fields = misspelt;
        service.mistakes = mistakes;
        (self.metadata.into(), service, None)
    }
}
