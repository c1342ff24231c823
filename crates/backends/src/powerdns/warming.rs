//! Warming up: whatever LUA was written is asked for once.
//!
//! PowerDNS begins to check with the first query of a name, and until it knows more it takes everything to be
//! down. Where the server's settings say where it answers, that first query is ours. Nothing waits for it, and
//! where nobody answers nobody is told: what is lost is no more than that query.

use std::future::ready;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use dns::{Name, RecordSet, Rtype};
use futures::stream::{self, StreamExt};

use super::{Powerdns, content};
use crate::lookup::exchange::{self, Question};
use crate::transport::guard::Guard;

/// How many questions are under way at once, and how long one may take.
const TOGETHER: usize = 16;
const TIMEOUT: Duration = Duration::from_secs(2);

/// A name, and what clients will ask of it.
pub(super) type Cold = (Name, Rtype);

/// What is to be asked for where a record set is written.
pub(super) fn cold(set: &RecordSet) -> impl Iterator<Item = Cold> {
    let is_lua = set.rtype == content::LUA;
    let answers = set.data.iter().filter(move |_| is_lua).filter_map(|data| data.wire().first_chunk());
    answers.map(|octets| (set.name.clone(), Rtype(u16::from_be_bytes(*octets))))
}

impl Powerdns {
    /// Asks for everything once, in its own time.
    pub(super) fn warm(&self, cold: Vec<Cold>) {
        let places = self.places.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if cold.is_empty() || places.is_empty() {
            return;
        }
        let (guard, host) = (self.api.guard(), self.api.host());
        tokio::spawn(async move {
            for server in servers(&guard, &host, &places).await {
                if is_asked(server, &cold).await {
                    return;
                }
            }
        });
    }
}

/// The addresses that may be asked: those that the server names, or where it names none its API's.
async fn servers(guard: &Arc<Guard>, host: &str, places: &[SocketAddr]) -> Vec<SocketAddr> {
    let (open, named): (Vec<SocketAddr>, _) = places.iter().partition(|place| place.ip().is_unspecified());
    let mut servers: Vec<SocketAddr> = named;
    servers.retain(|server| guard.permits(*server));
    if let Some(open) = open.first() {
        servers.extend(guard.clone().resolve(host, open.port()).await.unwrap_or_default());
    }
    servers
}

/// Asks a server for everything; false as soon as it does not answer, so that a server that is not there
/// costs one wait.
async fn is_asked(server: SocketAddr, cold: &[Cold]) -> bool {
    let ask = |(name, rtype): &Cold| {
        let (name, rtype) = (name.clone(), *rtype);
        async move {
            let question = Question { name: &name, rtype, recursive: false };
            exchange::ask(server, &question, TIMEOUT).await.is_ok()
        }
    };
    stream::iter(cold.iter().map(ask)).buffered(TOGETHER).all(ready).await
}
