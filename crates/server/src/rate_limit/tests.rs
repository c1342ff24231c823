#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use std::net::Ipv4Addr;

use super::*;
use rstest::rstest;

const START: u64 = 1_800_000_000_000;

fn limiter(per_second: u32, slip: u8) -> RateLimiter {
    RateLimiter::new(RateLimit { per_second, slip, octets_per_second: 0, ..RateLimit::default() }, 42)
}

fn sent(limiter: &mut RateLimiter, client: &str, tries: usize, now: u64) -> usize {
    let client = client.parse().unwrap();
    let judge = |_: &usize| limiter.judge(client, ResponseKind::Answer, 7, now) == Verdict::Send;
    (0..tries).filter(judge).count()
}

#[rstest]
#[case(1)]
#[case(3)]
#[case(10)]
#[case(1000)]
#[case(77_777)]
fn a_second_allows_the_limit_at_once_or_evenly_and_no_more(#[case] limit: u32) {
    let mut limiter = limiter(limit, 0);
    let wanted = limit as usize;
    // The cost of one is a whole number of ticks.
    let exact = |sent: usize| (wanted..=wanted + wanted / 1000).contains(&sent);
    assert!(exact(sent(&mut limiter, "192.0.2.1", 2 * wanted, START)));
    assert_eq!(sent(&mut limiter, "192.0.2.1", 100, START), 0);
    let later: usize = (1..=10).map(|at| sent(&mut limiter, "192.0.2.1", wanted + 9, START + 100 * at)).sum();
    assert!(exact(later), "one second later as many again");
    assert!(exact(sent(&mut limiter, "192.0.2.1", 2 * wanted, START + 3_600_000)));
}

#[test]
fn a_bucket_is_of_a_network_a_kind_and_a_subject() {
    let mut limiter = limiter(5, 0);
    assert_eq!(sent(&mut limiter, "192.0.2.1", 10, START), 5);
    assert_eq!(sent(&mut limiter, "192.0.2.250", 10, START), 0, "the same /24");
    assert_eq!(sent(&mut limiter, "::ffff:192.0.2.9", 10, START), 0, "mapped");
    assert_eq!(sent(&mut limiter, "192.0.3.1", 10, START), 5, "the next /24");
    assert_eq!(sent(&mut limiter, "2001:db8::1", 10, START), 5);
    assert_eq!(sent(&mut limiter, "2001:db8:0:ff::1", 10, START), 0, "the same /56");
    assert_eq!(sent(&mut limiter, "2001:db8:0:100::1", 10, START), 5, "the next /56");
    let client = "192.0.2.1".parse().unwrap();
    assert_eq!(limiter.judge(client, ResponseKind::Answer, 7, START), Verdict::Drop);
    assert_eq!(limiter.judge(client, ResponseKind::Answer, 8, START), Verdict::Send);
    assert_eq!(limiter.judge(client, ResponseKind::NxDomain, 7, START), Verdict::Send);
}

#[rstest]
#[case(0, [Verdict::Drop; 6])]
#[case(1, [Verdict::Slip; 6])]
#[case(2, [Verdict::Drop, Verdict::Slip, Verdict::Drop, Verdict::Slip, Verdict::Drop, Verdict::Slip])]
#[case(3, [Verdict::Drop, Verdict::Drop, Verdict::Slip, Verdict::Drop, Verdict::Drop, Verdict::Slip])]
fn every_nth_that_is_held_back_slips(#[case] slip: u8, #[case] wanted: [Verdict; 6]) {
    let mut limiter = limiter(1, slip);
    let client = "192.0.2.1".parse().unwrap();
    let mut judge = || limiter.judge(client, ResponseKind::Answer, 7, START);
    assert_eq!(judge(), Verdict::Send);
    assert_eq!([(); 6].map(|()| judge()), wanted);
}

#[test]
fn loopback_is_exempt_unless_told_otherwise() {
    assert_eq!(sent(&mut limiter(1, 0), "127.0.0.9", 10, START), 10);
    assert_eq!(sent(&mut limiter(1, 0), "::1", 10, START), 10);
    let strict = RateLimit { per_second: 1, exempt_loopback: false, ..RateLimit::default() };
    assert_eq!(sent(&mut RateLimiter::new(strict, 1), "127.0.0.9", 10, START), 1);
}

