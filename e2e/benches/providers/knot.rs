//! Knot, by dynamic updates.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use api::dnsclass::TsigAlgorithm;
use backends::rfc2136::{Key, Rfc2136, Settings};
use backends::transport::guard::Guard;
use e2e::{KEYS, UpdateProgram, UpdateServer, key_secret};

use crate::delivering::Delivering;
use crate::world::{ZONE, median, milliseconds, nodes};

/// Measures it and prints what was seen.
pub(crate) fn measure(records: usize, rounds: usize) -> Result<()> {
    let (mut all, mut ten) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let server = UpdateServer::start(UpdateProgram::Knot, &[ZONE])?;
        let mut delivering = Delivering::start(Arc::new(provider(&server)?))?;
        all.push(delivering.deliver(nodes(0..records, [192, 0, 2, 1])?)?);
        std::thread::sleep(Duration::from_secs(1));
        ten.push(delivering.deliver(nodes(0..10, [192, 0, 2, 2])?)?);
    }
    println!("Knot by RFC 2136, {records} records, {rounds} rounds");
    println!("  all read back after {:.0} ms", milliseconds(median(&all)?));
    println!("  ten changed: {:.1} ms", milliseconds(median(&ten)?));
    Ok(())
}

fn provider(server: &UpdateServer) -> Result<Rfc2136> {
    let guard = Guard { allowed: vec!["127.0.0.0/8".parse()?], ..Guard::default() };
    let key = Key { name: KEYS[0].0.parse()?, algorithm: TsigAlgorithm::HmacSha256, secret: key_secret() };
    let server = server.dns().to_string();
    let settings = Settings { server, key: Some(key), timeout: Duration::from_secs(30) };
    Ok(Rfc2136::new(settings, Arc::new(guard))?)
}
