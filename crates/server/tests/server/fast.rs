//! The fast path says what the slow path says, whatever was compiled and changed since.

use std::sync::{Arc, LazyLock};

use dns::{Geo, Member, Name, RecordSet, Steering};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use rstest::rstest;
use server::dnssec::{Algorithm, Denial};
use server::{Circumstances, CookieKeys, Identity, Sight, ZoneUpdate, Zones, respond, respond_fast};

use crate::client::{Ask, show};
use crate::dnssec;
use crate::world;

const SOA: &str = "@ 3600 SOA ns admin 1 7200 900 1209600 300";
const FOREIGN_SOA: &str = "@ 60 SOA ns.Other.net. admin.other.net. 7 7200 900 1209600 3600";

static IDENTITY: LazyLock<Identity> = LazyLock::new(|| {
    let cookies = Some(CookieKeys::new([7; 16], vec![[8; 16]]));
    Identity { nsid: Some((*b"us").into()), cookies }
});

/// Steers a set in one of several ways.
fn steered(set: RecordSet, way: u8) -> RecordSet {
    let positions = 0..set.data.len() as u16;
    let each = || positions.clone().map(|data| Steering::All(vec![Member { data, probe: None }]));
    let first = each().next().unwrap();
    let steering = match way {
        0 => return set,
        1 => Steering::Weighted { sticky: false, choices: each().map(|one| (5, one)).collect() },
        2 => Steering::Weighted { sticky: true, choices: each().map(|one| (5, one)).collect() },
        3 => Steering::Failover(each().collect()),
        _ => Steering::Geo {
            choices: vec![(Geo::Country(*b"IE"), first)],
            default: Box::new(Steering::Failover(each().collect())),
        },
    };
    RecordSet { steering: Some(Arc::new(steering)), ..set }
}

fn origin() -> impl Strategy<Value = &'static str> {
    select(vec!["e.", "e.", "e.", "b.e.", "a.sub.e.", "sub.f.", "."])
}

fn label() -> impl Strategy<Value = &'static str> {
    select(vec!["a", "b", "*", "sub", "WWW", "a", "b", "www", "\\000", "x\\001y", "a-rather-long-Label"])
}

fn name_below(origin: &'static str) -> impl Strategy<Value = String> {
    let origin = if origin == "." { "" } else { origin };
    vec(label(), 0..5).prop_map(move |labels| match labels.is_empty() && origin.is_empty() {
        true => ".".to_owned(),
        false => labels.iter().map(|label| format!("{label}.")).chain([origin.to_owned()]).collect(),
    })
}

fn name() -> impl Strategy<Value = String> {
    origin().prop_flat_map(name_below)
}

fn data() -> impl Strategy<Value = String> {
    let long = "x".repeat(240);
    prop_oneof![
        8 => (0u8..40).prop_map(|octet| format!("A 192.0.2.{octet}")),
        2 => (0u8..40).prop_map(|octet| format!("AAAA 2001:db8::{octet}")),
        2 => (0u8..40).prop_map(move |number| format!("TXT \"{number} {long}\"")),
        3 => name().prop_map(|target| format!("CNAME {target}")),
        1 => name().prop_map(|target| format!("PTR {target}")),
        1 => name().prop_map(|target| format!("NS {target}")),
        1 => name().prop_map(|target| format!("MX 10 {target}")),
        1 => name().prop_map(|target| format!("HTTPS 1 {target}")),
        1 => name().prop_map(|target| format!("DNAME {target}")),
        1 => Just("NSEC a.e. A".to_owned()),
        1 => Just("TYPE62000 \\# 2 0102".to_owned()),
    ]
}

#[derive(Clone, Debug)]
struct Content {
    origin: &'static str,
    lines: Vec<String>,
    as_file: bool,
    foreign_soa: bool,
}

impl Content {
    fn all_lines(&self) -> Vec<String> {
        let soa = if self.foreign_soa { FOREIGN_SOA } else { SOA };
        [&[soa.to_owned()], &self.lines[..]].concat()
    }

    fn put(&self, zones: &mut Zones) {
        let put = if self.as_file { world::put_base } else { world::put_nodes };
        put(zones, &self.origin.parse().unwrap(), &self.all_lines());
    }
}

fn content() -> impl Strategy<Value = Content> {
    origin().prop_flat_map(|origin| {
        let line = (name_below(origin), data()).prop_map(|(name, data)| format!("{name} 60 {data}"));
        (vec(line, 0..14), any::<bool>(), any::<bool>())
            .prop_map(move |(lines, as_file, foreign_soa)| Content { origin, lines, as_file, foreign_soa })
    })
}

