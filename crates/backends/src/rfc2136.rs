//! DNS servers that take dynamic updates (RFC 2136), such as BIND and Knot.
//!
//! ```text
//! Provider ──► update (pure: units, messages) ──┐
//!         ├──► lookup (what the zone holds)   ──┼──► connection (TCP, TSIG) ──► server
//!         └──► transfer (pure: AXFR)          ──┘
//! ```
//!
//! A change is made by the server itself only where what stood before still stands: the update's
//! prerequisites are the compare, the update is the swap. Everything goes over TCP, signed where there
//! is a key (RFC 8945).

pub(crate) mod connection;
mod lookup;
pub(crate) mod message;
pub(crate) mod rcode;
mod transfer;
mod update;
mod writing;

#[cfg(test)]
mod tests;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use api::dnsclass::TsigAlgorithm;
use dns::{Name, Rtype};
use domain::base::name::ToName;
use domain::tsig::Algorithm;
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::provider::PlainBatch;
use crate::transport::guard::Guard;
use crate::{Batch, Entry, Failure, NewZone, OpenedZone, Provider, Reading, Reply, SetKey};
use connection::Connection;
use transfer::Transfer;

/// How many changes one batch should have: several full messages.
const BATCH: usize = 2_000;

/// A whole zone takes longer than one answer does.
const TRANSFER_TIMEOUTS: u32 = 20;

/// Where the server is, and how it knows us.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The server as `host:port`.
    pub server: String,
    /// The key that requests are signed with.
    pub key: Option<Key>,
    /// How long connecting, and any one answer, may take.
    pub timeout: Duration,
}

/// A key for signing DNS messages.
#[derive(Clone)]
pub struct Key {
    /// The name that both sides know it by.
    pub name: Name,
    /// Its algorithm.
    pub algorithm: TsigAlgorithm,
    /// Its octets, decoded.
    pub secret: Vec<u8>,
}

/// A DNS server that takes updates.
pub struct Rfc2136 {
    host: String,
    port: u16,
    key: Option<domain::tsig::Key>,
    timeout: Duration,
    guard: Arc<Guard>,
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Key").field("name", &self.name).finish_non_exhaustive()
    }
}

impl fmt::Debug for Rfc2136 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rfc2136").field("host", &self.host).field("port", &self.port).finish_non_exhaustive()
    }
}

impl Rfc2136 {
    /// A server to be reached by these settings; nothing is sent yet.
    pub fn new(settings: Settings, guard: Arc<Guard>) -> Result<Rfc2136, Failure> {
        let (host, port) = place(&settings.server).ok_or(WRONG_SERVER)?;
        let key = settings.key.map(|key| signing_key(&key)).transpose()?;
        Ok(Rfc2136 { host, port, key, timeout: settings.timeout, guard })
    }

    async fn connect(&self) -> Result<Connection<'_>, Failure> {
        self.connect_with(self.key.as_ref()).await
    }

    async fn connect_with<'k>(&self, key: Option<&'k domain::tsig::Key>) -> Result<Connection<'k>, Failure> {
        let resolving = self.guard.clone().resolve(&self.host, self.port);
        let addresses =
            tokio::time::timeout(self.timeout, resolving).await.unwrap_or(Err(Failure::TimedOut))?;
        Connection::open(&addresses, key, self.timeout).await
    }

    async fn ask_health(&self) -> Result<(), Failure> {
        // Knot knows a key only for the zones that it is allowed for, so no key can be tried without one.
        let mut connection = self.connect_with(None).await?;
        let request = message::query(connection.next_id(), &Name::root(), Rtype::SOA)?;
        connection.ask(request).await.map(drop)
    }

    async fn transfer(&self, zone: &Name) -> Result<Vec<dns::RecordSet>, Failure> {
        let mut connection = self.connect().await?;
        let mut transfer = Transfer::new(zone);
        let request = message::query(connection.next_id(), zone, Rtype::AXFR)?;
        let receiving = connection.ask_for_many(request, |octets| transfer.push(octets));
        let whole = self.timeout * TRANSFER_TIMEOUTS;
        let received = tokio::time::timeout(whole, receiving).await.unwrap_or(Err(Failure::TimedOut));
        match received {
            Ok(()) => transfer.finish(),
            // A server refuses a zone that it does not have in the words for one that it does not give.
            Err(Failure::Authentication) => Err(self.why_not(zone).await),
            Err(failure) => Err(failure),
        }
    }

    /// Whether a zone that was refused is there at all. Knot does not know our key where it has no zone,
    /// so this is asked without one.
    async fn why_not(&self, zone: &Name) -> Failure {
        let found = match self.connect_with(None).await {
            Ok(connection) => lookup::zone_of(connection, zone).await,
            Err(failure) => Err(failure),
        };
        match found {
            Err(Failure::NoZone) => Failure::NoZone,
            Ok(found) if found != *zone => Failure::NoZone,
            _ => Failure::Authentication,
        }
    }
}

