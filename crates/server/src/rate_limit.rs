//! Response rate limiting: who is sent the same again and again is sent it less often.
//!
//! A source address in UDP may be a victim's. Past the limit a response is dropped, or every n-th
//! is replaced by an empty truncated one ("slip"): a real client then asks over TCP, and a victim
//! gets no more octets than were sent in its name.
//!
//! There are two limits. One is on responses of one kind on one subject to one client network. The other is on
//! octets to one client network, whatever they say: by the first alone, a source that asks for many names in turn
//! is sent each of them as often as the limit says.
//!
//! ```text
//!  before signing: judge ──┬─ answers: network, kind, subject ── one response
//!                          └─ octets:  network ──────────────── is there room for a whole response?
//!  when it is sent: charge ── octets:  network ──────────────── its length
//! ```
//!
//! While no network is near its limit on octets, only every eighth response that needs no signature is counted, by
//! chance, and counts eightfold: so the second limit costs next to nothing until it is needed. As soon as a
//! network has used half of a second's worth, every response is counted.
//!
//! A table of buckets has a fixed size and is read a cache line at a time: a key has eight places in one line.
//! A key that finds all of them in use shares the least used. Only a part of the table is used until that happens,
//! so that it takes little of the processor's cache from what is answered. Pure: the time is an argument; nothing
//! is allocated after [`RateLimiter::new`].

use std::net::IpAddr;

use crate::network::{ipv4_mask, ipv6_mask};

/// 8 places each: 64k buckets of 8 octets, which fits a core's second cache.
const LINES: usize = 8192;
/// How many are used at first.
const FIRST_LINES: usize = 256;
const WAYS: usize = 8;
/// The upper bits of a tag say where in its line it is looked for first; the lower ones may say in which line.
const HOME_SHIFT: u32 = u16::BITS - WAYS.ilog2();

/// A tick is 16 ns: fine enough for millions a second, and 40 bits of it are hours.
const TICKS_A_MILLISECOND: u64 = 62_500;
/// What a bucket holds: a burst may be as large as what a second allows.
const BURST: u64 = 1000 * TICKS_A_MILLISECOND;
const TIME_BITS: u32 = 40;
/// What an octet costs is a fraction of a tick where the limit is high; so many bits of it are kept.
const FRACTION_BITS: u32 = 16;
/// The longest response over UDP: with room for it, any response may be sent.
const LONGEST: usize = 1232;
/// One response of so many is counted, a power of two, where the limit is for many of them.
const SAMPLE: u64 = 8;
/// From this limit on.
const SAMPLED_FROM: u32 = 64 * LONGEST as u32;
/// How long all responses are counted after a network has come near its limit.
const ALARM: u64 = BURST;

/// How often the same may be sent to one client network, and how much in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// How many responses a second; 0 switches both limits off.
    pub per_second: u32,
    /// How many octets a second in all responses; 0 is any number.
    pub octets_per_second: u32,
    /// Of those held back every n-th is sent, empty and truncated; 0 is none, 1 is all.
    pub slip: u8,
    /// Whether clients on loopback addresses are never limited.
    pub exempt_loopback: bool,
    /// How many bits of an IPv4 address are a network.
    pub ipv4_prefix: u8,
    /// How many bits of an IPv6 address are a network.
    pub ipv6_prefix: u8,
}

impl Default for RateLimit {
    fn default() -> RateLimit {
        RateLimit { per_second: 1000, octets_per_second: 1_000_000, ..RateLimit::OFF }
    }
}

impl RateLimit {
    /// No limit at all.
    pub const OFF: RateLimit = RateLimit {
        per_second: 0,
        octets_per_second: 0,
        slip: 2,
        exempt_loopback: true,
        ipv4_prefix: 24,
        ipv6_prefix: 56,
    };

    /// The share of one of several threads, which the kernel spreads clients over by their ports.
    pub fn shared_by(self, threads: usize) -> RateLimit {
        let threads = u32::try_from(threads).unwrap_or(u32::MAX).max(1);
        let (per_second, octets_per_second) =
            (self.per_second.div_ceil(threads), self.octets_per_second.div_ceil(threads));
        RateLimit { per_second, octets_per_second, ..self }
    }
}

/// What a response is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ResponseKind {
    /// It has what was asked for; its subject is the name, or the wildcard that stands for it.
    Answer,
    /// The name has nothing of the type; its subject is the zone.
    NoData,
    /// The name does not exist; its subject is the zone.
    NxDomain,
    /// The name is delegated; its subject is the cut.
    Referral,
    /// Any failure.
    Error,
}

