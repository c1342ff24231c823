//! A flood in the name of one network, as a reflector sees it: every address of a /24 asks, and none wants it.
//!
//! On loopback all of 127.0.0.0/8 are this machine's, so the sources are as many as they seem to be, and what is
//! sent to each can be counted.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

/// How many queries are sent before the bystander asks.
const WAVE: usize = 100;
/// The truncated bit in a message's third octet.
const TRUNCATED: u8 = 0x02;

/// What a flood sent and what came back to its victims.
#[derive(Debug, Default)]
pub(super) struct Seen {
    /// How many queries were sent, and their octets.
    pub(super) sent: Traffic,
    /// Answers as they are without a limit.
    pub(super) full: Traffic,
    /// Empty truncated ones in their place.
    pub(super) slipped: Traffic,
    /// The longest that one of those was in terms of its query.
    pub(super) most_by_one: i64,
    /// From before the first query until after the last answer.
    pub(super) took: Duration,
}

/// Messages and their octets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Traffic {
    pub(super) messages: usize,
    pub(super) octets: usize,
}

impl Traffic {
    fn add(&mut self, octets: usize) {
        self.messages += 1;
        self.octets += octets;
    }
}

impl Seen {
    /// How many queries got no answer or an empty one.
    pub(super) fn held_back(&self) -> usize {
        self.sent.messages - self.full.messages
    }

    /// The octets that those had.
    pub(super) fn octets_held_back(&self, query: usize) -> usize {
        self.held_back() * query
    }
}

/// All sources of a network, and somebody in another who asks meanwhile.
pub(super) struct Flood {
    sources: Vec<UdpSocket>,
    bystander: UdpSocket,
    server: SocketAddr,
}

impl Flood {
    pub(super) fn new(server: SocketAddr, patience: Duration) -> Flood {
        let bind = |third, last| UdpSocket::bind((Ipv4Addr::new(127, 255, third, last), 0)).unwrap();
        let sources: Vec<UdpSocket> = (1..=250).map(|last| bind(0, last)).collect();
        sources.iter().for_each(|source| source.set_nonblocking(true).unwrap());
        let bystander = bind(1, 1);
        bystander.set_read_timeout(Some(patience)).unwrap();
        Flood { sources, bystander, server }
    }

    /// Sends the queries, all of one length. After each wave the bystander asks and must be answered in full by more
    /// than `least` octets; one thread answers in order, so by then all that the wave gets has arrived.
    pub(super) fn send(&self, queries: &[Vec<u8>], bystander: &[u8], least: usize) -> Seen {
        let (start, mut seen) = (Instant::now(), Seen::default());
        for (wave, queries) in queries.chunks(WAVE).enumerate() {
            for (number, query) in queries.iter().enumerate() {
                let source = &self.sources[(wave * WAVE + number) % self.sources.len()];
                source.send_to(query, self.server).unwrap();
                seen.sent.add(query.len());
            }
            let answer = self.ask(bystander);
            assert!(!is_truncated(&answer) && answer.len() > least, "wave {wave}: {answer:?}");
            self.sources.iter().for_each(|source| collect(source, queries[0].len(), &mut seen));
        }
        seen.took = start.elapsed();
        seen
    }

    fn ask(&self, query: &[u8]) -> Vec<u8> {
        self.bystander.send_to(query, self.server).unwrap();
        let mut buffer = vec![0; 4096];
        let length = self.bystander.recv(&mut buffer).expect("other networks are answered");
        buffer.truncate(length);
        buffer
    }
}

/// Counts what has arrived at a source.
fn collect(source: &UdpSocket, query: usize, seen: &mut Seen) {
    let mut buffer = [0; 4096];
    while let Ok(length) = source.recv(&mut buffer) {
        if is_truncated(&buffer[..length]) {
            seen.slipped.add(length);
            seen.most_by_one = seen.most_by_one.max(length as i64 - query as i64);
        } else {
            seen.full.add(length);
        }
    }
}

fn is_truncated(message: &[u8]) -> bool {
    message[2] & TRUNCATED != 0
}
