#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use dns::{Name, Rdata, Rtype};
use rstest::rstest;

use super::*;

/// What a zone file has, and what PowerDNS wants.
#[rstest]
#[case(Rtype::AAAA, "::ffff:192.0.2.1", "0:0:0:0:0:ffff:c000:201")]
#[case(Rtype::TXT, "a\\\"b\\;c\\200", "\"a\\\"b;c\\200\"")]
#[case(Rtype::MX, "10 mail.example.org.", "10 mail.example.org.")]
#[case(
    Rtype::LOC,
    "\\# 16 00121613 80000000 80000000 00989680",
    "0 0 0.000 N 0 0 0.000 E 0.00m 1.00m 10000.00m 10.00m"
)]
#[case(Rtype::CSYNC, "\\# 12 00000042 0003 00 04 60000008", "66 3 A NS AAAA")]
#[case(Rtype::HTTPS, "1 . ech=AQID alpn=h2,h3", "1 . alpn=h2,h3 ech=\"AQID\"")]
#[case(Rtype::IPSECKEY, "\\# 6 0a000201027f", "10 0 2 AQJ/")]
#[case(Rtype(62000), "\\# 0", "\\# 0 ")]
fn content_is_spelled_as_powerdns_does(#[case] rtype: Rtype, #[case] text: &str, #[case] wanted: &str) {
    let data = Rdata::parse(rtype, text, &Name::root()).unwrap();
    assert_eq!(content(&data), wanted);
    assert_eq!(parse(rtype, wanted), Some(data));
}

#[rstest]
#[case(Rtype::A, "elsewhere")]
#[case(Rtype::TXT, "\"open")]
#[case(Rtype::LOC, "91 0 0.000")]
#[case(Rtype::HTTPS, "1 . alpn=a\\\\,b")]
#[case(Rtype::CAA, "0 issue")]
#[case(LUA, "NOTATYPE \"1\"")]
fn what_is_not_data_of_the_type_is_none(#[case] rtype: Rtype, #[case] text: &str) {
    assert_eq!(parse(rtype, text), None);
}

proptest::proptest! {
    #[test]
    fn any_octets_survive_quotation(octets in proptest::collection::vec(proptest::num::u8::ANY, 0..300)) {
        let quoted = field::quote(&octets);
        proptest::prop_assert_eq!(field::split(&quoted).unwrap().len(), 1);
        proptest::prop_assert_eq!(field::unquote(&quoted), Some(octets));
    }
}
