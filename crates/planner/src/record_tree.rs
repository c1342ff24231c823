//! The record tree of document 001: steering for those who steer through record sets, such as
//! Route 53 behind an ExternalDNS.
//!
//! ```text
//! {host} ─CNAME─► lb-{code}.{host} ─by place─► {place}.lb-… ─by weight─► {cluster}.lb-… ─► addresses
//! ```
//!
//! Steering by weight, and by place and then weight, has this form; other steering has none. The
//! properties are those that ExternalDNS's AWS provider knows.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::{Object, Spec};
use dns::{Geo, Name, NameError, Rdata, Rtype, Steering};

use crate::children::stable_hash;

/// The TTL of the aliases that rarely change.
const ALIAS_TTL: u32 = 300;
/// The TTL of the weighted level and of the addresses.
const TARGET_TTL: u32 = 60;
const WEIGHT: &str = "aws/weight";
const COUNTRY: &str = "aws/geolocation-country-code";
const CONTINENT: &str = "aws/geolocation-continent-code";
/// The greatest weight that Route 53 takes.
const MOST_WEIGHT: u32 = 255;

/// What the first label of a tree's own name starts with.
const TOP: &str = "lb-";

/// Whose tree it is.
#[derive(Clone, Debug)]
pub(crate) struct TreeOwner {
    /// What the tree is told apart by from another's of the same host.
    pub(crate) name: String,
    /// The TTL that the owner asks for, on every level.
    pub(crate) ttl: Option<u32>,
}

impl TreeOwner {
    pub(crate) fn of(object: &Object) -> TreeOwner {
        let ttl = match &object.spec {
            Spec::Placement(spec) => spec.ttl,
            _ => None,
        };
        TreeOwner { name: format!("{}/{}", object.meta.namespace, object.meta.name), ttl }
    }

    fn alias_ttl(&self) -> u32 {
        self.ttl.unwrap_or(ALIAS_TTL)
    }

    fn target_ttl(&self) -> u32 {
        self.ttl.unwrap_or(TARGET_TTL)
    }
}

/// One record set of a tree.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TreeSet {
    pub(crate) name: Name,
    pub(crate) rtype: Rtype,
    pub(crate) ttl: u32,
    pub(crate) data: Vec<Rdata>,
    /// Tells it from others of its name and type.
    pub(crate) identifier: Option<String>,
    pub(crate) property: Option<(&'static str, String)>,
}

/// A record set as it is steered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SteeredSet<'a> {
    pub(crate) data: &'a [Rdata],
    pub(crate) rtype: Rtype,
    /// What is up.
    pub(crate) steering: &'a Steering,
    /// The same with what is down.
    pub(crate) whole: &'a Steering,
}

/// Clusters with their weights.
type Shares = BTreeMap<Arc<str>, u32>;

/// Who answers whom, and with what.
#[derive(Debug, Default)]
struct Layout {
    /// The clusters of each place; without a place, those for everybody.
    places: BTreeMap<Option<Geo>, Shares>,
    /// The place for everybody else, once a set has said which: the first decides, as all types share it.
    default: Option<Option<Geo>>,
    clusters: BTreeMap<Arc<str>, BTreeMap<Rtype, Vec<Rdata>>>,
    /// Which types the clusters have data of, up or not.
    types: BTreeSet<(Arc<str>, Rtype)>,
}

