//! Statuses as they are compared and written: compared without times, written with the time of each
//! condition's last change.

use serde_json::Value;

use crate::cluster::fingerprint::fingerprint;

const TIME: &str = "lastTransitionTime";

/// The fingerprint of a status, times and the order of conditions aside.
pub(super) fn content(status: &Value) -> u64 {
    let mut status = status.clone();
    if let Some(Value::Array(conditions)) = status.get_mut("conditions") {
        for condition in conditions.iter_mut().filter_map(Value::as_object_mut) {
            condition.remove(TIME);
        }
        conditions.sort_by(|one, other| one["type"].as_str().cmp(&other["type"].as_str()));
    }
    remove_times(&mut status);
    fingerprint(&status)
}

/// Takes away the times that a status has beside its conditions': a time alone is no change and no write.
fn remove_times(status: &mut Value) {
    let regions = status.get_mut("regions").and_then(Value::as_array_mut);
    for region in regions.into_iter().flatten().filter_map(Value::as_object_mut) {
        region.remove("since");
    }
    if let Some(lease) = status.get_mut("lease").and_then(Value::as_object_mut) {
        lease.remove("expires");
    }
}

/// A condition as the cluster holds it, in few bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveCondition {
    kind: u16,
    status: u16,
    reason: u16,
    /// When it last changed, in seconds.
    since: i64,
}

/// The words that conditions are made of. They are few, so each is kept once.
#[derive(Debug, Default)]
pub struct Words(Vec<Box<str>>);

impl Words {
    /// The conditions of a status.
    pub(super) fn conditions(&mut self, status: &Value) -> Box<[LiveCondition]> {
        let list = status["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
        list.iter().map(|condition| self.condition(condition)).collect()
    }

    fn condition(&mut self, condition: &Value) -> LiveCondition {
        let text = |key: &str| condition[key].as_str().unwrap_or_default();
        let since = text(TIME).parse::<jiff::Timestamp>().map_or(0, |time| time.as_second());
        LiveCondition {
            kind: self.number(text("type")),
            status: self.number(text("status")),
            reason: self.number(text("reason")),
            since,
        }
    }

    fn number(&mut self, word: &str) -> u16 {
        let known = self.0.iter().position(|known| **known == *word);
        let number = known.unwrap_or_else(|| {
            self.0.push(word.into());
            self.0.len() - 1
        });
        // Reasons are constants of this program; a status that somebody else filled has few.
        u16::try_from(number).unwrap_or(u16::MAX)
    }

    fn word(&self, number: u16) -> &str {
        self.0.get(usize::from(number)).map(|word| &**word).unwrap_or_default()
    }

    /// Status, reason and time of a condition.
    pub fn find<'a>(&'a self, conditions: &[LiveCondition], kind: &str) -> Option<(&'a str, &'a str, i64)> {
        let found = conditions.iter().find(|condition| self.word(condition.kind) == kind)?;
        Some((self.word(found.status), self.word(found.reason), found.since))
    }
}

/// A wanted status with times: a condition that holds as before keeps its time, others get `now`.
pub fn with_times(mut status: Value, words: &Words, before: &[LiveCondition], now: i64) -> Value {
    let list = status.get_mut("conditions").and_then(Value::as_array_mut);
    for condition in list.into_iter().flatten() {
        let kind = condition["type"].as_str().unwrap_or_default();
        let known = words.find(before, kind).filter(|(status, ..)| condition["status"] == *status);
        let since = known.map_or(now, |(.., since)| since);
        let time = jiff::Timestamp::from_second(since).unwrap_or_default();
        condition[TIME] = Value::String(time.to_string());
    }
    status
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use serde_json::json;

    #[test]
    fn a_condition_keeps_its_time_until_its_status_changes() {
        let mut words = Words::default();
        let held = json!({ "conditions": [
            { "type": "Ready", "status": "True", "reason": "Good", "lastTransitionTime": "2026-01-01T00:00:00Z" },
            { "type": "Published", "status": "Unknown", "reason": "HandedOver", "lastTransitionTime": "2026-01-02T00:00:00Z" },
        ]});
        let before = words.conditions(&held);
        let wanted = json!({ "conditions": [
            { "type": "Published", "status": "True", "reason": "Programmed" },
            { "type": "Ready", "status": "True", "reason": "Better" },
            { "type": "Stalled", "status": "False", "reason": "No" },
        ]});
        let timed = with_times(wanted, &words, &before, 1_800_000_000);
        let times: Vec<&str> =
            timed["conditions"].as_array().unwrap().iter().map(|one| one[TIME].as_str().unwrap()).collect();
        assert_eq!(times, ["2027-01-15T08:00:00Z", "2026-01-01T00:00:00Z", "2027-01-15T08:00:00Z"]);
    }

    #[test]
    fn since_when_a_region_is_up_and_when_a_lease_ends_are_no_difference_alone() {
        let status = |since: &str, health: &str, expires: &str, holder: &str| {
            json!({ "regions": [{ "name": "weu", "health": health, "since": since }],
                    "lease": { "holder": holder, "generation": 1, "expires": expires } })
        };
        let one = content(&status("2026-01-01T00:00:00Z", "Up", "2026-01-01T00:00:30Z", "weu"));
        assert_eq!(one, content(&status("2026-01-02T00:00:00Z", "Up", "2026-01-02T00:00:30Z", "weu")));
        assert_ne!(one, content(&status("2026-01-01T00:00:00Z", "Down", "2026-01-01T00:00:30Z", "weu")));
        assert_ne!(one, content(&status("2026-01-01T00:00:00Z", "Up", "2026-01-01T00:00:30Z", "neu")));
    }

    #[test]
    fn times_and_order_are_no_difference() {
        let one = json!({ "phase": "Active", "conditions": [
            { "type": "B", "status": "True", "lastTransitionTime": "x" }, { "type": "A", "status": "True" } ]});
        let other = json!({ "conditions": [
            { "type": "A", "status": "True" }, { "type": "B", "status": "True" } ], "phase": "Active" });
        assert_eq!(content(&one), content(&other));
        let changed = json!({ "phase": "Active", "conditions": [
            { "type": "A", "status": "False" }, { "type": "B", "status": "True" } ]});
        assert_ne!(content(&one), content(&changed));
    }
}
