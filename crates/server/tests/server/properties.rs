//! What holds for every query and every zone.

use dns::{Name, RecordSet, Rtype};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use server::dnssec::{Algorithm, Denial};
use server::{
    Circumstances, CookieKeys, Identity, Sight, Transport, ZoneUpdate, Zones, respond, respond_limited,
};

use crate::client::{Ask, ID, show};
use crate::{dnssec, world};

const SOA: &str = "@ 3600 SOA ns admin 1 7200 900 1209600 300";
const NXNAME: Rtype = Rtype(128);

/// Labels that meet each other often.
fn label() -> impl Strategy<Value = &'static str> {
    select(vec!["a", "b", "*", "sub", "WWW"])
}

pub(crate) fn name_below(origin: &'static str) -> impl Strategy<Value = String> {
    vec(label(), 0..5).prop_map(move |labels| [labels, vec![origin]].concat().join("."))
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![6 => name_below("e."), 1 => name_below("b.e."), 1 => name_below("f."), 1 => Just(".".to_owned())]
}

/// The lines of a random zone `e.`: mostly addresses, with aliases, cuts and DNAMEs among them.
pub(crate) fn zone() -> impl Strategy<Value = Vec<String>> {
    vec(record(), 0..14)
}

fn record() -> impl Strategy<Value = String> {
    let long = "x".repeat(240);
    let data = prop_oneof![
        5 => (0u8..40).prop_map(|octet| format!("A 192.0.2.{octet}")),
        2 => (0u8..40).prop_map(move |number| format!("TXT \"{number} {long}\"")),
        2 => name().prop_map(|target| format!("CNAME {target}")),
        2 => name().prop_map(|target| format!("NS {target}")),
        2 => name().prop_map(|target| format!("MX 10 {target}")),
        1 => name().prop_map(|target| format!("SRV 1 2 3 {target}")),
        1 => name().prop_map(|target| format!("HTTPS 1 {target}")),
        1 => name().prop_map(|target| format!("DNAME {target}")),
    ];
    (name_below("e."), data).prop_map(|(name, data)| format!("{name} 60 {data}"))
}

fn ask() -> impl Strategy<Value = Ask> {
    let rtype =
        select(vec!["A", "TXT", "NS", "MX", "SRV", "HTTPS", "CNAME", "DNAME", "SOA", "DS", "ANY", "AAAA"]);
    let size = prop_oneof![Just(None), (0u16..1500).prop_map(Some)];
    (name(), rtype, size, any::<bool>()).prop_map(|(name, rtype, size, tcp)| {
        let ask = Ask::new(&name, rtype);
        let ask = size.iter().fold(ask, |ask, size| ask.with(&format!("size={size}")));
        if tcp { ask.with("tcp") } else { ask }
    })
}

/// Options of every kind that we know and some that we do not, mostly of lengths that they may have.
fn options() -> impl Strategy<Value = Vec<(u16, Vec<u8>)>> {
    let code = select(vec![3, 8, 10, 10, 11, 12, 15, 65001]);
    let value = prop_oneof![
        2 => vec(any::<u8>(), 0..60),
        1 => vec(any::<u8>(), 8),
        1 => vec(any::<u8>(), 24),
        1 => Just(vec![0, 1, 24, 0, 192, 0, 2]),
        1 => Just(Vec::new()),
    ];
    vec((code, value), 0..5)
}

pub(crate) fn put(lines: &[String], put_zone: fn(&mut Zones, &Name, &[String])) -> Zones {
    let mut zones = Zones::new();
    let lines = [&[SOA.to_owned()], lines].concat();
    put_zone(&mut zones, &"e.".parse().unwrap(), &lines);
    zones
}

fn response(zones: &Zones, query: &[u8], transport: Transport, synced: bool) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let around = Circumstances { transport, ..Circumstances::plain(Sight { zones: Some(zones), synced }) };
    respond(query, around, &mut out).map(|_| out)
}