/// The tree of a host; `None` where its steering has no such form, or a name would be too long.
pub(crate) fn record_tree(host: &Name, owner: &TreeOwner, sets: &[SteeredSet<'_>]) -> Option<Vec<TreeSet>> {
    let mut layout = Layout::default();
    sets.iter().try_for_each(|set| layout.add(set))?;
    layout.stand_in();
    layout.lay_out(host, owner).ok()
}

/// The hosts whose tree a name may lie in.
pub(crate) fn hosts_of(name: &Name) -> Vec<Name> {
    let is_top = |name: &Name| name.labels().next().is_some_and(|label| label.starts_with(TOP.as_bytes()));
    let bases = name.suffixes().take(2).filter(is_top).filter_map(|top| top.parent());
    bases.flat_map(|base| base.child(b"*").ok().into_iter().chain([base])).collect()
}

impl Layout {
    fn add(&mut self, set: &SteeredSet<'_>) -> Option<()> {
        self.types.extend(clusters_of(set.whole).into_iter().map(|cluster| (cluster, set.rtype)));
        match set.steering {
            Steering::Geo { choices, default } => {
                for (geo, choice) in choices {
                    self.add_place(Some(*geo), choice, set)?;
                }
                let same = choices.iter().find(|(_, choice)| *choice == **default).map(|(geo, _)| *geo);
                match *self.default.get_or_insert(same) {
                    None => self.add_place(None, default, set),
                    Some(_) => Some(()),
                }
            }
            weighted => self.add_place(None, weighted, set),
        }
    }

    fn add_place(&mut self, place: Option<Geo>, choice: &Steering, set: &SteeredSet<'_>) -> Option<()> {
        let Steering::Weighted { choices, .. } = choice else { return None };
        for (weight, choice) in choices {
            let Steering::Named(cluster, leaf) = choice else { return None };
            let Steering::All(members) = &**leaf else { return None };
            self.places.entry(place).or_default().insert(cluster.clone(), *weight);
            let data = members.iter().filter_map(|member| set.data.get(usize::from(member.data)).cloned());
            let data = data.collect();
            self.clusters.entry(cluster.clone()).or_default().insert(set.rtype, data);
        }
        Some(())
    }

    /// Who is sent to a cluster that is up by one family and down by the other gets an answer in both: in
    /// the one that is down that of the clusters beside it.
    fn stand_in(&mut self) {
        let is_down = |(cluster, rtype): &&(Arc<str>, Rtype)| {
            self.clusters.get(cluster).is_some_and(|data| !data.contains_key(rtype))
        };
        let down = self.types.iter().filter(is_down);
        let found = down.map(|(cluster, rtype)| (cluster.clone(), *rtype, self.beside(cluster, *rtype)));
        let found: Vec<_> = found.filter(|(_, _, data)| !data.is_empty()).collect();
        for (cluster, rtype, data) in found {
            self.clusters.entry(cluster).or_default().insert(rtype, data);
        }
    }

    /// The data of the clusters in a cluster's places; where they have none, of all.
    fn beside(&self, cluster: &Arc<str>, rtype: Rtype) -> Vec<Rdata> {
        let shares = self.places.values().filter(|shares| shares.contains_key(cluster));
        let near = self.data_of(shares.flat_map(Shares::keys), rtype);
        if near.is_empty() { self.data_of(self.clusters.keys(), rtype) } else { near }
    }

    fn data_of<'a>(&self, clusters: impl Iterator<Item = &'a Arc<str>>, rtype: Rtype) -> Vec<Rdata> {
        let data = clusters.filter_map(|cluster| self.clusters.get(cluster)?.get(&rtype)).flatten();
        data.cloned().collect::<BTreeSet<_>>().into_iter().collect()
    }

    fn lay_out(&self, host: &Name, owner: &TreeOwner) -> Result<Vec<TreeSet>, NameError> {
        // A wildcard stands only at the first name.
        let base = host.parent().filter(|_| host.is_wildcard()).unwrap_or_else(|| host.clone());
        let top = base.child(format!("{TOP}{}", stable_hash(&owner.name)).as_bytes())?;
        let to_place = |place: Option<Geo>| Ok(alias(&top, &place_name(&top, place)?, owner.alias_ttl()));
        let mut sets = vec![alias(host, &top, owner.alias_ttl())];
        for place in self.places.keys() {
            if let Some(geo) = place {
                sets.push(to_place(*place)?.told_apart(geo.to_string(), place_property(*geo)));
            }
        }
        let everywhere = (COUNTRY, "*".to_owned());
        sets.push(to_place(self.default.flatten())?.told_apart("default".to_owned(), everywhere));
        for (place, shares) in &self.places {
            sets.extend(weighted(&place_name(&top, *place)?, &top, shares, owner)?);
        }
        for (cluster, data) in &self.clusters {
            sets.extend(targets(&cluster_name(&top, cluster)?, data, owner));
        }
        Ok(sets)
    }
}

/// The clusters of a tree.
fn clusters_of(steering: &Steering) -> Vec<Arc<str>> {
    match steering {
        Steering::Named(cluster, _) => vec![cluster.clone()],
        Steering::Weighted { choices, .. } => choices.iter().flat_map(|(_, one)| clusters_of(one)).collect(),
        Steering::Geo { choices, default } => {
            choices.iter().map(|(_, one)| one).chain([&**default]).flat_map(clusters_of).collect()
        }
        // These have no record tree.
        Steering::All(_) | Steering::Failover(_) | Steering::Closest(_) => Vec::new(),
    }
}

fn alias(name: &Name, to: &Name, ttl: u32) -> TreeSet {
    let data = vec![Rdata::name(Rtype::CNAME, to)];
    TreeSet { name: name.clone(), rtype: Rtype::CNAME, ttl, data, identifier: None, property: None }
}

impl TreeSet {
    /// The same as one of several of its name and type.
    fn told_apart(self, identifier: String, property: (&'static str, String)) -> TreeSet {
        TreeSet { identifier: Some(identifier), property: Some(property), ..self }
    }
}

fn place_property(geo: Geo) -> (&'static str, String) {
    match geo {
        Geo::Country(_) => (COUNTRY, geo.to_string()),
        Geo::Continent(_) => (CONTINENT, geo.to_string().trim_start_matches("GEO-").to_owned()),
    }
}

fn place_name(top: &Name, place: Option<Geo>) -> Result<Name, NameError> {
    let label = place.map_or_else(|| "default".to_owned(), |geo| geo.to_string().to_ascii_lowercase());
    top.child(label.as_bytes())
}

fn cluster_name(top: &Name, cluster: &str) -> Result<Name, NameError> {
    top.child(stable_hash(cluster).as_bytes())
}

fn weighted(name: &Name, top: &Name, shares: &Shares, owner: &TreeOwner) -> Result<Vec<TreeSet>, NameError> {
    let most = shares.values().copied().max().unwrap_or(0);
    let share = |(cluster, weight): (&Arc<str>, &u32)| {
        let to = cluster_name(top, cluster)?;
        let weight = (WEIGHT, scaled(*weight, most).to_string());
        Ok(alias(name, &to, owner.target_ttl()).told_apart(to.undotted(), weight))
    };
    shares.iter().map(share).collect()
}

/// A weight as Route 53 takes it; what is not drained keeps a share.
fn scaled(weight: u32, most: u32) -> u32 {
    if most <= MOST_WEIGHT {
        return weight;
    }
    let scaled = u64::from(weight) * u64::from(MOST_WEIGHT) / u64::from(most);
    (scaled as u32).max(u32::from(weight > 0))
}

fn targets(name: &Name, data: &BTreeMap<Rtype, Vec<Rdata>>, owner: &TreeOwner) -> Vec<TreeSet> {
    let set = |(rtype, data): (&Rtype, &Vec<Rdata>)| {
        let ttl = if *rtype == Rtype::CNAME { owner.alias_ttl() } else { owner.target_ttl() };
        TreeSet {
            name: name.clone(),
            rtype: *rtype,
            ttl,
            data: data.clone(),
            identifier: None,
            property: None,
        }
    };
    data.iter().map(set).collect()
}
