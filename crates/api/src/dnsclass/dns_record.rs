//! DNSRecord: a record set of any type, delivered through a class.

use std::net::{Ipv4Addr, Ipv6Addr};

use dns::{Name, NameError, Rdata, RdataError, Rtype};
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::checks::{Checks, MAX_TTL};
use crate::object::{Body, Own};
use crate::published::{Ours, PublishedRecord};
use crate::status::{Condition, UNOBSERVED, date_time, first_sight};
use crate::{DNSClassRef, Meta, Problem};

/// All data of one name and type.
#[derive(CustomResource, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "dns.homelab.mortenolsen.pro",
    version = "v1alpha1",
    kind = "DNSRecord",
    plural = "dnsrecords",
    category = "fingerpost",
    namespaced,
    status = "DNSRecordStatus",
    doc = "DNSRecord is all the data of one name and type, delivered through a DNSClass.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#
    ),
    printcolumn(name = "State", type_ = "string", json_path = ".status.state"),
    printcolumn(name = "FQDN", type_ = "string", json_path = ".status.fqdn"),
    printcolumn(name = "Type", type_ = "string", json_path = ".spec.type"),
    printcolumn(name = "Class", type_ = "string", json_path = ".spec.dnsClassRef.name", priority = 1),
    printcolumn(name = "Values", type_ = "string", json_path = ".spec.values", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[x_kube(
    validation = (
        "self.type != 'CNAME' || self.values.size() == 1",
        "spec.values: a CNAME has exactly one value: the name that this one stands for"
    ),
    validation = (
        "self.type != 'A' || self.values.all(value, isIP(value) && ip(value).family() == 4)",
        "spec.values: a value is not an IPv4 address: A takes addresses such as `192.0.2.1`"
    ),
    validation = (
        "self.type != 'AAAA' || self.values.all(value, isIP(value) && ip(value).family() == 6)",
        "spec.values: a value is not an IPv6 address: AAAA takes addresses such as `2001:db8::1`"
    ),
    validation = (
        "self.type != 'MX' || (has(self.metadata) && has(self.metadata.priority))",
        "spec.metadata.priority: MX needs a priority: add one such as 10"
    ),
    validation = (
        "self.type != 'SRV' || (has(self.metadata) && has(self.metadata.priority) && has(self.metadata.weight) && has(self.metadata.port))",
        "spec.metadata: SRV needs priority, weight and port"
    )
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DNSRecordSpec {
    /// The record type.
    pub r#type: DNSRecordType,
    /// The domain that the record lies in, such as `example.com`.
    #[schemars(length(min = 1, max = 1024))]
    pub domain: String,
    /// The name within the domain, such as `www`, or `@` for the domain itself.
    #[schemars(length(min = 1, max = 1024))]
    pub subdomain: String,
    /// The class that delivers the record.
    pub dns_class_ref: DNSClassRef,
    /// The data: addresses for A and AAAA, one name for CNAME, names for NS, PTR, MX and SRV,
    /// plain text for TXT, and for CAA what a zone file has.
    #[schemars(length(min = 1, max = 256), inner(length(min = 1, max = 32768)))]
    pub values: Vec<String>,
    /// The TTL in seconds; default: the zone's, else the class's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = MAX_TTL))]
    pub ttl: Option<u32>,
    /// What the record is for, in your own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4096))]
    pub description: Option<String>,
    /// What MX and SRV need beside their values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RecordMetadata>,
}

/// The type of a DNSRecord.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum DNSRecordType {
    /// IPv4 addresses.
    A,
    /// The name that this one stands for.
    Cname,
    /// IPv6 addresses.
    Aaaa,
    /// Text.
    Txt,
    /// Mail servers.
    Mx,
    /// Servers of a service, with their ports.
    Srv,
    /// Name servers.
    Ns,
    /// The name of an address.
    Ptr,
    /// Who may issue certificates.
    Caa,
}

/// What MX and SRV need beside their values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecordMetadata {
    /// For MX and SRV: lower is tried first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u16>,
    /// For SRV: the share among servers of one priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub weight: Option<u16>,
    /// For SRV: the port of the service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
}

/// What has become of the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct DNSRecordStatus {
    /// The `metadata.generation` that this status is about; -1 before the first look.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What was last done with the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "RecordState")]
    pub state: Option<RecordState>,
    /// When the provider was last changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "date_time")]
    pub last_sync_time: Option<String>,
    /// The record's full name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fqdn: Option<String>,
    /// Under what the record stands at the provider, so that it can be taken back when it moves.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied: Option<AppliedIdentity>,
    /// Under what else it may stand at a provider because of this object: what is to be taken back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owed: Vec<AppliedIdentity>,
    /// What went wrong, if something did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<RecordError>,
    /// `Ready`, and `Stalled` where only the user can help.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

/// What was last done with a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub enum RecordState {
    Created,
    Updated,
    Deleted,
    Error,
    Pending,
}

/// Under what a record stands at the provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct AppliedIdentity {
    /// The record type.
    pub r#type: DNSRecordType,
    /// The domain.
    pub domain: String,
    /// The name within the domain.
    pub subdomain: String,
    /// The DNSClass.
    pub class: String,
}

/// What went wrong with a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordError {
    /// In one word for machines, such as `SERVER_ERROR`.
    pub code: String,
    /// In a sentence for people.
    pub message: String,
    /// When it happened.
    #[schemars(schema_with = "date_time")]
    pub timestamp: String,
}

impl Default for DNSRecordStatus {
    fn default() -> Self {
        Self {
            observed_generation: Some(UNOBSERVED),
            state: Some(RecordState::Pending),
            last_sync_time: None,
            fqdn: None,
            applied: None,
            owed: Vec::new(),
            error: None,
            conditions: first_sight(),
        }
    }
}

