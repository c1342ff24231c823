//! What a Placement's status tells: the regions, the lease and what happened.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::status::{Condition, UNOBSERVED, date_time, first_sight};

/// What has become of the placement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlacementStatus {
    /// The `metadata.generation` that this status is about; -1 before the first look.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The region that clients are sent to before others, where that is not simply the first that is
    /// up: the one that they were moved to, or the holder of the witness's lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<String>,
    /// The regions that clients are sent to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answering: Vec<String>,
    /// How each region is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub regions: Vec<RegionStatus>,
    /// Who holds the witness's lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<PlacementLease>,
    /// The latest moves between regions, the newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<HistoryEntry>,
    /// `Ready`, and `Stalled` where only the user can help; `Healthy`; `Steering`, which says how the
    /// class steers; `Regions` and `Witness` where something is amiss with them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

/// How a region is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegionStatus {
    /// The region's name.
    pub name: String,
    /// Whether it is up.
    pub health: RegionHealth,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "date_time")]
    pub since: Option<String>,
    /// Why it is down, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Whether clients are sent to it.
    pub answering: bool,
    /// Its addresses, or its host name; where they are read from another object, what was last read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
}

/// Whether a region is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[allow(missing_docs)]
pub enum RegionHealth {
    Up,
    Down,
    Unknown,
}

/// Who holds a witness's lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlacementLease {
    /// The region that holds it; none while nobody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// A number that grows with every new holder; who writes must carry the latest.
    pub generation: u64,
    /// When it runs out unless it is renewed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "date_time")]
    pub expires: Option<String>,
}

/// A move between regions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct HistoryEntry {
    /// When it happened.
    #[schemars(schema_with = "date_time")]
    pub time: String,
    /// The region that clients were sent to before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The region that clients were sent to from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Why, in a sentence.
    pub message: String,
}

impl Default for PlacementStatus {
    fn default() -> Self {
        Self {
            observed_generation: Some(UNOBSERVED),
            active: None,
            answering: Vec::new(),
            regions: Vec::new(),
            lease: None,
            history: Vec::new(),
            conditions: first_sight(),
        }
    }
}
