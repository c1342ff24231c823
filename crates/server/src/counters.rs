//! What an endpoint has done, counted without locks.
//!
//! Each UDP thread has a page of its own that nobody else writes, so counting costs it next to
//! nothing; connections share one page. Reading adds the pages up.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::{CookieState, Rcode, Reply, Transport};

/// The running counts of one endpoint.
#[derive(Debug, Default)]
pub struct Counters {
    shared: Page,
    threads: Mutex<Vec<Arc<Page>>>,
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
    /// Messages that got no response: not a query, held back by rate limiting, or the response
    /// could not be sent.
    pub dropped: u64,
    /// TCP connections that are open now.
    pub open_connections: u64,
    /// TCP connections closed at once because too many were open.
    pub refused_connections: u64,
    /// TCP connections evicted for another because their clients did not read.
    pub evicted_not_reading: u64,
    /// TCP connections evicted for another because their clients did not send.
    pub evicted_idle: u64,
    /// TCP connections evicted for another because their networks had the most.
    pub evicted_busy: u64,
    /// Responses that were held back by rate limiting.
    pub rate_limited: u64,
    /// Responses that rate limiting replaced by an empty truncated one.
    pub slipped: u64,
    /// Responses among both that were held back by the limit on octets.
    pub octets_limited: u64,
    /// Queries with a cookie of ours.
    pub cookies_good: u64,
    /// Queries with a server cookie that is not ours or too old.
    pub cookies_bad: u64,
    /// Queries over UDP that were answered on the fast path.
    pub fast: u64,
}

/// What is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    UdpQuery,
    TcpQuery,
    Truncated,
    Dropped,
    OpenedConnection,
    ClosedConnection,
    RefusedConnection,
    EvictedNotReading,
    EvictedIdle,
    EvictedBusy,
    RateLimited,
    Slipped,
    OctetsLimited,
    CookieGood,
    CookieBad,
    Fast,
    /// The first of the response codes.
    Response,
}

/// Why a connection was evicted for another, in the order of eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Eviction {
    /// Its client did not read.
    NotReading,
    /// Its client did not send.
    Idle,
    /// Its network had the most connections.
    Busy,
}

const COUNTS: usize = Count::Response as usize + Rcode::ALL.len();

/// A connection that counts as open until this is dropped.
#[derive(Debug)]
pub(crate) struct OpenConnection(Arc<Counters>);

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.shared.add(Count::ClosedConnection);
    }
}

/// One set of counts.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Page([AtomicU64; COUNTS]);

/// What one thread has counted and not written to its page yet.
#[derive(Debug)]
pub(crate) struct Tally {
    counts: [u64; COUNTS],
    page: Arc<Page>,
}

impl Counters {
    /// Counts by a thread of its own.
    pub(crate) fn tally(&self) -> Tally {
        let page = Arc::new(Page::default());
        self.threads.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&page));
        Tally { counts: [0; COUNTS], page }
    }

    pub(crate) fn query(&self, transport: Transport) {
        match transport {
            Transport::Udp => self.shared.add(Count::UdpQuery),
            Transport::Tcp | Transport::Tls => self.shared.add(Count::TcpQuery),
        }
    }

    pub(crate) fn sent(&self, reply: Reply) {
        each(reply, |at| {
            self.shared.0[at].fetch_add(1, Ordering::Relaxed);
        });
    }

    pub(crate) fn dropped(&self) {
        self.shared.add(Count::Dropped);
    }

    pub(crate) fn open_connection(self: &Arc<Self>) -> OpenConnection {
        self.shared.add(Count::OpenedConnection);
        OpenConnection(Arc::clone(self))
    }

    pub(crate) fn refused_connection(&self) {
        self.shared.add(Count::RefusedConnection);
    }

    pub(crate) fn evicted_connection(&self, eviction: Eviction) {
        self.shared.add(match eviction {
            Eviction::NotReading => Count::EvictedNotReading,
            Eviction::Idle => Count::EvictedIdle,
            Eviction::Busy => Count::EvictedBusy,
        });
    }

    /// The counts as they now stand.
    pub fn snapshot(&self) -> CountersSnapshot {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let pages = || threads.iter().map(|page| &**page).chain([&self.shared]);
        let sum = |at: usize| pages().map(|page| page.0[at].load(Ordering::Relaxed)).sum::<u64>();
        let of = |count: Count| sum(count as usize);
        // Read first, so that a connection that comes and goes meanwhile never counts as less than none.
        let closed = of(Count::ClosedConnection);
        CountersSnapshot {
            udp_queries: of(Count::UdpQuery),
            tcp_queries: of(Count::TcpQuery),
            responses: Rcode::ALL.iter().map(|rcode| (*rcode, sum(response(*rcode)))).collect(),
            truncated: of(Count::Truncated),
            dropped: of(Count::Dropped),
            open_connections: of(Count::OpenedConnection).saturating_sub(closed),
            refused_connections: of(Count::RefusedConnection),
            evicted_not_reading: of(Count::EvictedNotReading),
            evicted_idle: of(Count::EvictedIdle),
            evicted_busy: of(Count::EvictedBusy),
            rate_limited: of(Count::RateLimited),
            slipped: of(Count::Slipped),
            octets_limited: of(Count::OctetsLimited),
            cookies_good: of(Count::CookieGood),
            cookies_bad: of(Count::CookieBad),
            fast: of(Count::Fast),
        }
    }
}

impl Page {
    fn add(&self, count: Count) {
        self.0[count as usize].fetch_add(1, Ordering::Relaxed);
    }
}

impl Tally {
    #[inline]
    pub(crate) fn add(&mut self, count: Count, by: u64) {
        self.counts[count as usize] += by;
    }

    pub(crate) fn set(&mut self, count: Count, to: u64) {
        self.counts[count as usize] = to;
    }

    #[inline]
    pub(crate) fn sent(&mut self, reply: Reply) {
        each(reply, |at| self.counts[at] += 1);
    }

    /// Shows what was counted to whoever reads.
    pub(crate) fn publish(&self) {
        for (shown, count) in self.page.0.iter().zip(self.counts) {
            // Only this thread writes here.
            shown.store(count, Ordering::Relaxed);
        }
    }
}

/// Where the responses with a code are counted.
#[inline]
fn response(rcode: Rcode) -> usize {
    Count::Response as usize + rcode as usize
}

/// What a response counts as.
#[inline]
fn each(reply: Reply, mut add: impl FnMut(usize)) {
    add(response(reply.rcode));
    if reply.truncated {
        add(Count::Truncated as usize);
    }
    match reply.cookie {
        CookieState::Good => add(Count::CookieGood as usize),
        CookieState::Bad => add(Count::CookieBad as usize),
        CookieState::Absent | CookieState::New => {}
    }
}
