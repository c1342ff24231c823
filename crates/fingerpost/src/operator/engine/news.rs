//! What is heard from the watches: kept in [`Live`], and passed on to the planner.

use std::time::Instant;

use super::{Engine, child_of};
use crate::cluster::{Arrival, Key, News, Subject, feed, serials};
use crate::operator::queue::Work;

impl Engine {
    pub(super) fn take(&mut self, news: News) {
        self.awaited.hear(&news);
        match news {
            News::Seen(subject, arrival) => self.seen(subject, &arrival),
            News::Gone(subject, key) => self.gone(subject, &key),
            News::Synced(subject) | News::Missing(subject) => self.look_at_kind(subject),
            News::Rewound(subject) => self.live.rewind(subject),
        }
    }

    fn seen(&mut self, subject: Subject, arrival: &Arrival) {
        let now = Instant::now();
        if let Some(kind) = subject.child_kind() {
            let child = child_of(kind, &arrival.key);
            if self.live.see_child(&child, arrival) && self.leads {
                self.queue.push(Work::Child(child), now);
            }
        }
        match subject {
            Subject::Kind(kind) => {
                if kind.has_our_status() {
                    let object = feed::reference(kind, &arrival.key);
                    if self.live.see_object(&object, arrival) && self.leads {
                        self.queue.push(Work::Object(object), now);
                    }
                }
                self.changes.extend(feed::changes(kind, arrival));
            }
            Subject::Serials => {
                if self.live.see_serials(arrival) {
                    self.changes.extend(serials::of_config_map(arrival.text.get()));
                    self.queue.push(Work::Serials, now);
                }
            }
            Subject::IstioGateway | Subject::Secrets => {}
        }
    }

    fn gone(&mut self, subject: Subject, key: &Key) {
        let now = Instant::now();
        if let Some(kind) = subject.child_kind() {
            let child = child_of(kind, key);
            self.live.lose_child(&child);
            self.removals.forget(&child);
            if self.leads {
                self.queue.push(Work::Child(child), now);
            }
        }
        match subject {
            Subject::Kind(kind) => {
                self.live.lose_object(&feed::reference(kind, key));
                self.changes.push(feed::gone(kind, key));
            }
            Subject::Serials => {
                self.live.lose_serials();
                self.queue.push(Work::Serials, now);
            }
            Subject::IstioGateway | Subject::Secrets => {}
        }
    }

    /// A kind came or went: whoever waits for it may go on.
    fn look_at_kind(&mut self, subject: Subject) {
        if !self.leads || !self.planned {
            return;
        }
        let now = Instant::now();
        self.withheld.drain().for_each(|child| self.queue.push(Work::Child(child), now));
        let Some(kind) = subject.child_kind() else { return };
        let children = self.parts.instance.planner().children();
        let waiting = children.into_iter().filter(|child| child.kind == kind);
        let waiting: Vec<_> = waiting.filter(|child| self.live.child(child).is_none()).collect();
        waiting.into_iter().for_each(|child| self.queue.push(Work::Child(child), now));
    }
}
