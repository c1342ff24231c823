//! One thread: takes what has arrived, answers it, sends the answers.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use socket2::Socket;

use super::system::{BATCH, Batch, CACHE_LINE, prefetch};
use crate::counters::{Count, Tally};
use crate::fast::{Located, Prepared, Question};
use crate::listen::{Service, draw, seconds};
use crate::rate_limit::LimitedNetwork;
use crate::transfer::Attended;
use crate::views::Sights;
use crate::{
    Circumstances, CookieState, Identity, RateLimit, RateLimiter, Reply, ResponseKind, Sight, Transport,
    Verdict, ViewTable, respond_limited,
};

/// Long enough that a socket which always fails does not eat a core.
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(5);
/// More datagrams than a socket's buffer holds: whatever is behind them came after the stop.
const LAST_QUERIES: usize = 1 << 16;

pub(super) struct Worker {
    socket: Arc<Socket>,
    stopping: Arc<AtomicBool>,
    service: Service,
    limiter: RateLimiter,
    tally: Tally,
    draws: Draws,
    /// What the slow path writes into.
    slow: Vec<u8>,
    start: Instant,
    /// How many queries are still taken after a stop.
    left: usize,
}

/// What is the same for all queries of a batch.
#[derive(Clone, Copy)]
struct Moment<'a> {
    table: &'a ViewTable,
    identity: &'a Identity,
    seconds: u32,
    milliseconds: u64,
}

impl Worker {
    pub(super) fn new(
        socket: Arc<Socket>,
        stopping: Arc<AtomicBool>,
        service: Service,
        limit: RateLimit,
    ) -> Worker {
        Worker {
            socket,
            stopping,
            limiter: RateLimiter::new(limit, draw()),
            tally: service.counters.tally(),
            draws: Draws(draw()),
            slow: Vec::with_capacity(usize::from(u16::MAX)),
            start: Instant::now(),
            left: LAST_QUERIES,
            service,
        }
    }

    /// Answers until the stop. Not inlined, so that profiles name it.
    #[inline(never)]
    pub(super) fn run(mut self, from_any: bool) {
        let mut batch = Batch::new(from_any);
        let mut questions = [Question::EMPTY; BATCH];
        while let Some(count) = self.receive(&mut batch) {
            // What one query does to us is not to be felt by all who come after it.
            if panic::catch_unwind(AssertUnwindSafe(|| {
                self.answer(&mut batch, &mut questions[..count.min(BATCH)])
            }))
            .is_err()
            {
                tracing::error!("answering panicked; the rest of a batch of queries is dropped");
            }
            self.tally.set(Count::OctetsLimited, self.limiter.octets_limited());
            // Whoever has an answer finds it counted.
            self.tally.publish();
            let failed = batch.send(&self.socket);
            self.tally.add(Count::Dropped, failed);
        }
        self.tally.publish();
    }

    /// The next batch; none after the stop, once nothing is left.
    fn receive(&mut self, batch: &mut Batch) -> Option<usize> {
        while self.left > 0 {
            let stopping = self.stopping.load(Ordering::Acquire);
            match batch.receive(&self.socket, !stopping) {
                Ok(count) => {
                    self.left = if stopping { self.left.saturating_sub(count) } else { LAST_QUERIES };
                    return Some(count);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) if stopping => return None,
                Err(error) => {
                    tracing::debug!(%error, "receiving failed");
                    std::thread::sleep(PAUSE_AFTER_ERROR);
                }
            }
        }
        None
    }

