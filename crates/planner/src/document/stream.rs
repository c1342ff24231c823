//! A plan as text, written piece by piece: each piece is made from the planner as it is at that moment.
//!
//! A writer remembers where it is by name, so that it costs the same memory for a plan of any size. The pieces of
//! a plan that does not change in between are together a [`Document`](super::Document); only the order of its holders is
//! another one.

use std::collections::{BinaryHeap, VecDeque};
use std::ops::Bound;

use dns::{Name, ProbeId, RecordSet, Rtype};
use serde::Serialize;
use serde_json::Value;

use super::{DocumentHealth, DocumentObject, DocumentRecordSet, DocumentView, DocumentZone, VERSION};
use crate::children::{ChildKind, ChildRef};
use crate::holders::Holders;
use crate::input::{ClusterId, ObjectRef};
use crate::place::Scope;
use crate::{Planner, ZoneInfo};

/// How many names of objects or zones are looked up at once.
const PAGE: usize = 2048;

/// What of a plan is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The whole [`Document`](super::Document).
    Plan,
    /// Its objects.
    Objects,
    /// Its record sets, of one name where one is given.
    RecordSets(Option<Name>),
}

/// Writes a part of a plan as JSON, piece by piece.
#[derive(Debug)]
pub struct DocumentWriter {
    steps: Vec<Step>,
    /// Whether the list that is being written has an element already.
    begun: bool,
    /// Whether the plan changed since the first piece.
    changed: bool,
}

#[derive(Debug)]
enum Step {
    Text(&'static str),
    Head,
    Zones(Pages<Name>),
    RecordSets(SetCursor),
    Children(Pages<ChildRef>),
    Objects(Pages<(ClusterId, ObjectRef)>),
    /// The holders of names: the number of a zone, and the last name of it.
    Holders(usize, Option<Name>),
    Arrivals,
    Versions(Pages<(ClusterId, ObjectRef)>),
    Broken,
    /// The last probe that was written.
    Health(Option<ProbeId>),
    Directions,
    End,
}

/// Names in order, looked up a page at a time.
#[derive(Debug)]
struct Pages<T> {
    page: VecDeque<T>,
    last: Option<T>,
    ended: bool,
}

/// Where among the record sets a writer is.
#[derive(Debug)]
struct SetCursor {
    only: Option<Name>,
    zones: Pages<Name>,
    /// The zone that is being written, and the last name of it that was written.
    current: Option<(Name, Option<Name>)>,
}

/// What objects and children are ordered by: the cluster's name, apiVersion, kind, namespace and name.
type Key<'a> = (&'a str, &'static str, &'static str, &'a str, &'a str);

impl<T: Clone> Pages<T> {
    fn new() -> Pages<T> {
        Pages { page: VecDeque::new(), last: None, ended: false }
    }

    /// The next name; `fill` finds at most [`PAGE`] names after one.
    fn next(&mut self, fill: impl FnOnce(Option<&T>) -> Vec<T>) -> Option<T> {
        if self.page.is_empty() && !self.ended {
            let page = fill(self.last.as_ref());
            self.ended = page.len() < PAGE;
            self.last = page.last().cloned();
            self.page = page.into();
        }
        self.page.pop_front()
    }
}

impl DocumentWriter {
    /// A writer that has written nothing yet.
    pub fn new(part: Part) -> DocumentWriter {
        let sets = |only| Step::RecordSets(SetCursor { only, zones: Pages::new(), current: None });
        let mut steps = match part {
            Part::Objects => vec![Step::Text("["), Step::Objects(Pages::new()), Step::Text("]")],
            Part::RecordSets(only) => vec![Step::Text("["), sets(only), Step::Text("]")],
            Part::Plan => vec![
                Step::Head,
                Step::Text(",\"zones\":["),
                Step::Zones(Pages::new()),
                Step::Text("],\"recordSets\":["),
                sets(None),
                Step::Text("],\"children\":["),
                Step::Children(Pages::new()),
                Step::Text("],\"objects\":["),
                Step::Objects(Pages::new()),
                Step::Text("],\"holders\":["),
                Step::Holders(0, None),
                Step::Arrivals,
                Step::Text("],\"versions\":["),
                Step::Versions(Pages::new()),
                Step::Text("]"),
                Step::Broken,
                Step::Text(",\"health\":["),
                Step::Health(None),
                Step::Text("]"),
                Step::Directions,
                Step::End,
            ],
        };
        steps.reverse();
        DocumentWriter { steps, begun: false, changed: false }
    }

