//! The status of every object, as the operator would write it; without times, which only a write has.

mod dnsclass;
mod placement;

use std::collections::BTreeSet;

use api::Kind;
use dns::{Name, Rtype};
use serde_json::{Map, Value, json};

use crate::actuating::is_own_condition;
use crate::children::label_value;
use crate::document::least;
use crate::facts::ObjectKey;
use crate::front::dns_policy::PolicyState;
use crate::front::kuadrant_policy::Attachment;
use crate::front::zone::ParentZone;
use crate::input::{ClusterId, ObjectRef};
use crate::last_valid::last_valid_spec;
use crate::marks::{FINALIZER, LAST_VALID_SPEC, PARENT_ZONE};
use crate::note::{ConditionStatus, Note};
use crate::output::Outcome;
use crate::planner::Planner;
use crate::snapshot::{Entry, Id};
use crate::zone_state::ZoneState;
use crate::zone_table::Source;

/// How many entries a Zone's status lists; an object in etcd has a size limit.
const MAX_ENTRIES: usize = 1_000;

impl Planner {
    /// All objects that have a status, sorted.
    pub fn objects(&self) -> Vec<(ClusterId, ObjectRef)> {
        let mut objects: Vec<_> = self.objects_with_status().collect();
        objects.sort();
        objects.into_iter().map(|(cluster, reference)| (cluster, reference.clone())).collect()
    }

    /// The objects that have a status, in no order.
    pub(crate) fn objects_with_status(&self) -> impl Iterator<Item = (ClusterId, &ObjectRef)> {
        let has_status = |(id, entry): &(Id, &Entry)| {
            let kind = entry.key.reference.kind;
            match self.evaluated(*id).map(|one| &one.output.outcome) {
                None | Some(Outcome::Silent) => false,
                Some(Outcome::Refused) => kind.is_ours(),
                Some(_) => kind.has_our_status(),
            }
        };
        let all = self.snapshot.entries().filter(has_status);
        all.map(|(_, entry)| (entry.key.cluster, &entry.key.reference))
    }

    /// The objects after one that have a status, in the order of [`Planner::objects`], at most so many.
    pub fn objects_after(
        &self,
        after: Option<&(ClusterId, ObjectRef)>,
        most: usize,
    ) -> Vec<(ClusterId, ObjectRef)> {
        let after = after.map(|(cluster, reference)| (*cluster, reference));
        let later = self.objects_with_status().filter(|one| after.is_none_or(|after| *one > after));
        let page = least(later.map(|one| (one, ())), most);
        page.into_iter().map(|((cluster, reference), ())| (cluster, reference.clone())).collect()
    }

    /// All objects of which something may be said, sorted: those that have a status, and foreign ones that claim
    /// names or grant them.
    pub fn noted_objects(&self) -> Vec<(ClusterId, ObjectRef)> {
        let is_noted = |(id, _): &(Id, &Entry)| {
            let outcome = self.evaluated(*id).map(|one| &one.output.outcome);
            matches!(outcome, Some(Outcome::Endpoint(_) | Outcome::Namespace(_)))
        };
        let foreign = self.snapshot.entries().filter(is_noted).map(|(_, entry)| &entry.key);
        let mut objects = self.objects();
        objects.extend(foreign.map(|key| (key.cluster, key.reference.clone())));
        objects.sort();
        objects
    }

    /// The status of an object.
    pub fn status(&self, cluster: ClusterId, reference: &ObjectRef) -> Option<Value> {
        let id = self.snapshot.id(&ObjectKey::new(cluster, reference.clone()))?;
        let entry = self.snapshot.entry(id)?;
        let outcome = &self.evaluated(id)?.output.outcome;
        if matches!(outcome, Outcome::Silent) || !reference.kind.has_our_status() {
            return None;
        }
        let notes = self.notes_of(id);
        if !reference.kind.is_ours() {
            return foreign_status(entry, outcome, &notes);
        }
        let mut status = self.fields(id, entry, outcome, &notes);
        let generation = entry.generation();
        if let Some(generation) = generation {
            status.insert("observedGeneration".to_owned(), json!(generation));
        }
        let conditions = notes.iter().map(|note| condition(note, generation)).collect();
        status.insert("conditions".to_owned(), Value::Array(conditions));
        Some(Value::Object(status))
    }

