//! Steered record sets at a real PowerDNS: as LUA records, answered to clients here and there, while what
//! they lead to dies and comes back.

#[path = "powerdns_steering/geo_database.rs"]
pub(crate) mod geo_database;
#[path = "powerdns_steering/target.rs"]
pub(crate) mod target;

use std::fs;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use backends::powerdns::steered::{STEERED, is_writable, lowered};
use backends::powerdns::{Powerdns, Version};
use backends::{Dialect, Entry, Provider, SetKey, Steers};
use dns::{Geo, Location, Member, ProbeId, Rdata, RecordSet, Rtype, Steering};
use e2e::{
    Backend, Folder, Options, PowerDns, Store, Up, ask_many, block_on, dig, own_address, powerdns_class,
    wait_for,
};
use planner::{Abilities, CheckInterval, Checks, ProbeQuestion, ProbeSpec, ProbeTarget, Room};
use target::Target;
use tempfile::TempDir;

use crate::powerdns_world::{content, creations_of, name, open, write};
use crate::shares::{assert_shares, from_networks};

const OLD: Version = Version { major: 4, minor: 7 };
const HOST: &str = "app.steered.test";
const PORT: u16 = 8080;

/// A PowerDNS that runs LUA records and knows where clients are.
struct World {
    server: PowerDns,
    provider: Powerdns,
    _database: TempDir,
}

/// A PowerDNS that runs LUA records and knows where clients are, and each of these addresses in the place
/// with its number; with the folder of its database.
pub(crate) fn server(store: Store, homes: &[(Ipv4Addr, usize)]) -> (PowerDns, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display();
    fs::write(folder.path().join("geo.mmdb"), geo_database::file(homes)).unwrap();
    fs::write(folder.path().join("zones.yaml"), "domains: []\n").unwrap();
    let lines = format!(
        "launch+=geoip\ngeoip-database-files=mmdb:{path}/geo.mmdb\ngeoip-zones-file={path}/zones.yaml\n\
         edns-subnet-processing=yes\nenable-lua-records=shared\nlua-health-checks-interval=1"
    );
    (PowerDns::with(store, &lines).unwrap(), folder)
}

impl World {
    fn start(store: Store) -> World {
        let (server, database) = server(store, &[]);
        let provider = server.provider().unwrap();
        open(&provider, "steered.test.").unwrap();
        World { server, provider, _database: database }
    }

    /// Writes steered sets of addresses at the names `s0`, `s1` and so on, and reads them back.
    fn put(&self, sets: &[(Vec<IpAddr>, Steering)], probe: &ProbeSpec) {
        let mut entries: Vec<Entry> = sets.iter().enumerate().map(|(at, set)| lua(at, set, probe)).collect();
        entries.sort_by_key(|entry| SetKey::of(&entry.set));
        write(&self.provider, &creations_of("steered.test.", &entries));
        let sets: Vec<RecordSet> = entries.into_iter().map(|entry| entry.set).collect();
        assert_eq!(content(&self.provider, "steered.test."), sets);
    }

    fn addresses(&self, number: usize, options: &str) -> Vec<String> {
        let question = format!("s{number}.steered.test A {options}");
        dig(self.server.dns(), question.trim_end()).unwrap().data("A")
    }

    fn wait_for(&self, number: usize, wanted: &[IpAddr]) {
        let mut wanted: Vec<String> = wanted.iter().map(IpAddr::to_string).collect();
        wanted.sort();
        let mut last = Vec::new();
        let result = wait_for(&format!("s{number} to be {wanted:?}"), || {
            last = self.addresses(number, "");
            Ok((last == wanted).then_some(()))
        });
        assert!(result.is_ok(), "s{number} is {last:?}, not {wanted:?}");
    }
}

/// The LUA set of a steered set.
fn lua(number: usize, (addresses, steering): &(Vec<IpAddr>, Steering), probe: &ProbeSpec) -> Entry {
    let owner = name(&format!("s{number}.steered.test."));
    let data = addresses.iter().map(|address| match address {
        IpAddr::V4(address) => Rdata::a(*address),
        IpAddr::V6(address) => Rdata::aaaa(*address),
    });
    let set = RecordSet::steered(owner, Rtype::A, 30, data.collect(), steering.clone());
    let lowered = lowered(vec![Entry::from(set)], &|_| Some(probe), OLD);
    assert_eq!(lowered.entries[0].set.rtype, STEERED, "{lowered:?}");
    lowered.entries[0].clone()
}

