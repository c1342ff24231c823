#![allow(clippy::unwrap_used)]

mod generate;
mod ways;
mod write;

use rstest::rstest;

use super::*;
use crate::{Rdata, RecordSet, Rtype};

const SOA: &str = "@ 360 IN SOA ns noc 1 86400 7200 3600000 360\n";

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn no_include(_: &str, file: &str) -> Result<Included, String> {
    Err(format!("there is no file {file}"))
}

fn read(text: &str) -> Result<ReadZone, ZoneFileError> {
    read_zone("zones/example.org.zone", text, &mut no_include)
}

/// The records as `owner ttl type data`, without the SOA.
fn records(zone: &PackedZone) -> Vec<String> {
    let sets = zone.iter().filter(|set| set.rtype != Rtype::SOA);
    sets.flat_map(|set| {
        let head = format!("{} {} {}", set.name, set.ttl, set.rtype);
        set.data.iter().map(|data| format!("{head} {data}")).collect::<Vec<_>>()
    })
    .collect()
}

/// Reads what comes after a SOA; one remark would be too many.
fn read_records(text: &str) -> Vec<String> {
    let read = read(&format!("{SOA}{text}")).unwrap();
    assert_eq!(read.remarks, []);
    records(&read.zone)
}

#[rstest]
#[case::plain("www 60 IN A 192.0.2.1", &["www.example.org. 60 A 192.0.2.1"])]
#[case::class_before_ttl("www IN 60 A 192.0.2.1", &["www.example.org. 60 A 192.0.2.1"])]
#[case::no_class("www 60 A 192.0.2.1", &["www.example.org. 60 A 192.0.2.1"])]
#[case::class_by_number("www 60 CLASS1 A 192.0.2.1", &["www.example.org. 60 A 192.0.2.1"])]
#[case::small_letters("WWW 60 in a 192.0.2.1", &["www.example.org. 60 A 192.0.2.1"])]
#[case::ttl_of_the_last_record("www A 192.0.2.1", &["www.example.org. 360 A 192.0.2.1"])]
#[case::ttl_directive("$TTL 1h30m\nwww A 192.0.2.1", &["www.example.org. 5400 A 192.0.2.1"])]
#[case::ttl_directive_over_last_ttl("$TTL 7\na 60 A 192.0.2.1\nb A 192.0.2.1", &["a.example.org. 60 A 192.0.2.1", "b.example.org. 7 A 192.0.2.1"])]
#[case::ttl_with_units("www 1d A 192.0.2.1", &["www.example.org. 86400 A 192.0.2.1"])]
#[case::apex("@ 60 A 192.0.2.1", &["example.org. 60 A 192.0.2.1"])]
#[case::same_owner("www 60 A 192.0.2.1\n  60 AAAA 2001:db8::1", &["www.example.org. 60 A 192.0.2.1", "www.example.org. 60 AAAA 2001:db8::1"])]
#[case::same_owner_as_the_soa("\t60 NS ns", &["example.org. 60 NS ns.example.org."])]
#[case::absolute("www.example.org. 60 CNAME example.net.", &["www.example.org. 60 CNAME example.net."])]
#[case::wildcard("*.www 60 A 192.0.2.1", &["*.www.example.org. 60 A 192.0.2.1"])]
#[case::owner_called_like_a_type("a 60 A 192.0.2.1", &["a.example.org. 60 A 192.0.2.1"])]
#[case::owner_called_like_a_class("in 60 A 192.0.2.1", &["in.example.org. 60 A 192.0.2.1"])]
#[case::owner_called_like_a_number("10 60 PTR host", &["10.example.org. 60 PTR host.example.org."])]
#[case::comments("; one\nwww 60 A 192.0.2.1 ; two\n;three", &["www.example.org. 60 A 192.0.2.1"])]
#[case::comment_touches("www 60 A 192.0.2.1;two", &["www.example.org. 60 A 192.0.2.1"])]
#[case::no_newline_at_the_end("www 60 A 192.0.2.1", &["www.example.org. 60 A 192.0.2.1"])]
#[case::windows_line_ends("www 60 A 192.0.2.1\r\nw 60 A 192.0.2.1\r\n", &["w.example.org. 60 A 192.0.2.1", "www.example.org. 60 A 192.0.2.1"])]
#[case::parentheses("www 60 MX ( 10 ; ten\n mail )", &["www.example.org. 60 MX 10 mail.example.org."])]
#[case::touching_parentheses("www 60 MX (10\nmail)", &["www.example.org. 60 MX 10 mail.example.org."])]
#[case::nested_parentheses("www 60 ( MX ( 10 )\nmail )", &["www.example.org. 60 MX 10 mail.example.org."])]
#[case::quoted("www 60 TXT \"a;b ( c\" \"\\\"\"", &["www.example.org. 60 TXT \"a;b ( c\" \"\\\"\""])]
#[case::escaped_semicolon("www 60 TXT a\\;b", &["www.example.org. 60 TXT \"a;b\""])]
#[case::escaped_owner("a\\.b\\; 60 A 192.0.2.1", &["a\\.b\\;.example.org. 60 A 192.0.2.1"])]
#[case::service_parameters("www 60 HTTPS 1 . alpn=\"h2,h3\"", &["www.example.org. 60 HTTPS 1 . alpn=h2,h3"])]
#[case::unknown_type("www 60 TYPE62000 \\# 2 00 ff", &["www.example.org. 60 TYPE62000 \\# 2 00ff"])]
#[case::idn("bücher 60 CNAME grüße", &["xn--bcher-kva.example.org. 60 CNAME xn--gre-6ka8l.example.org."])]
#[case::origin("$ORIGIN sub\nwww 60 A 192.0.2.1\n$ORIGIN example.org.\nw 60 CNAME @", &["www.sub.example.org. 60 A 192.0.2.1", "w.example.org. 60 CNAME example.org."])]
#[case::origin_keeps_the_owner("www 60 A 192.0.2.1\n$ORIGIN sub\n 60 TXT x", &["www.example.org. 60 A 192.0.2.1", "www.example.org. 60 TXT \"x\""])]
#[case::small_directive("$ttl 5\nwww A 192.0.2.1", &["www.example.org. 5 A 192.0.2.1"])]
#[case::signature_beside_cname("www 60 CNAME a\nwww 60 NSEC a A", &["www.example.org. 60 CNAME a.example.org.", "www.example.org. 60 NSEC a.example.org. A"])]
#[case::data_beside_dname("d 60 DNAME a\nd 60 A 192.0.2.1", &["d.example.org. 60 A 192.0.2.1", "d.example.org. 60 DNAME a.example.org."])]
fn reads(#[case] text: &str, #[case] expected: &[&str]) {
    let mut expected: Vec<String> = expected.iter().map(|line| (*line).to_owned()).collect();
    let mut found = read_records(text);
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
}

