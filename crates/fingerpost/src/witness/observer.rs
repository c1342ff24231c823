//! Somebody who only reads a document and wants to know for how long its holder surely holds it.
//!
//! A document that its holder has renewed since the last look was written after that look was *sent*, so its
//! holder counts from no earlier moment. Whoever believes for nine tenths of the lease from there never outlives
//! the holder by more than the holder's own margin, and never meets the next one.

use std::time::{Duration, Instant};

use super::document::Document;

/// What a reader knows of a lease.
#[derive(Debug, Default)]
pub struct Observer {
    last: Option<(Document, Instant)>,
    sure: Option<(String, u64, Instant)>,
}

impl Observer {
    /// Takes in what a look that was sent at this time found.
    pub fn saw(&mut self, document: Option<Document>, sent: Instant) {
        let Some(document) = document else {
            *self = Observer::default();
            return;
        };
        let lease = Duration::from_millis(document.lease_milliseconds);
        match &self.last {
            Some((before, _)) if before.holder != document.holder => self.sure = None,
            Some((before, at)) if before.renewals != document.renewals => {
                let until = at.checked_add(lease / 10 * 9);
                self.sure = until.map(|until| (document.holder.clone(), document.generation, until));
            }
            _ => {}
        }
        self.last = Some((document, sent));
    }

    /// The generation of the lease that `holder` surely holds, and until when.
    pub fn holds(&self, holder: &str, now: Instant) -> Option<(u64, Instant)> {
        let (known, generation, until) = self.sure.as_ref()?;
        (known == holder && !holder.is_empty() && now < *until).then_some((*generation, *until))
    }
}
