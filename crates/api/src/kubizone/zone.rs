//! Zone: a part of the name space, its SOA, and who may add what to it.

use dns::{Name, Rtype};
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::checks::{Checks, MAX_TTL};
use crate::object::{Body, Own};
use crate::pattern;
use crate::published::{Published, PublishedSerial, Publishes};
use crate::status::{Condition, UNOBSERVED, first_sight};
use crate::{DNSClassRef, Meta, Problem};

/// A part of the name space.
#[derive(CustomResource, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "kubi.zone",
    version = "v1alpha1",
    kind = "Zone",
    plural = "zones",
    category = "fingerpost",
    namespaced,
    status = "ZoneStatus",
    doc = "Zone is a part of the name space that we are the authority for. It adopts the Records whose names lie in it, as far as its delegations permit, and has its SOA, hash and serial worked out.",
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
    printcolumn(name = "FQDN", type_ = "string", json_path = ".status.fqdn"),
    printcolumn(name = "Serial", type_ = "integer", json_path = ".status.serial"),
    printcolumn(name = "Entries", type_ = "integer", json_path = ".status.entryCount", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[x_kube(
    validation = (
        "!has(self.zoneRef) || !self.domainName.endsWith('.')",
        "spec.domainName: ends with a dot, which makes it absolute, and there is a zoneRef as well: remove the dot or the zoneRef"
    ),
    validation = (
        "self.domainName != '@'",
        "spec.domainName: `@` would be the parent zone itself: give the zone a name of its own"
    )
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ZoneSpec {
    /// The zone's name. Without `zoneRef` it is absolute, with or without a final dot:
    /// `example.org`. With `zoneRef` it is relative to that zone and has no final dot: `eu`.
    #[schemars(length(min = 1, max = 1024))]
    pub domain_name: String,
    /// The zone that `domainName` is relative to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone_ref: Option<ZoneRef>,
    /// Who may add sub-zones and records. A zone without delegations serves its own namespace
    /// only, for anything.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    pub delegations: Vec<Delegation>,
    /// The TTL, in seconds, of the SOA and of records that name none.
    #[serde(default = "default_ttl")]
    #[schemars(range(max = MAX_TTL))]
    pub ttl: u32,
    /// SOA: how often, in seconds, secondaries look for a new serial.
    #[serde(default = "default_refresh")]
    #[schemars(range(max = MAX_TTL))]
    pub refresh: u32,
    /// SOA: how long, in seconds, secondaries wait after a failed look.
    #[serde(default = "default_retry")]
    #[schemars(range(max = MAX_TTL))]
    pub retry: u32,
    /// SOA: after how many seconds without success secondaries stop answering.
    #[serde(default = "default_expire")]
    #[schemars(range(max = MAX_TTL))]
    pub expire: u32,
    /// SOA: how long, in seconds, resolvers may remember that a name does not exist.
    #[serde(default = "default_ttl")]
    #[schemars(range(max = MAX_TTL))]
    pub negative_response_cache: u32,
    /// The zone's name servers, relative to the zone or absolute with a final dot. The first one
    /// is the SOA's primary. Default: `ns` in the zone, as long as there is no other NS record.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 32), inner(length(min = 1, max = 1024)))]
    pub name_servers: Vec<String>,
    /// Who to write to about the zone, as a mail address or a name. Default: `noc` in the zone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 1024))]
    pub admin: Option<String>,
    /// The DNSClass that publishes the zone. Without one every server of ours answers for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dns_class_ref: Option<DNSClassRef>,
}

/// A reference to a Zone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ZoneRef {
    /// Name of the Zone object.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Its namespace; default: the referring object's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub namespace: Option<String>,
}

/// A permission to add sub-zones and records.
///
/// Patterns are relative to the zone, or absolute with a final dot. `@` is the zone's own name,
/// `*` stands for a label or a part of one, and a bare `*` in front for one or more labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Delegation {
    /// The namespaces that are permitted; none named is any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), inner(length(min = 1, max = 63)))]
    pub namespaces: Vec<String>,
    /// Patterns of the sub-zones that are permitted; none named permits none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256), inner(length(min = 1, max = 1024)))]
    pub zones: Vec<String>,
    /// The records that are permitted; none named permits none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    pub records: Vec<RecordDelegation>,
}

/// A permission to add records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecordDelegation {
    /// Pattern of the names that are permitted.
    #[schemars(length(min = 1, max = 1024))]
    pub pattern: String,
    /// The record types that are permitted, such as `A`; none named is any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 16)))]
    pub types: Vec<String>,
}

fn default_ttl() -> u32 {
    360
}

fn default_refresh() -> u32 {
    86_400
}

fn default_retry() -> u32 {
    7_200
}

fn default_expire() -> u32 {
    3_600_000
}

/// What has become of the zone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ZoneStatus {
    /// The `metadata.generation` that this status is about; -1 before the first look.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The zone's full name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fqdn: Option<String>,
    /// A hash of the zone's content, the serial excepted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// The serial, which moves forward when the hash changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub serial: Option<u32>,
    /// How many entries the zone has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry_count: Option<u32>,
    /// The zone's first thousand entries, with the SOA in front.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<ZoneEntry>,
    /// `Ready`, and `Stalled` where only the user can help.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