    /// An object as `plan -o yaml` shows it: its status, and in its metadata what we would apply.
    pub fn document_of(&self, cluster: ClusterId, reference: &ObjectRef) -> Option<Value> {
        let status = self.status(cluster, reference)?;
        let mut metadata = Map::new();
        metadata.insert("name".to_owned(), json!(reference.name));
        if reference.kind.namespaced() {
            metadata.insert("namespace".to_owned(), json!(reference.namespace));
        }
        let mut annotations = Map::new();
        if let Some(parent) = self.parent_zone(cluster, reference) {
            let full = format!("{}.{}", parent.name, parent.namespace);
            let value = label_value(&full);
            if value != full {
                annotations.insert(PARENT_ZONE.to_owned(), json!(full));
            }
            metadata.insert("labels".to_owned(), json!({ PARENT_ZONE: value }));
        }
        if let Some(spec) = self.last_valid(cluster, reference) {
            annotations.insert(LAST_VALID_SPEC.to_owned(), json!(spec));
        }
        if self.needs_finalizer(cluster, reference) {
            metadata.insert("finalizers".to_owned(), json!([FINALIZER]));
        }
        if !annotations.is_empty() {
            metadata.insert("annotations".to_owned(), Value::Object(annotations));
        }
        let kind = reference.kind;
        Some(
            json!({ "apiVersion": kind.api_version(), "kind": kind.kind(), "metadata": metadata, "status": status }),
        )
    }

    /// The spec in force of an object of ours whose newest version is not in force. Nothing is written to others' objects.
    fn last_valid(&self, cluster: ClusterId, reference: &ObjectRef) -> Option<String> {
        if !reference.kind.is_ours() {
            return None;
        }
        let entry = self.snapshot.entry(self.snapshot.id(&ObjectKey::new(cluster, reference.clone()))?)?;
        let is_held_back = entry.trouble.is_some() || entry.waiting.is_some();
        last_valid_spec(entry.object.as_ref().filter(|_| is_held_back)?)
    }

    /// The zone that a Zone or Record belongs to.
    fn parent_zone(&self, cluster: ClusterId, reference: &ObjectRef) -> Option<&ParentZone> {
        let id = self.snapshot.id(&ObjectKey::new(cluster, reference.clone()))?;
        match &self.evaluated(id)?.output.outcome {
            Outcome::Zone(outcome) => outcome.parent.as_ref(),
            Outcome::Record(outcome) => outcome.parent.as_ref(),
            _ => None,
        }
    }

    fn fields(&self, id: Id, entry: &Entry, outcome: &Outcome, notes: &[Note]) -> Map<String, Value> {
        let mut fields = match outcome {
            Outcome::DnsRecord(outcome) => self.record_fields(id, entry, outcome, notes),
            Outcome::Class(_) => self.class_fields(entry),
            Outcome::Placement(outcome) => self.placement_fields(id, entry, outcome),
            Outcome::Refused => self.unknown_record_fields(id),
            _ => Map::new(),
        };
        let mut put = |key: &str, value: Value| drop(fields.insert(key.to_owned(), value));
        if let Some(phase) = self.phase(id, entry, outcome, notes) {
            put("phase", json!(phase));
        }
        match outcome {
            Outcome::Policy(outcome) => {
                put("active", json!(outcome.state == PolicyState::Active));
                put("activeControllers", json!(outcome.controllers));
            }
            Outcome::GatewayPolicy(Attachment::Applies) => {
                let answers = self.answers(entry);
                if !answers.is_empty() {
                    put("answers", json!(answers));
                }
            }
            Outcome::Gateway(outcome) => {
                if let Some(address) = &outcome.address {
                    put("loadBalancerIP", json!(address));
                }
            }
            Outcome::Route(_) => {
                if let Some(child) = self.made.get(&id).and_then(|made| made.first()) {
                    put("DNSEndpoint", json!(child.child.name));
                }
            }
            Outcome::Record(outcome) => {
                if let Some(fqdn) = &outcome.fqdn {
                    put("fqdn", json!(fqdn.to_string()));
                }
            }
            Outcome::Zone(outcome) => {
                if let Some(origin) = outcome.standing.origin() {
                    put("fqdn", json!(origin.to_string()));
                    let held = outcome.conflict.is_none();
                    for (key, value) in self.zone_content(origin, id).into_iter().filter(|_| held).flatten() {
                        put(key, value);
                    }
                }
            }
            _ => {}
        }
        fields
    }

