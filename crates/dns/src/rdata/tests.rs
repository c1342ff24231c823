#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use rstest::rstest;

use super::*;

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn parse(rtype: &str, text: &str) -> Result<Rdata, RdataError> {
    Rdata::parse(rtype.parse().unwrap(), text, &name("example.org"))
}

#[rstest]
#[case("A", "192.0.2.1", "192.0.2.1")]
#[case("AAAA", "2001:DB8:0::1", "2001:db8::1")]
#[case("AAAA", "::ffff:192.0.2.1", "::ffff:192.0.2.1")]
#[case("CNAME", "www", "www.example.org.")]
#[case("CNAME", "@", "example.org.")]
#[case("CNAME", "WWW.Example.NET.", "www.example.net.")]
#[case("CNAME", "bücher", "xn--bcher-kva.example.org.")]
#[case("CNAME", ".", ".")]
#[case("DNAME", "other.example.net.", "other.example.net.")]
#[case("NS", "ns1", "ns1.example.org.")]
#[case("PTR", "host", "host.example.org.")]
#[case("SOA", "ns noc 1 1d 2h 1000h 6m", "ns.example.org. noc.example.org. 1 86400 7200 3600000 360")]
#[case("TXT", "plain", "\"plain\"")]
#[case("TXT", "\"two words\" three", "\"two words\" \"three\"")]
#[case("TXT", "\"a\"\"b\"", "\"a\" \"b\"")]
#[case("TXT", "\"a;b(c)\"", "\"a;b(c)\"")]
#[case("TXT", r#""say \"hi\" \\ \065""#, r#""say \"hi\" \\ A""#)]
#[case("TXT", "\"\"", "\"\"")]
#[case("TXT", "\"Grüße\"", "\"Gr\\195\\188\\195\\159e\"")]
#[case("TXT", "  padded\n", "\"padded\"")]
#[case("TXT", "$INCLUDE /etc/passwd", "\"$INCLUDE\" \"/etc/passwd\"")]
#[case("MX", "10 mail", "10 mail.example.org.")]
#[case("MX", "0 .", "0 .")]
#[case("MX", "10 Bücher.Example.", "10 xn--bcher-kva.example.")]
#[case("SRV", "0 5 5060 SIP", "0 5 5060 sip.example.org.")]
#[case("CAA", "0 issue \"ca.example.net\"", "0 issue \"ca.example.net\"")]
#[case(
    "NAPTR",
    "100 10 \"S\" \"SIP+D2U\" \"\" _sip._udp",
    "100 10 \"S\" \"SIP+D2U\" \"\" _sip._udp.example.org."
)]
#[case("TLSA", "3 1 1 0123 ABCD", "3 1 1 0123ABCD")]
#[case("SSHFP", "4 2 0123abcd", "4 2 0123ABCD")]
#[case("DS", "12345 13 2 0123 abcd", "12345 13 2 0123ABCD")]
#[case("SVCB", "0 svc", "0 svc.example.org.")]
#[case("SVCB", "1 Svc alpn=h2 port=8443", "1 svc.example.org. alpn=h2 port=8443")]
#[case("HTTPS", "1 . alpn=\"h2,h3\" ipv4hint=192.0.2.1", "1 . alpn=h2,h3 ipv4hint=192.0.2.1")]
#[case("HINFO", "x86 \"a system\"", "\"x86\" \"a system\"")]
#[case("RP", "admin .", "admin.example.org. .")]
#[case("TYPE62000", r"\# 3 0102 FF", r"\# 3 0102ff")]
#[case("TYPE62000", r"\# 0", r"\# 0")]
#[case("A", r"\# 4 c0000201", "192.0.2.1")]
#[case("MX", r"\# 8 000a 04 4D61696C 00", "10 mail.")]
#[case("URI", r"\# 4 00010002", r"\# 4 00010002")]
fn reads_and_prints(#[case] rtype: &str, #[case] text: &str, #[case] shown: &str) {
    let data = parse(rtype, text).unwrap();
    assert_eq!(data.to_string(), shown);
    assert_eq!(Rdata::parse(data.rtype(), shown, &Name::root()).unwrap(), data);
    assert_eq!(Rdata::from_wire(data.rtype(), data.wire()).unwrap(), data);
}