    /// Notes that the plan changed since the first piece: a whole document tells it at its end.
    pub fn note_change(&mut self) {
        self.changed = true;
    }

    /// Appends to a text until that has at least so many octets or all is written; tells whether more is to come.
    pub fn write(&mut self, planner: &Planner, text: &mut Vec<u8>, octets: usize) -> bool {
        while text.len() < octets {
            let Some(mut step) = self.steps.pop() else { return false };
            let begun = &mut self.begun;
            let more = match &mut step {
                Step::Text(part) => {
                    text.extend_from_slice(part.as_bytes());
                    *begun = false;
                    false
                }
                Step::End => {
                    let end: &[u8] = if self.changed { b",\"changedWhileWritten\":true}" } else { b"}" };
                    text.extend_from_slice(end);
                    false
                }
                Step::Head => write_head(planner, text),
                Step::Broken => write_field(text, "broken", &planner.broken()),
                Step::Health(last) => write_health(planner, last, text, begun),
                Step::Directions => write_field(text, "directions", &planner.saved_directions()),
                Step::Zones(zones) => write_zone(planner, zones, text, begun),
                Step::RecordSets(cursor) => cursor.write(planner, text, begun, octets),
                Step::Holders(zone, name) => write_holders(planner, zone, name, text, begun),
                Step::Arrivals => {
                    let saved = planner.arrivals().to_saved(&planner.clusters);
                    saved.iter().for_each(|holder| element(text, begun, holder));
                    false
                }
                Step::Children(children) => write_child(planner, children, text, begun),
                Step::Versions(objects) => write_version(planner, objects, text, begun),
                Step::Objects(objects) => write_object(planner, objects, text, begun),
            };
            if more {
                self.steps.push(step);
            }
        }
        !self.steps.is_empty()
    }
}

/// The fields of a document before its zones; there are as many of these as settings.
fn write_head(planner: &Planner, text: &mut Vec<u8>) -> bool {
    let views: Vec<DocumentView> = planner.views().into_iter().map(DocumentView::of).collect();
    text.extend_from_slice(b"{\"version\":");
    json(text, &VERSION);
    text.extend_from_slice(b",\"clusters\":");
    json(text, &planner.clusters);
    text.extend_from_slice(b",\"views\":");
    json(text, &views);
    false
}

/// A field with few elements, in one piece.
fn write_field(text: &mut Vec<u8>, field: &str, value: &impl Serialize) -> bool {
    text.push(b',');
    json(text, &field);
    text.push(b':');
    json(text, value);
    false
}

fn write_health(planner: &Planner, last: &mut Option<ProbeId>, text: &mut Vec<u8>, begun: &mut bool) -> bool {
    let Some(probe) = planner.probe_after(*last) else { return false };
    *last = Some(probe);
    if let Some(health) = planner.target_health(probe) {
        element(text, begun, &DocumentHealth::of(probe, health));
    }
    true
}

fn write_zone(planner: &Planner, zones: &mut Pages<Name>, text: &mut Vec<u8>, begun: &mut bool) -> bool {
    let Some(origin) = zones.next(|after| zones_after(planner, after)) else { return false };
    if let Some(zone) = planner.zone(&origin) {
        element(text, begun, &DocumentZone::of(planner, &zone));
    }
    true
}

impl SetCursor {
    /// Writes names of one zone; tells whether there are more of it or more zones.
    fn write(&mut self, planner: &Planner, text: &mut Vec<u8>, begun: &mut bool, octets: usize) -> bool {
        let current = self.current.take();
        let next = || Some((self.zones.next(|after| zones_after(planner, after))?, None));
        let Some((origin, name)) = current.or_else(next) else { return false };
        // A zone that went meanwhile has no more sets.
        let Some(zone) = planner.zone(&origin) else { return true };
        let last = match &self.only {
            None => write_names(planner, &zone, name, text, begun, octets),
            Some(only) => {
                if only.is_in(&origin) {
                    write_name(planner, &zone, only, text, begun);
                }
                None
            }
        };
        self.current = last.map(|name| (origin, Some(name)));
        true
    }
}

