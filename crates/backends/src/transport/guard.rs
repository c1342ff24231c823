//! Where requests may go.
//!
//! A URL in a manifest is a request that our process makes, so it must not reach what only our process
//! can reach. A name is judged by the addresses that it has when it is connected to, and only those
//! addresses are connected to, so a name that changes its mind gains nothing.

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use server::Network;
use tokio::sync::watch;

use crate::{Failure, Obstacle};

/// The addresses that requests may go to.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    /// Networks that the administrator allows.
    pub allowed: Vec<Network>,
    /// What is never connected to unless it is allowed, such as the API server.
    pub forbidden: Forbidden,
    /// Who tells what addresses a name has.
    pub names: Names,
}

/// What is learnt while we run to be forbidden; copies learn together.
#[derive(Clone, Debug)]
pub struct Forbidden(Arc<watch::Sender<Learnt>>);

#[derive(Debug, Default)]
struct Learnt {
    /// Nothing is known yet, so that nothing can be judged.
    awaited: bool,
    /// Whatever the port.
    addresses: BTreeSet<IpAddr>,
    /// Where another port may be somebody else's.
    sockets: BTreeSet<SocketAddr>,
}

impl Default for Forbidden {
    fn default() -> Forbidden {
        Forbidden(Arc::new(watch::Sender::new(Learnt::default())))
    }
}

impl Forbidden {
    /// Forbids everything until the first thing is learnt: what is not known cannot be kept from anybody.
    pub fn awaited() -> Forbidden {
        Forbidden(Arc::new(watch::Sender::new(Learnt { awaited: true, ..Learnt::default() })))
    }

    /// Forbids these too. What was once forbidden stays so: whoever moved may move back.
    pub fn learn(
        &self,
        addresses: impl IntoIterator<Item = IpAddr>,
        sockets: impl IntoIterator<Item = SocketAddr>,
    ) {
        self.0.send_modify(|learnt| {
            learnt.awaited = false;
            learnt.addresses.extend(addresses.into_iter().map(|address| address.to_canonical()));
            learnt.sockets.extend(sockets.into_iter().map(canonical));
        });
    }

    /// Whether enough is known to judge.
    pub fn is_known(&self) -> bool {
        !self.0.borrow().awaited
    }

    /// Waits until enough is known to judge.
    pub async fn known(&self) {
        // The sender is ours, so that it cannot have gone.
        let _ = self.0.subscribe().wait_for(|learnt| !learnt.awaited).await;
    }

    fn holds(&self, address: SocketAddr) -> bool {
        let learnt = self.0.borrow();
        learnt.awaited || learnt.addresses.contains(&address.ip()) || learnt.sockets.contains(&address)
    }
}

fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

/// The failure of a host name that leads nowhere.
const UNKNOWN_HOST: Failure = Failure::Unreachable(Obstacle::UnknownHost);

type Lookup = dyn Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync;

/// Who tells what addresses a name has: the system, unless a test says otherwise.
#[derive(Clone, Default)]
pub struct Names(Option<Arc<Lookup>>);

impl Names {
    /// Names have the addresses that this says.
    pub fn told_by(
        lookup: impl Fn(&str, u16) -> io::Result<Vec<SocketAddr>> + Send + Sync + 'static,
    ) -> Names {
        Names(Some(Arc::new(lookup)))
    }

    async fn lookup(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        match &self.0 {
            Some(lookup) => lookup(host, port),
            None => Ok(tokio::net::lookup_host((host, port)).await?.collect()),
        }
    }
}

impl fmt::Debug for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "Names(told)" } else { "Names(system)" })
    }
}

impl Guard {
    /// Lets requests go to these networks too.
    pub fn allowing(allowed: impl IntoIterator<Item = Network>) -> Guard {
        Guard { allowed: allowed.into_iter().collect(), ..Guard::default() }
    }

    /// Lets requests go to this very machine.
    pub fn allow_loopback(&mut self) {
        self.allowed.push(Network::new(Ipv4Addr::LOCALHOST.into(), 8));
        self.allowed.push(Network::new(Ipv6Addr::LOCALHOST.into(), 128));
    }

