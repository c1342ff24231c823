//! The Gateway of the Gateway API: which hosts it listens for, and at which addresses of which clusters.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::addresses::{Rejected, is_address, is_host_name};
use super::other_fields::{OtherFields, belongs_to_metadata};
use crate::Published;
use crate::meta::ForeignMetadata;
use crate::object::{Body, Manifest};
use crate::{Meta, Problem};

/// A Gateway of the Gateway API, as far as names and addresses go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ListenerGateway {
    /// What it listens for, in order.
    pub listeners: Vec<Listener>,
    /// The addresses in its status, in order.
    pub addresses: Vec<GatewayAddress>,
    /// What is ignored there.
    #[serde(skip)]
    pub rejected: Rejected,
    /// What is wrong in it, its status aside.
    #[serde(skip)]
    pub(super) mistakes: Vec<Problem>,
}

/// One listener of a Gateway.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Listener {
    /// Its name.
    pub name: String,
    /// The host that it is for; all of them where it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<String>,
    /// What else it has.
    #[serde(flatten, skip_serializing)]
    pub others: OtherFields,
}

/// One address of a Gateway.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GatewayAddress {
    /// `IPAddress`, `Hostname`, or a type of the gateway's implementation; absent, it is `IPAddress`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
    /// The address.
    pub value: String,
}

impl GatewayAddress {
    /// The cluster that the address is in, where it says so, and the address itself; `None` where the
    /// type is one that nobody told us of.
    pub fn parts(&self) -> Option<(Option<&str>, &str)> {
        match self.r#type.as_deref().unwrap_or("IPAddress") {
            "IPAddress" | "Hostname" => Some((None, &self.value)),
            "kuadrant.io/MultiClusterIPAddress" | "kuadrant.io/MultiClusterHostnameAddress" => {
                let (cluster, address) = self.value.split_once('/')?;
                (!cluster.is_empty()).then_some((Some(cluster), address))
            }
            _ => None,
        }
    }
}

impl GatewayAddress {
    pub(super) fn address(&self) -> Option<IpAddr> {
        self.parts()?.1.parse().ok()
    }

    /// Whether its type is one that is read.
    fn is_of_known_type(&self) -> bool {
        matches!(
            self.r#type.as_deref(),
            None | Some("IPAddress" | "Hostname")
                | Some("kuadrant.io/MultiClusterIPAddress" | "kuadrant.io/MultiClusterHostnameAddress")
        )
    }

    /// The value for a message, with its type where that is the mistake.
    fn into_text(self) -> String {
        match self.r#type.as_deref() {
            Some(kind) if !self.is_of_known_type() && !self.value.is_empty() => {
                format!("{kind} {}", self.value)
            }
            _ => self.value,
        }
    }

    /// Whether it is what its type says.
    fn is_usable(&self) -> bool {
        let Some((_, text)) = self.parts() else { return false };
        match self.r#type.as_deref() {
            Some("IPAddress" | "kuadrant.io/MultiClusterIPAddress") => is_address(text),
            _ => is_address(text) || is_host_name(text),
        }
    }
}

impl Body for ListenerGateway {
    type Manifest = GatewayManifest;

    fn write(&self) -> Value {
        json!({ "spec": { "listeners": self.listeners }, "status": { "addresses": self.addresses } })
    }

    fn validate(&self, _: &Meta) -> Vec<Problem> {
        Vec::new()
    }
}

/// A Gateway as it is read.
#[derive(Deserialize)]
pub(crate) struct GatewayManifest {
    metadata: ForeignMetadata,
    spec: Option<GatewaySpec>,
    status: Option<Status>,
    #[serde(default, rename = "namespace", deserialize_with = "belongs_to_metadata")]
    _namespace: (),
    #[serde(flatten)]
    others: OtherFields,
}

#[derive(Deserialize)]
struct GatewaySpec {
    listeners: Option<Vec<Listener>>,
    #[serde(flatten)]
    others: OtherFields,
}