/// What becomes of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is sent.
    Send,
    /// An empty truncated one is sent in its place.
    Slip,
    /// Nothing is sent.
    Drop,
}

/// A number for a name in wire form, whatever the case of its letters.
pub fn subject(name: &[u8]) -> u64 {
    let lower = name.iter().map(u8::to_ascii_lowercase);
    lower.fold(0xcbf2_9ce4_8422_2325, |hash, octet| (hash ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3))
}

/// The buckets of one thread.
pub struct RateLimiter {
    limit: RateLimit,
    keys: [u64; 3],
    /// The bits of an address that are a network, worked out once and not for every query.
    ipv4_mask: u32,
    ipv6_mask: u128,
    /// By network, kind and subject.
    answers: Buckets,
    /// How many ticks one response costs.
    cost: u64,
    /// By network.
    octets: Buckets,
    /// How many ticks an octet costs, with its fraction.
    octet_cost: u64,
    /// How many ticks the longest response over UDP costs.
    whole_cost: u64,
    /// One response of so many is counted, less one.
    sample_mask: u64,
    /// Until when all are.
    alarm: u64,
    /// How many responses were held back because of their octets.
    octets_limited: u64,
}

/// A number for a client's network. An address is worked with once, where it has just been read: later it is in
/// memory in pieces, and the processor would wait for them.
#[derive(Clone, Copy)]
pub(crate) struct LimitedNetwork(u64);

/// A table of buckets, each with the tag of its key.
struct Buckets {
    lines: Box<[Line]>,
    /// How many of the lines are used: a power of two.
    used: usize,
}

/// One cache line of buckets.
#[derive(Clone, Copy, Default)]
#[repr(align(64))]
pub(crate) struct Line([Bucket; WAYS]);

/// The whole of it is paid off when the time is `due`; none is worth more than a burst.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Bucket {
    due_low: u32,
    due_high: u8,
    held_back: u8,
    tag: u16,
}

impl RateLimiter {
    /// Empty buckets; the seed keeps strangers from choosing whose bucket they fill.
    pub fn new(limit: RateLimit, seed: u64) -> RateLimiter {
        let is_on = limit.per_second != 0;
        let keys = [1, 2, 3].map(|at| mixed(seed ^ 0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03 + 2 * at));
        let octet_cost = (BURST << FRACTION_BITS) / u64::from(limit.octets_per_second.max(1));
        RateLimiter {
            limit,
            keys,
            ipv4_mask: ipv4_mask(limit.ipv4_prefix),
            ipv6_mask: ipv6_mask(limit.ipv6_prefix),
            answers: Buckets::new(is_on),
            cost: BURST / u64::from(limit.per_second.max(1)),
            octets: Buckets::new(is_on && limit.octets_per_second != 0),
            octet_cost,
            whole_cost: octets_cost(octet_cost, LONGEST),
            sample_mask: if limit.octets_per_second < SAMPLED_FROM { 0 } else { SAMPLE - 1 },
            alarm: 0,
            octets_limited: 0,
        }
    }

    /// Judges a response of some kind on some subject for a client, and counts it if it is sent.
    pub fn judge(&mut self, client: IpAddr, kind: ResponseKind, subject: u64, now_ms: u64) -> Verdict {
        let limited = self.limited(client);
        limited.map_or(Verdict::Send, |network| self.judge_network(network, kind, subject, now_ms))
    }

    /// Counts the octets of a response that is sent to a client.
    pub fn charge(&mut self, client: IpAddr, octets: usize, now_ms: u64) {
        if let Some(network) = self.limited(client) {
            self.charge_network(network, octets, now_ms);
        }
    }

    /// How many responses were held back because of their octets.
    pub fn octets_limited(&self) -> u64 {
        self.octets_limited
    }

    /// A number for a client's network, for whoever judges more than once; none where nothing is limited.
    #[inline]
    pub(crate) fn limited(&self, client: IpAddr) -> Option<LimitedNetwork> {
        let client = client.to_canonical();
        if self.answers.lines.is_empty() || (self.limit.exempt_loopback && client.is_loopback()) {
            return None;
        }
        let bits = match client {
            IpAddr::V4(address) => u128::from(address.to_bits() & self.ipv4_mask) | 1 << 127,
            IpAddr::V6(address) => address.to_bits() & self.ipv6_mask,
        };
        let [first, second, _] = self.keys;
        Some(LimitedNetwork(mixed(bits as u64 ^ first, (bits >> 64) as u64 ^ second)))
    }

