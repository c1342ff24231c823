#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use proptest::prelude::*;
use rstest::rstest;

use super::external_dns::{Heritage, Naming, Registry};
use super::*;

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn txt(owner: &str, text: &str) -> RecordSet {
    RecordSet::new(name(owner), Rtype::TXT, 300, vec![Rdata::txt(text)])
}

fn mark() -> Mark {
    let types = BTreeSet::from([Rtype::A, Rtype::TXT]);
    Mark::new("prod weu".to_owned(), 7, name("www.example.org"), types)
}

#[test]
fn a_mark_stands_in_the_corner_of_its_zone_and_reads_like_this() {
    let zone = name("example.org");
    let set = mark().to_set(&zone).unwrap();
    assert!(set.name.is_below(&corner(&zone).unwrap()), "{}", set.name);
    assert_eq!(set.name.labels().count(), 5);
    let text = text_of(&set.data[0]).unwrap();
    assert_eq!(text, "v=fingerpost1 owner=prod%20weu generation=7 name=www.example.org. types=A,TXT");
    assert_eq!(Mark::read(&set, &zone), Some(mark()));
}

#[rstest]
#[case::shared(
    "v=fingerpost1 owner=weu generation=7 name=www.example.org. types=A,AAAA \
     targets=A/30/192.0.2.1/192.0.2.2,AAAA/60/2001%3Adb8%3A%3A1"
)]
#[case::leaving("v=fingerpost1 owner=weu generation=7 name=www.example.org. types=A targets=A/30")]
#[case::waiting("v=fingerpost1 owner=weu generation=7 name=www.example.org. types= wants=A,TXT")]
#[case::handing_over("v=fingerpost1 owner=weu generation=7 name=www.example.org. types=A heir=neu%2Fedge")]
#[case::taking_over("v=fingerpost1 owner=weu generation=7 name=www.example.org. types=A from=neu")]
#[case::all(
    "v=fingerpost1 owner=weu generation=7 name=www.example.org. types=A,MX \
     targets=MX/30/10%20mail.example.org. wants=TXT heir=neu from=frc"
)]
fn marks_tell_other_owners_what_they_add_want_and_give(#[case] text: &str) {
    let zone = name("example.org");
    let place = mark_name("weu", &name("www.example.org"), &zone).unwrap();
    let set = RecordSet::new(place, Rtype::TXT, 300, vec![Rdata::txt(text)]);
    let mark = Mark::read(&set, &zone).unwrap();
    assert!(!mark.terms.is_empty());
    assert_eq!(mark.to_set(&zone).unwrap(), set);
}

#[rstest]
#[case::order("types= heir=neu wants=A")]
#[case::twice("types=A targets=A/30/192.0.2.1,A/30/192.0.2.2")]
#[case::no_ttl("types=A targets=A")]
#[case::bad_data("types=A targets=A/30/192.0.2")]
#[case::another_spelling("types=A targets=A/030/192.0.2.1")]
#[case::no_types("types=A wants=")]
#[case::only_an_heir("types= heir=neu")]
fn promise_13_corrupt_terms_read_as_no_mark(#[case] rest: &str) {
    let zone = name("example.org");
    let place = mark_name("weu", &name("www.example.org"), &zone).unwrap();
    let text = format!("v=fingerpost1 owner=weu generation=7 name=www.example.org. {rest}");
    let set = RecordSet::new(place, Rtype::TXT, 300, vec![Rdata::txt(&text)]);
    assert_eq!(Mark::read(&set, &zone), None);
}

#[test]
fn liveness_stands_in_the_corner_and_reads_back_and_is_no_mark() {
    let zone = name("example.org");
    let liveness = Liveness { owner: "prod weu".to_owned(), generation: 7, counter: 41, looks: None };
    let set = liveness.to_set(&zone).unwrap();
    assert!(set.name.is_below(&corner(&zone).unwrap()), "{}", set.name);
    assert_eq!(text_of(&set.data[0]).unwrap(), "v=fingerpost1 owner=prod%20weu generation=7 counter=41");
    let rests = Liveness { looks: Some(60), ..liveness.clone() };
    let text = text_of(&rests.to_set(&zone).unwrap().data[0]).unwrap();
    assert_eq!(text, "v=fingerpost1 owner=prod%20weu generation=7 counter=41 looks=60");
    assert_eq!(Liveness::read(&rests.to_set(&zone).unwrap(), &zone), Some(rests));
    assert_eq!((Liveness::read(&set, &zone), Mark::read(&set, &zone)), (Some(liveness), None));
    let elsewhere = RecordSet { name: name("x._alive._fingerpost.example.org"), ..set };
    assert_eq!(Liveness::read(&elsewhere, &zone), None);
    assert_eq!(Liveness::read(&mark().to_set(&zone).unwrap(), &zone), None);
}

