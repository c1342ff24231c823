//! Shares of answers over the wire: who gets what of `fingerpost up` where clients are drawn by weight.

use std::fmt::Write;
use std::ops::RangeInclusive;

use anyhow::{Context, Result};
use e2e::{Folder, Options, Reply, Up, ask, ask_many, question, wait_for};

const QUERIES: usize = 100_000;
const WEIGHTS: [&[u32]; 3] = [&[80, 20], &[1, 1, 1], &[120, 0]];
const A: u16 = 1;

/// What a share of so many comes to, give or take five standard errors.
///
/// Chance is real here. A fair draw strays by three of them once in 370 shares, which would fail a run of
/// this suite every other week; by five once in 1.7 million, and an unfair one by one part in a hundred
/// still strays by more.
pub(crate) fn within(share: f64, all: usize) -> RangeInclusive<f64> {
    let (mean, error) = (share * all as f64, (share * (1.0 - share) * all as f64).sqrt());
    mean - 5.0 * error..=mean + 5.0 * error
}

/// The share of one of some weights.
pub(crate) fn share(weights: &[u32], at: usize) -> f64 {
    f64::from(weights[at]) / f64::from(weights.iter().sum::<u32>())
}

/// Each choice, by what it is answered with, has the share of its weight.
pub(crate) fn assert_shares(replies: &[Reply], weights: &[u32], answer: impl Fn(usize) -> Vec<String>) {
    let mut counted = 0;
    for at in 0..weights.len() {
        let records = answer(at);
        let count = replies.iter().filter(|reply| reply.records == records).count();
        let wanted = within(share(weights, at), replies.len());
        assert!(wanted.contains(&(count as f64)), "{weights:?}: {records:?} came {count} times");
        counted += count;
    }
    assert_eq!(counted, replies.len(), "{weights:?}: nothing else is answered");
}

/// As many questions as there are numbers, each from a network of its own, from 16.0.0.0 on.
pub(crate) fn from_networks(name: &str, count: usize) -> Vec<Vec<u8>> {
    let network = |at: usize| [16 + (at >> 16) as u8, (at >> 8) as u8, at as u8];
    (0..count).map(|at| question(name, A, Some(network(at)))).collect()
}

fn address(at: usize) -> Vec<String> {
    vec![format!("A 192.0.2.{at}")]
}

/// Where a marker is answered from: what stands in one file is planned at once.
fn zone(marker: u8) -> String {
    format!(
        "
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {{name: drawn, namespace: shop}}
spec: {{domainName: drawn.test}}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {{name: marker, namespace: shop}}
spec: {{domainName: marker.drawn.test., type: A, rdata: 198.51.100.{marker}}}
"
    )
}

/// A Gateway whose clusters are drawn by these weights, as `gN.drawn.test`.
fn gateway(number: usize, weights: &[u32]) -> Result<String> {
    let mut text = format!(
        "
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {{name: g{number}, namespace: shop}}
spec: {{gatewayClassName: multi, listeners: [{{name: a, hostname: g{number}.drawn.test, port: 80, protocol: HTTP}}]}}
status:
  addresses: [{}]
---
apiVersion: kuadrant.io/v1alpha1
kind: DNSPolicy
metadata: {{name: g{number}, namespace: shop}}
spec:
  targetRef: {{name: g{number}}}
  loadBalancing: {{weighted: {{default: 1, custom: [{}]}}}}
",
        list(weights, |at, _| format!(
            "{{type: kuadrant.io/MultiClusterIPAddress, value: g{number}c{at}/192.0.2.{at}}}"
        )),
        list(weights, |at, weight| format!("{{value: c{at}, weight: {weight}}}")),
    );
    for at in 0..weights.len() {
        write!(
            text,
            "
---
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {{name: g{number}c{at}, labels: {{kuadrant.io/lb-attribute-custom-weight: c{at}}}}}
spec: {{hubAcceptsClient: true}}
"
        )?;
    }
    Ok(text)
}

