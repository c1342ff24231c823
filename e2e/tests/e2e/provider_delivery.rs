//! Delivery through the webhook to a provider that is killed again and again: everything arrives, nothing else goes.

use std::fs;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use api::dnsclass::HmacAlgorithm;
use backends::delivery::{self, Fence, Node, Order, Retry};
use backends::transport::guard::Guard;
use backends::transport::http::{HttpClient, Trust};
use backends::webhook::Keys;
use backends::webhook::client::{Settings, Webhook};
use backends::{Entry, NewZone};
use dns::{Name, Rdata, RecordSet, Rtype, Soa};
use e2e::{ProviderServer, block_on, dig, wait_for};
use serde_json::json;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

const ZONE: &str = "example.org";
const NAMES: usize = 40;
const KILLS: usize = 12;

struct Always;

impl Fence for Always {
    fn may_send(&self, _: Duration) -> bool {
        true
    }

    fn generation(&self) -> u64 {
        1
    }
}

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn zone() -> NewZone {
    let (origin, ns) = (name(ZONE), name("ns.example.org"));
    let soa =
        Soa { mname: ns.clone(), rname: ns.clone(), serial: 1, refresh: 1, retry: 1, expire: 1, minimum: 1 };
    NewZone {
        soa: RecordSet::new(origin.clone(), Rtype::SOA, 60, vec![Rdata::soa(&soa)]),
        name_servers: RecordSet::new(origin.clone(), Rtype::NS, 60, vec![Rdata::name(Rtype::NS, &ns)]),
        origin,
    }
}

/// What is wanted at a name: an address, or nothing.
fn node(number: usize, address: Option<&str>) -> Node {
    let owner = name(&format!("n{number}.{ZONE}"));
    let set =
        |address: &str| RecordSet::new(owner.clone(), Rtype::A, 60, vec![Rdata::a(address.parse().unwrap())]);
    let sets = address.map(|address| Entry::from(set(address))).into_iter().collect();
    Node { zone: name(ZONE), name: owner.clone(), sets, kept: Vec::new(), shared: Vec::new(), heir: None }
}

fn webhook(server: &ProviderServer) -> Result<Webhook> {
    let guard = Guard::allowing(["127.0.0.0/8".parse()?]);
    let http = HttpClient::new(Arc::new(guard), Duration::from_secs(5), &Trust::default())?;
    let keys = Keys { algorithm: HmacAlgorithm::Sha256, first: b"secret".to_vec(), others: Vec::new() };
    Ok(Webhook::new(
        Settings { server: server.url(), keys: Some(keys), token: None, owner: "test".to_owned() },
        http,
    )?)
}

fn started(server: &ProviderServer) -> Result<UnboundedSender<Order>> {
    let settings = delivery::Settings {
        owner: "test".to_owned(),
        retry: Retry { base: Duration::from_millis(50), cap: Duration::from_millis(500), attempts: 5 },
        concurrency: 4,
        drift: Duration::from_secs(600),
        allow_mass_delete: None,
        timeout: Duration::from_secs(5),
    };
    let provider = webhook(server)?;
    block_on(async move {
        let (reports, mut told) = unbounded_channel();
        let (orders, _) = delivery::start(settings, Arc::new(Always), reports);
        // Somebody has to listen, or the delivery ends.
        tokio::spawn(async move { while told.recv().await.is_some() {} });
        orders.send(Order::Provider(Ok(Arc::new(provider))))?;
        orders.send(Order::Zone(zone()))?;
        Ok(orders)
    })?
}

fn wait_for_all(server: &ProviderServer, expected: impl Fn(usize) -> Option<&'static str>) -> Result<()> {
    wait_for("every name to be as wanted", || {
        for number in 0..NAMES {
            let found = dig(server.dns(), &format!("n{number}.{ZONE} A"))?.data("A");
            let expected: Vec<&str> = expected(number).into_iter().collect();
            ensure!(found == expected, "n{number} is {found:?}, and {expected:?} is wanted");
        }
        Ok(Some(()))
    })
}

#[test]
fn what_is_wanted_arrives_through_a_provider_that_is_killed_again_and_again() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let secret = folder.path().join("secret");
    fs::write(&secret, "secret")?;
    let secret = secret.display().to_string();
    let mut server = ProviderServer::start(
        &folder.path().join("state"),
        &["--zone", ZONE, "--hmac-secret-file", &secret],
    )?;
    let orders = started(&server)?;
    let tell = |address: fn(usize) -> Option<&'static str>| -> Result<()> {
        let nodes = (0..NAMES).map(|number| node(number, address(number))).collect();
        orders.send(Order::Nodes(nodes)).ok().context("the delivery has ended")
    };
    tell(|_| Some("192.0.2.1"))?;
    orders.send(Order::Complete).ok().context("the delivery has ended")?;
    for round in 0..KILLS {
        // Another moment each time: at once, in the middle of a batch, at rest.
        std::thread::sleep(Duration::from_millis(7 * round as u64));
        server.process().kill()?;
        if round == KILLS / 2 {
            tell(|number| Some(if number % 2 == 0 { "192.0.2.2" } else { "192.0.2.1" }))?;
        }
        server.restart()?;
    }
    wait_for_all(&server, |number| Some(if number % 2 == 0 { "192.0.2.2" } else { "192.0.2.1" }))?;
    // Few enough for the guard.
    tell(|number| if number < 5 { None } else { Some("192.0.2.3") })?;
    std::thread::sleep(Duration::from_millis(20));
    server.restart()?;
    wait_for_all(&server, |number| if number < 5 { None } else { Some("192.0.2.3") })?;
    let (status, _) = server.send("GET", "/health", &json!(null))?;
    assert_eq!(status, 401, "strangers are told nothing");
    Ok(())
}