#[rstest]
#[case("A", "192.0.2.256", "expected an IPv4 address such as 192.0.2.1")]
#[case("A", "2001:db8::1", "expected an IPv4 address such as 192.0.2.1")]
#[case("A", "192.0.2.1 192.0.2.2", "expected an IPv4 address such as 192.0.2.1")]
#[case("A", "", "expected an IPv4 address such as 192.0.2.1")]
#[case("AAAA", "192.0.2.1", "expected an IPv6 address such as 2001:db8::1")]
#[case("CNAME", "a b", "expected one domain name such as www.example.org.")]
#[case("CNAME", "a..b", "`a..b` has an empty label")]
#[case("MX", "mail", "expected a preference and a domain name, such as 10 mail.example.org.")]
#[case("MX", "70000 mail", "expected a preference and a domain name, such as 10 mail.example.org.")]
#[case("MX", "+10 mail", "expected a preference and a domain name, such as 10 mail.example.org.")]
#[case("MX", "10 mail more", "expected a preference and a domain name, such as 10 mail.example.org.")]
#[case("SRV", "1 2 3", "expected priority, weight, port and target, such as 0 5 5060 sip.example.org.")]
#[case(
    "SOA",
    "ns noc 1 2 3 4",
    "expected primary server, mailbox, serial, refresh, retry, expire and minimum, such as ns.example.org. noc.example.org. 1 86400 7200 3600000 360"
)]
#[case(
    "SOA",
    "ns noc 1h 2 3 4 5",
    "expected primary server, mailbox, serial, refresh, retry, expire and minimum, such as ns.example.org. noc.example.org. 1 86400 7200 3600000 360"
)]
#[case(
    "SOA",
    "ns",
    "expected primary server, mailbox, serial, refresh, retry, expire and minimum, such as ns.example.org. noc.example.org. 1 86400 7200 3600000 360"
)]
#[case("TXT", "", "expected one text or several, such as \"v=spf1 -all\"")]
#[case(
    "DS",
    "1 2 3 xyz",
    "expected key tag, algorithm, digest type and hexadecimal digest, such as 12345 13 2 0123abcd"
)]
#[case(
    "URI",
    "10 1 \"ftp://example\"",
    "expected the presentation format of URI, or `\\#`, a length and hexadecimal octets"
)]
#[case("ANY", "x", "ANY is a type of queries and messages, not of records: use a type of data such as `A`")]
#[case(
    "OPT",
    r"\# 0",
    "OPT is a type of queries and messages, not of records: use a type of data such as `A`"
)]
#[case("A", r"\# 3 c00002", "the octets are not what the type's definition says")]
#[case("A", r"\# 4 c00002", "write `\\#`, the number of octets, and that many octets in hexadecimal")]
#[case("TYPE62000", r"\# 1 c", "write `\\#`, the number of octets, and that many octets in hexadecimal")]
#[case("TYPE62000", r"\# 1 +f", "write `\\#`, the number of octets, and that many octets in hexadecimal")]
#[case("TYPE62000", r"\#", "write `\\#`, the number of octets, and that many octets in hexadecimal")]
#[case("TXT", "\"open", "a quotation mark is not closed on its line")]
#[case("TXT", "end\\", "a backslash ends the line")]
#[case("TXT", "a\u{7}b", "the control character '\\u{7}' is written as a backslash and three digits")]
fn refuses(#[case] rtype: &str, #[case] text: &str, #[case] reason: &str) {
    let error = parse(rtype, text).unwrap_err();
    assert_eq!(error.reason, reason);
    assert_eq!(error.to_string(), format!("`{text}` is not {rtype} data: {reason}"));
}

