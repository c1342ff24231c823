//! The short way and the long way, the whole text and its parts: all give the same zone, or the same
//! error at the same place.

use proptest::prelude::*;

use super::*;

/// Fields of which lines are made; those of plain records come more often.
const OWNERS: &[&str] = &[
    "",
    "",
    "www",
    "WWW",
    "host-1",
    "host-10",
    "host-2",
    "@",
    "a.b",
    "*.w",
    "www.example.org.",
    "example.org.",
    "www.example.net.",
    ".",
    "a..b",
    ".a",
    "b.",
    "a\\.b",
    "bü",
    "in",
    "a",
    "60",
    "x_y",
    "$x",
    "a@b",
    "a\"b",
    "\u{7f}",
    "label-of-sixty-four-octets-0123456789-0123456789-0123456789-01234",
    "host-1.label.label.label.label",
];
const HEADERS: &[&str] = &[
    "",
    "",
    "",
    "IN",
    "in",
    "60",
    "60 IN",
    "IN 60",
    "1h",
    "CLASS1",
    "CH",
    "60 60",
    "IN IN",
    "2147483648",
    "60x",
    "4294967296",
    "007",
];
const TYPES: &[&str] = &[
    "A", "A", "A", "a", "AAAA", "CNAME", "NS", "PTR", "MX", "SRV", "DNAME", "TXT", "SOA", "TYPE1", "ANY",
    "X", "",
];
const DATA: &[&str] = &[
    "192.0.2.1",
    "192.0.2.1",
    "192.0.2.2",
    "192.0.2.256",
    "192.0.2",
    "192.0.02.1",
    "1.2.3.4.5",
    "0.0.0.0",
    "+1.2.3.4",
    "299.1.1.1",
    "1..2.3",
    "2001:db8::1",
    "2001:DB8::1",
    "::ffff:192.0.2.1",
    "::1%eth0",
    ":::",
    "www",
    "WWW.example.net.",
    "@",
    ".",
    "a..b",
    "10 mail",
    "10 MAIL.example.org.",
    "65536 mail",
    "+1 mail",
    "1 2 3 sip",
    "1 2 sip",
    "ns noc 1 2 3 4 5",
    "\"text\"",
    "text",
    "\\# 4 c0000201",
    "",
    "(192.0.2.1",
    "192.0.2.1)",
    "( 10\n mail )",
    "a b c d e f g",
];
const BLANKS: &[&str] = &[" ", " ", "\t", "  ", " \t ", "\r", " \r "];
const ENDS: &[&str] = &["\n", "\n", "\n", "\r\n", " \n", " ; why\n", ";\n", "\n\n", "", "\n \n"];
const DIRECTIVES: &[&str] = &[
    "$TTL 300\n",
    "$TTL x\n",
    "$ORIGIN sub\n",
    "$ORIGIN example.org.\n",
    "$ORIGIN .\n",
    " $TTL 5\n",
    "$GENERATE 1-12 host-$ A 192.0.2.$\n",
    "$GENERATE 9-11 h-${0,3,x} 60 CNAME w.$\n",
    "$GENERATE 1-3 $ MX $ m$\n",
    "$GENERATE 0-2 a$ TXT \"$\"\n",
    "$GENERATE 0-300/100 a$ A 192.0.2.$\n",
    "$GENERATE 1-2 ${-2} A 192.0.2.1\n",
    "$GENERATE 1-2 a\\$b$ AAAA ::$\n",
    "$GENERATE 1-2 a$ A 192.0.2.$ x\n",
    "$INCLUDE a.inc\n",
];

fn one_of(list: &'static [&'static str]) -> impl Strategy<Value = &'static str> {
    proptest::sample::select(list)
}

fn line() -> impl Strategy<Value = String> {
    let fields = (one_of(OWNERS), one_of(HEADERS), one_of(TYPES), one_of(DATA));
    let record = (fields, one_of(BLANKS), one_of(ENDS));
    let record = record.prop_map(|((owner, header, rtype, data), blank, end)| {
        format!("{}{end}", [owner, header, rtype, data].join(blank))
    });
    prop_oneof![12 => record, 1 => one_of(DIRECTIVES).prop_map(str::to_owned)]
}

const GOOD_NAMES: &[&str] =
    &["www", "host-1", "host-10", "host-2", "a.b", "@", "b.example.org.", "x.example.net.", "W\\087W"];
const GOOD_RECORDS: &[&str] =
    &["A 192.0.2.1", "60 A 192.0.2.2", "IN AAAA ::1", "60 IN MX 10 m", "CNAME www", "TXT \"x\"", "NS ns"];

/// A plain line that may be read, so that not every text ends at its first line.
fn good_line() -> impl Strategy<Value = String> {
    (one_of(GOOD_NAMES), one_of(BLANKS), one_of(GOOD_RECORDS), one_of(ENDS)).prop_map(
        |(name, blank, record, end)| {
            format!("{name}{blank}{record}{end}{}", if end.contains('\n') { "" } else { "\n" })
        },
    )
}

fn text() -> impl Strategy<Value = String> {
    let mostly_good = proptest::collection::vec(prop_oneof![15 => good_line(), 1 => line()], 0..40);
    let any = proptest::collection::vec(line(), 0..8);
    let lines = prop_oneof![mostly_good, any];
    (lines, proptest::sample::select(&["", "\u{feff}"][..]))
        .prop_map(|(lines, mark)| format!("{mark}{SOA}{}", lines.concat()))
}

