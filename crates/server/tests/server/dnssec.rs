//! Signed zones as a validator sees them. The validator here is written from the RFCs by search
//! over everything that a response has, and shares no code with the server.

use std::collections::BTreeSet;
use std::sync::Arc;

use dns::{Name, Rdata, Rtype};
use hickory_proto::op::Message;
use hickory_proto::rr::Record;
use hickory_proto::serialize::binary::{BinEncodable, BinEncoder, NameEncoding};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_FIXED, ED25519, UnparsedPublicKey};
use server::dnssec::{Algorithm, Denial, SharedSignatures, Signing, WINDOW, ZoneKeys, signed_sets};
use server::steering::Asker;
use server::{Circumstances, Sight, Step, ZoneUpdate, Zones, lookup, respond, respond_fast};

use crate::client::{Ask, show};
use crate::properties::{name_below, put, zone};
use crate::world;

pub(crate) const NOW: u32 = 1_790_000_000;

/// Keys of the zone `e.` that are made once for all cases.
fn keys(algorithm: Algorithm) -> &'static ZoneKeys {
    static KEYS: std::sync::LazyLock<[ZoneKeys; 2]> = std::sync::LazyLock::new(|| {
        [Algorithm::EcdsaP256, Algorithm::Ed25519].map(|algorithm| {
            ZoneKeys::create("e.".parse().unwrap(), algorithm, 0, &SystemRandom::new()).unwrap()
        })
    });
    KEYS.iter().find(|keys| keys.algorithm() == algorithm).unwrap()
}

pub(crate) fn sign(zones: &mut Zones, algorithm: Algorithm, denial: Denial) {
    static CACHE: std::sync::LazyLock<SharedSignatures> = std::sync::LazyLock::new(SharedSignatures::default);
    let signing = Signing::new(keys(algorithm), denial, CACHE.clone()).unwrap();
    zones.apply(ZoneUpdate::Sign { origin: "e.".parse().unwrap(), signing: Some(Arc::new(signing)) });
}

fn ask(zones: &Zones, ask: &Ask) -> Vec<u8> {
    let around = Circumstances {
        transport: ask.transport,
        now: NOW,
        ..Circumstances::plain(Sight { zones: Some(zones), synced: true })
    };
    let mut out = Vec::new();
    respond(&ask.octets(), around, &mut out).unwrap();
    out
}

/// One record of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    name: Name,
    rtype: Rtype,
    ttl: u32,
    data: Vec<u8>,
}

impl Seen {
    fn new(record: &Record) -> Seen {
        let name = record.name.to_bytes().unwrap();
        Seen {
            name: Name::from_wire(&name).unwrap().0,
            rtype: Rtype(record.record_type().into()),
            ttl: record.ttl,
            data: uncompressed(record),
        }
    }
}

fn uncompressed(record: &Record) -> Vec<u8> {
    let mut out = Vec::new();
    let mut encoder = BinEncoder::new(&mut out);
    encoder.set_name_encoding(NameEncoding::UncompressedLowercase);
    record.data.emit(&mut encoder).unwrap();
    out
}

/// What an NSEC record says: owner, next name and types.
type Proof = (Name, Name, Vec<Rtype>);

fn proof(record: &Seen) -> Proof {
    let (next, length) = Name::from_wire(&record.data).unwrap();
    (record.name.clone(), next, types(&record.data[length..]))
}

/// The NSEC records of a response, wherever they are and whoever signed them.
pub(crate) fn proofs(response: &[u8]) -> Vec<Proof> {
    let message = Message::from_vec(response).unwrap();
    let records = message.answers.iter().chain(&message.authorities).map(Seen::new);
    records.filter(|record| record.rtype == Rtype::NSEC).map(|record| proof(&record)).collect()
}

/// A response with the keys to judge it by.
struct Validator {
    answer: Vec<Seen>,
    authority: Vec<Seen>,
    keys: Vec<Vec<u8>>,
    /// The NSEC records of the authority section.
    proofs: Vec<Proof>,
}

impl Validator {
    fn new(response: &[u8], keys: &ZoneKeys) -> Validator {
        let message = Message::from_vec(response).unwrap();
        let see = |records: &[Record]| records.iter().map(Seen::new).collect();
        let keys = keys.keys().iter().map(|key| key.key.dnskey().to_vec()).collect();
        let (answer, authority) = (see(&message.answers), see(&message.authorities));
        let mut validator = Validator { answer, authority, keys, proofs: Vec::new() };
        validator.proofs = validator.read_proofs();
        validator
    }

