//! What `up` says while it runs: changes of the plan, what turned bad, and what recovered.
//!
//! Everything is said once, when it begins and when it ends. A flood is summed up.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use dns::{Name, visible};
use planner::{ClusterId, Delta, FileNote, ObjectRef, Planner, Severity};

use crate::cli::LogFormat;
use crate::console::{self, Level};
use crate::deliveries::WrittenSets;
use crate::render::numbers::{count, grouped};
use crate::render::{self, Palette, changes, deliveries};
use crate::source::SourceProblem;
use crate::state::StateDir;

/// How many lines of one kind are printed at once.
const MOST_LINES: usize = 20;

/// What has been said.
pub(super) struct Notices {
    palette: Palette,
    problems: BTreeSet<SourceProblem>,
    objects: BTreeMap<(ClusterId, ObjectRef), String>,
    unused_files: BTreeSet<String>,
    listeners: BTreeSet<String>,
    views: BTreeMap<String, SocketAddr>,
}

impl Notices {
    pub(super) fn new(palette: Palette) -> Notices {
        Notices {
            palette,
            problems: BTreeSet::new(),
            objects: BTreeMap::new(),
            unused_files: BTreeSet::new(),
            listeners: BTreeSet::new(),
            views: BTreeMap::new(),
        }
    }

    /// The views that the start has told of.
    pub(super) fn known_views(&mut self, views: BTreeMap<String, SocketAddr>) {
        self.views = views;
    }

    /// Where views are answered now.
    pub(super) fn views(&mut self, views: BTreeMap<String, SocketAddr>) {
        for (view, address) in views.iter().filter(|(view, address)| self.views.get(*view) != Some(address)) {
            let view = visible(view);
            self.say(&self.palette.good(&format!("+ view {view} is answered on {address}")));
        }
        for (view, address) in self.views.iter().filter(|(view, _)| !views.contains_key(*view)) {
            let line = format!("- view {} is gone: what it had on {address} is refused", visible(view));
            self.say(&self.palette.bad(&line));
        }
        self.views = views;
    }

    /// What is wrong at the start.
    pub(super) fn first(&mut self, problems: &[SourceProblem], planner: &Planner) {
        self.problems(problems);
        self.objects(&planner.objects(), planner);
        self.unused_files(planner);
    }

    /// The zone files whose origins others hold now.
    pub(super) fn unused_files(&mut self, planner: &Planner) {
        let line = |note: FileNote| format!("{}:{}:{}: {}", note.path, note.line, note.column, note.message);
        let now: BTreeSet<String> = planner.unused_files().into_iter().map(|(_, note)| line(note)).collect();
        let news: Vec<String> = now.difference(&self.unused_files).cloned().collect();
        let over: Vec<String> = self.unused_files.difference(&now).cloned().collect();
        self.unused_files = now;
        self.say_all(&news, |line| self.trouble(line));
        self.say_all(&over, |line| self.recovered(&format!("no longer: {line}")));
    }

    /// One line with the time.
    pub(super) fn say(&self, line: &str) {
        console::event(Level::Info, line, self.palette);
    }

    /// Something that is wrong with the program or the machine.
    pub(super) fn trouble(&self, line: &str) {
        self.marked(Level::Warning, '!', line, Palette::bad);
    }

    fn recovered(&self, line: &str) {
        self.marked(Level::Info, '✓', line, Palette::good);
    }

    /// A line with a mark for people; programs have the level.
    fn marked(&self, level: Level, mark: char, line: &str, paint: impl Fn(Palette, &str) -> String) {
        let text = match console::style().format {
            LogFormat::Text => paint(self.palette, &visible(&format!("{mark} {line}"))),
            LogFormat::Json => line.to_owned(),
        };
        console::event(level, &text, self.palette);
    }

