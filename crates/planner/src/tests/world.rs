//! Small worlds by number: few names, so that objects meet, conflict and refer to each other.

mod manifests;
mod told;

use std::collections::BTreeMap;
use std::sync::Arc;

use api::{Kind, Object, Problem};
use dns::{Name, PackedZone, ProbeId, Rtype, read_zone};

use crate::facts::ObjectKey;
use crate::{
    Abilities, Change, ChildRef, ClassHealth, ClusterId, Delivered, DeliveryResult, Direction, FileNote,
    LeaseFact, LookedUp, ObjectRef, Planner, Sight, TargetHealth, TargetState,
};

use manifests::{kind_of, manifest};
use told::{abilities, at_time, outdated, since, told, without_write};

/// The kinds, zone files, what providers say, what directs Placements, and the kinds that came later.
const KINDS_AND_MORE: u8 = 20;

/// One thing that happens, by numbers that shrink well.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) cluster: u8,
    pub(crate) kind: u8,
    pub(crate) which: u8,
    pub(crate) shape: u8,
    pub(crate) what: u8,
}

/// What a source would know after some steps: enough to plan from nothing.
pub(crate) struct Model {
    clusters: u8,
    /// The newest valid version of each object, in force or not.
    valid: BTreeMap<ObjectKey, Arc<Object>>,
    /// What was last reported of each object: a version, or that it is broken.
    newest: BTreeMap<ObjectKey, Change>,
    files: BTreeMap<(ClusterId, Arc<str>), FileHistory>,
    failures: BTreeMap<ChildRef, String>,
    /// What providers said last.
    told: BTreeMap<(Arc<str>, Name, Name, Rtype), Delivered>,
    looked_up: BTreeMap<(Arc<str>, Name, Name, Rtype), Change>,
    health: BTreeMap<Arc<str>, Change>,
    held: BTreeMap<Arc<str>, Change>,
    targets: BTreeMap<ProbeId, TargetHealth>,
    directions: BTreeMap<ObjectKey, Direction>,
    abilities: BTreeMap<Arc<str>, Abilities>,
}

/// A file's last good content and what is wrong with it now.
type FileHistory = (Option<Change>, Option<Change>);

impl Model {
    pub(crate) fn new(clusters: u8) -> Model {
        let (valid, newest, files, failures, told) = Default::default();
        let (looked_up, health, held, targets, directions, abilities) = Default::default();
        Model {
            clusters,
            valid,
            newest,
            files,
            failures,
            told,
            looked_up,
            health,
            held,
            targets,
            directions,
            abilities,
        }
    }

    /// Whether there is neither an object nor a file.
    pub(crate) fn is_empty(&self) -> bool {
        self.newest.is_empty() && self.files.is_empty()
    }

    /// Takes a step and gives the change that a source would report.
    pub(crate) fn step(&mut self, step: Step) -> Change {
        let cluster = ClusterId(u16::from(step.cluster % self.clusters));
        match step.kind % KINDS_AND_MORE {
            13 => return self.file_step(cluster, step),
            14 => return self.delivery_step(step),
            15 => return self.steering_step(cluster, step),
            _ => {}
        }
        let manifest = manifest(step);
        let kind = kind_of(step);
        let object = Arc::new(api::decode(kind, manifest).expect("the worlds' manifests decode"));
        let reference =
            ObjectRef { kind, namespace: object.meta.namespace.clone(), name: object.meta.name.clone() };
        let key = ObjectKey::new(cluster, reference.clone());
        match step.what % 8 {
            0 | 1 => {
                self.valid.remove(&key);
                self.newest.remove(&key);
                self.directions.remove(&key);
                Change::Delete(cluster, reference)
            }
            2 => {
                let problems = vec![Problem::new("spec", "?", "broken")];
                let change = match kind {
                    Kind::Zone if !step.shape.is_multiple_of(8) => {
                        Change::BrokenZone(cluster, object, problems)
                    }
                    _ => Change::Broken(cluster, reference, problems),
                };
                self.newest.insert(key, change.clone());
                change
            }
            3 => {
                if api::validate(&object).is_empty() {
                    self.forget_namesake(&key, &object);
                    if !self.valid.contains_key(&key) {
                        self.valid.insert(key.clone(), object.clone());
                        self.newest.insert(key, Change::Put(cluster, object.clone()));
                    }
                }
                Change::LastValid(cluster, object)
            }
            _ => {
                self.forget_namesake(&key, &object);
                let change = Change::Put(cluster, object.clone());
                if api::validate(&object).is_empty() {
                    self.valid.insert(key.clone(), object);
                }
                self.newest.insert(key, change.clone());
                change
            }
        }
    }