#[rstest]
#[case("A", "192.0.2.1\nevil 0 IN A 192.0.2.66")]
#[case("A", "192.0.2.1 ; comment")]
#[case("A", "( 192.0.2.1 )")]
#[case("A", "192.0.2.1\n$INCLUDE /etc/passwd")]
#[case("TXT", "harmless\nevil 0 IN A 192.0.2.66")]
#[case("TXT", "harmless\r\nevil 0 IN A 192.0.2.66")]
#[case("TXT", "( a\nb )")]
#[case("TXT", "a ; b")]
#[case("TXT", "a) b")]
#[case("TXT", "\"a\nb\"")]
#[case("TXT", "a\\\nevil")]
#[case("TXT", "a\rb\u{85}\u{2028}\nc")]
#[case("MX", "10 mail\n@ 0 IN NS evil")]
#[case("TYPE62000", "\\# 1 00\n@ 0 IN NS evil")]
fn smuggled_text_is_refused(#[case] rtype: &str, #[case] text: &str) {
    assert!(parse(rtype, text).is_err(), "{:?}", parse(rtype, text));
}

#[test]
fn texts_are_split_at_255_octets() {
    let data = Rdata::txt(&"a".repeat(600));
    assert_eq!(data.wire().len(), 603);
    assert_eq!((data.wire()[0], data.wire()[256], data.wire()[512]), (255, 255, 90));
    assert_eq!(Rdata::txt("").wire(), [0]);
    assert_eq!(Rdata::from_wire(Rtype::TXT, data.wire()), Ok(data));
    for length in [255, 256, 600] {
        let text = "a".repeat(length);
        assert_eq!(parse("TXT", &format!("\"{text}\"")).unwrap(), Rdata::txt(&text));
    }
}

#[test]
fn constructors_agree_with_the_parser() {
    assert_eq!(Rdata::mx(10, &name("mail.example.org")), parse("MX", "10 mail").unwrap());
    assert_eq!(Rdata::a(Ipv4Addr::LOCALHOST), parse("A", "127.0.0.1").unwrap());
    assert_eq!(Rdata::aaaa(Ipv6Addr::LOCALHOST), parse("AAAA", "::1").unwrap());
    assert_eq!(Rdata::name(Rtype::NS, &name("ns.example.org")), parse("NS", "ns").unwrap());
    assert_eq!(Rdata::txt("a b"), parse("TXT", "\"a b\"").unwrap());
    let data = parse("SOA", "ns noc 1 2 3 4 5").unwrap();
    let soa = data.as_soa().unwrap();
    assert_eq!((soa.serial, soa.refresh, soa.retry, soa.expire, soa.minimum), (1, 2, 3, 4, 5));
    assert_eq!((&soa.mname, &soa.rname), (&name("ns.example.org"), &name("noc.example.org")));
    assert_eq!(Rdata::soa(&soa), data);
    assert_eq!(Rdata::txt("a").as_soa(), None);
    assert_eq!(format!("{data:?}"), "SOA ns.example.org. noc.example.org. 1 2 3 4 5");
}

#[rstest]
#[case("CNAME", "a", Some("a.example.org"))]
#[case("DNAME", "a", Some("a.example.org"))]
#[case("NS", "a", Some("a.example.org"))]
#[case("PTR", "a", Some("a.example.org"))]
#[case("MX", "1 a", Some("a.example.org"))]
#[case("MX", "0 .", Some("."))]
#[case("SRV", "1 2 3 a", Some("a.example.org"))]
#[case("SVCB", "1 a", Some("a.example.org"))]
#[case("HTTPS", "1 a port=1", Some("a.example.org"))]
#[case("HTTPS", "1 .", None)]
#[case("A", "192.0.2.1", None)]
#[case("SOA", "a b 1 2 3 4 5", None)]
fn target(#[case] rtype: &str, #[case] text: &str, #[case] expected: Option<&str>) {
    assert_eq!(parse(rtype, text).unwrap().target(), expected.map(name));
}

