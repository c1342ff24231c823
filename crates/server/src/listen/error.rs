//! Why an address cannot be bound, and what to do about it.

use std::io;
use std::net::SocketAddr;

use crate::Transport;

/// Why an address cannot be bound.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Another socket has the port.
    #[error(
        "{transport} port {} of {} is in use by another program; stop that program, or listen on another port",
        address.port(), address.ip()
    )]
    InUse {
        /// UDP or TCP.
        transport: &'static str,
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The port is below 1024 and the process may not have it.
    #[error(
        "no permission for {transport} port {} of {}; listen on a port from 1024 on, or grant CAP_NET_BIND_SERVICE",
        address.port(), address.ip()
    )]
    NotPermitted {
        /// UDP or TCP.
        transport: &'static str,
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// No interface has the address.
    #[error("{} is not an address of this machine; listen on one of its own addresses", address.ip())]
    NotHere {
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// Anything else.
    #[error("cannot listen on {transport} port {} of {}", address.port(), address.ip())]
    Other {
        /// UDP or TCP.
        transport: &'static str,
        /// The address.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
}

impl ListenError {
    pub(super) fn new(transport: Transport, address: SocketAddr, source: io::Error) -> ListenError {
        let transport = match transport {
            Transport::Udp => "UDP",
            Transport::Tcp => "TCP",
            Transport::Tls => "TLS",
        };
        match source.kind() {
            io::ErrorKind::AddrInUse => ListenError::InUse { transport, address, source },
            io::ErrorKind::PermissionDenied => ListenError::NotPermitted { transport, address, source },
            io::ErrorKind::AddrNotAvailable => ListenError::NotHere { address, source },
            _ => ListenError::Other { transport, address, source },
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case(
        io::ErrorKind::AddrInUse,
        "UDP port 53 of 192.0.2.1 is in use by another program; stop that program, or listen on another port"
    )]
    #[case(
        io::ErrorKind::PermissionDenied,
        "no permission for UDP port 53 of 192.0.2.1; listen on a port from 1024 on, or grant CAP_NET_BIND_SERVICE"
    )]
    #[case(
        io::ErrorKind::AddrNotAvailable,
        "192.0.2.1 is not an address of this machine; listen on one of its own addresses"
    )]
    #[case(io::ErrorKind::OutOfMemory, "cannot listen on UDP port 53 of 192.0.2.1")]
    fn an_error_says_what_to_do(#[case] kind: io::ErrorKind, #[case] message: &str) {
        let error = ListenError::new(Transport::Udp, "192.0.2.1:53".parse().unwrap(), kind.into());
        assert_eq!(error.to_string(), message);
    }
}