    /// Takes the whole batch through one step after the other: what a step will read is being
    /// fetched while the others of the batch are at the step before.
    fn answer(&mut self, batch: &mut Batch, questions: &mut [Question]) {
        let (views, identity) = (self.service.views.clone(), Arc::clone(&self.service.identity));
        let table = views.load();
        let sights = table.sights(self.service.endpoint);
        let milliseconds = self.start.elapsed().as_millis() as u64;
        let moment = Moment { table: &table, identity: &identity, seconds: seconds(), milliseconds };
        let mut room = [const { Asked { network: None, prepared: None } }; BATCH];
        let asked = &mut room[..questions.len()];
        self.prepare(batch, questions, &sights, asked);
        fetch_ahead(asked);
        for (at, Asked { network, prepared }) in asked.iter().enumerate() {
            let Batch { queries, responses, messages } = &mut *batch;
            let Some(client) = queries.client(at) else { continue };
            let (buffer, length) = (queries.buffer(at), messages.length(at));
            let query = Received { buffer, length, client, network: *network, prepared: prepared.as_ref() };
            let sight = sights.of(client.ip());
            match self.answer_one(&query, sight, moment, responses.room()) {
                Some(length) => messages.queue(responses, at, length),
                None => self.tally.add(Count::Dropped, 1),
            }
        }
    }

    /// The first step of the fast path for a whole batch.
    #[inline]
    fn prepare<'a>(
        &self,
        Batch { queries, messages, .. }: &Batch,
        questions: &'a mut [Question],
        sights: &Sights<'a>,
        asked: &mut [Asked<'a>],
    ) {
        let mut before: Option<Located<'_>> = None;
        for (at, (question, Asked { network, prepared })) in questions.iter_mut().zip(asked).enumerate() {
            let Some(client) = queries.client(at) else { continue };
            *network = self.limiter.limited(client.ip());
            let Some(origins) = sights.of(client.ip()).fast() else { continue };
            let (buffer, length) = (queries.buffer(at), messages.length(at));
            *prepared = Prepared::new(origins, buffer, length, question, client.ip(), before.as_ref());
            if let Some(one) = prepared {
                before = Some(one.located);
                self.fetch_first(one, *network);
            }
        }
    }

    /// Has fetched what the second step reads, and the rate limiter's bucket.
    #[inline]
    fn fetch_first(&self, one: &Prepared<'_, '_>, network: Option<LimitedNetwork>) {
        one.first_slot().inspect(|slot| prefetch(*slot));
        one.first_place().into_iter().flatten().for_each(prefetch);
        let Some(network) = network else { return };
        let bucket = self.limiter.place(network, ResponseKind::Answer, one.likely_subject());
        bucket.inspect(|bucket| prefetch(*bucket));
    }

    /// Answers one query into `out`; gives the length, or nothing where nothing is sent.
    #[inline]
    fn answer_one(
        &mut self,
        query: &Received<'_, '_>,
        sight: Sight<'_>,
        moment: Moment<'_>,
        out: &mut [u8],
    ) -> Option<usize> {
        self.tally.add(Count::UdpQuery, 1);
        // Nothing can be sent to port 0, and the kernel would drop what comes after it too.
        if query.client.port() == 0 {
            return None;
        }
        let around = Circumstances {
            sight,
            client: query.client.ip(),
            transport: Transport::Udp,
            identity: moment.identity,
            keepalive: self.service.keepalive,
            now: moment.seconds,
            draw: self.draws.next(),
        };
        match query.prepared.and_then(|one| one.answer(query.buffer, &around, false, out)) {
            Some((length, reply)) => {
                self.tally.add(Count::Fast, 1);
                let verdict = match limited(query, &reply) {
                    None => Verdict::Send,
                    Some(network) => {
                        let about = (reply.kind, reply.subject);
                        self.limiter.judge_written(network, about, length, around.draw, moment.milliseconds)
                    }
                };
                if verdict != Verdict::Send {
                    return self.hold_back(*query, &around, verdict, out);
                }
                self.tally.sent(reply);
                Some(length)
            }
            None => self.answer_slowly(*query, &around, moment, out),
        }
    }

