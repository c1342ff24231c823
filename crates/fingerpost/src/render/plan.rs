//! A plan for people: the whole of it, or what differs.

use dns::visible;
use planner::document::{
    Difference, Document, DocumentObject, DocumentRecordSet, DocumentView, DocumentZone, Pair,
};
use serde_json::{Value, json};

use super::numbers::{count, grouped};
use super::{Palette, condition, difference, owner, steering, table};
use crate::planned::{Broken, Review, Tally, Unready};

/// How many record sets that stay in force, and how many owners of one, are named.
const MOST_NAMED: usize = 3;

/// The whole plan.
pub fn whole(plan: &Document, palette: Palette) -> String {
    let clusters = plan.clusters.len() > 1;
    let mut text = Text { palette, clusters, text: String::new() };
    text.section("Views", plan.views.iter().map(view_row));
    text.section("Zones", plan.zones.iter().map(zone_row));
    text.record_sets(&plan.record_sets);
    text.section("Child objects", plan.children.iter().map(|child| object_row(child, clusters)));
    text.section("Objects", plan.objects.iter().map(|object| status_row(object, clusters)));
    text.text
}

/// What differs, grouped by kind, and a summary. `statuses`: those too.
pub fn differences(review: &Review, statuses: bool, palette: Palette) -> String {
    if review.is_empty(statuses) {
        return "No changes.\n".to_owned();
    }
    let mut text = Text { palette, clusters: review.clusters, text: String::new() };
    let groups = Groups::of(&review.differences);
    text.broken(&review.broken);
    text.unready(&review.unready);
    let clusters = review.clusters;
    text.objects("Settings", &groups.settings, setting_lines);
    text.pairs("Views", &groups.views, view_row, |_| Vec::new());
    text.pairs("Zones", &groups.zones, zone_row, |pair| zone_lines(pair, clusters));
    text.pairs("Record sets", &groups.record_sets, |set| record_row(set, clusters), steering_lines);
    text.objects("Child objects", &groups.children, object_lines);
    if statuses {
        text.objects("Statuses", &review.statuses.iter().collect::<Vec<_>>(), object_lines);
    }
    text.blank();
    text.line(&summary(review));
    text.text
}

/// What the plan comes to, in one line: record sets, then settings and child objects where some differ.
pub fn summary(review: &Review) -> String {
    let groups = Groups::of(&review.differences);
    let of = |title: &str, pairs: &[&Pair<DocumentObject>]| match Tally::of(pairs.iter().copied()) {
        none if none == Tally::default() => String::new(),
        some => format!(" {title}: {}", tally(some)),
    };
    let (settings, children) = (of("Settings", &groups.settings), of("Child objects", &groups.children));
    format!("Plan: {}{settings}{children}", tally(review.tally))
}

fn tally(tally: Tally) -> String {
    let of = |number: usize| grouped(number as u64);
    format!("{} to add, {} to change, {} to remove.", of(tally.add), of(tally.change), of(tally.remove))
}

/// Differences by what they are about.
#[derive(Default)]
pub(super) struct Groups<'a> {
    pub(super) settings: Vec<&'a Pair<DocumentObject>>,
    pub(super) views: Vec<&'a Pair<DocumentView>>,
    pub(super) zones: Vec<&'a Pair<DocumentZone>>,
    pub(super) record_sets: Vec<&'a Pair<DocumentRecordSet>>,
    pub(super) children: Vec<&'a Pair<DocumentObject>>,
}

impl<'a> Groups<'a> {
    pub(super) fn of(differences: &'a [Difference]) -> Groups<'a> {
        let mut groups = Groups::default();
        for difference in differences {
            match difference {
                Difference::Setting(pair) => groups.settings.push(pair),
                Difference::View(pair) => groups.views.push(pair),
                Difference::Zone(pair) => groups.zones.push(pair),
                Difference::RecordSet(pair) => groups.record_sets.push(pair),
                Difference::Child(pair) => groups.children.push(pair),
                Difference::Object(_) => {}
            }
        }
        groups
    }
}

/// `+`, `-` or `~`.
pub fn sign<T>(pair: &Pair<T>) -> char {
    match (&pair.before, &pair.after) {
        (None, _) => '+',
        (_, None) => '-',
        _ => '~',
    }
}

struct Text {
    palette: Palette,
    /// Whether to say which cluster an object is in.
    clusters: bool,
    text: String,
}

impl Text {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn blank(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }

    fn heading(&mut self, heading: &str) {
        self.blank();
        let heading = self.palette.strong(heading);
        self.line(&heading);
    }

    fn section(&mut self, title: &str, rows: impl Iterator<Item = Vec<String>>) {
        let lines = table::lines(rows);
        self.heading(&format!("{title} ({})", grouped(lines.len() as u64)));
        lines.iter().for_each(|line| self.line(&format!("  {line}")));
    }