/// Writes names of a zone in canonical order: the plan's own, and those of its file that no object touches. Returns
/// the last name where the text was long enough before the end.
fn write_names(
    planner: &Planner,
    zone: &ZoneInfo,
    after: Option<Name>,
    text: &mut Vec<u8>,
    begun: &mut bool,
    octets: usize,
) -> Option<Name> {
    let mut own = planner.nodes_after(&zone.origin, after.as_ref()).peekable();
    let start = after.as_ref().map_or(&[][..], Name::key);
    let base = zone.base.iter().flat_map(|base| base.nodes_from(start)).map(|node| node.name());
    let mut base = base.filter(|name| after.as_ref() != Some(name)).peekable();
    loop {
        let name = match (own.peek(), base.peek()) {
            (Some(one), Some(other)) if one == other => {
                base.next();
                own.next()
            }
            (Some(one), Some(other)) if one > other => base.next(),
            (None, _) => base.next(),
            (Some(_), _) => own.next(),
        }?;
        write_name(planner, zone, &name, text, begun);
        if text.len() >= octets {
            return Some(name);
        }
    }
}

/// Writes the sets of one name but for the SOA, by type and scope.
fn write_name(planner: &Planner, zone: &ZoneInfo, name: &Name, text: &mut Vec<u8>, begun: &mut bool) {
    let mut sets: Vec<(Scope, RecordSet)> = planner.sets(&zone.origin, name);
    if sets.is_empty() {
        let base = zone.base.iter().flat_map(|base| base.sets_at(name.key()));
        sets = base.map(|set| (zone.scope.clone(), set)).collect();
    }
    let shown = sets.iter().filter(|(_, set)| set.rtype != Rtype::SOA);
    let mut shown: Vec<_> =
        shown.map(|(scope, set)| DocumentRecordSet::of(planner, &zone.origin, scope, set)).collect();
    shown.sort_by(|one, other| one.key().cmp(&other.key()));
    shown.iter().for_each(|set| element(text, begun, set));
}

fn write_child(
    planner: &Planner,
    children: &mut Pages<ChildRef>,
    text: &mut Vec<u8>,
    begun: &mut bool,
) -> bool {
    let all = || planner.made.values().flatten().map(|made| &made.child);
    let Some(child) = children.next(|after| {
        let keyed = all().map(|child| (child_key(planner, child), child));
        page(keyed, after.map(|child| child_key(planner, child)), |child| (*child).clone())
    }) else {
        return false;
    };
    if let Some(manifest) = planner.child(&child) {
        let cluster = planner.cluster_name(child.cluster).to_owned();
        element(text, begun, &DocumentObject { cluster, manifest });
    }
    true
}

fn write_object(
    planner: &Planner,
    objects: &mut Pages<(ClusterId, ObjectRef)>,
    text: &mut Vec<u8>,
    begun: &mut bool,
) -> bool {
    let Some((cluster, object)) = objects.next(|after| {
        let keyed = planner.objects_with_status().map(|one| (object_key(planner, one.0, one.1), one));
        let after = after.map(|(cluster, object)| object_key(planner, *cluster, object));
        page(keyed, after, |(cluster, object)| (*cluster, (*object).clone()))
    }) else {
        return false;
    };
    let manifest = planner.document_of(cluster, &object);
    // An object of another controller that has nothing of ours is not shown.
    let has_status = |manifest: &Value| manifest["status"].as_object().is_some_and(|one| !one.is_empty());
    if let Some(manifest) = manifest.filter(has_status) {
        let cluster = planner.cluster_name(cluster).to_owned();
        element(text, begun, &DocumentObject { cluster, manifest });
    }
    true
}

fn write_version(
    planner: &Planner,
    objects: &mut Pages<(ClusterId, ObjectRef)>,
    text: &mut Vec<u8>,
    begun: &mut bool,
) -> bool {
    let Some((cluster, object)) = objects.next(|after| {
        let all = planner.snapshot.entries().map(|(_, entry)| (entry.key.cluster, &entry.key.reference));
        let keyed = all.map(|one| (object_key(planner, one.0, one.1), one));
        let after = after.map(|(cluster, object)| object_key(planner, *cluster, object));
        page(keyed, after, |(cluster, object)| (*cluster, (*object).clone()))
    }) else {
        return false;
    };
    if let Some(version) = planner.version(cluster, &object) {
        element(text, begun, &version);
    }
    true
}

