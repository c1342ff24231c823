//! Changes in the zone of a million names, while somebody asks all the time.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use e2e::{Expectation, Watcher, ask};

use super::{FILE, REST, Site};
use crate::rows::{address, label};
use crate::running::ALL_CORES;
use crate::statistics::quantile;
use crate::{datagrams, rows};

/// How often the record changes.
const RECORD_CHANGES: u8 = 20;
/// How often the file changes.
const FILE_CHANGES: u8 = 3;
/// The name of the record that is an object.
const RECORD: &str = "record.static.example";
/// The number of the name that the file changes.
const EDITED: usize = 500_000;

/// The object, at one of its addresses.
pub(super) fn record(turn: u8) -> String {
    format!(
        "apiVersion: dns.homelab.mortenolsen.pro/v1alpha1\nkind: DNSRecord\n\
         metadata: {{name: record, namespace: default}}\n\
         spec: {{type: A, domain: static.example, subdomain: record, dnsClassRef: {{name: bench}}, \
         values: [192.0.2.{turn}], ttl: 60}}\n"
    )
}

/// Changes record and file, and says when each was answered.
pub(super) fn measure(site: &Site, text: &str) -> Result<String> {
    // The watching client may use either core, as the server does.
    datagrams::pin(&ALL_CORES)?;
    let mut server = site.start(&ALL_CORES)?;
    server.wait_for(&rows::Row::Static.questions()[0])?;
    until(server.address, RECORD, "192.0.2.0")?;
    // A start goes on behind the first answers: the file is read again, the state is written.
    std::thread::sleep(REST);
    let edited = format!("{}.static.example", label(EDITED));
    let watcher = Watcher::start(server.address, expectations(&edited));
    let records = (1..=RECORD_CHANGES).map(|turn| {
        site.folder.write("record.yaml", &record(turn))?;
        let took = until(server.address, RECORD, &format!("192.0.2.{turn}"));
        // Changes are apart from each other, as people's are; otherwise the debounce would be measured.
        std::thread::sleep(Duration::from_millis(100));
        took
    });
    let records = records.collect::<Result<Vec<_>>>()?;
    let files = (1..=FILE_CHANGES).map(|turn| edit(site, server.address, text, &edited, turn));
    let files = files.collect::<Result<Vec<_>>>()?;
    let report = watcher.stop()?;
    let first = report.bad.first().map(|bad| format!(", the first: {bad}")).unwrap_or_default();
    Ok(format!(
        "Changes in the zone of 1M names, answered after (the file watcher waits 20 ms of it):\n\
         a DNSRecord {}, the edited file {}; {} queries meanwhile, {} wrong or missing{first}\n",
        times(records),
        times(files),
        report.queries,
        report.bad.len()
    ))
}

fn edit(site: &Site, server: SocketAddr, text: &str, name: &str, turn: u8) -> Result<Duration> {
    let line = format!("{} A {}\n", label(EDITED), address(0, EDITED));
    ensure!(text.contains(&line), "the file does not hold `{line}`");
    let new = format!("192.0.3.{turn}");
    // The serial moves as an editor's would.
    let text = text.replacen(" 1 7200 ", &format!(" {} 7200 ", u32::from(turn) + 1), 1);
    site.folder.write(FILE, &text.replacen(&line, &format!("{} A {new}\n", label(EDITED)), 1))?;
    until(server, name, &new)
}

/// Asks until the address is answered; how long that took.
fn until(server: SocketAddr, name: &str, address: &str) -> Result<Duration> {
    let (start, expected) = (Instant::now(), [format!("A {address}")]);
    loop {
        let reply = ask(server, name).with_context(|| format!("while waiting for {address}"))?;
        if reply.records == expected {
            return Ok(start.elapsed());
        }
        ensure!(start.elapsed() < Duration::from_secs(60), "{name} is {reply} after a minute, not {address}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// What may be answered meanwhile: for what changes, any of its addresses.
fn expectations(edited: &str) -> Vec<Expectation> {
    let one = |name: &str, addresses: Vec<String>| {
        let allowed = addresses.into_iter().map(|address| vec![format!("A {address}")]).collect();
        Expectation { name: name.to_owned(), allowed }
    };
    let fixed =
        |number| one(&format!("{}.static.example", label(number)), vec![address(0, number).to_string()]);
    let records = (0..=RECORD_CHANGES).map(|turn| format!("192.0.2.{turn}")).collect();
    let files = (1..=FILE_CHANGES).map(|turn| format!("192.0.3.{turn}"));
    let files = files.chain([address(0, EDITED).to_string()]).collect();
    vec![one(RECORD, records), one(edited, files), fixed(0), fixed(999_999)]
}

fn times(took: Vec<Duration>) -> String {
    let mut milliseconds: Vec<f64> = took.iter().map(|took| took.as_secs_f64() * 1e3).collect();
    milliseconds.sort_by(f64::total_cmp);
    let (median, most) = (quantile(&milliseconds, 0.5), quantile(&milliseconds, 1.0));
    format!("{median:.0} ms (at most {most:.0} ms of {})", milliseconds.len())
}