fn region(data: &[u16], is_probed: bool) -> Steering {
    let probe = is_probed.then_some(ProbeId(1));
    Steering::All(data.iter().map(|data| Member { data: *data, probe }).collect())
}

fn draw(sticky: bool, weights: &[u32]) -> Steering {
    let choices = (0..).zip(weights).map(|(at, weight)| (*weight, region(&[at], false)));
    Steering::Weighted { sticky, choices: choices.collect() }
}

fn probe(question: ProbeQuestion) -> ProbeSpec {
    let target = ProbeTarget::Address([127, 0, 0, 1].into());
    let (interval, timeout, failures, successes) = (5_000, 2_000, 1, 1);
    ProbeSpec { target, port: PORT, question, interval, timeout, failures, successes }
}

fn page() -> ProbeQuestion {
    let codes = vec![(200, 200)];
    ProbeQuestion::Page { tls: None, host: HOST.into(), path: "/health z?a='\"".into(), codes }
}

fn far() -> Vec<IpAddr> {
    ["16.0.0.1", "17.0.0.1", "18.0.0.1"].map(|text| text.parse().unwrap()).to_vec()
}

/// What the world's PowerDNS says of itself.
fn able() -> Steers {
    let checks = Checks {
        orders_connections: false,
        is_told_codes: false,
        is_told_failures: false,
        interval: CheckInterval::Fixed(1_000),
    };
    let abilities = Abilities { chooses: true, knows_places: true, checks, room: Room(is_writable) };
    Steers { abilities, dialect: Dialect::Lua(OLD) }
}

#[test]
fn clients_get_what_is_for_their_place() {
    for store in Store::ALL {
        let world = World::start(store);
        assert_eq!(block_on(world.provider.steers()).unwrap(), Ok(able()));
        let near = (0..3).map(|at| (Location::default(), region(&[at], false))).collect();
        let places = Steering::Geo {
            choices: vec![
                (Geo::Continent(*b"EU"), region(&[1], false)),
                (Geo::Country(*b"IE"), draw(true, &[1, 0])),
            ],
            default: Box::new(region(&[2, 1], false)),
        };
        world.put(&[(far(), Steering::Closest(near)), (far(), places)], &probe(page()));
        let subnet = |number, network: &str| world.addresses(number, &format!("+subnet={network}"));
        for (network, address) in
            [("16.9.0.0/24", "16.0.0.1"), ("17.9.0.0/24", "17.0.0.1"), ("18.9.9.0/24", "18.0.0.1")]
        {
            assert_eq!(subnet(0, network), [address], "the closest to {network}");
        }
        assert_eq!(subnet(1, "16.9.0.0/24"), ["16.0.0.1"], "a country comes before its continent");
        assert_eq!(subnet(1, "17.9.0.0/24"), ["17.0.0.1"], "a continent");
        assert_eq!(subnet(1, "18.9.0.0/24"), ["17.0.0.1", "18.0.0.1"], "elsewhere");
        assert_eq!(world.addresses(1, ""), ["17.0.0.1", "18.0.0.1"], "nobody knows where");
        assert_eq!(world.addresses(0, "").len(), 1);
    }
}

/// As many as make a share that is off by two parts in a hundred stand out, at some ten thousand a second.
const DRAWS: usize = 20_000;

/// Choices of one address, or of two: position N, and for two N + 1 beside it.
fn wide_draw(sticky: bool, weights: &[u32]) -> Steering {
    let choices = (0..).zip(weights).map(|(at, weight)| (*weight, region(&[at, at + 1], false)));
    Steering::Weighted { sticky, choices: choices.collect() }
}