#[derive(Clone, Debug)]
enum Change {
    Put(&'static str, String, Vec<String>, u8),
    Remove(&'static str, String),
    Zone(Content),
    RemoveZone(&'static str),
    Unavailable(&'static str),
    Sign(bool),
}

fn change() -> impl Strategy<Value = Change> {
    let named = || origin().prop_flat_map(|origin| (Just(origin), name_below(origin)));
    prop_oneof![
        8 => (named(), vec(data(), 0..5), 0u8..5)
            .prop_map(|((origin, name), data, way)| Change::Put(origin, name, data, way)),
        4 => named().prop_map(|(origin, name)| Change::Remove(origin, name)),
        1 => content().prop_map(Change::Zone),
        1 => origin().prop_map(Change::RemoveZone),
        1 => origin().prop_map(Change::Unavailable),
        2 => any::<bool>().prop_map(Change::Sign),
    ]
}

impl Change {
    fn apply(&self, zones: &mut Zones) {
        zones.apply(match self {
            Change::Put(origin, name, data, way) => {
                let lines: Vec<String> = data.iter().map(|data| format!("{name} 7 {data}")).collect();
                let origin: Name = origin.parse().unwrap();
                let sets = world::sets(&origin, &lines).into_iter().map(|set| steered(set, *way)).collect();
                ZoneUpdate::PutNode { origin, name: name.parse().unwrap(), sets }
            }
            Change::Remove(origin, name) => {
                ZoneUpdate::RemoveNode { origin: origin.parse().unwrap(), name: name.parse().unwrap() }
            }
            Change::Zone(content) => return content.put(zones),
            Change::Sign(true) => return dnssec::sign(zones, Algorithm::Ed25519, Denial::Compact),
            Change::Sign(false) => ZoneUpdate::Sign { origin: "e.".parse().unwrap(), signing: None },
            Change::RemoveZone(origin) => ZoneUpdate::RemoveZone { origin: origin.parse().unwrap() },
            Change::Unavailable(origin) => {
                ZoneUpdate::Unavailable { origin: origin.parse().unwrap(), reason: "broken".to_owned() }
            }
        });
    }
}

fn ask() -> impl Strategy<Value = Ask> {
    let rtype = select(vec![
        "A",
        "A",
        "A",
        "AAAA",
        "TXT",
        "NS",
        "MX",
        "HTTPS",
        "CNAME",
        "PTR",
        "DNAME",
        "SOA",
        "NSEC",
        "DNSKEY",
        "DS",
        "ANY",
        "TYPE62000",
    ]);
    let options = vec(
        select(vec![
            "edns",
            "size=0",
            "size=700",
            "size=4096",
            "do",
            "rd",
            "cd",
            "ad",
            "option=10:0102030405060708",
            "option=10:0102030405060708010000000000000010",
            "option=10:01",
            "option=8:00011800c00002",
            "option=8:0002380020010db8000000",
            "option=8:00010000",
            "option=8:0001",
            "option=3:",
            "option=12:0000",
            "option=11:",
        ]),
        0..4,
    );
    (name(), rtype, options, any::<u64>()).prop_map(|(name, rtype, options, capitals)| {
        let mut ask = options.iter().fold(Ask::new(&name, rtype), |ask, option| ask.with(option));
        let letters =
            ask.name.iter_mut().enumerate().filter(|(at, _)| capitals.rotate_right(*at as u32) & 1 == 1);
        letters.for_each(|(_, octet)| octet.make_ascii_uppercase());
        ask
    })
}

fn around(zones: &Zones) -> Circumstances<'_> {
    let plain = Circumstances::plain(Sight { zones: Some(zones), synced: true });
    Circumstances { identity: &IDENTITY, now: 77, draw: 0x1234_5678_9abc_def0, ..plain }
}

/// The OPT record, which comes last.
fn opt(response: &[u8]) -> &[u8] {
    let start = response.windows(5).rposition(|octets| octets == [0, 0, 41, 4, 208]);
    &response[start.unwrap_or(response.len())..]
}

fn slow(zones: &Zones, query: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    respond(query, around(zones), &mut out).unwrap();
    out
}

fn fast(zones: &Zones, query: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let reply = respond_fast(query, around(zones), &mut out)?;
    assert!(!reply.truncated);
    Some(out)
}

/// Compares both answers to a query, and their octets where nothing is compressed.
fn compare(zones: &Zones, ask: &Ask) -> Result<(), TestCaseError> {
    let query = ask.octets();
    let Some(fast) = fast(zones, &query) else { return Ok(()) };
    let slow = slow(zones, &query);
    // A pointer brings the case of the question with it.
    let lower =
        |response: &[u8]| show(response).into_iter().map(|line| line.to_lowercase()).collect::<Vec<_>>();
    let (shown, wanted) = (lower(&fast), lower(&slow));
    prop_assert_eq!(&shown, &wanted);
    prop_assert!(fast.len() <= ask.limit());
    prop_assert_eq!(opt(&fast), opt(&slow));
    let has_names =
        wanted.iter().any(|line| [" soa ", " cname ", " ptr "].iter().any(|with| line.contains(with)));
    if !has_names {
        prop_assert_eq!(fast, slow);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn fast_answers_are_the_slow_ones(contents in vec(content(), 1..4), asks in vec(ask(), 20)) {
        let mut zones = Zones::new();
        contents.iter().for_each(|content| content.put(&mut zones));
        zones.compile(usize::MAX);
        for ask in asks {
            compare(&zones, &ask)?;
        }
    }

    #[test]
    fn fast_answers_are_the_slow_ones_after_changes_that_were_not_compiled(
        contents in vec(content(), 1..4),
        changes in vec(change(), 1..8),
        compiled_after in 0usize..12,
        asks in vec(ask(), 20),
    ) {
        let mut zones = Zones::new();
        contents.iter().for_each(|content| content.put(&mut zones));
        zones.compile(usize::MAX);
        let before = zones.clone();
        for (at, change) in changes.iter().enumerate() {
            change.apply(&mut zones);
            // What is compiled in the middle has own nodes over the zone file.
            zones.compile(if at == compiled_after { usize::MAX } else { 0 });
        }
        for ask in asks {
            compare(&zones, &ask)?;
            compare(&before, &ask)?;
        }
    }
}

const ZONE: &str = "
    @ 3600 SOA ns admin 1 7200 900 1209600 300
    www 60 A 192.0.2.1
    www 60 A 192.0.2.2
    www 60 AAAA 2001:db8::1
    text 60 TXT hello
    deep.down.here 60 A 192.0.2.3
    *.wild 60 A 192.0.2.4
    alias 60 CNAME www
    cut 60 NS ns.cut
    mail 60 MX 10 www";

#[rstest]
#[case("www.e.", "A")]
#[case("WwW.E.", "AAAA")]
#[case("text.e.", "TXT")]
#[case("deep.down.here.e.", "A")]
#[case("down.here.e.", "A")]
#[case("nothing.e.", "A")]
#[case("far.below.nothing.e.", "A")]
#[case("beside.down.here.e.", "A")]
#[case("www.e.", "TXT")]
#[case("any.thing.wild.e.", "A")]
#[case("any.wild.e.", "TXT")]
#[case("alias.e.", "A")]
#[case("e.", "SOA")]
#[case("e.", "TXT")]
fn common_questions_take_the_fast_path(#[case] name: &str, #[case] rtype: &str) {
    let mut zones = world::zones("e.", ZONE);
    zones.compile(usize::MAX);
    for option in ["rd", "edns", "do"] {
        let query = Ask::new(name, rtype).with(option).octets();
        let answer = fast(&zones, &query).expect("a fast answer");
        assert_eq!(show(&answer), show(&slow(&zones, &query)));
    }
}

#[rstest]
#[case("a.cut.e.", "A")]
#[case("mail.e.", "MX")]
#[case("www.e.", "ANY")]
#[case("elsewhere.", "A")]
fn other_questions_do_not(#[case] name: &str, #[case] rtype: &str) {
    let mut zones = world::zones("e.", ZONE);
    zones.compile(usize::MAX);
    assert_eq!(fast(&zones, &Ask::new(name, rtype).octets()), None);
}

#[test]
fn a_changed_name_is_fast_without_being_compiled_and_its_neighbours_stay_so() {
    let mut zones = world::zones("e.", ZONE);
    zones.compile(usize::MAX);
    let origin: Name = "e.".parse().unwrap();
    for (name, address) in [("www.e.", "192.0.2.77"), ("new.e.", "192.0.2.78")] {
        let sets: Vec<RecordSet> = world::sets(&origin, &[format!("{name} 5 A {address}")]);
        let name: Name = name.parse().unwrap();
        zones.apply(ZoneUpdate::PutNode { origin: origin.clone(), name, sets });
    }
    zones.compile(0);
    let first = |name| show(&fast(&zones, &Ask::new(name, "A").octets()).expect("a fast answer"))[1].clone();
    assert_eq!(first("www.e."), "answer www.e. 5 A 192.0.2.77");
    assert_eq!(first("new.e."), "answer new.e. 5 A 192.0.2.78");
    assert_eq!(first("any.wild.e."), "answer any.wild.e. 60 A 192.0.2.4");
    assert!(first("gone.e.").starts_with("authority e. 300 SOA"));
}

#[test]
fn a_name_below_a_wildcard_brings_the_wildcard_with_it() {
    let mut zones = world::zones("e.", ZONE);
    zones.compile(usize::MAX);
    let origin: Name = "e.".parse().unwrap();
    let sets = world::sets(&origin, &["a.*.e. 5 A 192.0.2.77".to_owned()]);
    zones.apply(ZoneUpdate::PutNode { origin, name: "a.*.e.".parse().unwrap(), sets });
    zones.compile(0);
    let query = Ask::new("gone.e.", "A").octets();
    assert_eq!(show(&slow(&zones, &query))[0], "NOERROR aa");
    assert!(fast(&zones, &query).is_none_or(|answer| show(&answer)[0] == "NOERROR aa"));
}

#[test]
fn before_the_first_sync_there_are_no_fast_answers() {
    let mut zones = world::zones("e.", ZONE);
    zones.compile(usize::MAX);
    let around = Circumstances::plain(Sight { zones: Some(&zones), synced: false });
    assert_eq!(respond_fast(&Ask::new("nothing.e.", "A").octets(), around, &mut Vec::new()), None);
}