    /// Whether a request may go there. An address that leads to another, as those of NAT64 do, is judged by
    /// both.
    pub fn permits(&self, address: SocketAddr) -> bool {
        let address = canonical(address);
        let leads_to = api::embedded_addresses(address.ip());
        let leads_to = leads_to.into_iter().map(|inner| SocketAddr::new(inner, address.port()));
        let is_allowed = self.allowed.iter().any(|network| network.contains(address.ip()));
        is_allowed
            || !api::is_inward(address.ip())
                && !std::iter::once(address).chain(leads_to).any(|one| self.forbidden.holds(one))
    }

    /// The addresses of a host that may be connected to.
    pub async fn resolve(self: Arc<Self>, host: &str, port: u16) -> Result<Vec<SocketAddr>, Failure> {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let found = self.names.lookup(host, port).await.map_err(|_| UNKNOWN_HOST)?;
        // One forbidden address condemns the name: whoever controls it could serve the other next time.
        match found.iter().all(|address| self.permits(*address)) {
            true if found.is_empty() => Err(UNKNOWN_HOST),
            true => Ok(found),
            false => Err(Failure::Forbidden),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn permits(guard: &Guard, address: &str) -> bool {
        guard.permits(SocketAddr::new(address.parse().unwrap(), 443))
    }

    fn guard_of(api_server: &str) -> Guard {
        let guard = Guard::default();
        guard.forbidden.learn([api_server.parse().unwrap()], []);
        guard
    }

    #[test]
    fn inward_addresses_and_the_api_server_are_forbidden_until_they_are_allowed() {
        let mut guard = guard_of("10.96.0.1");
        let inward = [
            "127.0.0.1",
            "127.8.8.8",
            "::1",
            "::ffff:127.0.0.1",
            "169.254.169.254",
            "fe80::1",
            "0.0.0.0",
            "10.96.0.1",
        ];
        assert!(inward.iter().all(|address| !permits(&guard, address)));
        assert!(permits(&guard, "::ffff:10.96.0.2") && !permits(&guard, "::ffff:10.96.0.1"));
        assert!(["192.0.2.1", "2001:db8::1", "10.0.0.1"].iter().all(|address| permits(&guard, address)));
        guard.allow_loopback();
        guard.allowed.push("10.96.0.0/16".parse().unwrap());
        assert!(["127.8.8.8", "::1", "::ffff:127.0.0.1", "10.96.0.1"].iter().all(|one| permits(&guard, one)));
        assert!(!permits(&guard, "169.254.169.254"), "what is allowed is allowed, and nothing else");
    }

    #[test]
    fn the_api_server_is_forbidden_by_whichever_way_it_is_reached() {
        let guard = guard_of("10.96.0.1");
        let ways = ["64:ff9b::10.96.0.1", "2002:a60:1::1", "::10.96.0.1", "::ffff:10.96.0.1"];
        assert!(ways.iter().all(|way| !permits(&guard, way)));
        assert!(permits(&guard, "64:ff9b::192.0.2.1"), "a translator is no secret place");
    }

    #[test]
    fn a_node_that_has_the_api_server_has_other_ports_too() {
        let guard = Guard::default();
        guard.forbidden.learn([], ["192.0.2.7:6443".parse().unwrap()]);
        assert!(!guard.permits("192.0.2.7:6443".parse().unwrap()));
        assert!(!guard.permits("[::ffff:192.0.2.7]:6443".parse().unwrap()));
        assert!(guard.permits("192.0.2.7:443".parse().unwrap()));
    }

    #[tokio::test]
    async fn while_it_is_not_known_where_the_api_server_is_nobody_is_let_out() {
        let guard = Guard { forbidden: Forbidden::awaited(), ..Guard::default() };
        assert!(!permits(&guard, "192.0.2.1") && !guard.forbidden.is_known());
        let allowed = Guard { allowed: vec!["192.0.2.0/24".parse().unwrap()], ..guard.clone() };
        assert!(permits(&allowed, "192.0.2.1"), "what an administrator allowed needs no judgement");
        guard.forbidden.learn(["10.96.0.1".parse().unwrap()], []);
        guard.forbidden.known().await;
        assert!(permits(&guard, "192.0.2.1") && !permits(&guard, "10.96.0.1"));
    }

    #[tokio::test]
    async fn a_name_is_judged_by_its_addresses() {
        let guard = Arc::new(Guard::default());
        assert_eq!(guard.clone().resolve("localhost", 1).await, Err(Failure::Forbidden));
        let mut guard = Guard::default();
        guard.allow_loopback();
        assert!(Arc::new(guard).resolve("localhost", 1).await.is_ok());
    }
}
