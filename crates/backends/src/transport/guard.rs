//! Where requests may go.
//!
//! A URL in a manifest is a request that our process makes, so it must not reach what only our process
//! can reach. A name is judged by the addresses that it has when it is connected to, and only those
//! addresses are connected to, so a name that changes its mind gains nothing.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;

use server::Network;

use crate::Failure;

/// The addresses that requests may go to.
#[derive(Clone, Debug, Default)]
pub struct Guard {
    /// Networks that the administrator allows.
    pub allowed: Vec<Network>,
    /// Addresses that are never connected to unless they are allowed, such as the API server's.
    pub forbidden: Vec<IpAddr>,
}

impl Guard {
    /// Lets requests go to this very machine.
    pub fn allow_loopback(&mut self) {
        self.allowed.push(Network::new(Ipv4Addr::LOCALHOST.into(), 8));
        self.allowed.push(Network::new(Ipv6Addr::LOCALHOST.into(), 128));
    }

    /// Whether a request may go there.
    pub fn permits(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        let is_named = |network: &Network| network.contains(address);
        self.allowed.iter().any(is_named) || !(api::is_inward(address) || self.forbidden.contains(&address))
    }

    /// The addresses of a host that may be connected to.
    pub async fn resolve(self: Arc<Self>, host: &str, port: u16) -> Result<Vec<SocketAddr>, Failure> {
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let found: Vec<SocketAddr> =
            tokio::net::lookup_host((host, port)).await.map_err(|_| Failure::Unreachable)?.collect();
        // One forbidden address condemns the name: whoever controls it could serve the other next time.
        match found.iter().all(|address| self.permits(address.ip())) {
            true if found.is_empty() => Err(Failure::Unreachable),
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
        guard.permits(address.parse().unwrap())
    }

    #[test]
    fn inward_addresses_and_the_api_server_are_forbidden_until_they_are_allowed() {
        let api_server: IpAddr = "10.96.0.1".parse().unwrap();
        let mut guard = Guard { allowed: Vec::new(), forbidden: vec![api_server] };
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

    #[tokio::test]
    async fn a_name_is_judged_by_its_addresses() {
        let guard = Arc::new(Guard::default());
        assert_eq!(guard.clone().resolve("localhost", 1).await, Err(Failure::Forbidden));
        let mut guard = Guard::default();
        guard.allow_loopback();
        assert!(Arc::new(guard).resolve("localhost", 1).await.is_ok());
    }
}
