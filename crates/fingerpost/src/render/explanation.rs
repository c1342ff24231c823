//! An explanation for people.

use planner::{Actor, NotInForce, Story, ZoneStory};

use super::{Palette, table};
use crate::explanation::{Explanation, Link, ViewExplanation};
use crate::source::UNNAMED;

/// The answer of each view and the way to it.
pub fn text(explanation: &Explanation, palette: Palette) -> String {
    let views = explanation.views.iter().map(|view| view_text(explanation, view, palette));
    let stories = explanation.stories.iter().map(|story| story_text(story, palette));
    let probes = (!explanation.probes.is_empty()).then(|| probes_text(&explanation.probes, palette));
    views.chain(probes).chain(stories).collect::<Vec<String>>().join("\n")
}

/// How the targets are.
fn probes_text(probes: &[String], palette: Palette) -> String {
    let lines = probes.iter().map(|line| format!("  {line}"));
    std::iter::once(palette.strong("Probes")).chain(lines).collect::<Vec<String>>().join("\n") + "\n"
}

fn view_text(explanation: &Explanation, view: &ViewExplanation, palette: Palette) -> String {
    let verdict = match view.resolves {
        true => palette.good("resolves"),
        false => palette.bad(&format!("does not resolve ({})", view.rcode)),
    };
    let name = palette.strong(&explanation.name.to_string());
    let mut lines = vec![format!("{name} in view {}: {verdict}", palette.strong(&view.view))];
    lines.extend(table::lines(view.answer.iter().flat_map(rows)).iter().map(|line| format!("  {line}")));
    lines.extend(view.steps.iter().map(|step| palette.faint(&format!("  · {step}"))));
    lines.join("\n") + "\n"
}

/// One row for each record.
fn rows(link: &Link) -> Vec<Vec<String>> {
    let row = |data: &String| {
        vec![link.name.to_string(), link.ttl.to_string(), link.rtype.to_string(), data.clone()]
    };
    link.data.iter().map(row).collect()
}

/// The objects behind a name, and what would have to change where there are none.
fn story_text(story: &Story, palette: Palette) -> String {
    let mut lines = vec![palette.strong(&format!("Behind {}", story.name))];
    lines.push(format!("  {}", zone_line(story.zone.as_ref())));
    for maker in &story.makers {
        lines.push(format!("  {} {}", palette.good("made by"), actor(maker)));
        lines.extend(maker.records.iter().chain(&maker.way).map(|line| format!("      {line}")));
    }
    for (verb, actors) in [("lost by", &story.losers), ("wanted by", &story.missing)] {
        for one in actors {
            lines.push(format!("  {} {}: {}", palette.bad(verb), actor(one), reason(one)));
            lines.extend(one.records.iter().chain(&one.way).map(|line| format!("      {line}")));
        }
    }
    for one in &story.not_in_force {
        lines.push(format!("  {} {}", palette.warning("not in force:"), not_in_force(one)));
    }
    lines.extend(advice(story).map(|line| format!("  {}", palette.warning(&line))));
    lines.join("\n") + "\n"
}

fn zone_line(zone: Option<&ZoneStory>) -> String {
    match zone {
        Some(ZoneStory { origin, source, in_file: true }) => {
            format!("in the zone {origin}, written in {source}")
        }
        Some(ZoneStory { origin, source, .. }) => format!("in the zone {origin} ({source})"),
        None => "in no zone".to_owned(),
    }
}

fn actor(actor: &Actor) -> String {
    named(&actor.kind, &actor.object, &actor.cluster)
}

fn named(kind: &str, object: &str, cluster: &str) -> String {
    let cluster = if cluster == UNNAMED { String::new() } else { format!(" of cluster {cluster}") };
    format!("{kind} {object}{cluster}")
}

fn not_in_force(one: &NotInForce) -> String {
    let object = named(&one.kind, &one.object, &one.cluster);
    format!("the newest version of {object}: {}, {}", one.reason, one.message)
}

fn reason(actor: &Actor) -> String {
    format!("{}, {}", actor.reason, actor.message)
}

/// What to do about a name that nothing declares.
fn advice(story: &Story) -> Option<String> {
    let declared = [&story.makers, &story.losers, &story.missing].iter().any(|actors| !actors.is_empty());
    match &story.zone {
        None if !declared => {
            Some("no zone holds it: add a Zone or a zone file for it, or a name above it".to_owned())
        }
        Some(zone) if !declared && !zone.in_file && zone.origin != story.name => {
            Some("nothing declares it: add a Record, a route, or a line to the zone's file".to_owned())
        }
        _ => None,
    }
}
