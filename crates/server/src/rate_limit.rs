//! Response rate limiting: who is sent the same again and again is sent it less often.
//!
//! A source address in UDP may be a victim's. Past the limit a response is dropped, or every n-th
//! is replaced by an empty truncated one ("slip"): a real client then asks over TCP, and a victim
//! gets no more octets than were sent in its name.
//!
//! A bucket belongs to a client network, the kind of response and its subject. The table has a
//! fixed size and is read a cache line at a time: a key has eight places in one line. Who finds all
//! of them in use shares the least used. Only a part of the table is used until that happens, so
//! that it takes little of the processor's cache from what is answered. Pure: the time is an
//! argument; nothing is allocated after [`RateLimiter::new`].

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

/// How often the same may be sent to one client network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// How many responses a second; 0 switches it off.
    pub per_second: u32,
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
        RateLimit { per_second: 1000, slip: 2, exempt_loopback: true, ipv4_prefix: 24, ipv6_prefix: 56 }
    }
}

impl RateLimit {
    /// No limit at all.
    pub const OFF: RateLimit =
        RateLimit { per_second: 0, slip: 2, exempt_loopback: true, ipv4_prefix: 24, ipv6_prefix: 56 };

    /// The share of one of several threads, which the kernel spreads clients over by their ports.
    pub fn shared_by(self, threads: usize) -> RateLimit {
        let threads = u32::try_from(threads).unwrap_or(u32::MAX).max(1);
        RateLimit { per_second: self.per_second.div_ceil(threads), ..self }
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
    /// How many ticks one response costs.
    cost: u64,
    keys: [u64; 3],
    /// The bits of an address that are a network, worked out once and not for every query.
    ipv4_mask: u32,
    ipv6_mask: u128,
    lines: Box<[Line]>,
    /// How many of the lines are used: a power of two.
    used: usize,
}

/// A number for a client's network. An address is worked with once, where it has just been read: later it is in
/// memory in pieces, and the processor would wait for them.
#[derive(Clone, Copy)]
pub(crate) struct LimitedNetwork(u64);

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
        let lines = if limit.per_second == 0 { 0 } else { LINES };
        let cost = BURST / u64::from(limit.per_second.max(1));
        let keys = [1, 2, 3].map(|at| mixed(seed ^ 0x9e37_79b9_7f4a_7c15, 0xd1b5_4a32_d192_ed03 + 2 * at));
        let (ipv4_mask, ipv6_mask) = (ipv4_mask(limit.ipv4_prefix), ipv6_mask(limit.ipv6_prefix));
        let lines = vec![Line::default(); lines].into();
        RateLimiter { limit, cost, keys, ipv4_mask, ipv6_mask, lines, used: FIRST_LINES }
    }

    /// Judges a response of some kind on some subject for a client, and counts it if it is sent.
    pub fn judge(&mut self, client: IpAddr, kind: ResponseKind, subject: u64, now_ms: u64) -> Verdict {
        let limited = self.limited(client);
        limited.map_or(Verdict::Send, |network| self.judge_network(network, kind, subject, now_ms))
    }

    /// A number for a client's network, for whoever judges more than once; none where nothing is limited.
    #[inline]
    pub(crate) fn limited(&self, client: IpAddr) -> Option<LimitedNetwork> {
        let client = client.to_canonical();
        if self.lines.is_empty() || (self.limit.exempt_loopback && client.is_loopback()) {
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
    #[inline]
    pub(crate) fn judge_network(
        &mut self,
        network: LimitedNetwork,
        kind: ResponseKind,
        subject: u64,
        now_ms: u64,
    ) -> Verdict {
        let hash = self.hash(network, kind, subject);
        let (line, tag) = (self.line(hash), tag(hash));
        let now = now_ms.wrapping_mul(TICKS_A_MILLISECOND);
        // A line that is not there cannot be over its limit.
        let Some(line) = self.lines.get_mut(line) else { return Verdict::Send };
        let (bucket, crowded) = line.bucket(tag, now);
        let verdict = bucket.take(self.cost, self.limit.slip, now);
        if crowded {
            self.use_more();
        }
        verdict
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

    /// Where a judgement will look, for whoever wants it to be at hand by then.
    #[inline]
    pub(crate) fn place(&self, network: LimitedNetwork, kind: ResponseKind, subject: u64) -> Option<&Line> {
        self.lines.get(self.line(self.hash(network, kind, subject)))
    }

    #[inline]
    fn hash(&self, LimitedNetwork(network): LimitedNetwork, kind: ResponseKind, subject: u64) -> u64 {
        let [.., third] = self.keys;
        mixed(network ^ subject, third.wrapping_add(kind as u64))
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

    fn take(&mut self, cost: u64, slip: u8, now: u64) -> Verdict {
        let owed = self.owes(now) + cost;
        if owed <= BURST {
            let due = now.wrapping_add(owed);
            (self.due_low, self.due_high) = (due as u32, (due >> 32) as u8);
            return Verdict::Send;
        }
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
