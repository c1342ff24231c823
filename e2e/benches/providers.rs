//! scratch
#![allow(missing_docs)]
use std::time::Instant;
use anyhow::Result;
use backends::{Batch, Entry, NewZone, Provider, SetChange, SetKey};
use dns::{Name, Rdata, RecordSet, Rtype};
use e2e::{PowerDns, Store, block_on};

fn set(owner: &str, rtype: Rtype, data: &str) -> RecordSet {
    RecordSet::new(owner.parse().unwrap(), rtype, 300, vec![Rdata::parse(rtype, data, &Name::root()).unwrap()])
}
fn main() -> Result<()> {
    for round in 0..3 {
        for store in Store::ALL {
            let server = PowerDns::with(store, "webserver-max-bodysize=2")?;
            let provider = server.provider()?;
            let zone = NewZone { origin: "bench.test.".parse()?, soa: set("bench.test.", Rtype::SOA, "ns.bench.test. noc.bench.test. 1 2 3 4 5"), name_servers: set("bench.test.", Rtype::NS, "ns.bench.test.") };
            let marks: Vec<RecordSet> = (0..10_000).map(|n| set(&format!("abcdefgh.{n:032x}._fingerpost.bench.test."), Rtype::TXT, &format!("\"v=1 owner=fingerpost generation=1 name=n{n}.bench.test. types=A hash=0123456789abcdef\""))).collect();
            let sets: Vec<RecordSet> = (0..10_000).map(|n| set(&format!("n{n}.bench.test."), Rtype::A, "192.0.2.1")).collect();
            let batches = |sets: &[RecordSet], size| sets.chunks(size).map(|sets| Batch { zone: zone.origin.clone(), guards: vec![], generation: 1, changes: sets.iter().map(|set| SetChange { key: SetKey::of(set), before: None, after: Some(Entry::from(set.clone())) }).collect() }).collect::<Vec<_>>();
            let all: Vec<Batch> = [batches(&marks, 1000), batches(&sets, 1000)].concat();
            let start = Instant::now();
            let lap = |what: &str, last: &mut Instant| { print!("{what} {:.0} ", last.elapsed().as_secs_f64() * 1e3); *last = Instant::now(); };
            let mut last = start;
            block_on(provider.open_zone(&zone))??;
            lap("open", &mut last);
            block_on(provider.read_zone(&zone.origin))??;
            lap("read", &mut last);
            for batch in &all { for r in block_on(provider.write(batch))? { r?; } }
            lap("write", &mut last);
            block_on(provider.settle(&zone.origin))??;
            lap("settle", &mut last);
            let n = block_on(provider.read_zone(&zone.origin))??.len();
            lap("read", &mut last);
            let ours = start.elapsed();
            drop(server);
            print!(" | ");
            for size in [1000usize, 2000, 5000] {
            let server = PowerDns::with(store, "webserver-max-bodysize=20")?;
            let bodies: Vec<String> = [&marks, &sets].iter().flat_map(|s| s.chunks(size)).map(|sets| serde_json::json!({"rrsets": sets.iter().map(|s| serde_json::json!({"name": s.name.to_string(), "type": s.rtype.to_string(), "ttl": s.ttl, "changetype": "REPLACE", "records": [{"content": s.data[0].to_string()}]})).collect::<Vec<_>>()}).to_string()).collect();
            let start = Instant::now();
            let mut last = start;
            server.make_zone("bench.test")?;
            lap("make", &mut last);
            for body in &bodies { server.send("PATCH", "/zones/bench.test.", body)?; }
            lap("patch", &mut last);
            server.send("PUT", "/zones/bench.test./rectify", "")?;
            lap("rectify", &mut last);
            let bare = start.elapsed();
            print!(" ({size} {:.2}) ", ours.as_secs_f64() / bare.as_secs_f64());
            }
            println!("{round} {store:?} {n} ours {:.0} ms", ours.as_secs_f64() * 1e3);
        }
    }
    Ok(())
}
