//! A whole plan as text, so that two plans can be compared and a difference can be read.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::{ChangeKind, Delta, Planner, Scope};

/// Everything that a plan says, part by part.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Dump {
    views: String,
    zones: BTreeMap<String, String>,
    nodes: BTreeMap<String, String>,
    children: BTreeMap<String, String>,
    statuses: BTreeMap<String, String>,
    classes: String,
    /// What each provider class is to hold, by class, zone and name.
    wanted: BTreeMap<String, String>,
    probes: BTreeMap<String, String>,
    files: String,
    /// No delta tells of these: who follows the nodes can count them.
    counts: String,
}

pub(crate) fn dump(planner: &Planner) -> Dump {
    let mut dump = Dump { views: format!("{:?}", planner.views()), ..Dump::default() };
    dump.files = format!("{:?}", planner.file_notes());
    dump.counts = counts(planner);
    dump.classes = classes(planner);
    for (class, _) in planner.provider_classes() {
        dump.want(planner, &class);
    }
    let probes = planner.probes().map(|(id, spec)| (format!("{id:?}"), format!("{spec:?}")));
    dump.probes = probes.collect();
    for zone in planner.zones() {
        dump.zones.insert(zone.origin.to_string(), zone_text(planner, &zone.origin));
        for name in planner.nodes(&zone.origin) {
            dump.nodes.insert(
                format!("{} {name}", zone.origin),
                format!("{:?}", planner.sets(&zone.origin, &name)),
            );
        }
    }
    let mut of_objects = Vec::new();
    for (cluster, reference) in planner.objects() {
        of_objects
            .extend(planner.children_of_object(cluster, &reference).into_iter().map(|(child, _)| child));
    }
    of_objects.sort();
    assert_eq!(planner.children(), of_objects, "every child is some object's");
    for child in planner.children() {
        assert!(planner.child_fingerprint(&child).is_some());
        dump.children.insert(format!("{child:?}"), planner.child(&child).unwrap().to_string());
    }
    for (cluster, reference) in planner.objects() {
        let text = planner.document_of(cluster, &reference).unwrap().to_string();
        dump.statuses.insert(format!("{cluster:?} {reference:?}"), text);
    }
    dump
}

fn zone_text(planner: &Planner, origin: &dns::Name) -> String {
    let Some(zone) = planner.zone(origin) else { return String::new() };
    let base = zone.base.as_ref().map(|base| base.content_hash());
    format!("{:?} {:?} {:?} {:?} {}", zone.soa, base, zone.scope, zone.unavailable, zone.source)
}

/// The provider classes, as far as their provider hears of it.
fn classes(planner: &Planner) -> String {
    let classes = planner.provider_classes().into_iter();
    classes.map(|(name, class)| format!("{name} {:?} {:?}; ", class.spec, class.meta.annotations)).collect()
}

/// How many entries each zone has, and their hash.
fn counts(planner: &Planner) -> String {
    let zones = planner.zones().into_iter();
    zones.map(|zone| format!("{} {} {:x}; ", zone.origin, zone.entry_count, zone.hash)).collect()
}

/// The same, of the zones that our own servers answer.
pub(crate) fn served_counts(planner: &Planner) -> String {
    let is_served = |zone: &crate::ZoneInfo| match &zone.scope {
        Scope::Everywhere => true,
        Scope::At(place) => planner.views.places.contains(place),
    };
    let zones = planner.zones().into_iter().filter(is_served);
    zones.map(|zone| format!("{} {} {:x}; ", zone.origin, zone.entry_count, zone.hash)).collect()
}

impl Dump {
    fn want(&mut self, planner: &Planner, class: &str) {
        for (zone, name) in planner.delivery_nodes(class) {
            self.want_at(planner, class, &zone, &name);
        }
    }

    fn want_at(&mut self, planner: &Planner, class: &str, zone: &dns::Name, name: &dns::Name) {
        let key = format!("{class} {zone} {name}");
        match planner.wanted(class, zone, name) {
            none if none.is_empty() => drop(self.wanted.remove(&key)),
            some => drop(self.wanted.insert(key, format!("{some:?}"))),
        }
    }

