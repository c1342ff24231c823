//! Steered sets on the wire: who gets which part, and what the response says of the client's network.

use dns::{Location, Member, Name, ProbeId, Rdata, RecordSet, Rtype, Steering};
use rstest::rstest;
use server::steering::{Asker, GeoSource, Health, State};
use server::{Circumstances, Sight, Step, ZoneUpdate, Zones, lookup, respond};

use crate::client::{Ask, show};
use crate::world;

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn part(data: &[u16]) -> Steering {
    let member = |data: &u16| Member { data: *data, probe: Some(ProbeId(u64::from(*data))) };
    Steering::All(data.iter().map(member).collect())
}

fn geo_tree() -> Steering {
    Steering::Geo {
        choices: vec![("IE".parse().unwrap(), part(&[0])), ("GEO-EU".parse().unwrap(), part(&[1, 2]))],
        default: Box::new(part(&[3])),
    }
}

/// The zone `e.` with steered names.
fn zones(health: &Health) -> Zones {
    let networks = [("10.1.0.0/16", "IE"), ("10.2.0.0/16", "DE"), ("fd00:1::/32", "IE")];
    let networks = networks.map(|(network, geo)| (network.parse().unwrap(), geo.parse().unwrap()));
    let mut zones = Zones::steered_by(GeoSource::new(networks.to_vec(), None), health.clone());
    let lines = [
        "@ 60 SOA ns admin 1 2 3 4 5",
        "alias 60 CNAME www",
        "mail 60 MX 10 www",
        "plain 60 A 192.0.2.99",
        "sub 60 NS www",
    ];
    world::put_nodes(&mut zones, &name("e."), &lines.map(str::to_owned));
    let addresses = ["192.0.2.0", "192.0.2.1", "192.0.2.2", "192.0.2.3"];
    let six = ["2001:db8::1", "2001:db8::2", "2001:db8::3", "2001:db8::4"];
    let hosts = ["a.e.", "b.e.", "c.e.", "plain.e."];
    let sticky = Steering::Weighted { sticky: true, choices: vec![(1, part(&[0])), (1, part(&[1]))] };
    let fresh = Steering::Weighted { sticky: false, choices: vec![(1, part(&[0])), (1, part(&[1]))] };
    let near = |geo: &str| Location { geo: geo.parse().ok(), coordinates: None };
    let closest = Steering::Closest(vec![(near("US"), part(&[3])), (near("IE"), part(&[0]))]);
    put(
        &mut zones,
        "www",
        vec![set("www", Rtype::A, &addresses, geo_tree()), set("www", Rtype::AAAA, &six, geo_tree())],
    );
    put(&mut zones, "sticky", vec![set("sticky", Rtype::A, &addresses, sticky)]);
    put(&mut zones, "fresh", vec![set("fresh", Rtype::A, &addresses, fresh)]);
    put(&mut zones, "closest", vec![set("closest", Rtype::A, &addresses, closest)]);
    put(
        &mut zones,
        "first",
        vec![set("first", Rtype::A, &addresses, Steering::Failover(vec![part(&[1]), part(&[2])]))],
    );
    put(&mut zones, "*.wild", vec![set("*.wild", Rtype::A, &addresses, geo_tree())]);
    put(&mut zones, "turn", vec![set("turn", Rtype::CNAME, &hosts, geo_tree())]);
    zones
}

fn set(owner: &str, rtype: Rtype, data: &[&str], steering: Steering) -> RecordSet {
    let owner = Name::parse_relative(owner, &name("e.")).unwrap();
    let data = data.iter().map(|text| Rdata::parse(rtype, text, &Name::root()).unwrap()).collect();
    RecordSet::steered(owner, rtype, 30, data, steering)
}

fn put(zones: &mut Zones, owner: &str, sets: Vec<RecordSet>) {
    let owner = Name::parse_relative(owner, &name("e.")).unwrap();
    zones.apply(ZoneUpdate::PutNode { origin: name("e."), name: owner, sets });
}