impl GatewaySpec {
    /// Misspelt fields in the place of those that are read. What they hold is missing, and what is left says more or less
    /// than is meant.
    fn mistakes(&self) -> Vec<Problem> {
        let Some(listeners) = &self.listeners else {
            let misspelt = self.others.misspelt("listeners");
            return match misspelt.is_empty() {
                true => vec![no_listeners()],
                false => misspelt.iter().map(|field| field.problem("spec")).collect(),
            };
        };
        let of = |(number, listener): (usize, &Listener)| {
            let path = format!("spec.listeners[{number}]");
            let hosts =
                if listener.hostname.is_none() { listener.others.misspelt("hostname") } else { Vec::new() };
            hosts.iter().map(|field| field.problem(&path)).collect::<Vec<_>>()
        };
        listeners.iter().enumerate().flat_map(of).collect()
    }
}

/// Every Gateway has listeners: where they are missing, they are in another place or were cut off.
fn no_listeners() -> Problem {
    Problem::new("spec.listeners", "", "a Gateway has at least one listener")
}

#[derive(Deserialize)]
struct Status {
    addresses: Option<Vec<GatewayAddress>>,
    #[serde(flatten)]
    others: OtherFields,
}

impl Manifest for GatewayManifest {
    type Body = ListenerGateway;

    fn open(self) -> (Meta, ListenerGateway, Option<Published>) {
        let misspelt_parts = self.others.misspelt_parts(self.spec.is_some(), self.status.is_some());
        let (all, fields) = match self.status {
            Some(Status { addresses: Some(all), .. }) => (all, Vec::new()),
            Some(status) => (Vec::new(), status.others.misspelt("addresses")),
            None => (Vec::new(), Vec::new()),
        };
        // An address of another type is nothing to complain of beside one that can be used.
        let has_usable = all.iter().any(GatewayAddress::is_usable);
        let is_taken =
            |address: &GatewayAddress| address.is_usable() || has_usable && !address.is_of_known_type();
        let (addresses, rejected): (Vec<_>, Vec<_>) = all.into_iter().partition(is_taken);
        let (texts, empty): (Vec<_>, Vec<_>) =
            rejected.into_iter().map(GatewayAddress::into_text).partition(|text| !text.is_empty());
        let mut mistakes = misspelt_parts;
        mistakes.extend(self.spec.as_ref().map_or_else(|| vec![no_listeners()], GatewaySpec::mistakes));
        let mut listeners = self.spec.and_then(|spec| spec.listeners).unwrap_or_default();
        listeners.iter_mut().for_each(|listener| listener.others = OtherFields::default());
        let gateway = ListenerGateway {
            listeners,
            mistakes,
            addresses,
            rejected: Rejected { texts, empty: empty.len(), fields, keeps_last: false },
        };
        (self.metadata.into(), gateway, None)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(None, "192.0.2.1", Some((None, "192.0.2.1")))]
    #[case(Some("Hostname"), "lb.example.net", Some((None, "lb.example.net")))]
    #[case(Some("kuadrant.io/MultiClusterIPAddress"), "weu/192.0.2.1", Some((Some("weu"), "192.0.2.1")))]
    #[case(Some("kuadrant.io/MultiClusterHostnameAddress"), "weu/lb.net", Some((Some("weu"), "lb.net")))]
    #[case(Some("kuadrant.io/MultiClusterIPAddress"), "192.0.2.1", None)]
    #[case(Some("kuadrant.io/MultiClusterIPAddress"), "/192.0.2.1", None)]
    #[case(Some("NamedAddress"), "x", None)]
    fn an_address_names_its_cluster_or_is_the_local_one(
        #[case] kind: Option<&str>,
        #[case] value: &str,
        #[case] parts: Option<(Option<&str>, &str)>,
    ) {
        let address = GatewayAddress { r#type: kind.map(str::to_owned), value: value.to_owned() };
        assert_eq!(address.parts(), parts);
    }
}
