//! The floor: what the kernel takes for itself.
//!
//! A bare loop of `recvmmsg` and `sendmmsg` that answers each datagram with one of a given length.

use std::net::{SocketAddr, UdpSocket};

use anyhow::Result;

use crate::datagrams::{Incoming, enlarge};

/// Sends back what arrives, for ever.
pub(crate) fn run(address: SocketAddr, length: usize) -> Result<()> {
    let socket = UdpSocket::bind(address)?;
    enlarge(&socket);
    let mut incoming = Incoming::new();
    loop {
        let received = incoming.wait(&socket)?;
        incoming.send_back(&socket, received, length)?;
    }
}
