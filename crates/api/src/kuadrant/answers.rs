//! What a gateway's names are answered by, as the status of its policy tells it.

use kube::KubeSchema;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::HealthCheck;

/// What some names of a gateway are answered by. It stays in force while the clusters cannot be answered with
/// as the policy says, over a restart too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Answers {
    /// The names.
    pub hostnames: Vec<String>,
    /// The clusters that clients are spread over.
    pub clusters: Vec<AnsweringCluster>,
    /// The place whose clusters answer clients from anywhere else, where clients are told apart by place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default_geo: Option<String>,
    /// How it is found out whether the clusters' addresses are up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "anything")]
    pub health: Option<HealthCheck>,
    /// Weights and places are disregarded: nothing else was known when the names had to be answered.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub evenly: bool,
}

/// A cluster that a gateway's names are answered with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnsweringCluster {
    /// Its name.
    pub name: String,
    /// Its weight; 0 is drained.
    #[schemars(range(max = 65535))]
    pub weight: u32,
    /// Where it is; without it in the default place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub geo: Option<String>,
    /// Its addresses, or its host name.
    pub targets: Vec<String>,
}

/// What a status repeats of a spec needs no rules again, and lists of rules have a price.
fn anything(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true })
}