    /// What a provider would say about some record set, wanted or not, or about itself.
    fn delivery_step(&mut self, Step { which, shape, what, .. }: Step) -> Change {
        let class: Arc<str> = pick(&["one", "two", "three"], which).into();
        if what % 16 == 0 {
            let result =
                if shape % 2 == 0 { Ok(()) } else { Err(("ServerError".into(), "it failed".into())) };
            let change = Change::ClassHealth(class.clone(), ClassHealth { result, at: i64::from(shape) });
            self.health.insert(class, change.clone());
            return change;
        }
        if what % 16 == 1 {
            let held = (shape % 2 == 0).then(|| (usize::from(shape), "abc".into()));
            let change = Change::ClassHeld(class.clone(), held);
            self.held.insert(class, change.clone());
            return change;
        }
        let told = told(class, shape, what);
        let key = (told.class.clone(), told.zone.clone(), told.name.clone(), told.rtype);
        if let (2 | 3, DeliveryResult::Stands { hash, .. }) = (what % 16, &told.result) {
            let sight =
                if shape % 2 == 0 { Sight::Visible } else { Sight::NotVisible("ns.example.net".into()) };
            let Delivered { class, zone, name, rtype, .. } = told;
            let change = Change::LookedUp(LookedUp { class, zone, name, rtype, hash: *hash, sight });
            self.looked_up.insert(key, change.clone());
            return change;
        }
        let since = self.told.get(&key).and_then(|before| since(before, &told));
        match told.result {
            DeliveryResult::Absent => {
                self.told.remove(&key);
                self.looked_up.remove(&key);
            }
            _ => drop(self.told.insert(key, at_time(told.clone(), since))),
        }
        Change::Delivered(told)
    }

    /// An object with another identifier has come in the place of the one that we knew.
    fn forget_namesake(&mut self, key: &ObjectKey, object: &Object) {
        let uid = |object: &Object| object.meta.uid.clone();
        let known = self.valid.get(key).and_then(|known| uid(known));
        if known.is_some() && uid(object).is_some() && known != uid(object) {
            self.valid.remove(key);
            self.directions.remove(key);
        }
    }

    /// Who directs a Placement, or what a provider can do.
    fn steering_step(&mut self, cluster: ClusterId, Step { which, shape, what, .. }: Step) -> Change {
        if what % 3 == 0 {
            let class: Arc<str> = pick(&["one", "two", "three"], which).into();
            let abilities = match shape % 4 {
                0 => Abilities::NONE,
                one => abilities(one % 2 == 1, shape % 3 == 0, shape % 5 != 0),
            };
            self.abilities.insert(class.clone(), abilities.clone());
            return Change::ClassAbilities(class, abilities);
        }
        let (namespace, name) = (pick(&["blue", "green"], which), pick(&["one", "two", "three"], which / 2));
        let reference = ObjectRef { kind: Kind::Placement, namespace: namespace.into(), name: name.into() };
        let region =
            |number: u8| (!number.is_multiple_of(4)).then(|| pick(&["weu", "neu", "gone"], number).into());
        let lease = (shape % 3 == 0).then(|| LeaseFact {
            holder: region(shape / 3),
            generation: u64::from(shape),
            expires: Some(i64::from(shape)),
        });
        let witness_trouble = (shape % 5 == 0).then(|| "it does not answer".into());
        let direction = Direction { active: region(shape / 2), lease, witness_trouble, moves: Vec::new() };
        self.directions.insert(ObjectKey::new(cluster, reference.clone()), direction.clone());
        Change::Direction(cluster, reference, direction)
    }

    /// What came of one of the probes that there are.
    pub(crate) fn probed(&mut self, planner: &Planner, batch: &[Step]) -> Option<Change> {
        let Step { shape, what, .. } = batch.last()?;
        let probes: Vec<ProbeId> = planner.probes().map(|(probe, _)| probe).collect();
        let probe = *probes.get(usize::from(*what) % probes.len().max(1))?;
        let state = [TargetState::Up, TargetState::Down, TargetState::Unknown][usize::from(shape % 3)];
        let (since, seen_up) = (i64::from(*shape), state == TargetState::Up || shape % 2 == 0);
        let reason = if state == TargetState::Down { "connection refused" } else { "" };
        let health = TargetHealth { state, since, reason: reason.into(), seen_up };
        let known = self.targets.get(&probe);
        if !known.is_some_and(|known| TargetHealth { since: known.since, ..health.clone() } == *known) {
            self.targets.insert(probe, health.clone());
        }
        Some(Change::Health(probe, health))
    }

