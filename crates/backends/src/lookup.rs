//! Whether the world sees what a provider holds.
//!
//! ```text
//! resolver ──NS──► delegation ──► its servers, each asked for the set ──► data, compared
//! ```
//!
//! Only the resolver is asked to recurse. Which servers a zone is delegated to is for others to say, so
//! they are asked only where the guard lets requests go; the resolver is the administrator's own word.

pub(crate) mod exchange;
mod reading;

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use dns::{Name, RecordSet, Rtype};
use futures::future::join_all;

use crate::rfc2136::message::Answer;
use crate::transport::guard::Guard;
use crate::{Failure, Obstacle, Provider, Reading, SetKey};
use exchange::Question;
pub use reading::Server;

/// How long one server may take for one answer.
const TIMEOUT: Duration = Duration::from_secs(2);

/// How many servers of a zone are asked, and at how many of its addresses each.
const MOST_SERVERS: usize = 8;
const MOST_ADDRESSES: usize = 2;

/// A resolver, by address or name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolver {
    host: String,
    port: u16,
}

/// The failure of a resolver whose name has no address.
const UNKNOWN_HOST: Failure = Failure::Unreachable(Obstacle::UnknownHost);

impl Resolver {
    /// Reads `address`, `address:port`, `name` or `name:port`; the port is 53 where none is given.
    pub fn parse(text: &str) -> Option<Resolver> {
        let resolver = |host: &str, port| Resolver { host: host.to_owned(), port };
        if let Ok(address) = text.parse::<IpAddr>() {
            return Some(resolver(&address.to_string(), 53));
        }
        if let Ok(address) = text.parse::<SocketAddr>() {
            return Some(resolver(&address.ip().to_string(), address.port())).filter(|one| one.port != 0);
        }
        let (host, port) = text.split_once(':').unwrap_or((text, "53"));
        let port = port.parse().ok().filter(|port| *port != 0)?;
        (!host.is_empty() && Name::parse(host).is_ok()).then(|| resolver(host, port))
    }
}

impl fmt::Display for Resolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} port {}", self.host, self.port)
    }
}

/// Who asks the world.
#[derive(Clone, Debug)]
pub struct Lookup {
    /// Who knows where zones are delegated to.
    pub resolver: Resolver,
    /// Where requests may go.
    pub guard: Arc<Guard>,
}

/// Where a zone is delegated to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delegation {
    /// Nowhere.
    Missing,
    /// To servers that are not the provider's.
    Elsewhere,
    /// To these.
    To(Vec<Server>),
}

impl Lookup {
    /// Where the zone of a provider that holds an origin is delegated to.
    pub async fn delegation(&self, provider: &dyn Provider, origin: &Name) -> Result<Delegation, Failure> {
        let own = own_servers(provider, origin).await?;
        let zone = own.as_ref().map_or(origin, |(zone, _)| zone);
        let mut answer = self.ask_resolver(zone, Rtype::NS).await?;
        let mut servers = reading::servers(&answer, zone);
        // Where nobody knows which zone the provider has, whoever answers does.
        if let (None, true, Some(around)) = (&own, servers.is_empty(), reading::zone_around(&answer, zone)) {
            answer = self.ask_resolver(&around, Rtype::NS).await?;
            servers = reading::servers(&answer, &around);
        }
        let own = own.map(|(_, own)| own);
        match reading::delegation(servers, own.as_deref()) {
            Delegation::To(servers) => Ok(Delegation::To(self.with_addresses(servers).await)),
            other => Ok(other),
        }
    }

    /// Asks every server for a set; tells the first that has not the same data, if any.
    pub async fn first_without(&self, servers: &[Server], set: &RecordSet) -> Option<Name> {
        let asked = servers.iter().take(MOST_SERVERS);
        let seen = join_all(asked.clone().map(|server| self.has(server, set))).await;
        asked.zip(seen).find(|(_, has)| !has).map(|(server, _)| server.name.clone())
    }

    async fn has(&self, server: &Server, set: &RecordSet) -> bool {
        let addresses = server.addresses.iter().map(|address| SocketAddr::new(*address, 53));
        for address in addresses.filter(|address| self.guard.permits(*address)).take(MOST_ADDRESSES) {
            let question = Question { name: &set.name, rtype: set.rtype, recursive: false };
            if let Ok(answer) = exchange::ask(address, &question, TIMEOUT).await {
                return reading::has(&answer, set);
            }
        }
        false
    }

    /// Servers with addresses; whatever came beside their names is not asked for again.
    async fn with_addresses(&self, servers: Vec<Server>) -> Vec<Server> {
        let found = servers.into_iter().take(MOST_SERVERS).map(|mut server| async {
            if server.addresses.is_empty() {
                server.addresses = self.addresses(&server.name).await;
            }
            server
        });
        join_all(found).await
    }

    /// The addresses of a name, IPv4 first, since not every machine has the other.
    async fn addresses(&self, name: &Name) -> Vec<IpAddr> {
        let mut addresses = Vec::new();
        for rtype in [Rtype::A, Rtype::AAAA] {
            if let Ok(answer) = self.ask_resolver(name, rtype).await {
                addresses.extend(reading::addresses(&answer.answer));
            }
        }
        addresses
    }

    async fn ask_resolver(&self, name: &Name, rtype: Rtype) -> Result<Answer, Failure> {
        let place = (self.resolver.host.as_str(), self.resolver.port);
        let finding = tokio::time::timeout(TIMEOUT, tokio::net::lookup_host(place));
        let found = finding.await.map_err(|_| Failure::TimedOut)?.map_err(|_| UNKNOWN_HOST)?;
        let question = Question { name, rtype, recursive: true };
        let mut failure = UNKNOWN_HOST;
        for address in found.take(MOST_ADDRESSES) {
            match exchange::ask(address, &question, TIMEOUT).await.and_then(reading::told) {
                Ok(answer) => return Ok(answer),
                Err(last) => failure = last,
            }
        }
        Err(failure)
    }
}

/// The zone of a provider that holds an origin, and the name servers that it has there; nothing where the
/// provider does not tell.
async fn own_servers(provider: &dyn Provider, origin: &Name) -> Result<Option<(Name, Vec<Name>)>, Failure> {
    if provider.reading() != Reading::Zones {
        return Ok(None);
    }
    for zone in origin.suffixes().take_while(|zone| !zone.is_root()) {
        let key = (SetKey { name: zone.clone(), rtype: Rtype::NS }, None);
        match provider.read_sets(&zone, &[key]).await {
            Ok(mut found) => {
                if let Some(entry) = found.pop().flatten() {
                    let names = entry.set.data.iter().filter_map(dns::Rdata::target).collect();
                    return Ok(Some((zone, names)));
                }
            }
            Err(Failure::NoZone) => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests;
