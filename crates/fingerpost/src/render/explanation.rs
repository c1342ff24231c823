//! An explanation for people. Every sentence is made from the data that `-o json` prints.

mod delivery;
mod steps;
mod way;

use dns::visible;
use planner::{Actor, ActorRecord, NotInForce, ObjectName, Story, ZoneStory};

use super::{Palette, table};
use crate::explanation::{Explanation, Link, Outcome, ProbeReport, RunReport, Step, ViewExplanation};
use crate::source::UNNAMED;

/// The answer of each view and the way to it.
pub fn text(explanation: &Explanation, palette: Palette) -> String {
    let views = explanation.views.iter().map(|view| view_text(explanation, view, palette));
    let nowhere = explanation.views.is_empty().then(|| {
        let name = palette.strong(&explanation.name.to_string());
        format!("{name}: {}\n", palette.bad("no view answers it and no provider has it"))
    });
    let probes = (!explanation.probes.is_empty()).then(|| probes_text(&explanation.probes, palette));
    let stories = explanation.stories.iter().map(|story| story_text(explanation, story, palette));
    views.chain(nowhere).chain(probes).chain(stories).collect::<Vec<String>>().join("\n")
}

/// How the targets are.
fn probes_text(probes: &[ProbeReport], palette: Palette) -> String {
    let lines = probes.iter().map(|probe| format!("  {}", visible(&probe_line(probe))));
    std::iter::once(palette.strong("Probes")).chain(lines).collect::<Vec<String>>().join("\n") + "\n"
}

fn probe_line(probe: &ProbeReport) -> String {
    let ProbeReport { target, protocol, port, state, since, reason, last } = probe;
    let reason = reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let last = last.as_ref().map_or_else(|| "not checked yet".to_owned(), run_text);
    format!("{target} by {protocol} at port {port}: {state} since {since}{reason}; {last}")
}

fn run_text(run: &RunReport) -> String {
    let (ago, took) = (run.seconds_ago, run.milliseconds);
    match (&*run.result, &run.error) {
        ("success", _) => format!("checked {ago:.1} s ago, it answered within {took:.1} ms"),
        (_, Some(error)) => format!("checked {ago:.1} s ago: {error}"),
        _ => format!("it could not be checked {ago:.1} s ago: no time, file or port was left here"),
    }
}

fn view_text(explanation: &Explanation, view: &ViewExplanation, palette: Palette) -> String {
    let name = palette.strong(&explanation.name.to_string());
    let place = palette.strong(&visible(&view.view));
    let place = match &view.delivered_to {
        Some(backend) => format!("in {place}, delivered to {}", visible(&delivery::receiver(backend))),
        None => format!("in view {place}"),
    };
    let mut lines = vec![format!("{name} {place}: {}", verdict(view, palette))];
    lines.extend(table::lines(view.answer.iter().flat_map(rows)).iter().map(|line| format!("  {line}")));
    let steps = view.steps.iter().map(|step| steps::sentence(step, view.delivered_to.is_some()));
    lines.extend(steps.map(|step| palette.faint(&format!("  · {}", visible(&step)))));
    lines.join("\n") + "\n"
}

/// How a lookup ends, in a few words.
fn verdict(view: &ViewExplanation, palette: Palette) -> String {
    let rcode = &view.rcode;
    let is_elsewhere = view.delivered_to.is_some();
    match view.outcome {
        Outcome::Answer if is_elsewhere => palette.good("these records"),
        Outcome::Answer => palette.good("resolves"),
        Outcome::NotPublished => palette.bad("these records, which are not published there"),
        Outcome::AliasElsewhere => palette.good("an alias of a name outside the zones here"),
        Outcome::Delegated => palette.warning(&format!("delegated to {}", servers(view))),
        Outcome::NotServed | Outcome::NoName if is_elsewhere => palette.bad("no records"),
        Outcome::NotServed => palette.bad(&format!("not served ({rcode})")),
        Outcome::NoData | Outcome::NoName | Outcome::Unavailable | Outcome::Endless => {
            palette.bad(&format!("does not resolve ({rcode})"))
        }
    }
}

fn servers(view: &ViewExplanation) -> String {
    let servers = view.steps.iter().rev().find_map(|step| match step {
        Step::Referral { servers, .. } => Some(steps::names(servers)),
        _ => None,
    });
    servers.unwrap_or_else(|| "other servers".to_owned())
}

/// One row for each record.
fn rows(link: &Link) -> Vec<Vec<String>> {
    let row = |data: &String| {
        vec![link.name.to_string(), link.ttl.to_string(), link.rtype.to_string(), data.clone()]
    };
    link.data.iter().map(row).collect()
}

