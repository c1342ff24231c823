//! The open connections of a listener, and which of them is evicted for a new one.
//!
//! Where a client has its share, a new connection of it evicts one of its own that waits for it. Where the table is
//! full, a new connection evicts another one, in this order:
//!
//! 1. one that waits for its client, which has several;
//! 2. one that is served, of a client that has more than a quarter of a client's share;
//! 3. one that waits for its client, which has no other;
//! 4. one that is served, of a client that has more than the new connection's client has with it.
//!
//! The client with the most connections loses first the one that has waited longest without a complete request,
//! then the one that has not been read or sent to for longest, then the one that has been served longest. A new
//! connection evicts none of a client that has fewer than its own has with it. So a client with one connection
//! keeps it while others have many.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::Limits;

/// A connection that waits for its client for less than this is not evicted.
const LEAST_STALL: Duration = Duration::from_secs(1);
/// A client with more than this part of a client's share has many connections.
const MANY: usize = 4;
/// How often a connection's times are compared with the limits.
const LOOK: Duration = Duration::from_millis(250);

/// The open connections of one listener.
#[derive(Debug)]
pub struct Table {
    limits: Limits,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    connections: BTreeMap<u64, Arc<Connection>>,
    /// How many connections each client has.
    counts: HashMap<IpAddr, usize>,
}

/// A place in the table; it is free again when the value is dropped.
#[derive(Debug)]
pub struct Place {
    table: Arc<Table>,
    number: u64,
    connection: Arc<Connection>,
}

/// What is known of one connection.
#[derive(Debug)]
pub struct Connection {
    client: IpAddr,
    times: Mutex<Times>,
    evicted: Notify,
}

#[derive(Clone, Copy, Debug)]
struct Times {
    phase: Phase,
    /// When the phase began.
    since: Instant,
    /// Since when octets wait that the client does not read.
    write_blocked: Option<Instant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// No request: the client has not sent all headers of one.
    Waiting,
    /// The client has to send more of a body.
    Body,
    /// The request is handled, or the response is sent.
    Working,
}

impl Table {
    /// A table without connections.
    pub fn new(limits: Limits) -> Arc<Table> {
        Arc::new(Table { limits, open: Mutex::default() })
    }

