//! Records into real providers: `cargo xtask bench providers`.
//!
//! The delivery brings so many records into an empty zone, and then ten changed ones. Beside it a bare client
//! sends the same RRsets, marks included, to a PowerDNS of its own in the best batches; the two take turns.

#[path = "providers/bare.rs"]
mod bare;
#[path = "providers/delivering.rs"]
mod delivering;
#[path = "providers/knot.rs"]
mod knot;
#[path = "providers/powerdns.rs"]
mod powerdns;
#[path = "providers/recorder.rs"]
mod recorder;
#[path = "providers/world.rs"]
mod world;

use anyhow::Result;
use e2e::Store;

fn main() -> Result<()> {
    let numbers: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let [records, rounds] = numbers.as_slice() else {
        println!("usage: cargo xtask bench providers [--records NUMBER] [--rounds NUMBER]");
        return Ok(());
    };
    for store in Store::ALL {
        powerdns::measure(store, *records, *rounds)?;
    }
    knot::measure(*records, *rounds)
}