/// The objects behind a name, and what would have to change where there are none.
fn story_text(explanation: &Explanation, story: &Story, palette: Palette) -> String {
    let mut lines = vec![palette.strong(&format!("Behind {}", story.name))];
    lines.push(format!("  {}", visible(&zone_line(story.zone.as_ref()))));
    for maker in &story.makers {
        lines.push(format!("  {} {}", palette.good("made by"), object(&maker.object)));
        lines.extend(details(maker));
    }
    for (verb, actors) in [("lost by", &story.losers), ("wanted by", &story.missing)] {
        for one in actors {
            let (reason, message) = (&one.reason, visible(&one.message));
            lines.push(format!("  {} {}: {reason}, {message}", palette.bad(verb), object(&one.object)));
            lines.extend(details(one));
        }
    }
    lines.extend(story.deliveries.iter().flat_map(|one| delivery::lines(one, palette)));
    for one in &story.not_in_force {
        lines.push(format!("  {} {}", palette.warning("not in force:"), not_in_force(one)));
    }
    lines.extend(advice(explanation, story).map(|line| format!("  {}", palette.warning(&line))));
    lines.join("\n") + "\n"
}

fn details(actor: &Actor) -> impl Iterator<Item = String> {
    let records = actor.records.iter().map(record);
    records.chain(actor.way.iter().map(way::sentence)).map(|line| format!("      {}", visible(&line)))
}

fn record(record: &ActorRecord) -> String {
    let ActorRecord { rtype, ttl, data, place, lost_to } = record;
    let place = place.as_ref().map_or_else(|| "everywhere".to_owned(), |place| format!("in {place}"));
    let lost = lost_to.as_ref().map(|holder| format!(", but it belongs to {}", object(holder)));
    format!("{rtype} {} {place}, ttl {ttl}{}", data.join(", "), lost.unwrap_or_default())
}

fn zone_line(zone: Option<&ZoneStory>) -> String {
    let Some(zone) = zone else { return "in no zone".to_owned() };
    let ZoneStory { origin, source, declared_by, in_file } = zone;
    match declared_by {
        _ if *in_file => format!("in the zone {origin}, written in {source}"),
        Some(declared_by) if declared_by.api_version.is_some() => {
            format!("in the zone {origin} of {}", object(declared_by))
        }
        _ => format!("in the zone {origin} ({source})"),
    }
}

/// An object with its cluster and where it is declared, as far as there is something to say.
fn object(name: &ObjectName) -> String {
    let ObjectName { cluster, kind, object, location, .. } = name;
    let cluster = if cluster == UNNAMED { String::new() } else { format!(" of cluster {cluster}") };
    let location = location.as_ref().map(|at| format!(" ({}:{})", at.file, at.line)).unwrap_or_default();
    visible(&format!("{kind} {object}{cluster}{location}")).into_owned()
}

fn not_in_force(one: &NotInForce) -> String {
    format!("the newest version of {}: {}, {}", object(&one.object), one.reason, visible(&one.message))
}

/// What declares the zone of a name, where the zone cannot be served: then nothing is known of the name.
fn unknown_content(explanation: &Explanation, story: &Story) -> Option<String> {
    let zone = story.zone.as_ref()?;
    let is_it = |step: &Step| matches!(step, Step::Unavailable { origin, .. } if *origin == zone.origin);
    let unavailable = explanation.views.iter().flat_map(|view| &view.steps).any(is_it);
    let source = || zone.declared_by.as_ref().map_or_else(|| visible(&zone.source).into_owned(), object);
    unavailable.then(source)
}

/// What to do about a name that nothing declares.
fn advice(explanation: &Explanation, story: &Story) -> Option<String> {
    let is_answered = || {
        let named = |step: &Step| match step {
            Step::Wildcard { name, .. } | Step::Dname { name, .. } => *name == story.name,
            Step::Referral { name, cut, .. } => *name == story.name && name != cut,
            _ => false,
        };
        explanation.views.iter().flat_map(|view| &view.steps).any(named)
    };
    if story.is_declared() || is_answered() {
        return None;
    }
    if let Some(source) = unknown_content(explanation, story) {
        return Some(format!("which names the zone has is not known: correct {source}"));
    }
    if !story.similar.is_empty() {
        return Some(format!("did you mean {}?", steps::alternatives(&story.similar)));
    }
    if let Some(rtype) = explanation.rtype.filter(|_| !story.types.is_empty()) {
        let types: Vec<String> = story.types.iter().map(ToString::to_string).collect();
        return Some(format!("nothing declares {rtype} records for it; it has {}", types.join(", ")));
    }
    Some(match story.zone {
        None => "no zone holds it: add a Zone or a zone file for it, or a name above it".to_owned(),
        Some(_) => "nothing declares it: add a Record, a route, or a line to the zone's file".to_owned(),
    })
}