    /// As [`RateLimiter::judge`].
    pub(crate) fn judge_network(
        &mut self,
        network: LimitedNetwork,
        kind: ResponseKind,
        subject: u64,
        now_ms: u64,
    ) -> Verdict {
        let now = now_ms.wrapping_mul(TICKS_A_MILLISECOND);
        match self.take_answer(network, kind, subject, now) {
            Verdict::Send => self.take_octets(network, 0, now),
            held_back => held_back,
        }
    }

    /// Judges a response that is written and counts it if it is sent, its octets by chance: `draw` is drawn for it.
    #[inline]
    pub(crate) fn judge_written(
        &mut self,
        network: LimitedNetwork,
        (kind, subject): (ResponseKind, u64),
        octets: usize,
        draw: u64,
        now_ms: u64,
    ) -> Verdict {
        let now = now_ms.wrapping_mul(TICKS_A_MILLISECOND);
        match self.take_answer(network, kind, subject, now) {
            Verdict::Send if draw & self.sample_mask != 0 && now >= self.alarm => Verdict::Send,
            Verdict::Send => self.take_octets(network, octets, now),
            held_back => held_back,
        }
    }

    /// As [`RateLimiter::charge`].
    pub(crate) fn charge_network(&mut self, network: LimitedNetwork, octets: usize, now_ms: u64) {
        let now = now_ms.wrapping_mul(TICKS_A_MILLISECOND);
        let cost = octets_cost(self.octet_cost, octets);
        let owed = self.octets.with(network.0, now, |bucket| bucket.charge(cost, now));
        self.look_out(owed, now);
    }

    #[inline(always)]
    fn take_answer(
        &mut self,
        network: LimitedNetwork,
        kind: ResponseKind,
        subject: u64,
        now: u64,
    ) -> Verdict {
        let (slip, cost) = (self.limit.slip, self.cost);
        let hash = self.hash(network, kind, subject);
        // What has no bucket has no limit.
        self.answers.with(hash, now, |bucket| bucket.take(cost, slip, now)).unwrap_or(Verdict::Send)
    }

    /// Takes octets where there is room for a whole response.
    #[inline(never)]
    fn take_octets(&mut self, network: LimitedNetwork, octets: usize, now: u64) -> Verdict {
        let (slip, room) = (self.limit.slip, self.whole_cost);
        let weight = if now < self.alarm { 1 } else { self.sample_mask + 1 };
        let cost = weight * octets_cost(self.octet_cost, octets);
        let taken = self.octets.with(network.0, now, |bucket| {
            let verdict = bucket.take_with_room(room, cost, slip, now);
            (verdict, bucket.owes(now))
        });
        let Some((verdict, owed)) = taken else { return Verdict::Send };
        self.look_out(Some(owed), now);
        self.octets_limited += u64::from(verdict != Verdict::Send);
        verdict
    }

    /// Has every response counted for a while where a network comes near its limit.
    fn look_out(&mut self, owed: Option<u64>, now: u64) {
        if owed.is_some_and(|owed| owed > BURST / 2) {
            self.alarm = now.saturating_add(ALARM);
        }
    }

    /// Where a judgement will look, for whoever wants it to be at hand by then.
    #[inline]
    pub(crate) fn place(&self, network: LimitedNetwork, kind: ResponseKind, subject: u64) -> Option<&Line> {
        self.answers.lines.get(self.answers.line(self.hash(network, kind, subject)))
    }

    #[inline]
    fn hash(&self, LimitedNetwork(network): LimitedNetwork, kind: ResponseKind, subject: u64) -> u64 {
        let [.., third] = self.keys;
        mixed(network ^ subject, third.wrapping_add(kind as u64))
    }
}

/// What so many octets cost in ticks.
#[inline]
fn octets_cost(octet_cost: u64, octets: usize) -> u64 {
    octet_cost.wrapping_mul(octets as u64) >> FRACTION_BITS
}

impl Buckets {
    fn new(is_used: bool) -> Buckets {
        Buckets { lines: vec![Line::default(); if is_used { LINES } else { 0 }].into(), used: FIRST_LINES }
    }

    /// Does something with the bucket of a key; none where there are no buckets.
    #[inline]
    fn with<T>(&mut self, hash: u64, now: u64, act: impl FnOnce(&mut Bucket) -> T) -> Option<T> {
        let (at, tag) = (self.line(hash), tag(hash));
        let (bucket, crowded) = self.lines.get_mut(at)?.bucket(tag, now);
        let result = act(bucket);
        if crowded {
            self.use_more();
        }
        Some(result)
    }

