//! The back-ends that a DNSClass can name beside the webhook and the embedded server.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::checks::Checks;
use crate::pattern;
use crate::target::Target;
use crate::{SecretKeyRef, SecretRef};

/// Trust in a server and our own certificate for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Tls {
    /// A Secret whose key `ca.crt` holds the certificates that the server's must be signed by.
    /// Default: the usual public ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_secret_ref: Option<SecretRef>,
    /// A Secret whose keys `tls.crt` and `tls.key` hold the certificate that we show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_secret_ref: Option<SecretRef>,
}

/// A PowerDNS authoritative server, by its HTTP API.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Powerdns {
    /// Where the API is, such as `https://powerdns.dns.svc:8081`.
    #[schemars(length(min = 1, max = 2048))]
    #[x_kube(validation = pattern::URL.rule_without_password("spec.powerdns.url"))]
    pub url: String,
    /// The server's identifier in the API.
    #[serde(default = "localhost")]
    #[schemars(length(min = 1, max = 253))]
    pub server_id: String,
    /// The key of a Secret that holds the API key.
    pub api_key_secret_ref: SecretKeyRef,
    /// The kind of the zones that are made: `Primary` sends NOTIFY to secondaries.
    #[serde(default)]
    pub zone_kind: ZoneKind,
    /// Whether zones that are made are signed.
    #[serde(default)]
    pub dnssec: bool,
    /// Trust and client certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
}

/// The kind of a zone in PowerDNS.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ZoneKind {
    /// Replicated by the database, if at all.
    #[default]
    Native,
    /// Transferred to secondaries.
    Primary,
}

fn localhost() -> String {
    "localhost".into()
}

/// A server that takes dynamic updates (RFC 2136), such as BIND or Knot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rfc2136 {
    /// The server as `host:port`, such as `ns1.example.org:53`.
    #[schemars(length(min = 1, max = 512))]
    pub server: String,
    /// The key that updates and transfers are signed with. Without one the server must trust our
    /// address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tsig: Option<Tsig>,
}

/// A key for signing DNS messages (RFC 8945).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Tsig {
    /// The key's name, which both sides must know it by.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The key's algorithm.
    #[serde(default)]
    pub algorithm: TsigAlgorithm,
    /// The key of a Secret that holds the secret in base64, as `tsig-keygen` prints it.
    pub secret_ref: SecretKeyRef,
}

/// The algorithm of a TSIG key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum TsigAlgorithm {
    /// HMAC with SHA-256.
    #[default]
    #[serde(rename = "hmac-sha256")]
    HmacSha256,
    /// HMAC with SHA-384.
    #[serde(rename = "hmac-sha384")]
    HmacSha384,
    /// HMAC with SHA-512.
    #[serde(rename = "hmac-sha512")]
    HmacSha512,
}

/// A provider that speaks ExternalDNS's webhook protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExternalDNSWebhook {
    /// Where the provider listens, such as `http://provider.dns.svc:8888`.
    #[schemars(length(min = 1, max = 2048))]
    #[x_kube(validation = pattern::URL.rule_without_password("spec.externalDNSWebhook.url"))]
    pub url: String,
    /// Trust and client certificate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
}

/// An ExternalDNS process that picks up DNSEndpoint objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExternalDNS {
    /// The controller name that DNSEndpoints are marked with, so that ExternalDNS can filter by
    /// it.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = pattern::OBJECT_NAME.rule("spec.externalDNS.controller"))]
    pub controller: String,
}

/// Zone files in a folder, for `fingerpost up` and `fingerpost provider`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ZoneFile {
    /// The folder that zone files are written to.
    #[schemars(length(min = 1, max = 4096))]
    pub directory: String,
}

impl Tls {
    pub(crate) fn check(&self, path: &str, checks: &mut Checks) {
        let references = [("caSecretRef", &self.ca_secret_ref), ("clientSecretRef", &self.client_secret_ref)];
        for (field, reference) in references {
            if let Some(reference) = reference {
                reference.check(&format!("{path}.{field}"), checks);
            }
        }
    }
}

impl Powerdns {
    pub(super) fn check(&self, path: &str, checks: &mut Checks) {
        checks.fits(&pattern::URL, &format!("{path}.url"), &self.url);
        let plain = !self.server_id.is_empty()
            && self.server_id.bytes().all(|octet| octet.is_ascii_graphic() && octet != b'/');
        checks.require(
            plain,
            &format!("{path}.serverId"),
            &self.server_id,
            "is not a server's identifier: `localhost` is the usual one",
        );
        self.api_key_secret_ref.check(&format!("{path}.apiKeySecretRef"), checks);
        if let Some(tls) = &self.tls {
            tls.check(&format!("{path}.tls"), checks);
        }
    }
}

impl Rfc2136 {
    pub(super) fn check(&self, path: &str, checks: &mut Checks) {
        let complete = Target::from_authority(&self.server).is_some_and(|target| target.port.is_some());
        let message =
            "is not a server: write it as `host:port`, such as `ns1.example.org:53` or `[2001:db8::1]:53`";
        checks.require(complete, &format!("{path}.server"), &self.server, message);
        if let Some(tsig) = &self.tsig {
            tsig.check(&format!("{path}.tsig"), checks);
        }
    }
}

impl Tsig {
    pub(super) fn check(&self, path: &str, checks: &mut Checks) {
        checks.name(&format!("{path}.name"), &self.name);
        self.secret_ref.check(&format!("{path}.secretRef"), checks);
    }
}

impl ExternalDNSWebhook {
    pub(super) fn check(&self, path: &str, checks: &mut Checks) {
        checks.fits(&pattern::URL, &format!("{path}.url"), &self.url);
        if let Some(tls) = &self.tls {
            tls.check(&format!("{path}.tls"), checks);
        }
    }
}

impl ExternalDNS {
    pub(super) fn check(&self, path: &str, checks: &mut Checks) {
        checks.fits(&pattern::OBJECT_NAME, &format!("{path}.controller"), &self.controller);
    }
}

impl ZoneFile {
    pub(super) fn check(&self, path: &str, checks: &mut Checks) {
        checks.require(
            !self.directory.is_empty(),
            &format!("{path}.directory"),
            "",
            "must not be empty: name a folder",
        );
    }
}
