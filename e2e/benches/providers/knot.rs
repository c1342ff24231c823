//! Knot, by dynamic updates.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use api::dnsclass::TsigAlgorithm;
use backends::rfc2136::{Key, Rfc2136, Settings};
use backends::transport::guard::Guard;
use e2e::{KEYS, UpdateProgram, UpdateServer, dig, key_secret};

use crate::delivering::{Delivering, Times};
use crate::recorder::Recorder;
use crate::world::{ZONE, median, milliseconds, nodes};

/// What Knot was asked for.
#[derive(Clone, Copy, Debug)]
struct Requests {
    updates: usize,
    transfers: usize,
    queries: usize,
    /// The zone's serial, which moves once for all updates that Knot finds in its queue together.
    serial: usize,
}

/// Measures it and prints what was seen.
pub(crate) fn measure(records: usize, rounds: usize) -> Result<()> {
    let (mut all, mut ten, mut last) = (Vec::new(), Vec::new(), None);
    for _ in 0..rounds {
        let server = UpdateServer::start(UpdateProgram::Knot, &[ZONE])?;
        let recorder = Recorder::new(provider(&server)?);
        let mut delivering = Delivering::start(recorder.clone())?;
        let start = Requests::of(&server)?;
        all.push(delivering.deliver(nodes(0..records, [192, 0, 2, 1])?)?);
        let requests = Requests::of(&server)?.since(&start);
        let seen = recorder.seen();
        ensure!(seen.repeated == 0, "{} of {} sets were written twice", seen.repeated, seen.sets);
        std::thread::sleep(Duration::from_secs(1));
        let before = Requests::of(&server)?;
        ten.push(delivering.deliver(nodes(0..10, [192, 0, 2, 2])?)?);
        last = Some((requests, seen.sets, Requests::of(&server)?.since(&before)));
    }
    let (requests, sets, for_ten) = last.context("nothing was measured")?;
    println!("Knot by RFC 2136, {records} records, {rounds} rounds");
    println!("  all written after {:.0} ms", middle(&all, |times| times.written)?);
    println!("  all read back after {:.0} ms", middle(&all, |times| times.read_back)?);
    println!("  requests: {requests:?}; sets written: {sets}, repeated: 0");
    println!("  ten changed: {:.1} ms, {for_ten:?}", middle(&ten, |times| times.read_back)?);
    Ok(())
}

impl Requests {
    fn of(server: &UpdateServer) -> Result<Requests> {
        let soa = dig(server.dns(), &format!("{ZONE} SOA"))?.data("SOA");
        let serial = soa.first().and_then(|data| data.split(' ').nth(2)).context("a zone has a serial")?;
        Ok(Requests {
            updates: server.requests("update")?,
            transfers: server.requests("axfr")?,
            queries: server.requests("query")?,
            serial: serial.parse()?,
        })
    }

    fn since(&self, before: &Requests) -> Requests {
        Requests {
            updates: self.updates - before.updates,
            transfers: self.transfers - before.transfers,
            // The question for the serial is the bench's own.
            queries: self.queries - before.queries - 1,
            serial: self.serial - before.serial,
        }
    }
}

fn middle(times: &[Times], of: impl Fn(&Times) -> Duration) -> Result<f64> {
    Ok(milliseconds(median(&times.iter().map(of).collect::<Vec<_>>())?))
}

fn provider(server: &UpdateServer) -> Result<Rfc2136> {
    let guard = Guard { allowed: vec!["127.0.0.0/8".parse()?], ..Guard::default() };
    let key = Key { name: KEYS[0].0.parse()?, algorithm: TsigAlgorithm::HmacSha256, secret: key_secret() };
    let server = server.dns().to_string();
    let settings = Settings { server, key: Some(key), timeout: Duration::from_secs(30) };
    Ok(Rfc2136::new(settings, Arc::new(guard))?)
}
