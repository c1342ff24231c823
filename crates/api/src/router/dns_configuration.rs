//! DNSConfiguration: which DNS controllers there are and which region each one serves.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use crate::checks::Checks;
use crate::object::{Body, Own};
use crate::pattern::{self, explained};
use crate::status::{Condition, UNOBSERVED, first_sight};
use crate::{DNSClassRef, Meta, Problem};

const SINGLETON: &str = "dns-config";

/// The DNS controllers of the installation.
#[derive(CustomResource, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "cluster.router.io",
    version = "v1alpha1",
    kind = "DNSConfiguration",
    plural = "dnsconfigurations",
    shortname = "dnsc",
    category = "fingerpost",
    status = "DNSConfigurationStatus",
    doc = "DNSConfiguration lists the DNS controllers that records can be handed to, and the region that each one serves. There is one per cluster, named `dns-config`.",
    validation = explained(
        "self.metadata.name == 'dns-config'",
        "'metadata.name: `' + self.metadata.name + '` is not `dns-config`: there is one DNSConfiguration per cluster and that is its name'"
    ),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Reason", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].reason"#),
    printcolumn(name = "Controllers", type_ = "string", json_path = ".spec.externalDNSControllers[*].name"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DNSConfigurationSpec {
    /// All DNS controllers, at least one, each with a name of its own. Policies choose among them
    /// by region, and list the chosen ones in this order.
    #[serde(rename = "externalDNSControllers")]
    #[schemars(length(min = 1, max = 128))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub external_dns_controllers: Vec<ExternalDNSController>,
}

/// A DNS controller: an ExternalDNS process, or Fingerpost itself by a DNSClass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExternalDNSController {
    /// The controller's name, such as `external-dns-weu`. DNSEndpoints carry it in the annotation
    /// `external-dns.alpha.kubernetes.io/controller` and in the label `router.io/controller`, so
    /// that ExternalDNS can filter by it.
    #[schemars(length(min = 1, max = 253))]
    #[x_kube(validation = pattern::OBJECT_NAME.rule("spec.externalDNSControllers.name"))]
    pub name: String,
    /// The region whose DNS zone this controller writes, such as `weu`.
    #[schemars(length(min = 1, max = 63))]
    #[x_kube(validation = pattern::LABEL.rule("spec.externalDNSControllers.region"))]
    pub region: String,
    /// The DNSClass by which Fingerpost itself delivers what is addressed to this controller.
    /// With it no ExternalDNS process is needed for this controller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dns_class_ref: Option<DNSClassRef>,
}

/// What has become of the list of controllers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct DNSConfigurationStatus {
    /// The `metadata.generation` that this status is about; -1 before the first look.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Ready`, and `Stalled` where only the user can help.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

impl Default for DNSConfigurationStatus {
    fn default() -> Self {
        Self { observed_generation: Some(UNOBSERVED), conditions: first_sight() }
    }
}

impl Body for DNSConfigurationSpec {
    type Manifest = Own<Self>;

    fn validate(&self, meta: &Meta) -> Vec<Problem> {
        let mut checks = Checks::default();
        checks.require(
            *meta.name == *SINGLETON,
            "metadata.name",
            &meta.name,
            "is not `dns-config`: there is one DNSConfiguration per cluster and that is its name",
        );
        checks.require(
            !self.external_dns_controllers.is_empty(),
            "spec.externalDNSControllers",
            "",
            "is empty: list at least one controller with its name and region",
        );
        for (index, controller) in self.external_dns_controllers.iter().enumerate() {
            controller.check(&format!("spec.externalDNSControllers[{index}]"), &mut checks);
        }
        let names = self.external_dns_controllers.iter().map(|controller| controller.name.as_str());
        checks.unique_at(|index| format!("spec.externalDNSControllers[{index}].name"), names);
        checks.into_problems()
    }
}

impl ExternalDNSController {
    fn check(&self, path: &str, checks: &mut Checks) {
        checks.fits(&pattern::OBJECT_NAME, &format!("{path}.name"), &self.name);
        checks.fits(&pattern::LABEL, &format!("{path}.region"), &self.region);
        if let Some(class) = &self.dns_class_ref {
            class.check(&format!("{path}.dnsClassRef"), checks);
        }
    }
}