#[rstest]
#[case::bad_address("www 60 A 192.0.2", "2:10: bad A data: expected an IPv4 address such as 192.0.2.1")]
#[case::no_data("www 60 A", "2:1: bad A data: expected an IPv4 address such as 192.0.2.1")]
#[case::no_type("www 60 IN", "2:1: the record has no type; write name, TTL, type and data")]
#[case::bad_type(
    "www 60 IN ADDRESS x",
    "2:11: `ADDRESS` is not a record type; write a mnemonic such as A or CNAME, or TYPE and a number"
)]
#[case::query_type(
    "www 60 ANY x",
    "2:8: ANY is a type of queries and messages, not of records: use a type of data such as `A`"
)]
#[case::bad_ttl(
    "www 60x A 192.0.2.1",
    "2:5: `60x` is not a TTL: write seconds up to 2147483647, or such as 1h30m"
)]
#[case::high_ttl(
    "www 2147483648 A 192.0.2.1",
    "2:5: `2147483648` is not a TTL: write seconds up to 2147483647, or such as 1h30m"
)]
#[case::bad_class("www CH A 192.0.2.1", "2:5: the class CH is not served; only IN is")]
#[case::class_by_number("www CLASS3 A 192.0.2.1", "2:5: the class CLASS3 is not served; only IN is")]
#[case::bad_owner("a..b 60 A 192.0.2.1", "2:1: `a..b` has an empty label")]
#[case::column_in_characters(
    "www 60 TXT ü ü\nü 60 A b",
    "3:8: bad A data: expected an IPv4 address such as 192.0.2.1"
)]
#[case::open_parenthesis("www 60 MX ( 10\nmail\n", "4:1: a parenthesis is not closed")]
#[case::close_parenthesis("www 60 MX 10 mail )", "2:19: `)` has no `(` before it")]
#[case::open_quote("www 60 TXT \"a\nb\"", "2:12: a quotation mark is not closed on its line")]
#[case::backslash("www 60 TXT a\\\nb", "2:12: a backslash ends the line")]
#[case::unknown_directive(
    "$DATE x",
    "2:1: $DATE is not known; there are $ORIGIN, $TTL, $INCLUDE and $GENERATE"
)]
#[case::origin_usage("$ORIGIN", "2:1: $ORIGIN takes one name")]
#[case::origin_name("$ORIGIN a..b", "2:9: `a..b` has an empty label")]
#[case::ttl_usage("$TTL 1 2", "2:1: $TTL takes one time, such as 3600 or 1h")]
#[case::ttl_value("$TTL x", "2:6: `x` is not a TTL: write seconds up to 2147483647, or such as 1h30m")]
#[case::include_usage("$INCLUDE", "2:1: $INCLUDE takes a file and perhaps an origin")]
#[case::include_missing("$INCLUDE a.inc", "2:10: there is no file a.inc")]
#[case::generate_usage(
    "$GENERATE 1-2",
    "2:1: $GENERATE takes a range, a name, perhaps TTL and class, a type and data"
)]
#[case::second_soa(
    "@ 1 SOA ns noc 2 1 1 1 1",
    "2:1: a zone has one SOA record, and there is one of example.org. in zones/example.org.zone, line 1"
)]
#[case::soa_elsewhere(
    "a 1 SOA ns noc 1 86400 7200 3600000 360",
    "2:1: a zone has one SOA record, and there is one of example.org. in zones/example.org.zone, line 1"
)]
#[case::cname_beside_data(
    "www 60 CNAME a\nwww 60 A 192.0.2.1",
    "3:1: www.example.org. has A here and CNAME in line 2; a name may have nothing beside a CNAME"
)]
#[case::data_beside_cname(
    "www 60 A 192.0.2.1\nb 60 A 192.0.2.1\nwww 60 CNAME a",
    "4:1: www.example.org. has CNAME here and A in line 2; a name may have nothing beside a CNAME"
)]
#[case::cname_at_the_apex(
    "@ 60 CNAME a",
    "2:1: example.org. has CNAME here and SOA in line 1; a name may have nothing beside a CNAME"
)]
#[case::two_cnames(
    "www 60 CNAME a\nwww 60 CNAME b",
    "3:1: www.example.org. has CNAME here and CNAME in line 2; a name may have at most one of this type"
)]
#[case::two_dnames(
    "d 60 DNAME a\nd 60 DNAME b",
    "3:1: d.example.org. has DNAME here and DNAME in line 2; a name may have at most one of this type"
)]
fn refuses_after_a_soa(#[case] text: &str, #[case] message: &str) {
    let error = read(&format!("{SOA}{text}")).unwrap_err();
    assert_eq!(error.to_string(), format!("zones/example.org.zone:{message}"));
    assert_eq!(error.origin, Some(name("example.org")));
}

