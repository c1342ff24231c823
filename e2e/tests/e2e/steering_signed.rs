//! Steered names of a signed zone: whichever answer a client gets, `delv` validates it.
//!
//! ```text
//! delv ──► a forwarder that adds the client's network ──► the server
//! ```
//!
//! `delv` cannot send a network (RFC 7871) itself, so somebody on the way does, as a resolver would.

use std::collections::BTreeSet;
use std::net::{SocketAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use dns::{Name, ProbeId};
use e2e::own_address;
use ring::rand::SystemRandom;
use rstest::rstest;
use server::ZoneUpdate;
use server::dnssec::{Algorithm, Denial, DigestType, SharedSignatures, Signing, ZoneKeys};
use server::steering::State;

use crate::dnssec::{anchors_of, delv_at};
use crate::steering::Steered;

const HEADER: usize = 12;
/// Type and class after a question's name.
const QUESTION_TAIL: usize = 4;
/// The fixed part of an OPT record up to the length of its options.
const OPT_HEAD: usize = 9;
/// The longest message that is passed on.
const DATAGRAM: usize = 4096;

/// Passes queries on with a client's network added, until it is dropped.
struct Forwarder {
    address: SocketAddr,
    has_ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Forwarder {
    /// `option` is the whole option, as in the OPT record.
    fn start(server: SocketAddr, option: Vec<u8>) -> Result<Forwarder> {
        let (inside, outside) = (UdpSocket::bind((own_address(), 0))?, UdpSocket::bind((own_address(), 0))?);
        outside.connect(server)?;
        for socket in [&inside, &outside] {
            socket.set_read_timeout(Some(Duration::from_millis(100)))?;
        }
        let (address, has_ended) = (inside.local_addr()?, Arc::new(AtomicBool::new(false)));
        let ended = Arc::clone(&has_ended);
        let forward = move || {
            while !ended.load(Ordering::Relaxed) {
                // Nothing arrived in time, or nothing came back: whoever asked asks again.
                let _ = pass_on(&inside, &outside, &option);
            }
        };
        Ok(Forwarder { address, has_ended, thread: Some(std::thread::spawn(forward)) })
    }
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.has_ended.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

fn pass_on(inside: &UdpSocket, outside: &UdpSocket, option: &[u8]) -> Result<()> {
    let mut buffer = [0; DATAGRAM];
    let (length, client) = inside.recv_from(&mut buffer)?;
    let query = with_option(&buffer[..length], option).context("a query without OPT at its end")?;
    outside.send(&query)?;
    loop {
        let length = outside.recv(&mut buffer)?;
        // What is late from an earlier question is not the answer to this one.
        if buffer[..2] == query[..2] {
            inside.send_to(&buffer[..length], client)?;
            return Ok(());
        }
    }
}

/// A query with one more option in its OPT record, which follows the question.
fn with_option(query: &[u8], option: &[u8]) -> Option<Vec<u8>> {
    let mut at = HEADER;
    while *query.get(at)? != 0 {
        at += 1 + usize::from(query[at]);
    }
    let length_at = at + 1 + QUESTION_TAIL + OPT_HEAD;
    let length = u16::from_be_bytes(*query.get(length_at..)?.first_chunk()?) + option.len() as u16;
    let mut longer = [query, option].concat();
    longer[length_at..length_at + 2].copy_from_slice(&length.to_be_bytes());
    Some(longer)
}

/// The option for a network of IPv4 (RFC 7871 section 6).
fn subnet(network: [u8; 3]) -> Vec<u8> {
    [&[0, 8, 0, 7, 0, 1, 24, 0], &network[..]].concat()
}

/// A steered and signed server, and the file of its trust anchors.
struct Signed {
    server: Steered,
    folder: tempfile::TempDir,
}

impl Signed {
    fn start(algorithm: Algorithm, denial: Denial) -> Result<Signed> {
        let origin: Name = "example.".parse()?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let keys = ZoneKeys::create(origin.clone(), algorithm, now, &SystemRandom::new())?;
        let signing = Signing::new(&keys, denial, SharedSignatures::default()).context("no keys")?;
        let signing = Some(Arc::new(signing));
        let ds = keys.for_parent().filter_map(|key| key.ds(&origin, DigestType::Sha256));
        let records: String = ds.map(|ds| format!("example. IN DS {ds}\n")).collect();
        let folder = tempfile::tempdir()?;
        std::fs::write(folder.path().join("anchors"), anchors_of(&records))?;
        let server = Steered::start_with(|zones| {
            zones.apply(ZoneUpdate::Sign { origin, signing });
        })?;
        Ok(Signed { server, folder })
    }

    fn anchors(&self) -> PathBuf {
        self.folder.path().join("anchors")
    }

    fn set(&self, states: [State; 3]) {
        states.iter().zip(0..).for_each(|(state, probe)| self.server.health.set(ProbeId(probe), *state));
    }
}

/// The addresses of an answer that `delv` has validated.
fn validated(server: SocketAddr, anchors: &Path, name: &str) -> Result<Vec<String>> {
    let said = delv_at(server, "example", anchors, &format!("{name} A"))?;
    ensure!(said.contains("; fully validated"), "{name}: {said}");
    let words = said.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let address = |words: Vec<&str>| match words[..] {
        [_, _, "IN", "A", address] => Some(address.to_owned()),
        _ => None,
    };
    let mut addresses: Vec<String> = words.filter_map(address).collect();
    addresses.sort();
    Ok(addresses)
}

/// Ireland by the class's table, Ireland and Germany by the built-in one, and somewhere else.
const NETWORKS: [[u8; 3]; 4] = [[10, 1, 2], [193, 1, 2], [53, 1, 2], [8, 8, 8]];

/// All up, then one target down after the other, then none left, which never ends in nothing.
const STATES: [[State; 3]; 4] = [
    [State::Up, State::Up, State::Up],
    [State::Down, State::Up, State::Up],
    [State::Down, State::Down, State::Up],
    [State::Down, State::Down, State::Down],
];

#[rstest]
fn every_variant_of_a_steered_answer_validates_before_and_after_a_target_goes_down(
    #[values((Algorithm::EcdsaP256, Denial::Compact), (Algorithm::Ed25519, Denial::Nsec))] how: (
        Algorithm,
        Denial,
    ),
) -> Result<()> {
    let signed = Signed::start(how.0, how.1)?;
    let mut variants = BTreeSet::new();
    for network in NETWORKS {
        let forwarder = Forwarder::start(signed.server.address, subnet(network))?;
        let [one, two, three] = network;
        for states in STATES {
            signed.set(states);
            for name in ["geo.example", "sticky.example", "failover.example", "closest.example"] {
                let got = validated(forwarder.address, &signed.anchors(), name)?;
                let question = format!("{name} +subnet={one}.{two}.{three}.0/24");
                let mut unsigned = signed.server.addresses(&question)?;
                unsigned.sort();
                assert_eq!(got, unsigned, "{question} {states:?}");
                variants.insert((name, got));
            }
        }
    }
    // Each of the three alone for geo and closest, both groups for failover, and so on.
    let count = |name: &str| variants.iter().filter(|(of, _)| *of == name).count();
    assert!(count("geo.example") >= 3 && count("failover.example") >= 3, "{variants:?}");
    assert!(count("closest.example") >= 2 && count("sticky.example") >= 2, "{variants:?}");
    Ok(())
}

#[test]
fn kdig_gets_one_signature_of_the_part_that_its_network_gets() -> Result<()> {
    let signed = Signed::start(Algorithm::Ed25519, Denial::Nsec)?;
    for (network, address) in [("10.1.2.0", "192.0.2.1"), ("53.1.2.0", "192.0.2.2"), ("8.8.8.0", "192.0.2.3")]
    {
        let question = format!("+dnssec +subnet={network}/24 geo.example A");
        let text = signed.server.ask("kdig", "knot-dnsutils", &question)?;
        assert!(text.contains("flags: do;") && text.contains(&format!("\tA\t{address}\n")), "{text}");
        assert_eq!(text.matches("\tA\t").count(), 1, "{text}");
        assert_eq!(text.matches("\tRRSIG\tA 15 2 30 ").count(), 1, "{text}");
    }
    Ok(())
}

#[rstest]
fn a_fresh_draw_validates_whichever_it_is(
    #[values(Algorithm::EcdsaP256, Algorithm::Ed25519)] algorithm: Algorithm,
) -> Result<()> {
    let signed = Signed::start(algorithm, Denial::Compact)?;
    let mut seen = BTreeSet::new();
    for _ in 0..60 {
        seen.insert(validated(signed.server.address, &signed.anchors(), "weighted.example")?);
    }
    assert_eq!(seen, BTreeSet::from([vec!["192.0.2.1".to_owned()], vec!["192.0.2.2".to_owned()]]));
    signed.set([State::Down, State::Up, State::Up]);
    for _ in 0..10 {
        let got = validated(signed.server.address, &signed.anchors(), "weighted.example")?;
        assert_eq!(got, ["192.0.2.2"], "the other is down");
    }
    Ok(())
}

#[rstest]
fn what_a_steered_name_does_not_have_is_denied(
    #[values(Denial::Compact, Denial::Nsec)] denial: Denial,
) -> Result<()> {
    let signed = Signed::start(Algorithm::EcdsaP256, denial)?;
    for question in ["geo.example TXT", "failover.example AAAA", "nothing.example A"] {
        let said = delv_at(signed.server.address, "example", &signed.anchors(), question)?;
        assert!(said.contains("; negative response, fully validated"), "{question}: {said}");
    }
    Ok(())
}
