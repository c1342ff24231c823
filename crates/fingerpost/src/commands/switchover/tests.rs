//! Switching over, against a place that does what a test says.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::net::TcpListener;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use clap::Parser;
use rstest::rstest;
use serde_json::{Value, json};

use super::state::State;
use super::steps::Steps;
use super::{Ending, NOT_ROLLED_BACK, Place, ROLLED_BACK, instance, switch};
use crate::cli::{DataOutput, SwitchoverArguments};
use crate::render::Palette;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    arguments: SwitchoverArguments,
}

fn arguments(to: &str, flags: &[&str]) -> SwitchoverArguments {
    let line = ["switchover", "apps/web", "--to", to, "--timeout", "1s"];
    Line::parse_from(line.iter().chain(flags)).arguments
}

/// What goes wrong, from the order on.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    /// The lease stays where it is until the order is taken back.
    NotTaken,
    /// The witness cannot be asked any more.
    WitnessGone,
    /// What is planned is not delivered, there nor back.
    ProviderGone,
    /// What is planned is not delivered until the way back is ordered.
    ProviderLate,
    /// The region that had it does not take the lease back.
    NoWayBack,
    /// Whoever is asked does not answer for a while.
    Silent,
    /// The answers are handed to somebody who never says what became of them.
    HandedOver,
    /// No health check says which regions are up.
    Unchecked,
}

struct Fake {
    fault: Fault,
    active: &'static str,
    orders: Vec<String>,
    looks: usize,
}

impl Fake {
    fn new(fault: Fault) -> Fake {
        Fake { fault, active: "weu", orders: Vec::new(), looks: 0 }
    }

    fn is_delivered(&self) -> bool {
        match self.fault {
            Fault::ProviderGone | Fault::NoWayBack => self.orders.is_empty(),
            Fault::ProviderLate => self.active == "weu",
            _ => true,
        }
    }

    fn delivery(&self) -> Value {
        match self.fault {
            Fault::HandedOver => json!({ "state": "HandedOver", "message": "handed over to ExternalDNS" }),
            _ if self.is_delivered() => json!({ "state": "Stands", "message": "stands" }),
            _ => json!({ "state": "Awaited", "message": "DNSClass edge: the server cannot be reached" }),
        }
    }
}

impl Place for Fake {
    fn look(&mut self) -> Result<State> {
        self.looks += 1;
        if self.fault == Fault::Silent && self.looks == 2 {
            return Err(anyhow!("timeout"));
        }
        let trouble = self.fault == Fault::WitnessGone && !self.orders.is_empty();
        Ok(State(json!({
            "healthChecked": self.fault != Fault::Unchecked,
            "witness": true, "holder": self.active, "generation": 1, "active": self.active,
            "trouble": trouble.then_some("the witness cannot be asked"),
            "answering": [self.active], "delivery": self.delivery(), "switchingTo": null,
            "regions": [{ "name": "weu", "health": "Up" }, { "name": "neu", "health": "Up" },
                        { "name": "seu", "health": "Down" }],
            "history": [],
        })))
    }

    fn order(&mut self, to: &str, _: bool) -> Result<()> {
        self.orders.push(to.to_owned());
        match (self.fault, to) {
            (Fault::NotTaken | Fault::WitnessGone, _) | (Fault::NoWayBack, "weu") => {}
            (_, "weu") => self.active = "weu",
            _ => self.active = "neu",
        }
        Ok(())
    }
}

fn ending(place: &mut Fake, to: &str, flags: &[&str]) -> Result<Ending> {
    switch(place, &arguments(to, flags), &mut Steps::new(Palette::plain(), DataOutput::Text))
}

#[rstest]
#[case::all_is_well(Fault::None, 0, &["neu"], "neu")]
#[case::one_look_fails(Fault::Silent, 0, &["neu"], "neu")]
#[case::handed_over(Fault::HandedOver, 0, &["neu"], "neu")]
#[case::not_taken(Fault::NotTaken, ROLLED_BACK, &["neu", "weu"], "weu")]
#[case::provider_late(Fault::ProviderLate, ROLLED_BACK, &["neu", "weu"], "weu")]
#[case::witness_gone(Fault::WitnessGone, NOT_ROLLED_BACK, &["neu", "weu"], "weu")]
#[case::provider_gone(Fault::ProviderGone, NOT_ROLLED_BACK, &["neu", "weu"], "weu")]
#[case::no_way_back(Fault::NoWayBack, NOT_ROLLED_BACK, &["neu", "weu"], "neu")]
fn whichever_step_fails_the_way_back_is_ordered_and_the_code_is_honest(
    #[case] fault: Fault,
    #[case] code: u8,
    #[case] orders: &[&str],
    #[case] active: &str,
) {
    let mut place = Fake::new(fault);
    let ending = match ending(&mut place, "neu", &[]).unwrap() {
        Ending::Good => 0,
        Ending::Code(code) => code,
        _ => 1,
    };
    assert_eq!((ending, &place.orders[..], place.active), (code, &owned(orders)[..], active));
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[rstest]
#[case::a_dry_run("neu", &["--dry-run"], None)]
#[case::a_region_that_is_down("seu", &[], Some("not up (Down)"))]
#[case::a_region_that_is_not_there("nowhere", &[], Some("there is no region"))]
#[case::where_clients_are("weu", &[], Some("already"))]
fn what_is_only_looked_at_or_refused_orders_nothing(
    #[case] to: &str,
    #[case] flags: &[&str],
    #[case] refusal: Option<&str>,
) {
    let mut place = Fake::new(Fault::None);
    let ended = ending(&mut place, to, flags);
    match refusal {
        None => assert!(ended.is_ok()),
        Some(words) => assert!(ended.err().unwrap().to_string().contains(words)),
    }
    assert_eq!(place.orders, Vec::<String>::new());
}

#[rstest]
#[case::refused(&[], Some("no spec.healthCheck: add one, or insist with --force"))]
#[case::insisted(&["--force"], None)]
fn a_region_that_no_health_check_looks_at_needs_force(#[case] flags: &[&str], #[case] refusal: Option<&str>) {
    let mut place = Fake::new(Fault::Unchecked);
    let ended = ending(&mut place, "neu", flags);
    match refusal {
        None => assert!(ended.is_ok() && place.orders == ["neu"]),
        Some(words) => {
            assert!(ended.err().unwrap().to_string().contains(words) && place.orders.is_empty());
        }
    }
}

#[test]
fn what_could_not_be_read_back_is_not_begun() {
    let mut place = Fake::new(Fault::ProviderGone);
    place.orders.push("another".to_owned());
    let refusal = ending(&mut place, "neu", &[]).err().unwrap().to_string();
    assert!(
        refusal.contains("could not be read back: DNSClass edge: the server cannot be reached"),
        "{refusal}"
    );
    assert_eq!(place.orders.len(), 1);
}

#[test]
fn an_instance_that_hangs_does_not_outlast_the_timeout() {
    let hanging = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", hanging.local_addr().unwrap());
    let mut place = instance::Running::new(&arguments("neu", &["--url", &url])).unwrap();
    let start = Instant::now();
    assert!(place.look().is_err() && place.order("neu", false).is_err());
    assert!(start.elapsed() < Duration::from_secs(4), "{:?}", start.elapsed());
}