    pub(crate) fn forget_targets(&mut self, planner: &Planner) {
        self.targets.retain(|probe, _| planner.probes().any(|(id, _)| id == *probe));
    }

    /// What an actuator would say about one of the children that there are: that it could not be
    /// applied, or can be again.
    pub(crate) fn outcome(&mut self, planner: &Planner, batch: &[Step]) -> Option<Change> {
        let Step { shape, what, .. } = batch.first()?;
        let children = planner.children();
        let child = children.get(usize::from(*what) % children.len().max(1))?.clone();
        let failure = (shape % 4 != 0).then(|| format!("failure {shape}"));
        match &failure {
            Some(failure) => drop(self.failures.insert(child.clone(), failure.clone())),
            None => drop(self.failures.remove(&child)),
        }
        Some(Change::ChildOutcome(child, failure))
    }

    pub(crate) fn forget_outcomes(&mut self, is_gone: impl Fn(&ChildRef) -> bool) {
        self.failures.retain(|child, _| !is_gone(child));
    }

    fn file_step(&mut self, cluster: ClusterId, step: Step) -> Change {
        let path: Arc<str> = Arc::from(["example.org.zone", "other.zone"][usize::from(step.which % 2)]);
        let key = (cluster, path.clone());
        match step.what % 4 {
            0 => {
                self.files.remove(&key);
                Change::DeleteFile(cluster, path)
            }
            1 => {
                let origin = step.shape.is_multiple_of(2).then(|| Name::parse("example.org").unwrap());
                let note = FileNote { path: path.to_string(), line: 1, column: 1, message: "broken".into() };
                let change = Change::BrokenFile(cluster, path, origin, note);
                self.files.entry(key).or_default().1 = Some(change.clone());
                change
            }
            _ => {
                let change = Change::PutFile(cluster, path, zone_file(step.shape), Vec::new());
                self.files.insert(key, (Some(change.clone()), None));
                change
            }
        }
    }

    /// Everything, as one batch: the version in force of each object, then its newest version.
    pub(crate) fn everything(&self, running: &Planner) -> Vec<Change> {
        let in_force = self.newest.keys().filter_map(|key| {
            let object = running.object(key.cluster, &key.reference)?;
            Some(Change::Put(key.cluster, object.clone()))
        });
        let files = self.files.values().flat_map(|(good, bad)| good.iter().chain(bad)).cloned();
        let failures = self.failures.iter();
        let failures =
            failures.map(|(child, failure)| Change::ChildOutcome(child.clone(), Some(failure.clone())));
        let told = self.told.values().cloned().map(|told| outdated(running, without_write(told)));
        let told = told.map(Change::Delivered);
        let told = told.chain(self.looked_up.values().cloned());
        let classes = self.health.values().chain(self.held.values()).cloned();
        let targets = self.targets.iter().map(|(probe, health)| Change::Health(*probe, health.clone()));
        let directions = self.directions.iter();
        let directions =
            directions.map(|(key, one)| Change::Direction(key.cluster, key.reference.clone(), one.clone()));
        let abilities = self.abilities.iter();
        let abilities = abilities.map(|(class, one)| Change::ClassAbilities(class.clone(), one.clone()));
        let classes = classes.chain(targets).chain(directions).chain(abilities);
        let objects = in_force.chain(self.newest.values().cloned()).chain(files);
        objects.chain(failures).chain(told).chain(classes).collect()
    }
}

fn zone_file(shape: u8) -> Arc<PackedZone> {
    let extra = ["www A 192.0.2.1", "www CNAME host", "team A 192.0.2.9", "deep.er TXT \"x\""];
    let text = format!(
        "$ORIGIN example.org.\n$TTL 600\n@ SOA ns noc {} 1 2 3 4\n@ NS ns\nns A 192.0.2.53\n{}\n",
        2026010100 + u32::from(shape / 4),
        extra[usize::from(shape % 4)]
    );
    let read = read_zone("example.org.zone", text, &mut |_, _| Err("no includes".into())).unwrap();
    Arc::new(read.zone)
}

fn pick<'a>(from: &[&'a str], number: u8) -> &'a str {
    from[usize::from(number) % from.len()]
}
