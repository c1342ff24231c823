//! What one HTTP listener allows.

use std::time::Duration;

use crate::files;

/// The default number of connections of a listener.
pub const CONNECTIONS: usize = 256;
/// A listener has at most this share of the process's file descriptors. Four listeners, the most that a process
/// has, leave three quarters to DNS over TCP, probes, deliveries and watches.
const SHARE_OF_FILES: u64 = 16;
/// What a listener has however few file descriptors there are.
const LEAST_CONNECTIONS: usize = 8;
/// One client address has at most this share of the connections.
const SHARE_OF_CLIENT: usize = 4;

/// What one HTTP listener allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections in all.
    pub connections: usize,
    /// Connections of one client: an IPv4 address, or an IPv6 network of 64 bits.
    pub connections_of_client: usize,
    /// Header fields of a request.
    pub headers: usize,
    /// Octets of a request's line and headers.
    pub header_octets: usize,
    /// The buffer of a connection in each direction, in octets.
    pub buffer: usize,
    /// How long a client may take for the TLS handshake, for its headers, and between two requests.
    pub header_time: Duration,
    /// How long a client may go without reading anything of a response that waits for it.
    pub stall_time: Duration,
    /// How long a request may take, from the end of its headers and body to the end of the response.
    pub request_time: Duration,
}

impl Limits {
    /// The limits of a listener with so many connections, fewer where the system allows few open files.
    pub fn new(connections: usize) -> Limits {
        let files = files::limit().map_or(usize::MAX, |files| usize::try_from(files).unwrap_or(usize::MAX));
        let share = (files / SHARE_OF_FILES as usize).max(LEAST_CONNECTIONS);
        let connections = connections.min(share);
        Limits {
            connections,
            connections_of_client: (connections / SHARE_OF_CLIENT).max(LEAST_CONNECTIONS).min(connections),
            headers: 64,
            header_octets: 32 << 10,
            buffer: 32 << 10,
            header_time: Duration::from_secs(10),
            stall_time: Duration::from_secs(20),
            request_time: Duration::from_secs(300),
        }
    }

    /// The same limits where all requests come from one client, such as the API server.
    pub fn for_one_client(self) -> Limits {
        Limits { connections_of_client: self.connections, ..self }
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits::new(CONNECTIONS)
    }
}
