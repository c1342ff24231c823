//! Kubernetes events: what turned bad, and what recovered.
//!
//! An event follows a written status, so a restart repeats none. They are for people and may be
//! lost: what exceeds their own rate is counted and dropped.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use governor::{DefaultDirectRateLimiter, Quota, RateLimiter};
use http::Request;
use kube::Client;
use planner::{ConditionStatus, Note, ObjectRef, Severity};
use serde_json::{Value, json};

/// The API's limit for a note.
const LONGEST_NOTE: usize = 1024;
// The compiler unwraps these two; a zero would not build.
const PER_SECOND: NonZeroU32 = NonZeroU32::new(10).unwrap();
const AT_ONCE: NonZeroU32 = NonZeroU32::new(100).unwrap();
const TIMEOUT: Duration = Duration::from_secs(5);

/// What an event tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Telling {
    bad: bool,
    reason: &'static str,
    message: String,
}

/// What is worth an event: `Ready` turning false for a reason that is new, or true again.
pub fn telling(before: Option<(&str, &str)>, notes: &[Note]) -> Option<Telling> {
    let ready = notes.iter().find(|note| note.condition == "Ready")?;
    let (status, reason) = before.unwrap_or_default();
    let worse = ready.status == ConditionStatus::False
        && ready.severity >= Severity::Warning
        && (status != "False" || reason != ready.reason);
    let better = ready.status == ConditionStatus::True && status == "False";
    (worse || better).then(|| Telling { bad: worse, reason: ready.reason, message: ready.message.clone() })
}

/// Sends events.
pub struct Events {
    client: Client,
    limiter: DefaultDirectRateLimiter,
    instance: String,
    dropped: AtomicU64,
}

impl Events {
    /// Events in the name of this instance.
    pub fn new(client: Client, instance: String) -> Events {
        let quota = Quota::per_second(PER_SECOND).allow_burst(AT_ONCE);
        Events { client, limiter: RateLimiter::direct(quota), instance, dropped: AtomicU64::new(0) }
    }

    /// How many were dropped.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Tells an event about an object, in the background.
    pub fn tell(&self, object: &ObjectRef, uid: &str, telling: &Telling) {
        if self.limiter.check().is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let Some(request) = self.request(object, uid, telling) else { return };
        let client = self.client.clone();
        tokio::spawn(async move {
            let sent = tokio::time::timeout(TIMEOUT, client.request_text(request)).await;
            if let Ok(Err(error)) = sent {
                tracing::debug!("an event was not taken: {error}");
            }
        });
    }

    fn request(&self, object: &ObjectRef, uid: &str, telling: &Telling) -> Option<Request<Vec<u8>>> {
        let namespace = if object.namespace.is_empty() { "default" } else { &object.namespace };
        let event = event(object, namespace, uid, telling, &self.instance, jiff::Timestamp::now());
        Request::post(format!("/apis/events.k8s.io/v1/namespaces/{namespace}/events"))
            .header("content-type", "application/json")
            .body(serde_json::to_vec(&event).ok()?)
            .ok()
    }
}

fn event(
    object: &ObjectRef,
    namespace: &str,
    uid: &str,
    telling: &Telling,
    instance: &str,
    now: jiff::Timestamp,
) -> Value {
    let mut regarding = json!({
        "apiVersion": object.kind.api_version(),
        "kind": object.kind.kind(),
        "name": object.name,
        "uid": uid,
    });
    if !object.namespace.is_empty() {
        regarding["namespace"] = json!(object.namespace);
    }
    json!({
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": { "generateName": format!("{}-", shortened(&object.name, 200)), "namespace": namespace },
        "type": if telling.bad { "Warning" } else { "Normal" },
        "reason": telling.reason,
        "note": shortened(&telling.message, LONGEST_NOTE),
        "action": "Reconcile",
        "regarding": regarding,
        "reportingController": "fingerpost.dev/operator",
        "reportingInstance": shortened(instance, 128),
        "eventTime": format!("{now:.6}"),
    })
}

fn shortened(text: &str, most: usize) -> &str {
    let end = (0..=most.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn ready(status: ConditionStatus, reason: &'static str, severity: Severity) -> Vec<Note> {
        vec![Note { condition: "Ready", status, reason, message: "why".to_owned(), severity }]
    }

    #[test]
    fn events_are_for_what_turns_bad_and_what_recovers() {
        let bad = ready(ConditionStatus::False, "NameConflict", Severity::Error);
        let good = ready(ConditionStatus::True, "Fine", Severity::Good);
        let calm = ready(ConditionStatus::False, "DNSPolicyInactive", Severity::Info);
        assert!(telling(Some(("True", "Fine")), &bad).unwrap().bad);
        assert!(telling(Some(("Unknown", "Pending")), &bad).unwrap().bad);
        assert!(telling(Some(("False", "GatewayNotFound")), &bad).unwrap().bad, "another reason");
        assert_eq!(telling(Some(("False", "NameConflict")), &bad), None, "nothing new");
        assert!(!telling(Some(("False", "NameConflict")), &good).unwrap().bad);
        assert_eq!(telling(Some(("Unknown", "Pending")), &good), None);
        assert_eq!(telling(None, &good), None);
        assert_eq!(telling(Some(("True", "Fine")), &calm), None);
    }

    #[test]
    fn a_long_note_is_cut_between_characters() {
        assert_eq!(shortened("äöü", 3), "ä");
        assert_eq!(shortened("abc", 10), "abc");
    }
}
