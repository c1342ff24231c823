//! Loopback addresses of one's own, so that everything can listen on the port that it is known by.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU8, Ordering};

/// An address in 127.0.0.0/8 that is told apart by process and by call.
pub fn own_address() -> IpAddr {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    let [.., high, low] = std::process::id().to_be_bytes();
    IpAddr::V4(Ipv4Addr::new(
        127,
        high.clamp(1, 254),
        low.clamp(1, 254),
        NEXT.fetch_add(1, Ordering::Relaxed),
    ))
}