    /// Has twice as many lines used, if there are; the buckets of each are spread over two.
    #[cold]
    fn use_more(&mut self) {
        let (used, free) = self.lines.split_at_mut(self.used);
        let Some(more) = free.get_mut(..used.len()) else { return };
        let moves = (self.used / FIRST_LINES) as u16;
        for (old, new) in used.iter_mut().zip(more) {
            for (old, new) in old.0.iter_mut().zip(&mut new.0).filter(|(old, _)| old.tag & moves != 0) {
                *new = std::mem::take(old);
            }
        }
        self.used *= 2;
    }

    /// Where a hash has its bucket; past the first lines its tag says so, which the bucket has too.
    #[inline]
    fn line(&self, hash: u64) -> usize {
        ((hash as usize % FIRST_LINES) | (usize::from(tag(hash)) * FIRST_LINES)) & (self.used - 1)
    }
}

impl std::fmt::Debug for RateLimiter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RateLimiter({:?})", self.limit)
    }
}

impl Line {
    /// The bucket with a tag, else one handed over with what it owes; and whether all owe something.
    #[inline]
    fn bucket(&mut self, tag: u16, now: u64) -> (&mut Bucket, bool) {
        let home = usize::from(tag >> HOME_SHIFT);
        let (at, crowded) = if self.0[home].tag == tag { (home, false) } else { self.look(home, tag, now) };
        (&mut self.0[at], crowded)
    }

    /// The same, where the bucket is not the one that is looked at first: most are.
    #[inline(never)]
    fn look(&mut self, home: usize, tag: u16, now: u64) -> (usize, bool) {
        if let Some(at) = self.0.iter().position(|bucket| bucket.tag == tag) {
            return (at, false);
        }
        let mut at = home;
        if self.0[home].owes(now) > 0 {
            at = (0..WAYS).min_by_key(|way| self.0[*way].owes(now)).unwrap_or(home);
        }
        (self.0[at].tag, self.0[at].held_back) = (tag, 0);
        (at, self.0[at].owes(now) > 0)
    }
}

impl Bucket {
    /// How many ticks are not paid off yet.
    fn owes(&self, now: u64) -> u64 {
        let due = u64::from(self.due_high) << 32 | u64::from(self.due_low);
        let ahead = due.wrapping_sub(now) & ((1 << TIME_BITS) - 1);
        // Nobody owes more than a burst: further ahead is long ago.
        if ahead > BURST { 0 } else { ahead }
    }

    /// Takes what a response costs where there is room for it.
    #[inline]
    fn take(&mut self, cost: u64, slip: u8, now: u64) -> Verdict {
        let owed = self.owes(now) + cost;
        if owed <= BURST {
            let due = now.wrapping_add(owed);
            (self.due_low, self.due_high) = (due as u32, (due >> 32) as u8);
            return Verdict::Send;
        }
        self.hold_back(slip)
    }

    /// The same where there is room for so much; an empty bucket has room for anything.
    fn take_with_room(&mut self, room: u64, cost: u64, slip: u8, now: u64) -> Verdict {
        let owed = self.owes(now);
        if owed + room > BURST && owed > 0 {
            return self.hold_back(slip);
        }
        self.owe(owed + cost, now);
        Verdict::Send
    }

    /// Takes what was sent already; gives what is owed then.
    fn charge(&mut self, cost: u64, now: u64) -> u64 {
        let owed = self.owes(now) + cost;
        self.owe(owed, now);
        owed
    }

    #[inline]
    fn owe(&mut self, owed: u64, now: u64) {
        let due = now.wrapping_add(owed.min(BURST));
        (self.due_low, self.due_high) = (due as u32, (due >> 32) as u8);
    }

    #[cold]
    fn hold_back(&mut self, slip: u8) -> Verdict {
        self.held_back = self.held_back.saturating_add(1);
        if slip == 0 || self.held_back < slip {
            return Verdict::Drop;
        }
        self.held_back = 0;
        Verdict::Slip
    }
}

/// What a bucket keeps of a hash.
#[inline]
fn tag(hash: u64) -> u16 {
    (hash >> 48) as u16
}

/// Multiplies to 128 bits and folds them: every bit of both counts.
fn mixed(one: u64, other: u64) -> u64 {
    let product = u128::from(one) * u128::from(other);
    (product as u64) ^ (product >> 64) as u64
}

#[cfg(test)]
mod tests;
