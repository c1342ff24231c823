//! What an endpoint has done, counted without locks.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Rcode, Reply, Transport};

/// The running counts of one endpoint.
#[derive(Debug, Default)]
pub struct Counters {
    udp_queries: AtomicU64,
    tcp_queries: AtomicU64,
    responses: [AtomicU64; Rcode::ALL.len()],
    truncated: AtomicU64,
    dropped: AtomicU64,
    refused_connections: AtomicU64,
}

/// The counts at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CountersSnapshot {
    /// Messages that arrived over UDP.
    pub udp_queries: u64,
    /// Messages that arrived over TCP.
    pub tcp_queries: u64,
    /// Responses by code, those never given included.
    pub responses: BTreeMap<Rcode, u64>,
    /// Responses with the TC bit.
    pub truncated: u64,
    /// Messages that got no response: not a query, or the response could not be sent.
    pub dropped: u64,
    /// TCP connections closed at once because too many were open.
    pub refused_connections: u64,
}

impl Counters {
    pub(crate) fn query(&self, transport: Transport) {
        match transport {
            Transport::Udp => add(&self.udp_queries),
            Transport::Tcp | Transport::Tls => add(&self.tcp_queries),
        }
    }

    pub(crate) fn sent(&self, reply: Reply) {
        add(&self.responses[reply.rcode as usize]);
        if reply.truncated {
            add(&self.truncated);
        }
    }

    pub(crate) fn dropped(&self) {
        add(&self.dropped);
    }

    pub(crate) fn refused_connection(&self) {
        add(&self.refused_connections);
    }

    /// The counts as they now stand.
    pub fn snapshot(&self) -> CountersSnapshot {
        let responses = Rcode::ALL.iter().map(|rcode| (*rcode, get(&self.responses[*rcode as usize])));
        CountersSnapshot {
            udp_queries: get(&self.udp_queries),
            tcp_queries: get(&self.tcp_queries),
            responses: responses.collect(),
            truncated: get(&self.truncated),
            dropped: get(&self.dropped),
            refused_connections: get(&self.refused_connections),
        }
    }
}

fn add(counter: &AtomicU64) {
    counter.fetch_add(1, Ordering::Relaxed);
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}