/// A response without its additional section, which may give way silently.
fn needed(lines: &[String]) -> Vec<&String> {
    lines.iter().filter(|line| !line.starts_with("additional ") && !line.starts_with("edns ")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn any_octets_get_a_response_that_fits_or_none(octets in vec(any::<u8>(), 0..600), tcp: bool) {
        let transport = if tcp { Transport::Tcp } else { Transport::Udp };
        if let Some(response) = response(&put(&[], world::put_nodes), &octets, transport, true) {
            prop_assert!(octets.len() >= 12 && octets[2] & 0x80 == 0);
            prop_assert!(tcp || response.len() <= 1232);
            prop_assert_eq!(&response[..2], &octets[..2]);
            prop_assert_eq!(response[2] & 0xf8, octets[2] & 0x78 | 0x80);
        } else {
            prop_assert!(octets.len() < 12 || octets[2] & 0x80 != 0);
        }
    }

    #[test]
    fn a_damaged_query_is_answered_or_refused_readably(
        lines in zone(),
        ask in ask(),
        damage in vec((any::<Index>(), any::<u8>()), 1..4),
        cut in any::<Index>(),
        shorten: bool,
    ) {
        let mut query = ask.octets();
        for (place, octet) in damage {
            let at = place.index(query.len());
            query[at] = octet;
        }
        if shorten {
            query.truncate(cut.index(query.len()));
        }
        if let Some(response) = response(&put(&lines, world::put_nodes), &query, ask.transport, true) {
            prop_assert!(ask.transport == Transport::Tcp || response.len() <= 1232);
            prop_assert_eq!(&response[..2], &query[..2]);
            if response[4..6] == [0, 1] {
                let end = 12 + question_length(&response[12..]);
                prop_assert_eq!(&response[12..end], &query[12..end]);
            }
        }
    }

    #[test]
    fn any_options_are_answered_readably_and_past_the_limit_nothing_is_amplified(
        lines in zone(),
        ask in ask(),
        options in options(),
        version in select(vec![0_u8, 0, 0, 1]),
        tls: bool,
    ) {
        let keys = CookieKeys::new([7; 16], vec![[8; 16]]);
        let identity = Identity { nsid: Some([b'n'; 64].into()), cookies: Some(keys) };
        let mut ask = ask.with(&format!("version={version}"));
        for (code, value) in options {
            let digits: String = value.iter().map(|octet| format!("{octet:02x}")).collect();
            ask = ask.with(&format!("option={code}:{digits}"));
        }
        if tls {
            ask.transport = Transport::Tls;
        }
        let zones = put(&lines, world::put_nodes);
        let sight = Sight { zones: Some(&zones), synced: true };
        let (transport, identity) = (ask.transport, &identity);
        let around = Circumstances { transport, identity, ..Circumstances::plain(sight) };
        let (query, mut out) = (ask.octets(), Vec::new());
        prop_assert!(respond(&query, around, &mut out).is_some());
        prop_assert!(out.len() <= ask.limit());
        show(&out);
        prop_assert!(respond_limited(&query, around, &mut out).is_some());
        prop_assert!(out.len() <= query.len(), "{} of {}", out.len(), query.len());
        show(&out);
    }

    #[test]
    fn past_the_limit_no_octets_are_amplified(octets in vec(any::<u8>(), 0..100)) {
        let (zones, mut out) = (put(&[], world::put_nodes), Vec::new());
        let around = Circumstances::plain(Sight { zones: Some(&zones), synced: true });
        respond_limited(&octets, around, &mut out);
        prop_assert!(out.len() <= octets.len());
    }

    #[test]
    fn a_response_fits_echoes_and_is_truncated_exactly_when_it_must_be(lines in zone(), ask in ask()) {
        let zones = put(&lines, world::put_nodes);
        let response = response(&zones, &ask.octets(), ask.transport, true).unwrap();
        prop_assert!(response.len() <= ask.limit());
        prop_assert_eq!(&response[..2], &ID.to_be_bytes());
        prop_assert!(response[12..].starts_with(&ask.question()));
        let whole = self::response(&zones, &ask.octets(), Transport::Tcp, true).unwrap();
        let (shown, all) = (show(&response), show(&whole));
        if response[2] & 2 != 0 {
            prop_assert!(whole.len() > ask.limit(), "TC without need");
        } else {
            prop_assert_eq!(needed(&shown), needed(&all));
        }
        if whole.len() <= ask.limit() {
            prop_assert_eq!(shown, all);
        }
    }

    #[test]
    fn a_text_is_truncated_from_the_first_octet_too_many(length in 440usize..650, size in 512u16..700) {
        let part = "x".repeat(200);
        let strings = format!("{part} {part} {}", "y".repeat(length - 403));
        let zones = put(&[format!("t 60 TXT {strings}")], world::put_nodes);
        let ask = Ask::new("t.e.", "TXT").with(&format!("size={size}"));
        let response = response(&zones, &ask.octets(), Transport::Udp, true).unwrap();
        // Header, question, owner pointer to data length, data, OPT.
        let full = 12 + 5 + 4 + 12 + length + 11;
        prop_assert_eq!(response[2] & 2 != 0, full > usize::from(size));
    }

    #[test]
    fn nodes_and_zone_file_answer_alike(lines in zone(), ask in ask(), of_base in vec(any::<bool>(), 14)) {
        let query = ask.octets();
        let as_nodes = put(&lines, world::put_nodes);
        let as_base = put(&lines, world::put_base);
        let mixed = mixed(&lines, &of_base);
        let wanted = response(&as_nodes, &query, ask.transport, true);
        prop_assert_eq!(&response(&as_base, &query, ask.transport, true), &wanted);
        prop_assert_eq!(&response(&mixed, &query, ask.transport, true), &wanted);
    }

    #[test]
    fn updates_lead_where_a_fresh_start_leads(before in zone(), after in zone(), ask in ask()) {
        let mut zones = put(&before, world::put_nodes);
        let old = zones.clone();
        let wanted_before = response(&old, &ask.octets(), ask.transport, true);
        for set in sets(&before) {
            zones.apply(ZoneUpdate::RemoveNode { origin: "e.".parse().unwrap(), name: set.name });
        }
        world::put_nodes(&mut zones, &"e.".parse().unwrap(), &after);
        let fresh = response(&put(&after, world::put_nodes), &ask.octets(), ask.transport, true);
        prop_assert_eq!(response(&zones, &ask.octets(), ask.transport, true), fresh);
        prop_assert_eq!(response(&old, &ask.octets(), ask.transport, true), wanted_before);
    }

    #[test]
    fn before_the_first_sync_nothing_is_denied_or_refused(
        lines in zone(),
        ask in ask(),
        denial in select(vec![None, Some(Denial::Compact), Some(Denial::Nsec)]),
        wish in select(vec![&[] as &[&str], &["do"], &["do", "co"]]),
        file: bool,
    ) {
        let mut zones = put(&lines, if file { world::put_base } else { world::put_nodes });
        denial.iter().for_each(|denial| dnssec::sign(&mut zones, Algorithm::Ed25519, *denial));
        let ask = wish.iter().fold(ask, |ask, option| ask.with(option));
        let response = response(&zones, &ask.octets(), ask.transport, false).unwrap();
        prop_assert!(!matches!(response[3] & 0x0f, 3 | 5));
        // Nor does a proof say it, of the name or of others (RFC 9824 section 3.1, RFC 8198).
        for (owner, next, types) in dnssec::proofs(&response) {
            prop_assert!(!types.contains(&NXNAME), "{} is denied by {:#?}", owner, show(&response));
            prop_assert_eq!(next.parent(), Some(owner), "what is between is denied by {:#?}", show(&response));
        }
    }
}

fn question_length(octets: &[u8]) -> usize {
    let mut at = 0;
    while octets[at] != 0 {
        at += 1 + usize::from(octets[at]);
    }
    at + 5
}

pub(crate) fn sets(lines: &[String]) -> Vec<RecordSet> {
    world::sets(&"e.".parse().unwrap(), lines)
}

/// Some names in the base and the others as nodes, with a wrong base behind each node.
fn mixed(lines: &[String], of_base: &[bool]) -> Zones {
    let all = sets(lines);
    let mut names: Vec<Name> = all.iter().map(|set| set.name.clone()).collect();
    names.dedup();
    let in_base = |name: &Name| names.iter().position(|other| other == name).is_some_and(|at| of_base[at]);
    let (base, nodes): (Vec<RecordSet>, Vec<RecordSet>) = all.into_iter().partition(|set| in_base(&set.name));
    let wrong = names.iter().filter(|name| !in_base(name)).map(|name| format!("{name} 9 TXT wrong"));
    let base_lines: Vec<String> = base.iter().flat_map(lines_of).chain(wrong).collect();
    let mut zones = put(&base_lines, world::put_base);
    let origin: Name = "e.".parse().unwrap();
    for name in names.iter().filter(|name| !in_base(name)) {
        let sets = nodes.iter().filter(|set| set.name == *name).cloned().collect();
        zones.apply(ZoneUpdate::PutNode { origin: origin.clone(), name: name.clone(), sets });
    }
    zones
}

fn lines_of(set: &RecordSet) -> impl Iterator<Item = String> {
    set.data.iter().map(|data| format!("{} {} {} {data}", set.name, set.ttl, set.rtype))
}
