#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use super::*;
use rstest::rstest;

const SECRET: &str = "e5e973e5a6b2a43f48e7dc849e37bfcf";
const OLD_SECRET: &str = "dd3bdf9344b678b185a6f5cb60fca715";
const NEW_SECRET: &str = "445536bcd2513298075a5d379663c962";

fn octets(digits: &str) -> Vec<u8> {
    (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap()).collect()
}

fn split(cookie: &str) -> ([u8; 8], Vec<u8>) {
    let octets = octets(cookie);
    (octets[..8].try_into().unwrap(), octets[8..].to_vec())
}

fn keys(text: &str) -> CookieKeys {
    CookieKeys::parse(text).unwrap()
}

/// RFC 9018 appendix A, 1 to 4.
#[rstest]
#[case(SECRET, "198.51.100.100", 1_559_731_985, "2464c4abcf10c957010000005cf79f111f8130c3eee29480")]
#[case(SECRET, "198.51.100.100", 1_559_734_385, "2464c4abcf10c957010000005cf7a871d4a564a1442aca77")]
#[case(SECRET, "203.0.113.203", 1_559_734_700, "fc93fc62807ddb86010000005cf7a9acf73a7810aca2381e")]
#[case(SECRET, "::ffff:203.0.113.203", 1_559_734_700, "fc93fc62807ddb86010000005cf7a9acf73a7810aca2381e")]
#[case(
    NEW_SECRET,
    "2001:db8:220:1:59de:d0f4:8769:82b8",
    1_559_741_961,
    "22681ab97d52c298010000005cf7c609a6bb79d16625507a"
)]
fn cookies_are_those_of_rfc_9018(
    #[case] secret: &str,
    #[case] client: &str,
    #[case] now: u32,
    #[case] cookie: &str,
) {
    let (client_cookie, server_cookie) = split(cookie);
    let client = client.parse().unwrap();
    assert_eq!(keys(secret).make(client_cookie, client, now).to_vec(), server_cookie);
    assert!(keys(secret).check(client_cookie, &server_cookie, client, now));
}

#[test]
fn reserved_octets_of_another_server_are_part_of_what_is_checked() {
    let (client_cookie, mut server_cookie) = split("fc93fc62807ddb8601abcdef5cf78f71a314227b6679ebf5");
    let (client, now) = ("203.0.113.203".parse().unwrap(), 1_559_727_985 + 60);
    assert!(keys(SECRET).check(client_cookie, &server_cookie, client, now));
    server_cookie[1] ^= 1;
    assert!(!keys(SECRET).check(client_cookie, &server_cookie, client, now));
}

#[test]
fn a_cookie_of_an_accepted_secret_is_good_and_is_replaced_by_one_of_the_active() {
    let (client_cookie, old) = split("22681ab97d52c298010000005cf7c57926556bd0934c72f8");
    let (client, now) = ("2001:db8:220:1:59de:d0f4:8769:82b8".parse().unwrap(), 1_559_741_961);
    let rolled = keys(&format!("{NEW_SECRET}\n{OLD_SECRET}\n"));
    assert!(rolled.check(client_cookie, &old, client, now));
    assert!(!keys(NEW_SECRET).check(client_cookie, &old, client, now));
    let (_, new) = split("22681ab97d52c298010000005cf7c609a6bb79d16625507a");
    assert_eq!(rolled.renew(client_cookie, &old, client, now).to_vec(), new);
}

#[rstest]
#[case(-300, true)]
#[case(-301, false)]
#[case(0, true)]
#[case(3600, true)]
#[case(3601, false)]
fn a_cookie_holds_for_an_hour_and_clocks_may_differ_by_five_minutes(#[case] age: i64, #[case] good: bool) {
    let (keys, client) = (keys(SECRET), "192.0.2.1".parse().unwrap());
    for made in [1_800_000_000_u32, 100, u32::MAX - 100] {
        let cookie = keys.make([7; 8], client, made);
        let now = (i64::from(made) + age) as u32;
        assert_eq!(keys.check([7; 8], &cookie, client, now), good, "made at {made}, {age} s ago");
    }
}

#[rstest]
#[case(0, true)]
#[case(1799, true)]
#[case(1800, false)]
#[case(-1, false)]
fn a_cookie_is_kept_for_half_an_hour_and_then_renewed(#[case] age: i64, #[case] kept: bool) {
    let (keys, client, made) = (keys(SECRET), "192.0.2.1".parse().unwrap(), 1_800_000_000);
    let cookie = keys.make([7; 8], client, made);
    let now = (i64::from(made) + age) as u32;
    let renewed = keys.renew([7; 8], &cookie, client, now);
    assert_eq!(renewed == cookie, kept);
    assert!(keys.check([7; 8], &renewed, client, now));
}

#[test]
fn a_cookie_of_anybody_else_is_no_good() {
    let (keys, client, now) = (keys(SECRET), "192.0.2.1".parse().unwrap(), 1_800_000_000);
    let cookie = keys.make([7; 8], client, now);
    assert!(keys.check([7; 8], &cookie, client, now));
    assert!(!keys.check([8; 8], &cookie, client, now), "another client cookie");
    assert!(!keys.check([7; 8], &cookie, "192.0.2.2".parse().unwrap(), now), "another address");
    assert!(!keys.check([7; 8], &cookie[..15], client, now), "too short");
    assert!(!keys.check([7; 8], &[&cookie[..], &[0]].concat(), client, now), "too long");
    assert!(!keys.check([7; 8], &[], client, now));
    let mut other_version = cookie;
    other_version[0] = 2;
    assert!(!keys.check([7; 8], &other_version, client, now));
}

#[rstest]
#[case("", CookieKeysError::Empty)]
#[case("# none\n\n", CookieKeysError::Empty)]
#[case("e5e973e5a6b2a43f48e7dc849e37bfc\n", CookieKeysError::Line(1))]
#[case("e5e973e5a6b2a43f48e7dc849e37bfcf\n\n+5e973e5a6b2a43f48e7dc849e37bfcf", CookieKeysError::Line(3))]
fn a_file_that_holds_something_else_is_refused(#[case] text: &str, #[case] error: CookieKeysError) {
    assert_eq!(CookieKeys::parse(text), Err(error));
    assert!(!error.to_string().contains("e5e9"));
}

#[test]
fn keys_are_not_shown() {
    assert_eq!(format!("{:?}", keys(&format!("{SECRET}\n{NEW_SECRET}"))), "CookieKeys(2)");
}
