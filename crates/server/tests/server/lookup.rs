//! What `explain` shows, and what updates do to zones.

use std::sync::Arc;

use dns::{Name, PackedZone, RecordSet, Rtype};
use rstest::rstest;
use server::steering::Asker;
use server::{Step, Transport, ZoneUpdate, Zones, answer, lookup};

use crate::client::{Ask, show};
use crate::world;

const ZONE: &str = "
    @ 3600 SOA ns admin 1 7200 900 1209600 300
    www 60 A 192.0.2.1
    alias 60 CNAME www
    *.wild 60 CNAME alias
    out 60 CNAME www.example.net.
    loop 60 CNAME loop
    tree 60 DNAME wild
    cut 60 NS ns.elsewhere.net.
    d 60 DNAME aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb
";

fn name(text: &str) -> Name {
    text.parse().unwrap()
}

fn steps(zones: &Zones, asked: &str, rtype: Rtype) -> Vec<String> {
    lookup(zones, &name(asked), rtype, &Asker::NOBODY).steps.iter().map(show_step).collect()
}

fn show_step(step: &Step) -> String {
    match step {
        Step::Zone { name, origin } => format!("{name} in {origin}"),
        Step::NoZone(name) => format!("{name} in no zone"),
        Step::Unavailable { origin, reason } => format!("{origin} unavailable: {reason}"),
        Step::Wildcard { name, wildcard } => format!("{name} from {wildcard}"),
        Step::Cname { from, to } => format!("{from} is {to}"),
        Step::Dname { owner, from, to: Some(to) } => format!("{from} by {owner} is {to}"),
        Step::Dname { owner, from, to: None } => format!("{from} by {owner} is too long"),
        Step::Loop(name) => format!("back at {name}"),
        Step::ChainTooLong(name) => format!("stopped before {name}"),
        Step::Data { name, rtype } => format!("{name} has {rtype}"),
        Step::Steered { name, rtype, decisions } => {
            format!("{name} {rtype} steered by {} decisions", decisions.len())
        }
        Step::Referral(cut) => format!("delegated at {cut}"),
        Step::NoData(name) => format!("nothing at {name}"),
        Step::NxDomain(name) => format!("no {name}"),
    }
}

#[rstest]
#[case("www.e.", &["www.e. in e.", "www.e. has A"])]
#[case("alias.e.", &["alias.e. in e.", "alias.e. is www.e.", "www.e. in e.", "www.e. has A"])]
#[case("x.tree.e.", &[
    "x.tree.e. in e.", "x.tree.e. by tree.e. is x.wild.e.",
    "x.wild.e. in e.", "x.wild.e. from *.wild.e.", "x.wild.e. is alias.e.",
    "alias.e. in e.", "alias.e. is www.e.", "www.e. in e.", "www.e. has A",
])]
#[case("out.e.", &["out.e. in e.", "out.e. is www.example.net.", "www.example.net. in no zone"])]
#[case("loop.e.", &["loop.e. in e.", "loop.e. is loop.e.", "back at loop.e."])]
#[case("x.cut.e.", &["x.cut.e. in e.", "delegated at cut.e."])]
#[case("wild.e.", &["wild.e. in e.", "nothing at wild.e."])]
#[case("gone.e.", &["gone.e. in e.", "no gone.e."])]
#[case("gone.f.", &["gone.f. in no zone"])]
#[case(
    "xxxxxxxxxxxxxxxxxxxxxxxxx.d.e.",
    &["xxxxxxxxxxxxxxxxxxxxxxxxx.d.e. in e.", "xxxxxxxxxxxxxxxxxxxxxxxxx.d.e. by d.e. is too long"],
)]
fn lookup_tells_the_steps(#[case] asked: &str, #[case] wanted: &[&str]) {
    assert_eq!(steps(&world::zones("e.", ZONE), asked, Rtype::A), wanted);
}

#[test]
fn lookup_says_where_a_long_chain_stopped_and_why_a_zone_is_unavailable() {
    let chain: String = (0..20).map(|at| format!("c{at} 60 CNAME c{}\n", at + 1)).collect();
    let mut zones = world::zones("e.", &format!("@ 60 SOA ns admin 1 2 3 4 5\n{chain}"));
    assert_eq!(steps(&zones, "c0.e.", Rtype::A).last().unwrap(), "stopped before c17.e.");
    zones.apply(ZoneUpdate::Unavailable { origin: name("e."), reason: "broken".to_owned() });
    assert_eq!(steps(&zones, "c0.e.", Rtype::A), ["c0.e. in e.", "e. unavailable: broken"]);
}

fn put(zones: &mut Zones, line: &str) {
    let set = one(line);
    let (origin, name) = (name("e."), set.name.clone());
    zones.apply(ZoneUpdate::PutNode { origin, name, sets: vec![set] });
}

fn one(line: &str) -> RecordSet {
    world::sets(&name("e."), &[line.to_owned()]).remove(0)
}

