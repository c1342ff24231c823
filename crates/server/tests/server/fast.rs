//! The fast path says what the slow path says, whatever was compiled and changed since.

use dns::{Name, RecordSet};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use rstest::rstest;
use server::{Circumstances, Sight, ZoneUpdate, Zones, respond, respond_fast};

use crate::client::{Ask, show};
use crate::world;

const SOA: &str = "@ 3600 SOA ns admin 1 7200 900 1209600 300";
const FOREIGN_SOA: &str = "@ 60 SOA ns.Other.net. admin.other.net. 7 7200 900 1209600 3600";

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
        1 => Just("TYPE65280 \\# 2 0102".to_owned()),
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
    Put(&'static str, String, Vec<String>),
    Remove(&'static str, String),
    Zone(Content),
    RemoveZone(&'static str),
    Unavailable(&'static str),
}

fn change() -> impl Strategy<Value = Change> {
    let named = || origin().prop_flat_map(|origin| (Just(origin), name_below(origin)));
    prop_oneof![
        8 => (named(), vec(data(), 0..3)).prop_map(|((origin, name), data)| Change::Put(origin, name, data)),
        4 => named().prop_map(|(origin, name)| Change::Remove(origin, name)),
        1 => content().prop_map(Change::Zone),
        1 => origin().prop_map(Change::RemoveZone),
        1 => origin().prop_map(Change::Unavailable),
    ]
}

impl Change {
    fn apply(&self, zones: &mut Zones) {
        zones.apply(match self {
            Change::Put(origin, name, data) => {
                let lines: Vec<String> = data.iter().map(|data| format!("{name} 7 {data}")).collect();
                let origin: Name = origin.parse().unwrap();
                let sets = world::sets(&origin, &lines);
                ZoneUpdate::PutNode { origin, name: name.parse().unwrap(), sets }
            }
            Change::Remove(origin, name) => {
                ZoneUpdate::RemoveNode { origin: origin.parse().unwrap(), name: name.parse().unwrap() }
            }
            Change::Zone(content) => return content.put(zones),
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
        "DS",
        "ANY",
        "TYPE65280",
    ]);
    let options = vec(select(vec!["edns", "size=0", "size=700", "size=4096", "do", "rd", "cd", "ad"]), 0..3);
    (name(), rtype, options, vec(any::<bool>(), 255)).prop_map(|(name, rtype, options, capitals)| {
        let mut ask = options.iter().fold(Ask::new(&name, rtype), |ask, option| ask.with(option));
        let letters = ask.name.iter_mut().zip(capitals).filter(|(_, capital)| *capital);
        letters.for_each(|(octet, _)| octet.make_ascii_uppercase());
        ask
    })
}

fn around(zones: &Zones) -> Circumstances<'_> {
    Circumstances::plain(Sight { zones: Some(zones), synced: true })
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
    let (shown, wanted) = (show(&fast), show(&slow));
    prop_assert_eq!(&shown, &wanted);
    prop_assert!(fast.len() <= ask.limit());
    let has_names =
        wanted.iter().any(|line| [" SOA ", " CNAME ", " PTR "].iter().any(|with| line.contains(with)));
    if !has_names {
        prop_assert_eq!(fast, slow);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

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
fn before_the_first_sync_there_are_no_fast_answers() {
    let mut zones = world::zones("e.", ZONE);
    zones.compile(usize::MAX);
    let around = Circumstances::plain(Sight { zones: Some(&zones), synced: false });
    assert_eq!(respond_fast(&Ask::new("nothing.e.", "A").octets(), around, &mut Vec::new()), None);
}
