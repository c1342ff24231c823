#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
use std::net::Ipv4Addr;

use super::*;
use rstest::rstest;

const START: u64 = 1_800_000_000_000;

fn limiter(per_second: u32, slip: u8) -> RateLimiter {
    RateLimiter::new(RateLimit { per_second, slip, ..RateLimit::default() }, 42)
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
    assert!(limiter.lines.is_empty());
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
        limiter.used <= 4 * FIRST_LINES,
        "a hundred thousand networks, a thousand at a time: {}",
        limiter.used
    );
    assert_eq!(sent(&mut limiter, "203.0.113.1", 20, START), 10);
    (0..20_000u32).for_each(|at| {
        sent(&mut limiter, &Ipv4Addr::from(at << 8).to_string(), 3, START);
    });
    assert!(limiter.used > 4 * FIRST_LINES, "{}", limiter.used);
    assert_eq!(sent(&mut limiter, "203.0.113.1", 20, START), 0);
}

#[test]
fn the_table_is_half_a_megabyte() {
    assert_eq!(std::mem::size_of::<Line>() * LINES, 512 << 10);
}

#[test]
fn threads_share_a_limit() {
    let limit = RateLimit { per_second: 1000, ..RateLimit::default() };
    assert_eq!(limit.shared_by(3).per_second, 334);
    assert_eq!(limit.shared_by(0).per_second, 1000);
    assert_eq!(RateLimit::OFF.shared_by(4).per_second, 0);
}

#[test]
fn a_subject_is_a_name_in_any_case() {
    assert_eq!(subject(b"\x03wWw\x07eXample\0"), subject(b"\x03www\x07example\0"));
    assert_ne!(subject(b"\x03www\x07example\0"), subject(b"\x03ww2\x07example\0"));
}
