//! `fingerpost switchover` over real witnesses and a real provider: every step that can fail does, and what the
//! command says is held against what clients get.

use std::process::{Command, Output};

use anyhow::{Context, Result};
use e2e::{
    Between, Etcd, Folder, Misdeed, Options, PowerDns, Process, Up, dig, fingerpost, powerdns_class, run,
    wait_for_within,
};
use serde_json::Value;

use crate::witness::{PATIENCE, Region, etcd_witness, placement, two};

/// A switchover that goes on beside the test.
fn begin(region: &Region, to: &str, timeout: &str) -> Result<Process> {
    let mut command = Command::new(fingerpost()?);
    command.args([
        "switchover",
        "apps/web",
        "--to",
        to,
        "--force",
        "--url",
        &region.url(),
        "--timeout",
        timeout,
    ]);
    Process::start("`fingerpost switchover`", &command)
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// What PowerDNS answers.
fn served(powerdns: &PowerDns) -> Result<Vec<String>> {
    Ok(dig(powerdns.dns(), "app.example.org A")?.data("A"))
}

fn wait_until_served(powerdns: &PowerDns, address: &str) -> Result<()> {
    wait_for_within(PATIENCE, address, || Ok((served(powerdns)? == [address]).then_some(())))
}

/// Two regions, the first of which writes to a PowerDNS.
fn two_with_a_provider(etcd: &[Etcd]) -> Result<(Region, Region, PowerDns)> {
    let powerdns = PowerDns::start()?;
    let (weu, neu) = two_at(etcd, &powerdns.url())?;
    Ok((weu, neu, powerdns))
}

/// The same, with somebody in between who can misbehave.
fn two_through_a_proxy(etcd: &[Etcd]) -> Result<(Region, Region, PowerDns, Between)> {
    let powerdns = PowerDns::start()?;
    let between = Between::start(powerdns.url().trim_start_matches("http://").parse()?)?;
    let (weu, neu) = two_at(etcd, &between.url())?;
    Ok((weu, neu, powerdns, between))
}

fn two_at(etcd: &[Etcd], url: &str) -> Result<(Region, Region)> {
    let (witness, folder) = (etcd_witness(etcd), Folder::new()?);
    folder.write("class.yaml", &powerdns_class(url))?;
    let classed = placement("weu", &witness).replace("spec:\n", "spec:\n  dnsClassRef: {name: edge}\n");
    folder.write("web.yaml", &classed)?;
    let flags = ["--owner", "weu", "--retry-max-delay", "2s"];
    let up = Up::start(Options::folder(folder.path()).flags(&flags))?;
    let weu = Region { folder, up };
    weu.wait("weu to hold the lease", |lease| lease["held"] == true)?;
    weu.wait("PowerDNS to have it", |lease| lease["delivery"]["state"] == "Stands")?;
    let neu = Region::start("neu", &witness)?;
    neu.wait("neu to see the holder", |lease| lease["active"] == "weu")?;
    Ok((weu, neu))
}

#[test]
fn a_dry_run_says_every_step_and_changes_nothing() -> Result<()> {
    let etcd = [Etcd::alone()?];
    let (weu, _neu) = two(&etcd_witness(&etcd))?;
    let before = weu.lease()?;
    let dry = run(&["switchover", "apps/web", "--to", "neu", "--force", "--url", &weu.url(), "--dry-run"])?;
    let text = text(&dry);
    let steps =
        ["hand the lease over from weu to neu", "until neu holds", "send clients to neu", "read back"];
    assert!(dry.status.success() && steps.iter().all(|step| text.contains(step)), "{text}");
    let after = weu.lease()?;
    for field in ["active", "holder", "generation", "history", "switchingTo"] {
        assert_eq!(before[field], after[field], "{field}");
    }
    Ok(())
}

#[test]
fn a_switchover_moves_the_lease_and_then_dns() -> Result<()> {
    let etcd = [Etcd::alone()?];
    let (weu, neu) = two(&etcd_witness(&etcd))?;
    // Ordered at the holder, then back at the one that is to have it.
    for (region, to, address) in [(&weu, "neu", "192.0.2.2"), (&weu, "weu", "192.0.2.1")] {
        let moved = run(&["switchover", "apps/web", "--to", to, "--force", "--url", &region.url()])?;
        let text = String::from_utf8_lossy(&moved.stdout).into_owned();
        assert!(moved.status.success(), "{text}{}", String::from_utf8_lossy(&moved.stderr));
        assert!(text.contains(&format!("{to} holds the lease")), "{text}");
        weu.wait_for_answer(address)?;
        neu.wait_for_answer(address)?;
    }
    let message = weu.lease()?["history"][0]["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.starts_with("the lease was handed to weu"), "{message}");
    let wrong = run(&["switchover", "apps/web", "--to", "nowhere", "--force", "--url", &weu.url()])?;
    assert_eq!(wrong.status.code(), Some(1));
    Ok(())
}

#[test]
fn a_switchover_to_a_region_that_does_not_answer_is_rolled_back() -> Result<()> {
    let etcd = [Etcd::alone()?];
    let (weu, mut neu) = two(&etcd_witness(&etcd))?;
    neu.up.suspend()?;
    let failed = run(&["switchover", "apps/web", "--to", "neu", "--force", "--url", &weu.url()])?;
    let text = String::from_utf8_lossy(&failed.stdout).into_owned();
    assert_eq!(failed.status.code(), Some(3), "{text}{}", String::from_utf8_lossy(&failed.stderr));
    assert!(text.contains("clients are sent to weu"), "{text}");
    weu.wait("weu to hold the lease again", |lease| lease["held"] == true)?;
    assert_eq!(weu.answer()?, ["192.0.2.1"]);
    neu.up.resume()?;
    neu.wait("neu to see the holder", |lease| lease["holder"] == "weu")?;
    assert_eq!(neu.answer()?, ["192.0.2.1"]);
    Ok(())
}

#[test]
fn a_switchover_is_done_when_the_provider_has_it() -> Result<()> {
    let etcd = [Etcd::alone()?];
    let (weu, _neu, powerdns) = two_with_a_provider(&etcd)?;
    wait_until_served(&powerdns, "192.0.2.1")?;
    let moved = run(&["switchover", "apps/web", "--to", "neu", "--force", "--url", &weu.url()])?;
    assert!(moved.status.success() && text(&moved).contains("DNS answers with neu"), "{}", text(&moved));
    // Not waited for: the command has.
    assert_eq!(served(&powerdns)?, ["192.0.2.2"]);
    Ok(())
}

#[test]
fn a_switchover_that_the_provider_does_not_take_is_rolled_back() -> Result<()> {
    let etcd = [Etcd::alone()?];
    let (weu, neu, mut powerdns) = two_with_a_provider(&etcd)?;
    powerdns.kill()?;
    let mut switching = begin(&weu, "neu", "30s")?;
    switching.wait_for_output("clients are sent to neu")?;
    switching.wait_for_output("DNS does not answer with neu yet")?;
    powerdns.restart()?;
    assert_eq!(switching.wait_for_end()?, Some(3), "{}", switching.output());
    assert!(switching.output().contains("rolled back: clients are sent to weu"), "{}", switching.output());
    assert_eq!(served(&powerdns)?, ["192.0.2.1"]);
    for region in [&weu, &neu] {
        region.wait("weu to hold the lease again", |lease| lease["holder"] == "weu")?;
    }
    Ok(())
}

#[test]
fn a_roll_back_that_cannot_be_read_back_is_not_called_one() -> Result<()> {
    let etcd = [Etcd::alone()?];
    let (weu, _neu, powerdns, between) = two_through_a_proxy(&etcd)?;
    wait_until_served(&powerdns, "192.0.2.1")?;
    // The move arrives, and nobody hears of it; nor does the way back arrive.
    between.misbehave(Some(Misdeed::LeaveAtWrite));
    let mut switching = begin(&weu, "neu", "15s")?;
    assert_eq!(switching.wait_for_end()?, Some(4), "{}", switching.output());
    let words = "clients are sent to weu, but DNS is not known to answer so";
    assert!(switching.output().contains(words), "{}", switching.output());
    assert!(!switching.output().contains("DNS answers with"), "{}", switching.output());
    assert_eq!(served(&powerdns)?, ["192.0.2.2"], "it is not back indeed");
    // What was ordered goes on: the lease is back, and the provider is brought in line when it can be.
    weu.wait("weu to hold the lease", |lease| lease["held"] == true && lease["active"] == "weu")?;
    between.misbehave(None);
    weu.wait("PowerDNS to have it", |lease| lease["delivery"]["state"] == "Stands")?;
    wait_until_served(&powerdns, "192.0.2.1")
}

#[test]
fn a_witness_that_dies_in_the_middle_moves_nothing_and_nobody_says_that_all_is_well() -> Result<()> {
    let mut etcd = vec![Etcd::alone()?];
    let (weu, mut neu) = two(&etcd_witness(&etcd))?;
    // Who does not run cannot take the lease before the witness is gone.
    neu.up.suspend()?;
    let mut switching = begin(&weu, "neu", "15s")?;
    switching.wait_for_output("the order is given")?;
    etcd[0].kill()?;
    assert_eq!(switching.wait_for_end()?, Some(4), "{}", switching.output());
    assert!(switching.output().contains("the lease may still move"), "{}", switching.output());
    assert_eq!(weu.answer()?, ["192.0.2.1"], "losing the witness freezes");
    etcd[0].restart()?;
    let holds = |lease: &Value| lease["held"] == true && lease["switchingTo"].is_null();
    weu.wait("weu to hold the lease", holds).context("taken back when the witness answers again")?;
    neu.up.resume()?;
    neu.wait("neu to see the holder", |lease| lease["holder"] == "weu")?;
    assert_eq!((weu.answer()?, neu.answer()?), (vec!["192.0.2.1".to_owned()], vec!["192.0.2.1".to_owned()]));
    Ok(())
}
