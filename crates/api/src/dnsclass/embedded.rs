//! The embedded server as a DNSClass: a view of its own.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Tsig;
use crate::SecretRef;
use crate::checks::Checks;
use crate::network::{check_listen_address, check_network};
use crate::pattern;

/// Fingerpost's own DNS server. Each class of this kind is a view: it answers with what is
/// addressed to it and with what names no class.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Embedded {
    /// Addresses of its own, such as `192.0.2.53:53`; the port is 53 where none is named. Without
    /// them it shares the server's address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 64)))]
    pub listen: Vec<String>,
    /// The networks whose queries it answers, such as `10.0.0.0/8`. Of several classes on one
    /// address the longest prefix decides. Without them it answers everyone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024), inner(length(min = 1, max = 64)))]
    pub clients: Vec<String>,
    /// How it is found out where a client is. Default: the built-in table of countries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub geo: Option<Geo>,
    /// Who may transfer its zones and who is notified of changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer: Option<Transfer>,
    /// Signs its zones. Without it they are not signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dnssec: Option<Dnssec>,
}

/// How it is found out where a client is: the networks first, then the database, then the
/// built-in table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Geo {
    /// Path of a database in MaxMind's format.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 4096))]
    pub mmdb: Option<String>,
    /// Networks of which it is known where they are; the longest prefix decides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 4096))]
    pub networks: Vec<GeoNetwork>,
}

/// A network and where it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GeoNetwork {
    /// The network, such as `10.1.0.0/16`.
    #[schemars(length(min = 1, max = 64))]
    pub cidr: String,
    /// Where it is: a country code such as `IE`, or a continent such as `GEO-EU`.
    #[schemars(length(min = 2, max = 6))]
    #[x_kube(validation = pattern::GEO.rule("spec.embedded.geo.networks.geo"))]
    pub geo: String,
}

/// Who may transfer zones and who is notified of changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Transfer {
    /// The networks that may transfer zones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), inner(length(min = 1, max = 64)))]
    pub to: Vec<String>,
    /// The addresses of secondaries that are notified of changes; the port is 53 where none is
    /// named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 64)))]
    pub notify: Vec<String>,
    /// The keys that transfers must be signed with, any of them; without one the address alone
    /// decides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 16))]
    pub tsig: Vec<Tsig>,
}

/// How zones are signed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Dnssec {
    /// The algorithm of the keys.
    #[serde(default)]
    pub algorithm: DnssecAlgorithm,
    /// How it is proved that a name does not exist: `Compact` (RFC 9824) or `NSEC`.
    #[serde(default)]
    pub denial: Denial,
    /// The Secret that holds the keys. Default: one that the operator makes, or the state
    /// directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys_secret_ref: Option<SecretRef>,
}

impl Dnssec {
    /// Where the keys of a class are: what `keysSecretRef` names, or a name of the class's own. Classes
    /// that name the same one share their keys.
    pub fn vault(&self, class: &str) -> String {
        match &self.keys_secret_ref {
            Some(reference) => reference.name.clone(),
            None => format!("fingerpost-dnssec-{class}"),
        }
    }
}

/// The algorithm of signing keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum DnssecAlgorithm {
    /// ECDSA with P-256.
    #[default]
    #[serde(rename = "ECDSAP256SHA256")]
    EcdsaP256Sha256,
    /// Ed25519.
    Ed25519,
}

/// How it is proved that a name does not exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Denial {
    /// By one record made for the question.
    #[default]
    Compact,
    /// By the names around it.
    #[serde(rename = "NSEC")]
    Nsec,
}

impl Embedded {
    pub(super) fn check(&self, path: &str, checks: &mut Checks) {
        for (index, address) in self.listen.iter().enumerate() {
            check_listen_address(&format!("{path}.listen[{index}]"), address, checks);
        }
        for (index, network) in self.clients.iter().enumerate() {
            check_network(&format!("{path}.clients[{index}]"), network, checks);
        }
        checks.unique(&format!("{path}.listen"), self.listen.iter().map(String::as_str));
        checks.unique(&format!("{path}.clients"), self.clients.iter().map(String::as_str));
        if let Some(geo) = &self.geo {
            geo.check(&format!("{path}.geo"), checks);
        }
        if let Some(transfer) = &self.transfer {
            transfer.check(&format!("{path}.transfer"), checks);
        }
        if let Some(keys) = self.dnssec.as_ref().and_then(|dnssec| dnssec.keys_secret_ref.as_ref()) {
            keys.check(&format!("{path}.dnssec.keysSecretRef"), checks);
        }
    }
}

impl Geo {
    fn check(&self, path: &str, checks: &mut Checks) {
        for (index, network) in self.networks.iter().enumerate() {
            check_network(&format!("{path}.networks[{index}].cidr"), &network.cidr, checks);
            checks.place(&format!("{path}.networks[{index}].geo"), &network.geo);
        }
        checks.unique_at(
            |index| format!("{path}.networks[{index}].cidr"),
            self.networks.iter().map(|network| network.cidr.as_str()),
        );
    }
}

impl Transfer {
    fn check(&self, path: &str, checks: &mut Checks) {
        for (index, network) in self.to.iter().enumerate() {
            check_network(&format!("{path}.to[{index}]"), network, checks);
        }
        for (index, address) in self.notify.iter().enumerate() {
            check_listen_address(&format!("{path}.notify[{index}]"), address, checks);
        }
        for (index, key) in self.tsig.iter().enumerate() {
            key.check(&format!("{path}.tsig[{index}]"), checks);
        }
        checks.unique_at(
            |index| format!("{path}.tsig[{index}].name"),
            self.tsig.iter().map(|key| key.name.as_str()),
        );
    }
}