    /// Whether a section has the set with a signature that holds; gives how many labels it covers.
    fn signed(&self, section: &[Seen], name: &Name, rtype: Rtype) -> Option<u8> {
        let set: Vec<&Seen> = section.iter().filter(|r| r.name == *name && r.rtype == rtype).collect();
        let mut signatures = section.iter().filter(|r| r.name == *name && r.rtype == Rtype::RRSIG);
        let good =
            signatures.find(|r| r.data[..2] == rtype.0.to_be_bytes() && self.verifies(&set, &r.data))?;
        (!set.is_empty()).then_some(good.data[3])
    }

    fn verifies(&self, set: &[&Seen], rrsig: &[u8]) -> bool {
        let number = |at: usize| u32::from_be_bytes(rrsig[at..at + 4].try_into().unwrap());
        let (ttl, expiration, inception) = (number(4), number(8), number(12));
        let (signer, length) = Name::from_wire(&rrsig[18..]).unwrap();
        if !(inception <= NOW && NOW < expiration) || signer != "e.".parse().unwrap() {
            return false;
        }
        let (head, signature) = rrsig.split_at(18 + length);
        let mut data: Vec<&[u8]> = set.iter().map(|record| &record.data[..]).collect();
        data.sort_unstable();
        let owner = covered_owner(&set[0].name, rrsig[3]).to_wire();
        let mut octets = head.to_vec();
        for data in data {
            octets.extend_from_slice(&owner);
            octets.extend(set[0].rtype.0.to_be_bytes().iter().chain(&[0, 1]).chain(&ttl.to_be_bytes()));
            octets.extend((data.len() as u16).to_be_bytes());
            octets.extend_from_slice(data);
        }
        set[0].ttl <= ttl && self.keys.iter().any(|key| key_verifies(key, rrsig[2], &octets, signature))
    }

    /// The data of the NSEC records in the authority section that hold, with their owners.
    fn read_proofs(&self) -> Vec<Proof> {
        let nsec = self.authority.iter().filter(|record| record.rtype == Rtype::NSEC);
        nsec.map(|record| {
            assert!(self.signed(&self.authority, &record.name, Rtype::NSEC).is_some(), "unsigned {record:?}");
            proof(record)
        })
        .collect()
    }

    fn covers(&self, name: &Name) -> Option<(Name, Name)> {
        let between = |owner: &Name, next: &Name| owner < name && (name < next || next <= owner);
        // A cut or a DNAME speaks for nothing below it.
        let speaks = |owner: &Name, types: &[Rtype]| {
            let hides =
                types.contains(&Rtype::DNAME) || types.contains(&Rtype::NS) && !types.contains(&Rtype::SOA);
            !(hides && name.is_below(owner))
        };
        let mut proofs = self.proofs.iter();
        let found = proofs.find(|(owner, next, types)| between(owner, next) && speaks(owner, types))?;
        Some((found.0.clone(), found.1.clone()))
    }

    /// The types that a name has, by its own NSEC record.
    fn types_of(&self, name: &Name) -> Option<Vec<Rtype>> {
        self.proofs.iter().find(|(owner, ..)| owner == name).map(|(_, _, types)| types.clone())
    }

    /// The wildcard that could stand for a name which does not exist, as its proof shows it.
    fn wildcard_for(&self, name: &Name) -> Option<Name> {
        let (owner, next) = self.covers(name)?;
        let above = name.suffixes().find(|above| owner.is_in(above) || next.is_in(above))?;
        above.child(b"*").ok()
    }

    fn proves_no_name(&self, name: &Name) -> bool {
        if self.types_of(name).is_some_and(|types| types == [Rtype::RRSIG, Rtype::NSEC, Rtype(128)]) {
            return true;
        }
        let exists_below = self.covers(name).is_some_and(|(_, next)| next.is_below(name));
        let wildcard = self.wildcard_for(name);
        !exists_below && wildcard.is_some_and(|wildcard| self.covers(&wildcard).is_some())
    }

