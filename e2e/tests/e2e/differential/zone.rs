//! Zones out of chance: wildcards, empty non-terminals, cuts with and without glue, aliases and loops, odd
//! labels, many types.
//!
//! What servers refuse to load is not made: data beside an alias or below a DNAME, two aliases at a name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::chance::Chance;

/// Labels as a zone file has them.
const LABELS: [&str; 14] = [
    "a",
    "b",
    "c",
    "www",
    "*",
    "_x",
    "0",
    "a-b",
    "xn--p1ai",
    "\\000\\255",
    "dot\\.dot",
    "semi\\;colon",
    "an-octet-more-would-be-too-many-for-one-label-as-it-has-63-of-t",
    "mail",
];
/// The longest names that are made, so that one can stand below them.
const LONGEST: usize = 150;
/// How many names are made.
const NAMES: usize = 70;

/// Names with this many texts of a hundred octets: too long for a client without EDNS, and for any datagram.
pub(super) const LONG: [(&str, usize); 2] = [("long", 6), ("longer", 14)];

/// A zone, and the names that it has something at.
pub(super) struct Zone {
    pub(super) origin: String,
    /// Relative to the origin, the longest labels first; the apex is not among them.
    pub(super) names: Vec<Vec<&'static str>>,
    pub(super) text: String,
}

/// What stands at a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Data,
    Alias,
    Redirection,
    Cut,
}

type Path = Vec<&'static str>;

/// The zone of a seed.
pub(super) fn generate(origin: &str, seed: u64) -> Zone {
    let mut chance = Chance::new(seed);
    let kinds = kinds(&mut chance);
    let names: Vec<Path> = kinds.keys().map(|key| key.iter().rev().copied().collect()).collect();
    let mut text = format!(
        "$ORIGIN {origin}.\n$TTL 300\n@ 600 SOA ns noc 1 86400 7200 3600000 360\n@ NS ns\n@ NS ns.elsewhere.test.\n\
         ns A 192.0.2.53\n@ MX 10 mail\n@ TXT \"the apex\"\n"
    );
    for (label, texts) in LONG {
        (0..texts).for_each(|at| line(&mut text, label, "TXT", &format!("\"{at:0100}\"")));
    }
    for (key, kind) in &kinds {
        write_name(&mut text, &written(key), *kind, &names, &mut chance);
    }
    Zone { origin: origin.to_owned(), names, text }
}

/// Names by their labels from the apex down, so that what lies below a name follows it.
fn kinds(chance: &mut Chance) -> BTreeMap<Path, Kind> {
    let candidates: BTreeSet<Path> = (0..NAMES).map(|_| path(chance)).collect();
    let mut kinds = BTreeMap::<Path, Kind>::new();
    for candidate in candidates {
        let above = (1..candidate.len()).filter_map(|length| kinds.get(&candidate[..length])).copied();
        let above: Vec<Kind> = above.collect();
        let has_wildcard = candidate.contains(&"*");
        let is_long = written(&candidate).len() > LONGEST;
        if is_long || above.contains(&Kind::Redirection) || above.contains(&Kind::Cut) {
            continue;
        }
        let kind = match chance.below(10) {
            0 | 1 => Kind::Alias,
            2 if !has_wildcard => Kind::Redirection,
            3 | 4 if !has_wildcard => Kind::Cut,
            _ => Kind::Data,
        };
        kinds.insert(candidate, kind);
    }
    kinds
}

fn path(chance: &mut Chance) -> Path {
    let length = 1 + chance.below(4);
    let is_first = |at: usize| at + 1 == length;
    // A wildcard is one only as the first label; elsewhere it is rare.
    (0..length)
        .map(|at| {
            loop {
                let label = *chance.one(&LABELS);
                if label != "*" || is_first(at) || chance.percent(5) {
                    return label;
                }
            }
        })
        .collect()
}

/// The name as a zone file has it.
fn written(key: &[&str]) -> String {
    key.iter().rev().copied().collect::<Vec<_>>().join(".")
}

fn write_name(text: &mut String, name: &str, kind: Kind, names: &[Path], chance: &mut Chance) {
    let target = target(names, chance);
    match kind {
        Kind::Alias => line(text, name, "CNAME", &target),
        Kind::Redirection => {
            line(text, name, "DNAME", &target);
            if chance.percent(50) {
                line(text, name, "A", "192.0.2.9");
            }
        }
        Kind::Cut => write_cut(text, name, &target, chance),
        Kind::Data => write_data(text, name, &target, chance),
    }
}

/// A delegation, to servers inside with and without addresses, and outside.
fn write_cut(text: &mut String, name: &str, target: &str, chance: &mut Chance) {
    for server in 0..1 + chance.below(3) {
        match chance.below(4) {
            0 => line(text, name, "NS", target),
            1 => line(text, name, "NS", "ns"),
            at => {
                line(text, name, "NS", &format!("ns{server}.{name}"));
                if at == 2 {
                    line(text, &format!("ns{server}.{name}"), "A", &format!("192.0.2.{}", 60 + server));
                    line(text, &format!("ns{server}.{name}"), "AAAA", &format!("2001:db8::{server}"));
                }
            }
        }
    }
    if chance.percent(30) {
        line(text, name, "DS", "1 13 2 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f");
    }
}

fn write_data(text: &mut String, name: &str, target: &str, chance: &mut Chance) {
    let data = [
        ("A", "192.0.2.1".to_owned()),
        ("A", "192.0.2.2".to_owned()),
        ("AAAA", "2001:db8::1".to_owned()),
        ("TXT", "\"a text\" \"and another\"".to_owned()),
        ("MX", format!("10 {target}")),
        ("SRV", format!("1 2 443 {target}")),
        ("PTR", target.to_owned()),
        ("CAA", "0 issue \"ca.test\"".to_owned()),
        ("TLSA", "3 1 1 00ff".to_owned()),
        ("SSHFP", "1 1 00112233445566778899aabbccddeeff00112233".to_owned()),
        ("HINFO", "\"one\" \"two\"".to_owned()),
        ("NAPTR", "1 2 \"s\" \"x\" \"\" .".to_owned()),
        ("TYPE65000", "\\# 3 010203".to_owned()),
    ];
    for _ in 0..1 + chance.below(3) {
        let (rtype, data) = chance.one(&data);
        line(text, name, rtype, data);
    }
}

/// Where an alias leads: to a name that is there, to one below it, to nothing, or away.
fn target(names: &[Path], chance: &mut Chance) -> String {
    let name = chance.one(names).join(".");
    match chance.below(8) {
        0 => format!("below.{name}"),
        1 => "nothing-here".to_owned(),
        2 => "away.elsewhere.test.".to_owned(),
        _ => name,
    }
}

fn line(text: &mut String, name: &str, rtype: &str, data: &str) {
    let line = format!("{name} {rtype} {data}\n");
    if !text.contains(&line) {
        let _ = write!(text, "{line}");
    }
}
