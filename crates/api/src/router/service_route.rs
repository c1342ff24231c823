//! ServiceRoute: a service's host name and the gateway that it is reached through.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::checks::Checks;
use crate::object::{Body, Own};
use crate::pattern::{self, explained};
use crate::published::{Ours, PublishedOf};
use crate::status::{Condition, Phase, UNOBSERVED, first_sight};
use crate::{Meta, Problem};

/// What a host label has beside the three parts that a route names: `-ns-`, the environment's
/// letter and two hyphens.
const FIXED_OCTETS: usize = 7;

/// A service's host name and the gateway that it is reached through.
#[derive(CustomResource, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "routing.router.io",
    version = "v1alpha1",
    kind = "ServiceRoute",
    plural = "serviceroutes",
    shortname = "sr",
    category = "fingerpost",
    namespaced,
    status = "ServiceRouteStatus",
    doc = "ServiceRoute gives a service the host name `{serviceName}-ns-{environmentLetter}-{environment}-{application}.{domain}`, which leads to a Gateway's host name. The namespace's DNSPolicy decides where it is published.",
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Ready")].status"#
    ),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Service", type_ = "string", json_path = ".spec.serviceName"),
    printcolumn(name = "Gateway", type_ = "string", json_path = ".spec.gatewayName"),
    printcolumn(name = "Endpoint", type_ = "string", json_path = ".status.DNSEndpoint", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[x_kube(validation = explained(
    "self.serviceName.size() + self.environment.size() + self.application.size() <= 56",
    "'spec.serviceName: `' + self.serviceName + '` is too long: with environment `' + self.environment + '` and application `' + self.application + '` it must fit into a label of 63 octets, so the three together may have 56'"
))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServiceRouteSpec {
    /// The service's part of the host name, such as `api`.
    #[schemars(length(min = 1, max = 54))]
    #[x_kube(validation = pattern::LABEL.rule("spec.serviceName"))]
    pub service_name: Box<str>,
    /// The Gateway that the service is reached through.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = pattern::OBJECT_NAME.rule("spec.gatewayName"))]
    pub gateway_name: Box<str>,
    /// The namespace of that Gateway.
    #[serde(default = "istio_system")]
    #[schemars(length(min = 1, max = 63))]
    #[x_kube(validation = pattern::NAMESPACE.rule("spec.gatewayNamespace"))]
    pub gateway_namespace: Box<str>,
    /// The environment's part of the host name, such as `prod`.
    #[schemars(length(min = 1, max = 54))]
    #[x_kube(validation = pattern::LABEL.rule("spec.environment"))]
    pub environment: Box<str>,
    /// The application's part of the host name, such as `myapp`.
    #[schemars(length(min = 1, max = 54))]
    #[x_kube(validation = pattern::LABEL.rule("spec.application"))]
    pub application: Box<str>,
}

fn istio_system() -> Box<str> {
    "istio-system".into()
}

/// What has become of the route.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ServiceRouteStatus {
    /// The `metadata.generation` that this status is about; -1 before the first look.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Active` when its records are made, `Pending` while policy or identity are missing or the
    /// policy is inactive, `Failed` when its gateway is missing or its name is taken.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Phase")]
    pub phase: Option<Phase>,
    /// The first DNSEndpoint that was made for it.
    #[serde(default, rename = "DNSEndpoint", skip_serializing_if = "Option::is_none")]
    pub dns_endpoint: Option<String>,
    /// `Ready`, `Published` once the world sees it, and `Stalled` where only the user can help.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

impl Default for ServiceRouteStatus {
    fn default() -> Self {
        Self {
            observed_generation: Some(UNOBSERVED),
            phase: Some(Phase::Pending),
            dns_endpoint: None,
            conditions: first_sight(),
        }
    }
}

impl Body for ServiceRouteSpec {
    type Manifest = Own<Self, Ours<PublishedOf>>;

    fn validate(&self, _: &Meta) -> Vec<Problem> {
        let mut checks = Checks::default();
        for (field, text) in self.parts() {
            checks.fits(&pattern::LABEL, field, text);
        }
        checks.fits(&pattern::OBJECT_NAME, "spec.gatewayName", &self.gateway_name);
        checks.fits(&pattern::NAMESPACE, "spec.gatewayNamespace", &self.gateway_namespace);
        self.check_length(&mut checks);
        checks.into_problems()
    }
}

impl ServiceRouteSpec {
    /// The parts of the host label that the route names.
    fn parts(&self) -> [(&'static str, &str); 3] {
        [
            ("spec.serviceName", &self.service_name),
            ("spec.environment", &self.environment),
            ("spec.application", &self.application),
        ]
    }

    /// Whatever the environment's letter is, the host label must fit; the longest part is named.
    fn check_length(&self, checks: &mut Checks) {
        let length = FIXED_OCTETS + self.parts().iter().map(|(_, text)| text.len()).sum::<usize>();
        let longest = self.parts().into_iter().max_by_key(|(_, text)| text.len());
        if let (Some((field, text)), Some(excess)) = (longest, length.checked_sub(dns::MAX_LABEL))
            && excess > 0
        {
            let message = format!(
                "is too long: the host label `{}-ns-?-{}-{}` has {length} octets and may have {}; shorten it by {excess}",
                self.service_name,
                self.environment,
                self.application,
                dns::MAX_LABEL
            );
            checks.refuse(field, text, message);
        }
    }
}
