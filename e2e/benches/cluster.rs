//! The operator and the DNS server on a real API server, beside ExternalDNS: `cargo xtask bench cluster`.
//!
//! The world: 100 routes and one policy a namespace, 500 routes a Gateway, one controller, which delivers by an
//! embedded class, so that each route is both a DNSEndpoint and an answer. Everything is measured in one
//! run on one machine; what a process used is what the kernel says of it.

#[path = "cluster/external_dns.rs"]
mod external_dns;
#[path = "cluster/ours.rs"]
mod ours;
#[path = "cluster/world.rs"]
mod world;

use anyhow::Result;

fn main() -> Result<()> {
    let numbers: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let [routes, changes, beside] = numbers.as_slice() else {
        println!("usage: cargo xtask bench cluster [--routes NUMBER] [--changes NUMBER] [--no-external-dns]");
        return Ok(());
    };
    let small = ours::measure(routes / 10, *changes)?;
    let large = ours::measure(*routes, *changes)?;
    println!("\n## One change at {} and at {routes} routes", routes / 10);
    println!("processor time: {:.2} times", large.milliseconds / small.milliseconds);
    if *beside > 0 {
        external_dns::measure(*routes, (*changes).min(20))?;
    }
    Ok(())
}
