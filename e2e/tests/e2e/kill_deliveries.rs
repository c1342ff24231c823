//! `kill -9` of the operator before and after every request to a provider: the end is always the same, and
//! what is not ours is never touched (PROMISES 11, 12, 18).

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use e2e::{Between, OPERATOR_NAMESPACE, Operator, PowerDns, dig, wait_for_within};
use serde_json::{Value, json};

use crate::records::{FLAGS, address, class, record, record_path};
use crate::world::World;

/// How many lives the operator has at most for one change.
const LIVES: usize = 80;
/// Without a request for this long everything that is to be done is done.
const CALM: Duration = Duration::from_secs(4);

/// What a user does, and what is answered afterwards.
struct Step {
    objects: Vec<Value>,
    deleted: Vec<&'static str>,
    answers: Vec<(&'static str, &'static [&'static str])>,
}

fn steps() -> Vec<Step> {
    let one = |address| record("one", "one", "edge", address);
    vec![
        Step {
            objects: vec![one("192.0.2.1"), record("two", "two", "edge", "192.0.2.2")],
            deleted: vec![],
            answers: vec![("one", &["192.0.2.1"]), ("two", &["192.0.2.2"])],
        },
        Step {
            objects: vec![one("192.0.2.9"), record("two", "three", "edge", "192.0.2.2")],
            deleted: vec![],
            answers: vec![("one", &["192.0.2.9"]), ("two", &[]), ("three", &["192.0.2.2"])],
        },
        Step {
            objects: vec![],
            deleted: vec!["one"],
            answers: vec![("one", &[]), ("three", &["192.0.2.2"])],
        },
    ]
}

#[test]
fn every_kill_at_a_request_ends_in_the_same_records() -> Result<()> {
    let world = World::alone()?;
    let powerdns = PowerDns::start()?;
    powerdns.make_zone("example.com")?;
    let between = Between::start(address(&powerdns)?)?;
    world.cluster.ensure_namespace("production")?;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "stringData": {"api-key": "test-key"},
        "metadata": {"name": "powerdns", "namespace": OPERATOR_NAMESPACE}});
    world.api().apply(&secret)?;
    world.api().apply(&class("edge", &between.url(), None))?;
    foreign(&powerdns)?;
    let before = others(&powerdns)?;
    let mut kills = 0;
    for step in steps() {
        step.objects.iter().try_for_each(|object| world.api().apply(object))?;
        step.deleted.iter().try_for_each(|name| world.api().delete(&record_path(name)))?;
        kills += lives(&world, &between)?;
        let mut operator = start(&world)?;
        for (name, wanted) in &step.answers {
            let seen = wait_for_within(Duration::from_secs(40), &format!("{name} to be {wanted:?}"), || {
                Ok((dig(powerdns.dns(), &format!("{name}.example.com A"))?.data("A") == *wanted)
                    .then_some(()))
            });
            seen.with_context(|| operator.output())?;
        }
        for name in &step.deleted {
            world.expect_gone(&record_path(name)).with_context(|| operator.output())?;
        }
        operator.process().kill()?;
        assert_eq!(others(&powerdns)?, before, "somebody else's records were touched");
    }
    println!("killed {kills} times at a request to PowerDNS; every end is the same");
    ensure!(kills >= 10, "only {kills} requests were met");
    Ok(())
}

fn start(world: &World<e2e::Alone>) -> Result<Operator> {
    world.operator(&[&FLAGS[..], &["--leader-elect=false"]].concat())
}

/// Lets the operator live again and again, each life ended at one request later than the last.
fn lives(world: &World<e2e::Alone>, between: &Between) -> Result<usize> {
    for life in 0..LIVES {
        between.forget();
        let mut operator = Operator::spawn(world.place(&[&FLAGS[..], &["--leader-elect=false"]].concat())?)?;
        let (id, killed) = (operator.process().id(), Arc::new(Mutex::new(false)));
        let flag = killed.clone();
        between.watch(Some(Box::new(move |number, after| {
            let mut killed = flag.lock().unwrap_or_else(PoisonError::into_inner);
            // Each request is met twice: before PowerDNS has it, and after it has answered.
            if !*killed && number == life / 2 && after == (life % 2 == 1) {
                *killed = true;
                // The process is ours and was started just above.
                let _ = std::process::Command::new("kill").args(["-9", &id.to_string()]).status();
            }
        })));
        let start = std::time::Instant::now();
        while operator.process().is_running() && start.elapsed() < CALM + Duration::from_secs(6) {
            std::thread::sleep(Duration::from_millis(50));
        }
        between.watch(None);
        if !*killed.lock().unwrap_or_else(PoisonError::into_inner) {
            operator.process().kill()?;
            return Ok(life);
        }
    }
    bail!("after {LIVES} lives there are still requests")
}

/// Records that are not ours, some of them where ours could be.
fn foreign(powerdns: &PowerDns) -> Result<()> {
    let url = format!("{}/api/v1/servers/localhost/zones/example.com.", powerdns.url());
    for name in ["theirs", "a-one", "deep.down"] {
        let body = json!({"rrsets": [{"name": format!("{name}.example.com."), "type": "A", "ttl": 60,
            "changetype": "REPLACE", "records": [{"content": "192.0.2.77", "disabled": false}]}]});
        let request =
            ureq::patch(&url).header("X-API-Key", "test-key").header("Content-Type", "application/json");
        request.send(body.to_string())?;
    }
    Ok(())
}

fn others(powerdns: &PowerDns) -> Result<Vec<String>> {
    let names = ["theirs", "a-one", "deep.down"];
    let answers = names
        .iter()
        .map(|name| Ok(dig(powerdns.dns(), &format!("{name}.example.com A"))?.data("A").join(" ")));
    answers.collect()
}
