//! Placement: in which regions an application is and how clients are sent there.

use dns::Name;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{PlacementStatus, Region, Witness};
use crate::checks::{Checks, MAX_TTL};
use crate::object::{Body, Own};
use crate::published::Ours;
use crate::target::Target;
use crate::{DNSClassRef, HealthCheck, Meta, Problem};

/// In which regions an application is and how clients are sent there.
#[derive(CustomResource, Clone, Debug, PartialEq, Serialize, Deserialize, KubeSchema)]
#[kube(
    group = "fingerpost.dev",
    version = "v1alpha1",
    kind = "Placement",
    plural = "placements",
    shortname = "plc",
    category = "fingerpost",
    namespaced,
    status = "PlacementStatus",
    doc = "Placement says in which regions an application is and how clients are sent there: to all that are up, to the closest, to the first that is up, or by weight.",
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
    printcolumn(name = "Hostname", type_ = "string", json_path = ".spec.hostname"),
    printcolumn(name = "Mode", type_ = "string", json_path = ".spec.mode"),
    printcolumn(name = "Answering", type_ = "string", json_path = ".status.answering", priority = 1),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp")
)]
#[x_kube(
    validation = (
        "self.mode != 'single-region' || self.regions.size() == 1",
        "spec.regions: single-region has exactly one region: remove the others or choose another mode"
    ),
    validation = (
        "!(self.mode in ['active-active', 'active-hotstandby', 'active-passive-warm']) || self.regions.size() >= 2",
        "spec.regions: this mode needs at least two regions: add one or use single-region"
    ),
    validation = (
        "self.mode != 'weighted-canary' || self.regions.all(region, has(region.weight))",
        "spec.regions: weighted-canary needs a weight in every region"
    ),
    validation = (
        "self.mode == 'weighted-canary' || self.regions.all(region, !has(region.weight) || region.weight == 0)",
        "spec.regions: a weight other than 0, which drains a region, is for weighted-canary only"
    ),
    validation = (
        "self.regions.exists(region, !has(region.weight) || region.weight > 0)",
        "spec.regions: all weights are 0, so that nobody would get an answer: make one greater than 0"
    ),
    validation = (
        "!has(self.routing) || self.routing == 'all' || self.mode == 'active-active'",
        "spec.routing: closest is for active-active only"
    )
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PlacementSpec {
    /// The name that clients ask for, such as `app.example.org`.
    #[schemars(length(min = 1, max = 1024))]
    pub hostname: String,
    /// How clients are sent to the regions.
    pub mode: PlacementMode,
    /// For `active-active`: whether clients get all regions that are up, or the closest of them.
    #[serde(default)]
    pub routing: Routing,
    /// The TTL in seconds. Default: 30, and 300 in mode `active-passive-warm`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(max = MAX_TTL))]
    pub ttl: Option<u32>,
    /// The class that delivers the name. Without one every server of ours answers for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dns_class_ref: Option<DNSClassRef>,
    /// The regions in order of preference, each with a name of its own.
    #[schemars(length(min = 1, max = 32))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub regions: Vec<Region>,
    /// How it is found out whether a region is up. Without it nothing is probed, and a condition
    /// says so; `{}` asks `https://<hostname>/healthz` every five seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub health_check: Option<HealthCheck>,
    /// A third place that decides which region may take over, so that two never do at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<Witness>,
    /// Whether clients go back by themselves when a better region is up again. Default: `Manual`
    /// with a witness and in mode `active-passive-warm`, else `Automatic`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Failback")]
    pub failback: Option<Failback>,
}

/// How clients are sent to the regions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PlacementMode {
    /// There is one region.
    SingleRegion,
    /// To all that are up.
    ActiveActive,
    /// To the first that is up.
    ActiveHotstandby,
    /// To the first that is up, slow to move and moved back by hand.
    ActivePassiveWarm,
    /// By weight, the same region for the same client.
    WeightedCanary,
}

/// Which of the regions that are up a client gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Routing {
    /// All of them.
    #[default]
    All,
    /// The closest to the client.
    Closest,
}

/// Whether clients go back by themselves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Failback {
    /// As soon as a better region is up again.
    Automatic,
    /// When somebody says so.
    Manual,
}

impl PlacementSpec {
    /// The TTL of the answers.
    pub fn ttl(&self) -> u32 {
        self.ttl.unwrap_or(if self.mode == PlacementMode::ActivePassiveWarm { 300 } else { 30 })
    }

    /// Whether clients go back by themselves.
    pub fn failback(&self) -> Failback {
        let by_hand = self.witness.is_some() || self.mode == PlacementMode::ActivePassiveWarm;
        self.failback.unwrap_or(if by_hand { Failback::Manual } else { Failback::Automatic })
    }

