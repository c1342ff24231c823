//! The embedded store: records in memory and on the disk, answered by our own DNS server.
//!
//! ```text
//! Batch ─► judge ─► journal (synced) ─► memory ─► views ─► done
//! ```
//!
//! A change is on the disk before it is answered, and on the disk before it is acknowledged. Without a
//! state directory it lives as long as the process.

mod zone;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use backends::{Batch, Entry, Failure, NewZone, OpenedZone, Provider, Reading, Reply, SetKey};
use dns::Name;
use futures::future::BoxFuture;
use jiff::Timestamp;
use server::{Endpoint, EndpointId, Views, ZoneUpdate};

pub use self::zone::usual;
use self::zone::{Frame, Zone};
use super::journal::{Journal, Opened};

/// The one view of this server.
const VIEW: &str = "provider";
/// The one listener.
pub const ENDPOINT: EndpointId = EndpointId(0);
/// A journal may always grow to this size before it is written anew.
const LEAST: u64 = 4 << 20;

/// Records that this process holds and answers itself.
pub struct Embedded {
    content: Arc<Mutex<Content>>,
    views: Views,
}

struct Content {
    zones: BTreeMap<Name, Zone>,
    journal: Option<Journal<Frame>>,
    /// How long the journal was when it held nothing superfluous.
    compact: u64,
}

impl Embedded {
    /// A store in a file, or in memory alone; the second is what is wrong with the file.
    pub fn open(file: Option<&Path>) -> io::Result<(Embedded, Option<String>)> {
        let opened = file.map(Journal::open).transpose()?;
        let (journal, frames, trouble) = match opened {
            Some(Opened { journal, changes, trouble }) => (Some(journal), changes, trouble),
            None => (None, Vec::new(), None),
        };
        let mut content = Content { zones: BTreeMap::new(), journal, compact: 0 };
        for frame in &frames {
            content.zones.entry(frame.zone.clone()).or_insert_with(|| Zone::new(&frame.zone)).take(frame);
        }
        let store = Embedded { content: Arc::new(Mutex::new(content)), views: Views::new() };
        store.publish_all();
        Ok((store, trouble))
    }

    /// What DNS is answered from.
    pub fn views(&self) -> Views {
        self.views.clone()
    }

    fn publish_all(&self) {
        let content = locked(&self.content);
        self.views.publish(|table| {
            table.synced = true;
            let endpoint = Endpoint { view: Some(VIEW.to_owned()), clients: Vec::new() };
            table.endpoints.insert(ENDPOINT, endpoint);
            let zones = table.views.entry(VIEW.to_owned()).or_default();
            content.zones.values().flat_map(Zone::updates).for_each(|update| zones.apply(update));
        });
    }

    /// Runs what waits for the disk where waiting hinders nobody.
    async fn blocking<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Content, &Views) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, Failure> {
        let (content, views) = (self.content.clone(), self.views.clone());
        let done = tokio::task::spawn_blocking(move || work(&mut locked(&content), &views)).await;
        done.unwrap_or(Err(Failure::Server(500)))
    }

    fn zone<T>(&self, origin: &Name, look: impl FnOnce(&Zone) -> T) -> Result<T, Failure> {
        locked(&self.content).zones.get(origin).map(look).ok_or(Failure::NoZone)
    }
}

impl Content {
    /// Puts a frame on the disk, into memory and into the answers, in this order.
    fn commit(&mut self, frame: Frame, views: &Views) -> Result<(), Failure> {
        if let Some(journal) = &mut self.journal {
            journal.append(std::slice::from_ref(&frame)).map_err(|error| failed(&error))?;
        }
        let zone = self.zones.entry(frame.zone.clone()).or_insert_with(|| Zone::new(&frame.zone));
        zone.take(&frame);
        publish(views, zone.updates_of(&frame));
        self.compact_if_long();
        Ok(())
    }

    /// A journal that cannot be made shorter goes on growing, and is tried again later.
    fn compact_if_long(&mut self) {
        let Some(journal) = self.journal.as_mut() else { return };
        if journal.length() <= LEAST.max(2 * self.compact) {
            return;
        }
        let frames: Vec<Frame> = self.zones.values().map(Zone::frame).collect();
        if let Err(error) = journal.compact(&frames) {
            tracing::warn!("the records cannot be written anew: {error}");
        }
        self.compact = journal.length();
    }

    fn write(&mut self, batch: &Batch, views: &Views) -> Result<Vec<Result<(), Failure>>, Failure> {
        let zone = self.zones.get(&batch.zone).ok_or(Failure::NoZone)?;
        let (frame, results) = zone.judged(batch, Timestamp::now())?;
        if let Some(frame) = frame {
            self.commit(frame, views)?;
        }
        Ok(results)
    }

    fn open_zone(&mut self, wanted: &NewZone, views: &Views) -> Result<OpenedZone, Failure> {
        let found = wanted.origin.suffixes().find(|name| self.zones.contains_key(name));
        if let Some(origin) = found {
            return Ok(OpenedZone { origin, made: false });
        }
        self.commit(Frame::new_zone(wanted, Timestamp::now()), views)?;
        Ok(OpenedZone { origin: wanted.origin.clone(), made: true })
    }
}

impl Provider for Embedded {
    fn reading(&self) -> Reading {
        Reading::Zones
    }

    fn batch_size(&self) -> usize {
        1000
    }

    fn health(&self) -> Reply<'_, ()> {
        Box::pin(async { Ok(()) })
    }

    fn open_zone<'a>(&'a self, zone: &'a NewZone) -> Reply<'a, OpenedZone> {
        let wanted = zone.clone();
        Box::pin(async move { self.blocking(move |content, views| content.open_zone(&wanted, views)).await })
    }

    fn revision<'a>(&'a self, zone: &'a Name) -> Reply<'a, Option<u64>> {
        Box::pin(async move { self.zone(zone, |zone| Some(u64::from(zone.serial()))) })
    }

    fn read_zone<'a>(&'a self, zone: &'a Name) -> Reply<'a, Vec<Entry>> {
        Box::pin(async move { self.zone(zone, Zone::entries) })
    }

    fn read_sets<'a>(
        &'a self,
        zone: &'a Name,
        keys: &'a [(SetKey, Option<Name>)],
    ) -> Reply<'a, Vec<Option<Entry>>> {
        Box::pin(async move {
            self.zone(zone, |zone| keys.iter().map(|(key, _)| zone.entry(key).cloned()).collect())
        })
    }

    fn write<'a>(&'a self, batch: &'a Batch) -> BoxFuture<'a, Vec<Result<(), Failure>>> {
        Box::pin(async move {
            let asked = batch.clone();
            let written = self.blocking(move |content, views| content.write(&asked, views)).await;
            written.unwrap_or_else(|failure| batch.changes.iter().map(|_| Err(failure.clone())).collect())
        })
    }

    fn settle<'a>(&'a self, _: &'a Name) -> Reply<'a, ()> {
        Box::pin(async { Ok(()) })
    }
}

fn publish(views: &Views, updates: Vec<ZoneUpdate>) {
    views.publish(|table| {
        let zones = table.views.entry(VIEW.to_owned()).or_default();
        updates.into_iter().for_each(|update| zones.apply(update));
    });
}

/// A disk that fails is our own trouble: it is logged here, and the sender learns only that.
fn failed(error: &io::Error) -> Failure {
    tracing::error!("the records cannot be kept: {error}");
    Failure::Server(500)
}

fn locked<T>(content: &Mutex<T>) -> MutexGuard<'_, T> {
    content.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
