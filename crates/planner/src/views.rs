//! Which views there are, in which order (ERRATA, "Views in `up`, `plan`, `explain`").

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use api::Spec;
use api::dnsclass::{Dnssec, Embedded, Geo};

use crate::facts::{Index, ObjectKey};
use crate::input::ClusterId;
use crate::place::Place;
use crate::rank::Rank;
use crate::setting::Setting;
use crate::snapshot::Snapshot;

/// A view that our server answers from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ViewInfo {
    /// The place it stands for; the only view `default` stands for none.
    pub place: Option<Place>,
    /// What `--view` takes.
    pub name: String,
    /// Addresses of its own.
    pub listen: Vec<String>,
    /// Client networks that it answers.
    pub clients: Vec<String>,
    /// Whether it takes the next port from `--dns` on.
    pub numbered: bool,
    /// How it is found out where its clients are.
    pub geo: Option<Geo>,
    /// How its zones are signed, where they are.
    pub dnssec: Option<Dnssec>,
}

impl ViewInfo {
    fn numbered(place: Place) -> ViewInfo {
        let name = place.name().to_string();
        let (listen, clients) = (Vec::new(), Vec::new());
        ViewInfo { place: Some(place), name, listen, clients, numbered: true, geo: None, dnssec: None }
    }

    fn class(name: &Arc<str>, spec: &Embedded) -> ViewInfo {
        let (listen, clients) = (spec.listen.clone(), spec.clients.clone());
        let numbered = listen.is_empty() && clients.is_empty();
        ViewInfo {
            place: Some(Place::Class(name.clone())),
            name: name.to_string(),
            listen,
            clients,
            numbered,
            geo: spec.geo.clone(),
            dnssec: spec.dnssec.clone(),
        }
    }
}

/// A class that signs its zones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signer {
    /// The place that it stands for.
    pub place: Place,
    /// Where its keys are.
    pub vault: String,
    /// How it signs.
    pub spec: Dnssec,
}

/// The views of a snapshot, and what follows from them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Views {
    /// Those that are served: first those that take a port, in the order of their ports.
    pub(crate) shown: Vec<ViewInfo>,
    /// The places that a name is decided for one by one. Every process of a cluster has the same,
    /// whichever classes it serves, so that all agree on a zone's hash.
    pub(crate) places: Vec<Place>,
    /// The classes that sign zones; the same in every process of a cluster, as above.
    pub(crate) signers: Vec<Signer>,
    /// Classes without a view, because an older one answers where they would.
    pub(crate) conflicted: BTreeMap<ObjectKey, Rank>,
}

impl Views {
    pub(crate) fn of(snapshot: &Snapshot, clusters: usize, setting: &Setting) -> Views {
        match setting {
            Setting::Folders => of_folders(snapshot, clusters),
            Setting::Operator | Setting::Server { .. } => of_cluster(snapshot, setting),
        }
    }
}

/// Regions and classes; where they give no port to listen on there is the view `default`.
fn of_folders(snapshot: &Snapshot, clusters: usize) -> Views {
    let mut shown: Vec<_> = regions(snapshot, clusters).into_iter().map(ViewInfo::numbered).collect();
    // Of two classes that would answer at one address, or for one network, the one that came first does.
    let mut classes = classes(snapshot);
    classes.sort_by_key(|(_, rank, view)| (!view.numbered, since(snapshot, rank, view), view.name.clone()));
    shown.extend(classes.into_iter().map(|(_, _, view)| view));
    if !shown.iter().any(|view| view.numbered) {
        shown.insert(0, default_view());
    }
    let places = shown.iter().filter_map(|view| view.place.clone()).collect();
    let signers = signers(&shown);
    Views { shown, places, signers, conflicted: BTreeMap::new() }
}

