//! Where the API server is, learnt while we run: nobody's object may point at it.
//!
//! ```text
//! the URL, the environment ──► its addresses, whatever the port
//! EndpointSlice default/kubernetes ──► its processes: node and port, since nodes have other ports too
//! ```
//!
//! Until its name has an address nothing can be judged, and the guard lets nobody out.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use backends::transport::guard::Forbidden;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::Api;

use super::Connection;

/// How long one question may take. A resolver that hangs is not waited for.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How long until it is asked again: while nothing is known, and after that.
const SOON: Duration = Duration::from_secs(1);
const LATER: Duration = Duration::from_secs(60);
/// What tells a pod where the API server's Service is.
const SERVICE: &str = "KUBERNETES_SERVICE_HOST";

/// Begins to learn where the API server is, and goes on while the process runs.
pub fn learn(connection: &Connection) -> Forbidden {
    let forbidden = Forbidden::awaited();
    let url = &connection.config.cluster_url;
    let host = url.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']').to_owned();
    // An address is known at once.
    if let Ok(address) = host.parse::<IpAddr>() {
        forbidden.learn([address], []);
    }
    tokio::spawn(keep_learning(connection.clone(), host, forbidden.clone()));
    forbidden
}

async fn keep_learning(connection: Connection, host: String, forbidden: Forbidden) {
    let port = connection.config.cluster_url.port_u16().unwrap_or(443);
    let service = std::env::var(SERVICE).ok().and_then(|text| text.parse::<IpAddr>().ok());
    loop {
        let found = addresses(&host, port).await;
        // What the environment says is true, but not all: the name that we use ourselves decides.
        if !found.is_empty() {
            forbidden.learn(found.into_iter().chain(service), []);
            forbidden.learn([], processes(&connection).await);
        }
        tokio::time::sleep(if forbidden.is_known() { LATER } else { SOON }).await;
    }
}

/// The addresses of the host that we reach it by.
async fn addresses(host: &str, port: u16) -> Vec<IpAddr> {
    match tokio::time::timeout(TIMEOUT, tokio::net::lookup_host((host, port))).await {
        Ok(Ok(found)) => found.map(|address| address.ip()).collect(),
        _ => Vec::new(),
    }
}

/// Where its processes listen; nothing where we may not know.
async fn processes(connection: &Connection) -> Vec<SocketAddr> {
    let slices: Api<EndpointSlice> = Api::namespaced(connection.client.clone(), "default");
    match tokio::time::timeout(TIMEOUT, slices.get("kubernetes")).await {
        Ok(Ok(slice)) => sockets(&slice),
        _ => Vec::new(),
    }
}

fn sockets(slice: &EndpointSlice) -> Vec<SocketAddr> {
    let ports = slice.ports.iter().flatten().filter_map(|port| u16::try_from(port.port?).ok());
    let ports: Vec<u16> = ports.collect();
    let addresses = slice.endpoints.iter().flat_map(|endpoint| &endpoint.addresses);
    let addresses = addresses.filter_map(|text| text.parse::<IpAddr>().ok());
    addresses.flat_map(|address| ports.iter().map(move |port| SocketAddr::new(address, *port))).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use serde_json::json;

    #[test]
    fn the_processes_of_the_api_server_are_nodes_with_its_port() {
        let slice = json!({ "metadata": { "name": "kubernetes" }, "addressType": "IPv4",
            "endpoints": [{ "addresses": ["192.0.2.7"] }, { "addresses": ["192.0.2.8"] }],
            "ports": [{ "name": "https", "port": 6443 }] });
        let found = sockets(&serde_json::from_value(slice).unwrap());
        assert_eq!(found, ["192.0.2.7:6443", "192.0.2.8:6443"].map(|text| text.parse().unwrap()));
    }

    #[tokio::test]
    async fn a_host_without_an_address_leaves_the_guard_shut() {
        let forbidden = Forbidden::awaited();
        let found = addresses("", 443).await;
        assert!(found.is_empty() && !forbidden.is_known());
        forbidden.learn(addresses("127.0.0.1", 443).await, []);
        assert!(forbidden.is_known());
    }
}
