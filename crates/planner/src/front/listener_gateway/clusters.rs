//! The clusters of a gateway: their addresses, and what their labels make of them under a policy.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::Kind;
use api::foreign::{GatewayAddress, ListenerGateway};
use api::kuadrant::{LoadBalancing, Weighted};
use dns::{Geo, Rtype};

use crate::probe::ProbeTarget;
use crate::view::View;

/// How Open Cluster Management calls the cluster that manages the others.
const LOCAL: &str = "local-cluster";
/// The labels that say where a cluster is, and what stands before a continent in each.
const GEO_LABELS: [(&str, &str); 5] = [
    ("kuadrant.io/lb-attribute-GEO-country-code", ""),
    ("kuadrant.io/lb-attribute-geo-country-code", ""),
    ("kuadrant.io/lb-attribute-geo-code", ""),
    ("kuadrant.io/lb-attribute-GEO-continent-code", "GEO-"),
    ("kuadrant.io/lb-attribute-geo-continent-code", "GEO-"),
];

/// A cluster that a gateway is in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cluster {
    pub(crate) name: Arc<str>,
    pub(crate) weight: u32,
    /// Where it is; without it in the default place.
    pub(crate) geo: Option<Geo>,
    /// Addresses, or one host name.
    pub(crate) targets: Vec<ProbeTarget>,
}

impl Cluster {
    /// Whether it has data of a type.
    pub(crate) fn has(&self, rtype: Rtype) -> bool {
        self.targets.iter().any(|target| target.rtype() == rtype)
    }
}

/// The clusters of a gateway by name, and what was not used of its status and their labels.
pub(super) fn clusters(
    view: &View<'_>,
    gateway: &ListenerGateway,
    balancing: &LoadBalancing,
) -> (Vec<Cluster>, Vec<String>) {
    let (mut clusters, mut remarks) = (Vec::new(), Vec::new());
    for (name, mut targets) in listed(view, &gateway.addresses, &mut remarks) {
        choose_targets(&name, &mut targets, &mut remarks);
        let labels = view.get(Kind::ManagedCluster, "", &name).map(|(_, cluster)| &cluster.meta.labels);
        let weight = u32::from(weight(&balancing.weighted, labels));
        let geo = balancing.geo().and_then(|_| geo(&name, labels?, &mut remarks));
        clusters.push(Cluster { name, weight, geo, targets });
    }
    leave_aliases_out(&mut clusters, &mut remarks);
    (clusters, remarks)
}

fn listed(
    view: &View<'_>,
    addresses: &[GatewayAddress],
    remarks: &mut Vec<String>,
) -> BTreeMap<Arc<str>, Vec<ProbeTarget>> {
    let mut clusters: BTreeMap<Arc<str>, Vec<ProbeTarget>> = BTreeMap::new();
    for address in addresses {
        let Some((cluster, text)) = address.parts() else {
            remarks.push(format!("the address `{}` is of a type that is not read", address.value));
            continue;
        };
        let name = cluster.map_or_else(|| local(view), Arc::from);
        match ProbeTarget::parse(text) {
            Some(target) => clusters.entry(name).or_default().push(target),
            None => remarks.push(format!("`{text}` is neither an address nor a host name")),
        }
    }
    clusters
}

/// The name of the cluster that the gateway itself is in.
fn local(view: &View<'_>) -> Arc<str> {
    view.identity().map_or_else(|| Arc::from(LOCAL), |identity| Arc::from(&*identity.cluster))
}

/// Addresses before a host name, and one host name: an alias stands beside nothing.
fn choose_targets(cluster: &str, targets: &mut Vec<ProbeTarget>, remarks: &mut Vec<String>) {
    targets.sort();
    targets.dedup();
    // Addresses sort before host names.
    let addresses = targets.iter().filter(|target| target.rtype() != Rtype::CNAME).count();
    let unused: Vec<String> = targets.drain(addresses.max(1)..).map(|target| target.text()).collect();
    if !unused.is_empty() {
        let why = if addresses > 0 { "addresses" } else { "another host name" };
        remarks.push(format!("cluster {cluster} has {why}, so {} is not used", unused.join(", ")));
    }
}

/// A name that has addresses cannot be an alias as well: where some clusters have addresses, those that
/// have only a host name are left out.
fn leave_aliases_out(clusters: &mut Vec<Cluster>, remarks: &mut Vec<String>) {
    let is_alias = |cluster: &Cluster| cluster.has(Rtype::CNAME);
    if clusters.iter().all(is_alias) {
        return;
    }
    let left_out = clusters.iter().filter(|cluster| is_alias(cluster));
    remarks.extend(left_out.map(|cluster| {
        format!(
            "cluster {} has only a host name and others have addresses, so it is not in the answers: \
             a name cannot be an alias and have addresses",
            cluster.name
        )
    }));
    clusters.retain(|cluster| !is_alias(cluster));
}

/// The first custom weight whose label the cluster has, else the default.
fn weight(weighted: &Weighted, labels: Option<&BTreeMap<String, String>>) -> u16 {
    let matches = |label: String, value: &str| {
        labels.and_then(|labels| labels.get(&label)).is_some_and(|own| own == value)
    };
    let custom = weighted.custom.iter().find(|custom| matches(custom.label(), &custom.value));
    custom.map_or(weighted.default, |custom| custom.weight)
}

/// Where a cluster is: its country before its continent.
fn geo(cluster: &str, labels: &BTreeMap<String, String>, remarks: &mut Vec<String>) -> Option<Geo> {
    let (label, prefix) = GEO_LABELS.iter().find(|(label, _)| labels.contains_key(*label))?;
    let value = labels.get(*label)?;
    let text = if value.starts_with(*prefix) { value.clone() } else { format!("{prefix}{value}") };
    let geo = text.parse::<Geo>().ok().filter(|geo| api::is_place(&geo.to_string()));
    if geo.is_none() {
        remarks.push(format!(
            "label {label} of ManagedCluster {cluster} is `{value}`, which is no place: the cluster counts as in \
             the default one"
        ));
    }
    geo
}