    fn proves_no_data(&self, name: &Name, rtype: Rtype) -> bool {
        let lacks = |types: Vec<Rtype>| {
            let other_side = types.contains(&Rtype::NS) && !types.contains(&Rtype::SOA);
            let wrong_side = if rtype == Rtype::DS {
                types.contains(&Rtype::SOA) && name.key() != b"e\0"
            } else {
                other_side
            };
            !types.contains(&rtype)
                && !types.contains(&Rtype::CNAME)
                && !types.contains(&Rtype(128))
                && !wrong_side
        };
        if let Some(types) = self.types_of(name) {
            return lacks(types);
        }
        let empty = self.covers(name).is_some_and(|(_, next)| next.is_below(name));
        let by_wildcard = || {
            let wildcard = self.wildcard_for(name)?;
            let nothing = self.covers(&wildcard).is_some_and(|(_, next)| next.is_below(&wildcard));
            Some(nothing || lacks(self.types_of(&wildcard)?))
        };
        empty || by_wildcard().unwrap_or(false)
    }

    /// Judges one step that the unsigned zone took.
    fn judge(&self, step: &Step, rtype: Rtype) -> bool {
        match step {
            Step::Cname { from, .. } => self.positive(from, Rtype::CNAME),
            Step::Data { name, rtype } => self.positive(name, *rtype),
            Step::Dname { owner, .. } => self.positive(owner, Rtype::DNAME),
            Step::Referral(cut) => {
                let types = self.types_of(cut);
                let insecure =
                    types.is_some_and(|types| types.contains(&Rtype::NS) && !types.contains(&Rtype::DS));
                insecure != self.signed(&self.authority, cut, Rtype::DS).is_some()
            }
            Step::NoData(name) => self.soa_is_signed() && self.proves_no_data(name, rtype),
            Step::NxDomain(name) => self.soa_is_signed() && self.proves_no_name(name),
            _ => true,
        }
    }

    fn soa_is_signed(&self) -> bool {
        self.signed(&self.authority, &"e.".parse().unwrap(), Rtype::SOA).is_some()
    }

    fn positive(&self, name: &Name, rtype: Rtype) -> bool {
        let Some(labels) = self.signed(&self.answer, name, rtype) else { return false };
        let own = name.labels().count() - usize::from(name.is_wildcard());
        usize::from(labels) == own || self.covers(name).is_some_and(|(_, next)| !next.is_in(name))
    }
}

fn covered_owner(name: &Name, labels: u8) -> Name {
    let own = name.labels().count() - usize::from(name.is_wildcard());
    if usize::from(labels) >= own {
        return name.clone();
    }
    let above = name.suffixes().find(|above| above.labels().count() == usize::from(labels));
    above.unwrap().child(b"*").unwrap()
}

fn key_verifies(key: &[u8], algorithm: u8, octets: &[u8], signature: &[u8]) -> bool {
    let public = &key[4..];
    key[3] == algorithm
        && match algorithm {
            13 => UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, [&[4], public].concat())
                .verify(octets, signature),
            _ => UnparsedPublicKey::new(&ED25519, public).verify(octets, signature),
        }
        .is_ok()
}

fn types(mut bitmap: &[u8]) -> Vec<Rtype> {
    let mut types = Vec::new();
    while let [window, length, rest @ ..] = bitmap {
        let (bits, after) = rest.split_at(usize::from(*length));
        let of = |at: usize| Rtype(u16::from(*window) << 8 | at as u16);
        types.extend((0..bits.len() * 8).filter(|at| bits[at / 8] & 0x80 >> (at % 8) != 0).map(of));
        bitmap = after;
    }
    types
}

fn algorithm() -> impl Strategy<Value = Algorithm> {
    select(vec![Algorithm::EcdsaP256, Algorithm::Ed25519])
}

fn denial() -> impl Strategy<Value = Denial> {
    select(vec![Denial::Nsec, Denial::Compact])
}