#[rstest]
#[case(Rtype::A, b"\xc0\0\x02")]
#[case(Rtype::AAAA, b"\xc0\0\x02\x01")]
#[case(Rtype::TXT, b"")]
#[case(Rtype::TXT, b"\x05ab")]
#[case(Rtype::CNAME, b"")]
#[case(Rtype::CNAME, b"\x01a")]
#[case(Rtype::CNAME, b"\x01a\0rest")]
#[case(Rtype::CNAME, b"\xc0\0")]
#[case(Rtype::SOA, b"\x01a\0\xc0\0\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0\0\x01")]
#[case(Rtype::MX, b"\0")]
#[case(Rtype::HTTPS, b"\0\x01")]
#[case(Rtype::OPT, b"")]
#[case(Rtype::ANY, b"")]
fn malformed_wire_is_refused(#[case] rtype: Rtype, #[case] wire: &[u8]) {
    assert!(Rdata::from_wire(rtype, wire).is_err(), "{:?}", Rdata::from_wire(rtype, wire));
}

#[test]
fn data_over_65535_octets_is_refused() {
    assert!(Rdata::from_wire(Rtype(62000), &[0; 65535]).is_ok());
    assert!(Rdata::from_wire(Rtype(62000), &[0; 65536]).is_err());
}

#[rstest]
#[case(Rtype::CNAME, b"\x01A\0", b"\x01a\0")]
#[case(Rtype::MX, b"\0\x01\x01A\0", b"\0\x01\x01a\0")]
#[case(Rtype::SRV, b"\0\x01\0\x01\0\x01\x01A\0", b"\0\x01\0\x01\0\x01\x01a\0")]
#[case(Rtype::HTTPS, b"\0\x01\x01A\0", b"\0\x01\x01a\0")]
#[case(Rtype::NAPTR, b"\0\x01\0\x01\x01S\0\0\x01A\0", b"\0\x01\0\x01\x01S\0\0\x01a\0")]
fn names_become_lower_case_and_nothing_else(
    #[case] rtype: Rtype,
    #[case] wire: &[u8],
    #[case] canonical: &[u8],
) {
    assert_eq!(Rdata::from_wire(rtype, wire).unwrap().wire(), canonical);
}

const TYPES: &[Rtype] = &[
    Rtype::A,
    Rtype::NS,
    Rtype::CNAME,
    Rtype::SOA,
    Rtype::PTR,
    Rtype::HINFO,
    Rtype::MX,
    Rtype::TXT,
    Rtype::RP,
    Rtype::AAAA,
    Rtype::SRV,
    Rtype::NAPTR,
    Rtype::DNAME,
    Rtype::DS,
    Rtype::SSHFP,
    Rtype::TLSA,
    Rtype::SVCB,
    Rtype::HTTPS,
    Rtype::CAA,
    Rtype::RRSIG,
    Rtype::NSEC,
    Rtype::DNSKEY,
    Rtype::NSEC3,
    Rtype::NSEC3PARAM,
    Rtype::CDS,
    Rtype::CDNSKEY,
    Rtype::OPENPGPKEY,
    Rtype::ZONEMD,
    Rtype::IPSECKEY,
    Rtype(62000),
];

/// Wire form that is often well made: fixed octets, names and strings in random order.
fn any_wire() -> impl Strategy<Value = Vec<u8>> {
    let string = proptest::collection::vec(any::<u8>(), 0..20)
        .prop_map(|octets| [&[octets.len() as u8], &octets[..]].concat());
    let label = proptest::collection::vec(any::<u8>(), 1..9);
    let label = label.prop_map(|octets| [&[octets.len() as u8], &octets[..]].concat());
    let name = proptest::collection::vec(label, 0..4).prop_map(|labels| [labels.concat(), vec![0]].concat());
    let small = proptest::collection::vec(0u8..8, 1..5);
    let fixed = prop_oneof![Just(2usize), Just(4), Just(6), Just(16), Just(18), Just(20)]
        .prop_flat_map(|length| proptest::collection::vec(any::<u8>(), length));
    let piece = prop_oneof![string, name, small, fixed];
    proptest::collection::vec(piece, 1..5).prop_map(|pieces| pieces.concat())
}

