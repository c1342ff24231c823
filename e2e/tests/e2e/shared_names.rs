//! Several clusters and one PowerDNS: a name that they share, and one that passes from one to the other.
//!
//! A counter is moved every 30 seconds and has stopped after 90, so these tests take minutes.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::{
    Cluster, Folder, OPERATOR_NAMESPACE, Operator, Options, PowerDns, Start, Up, dig, wait_for_within,
};
use serde_json::{Value, json};

use crate::records::{FLAGS, class, record, record_path};
use crate::world::World;

/// Far longer than a counter takes to stop and the others to see it.
const LONG: Duration = Duration::from_secs(400);

/// What PowerDNS answers for a name.
fn answers(powerdns: &PowerDns, name: &str) -> Result<BTreeSet<String>> {
    Ok(dig(powerdns.dns(), &format!("{name}.example.com A"))?.data("A").into_iter().collect())
}

/// Waits until a name has these addresses; once it has any, it must have some at every look.
fn wait_for_answers(powerdns: &PowerDns, name: &str, wanted: &[&str]) -> Result<()> {
    let wanted: BTreeSet<String> = wanted.iter().map(|address| (*address).to_owned()).collect();
    let (mut was_answered, mut last) = (false, BTreeSet::new());
    let waited = wait_for_within(LONG, &format!("{name} to be {wanted:?}"), || {
        last = answers(powerdns, name)?;
        let is_lost = was_answered && last.is_empty();
        was_answered |= !last.is_empty();
        Ok((is_lost || last == wanted).then_some(()))
    });
    waited.with_context(|| format!("it was {last:?}"))?;
    ensure!(last == wanted, "{name} was without an answer");
    Ok(())
}

/// A cluster with an operator of this owner, and a class that leads to PowerDNS.
fn operator<C: AsRef<Cluster>>(world: &World<C>, owner: &str, powerdns: &PowerDns) -> Result<Operator> {
    world.cluster().ensure_namespace("production")?;
    world.api().apply(&json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": "powerdns", "namespace": OPERATOR_NAMESPACE},
        "stringData": {"api-key": "test-key"}}))?;
    world.api().apply(&class("edge", &powerdns.url(), None))?;
    world.operator(&[&FLAGS[..], &[&format!("--owner={owner}")]].concat())
}

fn shared(address: &str) -> Value {
    let mut record = record("app", "app", "edge", address);
    record["metadata"]["annotations"] = json!({"fingerpost.dev/shared": "true"});
    record
}

#[test]
fn two_operators_on_two_clusters_add_up_to_one_name_and_each_takes_only_its_own() -> Result<()> {
    let powerdns = PowerDns::start()?;
    let (weu, neu) = (World::alone()?, World::of(Cluster::own(Start::OwnKinds)?)?);
    let first = operator(&weu, "weu", &powerdns)?;
    let second = operator(&neu, "neu", &powerdns)?;
    let output = || format!("weu:\n{}\nneu:\n{}", first.output(), second.output());
    weu.api().apply(&shared("192.0.2.1"))?;
    wait_for_answers(&powerdns, "app", &["192.0.2.1"]).with_context(output)?;
    neu.api().apply(&shared("192.0.2.2"))?;
    wait_for_answers(&powerdns, "app", &["192.0.2.1", "192.0.2.2"]).with_context(output)?;
    neu.expect_condition(&record_path("app"), "Ready", "True", "RecordUpdated").with_context(output)?;
    weu.api().apply(&shared("192.0.2.3"))?;
    wait_for_answers(&powerdns, "app", &["192.0.2.2", "192.0.2.3"]).with_context(output)?;
    neu.api().delete(&record_path("app"))?;
    wait_for_answers(&powerdns, "app", &["192.0.2.3"]).with_context(output)?;
    neu.expect_gone(&record_path("app")).with_context(output)?;
    weu.api().delete(&record_path("app"))?;
    weu.expect_gone(&record_path("app")).with_context(output)?;
    assert_eq!(answers(&powerdns, "app")?, BTreeSet::new());
    Ok(())
}

