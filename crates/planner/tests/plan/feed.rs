//! Feeding a case in other ways than step by step, and watching what moves.

use std::collections::{BTreeMap, BTreeSet};

use api::Kind;
use dns::Name;
use planner::{Change, ChangeKind, ChildKind, ChildRef, ClusterId, Delta, Memory, ObjectRef, Planner, Scope};
use serde_json::Value;

use crate::case::{Case, histories, outcomes};
use crate::print;

/// The ways of feeding that end in another plan than the steps do.
pub(crate) fn order_matters(case: &Case) -> Vec<String> {
    let endpoints = case.endpoints();
    // What was handed to providers on the way is remembered, so there the way matters.
    let matters = |memory: &Memory| *memory != Memory::default() && memory.kind() != Kind::ListenerGateway;
    if case.planner().remembered().iter().any(|(_, _, memory)| matters(memory)) {
        return Vec::new();
    }
    let before = case.planner();
    let expected = lasting(&before, &endpoints);
    // So does it where an answer was kept that cannot be worked out any more.
    if expected.contains("the old DNS has been preserved") || expected.contains("the previous version") {
        return Vec::new();
    }
    let one_by_one = |histories: Vec<Vec<Change>>| {
        let mut planner = case.knowing_nothing();
        histories.into_iter().flatten().for_each(|change| drop(planner.apply(vec![change])));
        planner.apply(outcomes(&case.steps));
        planner
    };
    // In folders an object that comes later takes nothing away, so there the order of coming matters by itself.
    let holders = |planner: &Planner| planner.holders().to_saved(&case.clusters);
    let held_alike = |planner: &Planner| holders(planner) == holders(&before);
    let mut in_one_batch = case.knowing_nothing();
    let memory = Change::Holders(Box::new(before.holders()));
    in_one_batch.apply(std::iter::once(memory).chain(case.steps.concat()).collect());
    let reversed = histories(&case.steps).into_iter().rev().collect();
    let ways = [
        ("in one batch", in_one_batch),
        ("each object alone", one_by_one(histories(&case.steps))),
        ("each object alone, the last first", one_by_one(reversed)),
    ];
    let differs = |(way, planner): (&str, Planner)| {
        let text = lasting(&planner, &endpoints);
        let line = text.lines().zip(expected.lines()).find(|(one, other)| one != other);
        (text != expected).then(|| format!("another plan {way}: {line:?}"))
    };
    ways.into_iter().filter(|(_, planner)| held_alike(planner)).filter_map(differs).collect()
}

/// The plan without its serials, which tell how often it moved.
fn lasting(planner: &Planner, endpoints: &[(ClusterId, ObjectRef)]) -> String {
    let mut text = print::plan(planner) + &print::notes(planner, endpoints);
    for zone in planner.zones() {
        let soa =
            zone.soa.iter().flat_map(|soa| soa.data.iter()).map(ToString::to_string).collect::<String>();
        let fields: Vec<_> =
            soa.split(' ').enumerate().map(|(at, field)| if at == 2 { "*" } else { field }).collect();
        text = text.replace(&soa, &fields.join(" "));
        text = text.replace(&format!("serial {},", zone.serial), "serial *,");
        text = text.replace(&format!("serial: {}\n", zone.serial), "serial: *\n");
    }
    text
}

/// Everything in a plan that a delta speaks of.
struct Photo {
    children: BTreeMap<ChildRef, Value>,
    statuses: BTreeMap<(ClusterId, ObjectRef), Value>,
    nodes: BTreeMap<(Name, Name), Vec<(Scope, dns::RecordSet)>>,
    soas: BTreeMap<Name, Option<dns::RecordSet>>,
    views: Vec<planner::ViewInfo>,
}

impl Photo {
    fn of(planner: &Planner) -> Photo {
        let zones = planner.zones();
        let names =
            |origin: &Name| planner.nodes(origin).map(|name| (origin.clone(), name)).collect::<Vec<_>>();
        let nodes = zones.iter().flat_map(|zone| names(&zone.origin));
        let objects = planner.objects().into_iter();
        let status = |(cluster, object): (ClusterId, ObjectRef)| {
            let document = planner.document_of(cluster, &object).unwrap();
            ((cluster, object), document)
        };
        let child = |child: ChildRef| (child.clone(), planner.child(&child).unwrap());
        Photo {
            children: planner.children().into_iter().map(child).collect(),
            statuses: objects.map(status).collect(),
            nodes: nodes
                .map(|(zone, name)| ((zone.clone(), name.clone()), planner.sets(&zone, &name)))
                .collect(),
            soas: zones.into_iter().map(|zone| (zone.origin, zone.soa)).collect(),
            views: planner.views(),
        }
    }
}

