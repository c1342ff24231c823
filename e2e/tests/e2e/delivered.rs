//! A whole delivery, marks and all, into real places by each of these ways.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::dnsclass::TsigAlgorithm;
use backends::delivery::{self, Fence, Node, Order, Report, Retry, SetResult, Settings};
use backends::external_dns_webhook::ExternalDnsWebhook;
use backends::rfc2136::{self, Rfc2136};
use backends::transport::guard::Guard;
use backends::transport::http::{HttpClient, Trust};
use backends::zone_file::ZoneFiles;
use backends::{Batch, Entry, NewZone, Provider, SetChange, SetKey};
use dns::{Name, Rdata, RecordSet, Rtype};
use e2e::{ExternalDnsProvider, PATIENCE, UpdateProgram, UpdateServer, key_secret};
use rstest::rstest;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

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

fn set(owner: &str, rtype: &str, data: &[&str]) -> RecordSet {
    let rtype = rtype.parse().unwrap();
    let data = data.iter().map(|data| Rdata::parse(rtype, data, &Name::root()).unwrap()).collect();
    RecordSet::new(name(owner), rtype, 300, data)
}

fn node(set: &RecordSet, is_wanted: bool) -> Node {
    let sets = if is_wanted { vec![Entry::from(set.clone())] } else { Vec::new() };
    Node {
        zone: name("example.org"),
        name: set.name.clone(),
        sets,
        kept: Vec::new(),
        shared: Vec::new(),
        heir: None,
    }
}

fn new_zone() -> NewZone {
    NewZone {
        origin: name("example.org"),
        soa: set("example.org", "SOA", &["ns.example.org. noc.example.org. 1 3600 600 86400 300"]),
        name_servers: set("example.org", "NS", &["ns.example.org."]),
    }
}

/// A delivery under way, and what it has said of each set last.
struct Delivery {
    orders: UnboundedSender<Order>,
    reports: UnboundedReceiver<Vec<Report>>,
    told: BTreeMap<SetKey, SetResult>,
}

impl Delivery {
    fn start(provider: Arc<dyn Provider>, wanted: &[RecordSet]) -> Delivery {
        let (sender, reports) = unbounded_channel();
        let retry = Retry { base: Duration::from_millis(50), cap: Duration::from_secs(1), attempts: 5 };
        let settings = Settings {
            owner: "test".to_owned(),
            retry,
            concurrency: 2,
            drift: Duration::from_secs(3600),
            allow_mass_delete: None,
            timeout: Duration::from_secs(20),
        };
        let (orders, _) = delivery::start(settings, Arc::new(Always), sender);
        let nodes = wanted.iter().map(|set| node(set, true)).collect();
        for order in
            [Order::Zone(new_zone()), Order::Nodes(nodes), Order::Complete, Order::Provider(Ok(provider))]
        {
            orders.send(order).ok().unwrap();
        }
        Delivery { orders, reports, told: BTreeMap::new() }
    }

    async fn wait_until(&mut self, what: &str, holds: impl Fn(&BTreeMap<SetKey, SetResult>) -> bool) {
        let waiting = async {
            while !holds(&self.told) {
                for report in self.reports.recv().await.unwrap() {
                    if let Report::Set { key, result, .. } = report {
                        self.told.insert(key, result);
                    }
                }
            }
        };
        let waited = tokio::time::timeout(PATIENCE, waiting).await;
        assert!(waited.is_ok(), "gave up waiting until {what}: {:?}", self.told);
    }

    async fn wait_until_stands(&mut self, sets: &[RecordSet]) {
        let stands = |told: &BTreeMap<SetKey, SetResult>, wanted: &RecordSet| matches!(told.get(&SetKey::of(wanted)), Some(SetResult::Stands { set, .. }) if set == wanted);
        self.wait_until("all stand", |told| sets.iter().all(|set| stands(told, set))).await;
    }
}

async fn held(provider: &dyn Provider, is_mark: bool) -> Vec<RecordSet> {
    let corner = name("_fingerpost.example.org");
    let entries = provider.read_zone(&name("example.org")).await.unwrap().into_iter().map(|entry| entry.set);
    let is_asked_for = |set: &RecordSet| set.name.is_in(&corner) == is_mark;
    entries.filter(|set| is_asked_for(set) && !matches!(set.rtype, Rtype::SOA | Rtype::NS)).collect()
}

