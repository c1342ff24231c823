#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use dns::{Location, Member, Name};
use planner::{Certificate, ProbeTarget};
use rstest::rstest;

use super::super::content::content;
use super::*;

const OLD: Version = Version { major: 4, minor: 7 };

fn probe() -> ProbeSpec {
    let codes = vec![(200, 200)];
    let question = ProbeQuestion::Page { tls: None, host: "a.test".into(), path: "/up".into(), codes };
    ProbeSpec {
        target: ProbeTarget::Address([192, 0, 2, 0].into()),
        port: 8080,
        question,
        interval: 5_000,
        timeout: 2_000,
        failures: 1,
        successes: 1,
    }
}

fn connect() -> ProbeSpec {
    ProbeSpec { question: ProbeQuestion::Connect, ..probe() }
}

/// A region of these addresses of the set, probed or not.
fn region(data: &[u16], probe: Option<u64>) -> Steering {
    let member = |data: &u16| Member { data: *data, probe: probe.map(ProbeId) };
    Steering::Named("weu".into(), Box::new(Steering::All(data.iter().map(member).collect())))
}

fn draw(sticky: bool, weights: [u32; 2]) -> Steering {
    let choices = vec![(weights[0], region(&[0], None)), (weights[1], region(&[1], None))];
    Steering::Weighted { sticky, choices }
}

/// Addresses 192.0.2.0 to 192.0.2.2.
fn steered(steering: Steering) -> Entry {
    let data = (0..3).map(|last| Rdata::a([192, 0, 2, last].into())).collect();
    Entry::from(RecordSet::steered(Name::parse("www.test").unwrap(), Rtype::A, 30, data, steering))
}

/// What PowerDNS is sent for one steered set of addresses.
fn body(steering: Steering, probe: &ProbeSpec, version: Version) -> String {
    let lowered = lowered(vec![steered(steering)], &|_| Some(probe), version);
    let [entry] = lowered.entries.as_slice() else { panic!("{lowered:?}") };
    assert_eq!((entry.set.rtype, entry.set.ttl), (STEERED, 30));
    let text = content(&entry.set.data[0]);
    text.strip_prefix("A \"").and_then(|text| text.strip_suffix('"')).unwrap().to_owned()
}

#[rstest]
#[case(
    region(&[0, 1], Some(1)),
    "ifurlup('http://a.test:8080/up',{{'192.0.2.0','192.0.2.1'}},{selector='all',backupSelector='all',timeout='2'})"
)]
#[case(
    Steering::Failover(vec![region(&[1], Some(1)), region(&[0, 2], Some(1))]),
    "ifurlup('http://a.test:8080/up',{{'192.0.2.1'},{'192.0.2.0','192.0.2.2'}},{selector='all',backupSelector='all',timeout='2'})"
)]
#[case(draw(true, [80, 20]), "pickwhashed({{800000,'192.0.2.0'},{200000,'192.0.2.1'}})")]
#[case(draw(false, [1, 1]), "pickwrandom({{1,'192.0.2.0'},{1,'192.0.2.1'}})")]
#[case(draw(false, [120, 0]), "pickwrandom({{120,'192.0.2.0'}})")]
#[case(draw(false, [0, 0]), "pickwrandom({{1,'192.0.2.0'},{1,'192.0.2.1'}})")]
#[case(
    Steering::Closest(vec![(Location::default(), region(&[0], None)), (Location::default(), region(&[1], None))]),
    "pickclosest({'192.0.2.0','192.0.2.1'})"
)]
#[case(
    Steering::Geo {
        choices: vec![
            (Geo::Continent(*b"EU"), region(&[0], None)),
            (Geo::Country(*b"IE"), draw(true, [1, 2])),
        ],
        default: Box::new(region(&[2], None)),
    },
    "country('IE') and pickwhashed({{333333,'192.0.2.0'},{666667,'192.0.2.1'}}) or continent('EU') and all({'192.0.2.0'}) or all({'192.0.2.2'})"
)]
fn each_steering_has_its_body(#[case] steering: Steering, #[case] wanted: &str) {
    assert_eq!(body(steering, &probe(), OLD), wanted);
}

