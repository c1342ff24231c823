//! Shares: how many of 100,000 queries each choice of a draw by weight is the answer to, out of whole
//! responses, and who moves when one weight changes.
//!
//! Chance comes from a fixed seed and the clients are always the same, so that what holds once holds in
//! every run: three standard errors are left by one fair draw in 370.

use std::ops::RangeInclusive;

use dns::{Member, Name, Rdata, RecordSet, Rtype, Steering};
use rstest::rstest;
use server::{Circumstances, Sight, ZoneUpdate, Zones, respond, respond_fast};

use crate::client::Ask;
use crate::world;

const QUERIES: u64 = 100_000;
const NAME: &str = "www.e.";

/// How clients come: without a network each query is a draw, with one each network is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Clients {
    Fresh,
    /// Networks of 24 bits, from 16.0.0.0 on.
    V4,
    /// Networks of 56 bits, from 2001:db8:: on.
    V6,
}

impl Clients {
    /// The query that the client with a number sends, without that number.
    fn question(self) -> Vec<u8> {
        let ask = Ask::new(NAME, "A");
        match self {
            Clients::Fresh => ask,
            Clients::V4 => ask.with("option=8:00011800100000"),
            Clients::V6 => ask.with("option=8:0002380020010db8000000"),
        }
        .octets()
    }

    /// Puts the client's number into its network, which is what the query ends with.
    fn number(self, query: &mut [u8], number: u64) {
        let (at, [.., high, middle, low]) = (query.len() - 3, number.to_be_bytes());
        match self {
            Clients::Fresh => {}
            Clients::V4 => query[at..].copy_from_slice(&[16 + high, middle, low]),
            Clients::V6 => query[at..].copy_from_slice(&[high, middle, low]),
        }
    }
}

fn draw(sticky: bool, weights: &[u32]) -> Steering {
    let part = |data| Steering::All(vec![Member { data, probe: None }]);
    let named = |data: u16| Steering::Named(format!("r{data}").into(), Box::new(part(data)));
    let choices = (0..).zip(weights).map(|(data, weight)| (*weight, named(data))).collect();
    Steering::Weighted { sticky, choices }
}

/// A zone whose one name is drawn; position N of its data is 192.0.2.N.
fn zones(steering: Steering) -> Zones {
    let mut zones = world::zones("e.", "@ 60 SOA ns admin 1 2 3 4 5");
    put(&mut zones, steering);
    zones
}

fn put(zones: &mut Zones, steering: Steering) {
    let name: Name = NAME.parse().unwrap();
    let data = (0..3).map(|last| Rdata::a([192, 0, 2, last].into())).collect();
    let sets = vec![RecordSet::steered(name.clone(), Rtype::A, 30, data, steering)];
    zones.apply(ZoneUpdate::PutNode { origin: "e.".parse().unwrap(), name, sets });
    zones.compile(usize::MAX);
}

