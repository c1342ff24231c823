//! The memory of holders as text: in the state directory and in the plan as data.
//!
//! It is grouped by owner. Clusters are named, since another command line may have them in another order.

use std::collections::BTreeMap;
use std::sync::Arc;

use api::Kind;
use dns::{Name, Rtype};
use serde::{Deserialize, Serialize};

use super::{Holders, Holding, Owner, Tenure};
use crate::facts::Index;
use crate::input::ClusterId;
use crate::place::{Place, Scope};

/// What one object or zone file holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedHolder {
    /// The name of its cluster.
    pub cluster: String,
    /// Its `apiVersion`; empty for a zone file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// Its kind; empty for a zone file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Its namespace.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Its name, or the path of the zone file.
    pub name: String,
    /// The record sets that it has: scope, name and type.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<(String, Name, Rtype)>,
    /// The record sets that it has beside names of another namespace, as long as a delegation or a grant permits that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tolerated: Vec<(String, Name, Rtype)>,
    /// The record sets that it lost by age or name when nobody had held them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub yields: Vec<(String, Name, Rtype)>,
    /// The origins for which it declares a zone, and its place among those that do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub origins: Vec<(Name, u32)>,
    /// The origins of the Zones that it is around or is, and its place among the Zones around each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub around: Vec<(Name, u32)>,
    /// The lists that it is in, of which the first counts: what is listed, the namespace, the key, and its place.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lists: Vec<(String, String, String, u32)>,
}

impl SavedHolder {
    fn new(owner: &Owner, clusters: &[String]) -> Option<SavedHolder> {
        let kind = owner.kind;
        Some(SavedHolder {
            cluster: clusters.get(usize::from(owner.cluster.0))?.clone(),
            api_version: kind.map_or("", Kind::api_version).to_owned(),
            kind: kind.map_or("", Kind::kind).to_owned(),
            namespace: owner.namespace.to_string(),
            name: owner.name.to_string(),
            holds: Vec::new(),
            tolerated: Vec::new(),
            yields: Vec::new(),
            origins: Vec::new(),
            around: Vec::new(),
            lists: Vec::new(),
        })
    }

    /// Whose it is; `None` where there is no such cluster or kind any more.
    fn owner(&self, clusters: &[String]) -> Option<Owner> {
        let cluster = clusters.iter().position(|one| *one == self.cluster)?;
        let is_it = |kind: &&Kind| kind.api_version() == self.api_version && kind.kind() == self.kind;
        let kind = match self.kind.is_empty() {
            true => None,
            false => Some(*Kind::ALL.iter().find(is_it)?),
        };
        let (namespace, name) = (Arc::from(&*self.namespace), Arc::from(&*self.name));
        Some(Owner { cluster: ClusterId(u16::try_from(cluster).ok()?), kind, namespace, name })
    }
}

impl Holders {
    /// In the form that is written down, by owner.
    pub fn to_saved(&self, clusters: &[String]) -> Vec<SavedHolder> {
        let mut saved: BTreeMap<&Owner, SavedHolder> = BTreeMap::new();
        fn of<'a, 'o>(
            saved: &'a mut BTreeMap<&'o Owner, SavedHolder>,
            owner: &'o Owner,
            clusters: &[String],
        ) -> Option<&'a mut SavedHolder> {
            if !saved.contains_key(owner) {
                saved.insert(owner, SavedHolder::new(owner, clusters)?);
            }
            saved.get_mut(owner)
        }
        for (name, holding) in
            self.names.iter().flat_map(|(name, all)| all.iter().map(move |one| (name, one)))
        {
            let Some(one) = of(&mut saved, &holding.owner, clusters) else { continue };
            let sets = match holding.tenure {
                Tenure::Holds => &mut one.holds,
                Tenure::Tolerated => &mut one.tolerated,
                Tenure::Yields => &mut one.yields,
            };
            sets.push((scope_text(&holding.scope), name.clone(), holding.rtype));
        }
        for (origin, owner, since) in members(&self.origins) {
            if let Some(one) = of(&mut saved, owner, clusters) {
                one.origins.push((origin.clone(), since));
            }
        }
        for (origin, owner, since) in members(&self.around) {
            if let Some(one) = of(&mut saved, owner, clusters) {
                one.around.push((origin.clone(), since));
            }
        }
        for (list, owner, since) in members(&self.lists) {
            if let (Some((what, namespace, key)), Some(one)) =
                (list_text(list), of(&mut saved, owner, clusters))
            {
                one.lists.push((what.to_owned(), namespace, key, since));
            }
        }
        let mut saved: Vec<SavedHolder> = saved.into_values().collect();
        saved.iter_mut().for_each(SavedHolder::sort);
        saved
    }

    /// From the form that is written down; what cannot be understood is left out.
    pub fn from_saved(saved: &[SavedHolder], clusters: &[String]) -> Holders {
        let mut holders = Holders::default();
        for one in saved {
            let Some(owner) = one.owner(clusters) else { continue };
            let all = [
                (&one.holds, Tenure::Holds),
                (&one.tolerated, Tenure::Tolerated),
                (&one.yields, Tenure::Yields),
            ];
            for (sets, tenure) in all {
                for (scope, name, rtype) in sets {
                    let Some(scope) = scope_of(scope) else { continue };
                    let holding = Holding { owner: owner.clone(), scope, rtype: *rtype, tenure };
                    holders.names.entry(name.clone()).or_default().push(holding);
                }
            }
            for (origin, since) in &one.origins {
                holders.origins.entry(origin.clone()).or_default().push((owner.clone(), *since));
            }
            for (origin, since) in &one.around {
                holders.around.entry(origin.clone()).or_default().push((owner.clone(), *since));
            }
            for (what, namespace, key, since) in &one.lists {
                let Some(list) = list_of(owner.cluster, what, namespace, key) else { continue };
                holders.lists.entry(list).or_default().push((owner.clone(), *since));
            }
        }
        holders
    }
}