/// The last words of the answer section and the subnet option, of a query from a client.
fn ask(zones: &Zones, client: &str, asked: &str, rtype: &str, options: &str) -> String {
    let query = options.split_whitespace().fold(Ask::new(asked, rtype), |ask, option| ask.with(option));
    let sight = Sight { zones: Some(zones), synced: true };
    let around = Circumstances { client: client.parse().unwrap(), ..Circumstances::plain(sight) };
    let mut out = Vec::new();
    respond(&query.octets(), around, &mut out).unwrap();
    let lines = show(&out);
    let data = lines.iter().filter_map(|line| line.strip_prefix("answer ")?.rsplit(' ').next());
    let subnet = lines.iter().filter(|line| line.starts_with("subnet"));
    data.chain(subnet.map(String::as_str)).collect::<Vec<_>>().join(" ")
}

#[rstest]
// The source decides without the option, and then there is none in the response.
#[case("10.1.2.3", "www.e.", "A", "", "192.0.2.0")]
#[case("10.1.2.3", "www.e.", "A", "edns", "192.0.2.0")]
#[case("10.2.2.3", "www.e.", "A", "edns", "192.0.2.1 192.0.2.2")]
#[case("127.0.0.1", "www.e.", "A", "", "192.0.2.3")]
#[case("::ffff:10.1.2.3", "www.e.", "A", "", "192.0.2.0")]
#[case("fd00:1::9", "www.e.", "AAAA", "", "2001:db8::1")]
// The option decides before the source: 10.1.2.0/24 and 10.2.0.0/16, each in a network of 16 bits.
#[case("127.0.0.1", "www.e.", "A", "option=8:000118000a0102", "192.0.2.0 subnet 000118100a0102")]
#[case("10.1.2.3", "www.e.", "A", "option=8:000110000a02", "192.0.2.1 192.0.2.2 subnet 000110100a02")]
// Fewer bits than it takes to tell: the scope says how many would have been looked at.
#[case("127.0.0.1", "www.e.", "A", "option=8:000108000a", "192.0.2.3 subnet 000108100a")]
// IPv6: fd00:1::/32.
#[case("127.0.0.1", "www.e.", "A", "option=8:00022000fd000001", "192.0.2.0 subnet 00022020fd000001")]
// Who wants nothing looked at is answered by the source, with no scope.
#[case("10.1.2.3", "www.e.", "A", "option=8:00010000", "192.0.2.0 subnet 00010000")]
#[case("10.1.2.3", "www.e.", "A", "option=8:00020000", "192.0.2.0 subnet 00020000")]
// No library reads a response of no family: without the option the scope is none, too.
#[case("10.1.2.3", "www.e.", "A", "option=8:00000000", "192.0.2.0")]
// No scope where steering did not look, or found nothing to steer.
#[case("127.0.0.1", "plain.e.", "A", "option=8:000118000a0102", "192.0.2.99 subnet 000118000a0102")]
#[case("127.0.0.1", "first.e.", "A", "option=8:000118000a0102", "192.0.2.1 subnet 000118000a0102")]
#[case("127.0.0.1", "fresh.e.", "A", "option=8:000118000a0102", "192.0.2.0 subnet 000118000a0102")]
#[case("127.0.0.1", "gone.e.", "A", "option=8:000118000a0102", "subnet 000118000a0102")]
#[case("127.0.0.1", "www.e.", "TXT", "option=8:000118000a0102", "subnet 000118000a0102")]
#[case("127.0.0.1", "x.f.", "A", "option=8:000118000a0102", "subnet 000118000a0102")]
// A sticky choice looks at 24 bits, or at what it gets.
#[case("127.0.0.1", "sticky.e.", "A", "option=8:000120000a010203", "192.0.2.0 subnet 000120180a010203")]
#[case("127.0.0.1", "sticky.e.", "A", "option=8:000110000a01", "192.0.2.0 subnet 000110100a01")]
#[case("127.0.0.1", "closest.e.", "A", "option=8:000118000a0102", "192.0.2.0 subnet 000118100a0102")]
// Aliases and wildcards.
#[case("127.0.0.1", "alias.e.", "A", "option=8:000118000a0102", "www.e. 192.0.2.0 subnet 000118100a0102")]
#[case("10.1.2.3", "x.wild.e.", "A", "", "192.0.2.0")]
#[case("10.1.2.3", "turn.e.", "A", "", "a.e.")]
#[case("10.2.2.3", "turn.e.", "CNAME", "", "b.e.")]
#[case("127.0.0.1", "turn.e.", "A", "", "plain.e. 192.0.2.99")]
fn the_client_s_network_decides_and_the_scope_says_how_much_of_it(
    #[case] client: &str,
    #[case] asked: &str,
    #[case] rtype: &str,
    #[case] options: &str,
    #[case] wanted: &str,
) {
    assert_eq!(ask(&zones(&Health::new()), client, asked, rtype, options), wanted);
}