#[test]
fn no_limit_needs_no_table() {
    let mut limiter = limiter(0, 0);
    assert_eq!(sent(&mut limiter, "192.0.2.1", 10_000, START), 10_000);
    assert!(limiter.answers.lines.is_empty() && limiter.octets.lines.is_empty());
}

#[test]
fn a_limit_out_of_reach_is_never_reached() {
    assert_eq!(sent(&mut limiter(u32::MAX, 0), "192.0.2.1", 1_000_000, START), 1_000_000);
}

/// A flood in the name of 20,000 networks, each over its limit, while 1,000 others ask a little.
#[test]
fn a_flood_of_many_sources_is_held_back_and_costs_others_little() {
    let mut limiter = limiter(10, 0);
    let mut judge = |network: u32, now| {
        let client = Ipv4Addr::from(network << 8).into();
        limiter.judge(client, ResponseKind::Answer, 7, now) == Verdict::Send
    };
    let (mut reflected, mut served) = (0, 0);
    for second in 0..5 {
        let now = START + 1000 * second;
        for _ in 0..30 {
            reflected += (0..20_000).filter(|network| judge(*network, now)).count();
        }
        served += (100_000..101_000).filter(|network| judge(*network, now)).count();
    }
    let allowed = 20_000 * 10 * 5;
    assert!(reflected <= allowed + allowed / 20, "{reflected} of {allowed}");
    assert!(served > 4_900, "{served} of 5000");
}

#[test]
fn more_of_the_table_is_used_only_where_it_must_and_nobody_is_forgotten() {
    let mut limiter = limiter(10, 0);
    for second in 0..100 {
        let networks = (0..1000u32).map(|at| Ipv4Addr::from((second * 1000 + at) << 8).to_string());
        let now = START + 1000 * u64::from(second);
        assert!(networks.into_iter().all(|network| sent(&mut limiter, &network, 1, now) == 1));
    }
    assert!(
        limiter.answers.used <= 4 * FIRST_LINES,
        "a hundred thousand networks, a thousand at a time: {}",
        limiter.answers.used
    );
    assert_eq!(sent(&mut limiter, "203.0.113.1", 20, START), 10);
    (0..20_000u32).for_each(|at| {
        sent(&mut limiter, &Ipv4Addr::from(at << 8).to_string(), 3, START);
    });
    assert!(limiter.answers.used > 4 * FIRST_LINES, "{}", limiter.answers.used);
    assert_eq!(sent(&mut limiter, "203.0.113.1", 20, START), 0);
}

#[test]
fn the_table_is_half_a_megabyte() {
    assert_eq!(std::mem::size_of::<Line>() * LINES, 512 << 10);
}

#[test]
fn threads_share_a_limit() {
    let limit = RateLimit { per_second: 1000, octets_per_second: 10_000, ..RateLimit::default() };
    assert_eq!((limit.shared_by(3).per_second, limit.shared_by(3).octets_per_second), (334, 3334));
    assert_eq!(limit.shared_by(0).per_second, 1000);
    assert_eq!(RateLimit::OFF.shared_by(4).per_second, 0);
}

#[test]
fn a_subject_is_a_name_in_any_case() {
    assert_eq!(subject(b"\x03wWw\x07eXample\0"), subject(b"\x03www\x07example\0"));
    assert_ne!(subject(b"\x03www\x07example\0"), subject(b"\x03ww2\x07example\0"));
}

/// A limiter that limits octets, and answers only to what is out of reach.
fn octets_limiter(octets_per_second: u32, slip: u8) -> RateLimiter {
    RateLimiter::new(RateLimit { per_second: u32::MAX, slip, octets_per_second, ..RateLimit::default() }, 42)
}

/// How many octets are sent of so many responses of this length, each on a subject of its own.
fn octets_sent(limiter: &mut RateLimiter, client: &str, tries: u64, length: usize, now: u64) -> usize {
    let client = client.parse().unwrap();
    let mut send = |subject: u64| {
        let sent = limiter.judge(client, ResponseKind::Answer, subject, now) == Verdict::Send;
        if sent {
            limiter.charge(client, length, now);
        }
        if sent { length } else { 0 }
    };
    (0..tries).map(&mut send).sum()
}

