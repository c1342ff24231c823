//! ClusterIdentity: which cluster this is, where it stands and below which domain it publishes.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

use super::DNSConfigurationSpec;
use crate::checks::Checks;
use crate::object::{Body, Own};
use crate::pattern::{self, explained};
use crate::status::{Condition, Phase, UNOBSERVED, first_sight};
use crate::{Meta, Problem};

const SINGLETON: &str = "cluster-identity";

/// Who this cluster is.
#[derive(CustomResource, Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "cluster.router.io",
    version = "v1alpha1",
    kind = "ClusterIdentity",
    plural = "clusteridentities",
    shortname = "ci",
    category = "fingerpost",
    status = "ClusterIdentityStatus",
    doc = "ClusterIdentity says which cluster this is, in which region it stands and below which domain its names are published. There is one per cluster, named `cluster-identity`.",
    validation = explained(
        "self.metadata.name == 'cluster-identity'",
        "'metadata.name: `' + self.metadata.name + '` is not `cluster-identity`: there is one ClusterIdentity per cluster and that is its name'"
    ),
    printcolumn(name = "Ready", type_ = "string", json_path = r#".status.conditions[?(@.type=="Ready")].status"#),
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(name = "Region", type_ = "string", json_path = ".spec.region"),
    printcolumn(name = "Cluster", type_ = "string", json_path = ".spec.cluster"),
    printcolumn(name = "Domain", type_ = "string", json_path = ".spec.domain", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[x_kube(
    validation = explained(
        "!has(self.adoptsRegions) || !(self.region in self.adoptsRegions)",
        "'spec.adoptsRegions: `' + self.region + '` is the cluster\\'s own region, which it serves anyway: remove it'"
    ),
    validation = explained(
        "self.cluster.size() + self.region.size() <= 60",
        "'spec.cluster: `' + self.cluster + '` is too long: with region `' + self.region + '` and a postfix it must fit into a label of 63 octets, so cluster and region together may have 60'"
    )
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClusterIdentitySpec {
    /// The region that the cluster stands in, such as `weu`. DNS controllers of this region get
    /// the cluster's records, and it is part of the gateways' host names.
    #[schemars(length(min = 1, max = 63))]
    #[x_kube(validation = pattern::LABEL.rule("spec.region"))]
    pub region: String,
    /// The cluster's own name, such as `vec-weu-p-aks01`. The gateways' host names start with it:
    /// `{cluster}-{region}-{targetPostfix}.{domain}`.
    #[schemars(length(min = 1, max = 63))]
    #[x_kube(validation = pattern::LABEL.rule("spec.cluster"))]
    pub cluster: String,
    /// The domain below which all host names of this cluster lie, such as `aks.example.org`:
    /// lower case, without a final dot.
    #[schemars(length(min = 4, max = 253))]
    #[x_kube(validation = pattern::DOMAIN.rule("spec.domain"))]
    pub domain: String,
    /// One letter for the environment, such as `d`, `t` or `p`. It is part of every service's
    /// host name. Quote `"y"` and `"n"`: kubectl reads them as yes and no.
    #[schemars(length(min = 1, max = 1))]
    #[x_kube(validation = pattern::LETTER.rule("spec.environmentLetter"))]
    pub environment_letter: String,
    /// Regions without a cluster of their own whose DNS this cluster looks after as well. Policies
    /// in mode `Active` then also write to the controllers of these regions, and the records lead
    /// to this cluster.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64), inner(length(min = 1, max = 63)))]
    #[x_kube(validation = pattern::LABEL.rule_for_each("spec.adoptsRegions"), merge_strategy = ListMerge::Set)]
    pub adopts_regions: Vec<String>,
}

/// What has become of the cluster's identity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClusterIdentityStatus {
    /// The `metadata.generation` that this status is about; -1 before the first look.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// `Active` when the identity is valid and in use, `Failed` when it is not valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Phase")]
    pub phase: Option<Phase>,
    /// `Ready`, and `Stalled` where only the user can help.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

impl Default for ClusterIdentityStatus {
    fn default() -> Self {
        Self { observed_generation: Some(UNOBSERVED), phase: Some(Phase::Pending), conditions: first_sight() }
    }
}

impl Body for ClusterIdentitySpec {
    type Manifest = Own<Self>;

    fn validate(&self, meta: &Meta) -> Vec<Problem> {
        let mut checks = Checks::default();
        checks.require(
            *meta.name == *SINGLETON,
            "metadata.name",
            &meta.name,
            "is not `cluster-identity`: there is one ClusterIdentity per cluster and that is its name",
        );
        checks.fits(&pattern::LABEL, "spec.region", &self.region);
        checks.fits(&pattern::LABEL, "spec.cluster", &self.cluster);
        checks.fits(&pattern::DOMAIN, "spec.domain", &self.domain);
        checks.fits(&pattern::LETTER, "spec.environmentLetter", &self.environment_letter);
        self.check_lengths(&mut checks);
        self.check_adopted(&mut checks);
        checks.into_problems()
    }
}

impl ClusterIdentitySpec {
    /// The shortest host name of a gateway has one octet as its postfix.
    fn check_lengths(&self, checks: &mut Checks) {
        if self.cluster.len() + self.region.len() > 60 {
            let message = format!(
                "is too long: with region `{}` and a postfix it must fit into a label of 63 octets, so cluster and region together may have 60",
                self.region
            );
            checks.refuse("spec.cluster", &self.cluster, message);
        }
        if pattern::DOMAIN.fits(&self.domain) {
            checks.name("spec.domain", &self.domain);
        }
    }

    fn check_adopted(&self, checks: &mut Checks) {
        for (index, region) in self.adopts_regions.iter().enumerate() {
            let field = format!("spec.adoptsRegions[{index}]");
            checks.fits(&pattern::LABEL, &field, region);
            checks.require(
                *region != self.region,
                &field,
                region,
                "is the cluster's own region, which it serves anyway: remove it",
            );
        }
        checks.unique("spec.adoptsRegions", self.adopts_regions.iter().map(String::as_str));
    }
}

/// The adopted regions that no controller serves.
///
/// Only who has the DNSConfiguration can tell, so this is not part of
/// [`validate`](crate::validate).
pub fn unserved_regions(
    identity: &ClusterIdentitySpec,
    configuration: &DNSConfigurationSpec,
) -> Vec<Problem> {
    let controllers = &configuration.external_dns_controllers;
    let served = |region: &str| controllers.iter().any(|controller| controller.region == region);
    let unserved = identity.adopts_regions.iter().enumerate().filter(|(_, region)| !served(region));
    let message = "is a region that no controller in DNSConfiguration `dns-config` serves: add one there or remove the region here";
    let problem = |(index, region)| Problem::new(format!("spec.adoptsRegions[{index}]"), region, message);
    unserved.map(problem).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use serde_json::json;

    use super::*;

    #[test]
    fn adopted_region_without_a_controller_is_named() {
        let identity: ClusterIdentitySpec = serde_json::from_value(json!({
            "region": "weu", "cluster": "aks01", "domain": "example.org", "environmentLetter": "p",
            "adoptsRegions": ["frc", "neu"],
        }))
        .unwrap();
        let configuration = serde_json::from_value(json!({
            "externalDNSControllers": [{"name": "a", "region": "weu"}, {"name": "b", "region": "neu"}],
        }))
        .unwrap();
        let problems = unserved_regions(&identity, &configuration);
        assert_eq!(problems.len(), 1);
        assert!(
            problems[0]
                .to_string()
                .starts_with("spec.adoptsRegions[0]: `frc` is a region that no controller")
        );
    }
}