    /// All record sets, each with how it is steered.
    fn record_sets(&mut self, sets: &[DocumentRecordSet]) {
        self.heading(&format!("Record sets ({})", grouped(sets.len() as u64)));
        let lines = table::lines(sets.iter().map(|set| record_row(set, self.clusters)));
        for (set, line) in sets.iter().zip(lines) {
            self.line(&format!("  {line}"));
            self.details(steering::lines(set.steering.as_ref()));
        }
    }

    /// Things that a row says all about, what changed as it was and as it will be; below each what `details` finds.
    fn pairs<T>(
        &mut self,
        title: &str,
        pairs: &[&Pair<T>],
        row: impl Fn(&T) -> Vec<String>,
        details: impl Fn(&Pair<T>) -> Vec<String>,
    ) {
        if pairs.is_empty() {
            return;
        }
        self.heading(&format!("{title}:"));
        let lines = table::lines(pairs.iter().map(|pair| moved(pair, &row)));
        for (pair, line) in pairs.iter().zip(lines) {
            let sign = sign(pair);
            let line = self.palette.signed(sign, &format!("{sign} {line}"));
            self.line(&format!("  {line}"));
            self.details(details(pair));
        }
    }

    fn details(&mut self, lines: Vec<String>) {
        lines.iter().for_each(|line| self.line(&format!("      {}", visible(line))));
    }

    /// What is not in force, and what stays in force instead.
    fn broken(&mut self, broken: &[Broken]) {
        if broken.is_empty() {
            return;
        }
        self.heading("Broken: not in force");
        for one in broken {
            let name = owner(&one.what.object, self.clusters);
            let name = self.palette.bad(&format!("! {name}{}", location_text(one)));
            self.line(&format!("  {name}"));
            let why = format!("{}: {}", one.what.reason, one.what.message);
            self.details(std::iter::once(why).chain(kept_text(one)).collect());
        }
    }

    /// Objects that are not ready any more, or are new and not ready.
    fn unready(&mut self, unready: &[Unready]) {
        if unready.is_empty() {
            return;
        }
        self.heading("Not ready:");
        for one in unready {
            let name = self.palette.warning(&format!("! {}", owner(&one.object, self.clusters)));
            self.line(&format!("  {name}"));
            self.details(vec![unready_text(one)]);
        }
    }

    /// Objects, below each what `details` finds.
    fn objects(
        &mut self,
        title: &str,
        pairs: &[&Pair<DocumentObject>],
        details: fn(&Pair<DocumentObject>) -> Vec<String>,
    ) {
        if pairs.is_empty() {
            return;
        }
        self.heading(&format!("{title}:"));
        for pair in pairs {
            let Some(object) = pair.either() else { continue };
            let (sign, row) = (sign(pair), object_row(object, self.clusters).join(" "));
            let row = self.palette.signed(sign, &format!("{sign} {}", visible(row.trim_start())));
            self.line(&format!("  {row}"));
            self.details(details(pair));
        }
    }
}

/// What is to be said about an object that differs: what is wrong with a new one, which paths of another.
pub(super) fn object_lines(pair: &Pair<DocumentObject>) -> Vec<String> {
    match (&pair.before, &pair.after) {
        (None, Some(after)) => condition::trouble(&after.manifest["status"]).into_iter().collect(),
        (Some(before), Some(after)) => difference::lines(&before.manifest, &after.manifest),
        _ => Vec::new(),
    }
}

/// The settings of an object that differ; all of them where it comes or goes.
pub(super) fn setting_lines(pair: &Pair<DocumentObject>) -> Vec<String> {
    let settings = |object: &Option<DocumentObject>| {
        let field = |name: &str| object.as_ref().map_or(&Value::Null, |one| &one.manifest[name]);
        json!({ "spec": field("spec"), "annotations": field("metadata")["annotations"] })
    };
    difference::lines(&settings(&pair.before), &settings(&pair.after))
}

/// Where the broken version is.
pub(super) fn location_text(broken: &Broken) -> String {
    broken.what.location.as_ref().map(|location| format!(" ({location})")).unwrap_or_default()
}

/// What stays in force of something broken, where that is record sets.
pub(super) fn kept_text(broken: &Broken) -> Option<String> {
    let name = |set: &DocumentRecordSet| format!("{} {} {}", set.name, set.rtype, set.data.join(", "));
    let named: Vec<String> = broken.kept.iter().take(MOST_NAMED).map(name).collect();
    let more = broken.kept.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!("; and {} more", grouped(more as u64)) } else { String::new() };
    (!named.is_empty()).then(|| format!("still served: {}{more}", named.join("; ")))
}

pub(super) fn unready_text(unready: &Unready) -> String {
    let Unready { condition, reason, message, .. } = unready;
    match condition.as_str() {
        "Ready" => format!("not ready: {reason}, {message}"),
        condition => format!("{condition}: {reason}, {message}"),
    }
}