/// The response's first line and its data.
fn ask(zones: &Zones, asked: &str) -> String {
    let mut out = Vec::new();
    assert!(answer(&Ask::new(asked, "A").octets(), zones, Transport::Udp, &mut out));
    let lines = show(&out);
    let data = lines.iter().filter_map(|line| line.strip_prefix("answer ")?.rsplit(' ').next());
    std::iter::once(lines[0].as_str()).chain(data).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_node_replaces_the_base_at_its_name_and_shows_it_again_when_it_goes() {
    let base = ["@ 60 SOA ns admin 1 2 3 4 5", "www 60 A 192.0.2.1", "only.below 60 A 192.0.2.2"];
    let mut zones = Zones::new();
    world::put_base(&mut zones, &name("e."), &base.map(str::to_owned));
    let original = zones.clone();
    put(&mut zones, "www 60 A 192.0.2.9");
    assert_eq!(ask(&zones, "www.e."), "NOERROR aa 192.0.2.9");
    zones.apply(ZoneUpdate::PutNode { origin: name("e."), name: name("www.e."), sets: Vec::new() });
    assert_eq!(ask(&zones, "www.e."), "NXDOMAIN aa", "an empty node hides the base");
    zones.apply(ZoneUpdate::RemoveNode { origin: name("e."), name: name("www.e.") });
    assert_eq!(ask(&zones, "www.e."), "NOERROR aa 192.0.2.1");
    assert_eq!(ask(&zones, "below.e."), "NOERROR aa");
    zones.apply(ZoneUpdate::PutNode { origin: name("e."), name: name("only.below.e."), sets: Vec::new() });
    assert_eq!(ask(&zones, "below.e."), "NXDOMAIN aa", "nothing shows below any more");
    assert_eq!(ask(&original, "below.e."), "NOERROR aa", "a clone is not touched");
}

#[test]
fn a_zone_gives_out_what_it_answers_from() {
    let base =
        ["@ 60 SOA ns admin 1 2 3 4 5", "www 60 A 192.0.2.1", "hidden 60 A 192.0.2.2", "kept 60 A 192.0.2.3"];
    let mut zones = Zones::new();
    world::put_base(&mut zones, &name("e."), &base.map(str::to_owned));
    put(&mut zones, "www 60 A 192.0.2.9");
    zones.apply(ZoneUpdate::PutNode { origin: name("e."), name: name("hidden.e."), sets: Vec::new() });
    let zone = zones.zone(&name("e.")).unwrap();
    let mut shown: Vec<String> =
        zone.sets().map(|set| format!("{} {} {}", set.name, set.rtype, set.data[0])).collect();
    shown.sort();
    assert_eq!(shown, ["e. SOA ns.e. admin.e. 1 2 3 4 5", "kept.e. A 192.0.2.3", "www.e. A 192.0.2.9"]);
    assert_eq!(zone.unavailable(), None);
}

#[test]
fn a_new_base_and_soa_keep_the_nodes() {
    let mut zones = world::zones("e.", "@ 60 SOA ns admin 1 2 3 4 5\nwww 60 A 192.0.2.1");
    let sets = [one("@ 60 SOA ns admin 2 2 3 4 5"), one("www 60 A 192.0.2.7"), one("new 60 A 192.0.2.8")];
    let base = Arc::new(PackedZone::from_sets(name("e."), sets).unwrap());
    zones.apply(ZoneUpdate::PutZone { origin: name("e."), soa: base.soa(), base: Some(base) });
    assert_eq!(ask(&zones, "www.e."), "NOERROR aa 192.0.2.1");
    assert_eq!(ask(&zones, "new.e."), "NOERROR aa 192.0.2.8");
    assert_eq!(zones.zone(&name("e.")).unwrap().soa().unwrap().data[0].as_soa().unwrap().serial, 2);
}

#[test]
fn nodes_may_come_before_their_zone_and_are_not_answered_until_it_comes() {
    let mut zones = Zones::new();
    put(&mut zones, "www 60 A 192.0.2.1");
    assert_eq!(ask(&zones, "www.e."), "SERVFAIL");
    assert_eq!(zones.zone(&name("e.")).unwrap().unavailable(), Some("the zone has no SOA yet"));
    let soa = one("@ 60 SOA ns admin 1 2 3 4 5");
    zones.apply(ZoneUpdate::PutZone { origin: name("e."), soa: soa.clone(), base: None });
    assert_eq!(ask(&zones, "www.e."), "NOERROR aa 192.0.2.1");
    zones.apply(ZoneUpdate::Unavailable { origin: name("e."), reason: "gone bad".to_owned() });
    assert_eq!(ask(&zones, "www.e."), "SERVFAIL");
    zones.apply(ZoneUpdate::PutZone { origin: name("e."), soa, base: None });
    assert_eq!(ask(&zones, "www.e."), "NOERROR aa 192.0.2.1", "the nodes were kept");
}

#[test]
fn a_removed_zone_is_refused_and_its_late_removals_do_nothing() {
    let mut zones = world::zones("e.", "@ 60 SOA ns admin 1 2 3 4 5\nwww 60 A 192.0.2.1");
    zones.apply(ZoneUpdate::RemoveZone { origin: name("e.") });
    zones.apply(ZoneUpdate::RemoveNode { origin: name("e."), name: name("www.e.") });
    assert_eq!(ask(&zones, "www.e."), "REFUSED");
    assert_eq!(zones.origins().count(), 0);
}

#[test]
fn a_soa_in_a_node_is_left_out() {
    let mut zones = world::zones("e.", "@ 60 SOA ns admin 1 2 3 4 5\nwww 60 A 192.0.2.1");
    put(&mut zones, "@ 60 SOA other admin 9 2 3 4 5");
    let soa = lookup(&zones, &name("e."), Rtype::SOA, &Asker::NOBODY).answer.remove(0);
    assert_eq!(soa.data[0].as_soa().unwrap().serial, 1);
}

#[test]
fn the_longest_origin_has_the_name() {
    let mut zones = world::zones("e.", "@ 60 SOA ns admin 1 2 3 4 5");
    world::put_nodes(&mut zones, &name("sub.e."), &["@ 60 SOA ns admin 1 2 3 4 5".to_owned()]);
    assert_eq!(zones.find(&name("a.sub.e.")).unwrap().origin(), &name("sub.e."));
    assert_eq!(zones.find(&name("asub.e.")).unwrap().origin(), &name("e."));
    assert!(zones.find(&name("f.")).is_none());
    assert_eq!(zones.origins().cloned().collect::<Vec<_>>(), [name("e."), name("sub.e.")]);
}
