//! Gateway: an Istio gateway that services are reached through.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::checks::Checks;
use crate::object::{Body, Own};
use crate::pattern;
use crate::published::{Ours, PublishedOf};
use crate::serde_forms::unset_when_empty;
use crate::status::{Condition, Phase, UNOBSERVED, first_sight};
use crate::{Meta, Problem};

/// A way into the cluster.
#[derive(CustomResource, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "routing.router.io",
    version = "v1alpha1",
    kind = "Gateway",
    plural = "gateways",
    shortname = "rgw",
    category = "fingerpost",
    namespaced,
    status = "GatewayStatus",
    doc = "Gateway is a way into the cluster that ServiceRoutes lead through. An Istio Gateway with the hosts of all its routes is made for it, and its own host name, `{cluster}-{region}-{targetPostfix}.{domain}`, leads to its load balancer.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#
    ),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Address", type_ = "string", json_path = ".status.loadBalancerIP"),
    printcolumn(name = "Postfix", type_ = "string", json_path = ".spec.targetPostfix"),
    printcolumn(name = "Controller", type_ = "string", json_path = ".spec.controller", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GatewaySpec {
    /// The Istio ingress gateway, such as `aks-istio-ingressgateway-internal`: the value of its
    /// pods' label `istio`, by which the Istio Gateway selects them. The load balancer is the
    /// Service of this name in the same namespace, or else one that carries the same label.
    #[schemars(length(min = 1, max = 63))]
    #[x_kube(validation = pattern::LABEL_VALUE.rule("spec.controller"))]
    pub controller: String,
    /// The Secret with the TLS certificate, as the Istio Gateway's `credentialName`. Without it
    /// the Istio Gateway has none, and a condition says so.
    #[serde(default, deserialize_with = "unset_when_empty", skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub credential_name: Option<String>,
    /// What tells this gateway's host name from those of the cluster's other gateways, such as
    /// `internal` or `external`.
    #[schemars(length(min = 1, max = 59))]
    #[x_kube(validation = pattern::POSTFIX.rule("spec.targetPostfix"))]
    pub target_postfix: String,
}

/// What has become of the gateway.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct GatewayStatus {
    /// The `metadata.generation` that this status is about; -1 before the first look.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Active` when the Istio Gateway stands; `Pending` without routes or without an address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Phase")]
    pub phase: Option<Phase>,
    /// The load balancer's first address, or its host name where it has no address.
    #[serde(default, rename = "loadBalancerIP", skip_serializing_if = "Option::is_none")]
    pub load_balancer_ip: Option<String>,
    /// `Ready`, and `Stalled` where only the user can help.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

impl Default for GatewayStatus {
    fn default() -> Self {
        Self {
            observed_generation: Some(UNOBSERVED),
            phase: Some(Phase::Pending),
            load_balancer_ip: None,
            conditions: first_sight(),
        }
    }
}

impl Body for GatewaySpec {
    type Manifest = Own<Self, Ours<PublishedOf>>;

    fn validate(&self, _: &Meta) -> Vec<Problem> {
        let mut checks = Checks::default();
        checks.fits(&pattern::LABEL_VALUE, "spec.controller", &self.controller);
        checks.fits(&pattern::POSTFIX, "spec.targetPostfix", &self.target_postfix);
        checks.require(
            self.target_postfix.len() <= 59,
            "spec.targetPostfix",
            &self.target_postfix,
            "is too long: with cluster and region before it, it must fit into a label of 63 octets, so it may have 59",
        );
        checks.into_problems()
    }
}