#[test]
fn additional_addresses_and_glue_are_steered_alike() {
    let zones = zones(&Health::new());
    let asker = Asker::at("10.1.2.3".parse().unwrap(), 0);
    for (asked, rtype) in [("mail.e.", Rtype::MX), ("x.sub.e.", Rtype::A)] {
        let answer = lookup(&zones, &name(asked), rtype, &asker);
        let data: Vec<String> =
            answer.additional.iter().flat_map(|set| set.data.iter()).map(ToString::to_string).collect();
        assert_eq!(data, ["192.0.2.0", "2001:db8::1"], "{asked}");
        assert_eq!(answer.scope, None, "only the answer section is tied to a network");
    }
}

#[test]
fn health_changes_answers_without_a_change_of_the_zones() {
    let health = Health::new();
    let zones = zones(&health);
    let first = || ask(&zones, "127.0.0.1", "first.e.", "A", "");
    [1, 2].iter().for_each(|probe| health.set(ProbeId(*probe), State::Up));
    assert_eq!(first(), "192.0.2.1");
    health.set(ProbeId(1), State::Down);
    assert_eq!(first(), "192.0.2.2");
    health.set(ProbeId(2), State::Down);
    assert_eq!(first(), "192.0.2.1", "all down is all up");
}

#[test]
fn another_source_of_places_steers_what_is_already_there() {
    let mut zones = zones(&Health::new());
    let before = zones.clone();
    zones.set_geo(GeoSource::new(vec![("127.0.0.0/8".parse().unwrap(), "IE".parse().unwrap())], None));
    assert_eq!(ask(&zones, "127.0.0.1", "www.e.", "A", ""), "192.0.2.0");
    assert_eq!(ask(&zones, "10.1.2.3", "www.e.", "A", ""), "192.0.2.3");
    assert_eq!(ask(&before, "10.1.2.3", "www.e.", "A", ""), "192.0.2.0", "a clone is not touched");
}

#[test]
fn a_zone_shows_steered_sets_whole_and_in_their_present_form() {
    let zones = zones(&Health::new());
    let zone = zones.zone(&name("e.")).unwrap();
    let is_www = |set: &RecordSet| set.name == name("www.e.") && set.rtype == Rtype::A;
    assert_eq!(zone.sets().find(is_www).unwrap().data.len(), 4);
    assert_eq!(zone.present_sets().find(is_www).unwrap().data.len(), 1);
    assert!(zone.present_sets().all(|set| set.steering.is_none()));
    let turn = zone.present_sets().find(|set| set.name == name("turn.e.")).unwrap();
    assert_eq!(turn.data[0].to_string(), "plain.e.", "the default");
}

#[test]
fn lookup_tells_how_it_steered() {
    let zones = zones(&Health::new());
    let answer = lookup(&zones, &name("alias.e."), Rtype::A, &Asker::at("10.1.2.3".parse().unwrap(), 0));
    let steered = answer.steps.iter().find_map(|step| match step {
        Step::Steered { name, rtype, decisions } => Some((name.to_string(), *rtype, decisions.len())),
        _ => None,
    });
    assert_eq!(steered, Some(("www.e.".to_owned(), Rtype::A, 2)));
    assert!(matches!(answer.steps.last(), Some(Step::Data { .. })));
    assert!(answer.answer.iter().all(|set| set.steering.is_none()));
}

#[test]
fn several_aliases_without_steering_are_answered_with_one() {
    let mut zones = zones(&Health::new());
    let whole = RecordSet { steering: None, ..set("turn", Rtype::CNAME, &["a.e.", "plain.e."], geo_tree()) };
    put(&mut zones, "turn", vec![whole]);
    assert_eq!(ask(&zones, "10.1.2.3", "turn.e.", "A", ""), "a.e.");
}