#[test]
fn draws_come_out_by_their_weights_and_stick_where_they_are_to() {
    let world = World::start(Store::Lmdb);
    let cases: [&[u32]; 4] = [&[80, 20], &[1, 1, 1], &[120, 0], &[20, 80]];
    let addresses: Vec<IpAddr> = (1..=4).map(|last| [192, 0, 2, last].into()).collect();
    let record = |at: usize| format!("A {}", addresses[at]);
    let kinds = [(draw as fn(bool, &[u32]) -> Steering, 1), (wide_draw, 2)];
    let mut rows = Vec::new();
    for ((make, width), weights) in kinds.iter().flat_map(|kind| cases.map(|weights| (kind, weights))) {
        rows.extend([false, true].map(|sticky| (sticky, *width, weights, make(sticky, weights))));
    }
    let sets: Vec<_> = rows.iter().map(|row| (addresses.clone(), row.3.clone())).collect();
    world.put(&sets, &probe(page()));
    for (number, (sticky, width, weights, _)) in rows.iter().enumerate() {
        let name = format!("s{number}.steered.test");
        // A fresh draw has nothing to do with who asks, a sticky one with nothing else.
        let questions = from_networks(&name, DRAWS);
        let replies = ask_many(world.server.dns(), &questions).unwrap();
        assert_shares(&replies, weights, |at| (at..at + width).map(record).collect());
        let again = ask_many(world.server.dns(), &questions[..1_000]).unwrap();
        let is_single = weights.contains(&0);
        assert_eq!(again == replies[..1_000], *sticky || is_single, "{weights:?}, sticky: {sticky}");
    }
}

#[test]
fn the_dead_are_left_out_and_the_living_come_back() {
    let world = World::start(Store::Sqlite);
    let targets = [own_address(), own_address(), own_address()];
    let mut alive = targets.map(|address| Some(Target::start((address, PORT).into(), HOST)));
    let groups = Steering::Failover(vec![region(&[0, 1], true), region(&[2], true)]);
    let places = Steering::Geo {
        choices: vec![(Geo::Country(*b"IE"), region(&[0], false))],
        default: Box::new(groups.clone()),
    };
    world.put(&[(targets.to_vec(), groups), (targets.to_vec(), places)], &probe(page()));
    let [first, second, third] = targets;
    world.wait_for(0, &[first, second]);
    alive[0] = None;
    world.wait_for(0, &[second]);
    alive[1] = None;
    world.wait_for(0, &[third]);
    world.wait_for(1, &[third]);
    assert_eq!(world.addresses(1, "+subnet=16.0.0.0/24"), [first.to_string()], "which nobody checks");
    alive[2] = None;
    world.wait_for(0, &targets);
    alive[1] = Some(Target::start((second, PORT).into(), HOST));
    world.wait_for(0, &[second]);
    let elsewhere = Some(Target::start((first, PORT).into(), "other.test"));
    alive[2] = Some(Target::start((third, PORT).into(), HOST));
    world.wait_for(0, &[second]);
    drop(elsewhere);
    alive[0] = Some(Target::start((first, PORT).into(), HOST));
    world.wait_for(0, &[first, second]);
}

#[test]
fn a_port_that_is_closed_is_left_out() {
    let world = World::start(Store::Lmdb);
    let targets = [own_address(), own_address()];
    let mut alive = targets.map(|address| Some(Target::start((address, PORT).into(), HOST)));
    let near = Steering::Closest(vec![(Location::default(), region(&[0, 1], true))]);
    let sets = [(targets.to_vec(), region(&[0, 1], true)), (targets.to_vec(), near)];
    world.put(&sets, &probe(ProbeQuestion::Connect));
    world.wait_for(0, &targets);
    alive[0] = None;
    world.wait_for(0, &targets[1..]);
    world.wait_for(1, &targets[1..]);
    alive[1] = None;
    world.wait_for(0, &targets);
    alive[0] = Some(Target::start((targets[0], PORT).into(), HOST));
    world.wait_for(0, &targets[..1]);
    world.wait_for(1, &targets[..1]);
}