    /// A place for a connection of a client. Where the table is full, or the client has its share, another
    /// connection is evicted; where none may be evicted, the new connection has no place.
    pub fn enter(self: &Arc<Table>, address: IpAddr) -> Option<Place> {
        let client = client_of(address);
        let mut open = self.lock();
        let newcomer = open.newcomer(client, &self.limits);
        if newcomer.has_share || open.connections.len() >= self.limits.connections {
            open.evict(&newcomer)?;
        }
        let (number, connection) = open.insert(client);
        Some(Place { table: self.clone(), number, connection })
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that needs a place.
struct Newcomer {
    client: IpAddr,
    /// How many connections its client has with it.
    of_client: usize,
    /// Whether its client has its share, so that it evicts one of its own.
    has_share: bool,
    /// A client with more connections than this has many.
    many: usize,
    now: Instant,
}

/// The order of eviction: the least is evicted first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    tier: Tier,
    of_client: Reverse<usize>,
    has_request: bool,
    since: Instant,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tier {
    /// Waits for its client, which has several connections.
    WaitingOfSeveral,
    /// Is served; the client has many connections.
    ServedOfMany,
    /// Waits for its client, which has no other connection.
    WaitingAlone,
    /// Is served; the client has more connections than that of the newcomer.
    ServedOfMore,
}

impl Open {
    fn count(&self, client: IpAddr) -> usize {
        self.counts.get(&client).copied().unwrap_or_default()
    }

    fn insert(&mut self, client: IpAddr) -> (u64, Arc<Connection>) {
        let (number, connection) = (self.next, Arc::new(Connection::new(client)));
        self.next += 1;
        self.connections.insert(number, connection.clone());
        *self.counts.entry(client).or_default() += 1;
        (number, connection)
    }

    fn remove(&mut self, number: u64) -> Option<Arc<Connection>> {
        let connection = self.connections.remove(&number)?;
        match self.count(connection.client) {
            0 | 1 => self.counts.remove(&connection.client),
            more => self.counts.insert(connection.client, more - 1),
        };
        Some(connection)
    }

    fn newcomer(&self, client: IpAddr, limits: &Limits) -> Newcomer {
        let (of_client, share) = (self.count(client), limits.connections_of_client);
        let (has_share, many) = (of_client >= share, share / MANY);
        Newcomer { client, of_client: of_client + 1, has_share, many, now: Instant::now() }
    }

    /// Evicts the connection that comes first in the order; none where the newcomer may evict none.
    fn evict(&mut self, newcomer: &Newcomer) -> Option<()> {
        let ranked =
            self.connections.iter().filter_map(|(number, one)| Some((self.rank(one, newcomer)?, *number)));
        let (_, number) = ranked.min()?;
        self.remove(number)?.evicted.notify_one();
        Some(())
    }

    /// Where a connection comes in the order; none where the newcomer may not evict it.
    fn rank(&self, one: &Connection, newcomer: &Newcomer) -> Option<Rank> {
        let is_own = one.client == newcomer.client;
        // What the newcomer adds to its own client counts on both sides.
        let of_client = self.count(one.client) + usize::from(is_own);
        if of_client < newcomer.of_client || (newcomer.has_share && !is_own) {
            return None;
        }
        let has_more = of_client > newcomer.of_client;
        let (tier, (has_request, since)) = match one.waits(newcomer.now) {
            Some(waits) if of_client > 1 => (Tier::WaitingOfSeveral, waits),
            Some(waits) => (Tier::WaitingAlone, waits),
            None if has_more && of_client > newcomer.many => (Tier::ServedOfMany, (true, one.times().since)),
            None if has_more => (Tier::ServedOfMore, (true, one.times().since)),
            None => return None,
        };
        Some(Rank { tier, of_client: Reverse(of_client), has_request, since })
    }
}

impl Connection {
    fn new(client: IpAddr) -> Connection {
        let times = Times { phase: Phase::Waiting, since: Instant::now(), write_blocked: None };
        Connection { client, times: Mutex::new(times), evicted: Notify::new() }
    }

    /// Since when the connection waits for its client, where it does. One without a request comes first.
    fn waits(&self, now: Instant) -> Option<(bool, Instant)> {
        let times = *self.times();
        let has_request = times.phase != Phase::Waiting;
        let since = match (times.write_blocked, times.phase) {
            (Some(blocked), _) => Some(blocked),
            (None, Phase::Waiting) => return Some((false, times.since)),
            (None, Phase::Body) => Some(times.since),
            (None, Phase::Working) => None,
        };
        since.filter(|since| now.duration_since(*since) >= LEAST_STALL).map(|since| (has_request, since))
    }

    /// Ready when the connection is evicted or has exceeded a limit.
    pub(super) async fn cut(&self, limits: Limits) {
        let exceeded = async {
            while !self.exceeds(limits, Instant::now()) {
                tokio::time::sleep(LOOK.min(limits.stall_time / 4)).await;
            }
        };
        tokio::select! {
            () = self.evicted.notified() => {}
            () = exceeded => {}
        }
    }

    fn exceeds(&self, limits: Limits, now: Instant) -> bool {
        let times = *self.times();
        let blocked = times.write_blocked.is_some_and(|since| now.duration_since(since) >= limits.stall_time);
        let late = times.phase != Phase::Waiting && now.duration_since(times.since) >= limits.request_time;
        blocked || late
    }

    /// A request has arrived.
    pub(super) fn set_working(&self) {
        self.enter(Phase::Working);
    }

    /// The response has ended.
    pub(super) fn set_waiting(&self) {
        self.enter(Phase::Waiting);
    }

    /// The client has to send more of a body, or has sent it.
    pub(super) fn set_reading(&self, reading: bool) {
        self.enter(if reading { Phase::Body } else { Phase::Working });
    }

    fn enter(&self, phase: Phase) {
        let mut times = self.times();
        (times.phase, times.since) = (phase, Instant::now());
    }

    /// Octets wait for the client, or it has taken some.
    pub(super) fn note_write(&self, blocked: bool) {
        let mut times = self.times();
        match (blocked, times.write_blocked) {
            (true, None) => times.write_blocked = Some(Instant::now()),
            (false, Some(_)) => times.write_blocked = None,
            _ => {}
        }
    }

    fn times(&self) -> MutexGuard<'_, Times> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// What is known of the connection.
    pub fn connection(&self) -> Arc<Connection> {
        self.connection.clone()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.table.lock().remove(self.number);
    }
}

/// Whose share a connection counts in: the IPv4 address, or the IPv6 network of 64 bits.
fn client_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        address => address,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn table(connections: usize, connections_of_client: usize) -> Arc<Table> {
        Table::new(Limits { connections, connections_of_client, ..Limits::default() })
    }

    fn client(number: u8) -> IpAddr {
        IpAddr::from([192, 0, 2, number])
    }

    fn is_open(place: &Place) -> bool {
        place.table.lock().connections.contains_key(&place.number)
    }

    #[test]
    fn the_connection_that_waited_longest_without_a_request_makes_room() {
        let table = table(3, 3);
        let places: Vec<Place> = (0..3).map(|number| table.enter(client(number)).unwrap()).collect();
        places[0].connection.set_working();
        let _last = table.enter(client(9)).unwrap();
        assert_eq!(places.iter().map(is_open).collect::<Vec<_>>(), [true, false, true]);
    }

    #[test]
    fn a_connection_that_is_served_is_not_evicted() {
        let table = table(2, 2);
        let places: Vec<Place> = (0..2).map(|number| table.enter(client(number)).unwrap()).collect();
        places.iter().for_each(|place| place.connection.set_working());
        assert!(table.enter(client(9)).is_none());
        drop(places);
        assert!(table.enter(client(9)).is_some());
        assert!(table.lock().counts.is_empty());
    }

    #[test]
    fn a_client_with_one_connection_keeps_it_while_another_has_many() {
        let table = table(6, 4);
        let alone = table.enter(client(1)).unwrap();
        let many: Vec<Place> = (0..4).map(|_| table.enter(client(2)).unwrap()).collect();
        let newcomers: Vec<Place> = (3..7).map(|number| table.enter(client(number)).unwrap()).collect();
        assert!(is_open(&alone), "it has waited longest");
        assert_eq!(many.iter().map(is_open).collect::<Vec<_>>(), [false, false, false, true]);
        assert!(newcomers.iter().all(is_open));
    }

    #[test]
    fn a_client_with_one_connection_keeps_it_while_another_is_served_on_many() {
        let table = table(8, 8);
        let alone = table.enter(client(1)).unwrap();
        let served: Vec<Place> = (0..7).map(|_| table.enter(client(2)).unwrap()).collect();
        served.iter().for_each(|place| place.connection.set_working());
        let newcomers: Vec<Place> = (3..8).map(|number| table.enter(client(number)).unwrap()).collect();
        assert!(is_open(&alone) && newcomers.iter().all(is_open));
        let open = || served.iter().filter(|place| is_open(place)).count();
        assert_eq!(open(), 2);
        let _other = table.enter(client(9)).unwrap();
        assert_eq!((is_open(&alone), open()), (false, 2), "two are not many");
    }

    #[test]
    fn a_client_without_a_connection_gets_a_place_from_those_that_are_served_on_several() {
        let table = table(8, 8);
        let enter = |one: u8| {
            let place = table.enter(client(one)).unwrap();
            place.connection.set_working();
            place
        };
        let served = [1, 1, 2, 2, 2, 3, 3, 3].map(enter);
        let newcomers = [4, 5, 6, 7, 8].map(enter);
        let open: Vec<usize> = (0..8).filter(|at| is_open(&served[*at])).collect();
        assert_eq!((open, newcomers.iter().all(is_open)), (vec![1, 4, 7], true));
        assert!(table.enter(client(9)).is_none(), "each has one");
    }

    #[test]
    fn a_client_with_more_connections_evicts_only_its_own() {
        let table = table(4, 4);
        let others = [table.enter(client(1)).unwrap(), table.enter(client(3)).unwrap()];
        let own = [table.enter(client(2)).unwrap(), table.enter(client(2)).unwrap()];
        own.iter().for_each(|place| place.connection.set_working());
        assert!(table.enter(client(2)).is_none());
        own[1].connection.set_waiting();
        assert!(table.enter(client(2)).is_some());
        assert!(others.iter().all(is_open) && is_open(&own[0]) && !is_open(&own[1]));
    }

    #[test]
    fn one_client_takes_its_share_from_itself() {
        let table = table(8, 2);
        let other = table.enter(client(1)).unwrap();
        let places: Vec<Place> = (0..6).map(|_| table.enter(client(2)).unwrap()).collect();
        assert!(is_open(&other));
        assert_eq!(places.iter().filter(|place| is_open(place)).count(), 2);
        let networks = ["2001:db8::1", "2001:db8::2"].map(|text| client_of(text.parse().unwrap()));
        assert_eq!(networks[0], networks[1]);
        assert_eq!(client_of("::ffff:192.0.2.1".parse().unwrap()), client(1));
    }

    #[test]
    fn a_client_that_does_not_read_makes_room_once_it_has_stalled() {
        let table = table(1, 1);
        let place = table.enter(client(1)).unwrap();
        place.connection.set_working();
        place.connection.note_write(true);
        assert!(table.enter(client(2)).is_none(), "it has only just stalled");
        place.connection.times().write_blocked = Instant::now().checked_sub(LEAST_STALL);
        assert!(table.enter(client(2)).is_some());
        assert!(!is_open(&place));
    }
}