    /// The slow path. The rate limiter is asked before anything is signed.
    ///
    /// The query is passed as a copy, so that on the fast path it needs no place in memory.
    #[cold]
    #[inline(never)]
    fn answer_slowly(
        &mut self,
        query: Received<'_, '_>,
        around: &Circumstances<'_>,
        moment: Moment<'_>,
        out: &mut [u8],
    ) -> Option<usize> {
        let (now, limiter, mut judged) = (moment.milliseconds, &mut self.limiter, None);
        let mut judge = |reply: &Reply| match (judged, limited(&query, reply)) {
            (Some(verdict), _) => verdict,
            (None, None) => Verdict::Send,
            (None, Some(network)) => {
                *judged.insert(limiter.judge_network(network, reply.kind, reply.subject, now))
            }
        };
        let mut may_send = |reply: &Reply| judge(reply) == Verdict::Send;
        let (table, slow) = (moment.table, &mut self.slow);
        let attended = self.service.attend_with(&mut may_send, table, query.octets(), *around, slow);
        // Datagrams carry no streams.
        let Attended::Replied(reply) = attended else { return None };
        // What is no answer from a zone was not judged yet.
        let verdict = judge(&reply);
        if verdict != Verdict::Send {
            return self.hold_back(query, around, verdict, out);
        }
        let length = self.copy(out)?;
        if let Some(network) = limited(&query, &reply) {
            self.limiter.charge_network(network, length, now);
        }
        self.tally.sent(reply);
        Some(length)
    }

    /// What is sent in place of a response past a limit.
    #[cold]
    fn hold_back(
        &mut self,
        query: Received<'_, '_>,
        around: &Circumstances<'_>,
        verdict: Verdict,
        out: &mut [u8],
    ) -> Option<usize> {
        if verdict == Verdict::Drop {
            self.tally.add(Count::RateLimited, 1);
            return None;
        }
        let reply = respond_limited(query.octets(), *around, &mut self.slow)?;
        self.tally.add(Count::Slipped, 1);
        self.tally.sent(reply);
        self.copy(out)
    }

    /// Copies what the slow path wrote.
    fn copy(&self, out: &mut [u8]) -> Option<usize> {
        out.get_mut(..self.slow.len())?.copy_from_slice(&self.slow);
        Some(self.slow.len())
    }
}

/// The second step of the fast path for a whole batch: has the records fetched, and where clients are.
#[inline]
fn fetch_ahead(asked: &mut [Asked<'_>]) {
    for one in asked.iter_mut().filter_map(|asked| asked.prepared.as_mut()) {
        if let Some(octets) = one.first_record() {
            octets.chunks(CACHE_LINE).for_each(prefetch);
        }
        if let Some([first, .., last]) = one.second_place() {
            [first, last].into_iter().for_each(prefetch);
        }
    }
}

/// What is known of a query before it is answered.
struct Asked<'a> {
    /// The client's network, unless it is not limited.
    network: Option<LimitedNetwork>,
    /// The question, if it is of the common form.
    prepared: Option<Prepared<'a, 'a>>,
}

/// A query as it arrived.
#[derive(Clone, Copy)]
struct Received<'b, 'p> {
    buffer: &'b [u8],
    length: usize,
    client: SocketAddr,
    /// The client's network, unless it is not limited.
    network: Option<LimitedNetwork>,
    prepared: Option<&'p Prepared<'p, 'p>>,
}

impl Received<'_, '_> {
    fn octets(&self) -> &[u8] {
        self.buffer.get(..self.length).unwrap_or_default()
    }
}

/// The network that a response is limited for; a client with a good cookie is where it says to be.
#[inline]
fn limited(query: &Received<'_, '_>, reply: &Reply) -> Option<LimitedNetwork> {
    query.network.filter(|_| reply.cookie != CookieState::Good)
}

/// Numbers drawn one after the other; not for secrets.
struct Draws(u64);

impl Draws {
    /// SplitMix64: a counter, well stirred.
    #[inline]
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let stirred = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let stirred = (stirred ^ stirred >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        stirred ^ stirred >> 31
    }
}
