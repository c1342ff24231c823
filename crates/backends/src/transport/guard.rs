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