#[rstest]
#[case::empty("", "1:1: the zone has no SOA record")]
#[case::no_soa("www 60 A 192.0.2.1", "1:1: the zone has no SOA record")]
#[case::no_ttl("www A 192.0.2.1", "1:1: the record has no TTL; put $TTL at the top of the file")]
#[case::no_owner(
    " 60 A 192.0.2.1",
    "1:2: the line starts with a blank, which repeats the name before it, and there is none"
)]
fn refuses(#[case] text: &str, #[case] message: &str) {
    assert_eq!(read(text).unwrap_err().to_string(), format!("zones/example.org.zone:{message}"));
}

#[test]
fn soa_without_a_ttl_has_its_minimum() {
    let read = read("@ SOA ns noc 1 2 3 4 55\nwww A 192.0.2.1").unwrap();
    assert_eq!(read.zone.soa().ttl, 55);
    assert_eq!(records(&read.zone), ["www.example.org. 55 A 192.0.2.1"]);
}

#[test]
fn origin_is_the_name_that_has_the_soa() {
    let text = "\u{feff}$ORIGIN org.\nexample 60 SOA ns noc 1 2 3 4 5\nwww.example 60 A 192.0.2.1\nother 60 A 192.0.2.1\n";
    let read = read_zone("db/whatever", text, &mut no_include).unwrap();
    assert_eq!(read.zone.origin(), &name("example.org"));
    let remarks: Vec<String> = read.remarks.iter().map(Remark::to_string).collect();
    assert_eq!(remarks, ["db/whatever:4:1: other.org. does not lie in the zone example.org.: left out"]);
}

