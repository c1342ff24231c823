//! A plan for people: the whole of it, or what differs.

use planner::document::{
    Difference, Document, DocumentObject, DocumentRecordSet, DocumentView, DocumentZone, Pair,
};

use super::numbers::{count, grouped};
use super::{Palette, condition, difference, table};

/// The whole plan.
pub fn whole(plan: &Document, palette: Palette) -> String {
    let clusters = plan.clusters.len() > 1;
    let mut text = Text { palette, clusters, text: String::new() };
    text.section("Views", plan.views.iter().map(view_row));
    text.section("Zones", plan.zones.iter().map(zone_row));
    text.section("Record sets", plan.record_sets.iter().map(record_row));
    text.section("Child objects", plan.children.iter().map(|child| object_row(child, clusters)));
    text.section("Objects", plan.objects.iter().map(|object| status_row(object, clusters)));
    text.text
}

/// What differs, grouped by kind; empty where nothing does. `clusters`: there are several.
pub fn differences(differences: &[Difference], clusters: bool, palette: Palette) -> String {
    let mut text = Text { palette, clusters, text: String::new() };
    let groups = Groups::of(differences);
    text.pairs("Views", &groups.views, view_row);
    text.pairs("Zones", &groups.zones, zone_row);
    text.pairs("Record sets", &groups.record_sets, record_row);
    text.objects("Child objects", &groups.children);
    text.objects("Statuses", &groups.objects);
    text.text
}

/// Differences by what they are about.
#[derive(Default)]
struct Groups<'a> {
    views: Vec<&'a Pair<DocumentView>>,
    zones: Vec<&'a Pair<DocumentZone>>,
    record_sets: Vec<&'a Pair<DocumentRecordSet>>,
    children: Vec<&'a Pair<DocumentObject>>,
    objects: Vec<&'a Pair<DocumentObject>>,
}

impl<'a> Groups<'a> {
    fn of(differences: &'a [Difference]) -> Groups<'a> {
        let mut groups = Groups::default();
        for difference in differences {
            match difference {
                Difference::View(pair) => groups.views.push(pair),
                Difference::Zone(pair) => groups.zones.push(pair),
                Difference::RecordSet(pair) => groups.record_sets.push(pair),
                Difference::Child(pair) => groups.children.push(pair),
                Difference::Object(pair) => groups.objects.push(pair),
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

    fn heading(&mut self, heading: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        let heading = self.palette.strong(heading);
        self.line(&heading);
    }

    fn section(&mut self, title: &str, rows: impl Iterator<Item = Vec<String>>) {
        let lines = table::lines(rows);
        self.heading(&format!("{title} ({})", grouped(lines.len() as u64)));
        lines.iter().for_each(|line| self.line(&format!("  {line}")));
    }

    /// Things that a row says all about; what changed is shown as it was and as it will be.
    fn pairs<T>(&mut self, title: &str, pairs: &[&Pair<T>], row: fn(&T) -> Vec<String>) {
        if pairs.is_empty() {
            return;
        }
        self.heading(&format!("{title}: {}", tally(pairs)));
        let sides =
            |pair: &Pair<T>| [('-', pair.before.as_ref().map(row)), ('+', pair.after.as_ref().map(row))];
        let rows: Vec<(char, Vec<String>)> =
            pairs.iter().flat_map(|pair| sides(pair)).filter_map(|(sign, row)| Some((sign, row?))).collect();
        let lines = table::lines(rows.iter().map(|(_, row)| row.clone()));
        for ((sign, _), line) in rows.iter().zip(lines) {
            let line = self.palette.signed(*sign, &format!("{sign} {line}"));
            self.line(&format!("  {line}"));
        }
    }

    /// Objects, with the paths that differ.
    fn objects(&mut self, title: &str, pairs: &[&Pair<DocumentObject>]) {
        if pairs.is_empty() {
            return;
        }
        self.heading(&format!("{title}: {}", tally(pairs)));
        for pair in pairs {
            let Some(object) = pair.either() else { continue };
            let (sign, row) = (sign(pair), object_row(object, self.clusters).join(" "));
            let row = self.palette.signed(sign, &format!("{sign} {}", row.trim_start()));
            self.line(&format!("  {row}"));
            if let (None, Some(after)) = (&pair.before, &pair.after)
                && let Some(trouble) = condition::trouble(&after.manifest["status"])
            {
                self.line(&format!("      {trouble}"));
            }
            if let (Some(before), Some(after)) = (&pair.before, &pair.after) {
                let lines = difference::lines(&before.manifest, &after.manifest);
                lines.iter().for_each(|line| self.line(&format!("      {line}")));
            }
        }
    }
}

fn tally<T>(pairs: &[&Pair<T>]) -> String {
    let of = |wanted: char| grouped(pairs.iter().filter(|pair| sign(pair) == wanted).count() as u64);
    format!("{} added, {} changed, {} removed", of('+'), of('~'), of('-'))
}

fn view_row(view: &DocumentView) -> Vec<String> {
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

/// One row for a record set: where it is seen, its name, TTL, type and data.
pub fn record_row(set: &DocumentRecordSet) -> Vec<String> {
    let (ttl, rtype) = (set.ttl.to_string(), set.rtype.to_string());
    vec![place(&set.scope), set.name.to_string(), ttl, rtype, set.data.join(", ")]
}

fn object_row(object: &DocumentObject, clusters: bool) -> Vec<String> {
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
fn place(scope: &str) -> String {
    scope.split_once('/').map_or(scope, |(_, name)| name).to_owned()
}