#[test]
fn a_killed_cluster_has_its_part_of_a_shared_name_taken_out_and_adds_it_when_it_is_back() -> Result<()> {
    let powerdns = PowerDns::start()?;
    let (weu, neu) = (Site::new("weu", &powerdns)?, Site::new("neu", &powerdns)?);
    weu.write("192.0.2.1", "fingerpost.dev/shared: 'true'")?;
    neu.write("192.0.2.2", "fingerpost.dev/shared: 'true'")?;
    let (up, _other) = (weu.up()?, neu.up()?);
    wait_for_answers(&powerdns, "app", &["192.0.2.1", "192.0.2.2"])?;
    // Dropping it is `kill -9`.
    drop(up);
    wait_for_answers(&powerdns, "app", &["192.0.2.2"])?;
    let _up = weu.up()?;
    wait_for_answers(&powerdns, "app", &["192.0.2.1", "192.0.2.2"])
}

#[test]
fn a_name_is_handed_over_and_taken_back_when_the_new_holder_is_killed_at_once() -> Result<()> {
    let powerdns = PowerDns::start()?;
    let (weu, neu) = (Site::new("weu", &powerdns)?, Site::new("neu", &powerdns)?);
    weu.write("192.0.2.1", "x: y")?;
    let _first = weu.up()?;
    wait_for_answers(&powerdns, "app", &["192.0.2.1"])?;
    neu.write("192.0.2.2", "x: y")?;
    let second = neu.up()?;
    wait_for_within(LONG, "the second to say whose it is", || {
        Ok(second.get("/api/v1/objects")?.contains("weu/edge").then_some(()))
    })?;
    assert_eq!(answers(&powerdns, "app")?, BTreeSet::from(["192.0.2.1".to_owned()]));
    weu.write("192.0.2.1", "fingerpost.dev/hand-over-to: neu")?;
    wait_for_answers(&powerdns, "app", &["192.0.2.2"])?;
    // Whoever handed a name over waits for it from that moment, so that no death of the new holder is too early.
    drop(second);
    wait_for_answers(&powerdns, "app", &["192.0.2.1"])
}

#[test]
fn a_holder_that_was_killed_before_anybody_waited_is_followed() -> Result<()> {
    let powerdns = PowerDns::start()?;
    let (weu, neu) = (Site::new("weu", &powerdns)?, Site::new("neu", &powerdns)?);
    weu.write("192.0.2.1", "x: y")?;
    // So often the holder looks for those who wait, and so soon it is known to be gone.
    let first = weu.up_with(&["--drift-interval=2s"])?;
    wait_for_answers(&powerdns, "app", &["192.0.2.1"])?;
    // Dropping it is `kill -9`.
    drop(first);
    neu.write("192.0.2.2", "x: y")?;
    let _second = neu.up()?;
    wait_for_answers(&powerdns, "app", &["192.0.2.2"])
}

/// A folder with a class and a record, for an `up` of its own.
struct Site {
    owner: &'static str,
    folder: Folder,
}

impl Site {
    fn new(owner: &'static str, powerdns: &PowerDns) -> Result<Site> {
        let folder = Folder::new()?;
        let mut class = class("edge", &powerdns.url(), Some("production"));
        class["spec"]["timeoutSeconds"] = json!(5);
        let secret = json!({"apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "powerdns", "namespace": "production"}, "stringData": {"api-key": "test-key"}});
        folder.write("class.yaml", &format!("{class}\n---\n{secret}\n"))?;
        Ok(Site { owner, folder })
    }

    /// Wants this address, with an annotation.
    fn write(&self, address: &str, annotation: &str) -> Result<()> {
        let (key, value) = annotation.split_once(": ").context("an annotation has a value")?;
        let mut record = record("app", "app", "edge", address);
        record["metadata"]["annotations"] = json!({key: value.trim_matches('\'')});
        self.folder.write("record.yaml", &record.to_string())
    }

    fn up(&self) -> Result<Up> {
        self.up_with(&[])
    }

    fn up_with(&self, flags: &[&str]) -> Result<Up> {
        let owner = format!("--owner={}", self.owner);
        let quick = ["--retry-base-delay=200ms", "--retry-max-delay=1s", &owner];
        Up::start(Options::folder(self.folder.path()).flags(&[&quick, flags].concat()))
    }
}
