//! What the statuses of all kinds have in common.
//!
//! A new object's status is its CRD's default, so that the first sight of it says `Unknown`
//! without a write.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The `observedGeneration` of an object that nobody has looked at yet.
pub const UNOBSERVED: i64 = -1;

/// One aspect of an object's state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Which aspect: `Ready`, `Stalled`, `Published` and so on.
    #[schemars(length(min = 1, max = 316))]
    pub r#type: String,
    /// Whether it holds.
    pub status: ConditionStatus,
    /// The `metadata.generation` that this was said about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// When `status` last changed.
    #[schemars(schema_with = "date_time")]
    pub last_transition_time: String,
    /// Why, in one word for machines.
    #[schemars(length(min = 1, max = 1024))]
    pub reason: String,
    /// Why, in a sentence for people.
    #[schemars(length(max = 32768))]
    pub message: String,
}

/// Whether a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ConditionStatus {
    #[allow(missing_docs)]
    True,
    #[allow(missing_docs)]
    False,
    #[allow(missing_docs)]
    Unknown,
}

/// How far an object of the router family has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Phase {
    /// Something that it needs is not there yet.
    #[default]
    Pending,
    /// It does what it says.
    Active,
    /// It cannot do what it says.
    Failed,
    /// It does not apply to this cluster.
    Inactive,
}

/// The conditions of an object that nobody has looked at yet.
pub fn first_sight() -> Vec<Condition> {
    vec![Condition {
        r#type: "Ready".into(),
        status: ConditionStatus::Unknown,
        observed_generation: Some(UNOBSERVED),
        last_transition_time: "1970-01-01T00:00:00Z".into(),
        reason: "Pending".into(),
        message: "waiting for Fingerpost to look at it".into(),
    }]
}

/// The schema of a time as Kubernetes writes it.
pub(crate) fn date_time(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({ "type": "string", "format": "date-time" })
}