    fn zone_content(&self, origin: &Name, id: Id) -> Option<[(&'static str, Value); 4]> {
        let zone = self.zone_state(origin)?;
        if zone.holder.as_ref()?.zone.source != Source::Object(id) {
            return None;
        }
        Some([
            ("entries", Value::Array(entries(zone))),
            ("entryCount", json!(zone.entry_count())),
            ("hash", json!(format!("{:016x}", zone.hash()))),
            ("serial", json!(zone.serial)),
        ])
    }

    pub(crate) fn zone_state(&self, origin: &Name) -> Option<&ZoneState> {
        self.zone_numbers.get(origin).map(|number| &self.zones[*number as usize])
    }

    /// The phase of those kinds that have one: Pending, Active, Failed, and Inactive for policies.
    fn phase(&self, id: Id, entry: &Entry, outcome: &Outcome, notes: &[Note]) -> Option<&'static str> {
        let kind = entry.key.reference.kind;
        let phased = [Kind::ClusterIdentity, Kind::Gateway, Kind::DNSPolicy, Kind::ServiceRoute];
        if !phased.contains(&kind) {
            return None;
        }
        if entry.trouble.is_some() || entry.waiting.is_some() {
            return Some("Failed");
        }
        let ready = notes.iter().find(|note| note.condition == "Ready")?;
        let still_answers = || self.made.get(&id).is_some_and(|made| !made.is_empty());
        Some(match (outcome, ready.reason) {
            (Outcome::Policy(outcome), _) => policy_phase(&outcome.state),
            (_, "NameConflict") if kind == Kind::ServiceRoute && still_answers() => "Active",
            (
                _,
                "GatewayNotFound" | "GatewayFull" | "GatewayConflicted" | "InvalidHostname" | "NameConflict",
            ) => "Failed",
            _ if ready.status == ConditionStatus::True => "Active",
            _ => "Pending",
        })
    }
}

/// What is ours of somebody else's status: some conditions, and nothing where there are none.
fn foreign_status(entry: &Entry, outcome: &Outcome, notes: &[Note]) -> Option<Value> {
    if matches!(outcome, Outcome::Refused) {
        return None;
    }
    let ours = notes.iter().filter(|note| is_own_condition(note.condition));
    let conditions: Vec<Value> = ours.map(|note| condition(note, entry.generation())).collect();
    Some(if conditions.is_empty() { json!({}) } else { json!({ "conditions": conditions }) })
}

fn policy_phase(state: &PolicyState) -> &'static str {
    match state {
        PolicyState::Active => "Active",
        PolicyState::Conflicted(..) | PolicyState::OtherRegion { .. } | PolicyState::OtherCluster { .. } => {
            "Inactive"
        }
        PolicyState::NoIdentity | PolicyState::NoConfiguration | PolicyState::NoMatch(_) => "Pending",
    }
}

fn condition(note: &Note, generation: Option<i64>) -> Value {
    let mut condition = json!({
        "type": note.condition,
        "status": note.status.to_string(),
        "reason": note.reason,
        "message": note.message,
    });
    if let Some(generation) = generation {
        condition["observedGeneration"] = json!(generation);
    }
    condition
}

/// The records of a zone, the SOA first, each once over all views.
fn entries(zone: &ZoneState) -> Vec<Value> {
    let entry = |name: &Name, rtype: Rtype, ttl: u32, rdata: String| json!({ "fqdn": name.to_string(), "type": rtype.to_string(), "class": "IN", "ttl": ttl, "rdata": rdata });
    let soa = zone.soa.iter().map(|set| entry(&set.name, set.rtype, set.ttl, set.data[0].to_string()));
    let mut entries: Vec<Value> = soa.collect();
    for (name, node) in &zone.nodes {
        let sets = node.sets.iter().filter(|set| zone.has_in_content(set));
        let all = sets.flat_map(|set| set.data.iter().map(|data| (set.rtype, set.ttl, data)));
        let distinct: BTreeSet<_> = all.collect();
        entries
            .extend(distinct.into_iter().map(|(rtype, ttl, data)| entry(name, rtype, ttl, data.to_string())));
        if entries.len() >= MAX_ENTRIES {
            break;
        }
    }
    entries.truncate(MAX_ENTRIES);
    entries
}