/// Only classes; of those that would answer everyone at the shared address, the oldest does.
fn of_cluster(snapshot: &Snapshot, setting: &Setting) -> Views {
    let mut classes = classes(snapshot);
    classes.sort_by(|(_, one, _), (_, other, _)| one.cmp(other));
    let places = classes.iter().filter_map(|(_, _, view)| view.place.clone()).collect();
    let signers = signers(classes.iter().map(|(_, _, view)| view));
    classes.retain(|(_, _, view)| setting.serves(&view.name));
    let holder = classes.iter().find(|(_, _, view)| view.numbered).map(|(_, rank, _)| rank.clone());
    let (mut shown, mut conflicted) = (Vec::new(), BTreeMap::new());
    for (key, rank, view) in classes {
        match &holder {
            Some(holder) if view.numbered && rank != *holder => drop(conflicted.insert(key, holder.clone())),
            _ => shown.push(view),
        }
    }
    Views { shown: sorted(shown), places, signers, conflicted }
}

/// Those of the views that sign.
fn signers<'a>(views: impl IntoIterator<Item = &'a ViewInfo>) -> Vec<Signer> {
    let signer = |view: &ViewInfo| {
        let (place, spec) = (view.place.clone()?, view.dnssec.clone()?);
        Some(Signer { place, vault: spec.vault(&view.name), spec })
    };
    views.into_iter().filter_map(signer).collect()
}

fn sorted(views: impl IntoIterator<Item = ViewInfo>) -> Vec<ViewInfo> {
    let mut views: Vec<_> = views.into_iter().collect();
    views.sort_by(|one, other| (!one.numbered, &one.name).cmp(&(!other.numbered, &other.name)));
    views
}

fn default_view() -> ViewInfo {
    let (listen, clients) = (Vec::new(), Vec::new());
    ViewInfo {
        place: None,
        name: "default".to_owned(),
        listen,
        clients,
        numbered: true,
        geo: None,
        dnssec: None,
    }
}

/// The regions of controllers without a class: the clusters' own first, then the others by name.
fn regions(snapshot: &Snapshot, clusters: usize) -> Vec<Place> {
    let ids = || (0..clusters).map(|number| ClusterId(number as u16));
    let of = |cluster| snapshot.controllers(cluster).into_iter().flat_map(|controllers| controllers.iter());
    let mut others: BTreeSet<Place> = ids().flat_map(of).map(|controller| controller.place.clone()).collect();
    others.retain(|place| matches!(place, Place::Region(_)));
    let own = ids().filter_map(|cluster| snapshot.identity(cluster));
    let own = own.map(|identity| Place::Region(Arc::from(&*identity.region)));
    let mut regions: Vec<Place> = Vec::new();
    for place in own {
        if others.remove(&place) {
            regions.push(place);
        }
    }
    regions.extend(others);
    regions
}

/// Since when a class is there; classes with ports of their own go by name.
fn since(snapshot: &Snapshot, rank: &Rank, view: &ViewInfo) -> u32 {
    if view.numbered { 0 } else { snapshot.arrivals.of(&Index::Classes, rank) }
}

/// The embedded classes; of two clusters' classes with one name the one that came first counts, of those that
/// came together the first cluster's.
fn classes(snapshot: &Snapshot) -> Vec<(ObjectKey, Rank, ViewInfo)> {
    let members = snapshot.indexed(&Index::Classes);
    let mut members: Vec<_> = members.filter_map(|(rank, id)| Some((rank, snapshot.entry(id)?))).collect();
    members.sort_by_key(|(rank, entry)| {
        (&entry.key.reference.name, snapshot.arrivals.of(&Index::Classes, rank), entry.key.cluster)
    });
    let mut seen = BTreeSet::new();
    let mut classes = Vec::new();
    for (rank, entry) in members {
        let Some(Spec::DNSClass(spec)) = entry.object.as_ref().map(|object| &object.spec) else { continue };
        let name = &entry.key.reference.name;
        if let Some(embedded) = spec.embedded.as_ref().filter(|_| seen.insert(name.clone())) {
            classes.push((entry.key.clone(), rank.clone(), ViewInfo::class(name, embedded)));
        }
    }
    classes
}