/// Writes the holders of one name. An owner that holds several names is written for each of them.
fn write_holders(
    planner: &Planner,
    zone: &mut usize,
    name: &mut Option<Name>,
    text: &mut Vec<u8>,
    begun: &mut bool,
) -> bool {
    match planner.held_after(*zone, name.as_ref()) {
        Some((next, held)) => {
            let holders =
                Holders { names: [(next.clone(), held)].into_iter().collect(), ..Holders::default() };
            holders.to_saved(&planner.clusters).iter().for_each(|holder| element(text, begun, holder));
            *name = Some(next);
        }
        None => (*zone, *name) = (*zone + 1, None),
    }
    *zone < planner.zones.len()
}

pub(super) fn object_key<'a>(planner: &'a Planner, cluster: ClusterId, object: &'a ObjectRef) -> Key<'a> {
    let kind = object.kind;
    (planner.cluster_name(cluster), kind.api_version(), kind.kind(), &object.namespace, &object.name)
}

fn child_key<'a>(planner: &'a Planner, child: &'a ChildRef) -> Key<'a> {
    let (api_version, kind) = match child.kind {
        ChildKind::DNSEndpoint => ("externaldns.k8s.io/v1alpha1", "DNSEndpoint"),
        ChildKind::IstioGateway => ("networking.istio.io/v1", "Gateway"),
        ChildKind::DefaultPolicy => ("kuadrant.io/v1alpha1", "DNSPolicy"),
    };
    (planner.cluster_name(child.cluster), api_version, kind, &child.namespace, &child.name)
}

/// The origins after one, in order.
fn zones_after(planner: &Planner, after: Option<&Name>) -> Vec<Name> {
    let held = planner.zones.iter().filter(|zone| zone.holder.is_some());
    page(held.map(|zone| (&zone.origin, &zone.origin)), after, |origin| (*origin).clone())
}

/// The elements after a key, in order, at most [`PAGE`].
fn page<K: Ord, T, U>(keyed: impl Iterator<Item = (K, T)>, after: Option<K>, of: impl Fn(&T) -> U) -> Vec<U> {
    let later = keyed.filter(|(key, _)| after.as_ref().is_none_or(|after| key > after));
    least(later, PAGE).iter().map(|(_, one)| of(one)).collect()
}

/// The elements with the least keys, in order, at most so many.
pub(crate) fn least<K: Ord, T>(all: impl Iterator<Item = (K, T)>, most: usize) -> Vec<(K, T)> {
    let mut heap: BinaryHeap<Ranked<K, T>> = BinaryHeap::with_capacity(most + 1);
    for (key, value) in all {
        if heap.len() < most {
            heap.push(Ranked(key, value));
        } else if let Some(mut greatest) = heap.peek_mut()
            && key < greatest.0
        {
            *greatest = Ranked(key, value);
        }
    }
    heap.into_sorted_vec().into_iter().map(|Ranked(key, value)| (key, value)).collect()
}

/// A value that is ordered by its key alone.
struct Ranked<K, T>(K, T);

impl<K: Ord, T> Ord for Ranked<K, T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

impl<K: Ord, T> PartialOrd for Ranked<K, T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<K: Ord, T> PartialEq for Ranked<K, T> {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl<K: Ord, T> Eq for Ranked<K, T> {}

fn element(text: &mut Vec<u8>, begun: &mut bool, value: &impl Serialize) {
    if std::mem::replace(begun, true) {
        text.push(b',');
    }
    json(text, value);
}

fn json(text: &mut Vec<u8>, value: &impl Serialize) {
    // Writing our own types, all of whose keys are texts, to memory cannot fail.
    let _ = serde_json::to_writer(text, value);
}

impl Planner {
    /// The names after one that have record sets of the plan's own in a zone, in canonical order.
    fn nodes_after(&self, origin: &Name, after: Option<&Name>) -> impl Iterator<Item = Name> {
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let zone = self.zone_numbers.get(origin).and_then(|number| self.zones.get(*number as usize));
        let nodes =
            zone.into_iter().flat_map(move |zone| zone.nodes.range::<Name, _>((start, Bound::Unbounded)));
        nodes.filter(|(_, node)| !node.sets.is_empty()).map(|(name, _)| name.clone())
    }
}