    /// Follows what providers are to hold: a class that comes is told everything, others what moved.
    fn follow_wanted(&mut self, planner: &Planner, delta: &Delta) {
        if !delta.classes.is_empty() {
            self.classes = classes(planner);
        }
        for class in &delta.classes {
            self.wanted.retain(|key, _| !key.starts_with(&format!("{class} ")));
        }
        for (class, _) in planner.provider_classes() {
            if delta.classes.contains(&class) {
                self.want(planner, &class);
            }
            for (zone, name) in delta.nodes.iter().chain(&delta.deliveries) {
                self.want_at(planner, &class, zone, name);
            }
        }
    }

    /// Follows a plan by its deltas alone, as a back-end does.
    pub(crate) fn follow(&mut self, planner: &Planner, delta: &Delta) {
        if delta.views {
            self.views = format!("{:?}", planner.views());
        }
        self.files = format!("{:?}", planner.file_notes());
        self.counts = counts(planner);
        for origin in &delta.zones {
            match planner.zone(origin) {
                Some(_) => drop(self.zones.insert(origin.to_string(), zone_text(planner, origin))),
                None => drop(self.zones.remove(&origin.to_string())),
            }
        }
        for (origin, name) in &delta.nodes {
            let sets = planner.sets(origin, name);
            let key = format!("{origin} {name}");
            if sets.is_empty() {
                self.nodes.remove(&key);
            } else {
                self.nodes.insert(key, format!("{sets:?}"));
            }
        }
        for (child, kind) in &delta.children {
            let key = format!("{child:?}");
            match kind {
                ChangeKind::Removed => {
                    assert!(planner.child_fingerprint(child).is_none() && planner.child(child).is_none());
                    self.children.remove(&key);
                }
                _ => drop(self.children.insert(key, planner.child(child).unwrap().to_string())),
            }
        }
        for (probe, spec) in &delta.probes {
            match spec {
                Some(spec) => drop(self.probes.insert(format!("{probe:?}"), format!("{spec:?}"))),
                None => drop(self.probes.remove(&format!("{probe:?}"))),
            }
        }
        self.follow_statuses(planner, delta);
        self.follow_wanted(planner, delta);
    }

    fn follow_statuses(&mut self, planner: &Planner, delta: &Delta) {
        for (cluster, reference) in &delta.statuses {
            if let Some(document) = planner.document_of(*cluster, reference) {
                self.statuses.insert(format!("{cluster:?} {reference:?}"), document.to_string());
            }
        }
        let alive = planner.objects();
        self.statuses
            .retain(|key, _| alive.iter().any(|(cluster, one)| *key == format!("{cluster:?} {one:?}")));
    }

    /// The first places where two dumps differ.
    pub(crate) fn differences(&self, other: &Dump) -> String {
        let mut out = String::new();
        let texts = [
            ("views", &self.views, &other.views),
            ("files", &self.files, &other.files),
            ("counts", &self.counts, &other.counts),
            ("classes", &self.classes, &other.classes),
        ];
        for (what, one, two) in texts {
            if one != two {
                writeln!(out, "{what}:\n  {one}\n  {two}").unwrap();
            }
        }
        let parts = [
            ("zone", &self.zones, &other.zones),
            ("node", &self.nodes, &other.nodes),
            ("child", &self.children, &other.children),
            ("status", &self.statuses, &other.statuses),
            ("wanted", &self.wanted, &other.wanted),
            ("probe", &self.probes, &other.probes),
        ];
        for (what, one, two) in parts {
            let keys: std::collections::BTreeSet<_> = one.keys().chain(two.keys()).collect();
            for key in keys.into_iter().filter(|key| one.get(*key) != two.get(*key)) {
                writeln!(out, "{what} {key}:\n  {:?}\n  {:?}", one.get(key), two.get(key)).unwrap();
            }
        }
        out
    }
}