/// One record of a zone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ZoneEntry {
    /// The full name.
    pub fqdn: String,
    /// The record type.
    pub r#type: String,
    /// The class, which is `IN`.
    pub class: String,
    /// The TTL in seconds.
    pub ttl: u32,
    /// The record data in presentation format.
    pub rdata: String,
}

impl Default for ZoneStatus {
    fn default() -> Self {
        Self {
            observed_generation: Some(UNOBSERVED),
            fqdn: None,
            hash: None,
            serial: None,
            entry_count: None,
            entries: Vec::new(),
            conditions: first_sight(),
        }
    }
}

/// The one thing of a Zone's status that is read, since serials only go forward: the last one, and
/// the content that it stood for.
#[derive(Deserialize)]
pub(crate) struct LastSerial {
    serial: Option<u32>,
    hash: Option<String>,
}

impl Publishes for LastSerial {
    fn published(self) -> Option<Published> {
        let hash = self.hash.as_deref().and_then(|hash| u64::from_str_radix(hash, 16).ok());
        self.serial.map(|serial| Published::Serial(PublishedSerial { serial, hash }))
    }
}

impl Body for ZoneSpec {
    type Manifest = Own<Self, LastSerial>;

    fn validate(&self, _: &Meta) -> Vec<Problem> {
        let mut checks = Checks::default();
        self.check_name(&mut checks);
        if let Some(reference) = &self.zone_ref {
            reference.check("spec.zoneRef", &mut checks);
        }
        self.check_times(&mut checks);
        self.check_authority(&mut checks);
        for (index, delegation) in self.delegations.iter().enumerate() {
            delegation.check(&format!("spec.delegations[{index}]"), &mut checks);
        }
        if let Some(class) = &self.dns_class_ref {
            class.check("spec.dnsClassRef", &mut checks);
        }
        checks.into_problems()
    }
}

impl ZoneSpec {
    fn check_name(&self, checks: &mut Checks) {
        let (field, text) = ("spec.domainName", self.domain_name.as_str());
        if self.zone_ref.is_some() && text.ends_with('.') {
            let message = "ends with a dot, which makes it absolute, and there is a zoneRef as well: remove the dot or the zoneRef";
            return checks.refuse(field, text, message);
        }
        if text == "@" {
            return checks.refuse(
                field,
                text,
                "would be the parent zone itself: give the zone a name of its own",
            );
        }
        let name = checks.name(field, text);
        checks.not_reserved(field, text, name.as_ref().and_then(dns::reserved_name));
        let wildcard = name.is_some_and(|name| name.is_wildcard());
        checks.require(!wildcard, field, text, "is a wildcard, which a zone cannot be: name the zone itself");
    }

    fn check_times(&self, checks: &mut Checks) {
        checks.ttl("spec.ttl", Some(self.ttl));
        checks.ttl("spec.refresh", Some(self.refresh));
        checks.ttl("spec.retry", Some(self.retry));
        checks.ttl("spec.expire", Some(self.expire));
        checks.ttl("spec.negativeResponseCache", Some(self.negative_response_cache));
    }

    fn check_authority(&self, checks: &mut Checks) {
        for (index, server) in self.name_servers.iter().enumerate() {
            checks.relative_name(&format!("spec.nameServers[{index}]"), server);
        }
        if let Some(admin) = &self.admin {
            check_admin(admin, checks);
        }
    }
}

/// An administrator is a mail address or a name.
fn check_admin(admin: &str, checks: &mut Checks) {
    let domain = match admin.rsplit_once('@') {
        Some((local, domain)) if !local.is_empty() && local.len() <= dns::MAX_LABEL => domain,
        Some(_) => "",
        None => admin,
    };
    let valid = Name::parse(domain).is_ok();
    let message = "is neither a mail address nor a name: write it as `noc@example.org` or `noc.example.org.`";
    checks.require(valid, "spec.admin", admin, message);
}

impl ZoneRef {
    /// Both parts must be names of objects.
    pub(crate) fn check(&self, path: &str, checks: &mut Checks) {
        checks.fits(&pattern::OBJECT_NAME, &format!("{path}.name"), &self.name);
        checks.fits_if_set(&pattern::NAMESPACE, &format!("{path}.namespace"), self.namespace.as_deref());
    }
}

impl Delegation {
    fn check(&self, path: &str, checks: &mut Checks) {
        for (index, namespace) in self.namespaces.iter().enumerate() {
            checks.fits(&pattern::NAMESPACE, &format!("{path}.namespaces[{index}]"), namespace);
        }
        for (index, zone) in self.zones.iter().enumerate() {
            check_pattern(&format!("{path}.zones[{index}]"), zone, checks);
        }
        for (index, record) in self.records.iter().enumerate() {
            record.check(&format!("{path}.records[{index}]"), checks);
        }
    }
}

impl RecordDelegation {
    fn check(&self, path: &str, checks: &mut Checks) {
        check_pattern(&format!("{path}.pattern"), &self.pattern, checks);
        for (index, rtype) in self.types.iter().enumerate() {
            if let Err(error) = rtype.parse::<Rtype>() {
                checks.refuse(format!("{path}.types[{index}]"), "", error.to_string());
            }
        }
    }
}

/// What a pattern is relative to makes no difference to whether it can be read.
fn check_pattern(field: &str, pattern: &str, checks: &mut Checks) {
    if let Err(error) = dns::Pattern::parse(pattern, &Name::root()) {
        checks.refuse(field, pattern, format!("is not a pattern: {error}"));
    }
}