/// A random zone that has DS records too. What a wildcard with NS or DNAME means is not defined
/// (RFC 4592 sections 4.2 and 4.4), so neither is there.
fn zone_with_ds() -> impl Strategy<Value = Vec<String>> {
    let ds = |name| format!("{name} 60 DS 1 13 2 {}", "ab".repeat(32));
    (zone(), vec(name_below("e.").prop_map(ds), 0..3)).prop_map(|(mut lines, ds)| {
        let undefined =
            |line: &String| line.starts_with('*') && (line.contains(" NS ") || line.contains(" DNAME "));
        lines.retain(|line| !undefined(line));
        [lines, ds].concat()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_answer_of_a_signed_zone_validates(
        lines in zone_with_ds(),
        name in name_below("e."),
        rtype in select(vec!["A", "TXT", "NS", "DS", "CNAME", "SOA", "ANY", "AAAA", "MX", "DNAME"]),
        algorithm in algorithm(),
        denial in denial(),
        file: bool,
    ) {
        let plain = put(&lines, if file { world::put_base } else { world::put_nodes });
        let mut signed = plain.clone();
        sign(&mut signed, algorithm, denial);
        let asked = Ask::new(&name, rtype).with("tcp").with("do");
        let response = ask(&signed, &asked);
        let validator = Validator::new(&response, keys(algorithm));
        // Only of a question for anything signing may change which set is enough.
        let anyone = Asker::at(std::net::Ipv4Addr::LOCALHOST.into(), 0);
        let judged_by = if rtype == "ANY" { &signed } else { &plain };
        for step in &lookup(judged_by, &name.parse().unwrap(), rtype.parse().unwrap(), &anyone).steps {
            prop_assert!(
                validator.judge(step, rtype.parse().unwrap()),
                "{:?} is not proved by {:#?} of {:#?}", step, show(&response), lines
            );
        }
    }

    #[test]
    fn who_does_not_ask_for_signatures_gets_the_same_as_without_them(
        lines in zone_with_ds(),
        name in name_below("e."),
        rtype in select(vec!["A", "TXT", "NS", "DS", "CNAME", "SOA", "AAAA", "MX", "DNAME"]),
        denial in denial(),
    ) {
        let plain = put(&lines, world::put_nodes);
        let mut signed = plain.clone();
        sign(&mut signed, Algorithm::Ed25519, denial);
        let asked = Ask::new(&name, rtype).with("edns");
        prop_assert_eq!(show(&ask(&signed, &asked)), show(&ask(&plain, &asked)));
    }

    #[test]
    fn with_signatures_the_answer_itself_is_the_same(
        lines in zone_with_ds(),
        name in name_below("e."),
        rtype in select(vec!["A", "TXT", "NS", "DS", "CNAME", "SOA", "AAAA", "MX", "DNAME"]),
        denial in denial(),
    ) {
        let plain = put(&lines, world::put_nodes);
        let mut signed = plain.clone();
        sign(&mut signed, Algorithm::Ed25519, denial);
        let asked = Ask::new(&name, rtype).with("tcp").with("do");
        let answers = |zones: &Zones| {
            let lines = show(&ask(zones, &asked)).into_iter();
            lines.filter(|line| line.starts_with("answer ") && !line.contains(" RRSIG ")).collect::<Vec<_>>()
        };
        prop_assert_eq!(answers(&signed), answers(&plain));
    }

    #[test]
    fn the_fast_path_signs_what_the_slow_path_signs(
        lines in zone_with_ds(),
        name in name_below("e."),
        rtype in select(vec!["A", "A", "TXT", "NS", "CNAME", "SOA", "AAAA", "MX", "DNSKEY", "NSEC", "RRSIG"]),
        denial in denial(),
        file: bool,
        dnssec_ok: bool,
    ) {
        let mut zones = put(&lines, if file { world::put_base } else { world::put_nodes });
        sign(&mut zones, Algorithm::Ed25519, denial);
        zones.compile(usize::MAX);
        let asked = Ask::new(&name, rtype).with("edns");
        let asked = if dnssec_ok { asked.with("do") } else { asked };
        let around = Circumstances { now: NOW, ..Circumstances::plain(Sight { zones: Some(&zones), synced: true }) };
        let mut out = Vec::new();
        for _ in 0..2 {
            if respond_fast(&asked.octets(), around, &mut out).is_some() {
                prop_assert_eq!(show(&out), show(&ask(&zones, &asked)));
            }
        }
    }

    #[test]
    fn a_whole_zone_is_one_ring_of_names_and_every_set_of_it_is_signed_once(lines in zone_with_ds()) {
        let mut zones = put(&lines, world::put_base);
        sign(&mut zones, Algorithm::Ed25519, Denial::Compact);
        let zone = zones.zone(&"e.".parse().unwrap()).unwrap();
        let sets: Vec<_> = signed_sets(zone, NOW).unwrap().collect();
        prop_assert_eq!(sets[0].rtype, Rtype::SOA);
        let links = sets.iter().filter(|set| set.rtype == Rtype::NSEC);
        let mut ring: Vec<(Name, Name)> =
            links.map(|set| (set.name.clone(), Name::from_wire(set.data[0].wire()).unwrap().0)).collect();
        ring.sort();
        let next = ring.iter().skip(1).chain(&ring[..1]);
        prop_assert!(ring.iter().zip(next).all(|(here, next)| here.1 == next.0), "{:?}", ring);
        let unsigned = sets.iter().filter(|set| set.rtype != Rtype::RRSIG);
        for set in unsigned {
            let covers = |data: &Rdata| data.wire()[..2] == set.rtype.0.to_be_bytes();
            let signatures = sets.iter().filter(|other| other.rtype == Rtype::RRSIG && other.name == set.name);
            let count = signatures.flat_map(|set| set.data.iter()).filter(|data| covers(data)).count();
            let own: Name = "e.".parse().unwrap();
            let cut = |name: &Name| *name != own && sets.iter().any(|set| set.name == *name && set.rtype == Rtype::NS);
            let hides = |name: &Name| cut(name) || sets.iter().any(|set| set.name == *name && set.rtype == Rtype::DNAME);
            let hidden = set.name.suffixes().skip(1).any(|above| hides(&above));
            let ours = !hidden && (!cut(&set.name) || matches!(set.rtype, Rtype::DS | Rtype::NSEC));
            prop_assert_eq!(count, usize::from(ours), "{:?}", set);
        }
        let without = zones_sets(zone).count();
        prop_assert_eq!(sets.iter().filter(|set| !is_added(set.rtype)).count(), without);
    }
}

fn is_added(rtype: Rtype) -> bool {
    matches!(rtype, Rtype::RRSIG | Rtype::NSEC | Rtype::DNSKEY | Rtype::CDS | Rtype::CDNSKEY)
}

fn zones_sets(zone: &server::Zone) -> impl Iterator<Item = dns::RecordSet> {
    zone.sets().filter(|set| !is_added(set.rtype))
}

fn example(denial: Denial) -> Zones {
    let text = "@ 60 SOA ns admin 1 2 3 4 30\n@ 60 NS ns\nns 60 A 192.0.2.1\n*.w 60 A 192.0.2.2";
    let mut zones = world::zones("e.", text);
    sign(&mut zones, Algorithm::EcdsaP256, denial);
    zones
}

fn head(zones: &Zones, asked: &Ask) -> String {
    show(&ask(zones, asked))[0].clone()
}

#[test]
fn a_plain_signed_answer_comes_from_the_fast_path() {
    for denial in [Denial::Compact, Denial::Nsec] {
        let mut zones = example(denial);
        zones.compile(usize::MAX);
        let around =
            Circumstances { now: NOW, ..Circumstances::plain(Sight { zones: Some(&zones), synced: true }) };
        let mut out = Vec::new();
        let asked = Ask::new("nS.e.", "A").with("do");
        assert!(respond_fast(&asked.octets(), around, &mut out).is_some());
        let validator = Validator::new(&out, keys(Algorithm::EcdsaP256));
        assert!(validator.positive(&"ns.e.".parse().unwrap(), Rtype::A), "{:#?}", show(&out));
    }
}

#[test]
fn a_signature_of_the_fast_path_is_renewed_when_that_of_the_slow_path_is() {
    let mut zones = example(Denial::Compact);
    zones.compile(usize::MAX);
    let asked = Ask::new("ns.e.", "A").with("do");
    let mut seen = BTreeSet::new();
    // All on one thread, which keeps what it has signed.
    for later in [0, 0, WINDOW, 3 * WINDOW] {
        let sight = Sight { zones: Some(&zones), synced: true };
        let around = Circumstances { now: NOW + later as u32, ..Circumstances::plain(sight) };
        let (mut fast, mut slow) = (Vec::new(), Vec::new());
        assert!(respond_fast(&asked.octets(), around, &mut fast).is_some());
        respond(&asked.octets(), around, &mut slow).unwrap();
        let times = times(&fast);
        assert_eq!(times, self::times(&slow));
        assert!(times.0 < around.now && around.now < times.1, "{times:?}");
        seen.insert(times);
    }
    assert_eq!(seen.len(), 3, "each of three windows has its own");
}

/// Inception and expiration of the first signature in the answer.
fn times(response: &[u8]) -> (u32, u32) {
    let message = Message::from_vec(response).unwrap();
    let rrsig = message.answers.iter().map(Seen::new).find(|record| record.rtype == Rtype::RRSIG).unwrap();
    let number = |at: usize| u32::from_be_bytes(rrsig.data[at..at + 4].try_into().unwrap());
    (number(12), number(8))
}

#[test]
fn glue_is_not_signed_though_an_alias_leads_to_it() {
    let text = "@ 60 SOA ns admin 1 2 3 4 30
        @ 60 NS ns
        ns 60 A 192.0.2.1
        alias 60 CNAME www.sub
        sub 60 NS ns
        sub 60 NS ns.other
        other 60 NS ns.other
        ns.other 60 A 192.0.2.2";
    for denial in [Denial::Compact, Denial::Nsec] {
        let mut zones = world::zones("e.", text);
        sign(&mut zones, Algorithm::Ed25519, denial);
        let lines = show(&ask(&zones, &Ask::new("alias.e.", "A").with("tcp").with("do")));
        let signed =
            |name: &str| lines.iter().any(|line| line.starts_with(&format!("additional {name} 60 RRSIG ")));
        assert!(lines.contains(&"additional ns.other.e. 60 A 192.0.2.2".to_owned()), "{lines:#?}");
        assert!(!signed("ns.other.e."), "RFC 4035 section 2.2: {lines:#?}");
        assert!(signed("ns.e."), "its own address is the zone's to sign: {lines:#?}");
    }
}

#[test]
fn compact_denial_says_nxdomain_only_to_who_understands_it() {
    let (compact, nsec) = (example(Denial::Compact), example(Denial::Nsec));
    let asked = Ask::new("x.e.", "A");
    assert_eq!(head(&compact, &asked), "NXDOMAIN aa");
    assert_eq!(head(&compact, &asked.clone().with("do")), "NOERROR aa");
    assert_eq!(head(&nsec, &asked.clone().with("do")), "NXDOMAIN aa");
    let out = ask(&compact, &asked.with("do").with("co"));
    assert_eq!(show(&out)[0], "NXDOMAIN aa");
    assert_eq!(out[out.len() - 4], 0xc0, "CO comes back");
}

#[test]
fn what_signing_adds_is_answered_when_it_is_asked_for() {
    let zones = example(Denial::Nsec);
    for (name, rtype, records) in [
        ("e.", "DNSKEY", 2),
        ("e.", "CDS", 1),
        ("e.", "CDNSKEY", 1),
        ("ns.e.", "NSEC", 1),
        ("ns.e.", "RRSIG", 1),
        ("e.", "RRSIG", 1),
    ] {
        let lines = show(&ask(&zones, &Ask::new(name, rtype)));
        let wanted = format!(" {rtype} ");
        let found = lines.iter().filter(|line| line.starts_with("answer ") && line.contains(&wanted)).count();
        assert_eq!((found, &lines[0][..]), (records, "NOERROR aa"), "{lines:#?}");
    }
    assert_eq!(head(&zones, &Ask::new("e.", "TYPE128")), "FORMERR");
}

#[test]
fn a_zone_that_is_signed_elsewhere_is_signed_anew() {
    let text = "@ 60 SOA ns admin 1 2 3 4 30\n@ 60 DNSKEY 257 3 15 l02Woi0iS8Aa25FQkUd9RMzZHJpBoRQwAQEX1SxZJA4=\na 60 A 192.0.2.1\na 60 NSEC e. A RRSIG NSEC\nb 60 NSEC e. RRSIG NSEC";
    let mut zones = world::zones("e.", text);
    sign(&mut zones, Algorithm::Ed25519, Denial::Nsec);
    let response = ask(&zones, &Ask::new("b.e.", "A").with("do"));
    let validator = Validator::new(&response, keys(Algorithm::Ed25519));
    assert!(validator.proves_no_name(&"b.e.".parse().unwrap()), "{:#?}", show(&response));
    let keys = show(&ask(&zones, &Ask::new("e.", "DNSKEY")));
    assert_eq!(keys.iter().filter(|line| line.contains(" DNSKEY ")).count(), 2);
}