/// Creates, changes and deletes; leaves alone what is not ours; and starts again without a write.
async fn deliver(start: impl Fn() -> Arc<dyn Provider>) {
    let provider = start();
    provider.open_zone(&new_zone()).await.unwrap();
    let foreign = set("foreign.example.org", "A", &["192.0.2.99"]);
    let creation =
        SetChange { key: SetKey::of(&foreign), before: None, after: Some(Entry::from(foreign.clone())) };
    let batch =
        Batch { zone: name("example.org"), changes: vec![creation], guards: Vec::new(), generation: 0 };
    assert_eq!(provider.write(&batch).await, [Ok(())]);
    let others = held(&*provider, false).await;

    let mut sets: Vec<RecordSet> =
        (0..60).map(|number| set(&format!("n{number}.example.org"), "A", &["192.0.2.1"])).collect();
    sets.push(set("alias.example.org", "CNAME", &["n1.example.org."]));
    sets.push(set("text.example.org", "TXT", &["\"a \\\"b\\\"; c\""]));
    let taken = set("foreign.example.org", "A", &["192.0.2.1"]);
    let mut delivery = Delivery::start(provider.clone(), &sets);
    delivery.wait_until_stands(&sets).await;
    delivery.orders.send(Order::Nodes(vec![node(&taken, true)])).ok().unwrap();
    let is_foreign = |told: &BTreeMap<SetKey, SetResult>| {
        matches!(told.get(&SetKey::of(&taken)), Some(SetResult::Foreign { .. }))
    };
    delivery.wait_until("the foreign one is told", is_foreign).await;

    // An alias becomes an address, an address changes, and five names go.
    sets[60] = set("alias.example.org", "A", &["192.0.2.2"]);
    sets[0] = set("n0.example.org", "A", &["192.0.2.3", "192.0.2.4"]);
    let gone = sets.drain(10..15).collect::<Vec<_>>();
    let mut nodes: Vec<Node> = gone.iter().map(|set| node(set, false)).collect();
    nodes.extend([&sets[0], &sets[55]].map(|set| node(set, true)));
    delivery.orders.send(Order::Nodes(nodes)).ok().unwrap();
    delivery.wait_until_stands(&sets).await;
    let is_absent = |told: &BTreeMap<SetKey, SetResult>, set: &RecordSet| {
        matches!(told.get(&SetKey::of(set)), Some(SetResult::Absent { .. }))
    };
    delivery.wait_until("five are gone", |told| gone.iter().all(|set| is_absent(told, set))).await;

    let mut expected: Vec<RecordSet> = others.iter().chain(&sets).cloned().collect();
    expected.sort_by(|a, b| (&a.name, a.rtype).cmp(&(&b.name, b.rtype)));
    let mut now = held(&*provider, false).await;
    now.sort_by(|a, b| (&a.name, a.rtype).cmp(&(&b.name, b.rtype)));
    assert_eq!(now, expected);
    // The marks of what is gone go last, after the report. Our counter stands beside the others.
    let unmarking = async {
        while held(&*provider, true).await.len() != sets.len() + 1 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, unmarking).await.expect("marks of what is gone are left");
    drop(delivery);

    // Started again, it finds everything as it should be.
    let before = (held(&*provider, true).await, provider.revision(&name("example.org")).await.unwrap());
    let mut again = Delivery::start(start(), &sets);
    again.wait_until_stands(&sets).await;
    let after = (held(&*provider, true).await, provider.revision(&name("example.org")).await.unwrap());
    assert!(after == before, "{after:?}\nbut before\n{before:?}");
    let is_written = |result: &SetResult| matches!(result, SetResult::Stands { written: Some(_), .. });
    assert_eq!(again.told.values().filter(|result| is_written(result)).count(), 0);
}

fn guard() -> Arc<Guard> {
    Arc::new(Guard { allowed: vec!["127.0.0.0/8".parse().unwrap()], ..Guard::default() })
}

#[rstest]
#[case::bind(UpdateProgram::Bind)]
#[case::knot(UpdateProgram::Knot)]
#[tokio::test]
async fn records_are_delivered_by_updates(#[case] program: UpdateProgram) {
    let server = UpdateServer::start(program, &["example.org"]).unwrap();
    let algorithm = TsigAlgorithm::HmacSha256;
    let key = Some(rfc2136::Key { name: name("key256"), algorithm, secret: key_secret() });
    let settings =
        rfc2136::Settings { server: server.dns().to_string(), key, timeout: Duration::from_secs(10) };
    deliver(|| Arc::new(Rfc2136::new(settings.clone(), guard()).unwrap())).await;
}

#[tokio::test]
async fn records_are_delivered_into_zone_files() {
    let folder = tempfile::tempdir().unwrap();
    deliver(|| Arc::new(ZoneFiles::new(folder.path().join("zones")))).await;
}

#[tokio::test]
async fn records_are_delivered_through_external_dns() {
    let server = ExternalDnsProvider::in_memory(&["example.org"]).unwrap();
    let client = HttpClient::new(guard(), Duration::from_secs(10), &Trust::default()).unwrap();
    deliver(|| Arc::new(ExternalDnsWebhook::new(server.url(), client.clone()).unwrap())).await;
}
