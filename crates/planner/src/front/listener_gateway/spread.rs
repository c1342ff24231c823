//! What some of a gateway's names are answered by, and how that is written down: in the status of its policy,
//! and where there are no statuses in the state directory.

use std::collections::BTreeSet;

use api::HealthCheck;
use api::kuadrant::{AnsweringCluster, Answers};
use dns::{Geo, Name};
use serde::{Deserialize, Serialize};

use super::clusters::Cluster;
use crate::probe::ProbeTarget;

/// What some of a gateway's names are answered by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Answers", into = "Answers")]
pub(crate) struct Spread {
    pub(super) names: BTreeSet<Name>,
    pub(super) clusters: Vec<Cluster>,
    /// The place whose clusters answer clients from anywhere else, where clients are told apart by place.
    pub(super) default: Option<Geo>,
    pub(super) health: Option<HealthCheck>,
    /// Weights and places are disregarded: everybody may answer.
    pub(super) anyhow: bool,
}

impl From<Spread> for Answers {
    fn from(spread: Spread) -> Answers {
        Answers {
            hostnames: spread.names.iter().map(Name::undotted).collect(),
            clusters: spread.clusters.into_iter().map(AnsweringCluster::from).collect(),
            default_geo: spread.default.map(|geo| geo.to_string()),
            health: spread.health,
            evenly: spread.anyhow,
        }
    }
}

impl From<Cluster> for AnsweringCluster {
    fn from(cluster: Cluster) -> AnsweringCluster {
        AnsweringCluster {
            name: cluster.name.to_string(),
            weight: cluster.weight,
            geo: cluster.geo.map(|geo| geo.to_string()),
            targets: cluster.targets.iter().map(ProbeTarget::text).collect(),
        }
    }
}

impl TryFrom<Answers> for Spread {
    type Error = &'static str;

    /// All of it or nothing: half of an old answer is another answer.
    fn try_from(answers: Answers) -> Result<Spread, &'static str> {
        read(answers).ok_or("answers in another form than ours")
    }
}

fn read(answers: Answers) -> Option<Spread> {
    let names = answers.hostnames.iter().map(|name| Name::parse(name).ok()).collect::<Option<_>>()?;
    let clusters = answers.clusters.into_iter().map(read_cluster).collect::<Option<_>>()?;
    let default = read_geo(answers.default_geo)?;
    Some(Spread { names, clusters, default, health: answers.health, anyhow: answers.evenly })
}

fn read_cluster(cluster: AnsweringCluster) -> Option<Cluster> {
    let targets = cluster.targets.iter().map(|text| ProbeTarget::parse(text)).collect::<Option<_>>()?;
    Some(Cluster { name: cluster.name.into(), weight: cluster.weight, geo: read_geo(cluster.geo)?, targets })
}

/// A place, or none; `None` where it cannot be read.
fn read_geo(text: Option<String>) -> Option<Option<Geo>> {
    text.map(|text| text.parse().ok()).map_or(Some(None), |geo| geo.map(Some))
}
