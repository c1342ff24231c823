//! The embedded store: records in memory and on the disk, answered by our own DNS server.
//!
//! ```text
//! Batch ─► judge ─► journal (synced) ─► memory ─► views ─► done
//! ```
//!
//! A change is on the disk before it is answered, and on the disk before it is acknowledged. Without a
//! state directory it lives as long as the process.
//!
//! Records that are damaged on the disk in both copies leave their zone unavailable: it is answered with
//! SERVFAIL, never with NXDOMAIN, and its writes are refused. A disk that refuses writes leaves the answers as
//! they are; each write tries again.

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
use super::journal::{Journal, Loss, Opened};

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
    /// Records of unknown zones are lost: none is served, and the files stay as they are.
    is_lost: bool,
    /// The disk refused the last write.
    is_refused: bool,
}

/// How the store is, for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Condition {
    /// Zones that are not served because their records are damaged.
    pub damaged_zones: usize,
    /// Whether the disk took the last write.
    pub is_writable: bool,
}

const ZONE_DAMAGED: Failure = Failure::Storage(
    "the zone's records are damaged on the disk and it takes no changes: see the server's log for the files",
);
const DISK_REFUSES: Failure = Failure::Storage(
    "the server's disk takes no writes (full or read-only); the records there are still served",
);

impl Embedded {
    /// A store in a file, or in memory alone; the second is what is wrong with the file.
    pub fn open(file: Option<&Path>) -> io::Result<(Embedded, Option<String>)> {
        let opened = file.map(Journal::open).transpose()?;
        let (journal, frames, loss, trouble) = match opened {
            Some(Opened { journal, changes, loss, trouble }) => (Some(journal), changes, loss, trouble),
            None => (None, Vec::new(), Loss::None, None),
        };
        let mut content =
            Content { zones: BTreeMap::new(), journal, compact: 0, is_lost: false, is_refused: false };
        for frame in &frames {
            content.zone_mut(&frame.zone).take(frame);
        }
        content.mark(&loss);
        content.mend();
        let store = Embedded { content: Arc::new(Mutex::new(content)), views: Views::new() };
        store.publish_all();
        Ok((store, trouble))
    }

    /// How the store is.
    pub fn condition(&self) -> Condition {
        let content = locked(&self.content);
        let damaged_zones = content.zones.values().filter(|zone| zone.is_damaged()).count();
        Condition { damaged_zones, is_writable: !content.is_refused }
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
        locked(&self.content).sound_zone(origin).map(look)
    }
}

impl Content {
    fn zone_mut(&mut self, origin: &Name) -> &mut Zone {
        self.zones.entry(origin.clone()).or_insert_with(|| Zone::new(origin))
    }

    /// A zone that holds all that was acknowledged.
    fn sound_zone(&self, origin: &Name) -> Result<&Zone, Failure> {
        let zone = self.zones.get(origin).ok_or(Failure::NoZone)?;
        if zone.is_damaged() { Err(ZONE_DAMAGED) } else { Ok(zone) }
    }

    /// Marks the zones of which records are lost.
    fn mark(&mut self, loss: &Loss) {
        match loss {
            Loss::None => {}
            Loss::Labels(labels) => match labels.iter().map(|label| Name::parse(label).ok()).collect() {
                Some(origins) => {
                    let origins: Vec<Name> = origins;
                    origins.iter().for_each(|origin| self.zone_mut(origin).set_damaged());
                }
                None => self.mark(&Loss::All),
            },
            Loss::All => {
                self.is_lost = true;
                self.zones.values_mut().for_each(Zone::set_damaged);
            }
        }
    }

    /// Writes files anew that cannot be appended to. Where records of unknown zones are lost they stay as they
    /// are, for a person to bring them back.
    fn mend(&mut self) {
        let frames = || self.zones.values().map(Zone::frame).collect::<Vec<Frame>>();
        let Some(journal) = self.journal.as_mut().filter(|journal| journal.is_stale() && !self.is_lost)
        else {
            return;
        };
        if let Err(error) = journal.rewrite(&frames()) {
            tracing::error!(
                "the records cannot be written: {error}; they are served, and writes are refused"
            );
            self.is_refused = true;
        }
    }

    /// Puts a frame on the disk, into memory and into the answers, in this order.
    fn commit(&mut self, frame: Frame, views: &Views) -> Result<(), Failure> {
        if self.is_lost {
            return Err(ZONE_DAMAGED);
        }
        let Content { zones, journal, .. } = self;
        if let Some(journal) = journal {
            let whole = || zones.values().map(Zone::frame).collect();
            let appended = journal.append(std::slice::from_ref(&frame), whole);
            self.note(appended.err())?;
        }
        let zone = self.zone_mut(&frame.zone);
        zone.take(&frame);
        publish(views, zone.updates_of(&frame));
        self.compact_if_long();
        Ok(())
    }

    /// Logs the first refusal of the disk and the first success after it.
    fn note(&mut self, refusal: Option<io::Error>) -> Result<(), Failure> {
        let was_refused = std::mem::replace(&mut self.is_refused, refusal.is_some());
        match refusal {
            Some(error) => {
                if !was_refused {
                    tracing::error!("the records cannot be kept: {error}; writes are refused until they can");
                }
                Err(DISK_REFUSES)
            }
            None => {
                if was_refused {
                    tracing::info!("the disk takes writes again");
                }
                Ok(())
            }
        }
    }

    /// Whether writes are taken; a disk that refused the last one is tried again.
    fn health(&mut self) -> Result<(), Failure> {
        if self.is_refused {
            let probed = self.journal.as_ref().map_or(Ok(()), Journal::probe);
            self.note(probed.err())?;
        }
        // One damaged zone does not keep writes from the others.
        if self.is_lost { Err(ZONE_DAMAGED) } else { Ok(()) }
    }

    /// A journal that cannot be made shorter goes on growing, and is tried again later.
    fn compact_if_long(&mut self) {
        let Some(journal) = self.journal.as_mut() else { return };
        if journal.length() <= LEAST.max(2 * self.compact) {
            return;
        }
        let frames: Vec<Frame> = self.zones.values().map(Zone::frame).collect();
        if let Err(error) = journal.rewrite(&frames) {
            tracing::warn!("the records cannot be written anew: {error}");
        }
        self.compact = journal.length();
    }

    fn write(&mut self, batch: &Batch, views: &Views) -> Result<Vec<Result<(), Failure>>, Failure> {
        let zone = self.sound_zone(&batch.zone)?;
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
        if self.is_lost {
            // It may be one of those whose records are lost.
            let zone = self.zone_mut(&wanted.origin);
            zone.set_damaged();
            publish(views, zone.updates());
            return Ok(OpenedZone { origin: wanted.origin.clone(), made: false });
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
        Box::pin(async move { self.blocking(|content, _| content.health()).await })
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

fn locked<T>(content: &Mutex<T>) -> MutexGuard<'_, T> {
    content.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
