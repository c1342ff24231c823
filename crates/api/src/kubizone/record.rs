//! Record: one record of a zone.

use dns::{Name, Rdata, Rtype};
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use super::ZoneRef;
use crate::checks::{Checks, MAX_TTL};
use crate::object::{Body, Own};
use crate::published::{Ours, ReadyOf};
use crate::status::{Condition, UNOBSERVED, first_sight};
use crate::{Meta, Problem};

/// One record of a zone.
#[derive(CustomResource, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "kubi.zone",
    version = "v1alpha1",
    kind = "Record",
    plural = "records",
    category = "fingerpost",
    namespaced,
    status = "RecordStatus",
    doc = "Record is one DNS record. The longest Zone that its name lies in and that permits it adopts it. Records of one name and type add up.",
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
    printcolumn(name = "Type", type_ = "string", json_path = ".spec.type"),
    printcolumn(name = "Data", type_ = "string", json_path = ".spec.rdata", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[x_kube(
    validation = (
        "self.domainName != '@' || has(self.zoneRef)",
        "spec.domainName: `@` stands for the zone, and none is named: add a zoneRef or write the full name"
    ),
    validation = (
        "self.type.upperAscii() != 'SOA'",
        "spec.type: an SOA record is made from the Zone's own fields: set refresh, retry, expire and the others there"
    ),
    validation = ("self.class.upperAscii() == 'IN'", "spec.class: there is no other class than `IN`")
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RecordSpec {
    /// The record's name. Without `zoneRef` it is absolute, with or without a final dot:
    /// `www.example.org`. With `zoneRef` it is relative to that zone unless it ends with a dot,
    /// and `@` is the zone itself.
    #[schemars(length(min = 1, max = 1024))]
    pub domain_name: String,
    /// The zone that `domainName` is relative to, and that is to adopt the record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone_ref: Option<ZoneRef>,
    /// The record type, such as `A` or `MX`, or `TYPE` with a number.
    #[schemars(length(min = 1, max = 16))]
    pub r#type: String,
    /// The class, which is `IN`.
    #[serde(default = "internet")]
    #[schemars(length(min = 1, max = 16))]
    pub class: String,
    /// The TTL in seconds; default: the zone's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = MAX_TTL))]
    pub ttl: Option<u32>,
    /// The record data as in a zone file: `192.0.2.1`, `10 mail.example.org.`, `"some text"`.
    #[schemars(length(min = 1, max = 65535))]
    pub rdata: String,
}

fn internet() -> String {
    "IN".into()
}

/// What has become of the record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct RecordStatus {
    /// The `metadata.generation` that this status is about; -1 before the first look.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The record's full name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fqdn: Option<String>,
    /// `Ready`, and `Stalled` where only the user can help.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

impl Default for RecordStatus {
    fn default() -> Self {
        Self { observed_generation: Some(UNOBSERVED), fqdn: None, conditions: first_sight() }
    }
}

impl Body for RecordSpec {
    type Manifest = Own<Self, Ours<ReadyOf>>;

    fn validate(&self, _: &Meta) -> Vec<Problem> {
        let mut checks = Checks::default();
        if self.domain_name == "@" && self.zone_ref.is_none() {
            let message = "stands for the zone, and none is named: add a zoneRef or write the full name";
            checks.refuse("spec.domainName", "@", message);
        } else {
            checks.owner_name("spec.domainName", &self.domain_name);
        }
        if let Some(reference) = &self.zone_ref {
            reference.check("spec.zoneRef", &mut checks);
        }
        let internet = self.class.eq_ignore_ascii_case("IN");
        checks.require(
            internet,
            "spec.class",
            &self.class,
            "is not a class that we have: use `IN` or leave it out",
        );
        checks.ttl("spec.ttl", self.ttl);
        self.check_data(&mut checks);
        checks.into_problems()
    }
}

impl RecordSpec {
    fn check_data(&self, checks: &mut Checks) {
        let rtype = match self.r#type.parse::<Rtype>() {
            Ok(rtype) => rtype,
            Err(error) => return checks.refuse("spec.type", "", error.to_string()),
        };
        if let Some(refusal) = rtype.refusal_as_data() {
            return checks.refuse("spec.type", &self.r#type, refusal.to_string());
        }
        match Rdata::parse(rtype, &self.rdata, &Name::root()) {
            Ok(data) => checks.not_reserved("spec.rdata", &self.rdata, dns::reserved_data(&data)),
            Err(error) => checks.refuse("spec.rdata", "", error.to_string()),
        }
    }
}
