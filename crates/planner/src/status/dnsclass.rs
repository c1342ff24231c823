//! The status of DNSClasses and DNSRecords beside their conditions, and the finalizer of the latter.

use api::dnsclass::RecordError;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::facts::ObjectKey;
use crate::front::dns_record::{DnsRecordOutcome, DnsRecordState};
use crate::input::{ClusterId, ObjectRef};
use crate::memory::Memory;
use crate::note::Note;
use crate::notes::fate::Fate;
use crate::output::Outcome;
use crate::planner::Planner;
use crate::planner::settling::has_finalizer;
use crate::snapshot::{Entry, Id};

impl Planner {
    /// `health` and `lastHealthCheck`; what an earlier process wrote stands until the first check.
    pub(super) fn class_fields(&self, entry: &Entry) -> Map<String, Value> {
        let Some(told) = self.delivering.health.get(&entry.key.reference.name) else {
            return self.published_class_fields(entry);
        };
        let (status, message) = match &told.result {
            Ok(()) => ("Healthy", None),
            Err((_, message)) => ("Unhealthy", Some(message)),
        };
        let mut health = json!({ "status": status, "lastCheck": time(told.at) });
        if let Some(message) = message {
            health["message"] = json!(message);
        }
        let mut fields = Map::new();
        fields.insert("lastHealthCheck".to_owned(), json!(time(told.at)));
        fields.insert("health".to_owned(), health);
        fields
    }

    fn published_class_fields(&self, entry: &Entry) -> Map<String, Value> {
        let mut fields = Map::new();
        let class = self.published_class(entry);
        let class = class.filter(|class| class.observed_generation == entry.generation());
        if let Some(time) = class.and_then(|class| class.last_health_check) {
            fields.insert("lastHealthCheck".to_owned(), json!(time.to_string()));
        }
        if let Some(health) = class.and_then(|class| class.health.as_ref()) {
            fields.insert("health".to_owned(), json!(health));
        }
        fields
    }

    pub(super) fn record_fields(
        &self,
        id: Id,
        entry: &Entry,
        outcome: &DnsRecordOutcome,
        notes: &[Note],
    ) -> Map<String, Value> {
        let mut fields = Map::new();
        let mut put = |key: &str, value: Value| drop(fields.insert(key.to_owned(), value));
        put("state", json!(state(notes)));
        if let Some(fqdn) = &outcome.fqdn {
            put("fqdn", json!(fqdn.undotted()));
        }
        if let Some(memory) = self.delivering.memory.get(&id) {
            put_memory(memory, &mut put);
        }
        if let Some(error) = self.record_error(id, entry) {
            put("error", json!(error));
        }
        fields
    }

    /// Of a record of which no valid version is known, what it stood under is not forgotten.
    pub(super) fn unknown_record_fields(&self, id: Id) -> Map<String, Value> {
        let mut fields = Map::new();
        if let Some(memory) = self.delivering.memory.get(&id) {
            fields.insert("state".to_owned(), json!("Error"));
            put_memory(memory, &mut |key, value| drop(fields.insert(key.to_owned(), value)));
        }
        fields
    }

    /// What went wrong at the provider, since when; a time alone is no change.
    fn record_error(&self, id: Id, entry: &Entry) -> Option<RecordError> {
        let said = self.published_record(entry).and_then(|record| record.error.as_ref());
        let (code, message, at) = match self.fate(self.evaluated(id)?.output.claims.first()?) {
            Fate::Failed(trouble) => (trouble.code.to_string(), trouble.message.to_string(), trouble.at),
            Fate::Foreign(_, at) => {
                ("CONFLICT".to_owned(), "a record that is not ours stands there".to_owned(), at)
            }
            Fate::Untold => return self.published_again(id, entry)?.error.clone(),
            _ => return None,
        };
        let same = said.filter(|said| said.code == code && said.message == message);
        let timestamp = same.map_or_else(|| time(at), |said| said.timestamp.clone());
        Some(RecordError { code, message, timestamp })
    }

    /// Whether an object is to have our finalizer.
    pub(super) fn needs_finalizer(&self, cluster: ClusterId, reference: &ObjectRef) -> bool {
        let id = self.snapshot.id(&ObjectKey::new(cluster, reference.clone()));
        let Some((id, entry)) = id.and_then(|id| Some((id, self.snapshot.entry(id)?))) else { return false };
        match self.evaluated(id).map(|one| &one.output.outcome) {
            Some(Outcome::DnsRecord(outcome)) => self.is_held(id, entry, outcome),
            // Nobody knows what it owes, so it stays as it is.
            Some(Outcome::Refused) => entry.is_held(),
            _ => false,
        }
    }

    fn is_held(&self, id: Id, entry: &Entry, outcome: &DnsRecordOutcome) -> bool {
        let memory = self.delivering.memory.get(&id);
        let owes = memory.is_some_and(|memory| memory.handed().next().is_some());
        if outcome.state == DnsRecordState::Deleting {
            return owes && !outcome.orphaned;
        }
        match &outcome.backing {
            Some(backing) => backing.is_provider() || owes,
            None => owes || entry.object.as_ref().is_some_and(|object| has_finalizer(object)),
        }
    }
}

fn put_memory(memory: &Memory, put: &mut impl FnMut(&str, Value)) {
    if let Some(applied) = &memory.applied {
        put("applied", applied.to_value());
    }
    if !memory.owed.is_empty() {
        put("owed", memory.owed.iter().map(|owed| owed.identity.to_value()).collect());
    }
    if let Some((_, at)) = memory.written {
        put("lastSyncTime", json!(time(at)));
    }
}

fn state(notes: &[Note]) -> &'static str {
    match notes.iter().find(|note| note.condition == "Ready").map(|note| note.reason) {
        Some("RecordCreated") => "Created",
        Some("RecordUpdated") => "Updated",
        Some("RecordDeleted") => "Deleted",
        Some("Pending") | None => "Pending",
        Some(_) => "Error",
    }
}

/// A time as Kubernetes writes it.
pub(super) fn time(seconds: i64) -> String {
    Timestamp::from_second(seconds).unwrap_or(Timestamp::UNIX_EPOCH).to_string()
}
