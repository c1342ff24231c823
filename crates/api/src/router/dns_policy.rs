//! DNSPolicy of the router family: to which DNS controllers a namespace's records go.

use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::checks::Checks;
use crate::object::{Body, Own};
use crate::pattern;
use crate::serde_forms::unset_when_empty;
use crate::status::{Condition, Phase, UNOBSERVED, first_sight};
use crate::{Meta, Problem};

/// To which DNS controllers a namespace's records go.
#[derive(CustomResource, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "routing.router.io",
    version = "v1alpha1",
    kind = "DNSPolicy",
    plural = "dnspolicies",
    shortname = "dnsp",
    category = "fingerpost",
    namespaced,
    status = "DNSPolicyStatus",
    doc = "DNSPolicy decides to which of DNSConfiguration's controllers the records of its namespace's ServiceRoutes go, and in which clusters they are made at all. Of several in one namespace the oldest applies.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#
    ),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Mode", type_ = "string", json_path = ".spec.mode"),
    printcolumn(name = "Controllers", type_ = "string", json_path = ".status.activeControllers"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[x_kube(validation = (
    "self.mode != 'RegionBound' || (has(self.sourceRegion) && self.sourceRegion != '')",
    "spec.sourceRegion: RegionBound needs a sourceRegion, or every cluster would write every zone: name the region whose cluster serves"
))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DNSPolicySpec {
    /// `Active`: every cluster writes to the controllers of its own region and of those that it
    /// adopts, so that clients stay in their region. `RegionBound`: the one cluster that
    /// `sourceRegion` and `sourceCluster` name writes to all controllers, so that all clients come
    /// to it.
    pub mode: PolicyMode,
    /// Only clusters in this region follow the policy. Required in mode `RegionBound`; empty is
    /// unset.
    #[serde(default, deserialize_with = "unset_when_empty", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    #[x_kube(validation = pattern::LABEL.rule_or_empty("spec.sourceRegion"))]
    pub source_region: Option<String>,
    /// Only the cluster of this name follows the policy; empty is unset.
    #[serde(default, deserialize_with = "unset_when_empty", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    #[x_kube(validation = pattern::LABEL.rule_or_empty("spec.sourceCluster"))]
    pub source_cluster: Option<String>,
}

/// Who serves whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PolicyMode {
    /// Every cluster serves its own region and those that it adopts.
    Active,
    /// One cluster serves all regions.
    RegionBound,
}

/// What has become of the policy in this cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct DNSPolicyStatus {
    /// The `metadata.generation` that this status is about; -1 before the first look.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Active` when this cluster follows the policy, `Inactive` when the policy is for another
    /// cluster or an older policy applies, `Pending` while something is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Phase")]
    pub phase: Option<Phase>,
    /// Whether this cluster follows the policy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active: Option<bool>,
    /// The controllers that records go to, in DNSConfiguration's order.
    #[serde(default)]
    pub active_controllers: Vec<String>,
    /// `Ready`, and `Stalled` where only the user can help.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

impl Default for DNSPolicyStatus {
    fn default() -> Self {
        Self {
            observed_generation: Some(UNOBSERVED),
            phase: Some(Phase::Pending),
            active: None,
            active_controllers: Vec::new(),
            conditions: first_sight(),
        }
    }
}

impl DNSPolicySpec {
    /// The region whose clusters follow the policy, if it names one.
    pub fn source_region(&self) -> Option<&str> {
        self.source_region.as_deref().filter(|region| !region.is_empty())
    }

    /// The cluster that follows the policy, if it names one.
    pub fn source_cluster(&self) -> Option<&str> {
        self.source_cluster.as_deref().filter(|cluster| !cluster.is_empty())
    }
}

impl Body for DNSPolicySpec {
    type Manifest = Own<Self>;

    fn validate(&self, _: &Meta) -> Vec<Problem> {
        let mut checks = Checks::default();
        checks.fits_if_set(&pattern::LABEL, "spec.sourceRegion", self.source_region());
        checks.fits_if_set(&pattern::LABEL, "spec.sourceCluster", self.source_cluster());
        checks.require(
            self.mode == PolicyMode::Active || self.source_region().is_some(),
            "spec.sourceRegion",
            "",
            "RegionBound needs a sourceRegion, or every cluster would write every zone: name the region whose cluster serves",
        );
        checks.into_problems()
    }
}
