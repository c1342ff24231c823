//! Which views there are, in which order (ERRATA, "Views in `up`, `plan`, `explain`").

use std::collections::BTreeSet;
use std::sync::Arc;

use api::Spec;
use api::dnsclass::Embedded;

use crate::facts::Index;
use crate::input::ClusterId;
use crate::place::Place;
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
}

impl ViewInfo {
    fn numbered(place: Place) -> ViewInfo {
        let name = place.name().to_string();
        ViewInfo { place: Some(place), name, listen: Vec::new(), clients: Vec::new(), numbered: true }
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
        }
    }
}

/// The views of a snapshot: those that take a port first, in the order of their ports.
pub(crate) fn views(snapshot: &Snapshot, clusters: usize) -> Vec<ViewInfo> {
    let mut views: Vec<_> = regions(snapshot, clusters).into_iter().map(ViewInfo::numbered).collect();
    let mut classes = classes(snapshot);
    classes.sort_by(|one, other| (!one.numbered, &one.name).cmp(&(!other.numbered, &other.name)));
    views.extend(classes);
    if !views.iter().any(|view| view.numbered) {
        views.insert(0, default_view());
    }
    views
}

fn default_view() -> ViewInfo {
    let (listen, clients) = (Vec::new(), Vec::new());
    ViewInfo { place: None, name: "default".to_owned(), listen, clients, numbered: true }
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

/// The embedded classes; of two clusters' classes with one name the first cluster's counts.
fn classes(snapshot: &Snapshot) -> Vec<ViewInfo> {
    let classes = snapshot.indexed(&Index::Classes).filter_map(|(_, id)| snapshot.entry(id));
    let mut classes: Vec<_> = classes.collect();
    classes.sort_by_key(|entry| &entry.key);
    let mut seen = BTreeSet::new();
    let mut views = Vec::new();
    for entry in classes {
        let Some(Spec::DNSClass(spec)) = entry.object.as_ref().map(|object| &object.spec) else { continue };
        let name = &entry.key.reference.name;
        if let Some(embedded) = spec.embedded.as_ref().filter(|_| seen.insert(name.clone())) {
            views.push(ViewInfo::class(name, embedded));
        }
    }
    views
}