#[test]
fn soa_may_come_last() {
    let read = read(&format!("www 60 A 192.0.2.1\n{SOA}")).unwrap();
    assert_eq!(records(&read.zone), ["www.example.org. 60 A 192.0.2.1"]);
}

#[test]
fn an_error_before_the_soa_tells_the_first_origin() {
    assert_eq!(
        read("$ORIGIN example.net.\n$ORIGIN a\n$TTL x\n").unwrap_err().origin,
        Some(name("a.example.net"))
    );
    assert_eq!(read("www 60 A x\n$ORIGIN example.net.").unwrap_err().origin, Some(name("example.org")));
    let error = read_zone("a b.zone", "www 60 A 192.0.2.1", &mut no_include).unwrap_err();
    assert_eq!((error.origin, error.column), (None, 1));
    assert_eq!(
        error.message,
        "the file's name is no domain name, so put $ORIGIN and the zone's name at its top"
    );
}

#[test]
fn a_file_whose_name_is_no_origin_needs_one_first() {
    let text = "example.org. 60 SOA ns. noc. 1 2 3 4 5";
    let error = read_zone("a b.zone", text, &mut no_include).unwrap_err();
    assert!(error.message.contains("put $ORIGIN"), "{error}");
    let text = "$ORIGIN example.org\n@ 60 SOA ns noc 1 2 3 4 5";
    assert!(read_zone("a b.zone", text, &mut no_include).is_ok());
}

#[rstest]
#[case(
    "www 60 A 192.0.2.1\nwww 60 A 192.0.2.1",
    "3:1: the same record of www.example.org. A stands in line 2: left out"
)]
#[case(
    "www 60 CNAME a\nWWW 60 CNAME A",
    "3:1: the same record of www.example.org. CNAME stands in line 2: left out"
)]
#[case(SOA, "2:1: the same record of example.org. SOA stands in line 1: left out")]
#[case(
    "www.example.net. 60 A 192.0.2.1",
    "2:1: www.example.net. does not lie in the zone example.org.: left out"
)]
#[case(
    "www 60 A 192.0.2.1\nwww 30 A 192.0.2.2",
    "2:1: the TTL 60 differs from others of www.example.org. A: all of them have the lowest, 30"
)]
#[case(
    "@ 60 TXT v=spf1 -all",
    "2:10: the text is not quoted, so it is served as 2 strings, which clients join without spaces: `v=spf1-all`; put \
     the whole text into quotation marks"
)]
#[case(
    "www 60 CNAME lb.example.net",
    "2:14: `lb.example.net` is a relative name with a dot, so it stands for `lb.example.net.example.org.`: add the final \
     dot (`lb.example.net.`), or write `lb.example.net.example.org.` if that is meant"
)]
fn remarks(#[case] text: &str, #[case] remark: &str) {
    let read = read(&format!("{SOA}{text}")).unwrap();
    let remarks: Vec<String> = read.remarks.iter().map(Remark::to_string).collect();
    assert_eq!(remarks, [format!("zones/example.org.zone:{remark}")]);
}