const WRONG_SERVER: Failure = Failure::Unsupported("the server must be written as host:port");

fn place(server: &str) -> Option<(String, u16)> {
    let (host, port) = server.rsplit_once(':')?;
    let is_bare_ipv6 = host.contains(':') && !(host.starts_with('[') && host.ends_with(']'));
    let port = port.parse().ok().filter(|port| *port != 0)?;
    (!host.is_empty() && !is_bare_ipv6).then(|| (host.to_owned(), port))
}

fn signing_key(key: &Key) -> Result<domain::tsig::Key, Failure> {
    let algorithm = match key.algorithm {
        TsigAlgorithm::HmacSha256 => Algorithm::Sha256,
        TsigAlgorithm::HmacSha384 => Algorithm::Sha384,
        TsigAlgorithm::HmacSha512 => Algorithm::Sha512,
    };
    const WRONG: Failure = Failure::Unsupported("the TSIG key's name does not do");
    let name = message::wire_name(&key.name)?.try_to_name().map_err(|_| WRONG)?;
    if key.secret.is_empty() {
        return Err(Failure::Unsupported("the TSIG key is empty"));
    }
    domain::tsig::Key::new(algorithm, &key.secret, name, None, None).map_err(|_| WRONG)
}

impl Provider for Rfc2136 {
    fn reading(&self) -> Reading {
        Reading::Zones
    }

    fn batch_size(&self) -> usize {
        BATCH
    }

    fn health(&self) -> Reply<'_, ()> {
        self.ask_health().boxed()
    }

    fn open_zone<'a>(&'a self, zone: &'a NewZone) -> Reply<'a, OpenedZone> {
        let open = async { Ok(OpenedZone { origin: self.find_zone(&zone.origin).await?, made: false }) };
        open.boxed()
    }

    fn revision<'a>(&'a self, zone: &'a Name) -> Reply<'a, Option<u64>> {
        self.serial(zone).boxed()
    }

    fn read_zone<'a>(&'a self, zone: &'a Name) -> Reply<'a, Vec<Entry>> {
        async { Ok(self.transfer(zone).await?.into_iter().map(Entry::from).collect()) }.boxed()
    }

    fn read_sets<'a>(
        &'a self,
        zone: &'a Name,
        keys: &'a [(SetKey, Option<Name>)],
    ) -> Reply<'a, Vec<Option<Entry>>> {
        let keys: Vec<&SetKey> = keys.iter().map(|(key, _)| key).collect();
        async move {
            let sets = self.look_up(zone, &keys).await?;
            Ok(sets.into_iter().map(|set| set.map(Entry::from)).collect())
        }
        .boxed()
    }

    fn write<'a>(&'a self, batch: &'a Batch) -> BoxFuture<'a, Vec<Result<(), Failure>>> {
        async move {
            let plain = PlainBatch::of(batch);
            plain.results(self.make(plain.allowed()).await)
        }
        .boxed()
    }

    fn settle<'a>(&'a self, _: &'a Name) -> Reply<'a, ()> {
        async { Ok(()) }.boxed()
    }
}
