//! The plan and its notes as text that a person reads and reviews.

use std::fmt::Write;

use dns::{Name, RecordSet, Rtype};
use planner::{ClusterId, Note, ObjectRef, Planner, Scope, ViewInfo, ZoneInfo};
use serde_json::Value;

use crate::steering;

/// A line that is longer is broken up; items of lists have more room.
const WIDTH: usize = 140;
const ITEM_WIDTH: usize = 200;

/// Views with their zones, child objects, and the status of every object.
pub(crate) fn plan(planner: &Planner) -> String {
    let mut text = String::new();
    let views = planner.views();
    let mut printed: Vec<(String, &ViewInfo)> = Vec::new();
    for view in &views {
        let zones = zones(planner, view);
        writeln!(text, "view {}", view_text(view)).unwrap();
        match printed.iter().find(|(same, _)| *same == zones) {
            Some((_, same)) if !zones.is_empty() => writeln!(text, "  as in {}", same.name).unwrap(),
            _ => text += &zones,
        }
        printed.push((zones, view));
    }
    for (class, _) in planner.provider_classes() {
        text += &class_text(planner, &class);
    }
    text += &steering::probes(planner);
    for child in planner.children() {
        let manifest = planner.child(&child).expect("a listed child has a manifest");
        let cluster = cluster_text(planner, child.cluster);
        writeln!(text, "\nchild {cluster}{:?} {}/{}", child.kind, child.namespace, child.name).unwrap();
        block(&mut text, "metadata", &shown_metadata(&manifest), 2);
        block(&mut text, "spec", &manifest["spec"], 2);
    }
    for (cluster, object) in planner.objects() {
        writeln!(text, "\nstatus {}{}", cluster_text(planner, cluster), object_text(&object)).unwrap();
        status(&mut text, &planner.document_of(cluster, &object).expect("a listed object has a status"));
    }
    text
}

/// What a provider is to hold, what stays there for now, and what may stand there besides.
fn class_text(planner: &Planner, class: &str) -> String {
    let mut text = format!("\nclass {class}\n");
    for (zone, name) in planner.delivery_nodes(class) {
        for wanted in planner.wanted(class, &zone, &name) {
            let domain = wanted.domain.map(|domain| format!(" of {domain}")).unwrap_or_default();
            let properties = match wanted.properties {
                none if none.is_empty() => String::new(),
                some => format!(" {some:?}"),
            };
            let mut properties = properties;
            if wanted.shared {
                properties.push_str(", shared");
            }
            if let Some(heir) = &wanted.hand_over_to {
                properties.push_str(&format!(", handed over to {heir}"));
            }
            let Some(set) = wanted.set else {
                writeln!(text, "  {zone}: {name} {} stays as it is", wanted.rtype).unwrap();
                continue;
            };
            for data in set.data.iter() {
                writeln!(text, "  {zone}: {name} {} {} {data}{domain}{properties}", set.ttl, set.rtype)
                    .unwrap();
            }
            if let Some(steered) = steering::steered(&set) {
                writeln!(text, "    steered {} {steered}", set.rtype).unwrap();
            }
        }
    }
    for (zone, name, rtype, _) in planner.known(class) {
        writeln!(text, "  {zone}: {name} {rtype} may stand there").unwrap();
    }
    text
}

/// Every note, those on foreign objects that are delivered included, and every remark about a file.
pub(crate) fn notes(planner: &Planner, foreign: &[(ClusterId, ObjectRef)]) -> String {
    let mut text = String::new();
    for (cluster, object) in planner.objects().iter().chain(foreign) {
        write_notes(&mut text, planner, *cluster, object);
    }
    for (cluster, note) in planner.file_notes() {
        let cluster = cluster_text(planner, cluster);
        writeln!(text, "{cluster}{}:{}:{}: {}", note.path, note.line, note.column, note.message).unwrap();
    }
    text
}

fn write_notes(text: &mut String, planner: &Planner, cluster: ClusterId, object: &ObjectRef) {
    let notes = planner.notes(cluster, object);
    if !notes.is_empty() {
        writeln!(text, "{}{}", cluster_text(planner, cluster), object_text(object)).unwrap();
    }
    for Note { condition, status, reason, message, severity } in notes {
        let severity = format!("{severity:?}").to_lowercase();
        writeln!(text, "  {severity}: {condition}={status} {reason}: {message}").unwrap();
    }
}

/// What is wrong where an object's conditions are not its notes.
pub(crate) fn untold(planner: &Planner, cluster: ClusterId, object: &ObjectRef) -> Option<String> {
    let status = planner.status(cluster, object)?;
    let words = |value: &Value| {
        ["type", "status", "reason", "message"].map(|key| value[key].as_str().unwrap_or_default().to_owned())
    };
    let conditions: Vec<_> = status["conditions"].as_array()?.iter().map(words).collect();
    let notes = planner.notes(cluster, object);
    let notes = notes.into_iter().map(|note| {
        [note.condition.to_owned(), note.status.to_string(), note.reason.to_owned(), note.message]
    });
    let notes: Vec<_> = notes.collect();
    let mut types: Vec<_> = conditions.iter().map(|condition| &condition[0]).collect();
    types.sort();
    types.dedup();
    let told = conditions == notes && types.len() == conditions.len() && !notes.is_empty();
    (!told).then(|| format!("{}: {conditions:?} are not {notes:?}", object_text(object)))
}