/// Service parameters with keys in order, as SVCB wants them.
fn any_service() -> impl Strategy<Value = Vec<u8>> {
    let value = proptest::collection::vec(any::<u8>(), 0..12);
    proptest::collection::btree_map(0u16..12, value, 0..4).prop_map(|parameters| {
        let mut wire = b"\0\x01\x03SVC\0".to_vec();
        for (key, value) in parameters {
            wire.extend_from_slice(&key.to_be_bytes());
            wire.extend_from_slice(&(value.len() as u16).to_be_bytes());
            wire.extend_from_slice(&value);
        }
        wire
    })
}

fn prints_what_it_reads(rtype: Rtype, wire: &[u8]) -> Result<(), TestCaseError> {
    let Ok(data) = Rdata::from_wire(rtype, wire) else { return Ok(()) };
    prop_assert_eq!(Rdata::from_wire(rtype, data.wire()), Ok(data.clone()));
    let text = data.to_string();
    prop_assert!(!text.contains('\n'), "{}", text);
    prop_assert_eq!(Rdata::parse(rtype, &text, &Name::root()), Ok(data.clone()), "{}", text);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4096))]

    #[test]
    fn any_data_prints_what_it_reads(rtype in proptest::sample::select(TYPES), wire in any_wire()) {
        prints_what_it_reads(rtype, &wire)?;
    }

    #[test]
    fn any_text_prints_what_it_reads(octets in proptest::collection::vec(any::<u8>(), 0..300)) {
        let strings = octets.chunks(100).flat_map(|s| [&[s.len() as u8], s].concat());
        prints_what_it_reads(Rtype::TXT, &strings.collect::<Vec<u8>>())?;
    }

    #[test]
    fn any_service_prints_what_it_reads(wire in any_service()) {
        prints_what_it_reads(Rtype::SVCB, &wire)?;
        prints_what_it_reads(Rtype::HTTPS, &wire)?;
    }

    #[test]
    fn any_text_is_data_or_an_error(
        rtype in proptest::sample::select(TYPES),
        text in proptest::collection::vec(
            proptest::sample::select(vec![
                "\"", "\\", ";", "(", ")", " ", "\n", "\r", "\t", "@", "$", "\\#", "0", "1", "255", "a", "=",
                "alpn", "key1", ",", ".", "ü", "\0", "\\000", "ff", "[", "*", "-", "mandatory=", "A", "IN",
            ]),
            0..16,
        ),
    ) {
        let text = text.concat();
        if let Ok(data) = Rdata::parse(rtype, &text, &Name::root()) {
            prop_assert_eq!(data.rtype(), rtype);
            let shown = data.to_string();
            prop_assert_eq!(Rdata::parse(rtype, &shown, &Name::root()), Ok(data.clone()), "{}", shown);
        }
    }
}

/// The lengths of the strings of TXT data.
fn lengths(data: &Rdata) -> Vec<usize> {
    let (mut rest, mut lengths) = (data.wire(), Vec::new());
    while let Some((length, after)) = rest.split_first() {
        lengths.push(usize::from(*length));
        rest = &after[usize::from(*length)..];
    }
    lengths
}

#[rstest]
#[case::at_the_limit("\"", 255, "a", &[255])]
#[case::quoted("\"", 256, "a", &[255, 1])]
#[case::unquoted("", 600, "a", &[255, 255, 90])]
#[case::escaped("\"", 300, "\\065", &[255, 45])]
#[case::escaped_quotes("\"", 256, "\\\"", &[255, 1])]
#[case::not_ascii("\"", 200, "\u{fc}", &[255, 145])]
fn a_text_over_255_octets_is_several_strings(
    #[case] quote: &str,
    #[case] count: usize,
    #[case] unit: &str,
    #[case] expected: &[usize],
) {
    let text = format!("{quote}{}{quote}", unit.repeat(count));
    let data = parse("TXT", &text).unwrap();
    assert_eq!(lengths(&data), expected);
    assert_eq!(Rdata::parse(Rtype::TXT, &data.to_string(), &Name::root()).unwrap(), data);
}

#[test]
fn a_dkim_key_is_the_same_as_the_plain_text_of_a_dns_record() {
    let key = format!("v=DKIM1; k=rsa; p={}", "QUJD".repeat(98));
    assert_eq!(parse("TXT", &format!("\"{key}\"")).unwrap(), Rdata::txt(&key));
}