/// A change of what is remembered: everything of the names, origins and lists that it is about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SavedChange {
    names: Vec<Name>,
    origins: Vec<Name>,
    #[serde(default)]
    around: Vec<Name>,
    /// The cluster, what is listed, the namespace and the key.
    lists: Vec<(String, String, String, String)>,
    holders: Vec<SavedHolder>,
}

impl Holders {
    /// A change in the form that is written down.
    pub fn to_saved_change(&self, clusters: &[String]) -> SavedChange {
        let list = |list: &Index| {
            let (what, namespace, key) = list_text(list)?;
            Some((clusters.get(usize::from(cluster_of(list)?.0))?.clone(), what.to_owned(), namespace, key))
        };
        SavedChange {
            names: self.names.keys().cloned().collect(),
            origins: self.origins.keys().cloned().collect(),
            around: self.around.keys().cloned().collect(),
            lists: self.lists.keys().filter_map(list).collect(),
            holders: self.to_saved(clusters),
        }
    }

    /// Takes in a change in the form that is written down.
    pub fn merge_saved(&mut self, change: &SavedChange, clusters: &[String]) {
        let mut later = Holders::from_saved(&change.holders, clusters);
        for name in &change.names {
            later.names.entry(name.clone()).or_default();
        }
        for origin in &change.origins {
            later.origins.entry(origin.clone()).or_default();
        }
        for origin in &change.around {
            later.around.entry(origin.clone()).or_default();
        }
        for (cluster, what, namespace, key) in &change.lists {
            let number = clusters.iter().position(|one| one == cluster);
            let number = number.and_then(|number| u16::try_from(number).ok());
            let list = number.and_then(|number| list_of(ClusterId(number), what, namespace, key));
            if let Some(list) = list {
                later.lists.entry(list).or_default();
            }
        }
        self.merge(&later);
    }
}

impl SavedHolder {
    fn sort(&mut self) {
        self.holds.sort();
        self.tolerated.sort();
        self.yields.sort();
        self.origins.sort();
        self.around.sort();
        self.lists.sort();
    }
}

fn members<'a, K: 'a>(
    lists: impl IntoIterator<Item = (&'a K, &'a Vec<(Owner, u32)>)>,
) -> impl Iterator<Item = (&'a K, &'a Owner, u32)> {
    lists
        .into_iter()
        .flat_map(|(key, members)| members.iter().map(move |(owner, since)| (key, owner, *since)))
}

/// A scope as text, with what kind of place it is: a region and a class may share a name.
pub(crate) fn scope_text(scope: &Scope) -> String {
    match scope {
        Scope::Everywhere => "*".to_owned(),
        Scope::At(Place::Region(name)) => format!("region/{name}"),
        Scope::At(Place::Class(name)) => format!("class/{name}"),
    }
}

fn scope_of(text: &str) -> Option<Scope> {
    match text.split_once('/') {
        None => (text == "*").then_some(Scope::Everywhere),
        Some(("region", name)) => Some(Scope::At(Place::Region(name.into()))),
        Some(("class", name)) => Some(Scope::At(Place::Class(name.into()))),
        Some(_) => None,
    }
}

fn cluster_of(list: &Index) -> Option<ClusterId> {
    match list {
        Index::Policies(cluster, _)
        | Index::Gateways(cluster, _)
        | Index::GatewayPolicies(cluster, ..)
        | Index::LoadBalancers(cluster, ..) => Some(*cluster),
        Index::Classes => Some(ClusterId(0)),
        Index::ListenerGateways(..) | Index::Delivered(..) => None,
    }
}

fn list_text(list: &Index) -> Option<(&'static str, String, String)> {
    match list {
        Index::Policies(_, namespace) => Some(("policies", namespace.to_string(), String::new())),
        Index::Gateways(_, postfix) => Some(("gateways", String::new(), postfix.to_string())),
        Index::GatewayPolicies(_, namespace, gateway) => {
            Some(("gatewayPolicies", namespace.to_string(), gateway.to_string()))
        }
        Index::LoadBalancers(_, namespace, label) => {
            Some(("loadBalancers", namespace.to_string(), label.to_string()))
        }
        Index::Classes => Some(("classes", String::new(), String::new())),
        Index::ListenerGateways(..) | Index::Delivered(..) => None,
    }
}

fn list_of(cluster: ClusterId, what: &str, namespace: &str, key: &str) -> Option<Index> {
    match what {
        "classes" => Some(Index::Classes),
        "policies" => Some(Index::Policies(cluster, namespace.into())),
        "gateways" => Some(Index::Gateways(cluster, key.into())),
        "gatewayPolicies" => Some(Index::GatewayPolicies(cluster, namespace.into(), key.into())),
        "loadBalancers" => Some(Index::LoadBalancers(cluster, namespace.into(), key.into())),
        _ => None,
    }
}