/// The numbers of SplitMix64 from a seed: what the listener draws, which begins elsewhere each time.
fn chance(at: u64) -> u64 {
    let number = (at + 0x5eed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let number = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let number = (number ^ number >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ number >> 31
}

/// Which position is the answer to a query, as UDP is answered: fast where that can be.
fn answered(zones: &Zones, query: &[u8], draw: u64, out: &mut Vec<u8>) -> usize {
    respond_fast(query, around(zones, draw), out).expect("a fast answer");
    position(query, out)
}

/// The same the slow way, which must agree.
fn answered_slowly(zones: &Zones, query: &[u8], draw: u64, out: &mut Vec<u8>) -> usize {
    respond(query, around(zones, draw), out).unwrap();
    position(query, out)
}

fn around(zones: &Zones, draw: u64) -> Circumstances<'_> {
    Circumstances { draw, ..Circumstances::plain(Sight { zones: Some(zones), synced: true }) }
}

/// The last octet of the one address in a response.
fn position(query: &[u8], response: &[u8]) -> usize {
    let question = 12..12 + Ask::new(NAME, "A").question().len();
    assert_eq!(response[question.clone()], query[question.clone()]);
    // No error, one answer: a pointer to the name, A, IN, 30 s, four octets.
    assert_eq!((response[3] & 15, &response[6..8]), (0, &[0, 1][..]));
    let record = &response[question.end..question.end + 16];
    assert_eq!(record[..15], [0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 30, 0, 4, 192, 0, 2]);
    record[15].into()
}

/// Which position each client is answered with. The slow way, which takes ten times as long, is asked now
/// and then.
fn answers(zones: &Zones, clients: Clients) -> Vec<usize> {
    let (mut query, mut out) = (clients.question(), Vec::new());
    let ask = |number| {
        clients.number(&mut query, number);
        let answer = answered(zones, &query, chance(number), &mut out);
        if number % 100 == 0 {
            assert_eq!(answered_slowly(zones, &query, chance(number), &mut out), answer);
        }
        answer
    };
    (0..QUERIES).map(ask).collect()
}

/// What a share of all comes to, give or take three standard errors.
fn within(share: f64) -> RangeInclusive<f64> {
    let all = QUERIES as f64;
    let error = (share * (1.0 - share) * all).sqrt();
    share * all - 3.0 * error..=share * all + 3.0 * error
}

fn share(weights: &[u32], at: usize) -> f64 {
    f64::from(weights[at]) / f64::from(weights.iter().sum::<u32>())
}

fn assert_shares(answers: &[usize], weights: &[u32]) {
    for at in 0..weights.len() {
        let count = answers.iter().filter(|answer| **answer == at).count();
        let wanted = within(share(weights, at));
        assert!(wanted.contains(&(count as f64)), "{at} of {weights:?} is {count}, not in {wanted:?}");
    }
}

#[rstest]
fn queries_draw_by_the_weights(#[values(&[80, 20], &[1, 1, 1], &[120, 0])] weights: &[u32]) {
    assert_shares(&answers(&zones(draw(false, weights)), Clients::Fresh), weights);
}

#[test]
fn queries_draw_by_a_changed_weight_at_once() {
    let mut zones = zones(draw(false, &[80, 20]));
    put(&mut zones, draw(false, &[20, 80]));
    assert_shares(&answers(&zones, Clients::Fresh), &[20, 80]);
}

/// The weights before, the one that changes, and what it changes to.
#[rstest]
#[case(&[80, 20], 1, 40, Clients::V4)]
#[case(&[1, 1, 1], 2, 0, Clients::V4)]
#[case(&[120, 0], 1, 120, Clients::V4)]
#[case(&[80, 20], 0, 20, Clients::V6)]
fn networks_draw_by_the_weights_and_a_changed_one_moves_only_its_own_share(
    #[case] weights: &[u32],
    #[case] changed: usize,
    #[case] weight: u32,
    #[case] clients: Clients,
) {
    let mut zones = zones(draw(true, weights));
    let before = answers(&zones, clients);
    assert_shares(&before, weights);
    assert_sticky(&zones, clients, &before);
    let mut new = weights.to_vec();
    new[changed] = weight;
    put(&mut zones, draw(true, &new));
    let after = answers(&zones, clients);
    assert_shares(&after, &new);
    let moves: Vec<_> = before.iter().zip(&after).filter(|(before, after)| before != after).collect();
    let is_more = weight > weights[changed];
    let is_right = |(before, after): &(&usize, &usize)| changed == **if is_more { after } else { before };
    assert!(moves.iter().all(is_right), "to it where it has grown, else from it");
    let wanted = within((share(&new, changed) - share(weights, changed)).abs());
    assert!(wanted.contains(&(moves.len() as f64)), "{} moved, not {wanted:?}", moves.len());
}

/// A network is answered the same whatever chance says.
fn assert_sticky(zones: &Zones, clients: Clients, before: &[usize]) {
    let (mut query, mut out) = (clients.question(), Vec::new());
    for (number, before) in (0..).zip(before).step_by(100) {
        clients.number(&mut query, number);
        assert_eq!(answered(zones, &query, !chance(number), &mut out), *before);
    }
}
