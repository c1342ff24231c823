//! PowerDNS's authoritative server, by its HTTP API.
//!
//! ```text
//! open_zone ──► zones      found or made; what there is is asked once and remembered
//! write     ──► writing    look ──► PATCH, halved around what is refused ──► look again if disturbed
//!                 ├─ request   what is sent      (pure)
//!                 └─ reading   what stands there (pure)
//! settle    ──► warming    what was written as LUA is asked for once
//! steered   ──► lua        steered sets as the LUA records that are written for them (pure)
//! ```
//!
//! PowerDNS cannot compare and swap. A zone's serial moves with every change by the API, so it tells
//! whether anybody wrote since we last read the zone, and whether anybody got in between our look and our
//! write; only then are the names themselves read again.

mod api;
mod configuration;
mod content;
mod foresight;
pub mod lua;
mod reading;
mod request;
pub mod steered;
#[cfg(test)]
mod tests;
mod warming;
mod writing;
mod zones;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use ::api::dnsclass::{SecretText, ZoneKind};
use dns::Name;
use futures::future::BoxFuture;
use tokio::sync::Mutex as AsyncMutex;

use crate::transport::http::HttpClient;
use crate::{Batch, Entry, Failure, NewZone, OpenedZone, Provider, Reading, Reply, SetKey, Steers};
use api::Api;
use foresight::Foresight;
use reading::{Facts, Read};
use warming::Cold;
use zones::Zones;

pub use api::Version;

/// Record data in words, with the name that PowerDNS gives the type: `LUA A "…"`. For people, since no record
/// may be written from it.
pub fn shown(data: &dns::Rdata) -> String {
    format!("{} {}", content::type_name(data.rtype()), content::content(data))
}

/// About as many RRsets as fit into one PATCH: each costs the server a transaction.
const BATCH: usize = 7000;

/// Which server, and what the zones are like that are made there.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the API is.
    pub url: String,
    /// The server's identifier in the API.
    pub server_id: String,
    /// The API key.
    pub api_key: SecretText,
    /// The kind of zones that are made.
    pub zone_kind: ZoneKind,
    /// Whether zones that are made are signed.
    pub dnssec: bool,
}

/// A PowerDNS server.
pub struct Powerdns {
    api: Api,
    zone_kind: ZoneKind,
    dnssec: bool,
    zones: Zones,
    memories: Mutex<HashMap<Name, Arc<AsyncMutex<Memory>>>>,
    foresight: Foresight,
    /// Whether it was said that LUA records are slow as the server is set up.
    warned: AtomicBool,
    /// Where it answers queries, as it last said.
    places: Mutex<Vec<SocketAddr>>,
}

/// What is remembered of a zone. Nothing goes wrong without it; it saves requests.
#[derive(Debug, Default)]
struct Memory {
    /// The zone's serial when all of it was last read, or after our own writes since.
    serial: Option<u32>,
    /// What it was like after a write of ours, and when that was.
    written: Option<(Facts, Instant)>,
    /// How many record sets it had then.
    sets: usize,
    /// Whether some records were switched off then.
    has_disabled: bool,
    /// Record sets that are there and that we cannot read, so that nobody may write over them.
    opaque: Vec<SetKey>,
    /// Names came or went, and PowerDNS has not worked out the order of names since.
    unordered: bool,
    /// That may be from before our time: a predecessor may have died between its last write and the
    /// ordering.
    inherited: bool,
    /// Something changed that the secondaries have not been told.
    untold: bool,
    /// What was written and checks nothing before it is asked for.
    cold: Vec<Cold>,
}

impl Powerdns {
    /// A server that is reached by this client.
    pub fn new(settings: Settings, client: HttpClient) -> Result<Powerdns, Failure> {
        Ok(Powerdns {
            api: Api::new(&settings, client)?,
            zone_kind: settings.zone_kind,
            dnssec: settings.dnssec,
            zones: Zones::default(),
            memories: Mutex::default(),
            foresight: Foresight::default(),
            warned: AtomicBool::new(false),
            places: Mutex::default(),
        })
    }

    /// The server's version, which decides what its Lua functions can do.
    pub async fn version(&self) -> Result<Version, Failure> {
        self.api.version().await
    }

