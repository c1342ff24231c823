#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use rstest::rstest;

use super::*;

const NAME: &str = "www.example.org";

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn share(ttl: u32, last: &[u8]) -> Share {
    Share { ttl, data: last.iter().map(|last| Rdata::a([192, 0, 2, *last].into())).collect() }
}

/// The terms and types of a mark, written as in the mark: `alone`, `shares 1`, `leaves`, `wants`, `heir x`,
/// `from x`.
fn mark(owner: &str, text: &str) -> Mark {
    let mut mark = Mark::new(owner.to_owned(), 1, name(NAME), [Rtype::A].into());
    match text.split_once(' ').unwrap_or((text, "")) {
        ("shares", last) => drop(mark.terms.shares.insert(Rtype::A, share(60, &[last.parse().unwrap()]))),
        ("leaves", _) => drop(mark.terms.shares.insert(Rtype::A, share(60, &[]))),
        ("heir", heir) => mark.terms.heir = Some(heir.to_owned()),
        ("from", from) => mark.terms.from = Some(from.to_owned()),
        ("wants", _) => {
            mark.types.clear();
            mark.terms.wants.insert(Rtype::A);
        }
        _ => {}
    }
    mark
}

/// We are `m`; others are written `owner: mark`, with a `!` after the owner if its counter stopped, and a
/// `?` if it never had one.
fn footing(own: &str, want: Want, others: &[&str]) -> Option<Footing> {
    let mut pulses = BTreeMap::new();
    let read = |text: &&str| {
        let (owner, said) = text.split_once(": ").unwrap();
        let (id, pulse) = match owner.strip_suffix('!') {
            Some(id) => (id, Pulse::Stopped),
            None => (
                owner.trim_end_matches('?'),
                if owner.ends_with('?') { Pulse::Missing } else { Pulse::Beats },
            ),
        };
        pulses.insert(id.to_owned(), pulse);
        let mark = mark(id, said);
        let set = mark.to_set(&name("example.org")).unwrap();
        (id.to_owned(), Other { mark, set })
    };
    let others = others.iter().map(read).collect();
    let own = (!own.is_empty()).then(|| mark("m", own));
    let has = own.as_ref().filter(|mark| mark.types.contains(&Rtype::A)).map(|mark| &mark.terms);
    let pulse = |owner: &str| pulses.get(owner).copied().unwrap_or(Pulse::Beats);
    Seat { us: "m", rtype: Rtype::A, own: has, want, others: &others, pulse: &pulse }.footing()
}

fn alone() -> Want {
    Want::Records { share: share(30, &[9]), shared: false, heir: None }
}

fn shared() -> Want {
    Want::Records { share: share(30, &[9]), shared: true, heir: None }
}

fn given_to(heir: &str) -> Want {
    Want::Records { share: share(30, &[9]), shared: false, heir: Some(heir.to_owned()) }
}

#[rstest]
#[case::nobody_else("", alone(), &[], "")]
#[case::ours("alone", alone(), &["b: wants"], "")]
#[case::theirs("", alone(), &["b: alone"], "Waits(\"b\")")]
#[case::theirs_who_never_had_a_counter("", alone(), &["b?: alone"], "Waits(\"b\")")]
#[case::the_dead_ones("", alone(), &["b!: alone"], "Claims(\"b\")")]
#[case::given("", alone(), &["b: heir m"], "Claims(\"b\")")]
#[case::given_to_somebody_else("", alone(), &["b: heir z"], "Waits(\"b\")")]
#[case::claimed("from b", alone(), &["b!: alone"], "TakesOver([\"b\"])")]
#[case::claimed_and_it_lives("from b", alone(), &["b: alone"], "Yields(\"b\")")]
#[case::claimed_from_us("alone", alone(), &["b: from m"], "Frozen(\"b\")")]
#[case::claimed_from_us_by_the_dead("alone", alone(), &["b!: from m"], "TakesOver([\"b\"])")]
#[case::both_claim_and_we_come_later("from d", alone(), &["b: from d", "d!: alone"], "Yields(\"b\")")]
#[case::both_claim_and_we_come_first("from d", alone(), &["d!: alone", "z: from d"], "Frozen(\"z\")")]
#[case::each_from_the_other("from b", alone(), &["b: from m"], "Yields(\"b\")")]
#[case::each_from_the_other_and_we_come_first("from z", alone(), &["z: from m"], "Frozen(\"z\")")]
#[case::both_have_it_since_just_now("alone", alone(), &["b: alone"], "Yields(\"b\")")]
#[case::both_have_it_since_just_now_and_we_come_first("alone", alone(), &["z: alone"], "Frozen(\"z\")")]
#[case::handed_over("alone", given_to("b"), &["b: wants", "c: wants"], "HandsOver(\"b\")")]
#[case::handed_to_nobody("alone", given_to("b"), &["c: wants"], "")]
#[case::handed_to_the_dead("alone", given_to("b"), &["b!: wants"], "")]
#[case::left_to_who_waits("alone", Want::Nothing, &["b!: wants", "c: wants"], "HandsOver(\"c\")")]
#[case::left("alone", Want::Nothing, &[], "")]
#[case::not_told_of_yet("alone", Want::AsItIs, &["b: wants"], "")]
#[case::wanted_no_longer_while_claiming("from b", Want::Nothing, &["b: alone"], "Leaves")]
#[case::alone_where_others_share("", alone(), &["b: shares 1"], "Waits(\"b\")")]
#[case::shared_where_one_has_it_alone("", shared(), &["b: alone"], "Waits(\"b\")")]
fn owners_stand_with_each_other_so(
    #[case] own: &str,
    #[case] want: Want,
    #[case] others: &[&str],
    #[case] expected: &str,
) {
    let footing = footing(own, want, others);
    assert_eq!(footing.map(|footing| format!("{footing:?}")).unwrap_or_default(), expected);
}

#[rstest]
#[case::first(shared(), &[], Some(share(30, &[9])), &[])]
#[case::second(shared(), &["b: shares 1"], Some(share(30, &[1, 9])), &[])]
#[case::beside_the_dead(shared(), &["b!: shares 1", "c?: shares 2"], Some(share(30, &[9])), &["b", "c"])]
#[case::leaving(Want::Nothing, &["b: shares 1"], Some(share(60, &[1])), &[])]
#[case::leaving_last(Want::Nothing, &[], None, &[])]
#[case::leaving_only_the_dead(Want::Nothing, &["b!: shares 1"], Some(share(60, &[1])), &[])]
#[case::alone_but_others_still_share(alone(), &["b: shares 1"], Some(share(30, &[1, 9])), &[])]
#[case::not_told_of_yet(Want::AsItIs, &["b: shares 1"], Some(share(60, &[1, 7])), &[])]
fn what_is_shared_is_what_those_who_live_add_up_to_and_never_nothing_while_there_was_something(
    #[case] want: Want,
    #[case] others: &[&str],
    #[case] whole: Option<Share>,
    #[case] gone: &[&str],
) {
    let Some(Footing::Shared(sharing)) = footing("shares 7", want, others) else {
        panic!("it is not shared")
    };
    assert_eq!(
        (sharing.whole, &sharing.gone[..]),
        (whole, &gone.iter().map(|one| one.to_string()).collect::<Vec<_>>()[..])
    );
}

#[test]
fn one_who_comes_waits_for_one_who_leaves() {
    let is_left = |others: &[&str]| {
        matches!(footing("", shared(), others), Some(Footing::Shared(Sharing { is_left: true, .. })))
    };
    assert!(is_left(&["b: leaves"]) && !is_left(&["b: shares 1"]) && !is_left(&["b!: leaves"]));
}
