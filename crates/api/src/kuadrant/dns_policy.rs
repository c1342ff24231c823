//! DNSPolicy of the kuadrant family: how clients are spread over a gateway's clusters.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use super::Answers;
use crate::checks::Checks;
use crate::object::{Body, Own};
use crate::pattern;
use crate::published::{Ours, PolicyOf};
use crate::status::{Condition, UNOBSERVED, first_sight};
use crate::{HealthCheck, Meta, Problem};

const GATEWAY_API: &str = "gateway.networking.k8s.io";

/// How clients are spread over a gateway's clusters.
#[derive(CustomResource, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "kuadrant.io",
    version = "v1alpha1",
    kind = "DNSPolicy",
    root = "KuadrantDNSPolicy",
    plural = "dnspolicies",
    category = "fingerpost",
    namespaced,
    status = "KuadrantDNSPolicyStatus",
    label("gateway.networking.k8s.io/policy", "Direct"),
    doc = "DNSPolicy attaches to a Gateway of the Gateway API and says how clients are spread over the clusters that the gateway is in: by weight, by where the client is, or both. It holds for all managed listeners of the gateway.",
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
    printcolumn(name = "Gateway", type_ = "string", json_path = ".spec.targetRef.name"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KuadrantDNSPolicySpec {
    /// The Gateway that the policy is for.
    pub target_ref: TargetRef,
    /// How it is found out whether a cluster's addresses are up. Without it nothing is probed;
    /// `{}` probes by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health: Option<HealthCheck>,
    /// How clients are spread.
    pub load_balancing: LoadBalancing,
}

/// The Gateway that a policy is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = (
    "self.group == 'gateway.networking.k8s.io' && self.kind == 'Gateway'",
    "spec.targetRef: names something else than a Gateway of gateway.networking.k8s.io: leave group and kind out"
))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TargetRef {
    /// The group, which is that of the Gateway API.
    #[serde(default = "gateway_api")]
    #[schemars(length(max = 253))]
    pub group: String,
    /// The kind, which is `Gateway`.
    #[serde(default = "gateway")]
    #[schemars(length(max = 63))]
    pub kind: String,
    /// Name of the Gateway.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = pattern::OBJECT_NAME.rule("spec.targetRef.name"))]
    pub name: String,
    /// Its namespace, which is the policy's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub namespace: Option<String>,
}

fn gateway_api() -> String {
    GATEWAY_API.into()
}

fn gateway() -> String {
    "Gateway".into()
}

/// How clients are spread over clusters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = (
    "!(has(self.GEO) && has(self.geo))",
    "spec.loadBalancing: GEO and geo are the same: use one of them"
))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LoadBalancing {
    /// By weight. With `GEO` the weights hold within each place.
    pub weighted: Weighted,
    /// By where the client is.
    #[serde(default, rename = "GEO", skip_serializing_if = "Option::is_none")]
    pub geo_in_capitals: Option<GeoDefault>,
    /// The same as `GEO`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub geo: Option<GeoDefault>,
}

/// How much each cluster gets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = (
    "self.default > 0 || (has(self.custom) && self.custom.exists(custom, custom.weight > 0))",
    "spec.loadBalancing.weighted: all weights are 0, so that nobody would get an answer: make one greater than 0"
))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Weighted {
    /// The weight of clusters that no entry of `custom` names; 0 drains them.
    #[schemars(range(max = 65535))]
    pub default: u16,
    /// Weights of clusters that carry a label.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 256))]
    pub custom: Vec<CustomWeight>,
}

/// The weight of clusters that carry a label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CustomWeight {
    /// Which label of the ManagedCluster is looked at: `cloud` stands for
    /// `kuadrant.io/lb-attribute-cloud`. Default: `kuadrant.io/lb-attribute-custom-weight`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 50))]
    pub attribute: Option<String>,
    /// The value that the label must have, such as `AWS`.
    #[schemars(length(min = 1, max = 63))]
    pub value: String,
    /// The weight; 0 drains these clusters.
    #[schemars(range(max = 65535))]
    pub weight: u16,
}

/// Where clients go whose place has no cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GeoDefault {
    /// The place whose clusters answer clients from anywhere else: a country code such as `IE`,
    /// or a continent such as `GEO-EU`.
    #[schemars(length(min = 2, max = 6))]
    #[x_kube(validation = pattern::GEO.rule("spec.loadBalancing.GEO.default"))]
    pub default: String,
}

/// What has become of the policy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct KuadrantDNSPolicyStatus {
    /// The `metadata.generation` that this status is about; -1 before the first look.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Ready`, and `Stalled` where only the user can help.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
    /// What the gateway's names are answered by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Answers>,
}