    /// What the server can do by itself of steering, as it says.
    async fn say_steers(&self) -> Result<Steers, Failure> {
        let version = self.api.version().await?;
        let configuration = match self.api.configuration().await {
            // Whoever keeps it to himself is not relied on.
            Err(Failure::NoZone | Failure::Unreadable | Failure::Refused(_)) => return Ok(Steers::NOTHING),
            told => told?,
        };
        if configuration.is_slow_at_lua() && !self.warned.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                "PowerDNS makes a Lua interpreter for every answer of a LUA record, which costs some 30 \
                 times as much: set enable-lua-records=shared there"
            );
        }
        *self.places.lock().unwrap_or_else(PoisonError::into_inner) = configuration.places();
        Ok(configuration.steers(version))
    }

    fn memory(&self, zone: &Name) -> Arc<AsyncMutex<Memory>> {
        let mut memories = self.memories.lock().unwrap_or_else(PoisonError::into_inner);
        memories.entry(zone.clone()).or_default().clone()
    }

    /// Where a zone has gone, the list of zones is no longer true.
    async fn heed<T>(&self, result: Result<T, Failure>) -> Result<T, Failure> {
        if matches!(result, Err(Failure::NoZone)) {
            self.forget_zones().await;
        }
        result
    }

    async fn read_all(&self, zone: &Name) -> Result<Vec<Entry>, Failure> {
        let memory = self.memory(zone);
        let mut memory = memory.lock().await;
        let (facts, read) = match self.read_again(zone, &memory).await? {
            Some(read) => read,
            None => self.api.zone(zone).await?,
        };
        memory.serial = facts.counts().then_some(facts.serial);
        (memory.sets, memory.has_disabled) = (read.sets.len(), read.has_disabled);
        memory.opaque = read.opaque;
        // What we wrote ourselves is put in order once, after all batches; what is signed is no answer
        // before that.
        let is_due = memory.unordered && (memory.inherited || facts.dnssec);
        memory.inherited = false;
        if is_due && reading::needs_order(zone, &facts, &read.sets) {
            self.order(zone, &facts, &mut memory).await?;
        }
        Ok(read.sets.into_iter().map(Entry::from).collect())
    }

    /// Reads a zone in the cheap way, which does not tell what is switched off: where nothing was at the
    /// last reading, and nobody but us has written since.
    async fn read_again(&self, zone: &Name, memory: &Memory) -> Result<Option<(Facts, Read)>, Failure> {
        if memory.serial.is_none() || memory.has_disabled {
            return Ok(None);
        }
        let facts = self.api.facts(zone).await?;
        if !facts.counts() || memory.serial != Some(facts.serial) {
            return Ok(None);
        }
        let text = self.api.export(zone).await?;
        let lines = self.foresight.take_lines(zone);
        Ok(reading::exported(&text, &lines).map(|read| (facts, read)))
    }

    /// Has PowerDNS work out empty non-terminals and the order of names, unless it does so by itself.
    async fn order(&self, zone: &Name, facts: &Facts, memory: &mut Memory) -> Result<(), Failure> {
        if !facts.api_rectify {
            self.api.rectify(zone).await?;
        }
        memory.unordered = false;
        Ok(())
    }

    async fn settle_zone(&self, zone: &Name) -> Result<(), Failure> {
        let memory = self.memory(zone);
        let mut memory = memory.lock().await;
        if !memory.unordered && !memory.untold {
            return Ok(());
        }
        let facts = self.api.facts(zone).await?;
        if memory.unordered {
            self.order(zone, &facts, &mut memory).await?;
        }
        if memory.untold && facts.is_primary() {
            self.api.notify(zone).await?;
        }
        memory.untold = false;
        self.warm(std::mem::take(&mut memory.cold));
        Ok(())
    }
}

impl Provider for Powerdns {
    fn reading(&self) -> Reading {
        Reading::Zones
    }

    fn batch_size(&self) -> usize {
        BATCH
    }

    fn health(&self) -> Reply<'_, ()> {
        Box::pin(async { self.version().await.map(drop) })
    }

    fn steers(&self) -> Reply<'_, Steers> {
        Box::pin(self.say_steers())
    }

    fn open_zone<'a>(&'a self, zone: &'a NewZone) -> Reply<'a, OpenedZone> {
        Box::pin(self.open(zone))
    }

    fn revision<'a>(&'a self, zone: &'a Name) -> Reply<'a, Option<u64>> {
        Box::pin(async {
            let facts = self.heed(self.api.facts(zone).await).await?;
            Ok(facts.counts().then_some(u64::from(facts.serial)))
        })
    }

    fn read_zone<'a>(&'a self, zone: &'a Name) -> Reply<'a, Vec<Entry>> {
        Box::pin(async { self.heed(self.read_all(zone).await).await })
    }

    fn read_sets<'a>(
        &'a self,
        zone: &'a Name,
        keys: &'a [(SetKey, Option<Name>)],
    ) -> Reply<'a, Vec<Option<Entry>>> {
        Box::pin(async {
            let memory = self.memory(zone);
            let memory = memory.lock().await;
            self.foresight.take_lines(zone);
            let found = self.look(zone, keys.iter().map(|(key, _)| &key.name), memory.sets).await;
            let found = self.heed(found).await?;
            Ok(keys.iter().map(|(key, _)| found.get(key).cloned().map(Entry::from)).collect())
        })
    }

    fn foresee(&self, batch: &Batch) {
        self.foresight.foresee(batch);
    }

    fn write<'a>(&'a self, batch: &'a Batch) -> BoxFuture<'a, Vec<Result<(), Failure>>> {
        Box::pin(self.write_batch(batch))
    }

    fn settle<'a>(&'a self, zone: &'a Name) -> Reply<'a, ()> {
        Box::pin(async { self.heed(self.settle_zone(zone).await).await })
    }
}