#[test]
fn a_port_is_checked_as_a_port() {
    let wanted = "ifportup(8080,{'192.0.2.0','192.0.2.1'},{selector='all',backupSelector='all',timeout='2'})";
    assert_eq!(body(region(&[0, 1], Some(1)), &connect(), OLD), wanted);
    let near = Steering::Closest(vec![(Location::default(), region(&[0, 1], Some(1)))]);
    assert_eq!(body(near, &connect(), OLD), wanted.replacen("'all'", "'pickclosest'", 1));
}

#[test]
fn a_newer_server_is_told_how_to_check_exactly() {
    let question = ProbeQuestion::Page {
        tls: Some(Certificate::Any),
        host: "a.test".into(),
        path: "/a b".into(),
        codes: vec![(204, 204)],
    };
    let probe = ProbeSpec { question, failures: 3, interval: 10_000, ..probe() };
    let body = body(region(&[0], Some(1)), &probe, Version { major: 5, minor: 0 });
    assert!(body.contains("minimumFailures='3',interval='10',httpcode='204'"), "{body}");
    assert!(body.contains("('https://a.test:8080/a%20b',"), "{body}");
}

#[test]
fn all_addresses_of_a_name_are_lua_records_or_none_is() {
    let name = Name::parse("www.test").unwrap();
    let data = vec![Rdata::aaaa("2001:db8::1".parse().unwrap())];
    let plain = Entry::from(RecordSet::new(name.clone(), Rtype::AAAA, 20, data));
    let text = Entry::from(RecordSet::new(name, Rtype::TXT, 60, vec![Rdata::txt("x")]));
    let entries = vec![steered(draw(true, [1, 1])), plain.clone(), text.clone()];
    let lowered_sets = lowered(entries.clone(), &|_| None, OLD);
    assert_eq!(lowered_sets.spoken_for, [entries[0].set.clone(), plain.set.clone()]);
    let [first, lua] = lowered_sets.entries.as_slice() else { panic!("{lowered_sets:?}") };
    let texts: Vec<String> = lua.set.data.iter().map(content).collect();
    assert_eq!((first, lua.set.ttl), (&text, 20));
    assert_eq!(texts[1], "AAAA \"all({'2001:db8::1'})\"");
    let unsteered = vec![plain, text];
    assert_eq!(lowered(unsteered.clone(), &|_| None, OLD).entries, unsteered);
}

#[rstest]
#[case(region(&[0, 1, 2], None), probe())]
#[case(region(&[0, 1, 2], Some(1)), page("a.test:1@b", "/"))]
#[case(region(&[0, 1, 2], Some(1)), page("192.0.2.1", "/"))]
#[case(Steering::Failover(vec![region(&[0], Some(1)), region(&[1], Some(1))]), connect())]
fn what_needs_no_lua_or_has_none_is_a_plain_set_of_everything(
    #[case] steering: Steering,
    #[case] probe: ProbeSpec,
) {
    let entry = steered(steering);
    let plain = Entry { set: RecordSet { steering: None, ..entry.set.clone() }, ..entry.clone() };
    let wanted = Lowered { entries: vec![plain], spoken_for: Vec::new() };
    assert_eq!(lowered(vec![entry], &|_| Some(&probe), OLD), wanted);
}

#[test]
fn a_body_that_powerdns_would_not_run_to_its_end_is_a_plain_set() {
    let choices = |count: u16| (0..count).map(|at| (1, region(&[at], None))).collect();
    let set = |rtype, data: Vec<Rdata>| {
        let steering = Steering::Weighted { sticky: false, choices: choices(data.len() as u16) };
        Entry::from(RecordSet::steered(Name::parse("www.test").unwrap(), rtype, 30, data, steering))
    };
    let entries = |count: u32| {
        let four = (0..count).map(|at| Rdata::a((0x0a00_0000 + at).into())).collect();
        let six =
            (0..count).map(|at| Rdata::aaaa((0x2001_0db8_u128 << 96 | u128::from(at)).into())).collect();
        vec![set(Rtype::A, four), set(Rtype::AAAA, six)]
    };
    let types = |count| -> Vec<Rtype> {
        lowered(entries(count), &|_| None, OLD).entries.iter().map(|entry| entry.set.rtype).collect()
    };
    assert_eq!(types(200), [STEERED]);
    assert_eq!(types(300), [Rtype::A, Rtype::AAAA]);
}

fn page(host: &str, path: &str) -> ProbeSpec {
    let (host, path, codes) = (host.into(), path.into(), vec![(200, 200)]);
    ProbeSpec { question: ProbeQuestion::Page { tls: None, host, path, codes }, ..probe() }
}

