//! A change of the folder reaches the answers, and nothing else blinks.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use e2e::{Expectation, Folder, Options, Up, Watcher, ask};

const WEB: [&str; 2] = ["web-ns-p-prod-shop.example.org", "CNAME aks01-weu-public.example.org."];

#[test]
fn changed_manifest_answers_differently_and_nothing_blinks() -> Result<()> {
    let folder = Folder::copy_of("quickstart")?;
    let up = Up::start(Options::folder(folder.path()))?;
    let watcher = Watcher::start(
        up.dns(0),
        vec![
            Expectation::new(WEB[0], &[&["A 192.0.2.10", WEB[1]], &["A 192.0.2.99", WEB[1]]]),
            Expectation::new("ns1.example.org", &[&["A 192.0.2.53"]]),
        ],
    );
    for _ in 0..5 {
        folder.replace("gateway.yaml", "ip: 192.0.2.10\n", "ip: 192.0.2.99\n")?;
        wait_for(up.dns(0), WEB[0], "A 192.0.2.99")?;
        folder.replace("gateway.yaml", "ip: 192.0.2.99\n", "ip: 192.0.2.10\n")?;
        wait_for(up.dns(0), WEB[0], "A 192.0.2.10")?;
    }
    let report = watcher.stop()?;
    assert!(report.queries > 10, "only {} queries", report.queries);
    assert!(report.bad.is_empty(), "{} of {} answers: {:?}", report.bad.len(), report.queries, report.bad);
    Ok(())
}

#[test]
fn new_file_adds_a_name_and_its_removal_takes_it_away() -> Result<()> {
    let folder = Folder::copy_of("quickstart")?;
    let up = Up::start(Options::folder(folder.path()))?;
    assert_eq!(ask(up.dns(0), "docs.example.org")?.code, "Non-Existent Domain");
    folder.write("docs.yaml", &record("docs", "192.0.2.33"))?;
    wait_for(up.dns(0), "docs.example.org", "A 192.0.2.33")?;
    std::fs::remove_file(folder.path().join("docs.yaml"))?;
    wait_until(|| Ok(ask(up.dns(0), "docs.example.org")?.code == "Non-Existent Domain"))
}

#[test]
fn every_change_is_one_line_of_output() -> Result<()> {
    let folder = Folder::copy_of("quickstart")?;
    let up = Up::start(Options::folder(folder.path()))?;
    folder.write("docs.yaml", &record("docs", "192.0.2.33"))?;
    up.wait_for_output("docs.example.org")
}

#[test]
fn serial_moves_with_the_content() -> Result<()> {
    let folder = Folder::copy_of("quickstart")?;
    let up = Up::start(Options::folder(folder.path()))?;
    let before = serial(up.dns(0))?;
    folder.write("docs.yaml", &record("docs", "192.0.2.33"))?;
    wait_for(up.dns(0), "docs.example.org", "A 192.0.2.33")?;
    assert_eq!(serial(up.dns(0))?, before + 1);
    Ok(())
}

#[test]
fn takeover_by_region_moves_every_view() -> Result<()> {
    let (weu, neu) = (Folder::copy_of("regions/weu")?, Folder::copy_of("regions/neu")?);
    let clusters = [("weu", weu.path().to_path_buf()), ("neu", neu.path().to_path_buf())];
    let up = Up::start(Options::clusters(&clusters))?;
    for folder in [&neu, &weu] {
        folder.replace("apps.yaml", "sourceRegion: weu", "sourceRegion: neu")?;
    }
    (0..3).try_for_each(|view| {
        wait_for(up.dns(view), "console-ns-p-prod-admin.apps.example.com", "A 198.51.100.10")
    })
}

fn record(name: &str, address: &str) -> String {
    format!(
        "apiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {{name: {name}, namespace: dns}}\n\
         spec: {{domainName: {name}, zoneRef: {{name: example-org}}, type: A, rdata: {address}}}\n"
    )
}

fn serial(server: SocketAddr) -> Result<u32> {
    let reply = e2e::dig(server, "example.org SOA")?;
    let soa = reply.data("SOA").pop().unwrap_or_default();
    Ok(soa.split(' ').nth(2).unwrap_or_default().parse()?)
}

fn wait_for(server: SocketAddr, name: &str, record: &str) -> Result<()> {
    wait_until(|| Ok(ask(server, name)?.records.iter().any(|found| found == record)))
}

fn wait_until(holds: impl Fn() -> Result<bool>) -> Result<()> {
    let start = Instant::now();
    while !holds()? {
        if start.elapsed() > Duration::from_secs(20) {
            bail!("the answer did not change within 20 s");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}
