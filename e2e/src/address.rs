//! Loopback addresses of one's own, so that everything can listen on the port that it is known by.
//!
//! Each test process has one network of 16 bits. A socket with an abstract name, which lasts exactly as long as
//! the process, keeps every other process of the same network namespace out of it.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};

/// The last numbers of an address, so that none ends in 0 or 255.
const HOSTS: u16 = 254;
/// Tests bind these themselves, for clients of a network of their own.
const OF_CLIENTS: u8 = 77;

/// An address in 127.0.0.0/8 that no other call returns, in this process or in another that runs.
pub fn own_address() -> IpAddr {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    // The addresses come again after 65,000, far more than all tests together need.
    let [_, network] = (number / HOSTS).to_be_bytes();
    let [_, host] = (number % HOSTS + 1).to_be_bytes();
    IpAddr::V4(Ipv4Addr::new(127, own_network(), network, host))
}

/// The second number of all addresses of this process.
fn own_network() -> u8 {
    static OWN: OnceLock<(u8, Option<UnixListener>)> = OnceLock::new();
    OWN.get_or_init(|| {
        let [.., first] = std::process::id().to_be_bytes();
        let candidates = (0..=u8::MAX).map(|step| first.wrapping_add(step));
        let mut free = candidates.filter(|network| !matches!(*network, 0 | OF_CLIENTS | u8::MAX));
        // Where all are taken, or there are no such sockets, two processes may have the same.
        let locked = free.find_map(|network| Some((network, Some(lock(network).ok()?))));
        locked.unwrap_or((first.clamp(1, OF_CLIENTS - 1), None))
    })
    .0
}

/// Takes a network until the value is dropped.
fn lock(network: u8) -> io::Result<UnixListener> {
    let name = format!("fingerpost-test-network-{network}");
    UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use std::collections::HashSet;

    use super::*;

    #[test]
    fn no_address_is_returned_twice() {
        let addresses: Vec<IpAddr> = (0..2000).map(|_| own_address()).collect();
        assert_eq!(addresses.iter().collect::<HashSet<_>>().len(), addresses.len());
        assert!(addresses.iter().all(IpAddr::is_loopback));
    }

    #[test]
    fn no_other_process_has_the_same_network() {
        let network = own_network();
        assert_eq!(lock(network).unwrap_err().kind(), io::ErrorKind::AddrInUse);
    }
}