fn include(_: &str, file: &str) -> Result<Included, String> {
    let text =
        "inc 60 A 192.0.2.1\n 60 A 192.0.2.2\n\"\" x\n"[..if file == "a.inc" { 36 } else { 40 }].to_owned();
    Ok(Included { path: file.to_owned(), text })
}

/// Everything that a reading gives, in a form that can be compared.
type Given = Result<(PackedZone, Vec<Remark>, Vec<String>), ZoneFileError>;

fn given(read: Result<ReadZone, ZoneFileError>) -> Given {
    read.map(|read| (read.zone, read.remarks, read.included))
}

fn the_long_way(text: &[u8]) -> Given {
    let mut include = include;
    let mut reader = ZoneReader::new("zones/example.org.zone", &mut include).the_long_way();
    reader.feed(text);
    given(reader.finish())
}

fn in_parts(text: &[u8], sizes: &[usize]) -> Given {
    let mut include = include;
    let mut reader = ZoneReader::new("zones/example.org.zone", &mut include);
    let mut rest = text;
    for size in sizes.iter().cycle() {
        let (part, after) = rest.split_at((*size).min(rest.len()));
        reader.feed(part);
        rest = after;
        if rest.is_empty() {
            break;
        }
    }
    given(reader.finish())
}

fn the_short_way(text: &[u8]) -> Given {
    given(read_zone("zones/example.org.zone", text, &mut include))
}

const LABELS: &[&str] = &[
    "a.",
    "b.",
    "ab.",
    "abcdefg.",
    "ABCDEFGH.",
    "abcdefghi.",
    "\\000.",
    "\\001.",
    "a\\000.",
    "long-long-long.",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn short_and_long_way_read_the_same_zone_or_make_the_same_error(text in text()) {
        prop_assert_eq!(the_short_way(text.as_bytes()), the_long_way(text.as_bytes()));
    }

    #[test]
    fn wherever_a_text_is_cut_it_reads_the_same(text in text(), sizes in proptest::collection::vec(1usize..60, 1..5)) {
        prop_assert_eq!(in_parts(text.as_bytes(), &sizes), the_short_way(text.as_bytes()));
    }

    #[test]
    fn any_octets_are_read_or_refused_the_same_in_parts(
        octets in proptest::collection::vec(proptest::sample::select(&b"\xff\xc3\xa4\n\n  \t()\";\\$@a1A.\r"[..]), 0..60),
        sizes in proptest::collection::vec(1usize..9, 1..4),
    ) {
        let text = [SOA.as_bytes(), &octets].concat();
        prop_assert_eq!(in_parts(&text, &sizes).is_ok(), the_short_way(&text).is_ok());
    }

    #[test]
    fn names_in_any_order_are_packed_in_canonical_order(
        names in proptest::collection::vec(proptest::collection::vec(one_of(LABELS), 1..4), 0..40),
    ) {
        let names: Vec<String> = names.iter().map(|labels| labels.concat()).collect();
        let soa = RecordSet::new(name("example.org"), Rtype::SOA, 360, vec![
            Rdata::parse(Rtype::SOA, "ns noc 1 86400 7200 3600000 360", &name("example.org")).unwrap(),
        ]);
        let set = |owner: &String| {
            let data = Rdata::parse(Rtype::A, "192.0.2.1", &Name::root()).unwrap();
            RecordSet::new(name(&format!("{owner}example.org")), Rtype::A, 60, vec![data])
        };
        let lines: String = names.iter().map(|owner| format!("{owner}example.org. 60 A 192.0.2.1\n")).collect();
        let expected = PackedZone::from_sets(name("example.org"), names.iter().map(set).chain([soa])).unwrap();
        prop_assert_eq!(read(&format!("{SOA}{lines}")).unwrap().zone, expected);
    }
}

#[test]
fn plain_lines_do_take_the_short_way() {
    let text = format!("{SOA}www A 192.0.2.1\n  60 IN MX 10 mail\nx.example.org. CNAME @\nlast SRV 1 2 3 s");
    for line in text.lines().skip(1) {
        assert!(super::super::plain::Line::read(line).is_some(), "{line}");
    }
    assert_eq!(read(&text).unwrap().zone.len(), 5);
}

#[test]
fn a_line_that_is_not_text_is_refused_with_its_number() {
    let text = [SOA.as_bytes(), b"www 60 TXT ok\nwww 60 TXT \xff\n"].concat();
    let error = read_zone("zones/example.org.zone", text, &mut no_include).unwrap_err();
    assert!(error.to_string().contains(":3:1: the line is not UTF-8 text"), "{error}");
}

#[test]
fn an_entry_without_an_end_costs_no_more_than_its_text() {
    let mut include = no_include;
    let mut reader = ZoneReader::new("zones/example.org.zone", &mut include);
    reader.feed(format!("{SOA}www 60 TXT (").as_bytes());
    // Read from its start with each part it would be 60,000 times as much.
    for _ in 0..60_000 {
        reader.feed(b"word\n");
    }
    reader.feed(b")\n");
    let error = reader.finish().unwrap_err();
    assert!(error.message.contains("bad TXT data"), "{error}");
}