#[rstest]
#[case::of_a_name_in_the_zone("www 60 CNAME a.b\na.b 60 A 192.0.2.1")]
#[case::of_a_name_with_names_below_it("www 60 CNAME a.b\nc.a.b 60 A 192.0.2.1")]
#[case::of_a_wildcard("www 60 CNAME a.b\n*.b 60 A 192.0.2.1")]
#[case::of_a_delegation("www 60 CNAME a.b\nb 60 NS ns.example.net.")]
#[case::with_its_final_dot("www 60 CNAME a.b.example.net.")]
#[case::of_one_label("www 60 CNAME a")]
#[case::of_quoted_texts("@ 60 TXT \"a b\" \"c\"")]
fn there_is_no_remark(#[case] text: &str) {
    assert_eq!(read(&format!("{SOA}{text}")).unwrap().remarks, []);
}

#[test]
fn a_text_over_255_octets_is_split_in_a_zone_file_too() {
    let read = read(&format!("{SOA}@ 60 TXT \"{}\"", "a".repeat(300))).unwrap();
    let text = format!("example.org. 60 TXT \"{}\" \"{}\"", "a".repeat(255), "a".repeat(45));
    assert!(records(&read.zone).contains(&text), "{:?}", records(&read.zone));
}

#[test]
fn a_set_has_its_lowest_ttl() {
    let read = read(&format!("{SOA}www 60 A 192.0.2.1\nwww 30 A 192.0.2.2")).unwrap();
    assert_eq!(records(&read.zone), ["www.example.org. 30 A 192.0.2.1", "www.example.org. 30 A 192.0.2.2"]);
}

#[rstest]
#[case::split_text("www 60 TXT two words", true)]
#[case::relative_target("www 60 CNAME lb.example.net", true)]
#[case::out_of_zone("www.example.net. 60 A 192.0.2.1", false)]
#[case::duplicate("www 60 A 192.0.2.1\nwww 60 A 192.0.2.1", false)]
fn doubtful_data_is_read_whole(#[case] text: &str, #[case] is_whole: bool) {
    let read = read(&format!("{SOA}{text}")).unwrap();
    assert_eq!((read.remarks.len(), read.is_whole), (1, is_whole), "{:?}", read.remarks);
}

#[test]
fn remarks_are_bounded_and_counted() {
    let read = read(&format!("{SOA}{}", "www.example.net. 60 A 192.0.2.1\n".repeat(300))).unwrap();
    assert_eq!(read.remarks.len(), 101);
    let last = read.remarks.last().unwrap();
    assert_eq!((last.line, last.message.as_str()), (301, "200 more remarks are not shown"));
}

/// A folder of files; a name is looked up as it is written.
fn read_folder(files: &[(&str, &str)]) -> Result<ReadZone, ZoneFileError> {
    let mut include = |_: &str, file: &str| match files.iter().find(|(path, _)| *path == file) {
        Some((path, text)) => Ok(Included { path: (*path).to_owned(), text: (*text).to_owned() }),
        None => Err(format!("there is no file {file}")),
    };
    read_zone("example.org.zone", files[0].1, &mut include)
}

#[test]
fn origin_and_owner_are_the_same_after_an_include() {
    let read = read_folder(&[
        (
            "example.org.zone",
            "@ 60 SOA ns noc 1 2 3 4 5\nwww A 192.0.2.1\n$INCLUDE \"a.inc\" sub\n AAAA 2001:db8::1\nlast A 192.0.2.1\n$INCLUDE b.inc",
        ),
        ("a.inc", "@ A 192.0.2.2\n$ORIGIN deep\nx A 192.0.2.3"),
        ("b.inc", "b A 192.0.2.4"),
    ]);
    let read = read.unwrap();
    let expected = [
        "b.example.org. 60 A 192.0.2.4",
        "last.example.org. 60 A 192.0.2.1",
        "sub.example.org. 60 A 192.0.2.2",
        "x.deep.sub.example.org. 60 A 192.0.2.3",
        "www.example.org. 60 A 192.0.2.1",
        "www.example.org. 60 AAAA 2001:db8::1",
    ];
    assert_eq!(records(&read.zone), expected);
    assert_eq!(read.included, ["a.inc", "b.inc"]);
}