    fn say_all(&self, lines: &[String], say: impl Fn(&str)) {
        lines.iter().take(MOST_LINES).for_each(|line| say(line));
        if lines.len() > MOST_LINES {
            say(&format!("… and {} more", grouped((lines.len() - MOST_LINES) as u64)));
        }
    }

    /// What is wrong in the folders now.
    pub(super) fn problems(&mut self, problems: &[SourceProblem]) {
        let now: BTreeSet<SourceProblem> = problems.iter().cloned().collect();
        let (news, over) = (lines(now.difference(&self.problems)), lines(self.problems.difference(&now)));
        self.problems = now;
        self.say_all(&news, |line| self.trouble(line));
        self.say_all(&over, |line| self.recovered(&format!("no longer: {line}")));
    }

    /// How these objects fare now.
    pub(super) fn objects(&mut self, objects: &[(ClusterId, ObjectRef)], planner: &Planner) {
        let (mut news, mut over) = (Vec::new(), Vec::new());
        for key in objects {
            let before = self.objects.remove(key);
            match complaint(planner, key) {
                Some(now) => {
                    if before.as_ref() != Some(&now) && !self.is_told(key) {
                        news.push(now.clone());
                    }
                    self.objects.insert(key.clone(), now);
                }
                None if before.is_some() => over.push(render::object(&key.1)),
                None => {}
            }
        }
        self.say_all(&news, |line| self.trouble(line));
        self.say_all(&over, |line| self.recovered(&format!("{line} recovered")));
    }

    /// Whether the file's own problem has told of the object, with its line.
    fn is_told(&self, (cluster, object): &(ClusterId, ObjectRef)) -> bool {
        self.problems
            .iter()
            .any(|problem| problem.cluster == *cluster && problem.object.as_ref() == Some(object))
    }

    /// What the plan changed.
    pub(super) fn changes(&self, delta: &Delta) {
        changes::lines(&delta.records, self.palette).iter().for_each(|line| self.say(line));
        let has_lines: BTreeSet<&Name> = delta.records.iter().map(|change| &change.zone).collect();
        let is_silent = |origin: &&Name| !has_lines.contains(origin) || delta.files.contains(*origin);
        let zones: Vec<String> = delta.zones.iter().filter(is_silent).map(ToString::to_string).collect();
        if !zones.is_empty() {
            let shown = zones[..zones.len().min(MOST_LINES)].join(", ");
            self.say(&self.palette.warning(&format!("~ {}: {shown}", count(zones.len() as u64, "zone"))));
        }
    }

    /// What was written to providers.
    pub(super) fn written(&self, written: &WrittenSets) {
        deliveries::lines(written, self.palette).iter().for_each(|line| self.say(line));
    }

    /// Addresses that cannot be opened.
    pub(super) fn listeners(&mut self, troubles: &[anyhow::Error]) {
        let now: BTreeSet<String> = troubles.iter().map(|error| format!("{error:#}")).collect();
        now.difference(&self.listeners).for_each(|line| self.trouble(line));
        self.listeners.difference(&now).for_each(|line| self.recovered(&format!("no longer: {line}")));
        self.listeners = now;
    }

    /// What went wrong with the state directory.
    pub(super) fn state(&self, state: Option<&StateDir>) {
        let problems = state.map(StateDir::take_problems).unwrap_or_default();
        problems.iter().for_each(|line| self.trouble(line));
    }
}

fn lines<'a>(problems: impl Iterator<Item = &'a SourceProblem>) -> Vec<String> {
    problems.map(ToString::to_string).collect()
}

/// What is wrong with an object, in a line.
fn complaint(planner: &Planner, (cluster, object): &(ClusterId, ObjectRef)) -> Option<String> {
    let notes = planner.notes(*cluster, object);
    let worst =
        notes.iter().max_by_key(|note| note.severity).filter(|note| note.severity >= Severity::Warning)?;
    Some(format!("{}: {}: {}", render::object(object), worst.reason, worst.message))
}
