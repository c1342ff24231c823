//! A zone file of many records: edited, overridden, restarted, and never without an answer.

use std::fmt::Write;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use e2e::{Expectation, Folder, Options, Up, Watcher, ask, call, fingerpost, run};

const RECORDS: usize = 100_000;
/// Long enough for a machine that has other things to do.
const PATIENCE: Duration = Duration::from_secs(60);

const CLASS: &str = "{apiVersion: dns.homelab.mortenolsen.pro/v1alpha1, kind: DNSClass, metadata: {name: main}, \
                     spec: {embedded: {}}}\n";

/// A zone file whose last name has this address; its lines are in no canonical order.
fn zone(last: &str) -> Result<String> {
    let mut text =
        "$TTL 300\n@ SOA ns hostmaster 1 7200 3600 1209600 300\n@ NS ns\nns A 192.0.2.53\n".to_owned();
    for number in 0..RECORDS {
        writeln!(text, "host-{number} IN A 10.0.{}.{}", number >> 8 & 255, number & 255)?;
    }
    writeln!(text, "$GENERATE 1-{RECORDS} made-$ A 10.1.2.3")?;
    writeln!(text, "last A {last}")?;
    Ok(text)
}

/// Over the file, since what says its age is older than a file, which does not.
fn record(address: &str) -> String {
    format!(
        "{{apiVersion: dns.homelab.mortenolsen.pro/v1alpha1, kind: DNSRecord, \
         metadata: {{name: over, namespace: default, creationTimestamp: \"2020-01-01T00:00:00Z\"}}, spec: {{domain: example.org, subdomain: host-7, type: A, \
         values: [{address}], dnsClassRef: {{name: main}}}}}}\n"
    )
}

fn wait_for(up: &Up, name: &str, record: &str) -> Result<()> {
    let start = Instant::now();
    while ask(up.dns(0), name)?.records != [record] {
        if start.elapsed() > PATIENCE {
            bail!("{name} is never {record}, but {}", ask(up.dns(0), name)?);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

fn folder() -> Result<Folder> {
    let folder = Folder::new()?;
    folder.write("class.yaml", CLASS)?;
    folder.write("example.org.zone", &zone("192.0.2.1")?)?;
    Ok(folder)
}

#[test]
fn a_large_zone_is_edited_and_overridden_and_nothing_blinks() -> Result<()> {
    let folder = folder()?;
    folder.write("over.yaml", &record("192.0.2.7"))?;
    let up = Up::start(Options::folder(folder.path()))?;
    let watcher = Watcher::start(
        up.dns(0),
        vec![
            Expectation::new("last.example.org", &[&["A 192.0.2.1"], &["A 192.0.2.2"]]),
            Expectation::new("host-99999.example.org", &[&["A 10.0.134.159"]]),
            Expectation::new("made-77777.example.org", &[&["A 10.1.2.3"]]),
            Expectation::new("host-7.example.org", &[&["A 10.0.0.7"], &["A 192.0.2.7"]]),
        ],
    );
    wait_for(&up, "host-7.example.org", "A 192.0.2.7")?;
    folder.write("example.org.zone", &zone("192.0.2.2")?)?;
    wait_for(&up, "last.example.org", "A 192.0.2.2")?;
    assert_eq!(ask(up.dns(0), "host-7.example.org")?.records, ["A 192.0.2.7"], "over the new file too");
    std::fs::remove_file(folder.path().join("over.yaml"))?;
    wait_for(&up, "host-7.example.org", "A 10.0.0.7")?;
    // A record that comes later takes nothing from the file, which holds the name by now.
    folder.write("over.yaml", &record("192.0.2.8"))?;
    up.wait_for_output("belongs to zone file")?;
    assert_eq!(ask(up.dns(0), "host-7.example.org")?.records, ["A 10.0.0.7"]);
    let report = watcher.stop()?;
    assert!(report.queries > 10, "only {} queries", report.queries);
    assert!(report.bad.is_empty(), "{} of {} answers: {:?}", report.bad.len(), report.queries, report.bad);
    Ok(())
}

#[test]
fn a_large_zone_answers_after_a_restart_without_its_folder() -> Result<()> {
    let (folder, state) = (folder()?, Folder::new()?);
    let options = || Options::folder(folder.path()).state(state.path());
    folder.write("over.yaml", &record("192.0.2.7"))?;
    let up = Up::start(options())?;
    wait_for(&up, "host-7.example.org", "A 192.0.2.7")?;
    up.wait_for_output("host-7.example.org")?;
    // What was served is in the state a moment later.
    std::thread::sleep(Duration::from_secs(3));
    drop(up);
    std::fs::remove_dir_all(folder.path())?;
    let up = Up::start(options())?;
    for (name, expected) in [
        ("host-7.example.org", "A 192.0.2.7"),
        ("host-99999.example.org", "A 10.0.134.159"),
        ("made-1.example.org", "A 10.1.2.3"),
        ("last.example.org", "A 192.0.2.1"),
    ] {
        assert_eq!(ask(up.dns(0), name)?.records, [expected], "{name}");
    }
    assert_eq!(ask(up.dns(0), "none.example.org")?.code, "Non-Existent Domain");
    Ok(())
}

/// A zone file with so many records in one line, beside its own three.
fn generated(records: usize) -> Result<Folder> {
    let folder = Folder::new()?;
    let zone = "$TTL 300\n@ SOA ns noc 1 7200 3600 1209600 300\n@ NS ns\nns A 192.0.2.53\n";
    folder.write("example.org.zone", &format!("{zone}$GENERATE 1-{records} made-$ A 10.1.2.3\n"))?;
    Ok(folder)
}

#[test]
fn a_million_generated_records_are_answered() -> Result<()> {
    let folder = generated(1_000_000)?;
    let up = Up::start(Options::folder(folder.path()))?;
    for name in ["made-1.example.org", "made-500000.example.org", "made-1000000.example.org"] {
        assert_eq!(ask(up.dns(0), name)?.records, ["A 10.1.2.3"], "{name}");
    }
    assert_eq!(ask(up.dns(0), "made-1000001.example.org")?.code, "Non-Existent Domain");
    up.wait_for_output("zone example.org.  1,000,003 records")
}

/// A build for tests takes long enough over them that somebody would wonder.
#[test]
fn on_a_terminal_a_bar_counts_the_records_of_a_large_zone_file_and_elsewhere_nothing_does() -> Result<()> {
    let folder = generated(300_000)?;
    let path = folder.path().display().to_string();
    let command = format!("{} check {path}", fingerpost()?.display());
    let shown = call("script", "bsdutils", &["--quiet", "--return", "--command", &command, "/dev/null"])?;
    let text = String::from_utf8_lossy(&shown.stdout);
    assert!(shown.status.success() && text.contains("good: "), "{text}");
    assert!(text.contains("reading █") && text.contains("0 of 1 files, 300,003 records,"), "{text}");
    let piped = run(&["check", &path])?;
    assert!(piped.status.success() && piped.stderr.is_empty(), "{piped:?}");
    Ok(())
}
