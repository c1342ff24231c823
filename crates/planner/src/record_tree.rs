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

use std::collections::BTreeMap;
use std::sync::Arc;

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
    pub(crate) steering: &'a Steering,
}

/// Clusters with their weights.
type Shares = BTreeMap<Arc<str>, u32>;

/// Who answers whom, and with what.
#[derive(Debug, Default)]
struct Layout {
    /// The clusters of each place; without a place, those for everybody.
    places: BTreeMap<Option<Geo>, Shares>,
    /// The place for everybody else.
    default: Option<Geo>,
    clusters: BTreeMap<Arc<str>, BTreeMap<Rtype, Vec<Rdata>>>,
}

/// The tree of a host; `None` where its steering has no such form, or a name would be too long.
/// `owner` is what the tree is told apart by from another's of the same host.
pub(crate) fn record_tree(host: &Name, owner: &str, sets: &[SteeredSet<'_>]) -> Option<Vec<TreeSet>> {
    let mut layout = Layout::default();
    sets.iter().try_for_each(|set| layout.add(set))?;
    layout.lay_out(host, owner).ok()
}

impl Layout {
    fn add(&mut self, set: &SteeredSet<'_>) -> Option<()> {
        match set.steering {
            Steering::Geo { choices, default } => {
                for (geo, choice) in choices {
                    self.add_place(Some(*geo), choice, set)?;
                }
                let same = choices.iter().find(|(_, choice)| *choice == **default);
                self.default = same.map(|(geo, _)| *geo);
                if same.is_none() {
                    self.add_place(None, default, set)?;
                }
                Some(())
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

    fn lay_out(&self, host: &Name, owner: &str) -> Result<Vec<TreeSet>, NameError> {
        // A wildcard stands only at the first name.
        let base = host.parent().filter(|_| host.is_wildcard()).unwrap_or_else(|| host.clone());
        let top = base.child(format!("lb-{}", stable_hash(owner)).as_bytes())?;
        let mut sets = vec![alias(host, &top, ALIAS_TTL)];
        for place in self.places.keys() {
            if let Some(geo) = place {
                sets.push(by_place(&top, &geo.to_string(), *place, place_property(*geo))?);
            }
        }
        let everywhere = (COUNTRY, "*".to_owned());
        sets.push(by_place(&top, "default", self.default, everywhere)?);
        for (place, shares) in &self.places {
            sets.extend(weighted(&place_name(&top, *place)?, &top, shares)?);
        }
        for (cluster, data) in &self.clusters {
            sets.extend(targets(&cluster_name(&top, cluster)?, data));
        }
        Ok(sets)
    }
}

fn alias(name: &Name, to: &Name, ttl: u32) -> TreeSet {
    let data = vec![Rdata::name(Rtype::CNAME, to)];
    TreeSet { name: name.clone(), rtype: Rtype::CNAME, ttl, data, identifier: None, property: None }
}

fn by_place(
    top: &Name,
    identifier: &str,
    place: Option<Geo>,
    property: (&'static str, String),
) -> Result<TreeSet, NameError> {
    let alias = alias(top, &place_name(top, place)?, ALIAS_TTL);
    Ok(TreeSet { identifier: Some(identifier.to_owned()), property: Some(property), ..alias })
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

fn weighted(name: &Name, top: &Name, shares: &Shares) -> Result<Vec<TreeSet>, NameError> {
    let most = shares.values().copied().max().unwrap_or(0);
    let share = |(cluster, weight): (&Arc<str>, &u32)| {
        let to = cluster_name(top, cluster)?;
        let property = Some((WEIGHT, scaled(*weight, most).to_string()));
        Ok(TreeSet { identifier: Some(to.undotted()), property, ..alias(name, &to, TARGET_TTL) })
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

fn targets(name: &Name, data: &BTreeMap<Rtype, Vec<Rdata>>) -> Vec<TreeSet> {
    let set = |(rtype, data): (&Rtype, &Vec<Rdata>)| {
        let ttl = if *rtype == Rtype::CNAME { ALIAS_TTL } else { TARGET_TTL };
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
