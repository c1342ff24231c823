#![allow(clippy::unwrap_used)]

use std::cmp::Ordering;

use proptest::prelude::*;
use rstest::rstest;

use super::*;

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

#[rstest]
#[case("example.org", "example.org.")]
#[case("example.org.", "example.org.")]
#[case("Example.ORG", "example.org.")]
#[case(".", ".")]
#[case("*.example.org", "*.example.org.")]
#[case("_sip._tcp.example.org", "_sip._tcp.example.org.")]
#[case("0/25.2.0.192.in-addr.arpa", "0/25.2.0.192.in-addr.arpa.")]
#[case(r"a\.b.example.org", r"a\.b.example.org.")]
#[case(r"a\046b.example.org", r"a\.b.example.org.")]
#[case(r"a\\.example.org", r"a\\.example.org.")]
#[case(r"a\..", r"a\..")]
#[case(r"\065.example.org", "a.example.org.")]
#[case(r"\000\001\255.org", r"\000\001\255.org.")]
#[case(r"\(\)\;\@\$\ .org", r"\(\)\;\@\$\032.org.")]
#[case("xn--bcher-kva.example", "xn--bcher-kva.example.")]
#[case("bücher.example", "xn--bcher-kva.example.")]
#[case("BÜCHER.Example", "xn--bcher-kva.example.")]
#[case("_dmarc.bücher.example.", "_dmarc.xn--bcher-kva.example.")]
#[case("*.bücher.example", "*.xn--bcher-kva.example.")]
#[case("xn--x--.bücher.example", "xn--x--.xn--bcher-kva.example.")]
#[case("例え。テスト", "xn--r8jz45g.xn--zckzah.")]
fn parses_to(#[case] text: &str, #[case] shown: &str) {
    assert_eq!(name(text).to_string(), shown);
    assert_eq!(name(&name(text).to_string()), name(text));
}

#[rstest]
#[case("@", "example.org.")]
#[case("www", "www.example.org.")]
#[case("www.a", "www.a.example.org.")]
#[case("www.example.net.", "www.example.net.")]
#[case(".", ".")]
#[case("*", "*.example.org.")]
#[case(r"www\.", r"www\..example.org.")]
#[case("bücher", "xn--bcher-kva.example.org.")]
fn parses_below_example_org_to(#[case] text: &str, #[case] shown: &str) {
    assert_eq!(Name::parse_relative(text, &name("example.org")).unwrap().to_string(), shown);
}

#[rstest]
#[case("", "the name is empty")]
#[case("@", "`@` stands for a zone's apex, and no zone is given here; write the whole name")]
#[case("a..b", "`a..b` has an empty label")]
#[case(".a", "`.a` has an empty label")]
#[case("..", "`..` has an empty label")]
#[case("a b", "`a b` has the character ' ', which a name cannot have")]
#[case("a\nb", "`a\nb` has the character '\\n', which a name cannot have")]
#[case("a;b", "`a;b` has the character ';', which a name cannot have")]
#[case(r"a\.b(c", r"`a\.b(c` has the character '(', which a name cannot have")]
#[case(r"a\", r"`a\` has a backslash that is followed by neither a character nor three digits up to 255")]
#[case(r"a\25", r"`a\25` has a backslash that is followed by neither a character nor three digits up to 255")]
#[case(
    r"a\256",
    r"`a\256` has a backslash that is followed by neither a character nor three digits up to 255"
)]
#[case(
    r"a\2x6",
    r"`a\2x6` has a backslash that is followed by neither a character nor three digits up to 255"
)]
#[case(r"ü\.b", r"`ü\.b` is not a valid internationalised name")]
#[case("\u{ad}.org", "`\u{ad}.org` is not a valid internationalised name")]
#[case("a.\u{200f}x", "`a.\u{200f}x` is not a valid internationalised name")]
fn refuses(#[case] text: &str, #[case] message: &str) {
    assert_eq!(Name::parse(text).unwrap_err().to_string(), message);
}

#[test]
fn label_may_have_63_octets() {
    assert!(Name::parse(&"a".repeat(63)).is_ok());
    let error = Name::parse(&"a".repeat(64)).unwrap_err();
    assert!(error.to_string().ends_with("has 64 octets; a label may have at most 63"), "{error}");
    let error = Name::root().child(&[0xff; 70]).unwrap_err();
    assert!(matches!(error, NameError::LabelTooLong { length: 70, .. }), "{error}");
    assert!(Name::root().child(b"").is_err());
}

#[test]
fn name_may_have_253_octets_of_text() {
    let longest = format!("{0}.{0}.{0}.{1}", "a".repeat(63), "b".repeat(61));
    assert_eq!(longest.len(), 253);
    assert_eq!(name(&longest).wire_len(), MAX_WIRE);
    let error = Name::parse(&format!("{longest}b")).unwrap_err();
    assert!(matches!(error, NameError::NameTooLong { length: 254, .. }), "{error}");
    assert!(name(&longest).child(b"c").is_err());
    assert!(Name::parse_relative("a", &name(&longest)).is_err());
}

#[test]
fn escaped_octets_count_once_towards_the_length() {
    let label = r"\000".repeat(63);
    let longest = format!("{label}.{label}.{label}.{}", r"\001".repeat(61));
    assert_eq!(name(&longest).wire_len(), MAX_WIRE);
    assert_eq!(name(&longest).to_wire().len(), MAX_WIRE);
    assert_eq!(name(&longest).labels().count(), 4);
}

#[rstest]
#[case(&[])]
#[case(&[1])]
#[case(&[1, b'a'])]
#[case(&[0xc0, 0])]
#[case(&[64])]
#[case(&[1; 255])]
#[case(&[1; 300])]
fn malformed_wire_is_refused(#[case] wire: &[u8]) {
    assert_eq!(Name::from_wire(wire), Err(NameError::BadWire));
}