#[test]
fn an_included_file_has_no_owner_to_repeat() {
    let error = read_folder(&[("", "@ 60 SOA ns noc 1 2 3 4 5\n$INCLUDE a.inc"), ("a.inc", " A 192.0.2.1")]);
    assert!(error.unwrap_err().to_string().starts_with("a.inc:1:2: the line starts with a blank"));
}

#[test]
fn an_error_names_the_included_file() {
    let error = read_folder(&[("", "$INCLUDE a.inc"), ("a.inc", "\n\nwww 60 A x")]).unwrap_err();
    assert_eq!(error.to_string(), "a.inc:3:10: bad A data: expected an IPv4 address such as 192.0.2.1");
    assert_eq!(error.origin, Some(name("example.org")));
}

#[test]
fn a_circle_of_includes_is_refused() {
    let error =
        read_folder(&[("", "$INCLUDE a.inc"), ("a.inc", "$INCLUDE b.inc"), ("b.inc", "\n$INCLUDE a.inc")]);
    let message = "b.inc:2:10: a.inc includes itself; take one $INCLUDE out of the circle";
    assert_eq!(error.unwrap_err().to_string(), message);
}

#[test]
fn includes_are_bounded_in_depth_and_number() {
    let mut deeper =
        |_: &str, file: &str| Ok(Included { path: file.to_owned(), text: format!("$INCLUDE {file}x") });
    let error = read_zone("example.org.zone", "$INCLUDE x", &mut deeper).unwrap_err();
    assert_eq!(error.message, "files include each other more than 16 deep");
    let mut empty = |_: &str, file: &str| Ok(Included { path: file.to_owned(), text: String::new() });
    let error = read_zone("example.org.zone", "$INCLUDE x\n".repeat(1_001), &mut empty).unwrap_err();
    assert_eq!((error.line, error.message.as_str()), (1_001, "the zone includes more than 1000 files"));
}

#[test]
fn the_including_file_and_the_name_as_written_are_asked_for() {
    let mut asked = Vec::new();
    let mut include = |from: &str, file: &str| {
        asked.push(format!("{from} {file}"));
        let text = if file == "a b/\"" { "$INCLUDE second" } else { "" };
        Ok(Included { path: format!("full/{file}"), text: text.to_owned() })
    };
    let read = read_zone("z/example.org.zone", format!("{SOA}$INCLUDE \"a b/\\\"\""), &mut include).unwrap();
    assert_eq!(read.included, ["full/a b/\"", "full/second"]);
    assert_eq!(asked, ["z/example.org.zone a b/\"", "full/a b/\" second"]);
}

#[rstest]
#[case("zones/example.org.zone", Some("example.org"))]
#[case("example.org.zone", Some("example.org"))]
#[case("example.org", Some("example.org"))]
#[case("a/b/Example.Org.zone", Some("example.org"))]
#[case("2.0.192.in-addr.arpa.zone", Some("2.0.192.in-addr.arpa"))]
#[case("zones/.zone", None)]
#[case("zones/a b.zone", None)]
#[case("zones/", None)]
fn origin_of(#[case] path: &str, #[case] origin: Option<&str>) {
    assert_eq!(origin_of_path(path), origin.map(name));
}

