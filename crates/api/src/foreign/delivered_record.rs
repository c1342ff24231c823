//! ExternalDNS's own DNSRecord (version 0.22 and later): what its registry says became of a record.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Endpoint;
use crate::Published;
use crate::meta::ForeignMetadata;
use crate::object::{Body, Manifest};
use crate::{Meta, Problem};

/// A record set that ExternalDNS has taken on, and how far it has come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DeliveredRecord {
    /// The name.
    pub dns_name: Box<str>,
    /// The record type.
    pub record_type: Box<str>,
    /// The record data, in the form that ExternalDNS has for each type.
    pub targets: Vec<String>,
    /// Tells record sets of one name and type apart where the provider steers; else empty.
    pub set_identifier: Box<str>,
    /// How far it has come.
    pub delivery: Delivery,
}

/// How far ExternalDNS has come with a record set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub enum Delivery {
    /// Taken on, and no more is known.
    #[default]
    Accepted,
    /// The provider has it.
    Programmed,
    /// The provider refused the batch that it was in, with this message.
    Failed(Box<str>),
}

impl Delivery {
    /// What the condition `Ready` says of this generation.
    fn of(condition: &Condition, generation: Option<i64>) -> Delivery {
        let observed = condition.observed_generation.filter(|observed| *observed > 0);
        if observed.zip(generation).is_some_and(|(observed, newest)| observed < newest) {
            return Delivery::Accepted;
        }
        match (&*condition.status, &*condition.reason) {
            ("True", "Programmed") => Delivery::Programmed,
            (_, "Failed") => Delivery::Failed((*condition.message).into()),
            _ => Delivery::Accepted,
        }
    }

    fn to_condition(&self) -> Condition {
        let (status, reason, message) = match self {
            Delivery::Accepted => ("False", "Accepted", ""),
            Delivery::Programmed => ("True", "Programmed", ""),
            Delivery::Failed(message) => ("False", "Failed", &**message),
        };
        let [r#type, status, reason, message] = ["Ready", status, reason, message].map(str::to_owned);
        Condition { r#type, status, reason, message, observed_generation: None }
    }
}

impl Body for DeliveredRecord {
    type Manifest = DeliveredManifest;

    fn write(&self) -> Value {
        let endpoint = Endpoint {
            dns_name: self.dns_name.to_string(),
            record_type: self.record_type.to_string(),
            targets: self.targets.clone(),
            set_identifier: (!self.set_identifier.is_empty()).then(|| self.set_identifier.to_string()),
            ..Endpoint::default()
        };
        json!({
            "spec": { "endpoint": endpoint },
            "status": { "conditions": [self.delivery.to_condition()] },
        })
    }

    fn validate(&self, _: &Meta) -> Vec<Problem> {
        Vec::new()
    }
}

/// A DNSRecord as it is read.
#[derive(Deserialize)]
pub(crate) struct DeliveredManifest {
    metadata: ForeignMetadata,
    spec: Option<Spec>,
    status: Option<Status>,
}

#[derive(Default, Deserialize)]
struct Spec {
    #[serde(default)]
    endpoint: Endpoint,
}

#[derive(Deserialize)]
struct Status {
    #[serde(default)]
    conditions: Vec<Condition>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Condition {
    r#type: String,
    status: String,
    reason: String,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    observed_generation: Option<i64>,
}

impl Manifest for DeliveredManifest {
    type Body = DeliveredRecord;

    fn open(self) -> (Meta, DeliveredRecord, Option<Published>) {
        let meta: Meta = self.metadata.into();
        let conditions = self.status.map(|status| status.conditions).unwrap_or_default();
        let ready = conditions.iter().find(|condition| condition.r#type == "Ready");
        let endpoint = self.spec.unwrap_or_default().endpoint;
        let record = DeliveredRecord {
            dns_name: endpoint.dns_name.into(),
            record_type: endpoint.record_type.into(),
            targets: endpoint.targets,
            set_identifier: endpoint.set_identifier.unwrap_or_default().into(),
            delivery: ready.map(|ready| Delivery::of(ready, meta.generation)).unwrap_or_default(),
        };
        (meta, record, None)
    }
}
