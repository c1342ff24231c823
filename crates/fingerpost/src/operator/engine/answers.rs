//! What comes back from a write: kept like an event, or sorted by what is to be done about it.

use std::time::{Duration, Instant};

use super::{Answer, Engine, Purpose};
use crate::cluster::Arrival;
use crate::operator::live::Part;
use crate::operator::queue::{Ending, Work};
use crate::operator::send::Refusal;

/// How long to wait for the lease to be renewed.
const FENCED: Duration = Duration::from_millis(500);
/// How long until a namespace that is being deleted is tried again; mostly it is gone by then.
const TERMINATING: Duration = Duration::from_secs(10);

/// What the API server says of a field that its CRD does not have.
const UNKNOWN_FIELD: &str = "field not declared in schema";

impl Engine {
    pub(super) fn take_answer(&mut self, answer: Answer) {
        if let Purpose::Child(child, _) | Purpose::Removal(child) = &answer.purpose {
            self.flying.remove(child);
        }
        let label = answer.work.label();
        self.parts.metrics.wrote(label, &answer.resource, answer.verb, answer.took, &answer.result);
        let denied = match &answer.result {
            Err(Refusal::Denied(message)) => Some(message.as_str()),
            _ => None,
        };
        self.parts.health.note_write(answer.resource, answer.verb.name(), denied);
        let ending = match answer.result {
            Ok(arrival) => self.succeeded(answer.purpose, arrival),
            Err(refusal) => self.failed(&answer.work, answer.purpose, refusal),
        };
        self.queue.done(answer.work, ending, Instant::now());
    }

    fn succeeded(&mut self, purpose: Purpose, arrival: Option<Arrival>) -> Ending {
        match (purpose, arrival) {
            (Purpose::Child(child, fingerprint), Some(arrival)) => {
                self.live.see_child(&child, &arrival);
                self.live.settle_child(&child, fingerprint);
                self.tell_planner(&child, None);
            }
            (Purpose::Part(object, part, wanted, telling), Some(arrival)) => {
                self.live.wrote_object(&object, part, wanted, &arrival);
                if let Some(telling) = telling.filter(|_| part == Part::Status) {
                    self.parts.events.tell(&object, &arrival.uid, &telling);
                }
            }
            (Purpose::Serials, Some(arrival)) => drop(self.live.see_serials(&arrival)),
            // The watch tells when a deleted child is really gone.
            (Purpose::Removal(_), _) => return Ending::Finished,
            (_, None) => {}
        }
        Ending::Wrote
    }

    fn failed(&mut self, work: &Work, purpose: Purpose, refusal: Refusal) -> Ending {
        match (&purpose, refusal) {
            (_, Refusal::Fenced) => Ending::Failed(FENCED),
            (_, Refusal::Terminating) => Ending::Failed(TERMINATING),
            (Purpose::Removal(child), Refusal::Gone) => {
                self.live.lose_child(child);
                Ending::Finished
            }
            // The watch tells that the object is gone, if it has not yet.
            (Purpose::Part(..), Refusal::Gone) => Ending::Finished,
            (_, Refusal::Conflict) => Ending::Failed(Duration::ZERO),
            (_, Refusal::Later(message, wait)) => {
                if message.contains(UNKNOWN_FIELD) {
                    self.parts.outdated.look_again();
                }
                tracing::warn!(?work, "a write failed: {message}; trying again");
                Ending::Failed(wait)
            }
            (_, refusal) => {
                let message = words(refusal);
                tracing::warn!(?work, "a write was refused: {message}; trying again");
                if let Purpose::Child(child, _) = &purpose {
                    self.tell_planner(child, Some(message));
                }
                Ending::Failed(Duration::ZERO)
            }
        }
    }
}

fn words(refusal: Refusal) -> String {
    match refusal {
        Refusal::Denied(message) | Refusal::Invalid(message) => message,
        _ => "the API server has no such kind or namespace".to_owned(),
    }
}