    /// Where requests of ours would go, probes of the regions excepted.
    pub(crate) fn targets(&self) -> Vec<(String, &str, Option<Target>)> {
        self.witness.as_ref().map(Witness::targets).unwrap_or_default()
    }

    fn check_regions(&self, checks: &mut Checks) {
        let (field, count) = ("spec.regions", self.regions.len());
        match self.mode {
            PlacementMode::SingleRegion => {
                let message = "are not exactly one region, as single-region has it: choose another mode or number of regions";
                checks.require(count == 1, field, count, message);
            }
            PlacementMode::WeightedCanary => {
                checks.require(count >= 1, field, "", "is empty: name at least one region")
            }
            _ => {
                let message =
                    "are too few regions: this mode needs at least two; add one or use single-region";
                checks.require(count >= 2, field, count, message);
            }
        }
        checks.unique_at(
            |index| format!("{field}[{index}].name"),
            self.regions.iter().map(|region| region.name.as_str()),
        );
        for (index, region) in self.regions.iter().enumerate() {
            region.check(&format!("{field}[{index}]"), checks);
        }
    }

    /// A name that is its own alias answers nobody.
    fn check_alias(&self, checks: &mut Checks) {
        let Ok(own) = Name::parse(&self.hostname) else { return };
        for (index, region) in self.regions.iter().enumerate() {
            let Some(host) = &region.hostname else { continue };
            let is_own = Name::parse(host).is_ok_and(|host| host == own);
            let message = "is spec.hostname itself: name what the region is reached by";
            checks.require(!is_own, &format!("spec.regions[{index}].hostname"), host, message);
        }
    }

    fn check_weights(&self, checks: &mut Checks) {
        let canary = self.mode == PlacementMode::WeightedCanary;
        for (index, region) in self.regions.iter().enumerate() {
            let field = format!("spec.regions[{index}].weight");
            match region.weight {
                None if canary => {
                    checks.refuse(field, "", "is missing: weighted-canary needs a weight in every region")
                }
                Some(weight) if weight > 0 && !canary => {
                    let message = "is a weight, which only weighted-canary has: remove it, or use 0 to drain the region";
                    checks.refuse(field, weight, message);
                }
                _ => {}
            }
        }
        let drained = !self.regions.is_empty() && self.regions.iter().all(|region| region.weight == Some(0));
        let message = "all weights are 0, so that nobody would get an answer: make one greater than 0";
        checks.require(!drained, "spec.regions", "", message);
    }

    fn check_closest(&self, checks: &mut Checks) {
        let message = "is for active-active only: remove it or change the mode";
        let fitting = self.routing == Routing::All || self.mode == PlacementMode::ActiveActive;
        checks.require(fitting, "spec.routing", "closest", message);
    }

    fn check_witness(&self, checks: &mut Checks) {
        let Some(witness) = &self.witness else { return };
        witness.check("spec.witness", checks);
        if let Some(own) = &witness.region {
            let known = self.regions.iter().any(|region| region.name == *own);
            checks.require(
                known,
                "spec.witness.region",
                own,
                "is none of spec.regions: use the name of one of them",
            );
        }
    }
}

impl Body for PlacementSpec {
    type Manifest = Own<Self, Ours<PlacementStatus>>;

    fn validate(&self, _: &Meta) -> Vec<Problem> {
        let mut checks = Checks::default();
        if let Some(name) = checks.name("spec.hostname", &self.hostname) {
            checks.not_reserved("spec.hostname", &self.hostname, dns::reserved_name(&name));
        }
        checks.ttl("spec.ttl", self.ttl);
        if let Some(class) = &self.dns_class_ref {
            class.check("spec.dnsClassRef", &mut checks);
        }
        self.check_regions(&mut checks);
        self.check_alias(&mut checks);
        self.check_weights(&mut checks);
        self.check_closest(&mut checks);
        if let Some(health) = &self.health_check {
            health.check("spec.healthCheck", &mut checks);
        }
        self.check_witness(&mut checks);
        checks.into_problems()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use rstest::rstest;

    use super::*;

    const WITNESS: &str = ", witness: {http: {url: 'https://w'}}";

    #[rstest]
    #[case("active-hotstandby", "", 30, Failback::Automatic)]
    #[case("active-hotstandby", WITNESS, 30, Failback::Manual)]
    #[case("active-passive-warm", "", 300, Failback::Manual)]
    #[case("active-passive-warm", ", ttl: 7, failback: Automatic", 7, Failback::Automatic)]
    fn defaults_follow_mode_and_witness(
        #[case] mode: &str,
        #[case] rest: &str,
        #[case] ttl: u32,
        #[case] failback: Failback,
    ) {
        let yaml = format!("{{hostname: a.example.org, mode: {mode}, regions: []{rest}}}");
        let placement: PlacementSpec = serde_saphyr::from_str(&yaml).unwrap();
        assert_eq!((placement.ttl(), placement.failback()), (ttl, failback));
    }
}