#[test]
fn wire_may_go_on_after_the_name() {
    let (read, length) = Name::from_wire(b"\x03WwW\x03org\0rest").unwrap();
    assert_eq!((read, length), (name("www.org"), 9));
}

#[test]
fn relations() {
    let (www, example) = (name("www.example.org"), name("example.org"));
    assert!(www.is_in(&example) && www.is_below(&example) && example.is_in(&example));
    assert!(!example.is_below(&example) && !example.is_in(&www));
    assert!(!name("notexample.org").is_in(&example));
    assert!(www.is_in(&Name::root()) && Name::root().is_root());
    assert_eq!(www.parent(), Some(example.clone()));
    assert_eq!(Name::root().parent(), None);
    assert_eq!(example.child(b"WWW"), Ok(www.clone()));
    assert_eq!(www.suffixes().collect::<Vec<_>>(), [www.clone(), example, name("org"), Name::root()]);
    assert_eq!(www.undotted(), "www.example.org");
    assert_eq!(Name::root().undotted(), ".");
    assert_eq!(www.labels().next_back().unwrap(), &b"org"[..]);
}

#[rstest]
#[case("*.example.org", true)]
#[case("*", true)]
#[case("*a.example.org", false)]
#[case("a.*.example.org", false)]
#[case("a*.example.org", false)]
#[case(".", false)]
fn wildcard_is_a_whole_leftmost_label(#[case] text: &str, #[case] wildcard: bool) {
    assert_eq!(name(text).is_wildcard(), wildcard);
}

#[rstest]
#[case("a.b.old.org", "old.org", "new.net", Some("a.b.new.net"))]
#[case("a.old.org", "old.org", ".", Some("a"))]
#[case("a.org", ".", "net", Some("a.org.net"))]
#[case("old.org", "old.org", "new.net", None)]
#[case("a.org", "old.org", "new.net", None)]
#[case("a.bold.org", "old.org", "new.net", None)]
fn rebase(#[case] from: &str, #[case] old: &str, #[case] new: &str, #[case] expected: Option<&str>) {
    assert_eq!(name(from).rebase(&name(old), &name(new)), expected.map(name));
}

#[test]
fn rebase_refuses_what_becomes_too_long() {
    let long = name(&format!("{0}.{0}.{0}", "a".repeat(63)));
    assert_eq!(name(&format!("{}.org", "b".repeat(63))).rebase(&name("org"), &long), None);
}

#[test]
fn serde_is_the_presentation_format() {
    use serde::de::IntoDeserializer;
    use serde::de::value::{Error, StrDeserializer};
    let read = |text: &'static str| {
        let deserializer: StrDeserializer<'_, Error> = text.into_deserializer();
        Name::deserialize(deserializer)
    };
    assert_eq!(read("WWW.example.org").unwrap(), name("www.example.org"));
    assert_eq!(read("a..b").unwrap_err().to_string(), "`a..b` has an empty label");
    assert_eq!("www.org".parse::<Name>(), Ok(name("www.org")));
    assert_eq!(format!("{:?}|{:>6}", name("org"), name("org")), "org.|  org.");
}

#[test]
fn names_are_found_by_key() {
    let set = std::collections::BTreeSet::from([name("www.example.org")]);
    assert!(set.contains(name("WWW.example.org").key()));
}

fn any_label() -> impl Strategy<Value = Vec<u8>> {
    // The octets 0 to 2 and the letters are where the order could go wrong.
    let octet = prop_oneof![0u8..4, Just(b'.'), Just(b'a'), Just(b'B'), any::<u8>()];
    proptest::collection::vec(octet, 1..6)
}

fn any_name() -> impl Strategy<Value = Name> {
    proptest::collection::vec(any_label(), 0..5)
        .prop_map(|labels| labels.iter().try_fold(Name::root(), |name, label| name.child(label)).unwrap())
}

/// RFC 4034 section 6.1 as it is written: label by label from the right.
fn naive_order(a: &Name, b: &Name) -> Ordering {
    let labels = |name: &Name| name.labels().rev().map(Cow::into_owned).collect::<Vec<_>>();
    labels(a).cmp(&labels(b))
}

proptest! {
    #[test]
    fn order_is_canonical(a in any_name(), b in any_name()) {
        prop_assert_eq!(a.cmp(&b), naive_order(&a, &b));
    }

    #[test]
    fn wire_round_trip(a in any_name()) {
        let wire = a.to_wire();
        prop_assert_eq!(wire.len(), a.wire_len());
        prop_assert_eq!(Name::from_wire(&wire), Ok((a, wire.len())));
    }

    #[test]
    fn text_round_trip(a in any_name()) {
        prop_assert_eq!(Name::parse(&a.to_string()), Ok(a));
    }

    #[test]
    fn keys_of_names_are_keys(a in any_name()) {
        prop_assert!(Name::is_key(a.key()));
        prop_assert_eq!(Name::from_key(a.key()), a);
    }

    #[test]
    fn only_keys_of_names_are_keys(octets in proptest::collection::vec(0u8..4, 0..12)) {
        let again = Name::from_wire(&Name::from_key(&octets).to_wire()).map(|(name, _)| name);
        if Name::is_key(&octets) {
            prop_assert_eq!(again, Ok(Name::from_key(&octets)));
        }
    }

    #[test]
    fn any_text_is_a_name_or_an_error(text in "\\PC{0,80}") {
        if let Ok(parsed) = Name::parse(&text) {
            prop_assert!(parsed.wire_len() <= MAX_WIRE);
            prop_assert!(parsed.labels().all(|label| (1..=MAX_LABEL).contains(&label.len())));
        }
    }
}
