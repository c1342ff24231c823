//! Where the clients of each view are: the class's networks and database as the server wants them.
//!
//! A database is read when a class names it and again when the file changes. One that is missing or
//! broken is reported, and everything else goes on: the last good content of that file, else the
//! networks and the built-in table.

use std::collections::BTreeMap;
use std::fs;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use api::dnsclass::{Geo, GeoNetwork};
use planner::ViewInfo;
use server::Network;
use server::steering::{Database, GeoSource};

/// The sources of all views.
#[derive(Debug, Default)]
pub struct Geos(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    views: BTreeMap<String, Source>,
    built_in: GeoSource,
}

/// What a view's clients are looked up in, and what it was made from.
#[derive(Debug)]
struct Source {
    spec: Geo,
    stamp: Option<Stamp>,
    geo: GeoSource,
    problem: Option<String>,
}

/// How a change of a file is noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    modified: Option<SystemTime>,
    length: u64,
}

impl Geos {
    /// What a view's clients are looked up in; the same as before where nothing changed.
    pub fn of(&self, view: &ViewInfo) -> GeoSource {
        let mut known = self.known();
        let Some(spec) = view.geo.as_ref().filter(|spec| **spec != Geo::default()) else {
            known.views.remove(&view.name);
            return known.built_in.clone();
        };
        let source = known.views.remove(&view.name).filter(|source| source.spec == *spec);
        let source = match source {
            Some(source) if source.stamp == stamp(spec) => source,
            before => read(&view.name, spec, before),
        };
        let geo = source.geo.clone();
        known.views.insert(view.name.clone(), source);
        geo
    }

    /// What is wrong with databases, by view.
    pub fn problems(&self) -> Vec<String> {
        let problem = |(view, source): (&String, &Source)| {
            source.problem.as_ref().map(|problem| format!("DNSClass {view}: {problem}"))
        };
        self.known().views.iter().filter_map(problem).collect()
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads what a class names. A file that went bad leaves what was read of it before.
fn read(view: &str, spec: &Geo, before: Option<Source>) -> Source {
    let stamp = stamp(spec);
    let (database, problem) = match spec.mmdb.as_deref().map(read_database) {
        None => (None, None),
        Some(Ok(database)) => (Some(database), None),
        Some(Err(problem)) => (None, Some(problem)),
    };
    if let Some(problem) = &problem {
        tracing::warn!("DNSClass {view}: {problem}");
    }
    let networks = || spec.networks.iter().filter_map(network).collect();
    let geo = match before {
        Some(before) if problem.is_some() => before.geo,
        _ => GeoSource::new(networks(), database),
    };
    Source { spec: spec.clone(), stamp, geo, problem }
}

fn read_database(path: &str) -> Result<Database, String> {
    let octets = fs::read(path).map_err(|error| format!("cannot read the database {path}: {error}"))?;
    Database::read(octets).map_err(|error| format!("cannot use the database {path}: {error}"))
}

/// Validation has refused what is not a network or a place.
fn network(network: &GeoNetwork) -> Option<(Network, dns::Geo)> {
    Some((network.cidr.parse().ok()?, network.geo.parse().ok()?))
}

fn stamp(spec: &Geo) -> Option<Stamp> {
    let metadata = fs::metadata(spec.mmdb.as_deref()?).ok()?;
    Some(Stamp { modified: metadata.modified().ok(), length: metadata.len() })
}

#[cfg(test)]
mod tests;