fn manifests(url: &str, mode: &str, regions: &[IpAddr]) -> String {
    let regions: Vec<String> =
        (0..).zip(regions).map(|(at, address)| format!("{{name: r{at}, addresses: [{address}]}}")).collect();
    let class = powerdns_class(url);
    format!(
        "{class}
---
apiVersion: dns.homelab.mortenolsen.pro/v1alpha1
kind: DNSRecord
metadata: {{name: plain, namespace: production}}
spec: {{type: A, domain: steered.test, subdomain: plain, dnsClassRef: {{name: edge}}, values: [192.0.2.1], ttl: 600}}
---
apiVersion: fingerpost.dev/v1alpha1
kind: Placement
metadata: {{name: shop, namespace: production}}
spec:
  hostname: s0.steered.test
  mode: {mode}
  dnsClassRef: {{name: edge}}
  regions: [{}]
  healthCheck: {{protocol: HTTP, port: {PORT}, path: /, host: {HOST}, expectedCodes: ['200'], interval: 1s, timeout: 1s, failures: 1, successes: 1}}
",
        regions.join(", ")
    )
}

/// What stands at PowerDNS of one name: the types.
fn types(world: &World) -> Vec<String> {
    let path = "/zones/steered.test.?rrset_name=s0.steered.test.";
    let zone = world.server.send("GET", path, "").unwrap_or_default();
    let rrsets = zone["rrsets"].as_array().cloned().unwrap_or_default();
    let own = rrsets.iter().filter(|rrset| rrset["name"] == "s0.steered.test.");
    own.map(|rrset| rrset["type"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_placement_is_steered_by_powerdns_and_changes_its_mode_without_a_gap() {
    let world = World::start(Store::Sqlite);
    let regions = [own_address(), own_address()];
    let mut alive = regions.map(|address| Some(Target::start((address, PORT).into(), HOST)));
    let folder = Folder::new().unwrap();
    let put = |mode: &str, regions: &[IpAddr]| {
        folder.write("all.yaml", &manifests(&world.server.url(), mode, regions)).unwrap()
    };
    put("single-region", &regions[..1]);
    let _up = Up::start(Options::folder(folder.path()).flags(&["--drift-interval=1s"])).unwrap();
    world.wait_for(0, &regions[..1]);
    let answered_until = |types_wanted: &[&str]| {
        wait_for(&format!("s0 to have {types_wanted:?}"), || {
            let answers = world.addresses(0, "");
            assert!(!answers.is_empty(), "a moment without an answer");
            Ok((types(&world) == types_wanted).then_some(()))
        })
        .unwrap();
    };
    put("active-hotstandby", &regions);
    answered_until(&["LUA"]);
    world.wait_for(0, &regions[..1]);
    alive[0] = None;
    world.wait_for(0, &regions[1..]);
    alive[0] = Some(Target::start((regions[0], PORT).into(), HOST));
    world.wait_for(0, &regions[..1]);
    put("single-region", &regions[1..]);
    answered_until(&["A"]);
    world.wait_for(0, &regions[1..]);
}

#[test]
fn checks_begin_before_the_first_client_asks() {
    let world = World::start(Store::Lmdb);
    let regions = [own_address(), own_address()];
    let checks = Arc::new(AtomicUsize::new(0));
    let count = checks.clone();
    let _first = Backend::serving(regions[0], move |mut stream| {
        let mut request = [0; 2048];
        let length = stream.read(&mut request).unwrap_or(0);
        // Our own probes, if there are any, are of no use to PowerDNS.
        if String::from_utf8_lossy(&request[..length]).contains("PowerDNS") {
            count.fetch_add(1, Ordering::Relaxed);
        }
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    })
    .unwrap();
    let folder = Folder::new().unwrap();
    folder.write("all.yaml", &manifests(&world.server.url(), "active-hotstandby", &regions)).unwrap();
    let up = Up::start(Options::folder(folder.path())).unwrap();
    // With the second check the first has been taken note of.
    let checked =
        wait_for("PowerDNS to check twice", || Ok((checks.load(Ordering::Relaxed) >= 2).then_some(())));
    assert!(checked.is_ok(), "{}", up.output());
    assert_eq!(world.addresses(0, ""), [regions[0].to_string()], "the very first query");
}
