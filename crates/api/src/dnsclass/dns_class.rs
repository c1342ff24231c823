//! DNSClass: a back-end that delivers records.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Embedded, ExternalDNS, ExternalDNSWebhook, HmacAuth, Powerdns, Rfc2136, ServiceAccountAuth, Tls, ZoneFile,
};
use crate::checks::{Checks, MAX_TTL};
use crate::object::{Body, Own};
use crate::pattern;
use crate::published::{Ours, PublishedClass};
use crate::status::{Condition, UNOBSERVED, date_time, first_sight};
use crate::target::Target;
use crate::{Meta, Problem};

/// A back-end that delivers records: exactly one of `server`, `powerdns`, `rfc2136`,
/// `externalDNSWebhook`, `externalDNS`, `zoneFile` and `embedded`.
#[derive(CustomResource, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "dns.homelab.mortenolsen.pro",
    version = "v1alpha1",
    kind = "DNSClass",
    plural = "dnsclasses",
    category = "fingerpost",
    status = "DNSClassStatus",
    doc = "DNSClass is a back-end that delivers records: a webhook server, PowerDNS, a server that takes dynamic updates, an ExternalDNS provider, ExternalDNS itself, zone files, or Fingerpost's own DNS server.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#
    ),
    printcolumn(
        name = "Reason",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].reason"#
    ),
    printcolumn(name = "Health", type_ = "string", json_path = ".status.health.status"),
    printcolumn(name = "Server", type_ = "string", json_path = ".spec.server", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[x_kube(
    validation = (
        "[has(self.server), has(self.powerdns), has(self.rfc2136), has(self.externalDNSWebhook), has(self.externalDNS), has(self.zoneFile), has(self.embedded)].filter(given, given).size() == 1",
        "spec: name exactly one of server, powerdns, rfc2136, externalDNSWebhook, externalDNS, zoneFile and embedded"
    ),
    validation = (
        "has(self.server) || !(has(self.hmacAuth) || has(self.tls) || has(self.serviceAccountAuth))",
        "spec: hmacAuth, tls and serviceAccountAuth are for requests to spec.server: remove them or set server"
    )
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DNSClassSpec {
    /// The URL of a server that speaks the webhook protocol, such as
    /// `http://cloudflare-dns.dns.svc:7100`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048))]
    #[x_kube(validation = pattern::URL.rule_without_password("spec.server"))]
    pub server: Option<String>,
    /// The TTL, in seconds, of records that name none and lie in no Zone. Default: 300.
    #[serde(default, rename = "defaultTTL", skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = MAX_TTL))]
    pub default_ttl: Option<u32>,
    /// How long, in seconds, a request to the back-end may take.
    #[serde(default = "half_a_minute")]
    #[schemars(range(min = 1, max = 3600))]
    pub timeout_seconds: u32,
    /// Signs requests to `server` with a shared secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hmac_auth: Option<HmacAuth>,
    /// Trust and client certificate for requests to `server`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Tls>,
    /// Sends our ServiceAccount's token with requests to `server`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account_auth: Option<ServiceAccountAuth>,
    /// The domains below which this class may write, such as `example.org`; none named is any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1024), inner(length(min = 1, max = 1024)))]
    pub zones: Vec<String>,
    /// Which objects may take over records that are at the back-end already and that nobody owns, by the
    /// annotation `fingerpost.dev/adopt: "true"`. Without it none may. `fingerpost up` does not ask for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adoption: Option<Adoption>,
    /// A PowerDNS authoritative server, by its HTTP API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub powerdns: Option<Powerdns>,
    /// A server that takes dynamic updates, such as BIND or Knot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rfc2136: Option<Rfc2136>,
    /// A provider that speaks ExternalDNS's webhook protocol.
    #[serde(default, rename = "externalDNSWebhook", skip_serializing_if = "Option::is_none")]
    pub external_dns_webhook: Option<ExternalDNSWebhook>,
    /// An ExternalDNS process that picks up DNSEndpoint objects.
    #[serde(default, rename = "externalDNS", skip_serializing_if = "Option::is_none")]
    pub external_dns: Option<ExternalDNS>,
    /// Zone files in a folder, for `fingerpost up` and `fingerpost provider`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone_file: Option<ZoneFile>,
    /// Fingerpost's own DNS server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedded: Option<Embedded>,
}

/// Which objects may take over records that are at the back-end already.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Adoption {
    /// The namespaces whose objects may; empty is none.
    #[serde(default)]
    #[schemars(length(max = 1024), inner(length(min = 1, max = 63)))]
    pub namespaces: Vec<String>,
}

fn half_a_minute() -> u32 {
    30
}

/// The one back-end that a class names.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub enum Backend<'a> {
    Webhook(&'a str),
    Powerdns(&'a Powerdns),
    Rfc2136(&'a Rfc2136),
    ExternalDNSWebhook(&'a ExternalDNSWebhook),
    ExternalDNS(&'a ExternalDNS),
    ZoneFile(&'a ZoneFile),
    Embedded(&'a Embedded),
}

/// What has become of the class.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct DNSClassStatus {
    /// The `metadata.generation` that this status is about; -1 before the first look.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// When the back-end was last asked how it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "date_time")]
    pub last_health_check: Option<String>,
    /// How the back-end is. Records are sent to it whatever this says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<ClassHealth>,
    /// `Ready`; `Stalled` where only the user can help; `MassDeleteHeld` while deletions wait for
    /// consent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

/// How a back-end is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClassHealth {
    /// The result of the last check.
    pub status: HealthStatus,
    /// When that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "date_time")]
    pub last_check: Option<String>,
    /// What is wrong, if something is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub enum HealthStatus {
    Healthy,
    Unhealthy,
    Unknown,
}

impl Default for DNSClassStatus {
    fn default() -> Self {
        Self {
            observed_generation: Some(UNOBSERVED),
            last_health_check: None,
            health: None,
            conditions: first_sight(),
        }
    }
}

impl DNSClassSpec {
    /// Whether objects of a namespace may take over records that nobody owns.
    pub fn permits_adoption(&self, namespace: &str) -> bool {
        let permitted = self.adoption.iter().flat_map(|adoption| &adoption.namespaces);
        permitted.into_iter().any(|permitted| permitted == namespace)
    }

    /// The back-end that delivers; none where the class is not valid.
    pub fn backend(&self) -> Option<Backend<'_>> {
        let mut named = self.backends().into_iter().flatten();
        match (named.next(), named.next()) {
            (Some((_, backend)), None) => Some(backend),
            _ => None,
        }
    }

    /// The URL, or host and port, of the server that requests go to.
    pub fn address(&self) -> Option<&str> {
        match self.backend()? {
            Backend::Webhook(url) => Some(url),
            Backend::Powerdns(powerdns) => Some(&powerdns.url),
            Backend::Rfc2136(server) => Some(&server.server),
            Backend::ExternalDNSWebhook(webhook) => Some(&webhook.url),
            Backend::ExternalDNS(_) | Backend::ZoneFile(_) | Backend::Embedded(_) => None,
        }
    }

    /// Every back-end that is named, with its field.
    fn backends(&self) -> [Option<(&'static str, Backend<'_>)>; 7] {
        [
            self.server.as_deref().map(|url| ("server", Backend::Webhook(url))),
            self.powerdns.as_ref().map(|powerdns| ("powerdns", Backend::Powerdns(powerdns))),
            self.rfc2136.as_ref().map(|server| ("rfc2136", Backend::Rfc2136(server))),
            self.external_dns_webhook
                .as_ref()
                .map(|webhook| ("externalDNSWebhook", Backend::ExternalDNSWebhook(webhook))),
            self.external_dns.as_ref().map(|external| ("externalDNS", Backend::ExternalDNS(external))),
            self.zone_file.as_ref().map(|file| ("zoneFile", Backend::ZoneFile(file))),
            self.embedded.as_ref().map(|embedded| ("embedded", Backend::Embedded(embedded))),
        ]
    }

    /// Where requests of ours would go.
    pub(crate) fn targets(&self) -> Vec<(String, &str, Option<Target>)> {
        let urls = [
            ("spec.server", self.server.as_deref()),
            ("spec.powerdns.url", self.powerdns.as_ref().map(|powerdns| powerdns.url.as_str())),
            (
                "spec.externalDNSWebhook.url",
                self.external_dns_webhook.as_ref().map(|webhook| webhook.url.as_str()),
            ),
        ];
        let urls = urls
            .into_iter()
            .filter_map(|(field, url)| url.map(|url| (field.to_owned(), url, Target::from_url(url))));
        let server = self.rfc2136.as_ref().map(|rfc2136| rfc2136.server.as_str());
        let server =
            server.map(|server| ("spec.rfc2136.server".to_owned(), server, Target::from_authority(server)));
        urls.chain(server).collect()
    }

    fn check_choice(&self, checks: &mut Checks) {
        let named: Vec<&str> = self.backends().into_iter().flatten().map(|(field, _)| field).collect();
        let message = "name exactly one of server, powerdns, rfc2136, externalDNSWebhook, externalDNS, zoneFile and embedded";
        match named.as_slice() {
            [_] => {}
            [] => checks.refuse("spec", "", message),
            named => checks.refuse("spec", named.join(", "), format!("are too many back-ends: {message}")),
        }
        let signs = self.hmac_auth.is_some() || self.tls.is_some() || self.service_account_auth.is_some();
        let message =
            "hmacAuth, tls and serviceAccountAuth are for requests to spec.server: remove them or set server";
        checks.require(self.server.is_some() || !signs, "spec", "", message);
    }

    fn check_webhook(&self, checks: &mut Checks) {
        checks.fits_if_set(&pattern::URL, "spec.server", self.server.as_deref());
        if let Some(auth) = &self.hmac_auth {
            auth.check("spec.hmacAuth", checks);
        }
        if let Some(tls) = &self.tls {
            tls.check("spec.tls", checks);
        }
        let anyone = self.service_account_auth.as_ref().is_some_and(|auth| auth.audience.is_empty());
        checks.require(!anyone, "spec.serviceAccountAuth.audience", "", "must not be empty");
    }

    fn check_backend(&self, field: &str, backend: Backend<'_>, checks: &mut Checks) {
        let path = format!("spec.{field}");
        match backend {
            Backend::Webhook(_) => self.check_webhook(checks),
            Backend::Powerdns(powerdns) => powerdns.check(&path, checks),
            Backend::Rfc2136(server) => server.check(&path, checks),
            Backend::ExternalDNSWebhook(webhook) => webhook.check(&path, checks),
            Backend::ExternalDNS(external) => external.check(&path, checks),
            Backend::ZoneFile(file) => file.check(&path, checks),
            Backend::Embedded(embedded) => embedded.check(&path, checks),
        }
    }
}

impl Body for DNSClassSpec {
    type Manifest = Own<Self, Ours<PublishedClass>>;

    fn validate(&self, _: &Meta) -> Vec<Problem> {
        let mut checks = Checks::default();
        self.check_choice(&mut checks);
        for (field, backend) in self.backends().into_iter().flatten() {
            self.check_backend(field, backend, &mut checks);
        }
        checks.ttl("spec.defaultTTL", self.default_ttl);
        let message = "is out of range: use 1 to 3600 seconds";
        checks.require(
            (1..=3600).contains(&self.timeout_seconds),
            "spec.timeoutSeconds",
            self.timeout_seconds,
            message,
        );
        for (index, zone) in self.zones.iter().enumerate() {
            checks.name(&format!("spec.zones[{index}]"), zone);
        }
        let namespaces = self.adoption.iter().flat_map(|adoption| &adoption.namespaces).enumerate();
        for (index, namespace) in namespaces {
            checks.fits(&pattern::NAMESPACE, &format!("spec.adoption.namespaces[{index}]"), namespace);
        }
        checks.into_problems()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn back_end_is_the_one_that_is_named() {
        let class = |yaml: &str| serde_saphyr::from_str::<DNSClassSpec>(yaml).unwrap();
        assert_eq!(class("{server: 'http://a'}").backend(), Some(Backend::Webhook("http://a")));
        assert_eq!(class("{embedded: {}}").backend(), Some(Backend::Embedded(&Embedded::default())));
        assert_eq!(class("{}").backend(), None);
        assert_eq!(class("{server: 'http://a', embedded: {}}").backend(), None);
    }
}