#[rstest]
#[case(10_000, 100)]
#[case(100_000, 1232)]
#[case(1_000_000, 1100)]
#[case(50_000_000, 500)]
#[case(200_000_000, 1232)]
fn a_network_is_sent_no_more_octets_than_its_limit_however_many_names_it_asks_for(
    #[case] limit: u32,
    #[case] length: usize,
) {
    let mut limiter = octets_limiter(limit, 0);
    let (wanted, tries) = (limit as usize, 2 * (u64::from(limit) / length as u64) + 10);
    // What does not fit any more may be as long as the longest response; the cost of an octet is rounded down.
    let exact = |sent: usize| (wanted - wanted / 5..=wanted + wanted / 500).contains(&sent);
    let first = octets_sent(&mut limiter, "192.0.2.1", tries, length, START);
    assert!(exact(first), "{first} at once");
    assert_eq!(octets_sent(&mut limiter, "192.0.2.200", 100, length, START), 0, "the same /24");
    assert!(limiter.octets_limited() > 100);
    let later: usize =
        (1..=10).map(|at| octets_sent(&mut limiter, "192.0.2.1", tries, length, START + 100 * at)).sum();
    assert!(exact(later), "{later} in one second after that");
    assert!(
        exact(octets_sent(&mut limiter, "192.0.3.1", tries, length, START)),
        "another network has its own"
    );
    assert!(exact(octets_sent(&mut limiter, "2001:db8::1", tries, length, START)));
}

#[test]
fn a_limit_below_one_response_lets_one_through_a_second() {
    let mut limiter = octets_limiter(100, 0);
    for second in 0..3 {
        assert_eq!(octets_sent(&mut limiter, "192.0.2.1", 50, 1232, START + 1000 * second), 1232);
    }
}

#[test]
fn what_is_held_back_for_its_octets_slips_like_any_other() {
    let mut limiter = octets_limiter(1000, 2);
    let client = "192.0.2.1".parse().unwrap();
    limiter.charge(client, 1000, START);
    let verdicts = [1, 2, 3, 4].map(|subject| limiter.judge(client, ResponseKind::Answer, subject, START));
    assert_eq!(verdicts, [Verdict::Drop, Verdict::Slip, Verdict::Drop, Verdict::Slip]);
    assert_eq!(limiter.octets_limited(), 4);
}

#[test]
fn without_a_limit_on_octets_there_is_no_table_for_it() {
    let mut limiter = octets_limiter(0, 0);
    assert_eq!(octets_sent(&mut limiter, "192.0.2.1", 10_000, 1232, START), 12_320_000);
    assert!(limiter.octets.lines.is_empty() && limiter.octets_limited() == 0);
}

/// A thousand networks at a time, and each of them as much as a busy resolver asks for in a second.
#[test]
fn networks_within_their_limit_are_never_held_back() {
    let mut limiter = octets_limiter(1_000_000, 0);
    for second in 0..10 {
        for network in 0..1000u32 {
            let client = Ipv4Addr::from(network << 8).to_string();
            let sent = octets_sent(&mut limiter, &client, 100, 300, START + 1000 * second);
            assert_eq!(sent, 100 * 300, "{client}");
        }
    }
    assert_eq!(limiter.octets_limited(), 0);
}

/// As a UDP thread judges what it has written: only a part is counted until the limit is near.
#[rstest]
#[case(100_000, 300)]
#[case(1_000_000, 100)]
#[case(1_000_000, 1232)]
#[case(20_000_000, 500)]
fn what_is_counted_by_chance_is_limited_as_well(#[case] limit: u32, #[case] length: usize) {
    let mut limiter = octets_limiter(limit, 0);
    let network = limiter.limited("192.0.2.1".parse().unwrap()).unwrap();
    let mut draw = 0;
    let mut send = |subject: u64, now: u64| {
        draw = mixed(draw + 1, 0x9e37_79b9_7f4a_7c15);
        limiter.judge_written(network, (ResponseKind::Answer, subject), length, draw, now) == Verdict::Send
    };
    let tries = 3 * (u64::from(limit) / length as u64);
    let mut sent = |now| length * (0..tries).filter(|subject| send(*subject, now)).count();
    let wanted = limit as usize;
    let first = sent(START);
    // By chance up to half of it, and exactly from there on.
    assert!((wanted * 7 / 10..wanted * 13 / 10).contains(&first), "{first} of {wanted}");
    let later: usize = (1..=10).map(|at| sent(START + 100 * at)).sum();
    assert!((wanted * 8 / 10..=wanted * 101 / 100).contains(&later), "{later} of {wanted}");
}
