//! From a changed file to a changed answer: `cargo xtask bench up`.
//!
//! A world of records in files of 100 documents is served by `fingerpost up`. One document at a time gets
//! another address, and the time from the rename of its file until the answer changes is taken. Meanwhile
//! another client asks for that name and for names that do not change, and counts what is wrong or missing.

use std::fmt::Write;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use e2e::{Expectation, Folder, Options, Up, Watcher, ask};

const DOCUMENTS_A_FILE: usize = 100;
const CHANGED: &str = "host-0.example.org";

fn main() -> Result<()> {
    let numbers: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let [records, changes] = numbers.as_slice() else {
        println!("usage: cargo xtask bench up [--records NUMBER] [--changes NUMBER]");
        return Ok(());
    };
    measure(*records, *changes)
}

fn measure(records: usize, changes: usize) -> Result<()> {
    let folder = world(records)?;
    let start = Instant::now();
    let up = Up::start(Options::folder(folder.path()))?;
    println!(
        "{records} records in files of {DOCUMENTS_A_FILE}: ready after {:.2} s",
        start.elapsed().as_secs_f64()
    );
    let watcher = Watcher::start(up.dns(0), expectations(records));
    let mut times = (1..=changes).map(|round| change(&folder, &up, round)).collect::<Result<Vec<_>>>()?;
    let report = watcher.stop()?;
    times.sort();
    let median = times.get(times.len() / 2).context("no change was timed")?;
    println!(
        "{changes} changes: median {:.1} ms, max {:.1} ms",
        milliseconds(median),
        milliseconds(&times[times.len() - 1])
    );
    println!("{} queries meanwhile, {} wrong or missing", report.queries, report.bad.len());
    ensure!(report.bad.is_empty(), "the first of them: {}", report.bad[0]);
    Ok(())
}

/// Changes the first document of the first file and waits for the answer.
fn change(folder: &Folder, up: &Up, round: usize) -> Result<Duration> {
    let text = file(0, address(round % 2));
    let expected = format!("A {}", address(round % 2));
    folder.write(&file_name(0), &text)?;
    let start = Instant::now();
    while !ask(up.dns(0), CHANGED)?.records.contains(&expected) {
        ensure!(start.elapsed() < Duration::from_secs(30), "the answer did not change within 30 s");
        std::thread::sleep(Duration::from_millis(1));
    }
    let took = start.elapsed();
    // Changes are apart from each other, as people's are; otherwise the debounce would be measured.
    std::thread::sleep(Duration::from_millis(100));
    Ok(took)
}

/// The two addresses that the changed name takes turns with.
fn address(turn: usize) -> &'static str {
    if turn == 0 { "192.0.2.1" } else { "192.0.2.2" }
}

fn expectations(records: usize) -> Vec<Expectation> {
    let mut all = vec![Expectation::new(CHANGED, &[&["A 192.0.2.1"], &["A 192.0.2.2"]])];
    let others = [1, records / 2, records - 1].into_iter().filter(|number| *number > 0 && *number < records);
    all.extend(others.map(|n| Expectation::new(&format!("host-{n}.example.org"), &[&["A 192.0.2.1"]])));
    all
}

fn world(records: usize) -> Result<Folder> {
    let folder = Folder::new()?;
    folder.write("zone.yaml", ZONE)?;
    for number in 0..records.div_ceil(DOCUMENTS_A_FILE) {
        folder.write(&file_name(number), &file(number, address(0)))?;
    }
    Ok(folder)
}

const ZONE: &str = "\
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {name: example-org, namespace: dns}
spec: {domainName: example.org.}
";

fn file_name(number: usize) -> String {
    format!("records-{number:05}.yaml")
}

/// A file of records; the first of them has the given address.
fn file(number: usize, first: &str) -> String {
    let mut text = String::new();
    for index in 0..DOCUMENTS_A_FILE {
        let host = number * DOCUMENTS_A_FILE + index;
        let address = if index == 0 { first } else { address(0) };
        let _ = write!(
            text,
            "---\napiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {{name: host-{host}, namespace: dns}}\n\
             spec: {{domainName: host-{host}, zoneRef: {{name: example-org}}, type: A, rdata: {address}}}\n"
        );
    }
    text
}

fn milliseconds(time: &Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}