/// So a version that knows no rest waits for one that rests, as it does for one without a counter.
#[rstest]
#[case::a_word_of_later_versions("counter=41 looks=60 x=y")]
#[case::order("looks=60 counter=41")]
#[case::another_spelling("counter=41 looks=060")]
#[case::never("counter=41 looks=")]
fn promise_13_a_liveness_with_other_words_reads_as_none(#[case] rest: &str) {
    let zone = name("example.org");
    let place = liveness_key("weu", &zone).unwrap().name;
    let text = format!("v=fingerpost1 owner=weu generation=7 {rest}");
    let set = RecordSet::new(place, Rtype::TXT, 300, vec![Rdata::txt(&text)]);
    assert_eq!((Liveness::read(&set, &zone), Mark::read(&set, &zone)), (None, None));
}

#[test]
fn a_mark_without_a_type_says_the_rest_or_nothing() {
    let terms = Terms { wants: [Rtype::AAAA].into(), ..Terms::default() };
    let both = Mark { terms, ..mark() };
    let left = both.without(Rtype::A).unwrap().without(Rtype::AAAA).unwrap();
    assert_eq!((left.types.clone(), left.terms.is_empty()), ([Rtype::TXT].into(), true));
    assert_eq!(left.without(Rtype::TXT), None);
}

#[test]
fn whoever_lost_a_type_waits_for_it_and_keeps_the_rest() {
    let terms = Terms { heir: Some("neu".to_owned()), ..Terms::default() };
    let left = Mark { terms, ..mark() }.after_loss_of(Rtype::A);
    assert_eq!((left.types.clone(), left.terms.wants.clone()), ([Rtype::TXT].into(), [Rtype::A].into()));
    assert_eq!(left.terms.heir.as_deref(), Some("neu"), "the rest is still handed over");
    let last = left.after_loss_of(Rtype::TXT);
    let wants = [Rtype::A, Rtype::TXT].into();
    assert_eq!((last.types.len(), last.terms.clone()), (0, Terms { wants, ..Terms::default() }));
    let zone = name("example.org");
    assert_eq!(Mark::read(&last.to_set(&zone).unwrap(), &zone), Some(last));
}

#[test]
fn changed_data_leaves_the_mark_alone_and_another_owner_has_another_mark() {
    let zone = name("example.org");
    let other = Mark { owner: "other".to_owned(), ..mark() };
    assert_ne!(mark().to_set(&zone).unwrap().name, other.to_set(&zone).unwrap().name);
    assert_eq!(
        mark_name("prod weu", &name("www.example.org"), &zone),
        Some(mark().to_set(&zone).unwrap().name)
    );
}

#[test]
fn a_zone_whose_name_leaves_no_room_has_no_marks() {
    let label = "a".repeat(60);
    let zone = name(&format!("{label}.{label}.{label}.example"));
    assert_eq!(mark_name("o", &zone, &zone).map(|_| ()), Some(()), "this one is short enough");
    let zone = name(&format!("{label}.{label}.{label}.aaaaaaaaaaaa.example"));
    assert_eq!(mark_name("o", &zone, &zone), None);
}

#[rstest]
#[case::empty("")]
#[case::another_version("v=fingerpost2 owner=prod%20weu generation=7 name=www.example.org. types=A")]
#[case::no_types("v=fingerpost1 owner=prod%20weu generation=7 name=www.example.org. types=")]
#[case::more("v=fingerpost1 owner=prod%20weu generation=7 name=www.example.org. types=A x=y")]
#[case::two_spaces("v=fingerpost1  owner=prod%20weu generation=7 name=www.example.org. types=A")]
#[case::unsorted("v=fingerpost1 owner=prod%20weu generation=7 name=www.example.org. types=TXT,A")]
#[case::lower_escape("v=fingerpost1 owner=%70rod%20weu generation=7 name=www.example.org. types=A")]
#[case::another_name("v=fingerpost1 owner=prod%20weu generation=7 name=ftp.example.org. types=A")]
#[case::another_owner("v=fingerpost1 owner=x generation=7 name=www.example.org. types=A")]
#[case::leading_zero("v=fingerpost1 owner=prod%20weu generation=07 name=www.example.org. types=A")]
fn promise_13_a_corrupt_mark_reads_as_none(#[case] text: &str) {
    let zone = name("example.org");
    let place = mark_name("prod weu", &name("www.example.org"), &zone).unwrap();
    let set = RecordSet::new(place, Rtype::TXT, 300, vec![Rdata::txt(text)]);
    assert_eq!(Mark::read(&set, &zone), None);
}