#[test]
fn huge_weights_keep_their_relation_and_fit() {
    let weights = fitting(&[u32::MAX, u32::MAX / 2, 1, 0]);
    assert!(
        weights.iter().map(|weight| u64::from(*weight)).sum::<u64>() <= u64::from(i32::MAX.unsigned_abs())
    );
    assert!((weights[0] / 2).abs_diff(weights[1]) <= 2, "{weights:?}");
    assert_eq!(weights[2..], [1, 0]);
    assert_eq!(fitting(&[80, 20]), [80, 20]);
}

#[rstest]
#[case(&[80, 20], &[800_000, 200_000])]
#[case(&[1, 1, 1], &[333_333, 333_333, 333_334])]
#[case(&[120, 0], &[1_000_000, 0])]
#[case(&[0, 0], &[500_000, 500_000])]
#[case(&[u32::MAX, 1], &[999_999, 1])]
#[case(&[u32::MAX, 0, 1, 1], &[999_999, 0, 1, 1])]
fn sticky_weights_have_one_sum(#[case] weights: &[u32], #[case] expected: &[u32]) {
    assert_eq!(shares(weights), expected);
}

/// Of the networks, here numbered by their hash, those move that must: the tenth that the first one loses.
#[test]
fn a_changed_weight_moves_only_the_share_that_must_move() {
    let drawn = |weights: &[u32], hash: u32| {
        let mut end = 0;
        let ends = shares(weights).into_iter().map(move |share| {
            end += share;
            end
        });
        ends.into_iter().position(|end| hash % 1_000_000 < end)
    };
    let moved = |before: &[u32], after: &[u32]| {
        (0..1_000_000).step_by(100).filter(|hash| drawn(before, *hash) != drawn(after, *hash)).count()
    };
    assert_eq!(moved(&[80, 20], &[70, 30]), 1_000);
    assert_eq!(moved(&[1, 1], &[1, 3]), 2_500);
}

#[test]
fn what_lua_stands_for_keeps_its_steering() {
    let entry = steered(draw(false, [3, 1]));
    let lowered = lowered(vec![entry.clone()], &|_| None, OLD);
    assert!(Arc::ptr_eq(
        lowered.spoken_for[0].steering.as_ref().unwrap(),
        entry.set.steering.as_ref().unwrap()
    ));
    assert_eq!(lowered.entries[0].set.steering, None);
}

/// Steered addresses, as many as this, and their probes.
fn many(count: usize, probe: Option<u64>) -> RecordSet {
    let data = (0..count as u32).map(|at| Rdata::a((0x0a00_0000 + at).into())).collect();
    let all = region(&(0..count as u16).collect::<Vec<_>>(), probe);
    RecordSet::steered(Name::parse("www.test").unwrap(), Rtype::A, 30, data, all)
}

#[rstest]
#[case(3, probe(), true)]
#[case(800, probe(), true)]
#[case(1_000, probe(), false)]
#[case(3, page("a.test", &format!("/{}", "a".repeat(2_000))), true)]
#[case(3, page("a.test", &format!("/{}", "a'".repeat(1_000))), false)]
#[case(3, page("192.0.2.1", "/"), false)]
#[case(3, page("*.test", "/"), false)]
fn what_cannot_be_written_is_known_beforehand(
    #[case] count: usize,
    #[case] probe: ProbeSpec,
    #[case] is_written: bool,
) {
    let set = many(count, Some(1));
    assert_eq!(is_writable(&set, &|_| Some(&probe)), is_written);
    let lowered = lowered(vec![Entry::from(set)], &|_| Some(&probe), OLD);
    assert_eq!(lowered.entries[0].set.rtype == STEERED, is_written);
}

#[test]
fn places_cost_an_answer_only_a_look_each() {
    let code = |at: u8| [b'A' + at / 26, b'A' + at % 26];
    let of = |count: u8| {
        let choices = (0..count).map(|at| (Geo::Country(code(at)), region(&[0, 1], Some(1)))).collect();
        steered(Steering::Geo { choices, default: Box::new(region(&[2], Some(1))) }).set
    };
    let probe = probe();
    assert!(is_writable(&of(100), &|_| Some(&probe)));
    assert!(!is_writable(&of(150), &|_| Some(&probe)));
}