/// One row for both sides: a column that differs is shown as it was and as it will be.
pub(super) fn moved<T>(pair: &Pair<T>, row: &impl Fn(&T) -> Vec<String>) -> Vec<String> {
    match (&pair.before, &pair.after) {
        (Some(before), Some(after)) => {
            let columns = row(before).into_iter().zip(row(after));
            columns.map(|(old, new)| if old == new { new } else { arrow(&old, &new) }).collect()
        }
        (one, other) => one.as_ref().or(other.as_ref()).map(row).unwrap_or_default(),
    }
}

fn arrow(old: &str, new: &str) -> String {
    let text = |value: &str| if value.is_empty() { "none".to_owned() } else { value.to_owned() };
    format!("{} → {}", text(old), text(new))
}

pub(super) fn view_row(view: &DocumentView) -> Vec<String> {
    let what = view.scope.clone().unwrap_or_else(|| "everything".to_owned());
    vec![view.name.clone(), what, view.listen.join(" "), view.clients.join(" ")]
}

fn zone_row(zone: &DocumentZone) -> Vec<String> {
    let state = match &zone.unavailable {
        Some(reason) => format!("unavailable: {reason}"),
        None => format!("serial {}", zone.serial),
    };
    vec![
        zone.origin.to_string(),
        place(&zone.scope),
        state,
        count(zone.entry_count, "record"),
        zone.source.clone(),
    ]
}

/// What differs in a zone and is in none of its columns: its SOA, which of several objects of one name declares it, and its
/// content where the serial does not say so.
pub(super) fn zone_lines(pair: &Pair<DocumentZone>, clusters: bool) -> Vec<String> {
    let (Some(before), Some(after)) = (&pair.before, &pair.after) else { return Vec::new() };
    let owners =
        |zone: &DocumentZone| zone.soa.as_ref().map(|soa| owners_text(soa, clusters)).unwrap_or_default();
    let (old, new) = (owners(before), owners(after));
    let moved = before.source == after.source && old != new;
    let renumbered = before.serial != after.serial || before.hash == after.hash;
    let mut lines = soa_lines(pair);
    lines.extend(moved.then(|| format!("declared by: {}", arrow(&old, &new))));
    lines.extend(
        (!renumbered).then(|| format!("content under one serial: {}", arrow(&before.hash, &after.hash))),
    );
    lines
}

/// What differs in a zone's SOA besides its serial.
fn soa_lines(pair: &Pair<DocumentZone>) -> Vec<String> {
    let text = |zone: &Option<DocumentZone>| {
        let soa = zone.as_ref()?.soa.as_ref()?;
        let words: Vec<&str> = soa.data.first()?.split(' ').collect();
        let [server, mailbox, _, timers @ ..] = &words[..] else { return None };
        Some(format!("{} {server} {mailbox} {}", soa.ttl, timers.join(" ")))
    };
    match (text(&pair.before), text(&pair.after)) {
        (Some(old), Some(new)) if old != new => vec![format!("SOA: {old} → {new}")],
        _ => Vec::new(),
    }
}

/// How a record set is steered, or what differs in that.
pub(super) fn steering_lines(pair: &Pair<DocumentRecordSet>) -> Vec<String> {
    match (&pair.before, &pair.after) {
        (Some(before), Some(after)) => {
            steering::differences(before.steering.as_ref(), after.steering.as_ref())
        }
        (None, Some(after)) => steering::lines(after.steering.as_ref()),
        _ => Vec::new(),
    }
}

/// One row for a record set: where it is seen, its name, TTL, type, data and owners.
pub fn record_row(set: &DocumentRecordSet, clusters: bool) -> Vec<String> {
    let (ttl, rtype) = (set.ttl.to_string(), set.rtype.to_string());
    let data = set.data.join(", ");
    vec![place(&set.scope), set.name.to_string(), ttl, rtype, data, owners_text(set, clusters)]
}

/// The owners of a record set.
pub(super) fn owners_text(set: &DocumentRecordSet, clusters: bool) -> String {
    let named: Vec<String> = set.owners.iter().take(MOST_NAMED).map(|one| owner(one, clusters)).collect();
    match set.owners.len().saturating_sub(MOST_NAMED) {
        0 => named.join(", "),
        more => format!("{} and {} more", named.join(", "), grouped(more as u64)),
    }
}

pub(super) fn object_row(object: &DocumentObject, clusters: bool) -> Vec<String> {
    let [_, kind, namespace, name] = object.identity();
    let full = if namespace.is_empty() { name.to_owned() } else { format!("{namespace}/{name}") };
    let mut row = vec![kind.to_owned(), full];
    if clusters {
        row.insert(0, object.cluster.clone());
    }
    row
}

fn status_row(object: &DocumentObject, clusters: bool) -> Vec<String> {
    let mut row = object_row(object, clusters);
    row.push(condition::summary(&object.manifest["status"]));
    row
}

/// A scope as people call it: `region/weu` is `weu`.
pub(super) fn place(scope: &str) -> String {
    scope.split_once('/').map_or(scope, |(_, name)| name).to_owned()
}