/// A Placement whose regions are drawn by these weights, as `pN.drawn.test`.
fn placement(number: usize, weights: &[u32]) -> String {
    let region =
        |at: usize, weight: u32| format!("{{name: r{at}, addresses: [192.0.2.{at}], weight: {weight}}}");
    format!(
        "
---
apiVersion: fingerpost.dev/v1alpha1
kind: Placement
metadata: {{name: p{number}, namespace: shop}}
spec: {{hostname: p{number}.drawn.test, mode: weighted-canary, regions: [{}]}}
",
        list(weights, region)
    )
}

fn list(weights: &[u32], one: impl Fn(usize, u32) -> String) -> String {
    let all: Vec<String> = weights.iter().enumerate().map(|(at, weight)| one(at, *weight)).collect();
    all.join(", ")
}

/// Waits until the file with this marker is what is answered from.
fn expect(up: &Up, marker: u8) -> Result<()> {
    let wanted = [format!("A 198.51.100.{marker}")];
    let seen = wait_for("the change to be answered", || {
        Ok((ask(up.dns(0), "marker.drawn.test.")?.records == wanted).then_some(()))
    });
    seen.with_context(|| up.output())
}

#[test]
fn each_query_draws_a_cluster_by_the_weights_of_its_policy() -> Result<()> {
    let folder = Folder::new()?;
    let put = |marker, weights: [&[u32]; 3]| -> Result<()> {
        let gateways = weights.iter().enumerate().map(|(number, weights)| gateway(number, weights));
        folder.write("all.yaml", &(zone(marker) + &gateways.collect::<Result<String>>()?))
    };
    put(1, WEIGHTS)?;
    let up = Up::start(Options::folder(folder.path()))?;
    expect(&up, 1)?;
    let drawn = |number: usize| {
        ask_many(up.dns(0), &vec![question(&format!("g{number}.drawn.test"), A, None); QUERIES])
    };
    for (number, weights) in WEIGHTS.iter().enumerate() {
        assert_shares(&drawn(number)?, weights, address);
    }
    put(2, [&[80, 40], WEIGHTS[1], WEIGHTS[2]])?;
    expect(&up, 2)?;
    assert_shares(&drawn(0)?, &[80, 40], address);
    Ok(())
}

#[test]
fn each_network_draws_a_region_once_and_a_changed_weight_moves_no_more_than_must_move() -> Result<()> {
    let folder = Folder::new()?;
    let put = |marker, weights: [&[u32]; 3]| {
        let placements = weights.iter().enumerate().map(|(number, weights)| placement(number, weights));
        folder.write("all.yaml", &(zone(marker) + &placements.collect::<String>()))
    };
    put(1, WEIGHTS)?;
    let up = Up::start(Options::folder(folder.path()))?;
    expect(&up, 1)?;
    let drawn =
        |number: usize| ask_many(up.dns(0), &from_networks(&format!("p{number}.drawn.test"), QUERIES));
    let before: Vec<Vec<Reply>> = (0..3).map(drawn).collect::<Result<_>>()?;
    for (replies, weights) in before.iter().zip(WEIGHTS) {
        assert_shares(replies, weights, address);
    }
    let new: [&[u32]; 3] = [&[80, 40], &[1, 1, 0], &[120, 0]];
    put(2, new)?;
    expect(&up, 2)?;
    // What grows takes, what is drained gives, and nobody else moves; nobody at all where nothing changed.
    let changed = [Some((1, true)), Some((2, false)), None];
    for (number, changed) in changed.into_iter().enumerate() {
        let after = drawn(number)?;
        assert_shares(&after, new[number], address);
        let moves: Vec<_> = before[number].iter().zip(&after).filter(|(old, new)| old != new).collect();
        let Some((at, has_grown)) = changed else {
            assert_eq!(moves, []);
            continue;
        };
        let is_right =
            |(old, new): &(&Reply, &Reply)| (if has_grown { new } else { old }).records == address(at);
        assert!(moves.iter().all(is_right), "p{number}: others moved");
        let wanted = (share(new[number], at) - share(WEIGHTS[number], at)).abs();
        assert!(within(wanted, QUERIES).contains(&(moves.len() as f64)), "p{number}: {} moved", moves.len());
    }
    Ok(())
}