/// The keys whose values differ between two maps.
fn moved<K: Ord + Clone, V: PartialEq>(before: &BTreeMap<K, V>, after: &BTreeMap<K, V>) -> BTreeSet<K> {
    let keys = before.keys().chain(after.keys());
    keys.filter(|key| before.get(key) != after.get(key)).cloned().collect()
}

/// What the deltas of a case leave out, or tell although it did not happen.
pub(crate) fn false_deltas(case: &Case) -> Vec<String> {
    let mut planner = case.knowing_nothing();
    let mut before = Photo::of(&planner);
    let mut failures = Vec::new();
    for (number, step) in case.steps.iter().enumerate() {
        let delta = planner.apply(step.clone());
        let after = Photo::of(&planner);
        failures.extend(untrue(&before, &after, &delta).map(|failure| format!("step {number}: {failure}")));
        before = after;
    }
    failures
}

fn untrue(before: &Photo, after: &Photo, delta: &Delta) -> impl Iterator<Item = String> {
    let children = moved(&before.children, &after.children);
    let kind = |child: &ChildRef| match (before.children.get(child), after.children.get(child)) {
        (None, _) => ChangeKind::Added,
        (_, None) => ChangeKind::Removed,
        _ => ChangeKind::Changed,
    };
    let children: BTreeSet<_> = children.into_iter().map(|child| (child.clone(), kind(&child))).collect();
    let told_children: BTreeSet<_> = delta.children.iter().cloned().collect();
    // An Istio Gateway may be told of when a host that two routes have is one route's alone.
    let false_children: Vec<_> = told_children
        .symmetric_difference(&children)
        .filter(|(child, kind)| (child.kind, *kind) != (ChildKind::IstioGateway, ChangeKind::Changed))
        .collect();
    let unheard_children: Vec<_> = children.difference(&told_children).collect();
    let told: BTreeSet<_> = delta.zones.iter().cloned().collect();
    // The names of a zone that comes or goes come and go with it.
    let stays = |zone: &Name| before.soas.contains_key(zone) && after.soas.contains_key(zone);
    let nodes = moved(&before.nodes, &after.nodes);
    let nodes: BTreeSet<_> = nodes.into_iter().filter(|(zone, _)| stays(zone)).collect();
    let told_nodes: BTreeSet<_> = delta.nodes.iter().filter(|(zone, _)| stays(zone)).cloned().collect();
    let records: BTreeSet<_> = delta.records.iter().map(|one| (one.zone.clone(), record_name(one))).collect();
    let statuses: BTreeSet<_> = delta.statuses.iter().cloned().collect();
    let lasting = moved(&before.statuses, &after.statuses);
    let unheard: Vec<_> = lasting
        .into_iter()
        .filter(|key| after.statuses.contains_key(key) && !statuses.contains(key))
        .collect();
    let silent_zones: Vec<_> =
        moved(&before.soas, &after.soas).into_iter().filter(|zone| !told.contains(zone)).collect();
    let all_records = delta.nodes.iter().cloned().collect::<BTreeSet<_>>();
    [
        (!false_children.is_empty()).then(|| format!("children told wrongly: {false_children:?}")),
        (!unheard_children.is_empty()).then(|| format!("children not told: {unheard_children:?}")),
        (told_nodes != nodes).then(|| format!("nodes {told_nodes:?} are not {nodes:?}")),
        (records != all_records).then(|| format!("records at {records:?} but nodes {all_records:?}")),
        (!unheard.is_empty()).then(|| format!("statuses not told: {unheard:?}")),
        (!silent_zones.is_empty()).then(|| format!("zones not told: {silent_zones:?}")),
        (delta.views != (before.views != after.views)).then(|| format!("views: {}", delta.views)),
    ]
    .into_iter()
    .flatten()
}

fn record_name(change: &planner::RecordChange) -> Name {
    let set = change.after.as_ref().or(change.before.as_ref()).expect("a change has a side");
    set.name.clone()
}
