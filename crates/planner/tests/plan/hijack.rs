//! The attempts to take a name of another namespace: `testdata/hijack/<attempt>`.
//!
//! ```text
//! victim.yaml      what is there
//! attack.yaml      what comes: objects of the namespace `attacker`; `# refused: KIND NAMESPACE/NAME REASON` says what
//!                  becomes of them; `# open from nothing` that all at once, without creation times, decides nothing
//! control-*.yaml   what permits it; `# accept` or `# accept KIND NAMESPACE/NAME` says which objects succeed then
//! ```
//!
//! Every attempt is made with a namespace that comes before the victim's by name and with one that comes after it; as a
//! change to a running plan, after a restart, and as one plan from nothing where creation times tell who was first, in
//! folders and in a cluster. Where nothing tells who was first, the names may be the attacker's by their order, but then
//! all of them, and the victim's objects say so.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use api::Object;
use dns::{Name, RecordSet, Rtype};
use planner::{Change, ClusterId, ObjectRef, Planner, Rules, Scope, Setting};

use crate::case::{entries, file_name, reference, testdata, text_changes};

const HERE: ClusterId = ClusterId(0);
/// The attacker's namespace in the files, and what it is called besides: after every victim.
const NAMES: [&str; 2] = ["attacker", "zz-attacker"];

/// One attempt, with the attacker under one of its names.
struct Attempt {
    name: String,
    victim: Vec<Change>,
    attack: Vec<Change>,
    refused: Vec<(ObjectRef, String)>,
    /// Whether nothing tells who comes first where all comes at once and without creation times.
    is_open_from_nothing: bool,
    controls: Vec<Control>,
}

/// What permits an attempt.
struct Control {
    name: String,
    changes: Vec<Change>,
    accepted: Vec<ObjectRef>,
}

impl Attempt {
    fn read(folder: &Path, attacker: &str) -> Attempt {
        let text = |path: PathBuf| fs::read_to_string(&path).unwrap().replace("attacker", attacker);
        let attack = text(folder.join("attack.yaml"));
        let refused = attack.lines().filter_map(|line| line.strip_prefix("# refused: "));
        let refused: Vec<_> = refused.map(refusal).collect();
        let controls = entries(folder).into_iter().filter(|path| file_name(path).starts_with("control-"));
        let control = |path: PathBuf| {
            let text = text(path.clone());
            let named = text.lines().next().and_then(|line| line.strip_prefix("# accept"));
            let named = named.unwrap_or_else(|| panic!("{}: no `# accept`", path.display())).trim();
            let accepted = match named {
                "" => refused.iter().map(|(object, _)| object.clone()).collect(),
                named => vec![reference(named)],
            };
            Control { name: file_name(&path), changes: text_changes(HERE, &text), accepted }
        };
        Attempt {
            name: format!("{} by {attacker}", file_name(folder)),
            victim: text_changes(HERE, &text(folder.join("victim.yaml"))),
            attack: text_changes(HERE, &attack),
            controls: controls.map(control).collect(),
            is_open_from_nothing: attack.contains("\n# open from nothing\n"),
            refused,
        }
    }

    fn all() -> Vec<Attempt> {
        let folders = entries(&testdata().join("hijack"));
        let read = |folder: &PathBuf| NAMES.map(|attacker| Attempt::read(folder, attacker));
        folders.iter().flat_map(read).collect()
    }

    /// What is wrong after the attempt, in one way of making it.
    fn failures(&self, way: &str, before: &Planner, after: &Planner) -> Vec<String> {
        let mut failures: Vec<String> = Vec::new();
        for (object, reason) in &self.refused {
            let ready = ready(after, object);
            if !ready.starts_with(&format!("False {reason}")) {
                failures.push(format!(
                    "{} {}/{} is {ready}, not {reason}",
                    object.kind.kind(),
                    object.namespace,
                    object.name
                ));
            }
        }
        failures.extend(damage(before, after));
        failures.into_iter().map(|failure| format!("{} ({way}): {failure}", self.name)).collect()
    }

