use rstest::rstest;

use super::{SOA, read, records};

#[rstest]
#[case("1-3 host-$ 60 A 192.0.2.$", &["host-1.example.org. 60 A 192.0.2.1", "host-2.example.org. 60 A 192.0.2.2", "host-3.example.org. 60 A 192.0.2.3"])]
#[case("0-4/2 h$ A 192.0.2.$", &["h0.example.org. 360 A 192.0.2.0", "h2.example.org. 360 A 192.0.2.2", "h4.example.org. 360 A 192.0.2.4"])]
#[case("0-5/4 h$ IN 60 A 192.0.2.$", &["h0.example.org. 60 A 192.0.2.0", "h4.example.org. 60 A 192.0.2.4"])]
#[case("7-7 ${1} CNAME x${-7,3}", &["8.example.org. 360 CNAME x000.example.org."])]
#[case("10-10 ${0,4,d} CNAME ${0,4,o}.${0,4,x}.${0,4,X}", &["0010.example.org. 360 CNAME 0012.000a.000a.example.org."])]
#[case("10-10 x TXT ${0,0,x} ${0,0,X}", &["x.example.org. 360 TXT \"a\" \"A\""])]
#[case("291-291 ${0,0,n} TXT ${0,0,N} ${0,9,n}", &["3.2.1.example.org. 360 TXT \"3.2.1\" \"3.2.1.0.0\""])]
#[case("171-171 x TXT ${0,1,n} ${0,4,N}", &["x.example.org. 360 TXT \"b.a\" \"B.A\""])]
#[case("1-1 x TXT $$ \\$ $x$ \"a $\" \\065", &["x.example.org. 360 TXT \"$\" \"$\" \"1x1\" \"a 1\" \"A\""])]
#[case("1-2 $ MX $0 mail$", &["1.example.org. 360 MX 10 mail1.example.org.", "2.example.org. 360 MX 20 mail2.example.org."])]
#[case("1-1 @ NS ns$", &["example.org. 360 NS ns1.example.org."])]
fn generates(#[case] text: &str, #[case] expected: &[&str]) {
    let read = read(&format!("{SOA}$GENERATE {text}")).unwrap();
    assert_eq!(records(&read.zone), expected);
}

#[rstest]
#[case(
    "3-1 h$ A 192.0.2.$",
    "2:11: `3-1` is not a range: write start-stop or start-stop/step, such as 1-254 or 0-100/10"
)]
#[case(
    "1-2/0 h$ A 192.0.2.$",
    "2:11: `1-2/0` is not a range: write start-stop or start-stop/step, such as 1-254 or 0-100/10"
)]
#[case(
    "1 h$ A 192.0.2.$",
    "2:11: `1` is not a range: write start-stop or start-stop/step, such as 1-254 or 0-100/10"
)]
#[case(
    "1-2 h${x} A 192.0.2.$",
    "2:11: `h${x}` has a bad `${…}`: write ${offset,width,base}, with a base of d, o, x, X, n or N"
)]
#[case(
    "1-2 h$ A 192.0.2.${0,1,q}",
    "2:11: `192.0.2.${0,1,q}` has a bad `${…}`: write ${offset,width,base}, with a base of d, o, x, X, n or N"
)]
#[case(
    "1-2 h$ A 192.0.2.${0,1,d,1}",
    "2:11: `192.0.2.${0,1,d,1}` has a bad `${…}`: write ${offset,width,base}, with a base of d, o, x, X, n or N"
)]
#[case(
    "1-2 h$ A 192.0.2.${0",
    "2:11: `192.0.2.${0` has a bad `${…}`: write ${offset,width,base}, with a base of d, o, x, X, n or N"
)]
#[case(
    "1-2 h${0,256} A 192.0.2.1",
    "2:11: `h${0,256}` has a bad `${…}`: write ${offset,width,base}, with a base of d, o, x, X, n or N"
)]
#[case("1-2 h${-2} A 192.0.2.1", "2:11: an offset makes 1 negative")]
#[case("1-2 h$ A 192.0.2.${-2}", "2:11: an offset makes 1 negative")]
#[case("1-300 h$ A 192.0.2.$", "2:11: bad A data: expected an IPv4 address such as 192.0.2.1")]
#[case("1-2 h$ 60", "2:11: the record has no type; write name, TTL, type and data")]
#[case("1-2 h$.. A 192.0.2.$", "2:11: `h1..` has an empty label")]
#[case("1-1000001 h$ A 192.0.2.1", "2:11: $GENERATE may make at most 1000000 records in a zone")]
#[case("0-4294967295 h$ A 192.0.2.1", "2:11: $GENERATE may make at most 1000000 records in a zone")]
fn refuses(#[case] text: &str, #[case] message: &str) {
    let error = read(&format!("{SOA}$GENERATE {text}")).unwrap_err();
    assert_eq!(error.to_string(), format!("zones/example.org.zone:{message}"));
}

#[test]
fn the_bound_is_for_all_of_a_zone() {
    let error =
        read(&format!("{SOA}$GENERATE 1-1 a A 192.0.2.1\n$GENERATE 1-1000000 h A 192.0.2.1")).unwrap_err();
    assert_eq!((error.line, error.column), (3, 11));
}

#[test]
fn the_text_that_is_generated_is_bounded() {
    let long = "x".repeat(250);
    let error = read(&format!("{SOA}$GENERATE 1-1000000 h$ TXT {long}")).unwrap_err();
    assert_eq!(error.message, "$GENERATE may make at most 64 MiB of text in a zone");
}