fn view_text(view: &ViewInfo) -> String {
    let kind = match &view.place {
        None => "",
        Some(planner::Place::Region(_)) => " (region)",
        Some(planner::Place::Class(_)) => " (class)",
    };
    let port = if view.numbered { "" } else { ", without a port of its own" };
    let list = |what: &str, values: &[String]| match values {
        [] => String::new(),
        values => format!(", {what} {}", values.join(" ")),
    };
    format!("{}{kind}{port}{}{}", view.name, list("listens on", &view.listen), list("for", &view.clients))
}

fn zones(planner: &Planner, view: &ViewInfo) -> String {
    let seen = |zone: &ZoneInfo| match &view.place {
        Some(place) => zone.scope.covers(place),
        None => zone.scope == Scope::Everywhere,
    };
    planner.zones().iter().filter(|zone| seen(zone)).map(|zone| zone_text(planner, view, zone)).collect()
}

fn zone_text(planner: &Planner, view: &ViewInfo, zone: &ZoneInfo) -> String {
    let ZoneInfo { origin, source, serial, hash, entry_count, .. } = zone;
    let mut text =
        format!("  zone {origin} from {source}: serial {serial}, {entry_count} entries, hash {hash:016x}\n");
    if let Some(reason) = &zone.unavailable {
        writeln!(text, "    unavailable: {reason}").unwrap();
    }
    for set in zone.soa.iter().chain(&record_sets(planner, view, zone)) {
        for data in set.data.iter() {
            writeln!(text, "    {} {} {} {data}", set.name, set.ttl, set.rtype).unwrap();
        }
        if let Some(steered) = steering::steered(set) {
            writeln!(text, "      steered {} {steered}", set.rtype).unwrap();
        }
    }
    text
}

/// The plan's own names and those of the zone file that no object touches, in canonical order.
fn record_sets(planner: &Planner, view: &ViewInfo, zone: &ZoneInfo) -> Vec<RecordSet> {
    let names: Vec<Name> = planner.nodes(&zone.origin).collect();
    let own = names.iter().flat_map(|name| planner.sets_at(&zone.origin, name, view.place.as_ref()));
    let untouched = |set: &RecordSet| set.rtype != Rtype::SOA && !names.contains(&set.name);
    let base = zone.base.iter().flat_map(|base| base.iter()).filter(untouched);
    let mut sets: Vec<RecordSet> = own.chain(base).collect();
    sets.sort_by(|one, other| (&one.name, one.rtype).cmp(&(&other.name, other.rtype)));
    sets
}

/// A manifest's metadata but for what the heading says already.
fn shown_metadata(manifest: &Value) -> Value {
    let mut metadata = manifest["metadata"].clone();
    if let Some(fields) = metadata.as_object_mut() {
        fields.retain(|key, _| key != "name" && key != "namespace");
    }
    metadata
}

fn status(text: &mut String, document: &Value) {
    for (key, value) in shown_metadata(document).as_object().into_iter().flatten() {
        block(text, &format!("metadata.{key}"), value, 2);
    }
    for (key, value) in document["status"].as_object().into_iter().flatten() {
        match key.as_str() {
            "conditions" => conditions(text, value),
            _ => block(text, key, value, 2),
        }
    }
}

/// One line for all conditions; their messages are in the notes.
fn conditions(text: &mut String, conditions: &Value) {
    let field = |condition: &Value, key: &str| condition[key].as_str().unwrap_or_default().to_owned();
    let one = |condition: &Value| {
        format!("{}={} {}", field(condition, "type"), field(condition, "status"), field(condition, "reason"))
    };
    let all: Vec<_> = conditions.as_array().into_iter().flatten().map(one).collect();
    writeln!(text, "  {}", all.join(", ")).unwrap();
}

/// A value as YAML: on one line where it fits, else broken up.
fn block(text: &mut String, key: &str, value: &Value, indent: usize) {
    let line = flow(value);
    let width = if key == "-" { ITEM_WIDTH } else { WIDTH };
    let broken = match value {
        _ if key.len() + line.len() + indent <= width && key != "entries" => None,
        Value::Object(fields) => Some(fields.iter().map(|(key, value)| (key.clone(), value)).collect()),
        Value::Array(items) => Some(items.iter().map(|item| ("-".to_owned(), item)).collect::<Vec<_>>()),
        _ => None,
    };
    let colon = if key == "-" { "" } else { ":" };
    match broken {
        None => writeln!(text, "{:indent$}{key}{colon} {line}", "").unwrap(),
        Some(parts) => {
            writeln!(text, "{:indent$}{key}{colon}", "").unwrap();
            parts.into_iter().for_each(|(key, value)| block(text, &key, value, indent + 2));
        }
    }
}

fn flow(value: &Value) -> String {
    let joined = |parts: Vec<String>| parts.join(", ");
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => format!("[{}]", joined(items.iter().map(flow).collect())),
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| format!("{key}: {}", flow(value));
            format!("{{{}}}", joined(fields.iter().map(field).collect()))
        }
        other => other.to_string(),
    }
}

fn cluster_text(planner: &Planner, cluster: ClusterId) -> String {
    match planner.cluster_name(cluster) {
        "default" => String::new(),
        name => format!("{name}: "),
    }
}

fn object_text(object: &ObjectRef) -> String {
    match &*object.namespace {
        "" => format!("{} {}", object.kind.kind(), object.name),
        namespace => format!("{} {namespace}/{}", object.kind.kind(), object.name),
    }
}