    /// The attempt in every way in which the victim was there first.
    fn check(&self) -> Vec<String> {
        let mut failures = Vec::new();
        let before = planned(&Setting::Folders, &[&self.victim]);
        let running = planned(&Setting::Folders, &[&self.victim, &self.attack]);
        failures.extend(self.failures("running", &before, &running));
        let memory = vec![Change::Holders(Box::new(before.holders()))];
        let restarted =
            planned(&Setting::Folders, &[&[memory, self.victim.clone(), self.attack.clone()].concat()]);
        failures.extend(self.failures("restarted", &before, &restarted));
        for setting in [Setting::Folders, Setting::Operator, Setting::Server { classes: Vec::new() }] {
            let (victim, attack) = (created(&self.victim, 2024), created(&self.attack, 2025));
            let before = planned(&setting, &[&victim]);
            let way = format!("created later, {setting:?}");
            let cold = planned(&setting, &[&[victim.clone(), attack.clone()].concat()]);
            failures.extend(self.failures(&way, &before, &cold));
            let reversed = planned(&setting, &[&attack, &victim]);
            if setting != Setting::Folders {
                failures.extend(self.failures(&format!("seen first, {way}"), &before, &reversed));
            }
        }
        failures.extend(self.check_from_nothing());
        failures.extend(self.controls.iter().flat_map(|control| self.check_control(control)));
        failures
    }

    /// From nothing, without creation times: nothing is mixed.
    fn check_from_nothing(&self) -> Vec<String> {
        let before = planned(&Setting::Folders, &[&self.victim]);
        let cold = planned(&Setting::Folders, &[&[self.victim.clone(), self.attack.clone()].concat()]);
        let damage = damage(&before, &cold);
        let told = self.victim.iter().filter_map(put).any(|object| {
            ["NameConflict", "NotDelegated", "Occluded"]
                .iter()
                .any(|reason| ready(&cold, &reference_of(object)).contains(reason))
        });
        match damage.is_empty() || told || self.is_open_from_nothing {
            true => Vec::new(),
            false => vec![format!("{} (from nothing): {}, and nobody is told", self.name, damage.join("; "))],
        }
    }

    fn check_control(&self, control: &Control) -> Vec<String> {
        let mut failures = Vec::new();
        let permitted = [control.changes.clone(), self.attack.clone()].concat();
        let running = planned(&Setting::Folders, &[&self.victim, &self.attack, &control.changes]);
        let from_the_start = planned(&Setting::Folders, &[&self.victim, &permitted]);
        let ways = [("running", running), ("from the start", from_the_start)];
        for (way, planner) in &ways {
            for object in &control.accepted {
                let ready = ready(planner, object);
                if ready.starts_with("False") {
                    failures.push(format!("{} with {} ({way}): {ready}", self.name, control.name));
                }
            }
        }
        failures
    }
}

fn refusal(line: &str) -> (ObjectRef, String) {
    let mut words = line.split(' ');
    let object = [words.next().unwrap(), words.next().unwrap()].join(" ");
    (reference(&object), words.next().unwrap_or_default().to_owned())
}

fn planned(setting: &Setting, batches: &[&[Change]]) -> Planner {
    let planner = match setting {
        Setting::Folders => Planner::new(vec!["default".to_owned()]),
        setting => Planner::in_cluster("default".to_owned(), setting.clone()),
    };
    let mut planner = planner.under(Rules::default());
    for batch in batches {
        planner.apply(batch.to_vec());
    }
    planner
}

fn put(change: &Change) -> Option<&Arc<Object>> {
    match change {
        Change::Put(_, object) => Some(object),
        _ => None,
    }
}

fn reference_of(object: &Object) -> ObjectRef {
    let (namespace, name) = (object.meta.namespace.clone(), object.meta.name.clone());
    ObjectRef { kind: object.kind(), namespace, name }
}