proptest::proptest! {
    #[test]
    fn any_text_is_a_zone_or_an_error(
        pieces in proptest::collection::vec(
            proptest::sample::select(vec![
                SOA, "www", " ", "\n", "60", "IN", "A", "192.0.2.1", "TXT", "\"", "\\", "(", ")", ";", "$TTL",
                "$ORIGIN", "$GENERATE", "1-3", "$", "${0,2,n}", "$INCLUDE", "@", "CNAME", "MX", "10", "\t", "ü",
            ]),
            0..30,
        ),
    ) {
        let text = pieces.concat();
        if let Err(error) = read(&text) {
            proptest::prop_assert!(error.line as usize <= text.lines().count() + 1);
        }
    }
}

#[test]
fn an_entry_without_an_end_is_refused_and_not_held() {
    let mut include = no_include;
    let mut reader = ZoneReader::new("example.org.zone", &mut include);
    reader.feed(format!("{SOA}www 60 TXT (\n").as_bytes());
    for _ in 0..100 {
        reader.feed(&b"; nothing but remarks\n".repeat(10_000));
    }
    let error = reader.finish().unwrap_err();
    assert_eq!((error.line, error.message.as_str()), (2, crate::token::TOO_LONG));

    let mut reader = ZoneReader::new("example.org.zone", &mut include);
    reader.feed(SOA.as_bytes());
    (0..100).for_each(|_| reader.feed(&[b'a'; 100_000]));
    assert_eq!(reader.finish().unwrap_err().line, 2, "a line without an end");

    let error = read(&format!("{SOA}www 60 TXT ( {} )\n", "a ".repeat(80_000))).unwrap_err();
    assert_eq!((error.line, error.message.as_str()), (2, crate::token::TOO_LONG));
    let largest = read(&format!("{SOA}www 60 TXT ( {} )", "a ".repeat(32_767))).unwrap();
    assert_eq!(records(&largest.zone).len(), 1, "as much as record data may have");
    assert!(
        largest.remarks.iter().all(|remark| remark.message.len() < 400),
        "a remark shows a part of the text"
    );
}

#[rstest]
#[case("TYPE65402 \\# 4 00010141")]
#[case("type65402 \\# 4 00010141")]
#[case("IN 300 TYPE065402 \\# 4 00010141")]
#[case("LUA A \"1\"")]
#[case("ALIAS www.example.org.")]
#[case("TYPE65401 \\# 1 00")]
#[case("TYPE65534 \\# 1 00")]
#[case("TYPE250 \\# 1 00")]
fn a_type_that_a_server_executes_refuses_the_file_with_its_line(#[case] record: &str) {
    let error = read(&format!("{SOA}www A 192.0.2.1\nx {record}\n")).unwrap_err();
    assert!(error.to_string().contains("zone:"), "{error}");
    let lines = format!("{SOA}www A 192.0.2.1\n").lines().count() as u32;
    assert_eq!(error.line, lines + 1, "{error}");
    assert!(error.message.contains("private use") || error.message.contains("queries"), "{error}");
}

#[test]
fn a_type_that_a_server_executes_is_not_generated_either() {
    let error = read(&format!("{SOA}$GENERATE 1-2 x$ TYPE65402 \\# 1 00\n")).unwrap_err();
    assert!(error.message.contains("private use"), "{error}");
}

#[test]
fn what_is_reserved_for_ownership_records_is_left_out_of_a_users_file() {
    let text = format!(
        "{SOA}www A 192.0.2.1\na._fingerpost A 192.0.2.2\n_fingerpost NS ns.example.org.\n\
         www TXT \"heritage=external-dns,external-dns/owner=x\"\nwww TXT \"v=spf1 -all\"\n"
    );
    let mut include = no_include;
    let mut reader = ZoneReader::new("zones/example.org.zone", &mut include).of_user();
    reader.feed(text.as_bytes());
    let users = reader.finish().unwrap();
    let remarks: Vec<String> = users.remarks.iter().map(ToString::to_string).collect();
    assert_eq!(remarks.len(), 3, "{remarks:?}");
    assert!(remarks.iter().all(|remark| remark.contains("is reserved") && remark.ends_with("left out")));
    let ours = read(&text).unwrap();
    assert_eq!((users.zone.len() + 3, ours.remarks.len()), (ours.zone.len(), 0));
}