#[test]
fn promise_13_a_mark_with_company_or_in_another_place_reads_as_none() {
    let zone = name("example.org");
    let set = mark().to_set(&zone).unwrap();
    let two = vec![set.data[0].clone(), Rdata::txt("else")];
    assert_eq!(Mark::read(&RecordSet::new(set.name.clone(), Rtype::TXT, 300, two), &zone), None);
    assert_eq!(Mark::read(&RecordSet { name: name("x.example.org"), ..set }, &zone), None);
}

proptest! {
    #[test]
    fn promise_27_the_round_trip_of_a_mark_is_the_identity(
        owner in ".{0,300}",
        generation: u64,
        labels in prop::collection::vec(prop::collection::vec(any::<u8>(), 1..20), 0..5),
        types in prop::collection::btree_set((1u16..100).prop_map(Rtype), 1..6),
        texts in prop::collection::vec(".{0,100}", 0..4),
        wants in prop::collection::btree_set((1u16..100).prop_map(Rtype), 0..3),
        heir in prop::option::of(".{0,20}"),
        from in prop::option::of(".{0,20}"),
    ) {
        let zone = name("example.org");
        let marked = labels.iter().fold(zone.clone(), |name, label| name.child(label).unwrap());
        let data: Vec<Rdata> = texts.iter().map(|text| Rdata::txt(text)).collect();
        let shares = [(Rtype::TXT, Share { ttl: 30, data })].into_iter().filter(|_| !texts.is_empty()).collect();
        let terms = Terms { shares, wants, heir, from };
        let mark = Mark { terms, ..Mark::new(owner, generation, marked, types) };
        let set = mark.to_set(&zone).unwrap();
        prop_assert_eq!(Mark::read(&set, &zone), Some(mark));
    }

    #[test]
    fn no_text_at_all_makes_reading_fail(text in ".{0,200}") {
        let set = txt("x._fingerpost.example.org", &text);
        prop_assert_eq!(Mark::read(&set, &name("example.org")), None);
        let _ = Heritage::read(&set);
    }
}

#[rstest]
#[case::plain("heritage=external-dns,external-dns/owner=me,external-dns/resource=service/a/b", Some("me"))]
#[case::quoted("\"heritage=external-dns,external-dns/owner=me\"", Some("me"))]
#[case::another_heritage("heritage=other,external-dns/owner=me", None)]
#[case::no_owner("heritage=external-dns", None)]
#[case::no_heritage("external-dns/owner=me", None)]
#[case::something_else("v=spf1 -all", None)]
fn external_dns_registry_records_are_read(#[case] text: &str, #[case] owner: Option<&str>) {
    let read = Heritage::read(&txt("a-www.example.org", text));
    assert_eq!(read.as_ref().map(|heritage| heritage.owner.as_str()), owner);
}

#[rstest]
#[case("", "", "", "www.example.org", Rtype::A, &["a-www.example.org", "www.example.org"])]
#[case("", "", "", "www.example.org", Rtype::AAAA, &["aaaa-www.example.org"])]
#[case("x.", "", "", "www.example.org", Rtype::CNAME, &["x.cname-www.example.org", "x.www.example.org"])]
#[case("%{record_type}.", "", "", "www.example.org", Rtype::A, &["a.www.example.org", ])]
#[case("t-%{record_type}.", "", "", "example.org", Rtype::A, &["t-a.example.org", "t-.example.org"])]
#[case("", "-txt", "", "www.example.org", Rtype::A, &["a-www-txt.example.org", "www-txt.example.org"])]
#[case("", "", "any", "*.example.org", Rtype::A, &["a-any.example.org", "any.example.org"])]
#[case("", "", "", "*.example.org", Rtype::A, &["a-*.example.org", "*.example.org"])]
fn external_dns_names_its_registry_records_so(
    #[case] prefix: &str,
    #[case] suffix: &str,
    #[case] wildcard: &str,
    #[case] marked: &str,
    #[case] rtype: Rtype,
    #[case] expected: &[&str],
) {
    let naming = Naming { prefix: prefix.into(), suffix: suffix.into(), wildcard: wildcard.into() };
    let names = naming.candidates(&SetKey { name: name(marked), rtype });
    assert_eq!(names, expected.iter().map(|text| name(text)).collect::<Vec<_>>());
}

#[test]
fn a_registry_tells_who_marked_a_set_and_nobody_for_its_neighbour() {
    let mut registry = Registry::new(vec![Naming { prefix: "reg.".into(), ..Naming::default() }]);
    registry.note(&txt("reg.a-www.example.org", "heritage=external-dns,external-dns/owner=weu"));
    let heritage = |text: &str, rtype| registry.heritage(&SetKey { name: name(text), rtype }).cloned();
    assert_eq!(heritage("www.example.org", Rtype::A).unwrap().owner, "weu");
    assert_eq!(heritage("www.example.org", Rtype::AAAA), None);
    assert_eq!(heritage("ftp.example.org", Rtype::A), None);
}