impl DNSRecordType {
    /// The type as DNS has it.
    pub fn rtype(self) -> Rtype {
        match self {
            Self::A => Rtype::A,
            Self::Cname => Rtype::CNAME,
            Self::Aaaa => Rtype::AAAA,
            Self::Txt => Rtype::TXT,
            Self::Mx => Rtype::MX,
            Self::Srv => Rtype::SRV,
            Self::Ns => Rtype::NS,
            Self::Ptr => Rtype::PTR,
            Self::Caa => Rtype::CAA,
        }
    }
}

impl Body for DNSRecordSpec {
    type Manifest = Own<Self, Ours<PublishedRecord>>;

    fn validate(&self, _: &Meta) -> Vec<Problem> {
        let mut checks = Checks::default();
        self.check_name(&mut checks);
        self.dns_class_ref.check("spec.dnsClassRef", &mut checks);
        checks.ttl("spec.ttl", self.ttl);
        self.check_metadata(&mut checks);
        self.check_values(&mut checks);
        checks.into_problems()
    }
}

impl DNSRecordSpec {
    /// The record's full name.
    pub fn name(&self) -> Result<Name, NameError> {
        Name::parse_relative(&self.subdomain, &Name::parse(&self.domain)?)
    }

    /// The data as DNS has it: names are absolute, and a TXT value is one record's plain text.
    pub fn data(&self) -> Result<Vec<Rdata>, RdataError> {
        let rtype = self.r#type.rtype();
        let given = self.metadata.clone().unwrap_or_default();
        let number = |number: Option<u16>| number.unwrap_or_default();
        let (priority, weight, port) = (number(given.priority), number(given.weight), number(given.port));
        let datum = |value: &String| match self.r#type {
            DNSRecordType::Txt => Ok(Rdata::txt(value)),
            DNSRecordType::Mx => parsed(rtype, &format!("{priority} {value}")),
            DNSRecordType::Srv => parsed(rtype, &format!("{priority} {weight} {port} {value}")),
            _ => parsed(rtype, value),
        };
        self.values.iter().map(datum).collect()
    }

    fn check_name(&self, checks: &mut Checks) {
        let Some(domain) = checks.name("spec.domain", &self.domain) else { return };
        checks.require(!domain.is_root(), "spec.domain", &self.domain, "is the root: name a domain below it");
        checks.require(
            !domain.is_wildcard(),
            "spec.domain",
            &self.domain,
            "is a wildcard: put the `*` into the subdomain",
        );
        let message = "ends with a dot, which would make it absolute: remove the dot";
        checks.require(!self.subdomain.ends_with('.'), "spec.subdomain", &self.subdomain, message);
        match Name::parse_relative(&self.subdomain, &domain) {
            Ok(name) => checks.not_reserved("spec.subdomain", &self.subdomain, dns::reserved_name(&name)),
            Err(error) => {
                checks.refuse("spec.subdomain", &self.subdomain, format!("does not make a name: {error}"));
            }
        }
    }

    fn check_metadata(&self, checks: &mut Checks) {
        let given = self.metadata.clone().unwrap_or_default();
        let fields = [("priority", given.priority), ("weight", given.weight), ("port", given.port)];
        let needed: &[&str] = match self.r#type {
            DNSRecordType::Mx => &["priority"],
            DNSRecordType::Srv => &["priority", "weight", "port"],
            _ => &[],
        };
        for (field, value) in fields {
            let message = format!("{} needs a {field}: add one", self.r#type.rtype());
            checks.require(
                value.is_some() || !needed.contains(&field),
                &format!("spec.metadata.{field}"),
                "",
                &message,
            );
        }
    }

    fn check_values(&self, checks: &mut Checks) {
        checks.require(!self.values.is_empty(), "spec.values", "", "is empty: give at least one value");
        let single = self.r#type != DNSRecordType::Cname || self.values.len() == 1;
        let message = "are too many: a CNAME has exactly one value, the name that this one stands for";
        checks.require(single, "spec.values", self.values.join(", "), message);
        checks.require(
            self.values.len() <= 256,
            "spec.values",
            "",
            "has too many entries: a record may have 256",
        );
        for (index, value) in self.values.iter().enumerate() {
            let field = format!("spec.values[{index}]");
            checks.require(value.len() <= 32_768, &field, "", "is too long: a value may have 32768 octets");
            self.check_value(&field, value, checks);
        }
        checks.unique("spec.values", self.values.iter().map(String::as_str));
    }

    fn check_value(&self, field: &str, value: &str, checks: &mut Checks) {
        match self.r#type {
            DNSRecordType::A => {
                let message = "is not an IPv4 address: A takes addresses such as `192.0.2.1`";
                checks.require(value.parse::<Ipv4Addr>().is_ok(), field, value, message);
            }
            DNSRecordType::Aaaa => {
                let message = "is not an IPv6 address: AAAA takes addresses such as `2001:db8::1`";
                checks.require(value.parse::<Ipv6Addr>().is_ok(), field, value, message);
            }
            DNSRecordType::Txt => {
                checks.not_reserved(field, value, dns::reserved_data(&Rdata::txt(value)));
            }
            DNSRecordType::Caa => {
                if let Err(error) = Rdata::parse(Rtype::CAA, value, &Name::root()) {
                    checks.refuse(field, "", error.to_string());
                }
            }
            _ => drop(checks.name(field, value)),
        }
    }
}

/// Data in presentation format, its names absolute.
fn parsed(rtype: Rtype, text: &str) -> Result<Rdata, RdataError> {
    Rdata::parse(rtype, text, &Name::root())
}