impl Default for KuadrantDNSPolicyStatus {
    fn default() -> Self {
        Self { observed_generation: Some(UNOBSERVED), conditions: first_sight(), answers: Vec::new() }
    }
}

impl TargetRef {
    /// The Gateway of a name, beside the policy.
    pub fn gateway(name: &str) -> TargetRef {
        TargetRef { group: gateway_api(), kind: gateway(), name: name.to_owned(), namespace: None }
    }
}

impl LoadBalancing {
    /// By where the client is, in whichever way it was written.
    pub fn geo(&self) -> Option<&GeoDefault> {
        self.geo_in_capitals.as_ref().or(self.geo.as_ref())
    }
}

impl CustomWeight {
    /// The label of the ManagedCluster that is looked at.
    pub fn label(&self) -> String {
        format!("kuadrant.io/lb-attribute-{}", self.attribute.as_deref().unwrap_or("custom-weight"))
    }
}

impl Body for KuadrantDNSPolicySpec {
    type Manifest = Own<Self, Ours<PolicyOf>>;

    fn validate(&self, meta: &Meta) -> Vec<Problem> {
        let mut checks = Checks::default();
        self.target_ref.check(meta, &mut checks);
        if let Some(health) = &self.health {
            health.check("spec.health", &mut checks);
        }
        self.load_balancing.check(&mut checks);
        checks.into_problems()
    }
}

impl TargetRef {
    fn check(&self, meta: &Meta, checks: &mut Checks) {
        let target = format!("{}/{}", self.group, self.kind);
        let message =
            "is something else than a Gateway of gateway.networking.k8s.io: leave group and kind out";
        checks.require(target == "gateway.networking.k8s.io/Gateway", "spec.targetRef", target, message);
        checks.fits(&pattern::OBJECT_NAME, "spec.targetRef.name", &self.name);
        if let Some(namespace) = self.namespace.as_deref().filter(|namespace| **namespace != *meta.namespace)
        {
            let message = format!(
                "is not the policy's own namespace `{}`: a policy lies beside its Gateway",
                meta.namespace
            );
            checks.refuse("spec.targetRef.namespace", namespace, message);
        }
    }
}

impl LoadBalancing {
    fn check(&self, checks: &mut Checks) {
        let twice = self.geo_in_capitals.is_some() && self.geo.is_some();
        checks.require(!twice, "spec.loadBalancing", "", "GEO and geo are the same: use one of them");
        for (field, geo) in [("GEO", &self.geo_in_capitals), ("geo", &self.geo)] {
            if let Some(geo) = geo {
                checks.place(&format!("spec.loadBalancing.{field}.default"), &geo.default);
            }
        }
        self.weighted.check("spec.loadBalancing.weighted", checks);
    }
}

impl Weighted {
    fn check(&self, path: &str, checks: &mut Checks) {
        let some = self.default > 0 || self.custom.iter().any(|custom| custom.weight > 0);
        let message = "all weights are 0, so that nobody would get an answer: make one greater than 0";
        checks.require(some, path, "", message);
        for (index, custom) in self.custom.iter().enumerate() {
            let path = format!("{path}.custom[{index}]");
            checks.fits(&pattern::LABEL_VALUE, &format!("{path}.value"), &custom.value);
            checks.fits_if_set(
                &pattern::LABEL_VALUE,
                &format!("{path}.attribute"),
                custom.attribute.as_deref(),
            );
        }
        let matches: Vec<String> =
            self.custom.iter().map(|custom| format!("{}={}", custom.label(), custom.value)).collect();
        checks.unique(&format!("{path}.custom"), matches.iter().map(String::as_str));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("{weighted: {default: 1}, GEO: {default: IE}}", Some("IE"))]
    #[case("{weighted: {default: 1}, geo: {default: DE}}", Some("DE"))]
    #[case("{weighted: {default: 1}}", None)]
    fn geo_is_taken_in_both_spellings(#[case] yaml: &str, #[case] expected: Option<&str>) {
        let balancing: LoadBalancing = serde_saphyr::from_str(yaml).unwrap();
        assert_eq!(balancing.geo().map(|geo| geo.default.as_str()), expected);
    }

    #[rstest]
    #[case("{value: AWS, weight: 1}", "kuadrant.io/lb-attribute-custom-weight")]
    #[case("{attribute: cloud, value: AWS, weight: 1}", "kuadrant.io/lb-attribute-cloud")]
    fn attribute_names_the_label(#[case] yaml: &str, #[case] label: &str) {
        assert_eq!(serde_saphyr::from_str::<CustomWeight>(yaml).unwrap().label(), label);
    }
}