/// The same changes with a creation time on every object.
fn created(changes: &[Change], year: u16) -> Vec<Change> {
    let time = format!("{year}-01-01T00:00:00Z").parse().unwrap();
    let dated = |change: &Change| match put(change) {
        Some(object) => {
            let mut object = Object::clone(object);
            object.meta.created = Some(time);
            Change::Put(HERE, Arc::new(object))
        }
        None => change.clone(),
    };
    changes.iter().map(dated).collect()
}

/// What `Ready` says, with the reason.
fn ready(planner: &Planner, object: &ObjectRef) -> String {
    let notes = planner.notes(HERE, object);
    let ready = notes.iter().filter(|note| note.condition == "Ready");
    // A DNSEndpoint has a note for each of its problems; the gravest counts.
    let gravest = ready.max_by_key(|note| note.severity);
    gravest.map_or("not known".to_owned(), |note| format!("{} {}", note.status, note.reason))
}

/// The record sets of a plan, by zone and name; SOA records carry a serial and are left out.
fn records(planner: &Planner) -> BTreeMap<(Name, Name), Vec<(Scope, RecordSet)>> {
    let zones = planner.zones().into_iter().map(|zone| zone.origin);
    let nodes = zones.flat_map(|origin| {
        let names: Vec<Name> = planner.nodes(&origin).collect();
        names.into_iter().map(move |name| (origin.clone(), name))
    });
    nodes.map(|(origin, name)| ((origin.clone(), name.clone()), planner.sets(&origin, &name))).collect()
}

/// What the attack did to names that were there before: changed, shadowed, delegated away or denied them.
fn damage(before: &Planner, after: &Planner) -> Vec<String> {
    let (old, new) = (records(before), records(after));
    let mut damage = Vec::new();
    for (key, sets) in &old {
        // A zone that more classes have is seen in more views.
        let data =
            |sets: &Vec<(Scope, RecordSet)>| sets.iter().map(|(_, set)| set.clone()).collect::<Vec<_>>();
        let is_apex = key.0 == key.1;
        if new.get(key) != Some(sets) && !(is_apex && new.get(key).map(data) == Some(data(sets))) {
            damage.push(format!("{} is {:?}, and was {sets:?}", key.1, new.get(key)));
        }
    }
    let victims: Vec<&(Name, Name)> = old.keys().filter(|(origin, name)| origin != name).collect();
    for ((origin, name), sets) in new.iter().filter(|(key, _)| !old.contains_key(key)) {
        let below = victims.iter().find(|(_, victim)| name.is_in(victim));
        damage.extend(below.map(|(_, victim)| format!("{name} has {sets:?} below {victim}")));
        let cuts = sets.iter().any(|(_, set)| matches!(set.rtype, Rtype::NS | Rtype::DNAME));
        let above = victims.iter().find(|(zone, victim)| cuts && zone == origin && victim.is_in(name));
        damage.extend(above.map(|(_, victim)| format!("{name} delegates {victim} away")));
    }
    let zone_of = |planner: &Planner, name: &Name| {
        let zones = planner.zones().into_iter().map(|zone| zone.origin);
        zones.filter(|zone| name.is_in(zone)).max_by_key(Name::wire_len)
    };
    for (_, victim) in victims {
        let (was, is) = (zone_of(before, victim), zone_of(after, victim));
        if was != is {
            damage.push(format!("{victim} lies in {is:?}, and did in {was:?}"));
        }
    }
    damage
}

/// Makes every attempt in every way, and counts them.
pub(crate) fn every_attempt_is_refused() {
    let attempts = Attempt::all();
    let failures: Vec<String> = attempts.iter().flat_map(Attempt::check).collect();
    let controls: usize = attempts.iter().map(|attempt| attempt.controls.len()).sum();
    let (number, failed) = (attempts.len() / NAMES.len(), failures.len());
    assert!(number > 31, "the attempts are not where they should be");
    assert!(failures.is_empty(), "{}\n{failed} failures of {number} attempts", failures.join("\n"));
    println!(
        "counted: {number} attempts to take a name of another namespace, {number} refused; {} permitted by a delegation or a grant succeed",
        controls / NAMES.len()
    );
}
