//! The places for connections at an address: how many there are, and which connection is evicted.
//!
//! Clients of one network share a part of the places, so that one network cannot take all. Where there is no
//! place left, a new connection evicts another one, in this order:
//!
//! 1. the one whose client has not read what was sent to it for longest;
//! 2. one that waits for its next query, of a client that has several;
//! 3. one that is being answered, of a client that has more than a quarter of a network's share;
//! 4. one that waits for its next query, the only one of its client;
//! 5. one that is being answered.
//!
//! Of 2 to 5 the client with the most connections loses the one that has waited, or has been answered, longest.
//! A client is a network here, and among the connections of one network an address.
//!
//! A new connection evicts none of a client that has fewer than its own has with it. So a client with one
//! connection keeps it while others have many, and a client of a network that has none always gets a place.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::Limits;
use crate::Network;
use crate::counters::Eviction;

/// What counts as one network.
const IPV4_PREFIX: u8 = 24;
const IPV6_PREFIX: u8 = 56;
/// How long a write may wait before the client counts as one that does not read. A client of a large transfer
/// that reads makes room more often, however slow its line is.
const STUCK: Duration = Duration::from_secs(1);
/// More than this part of a network's share are many connections.
const MANY: usize = 4;

/// All places of an address.
#[derive(Clone, Debug)]
pub(super) struct Seats(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    limits: Limits,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    /// Counts everything that happens, so that the older is the smaller.
    clock: u64,
    taken: BTreeMap<u64, Taken>,
    /// How many connections each network has, and each address, which is a network of one.
    counts: HashMap<Network, usize>,
}

#[derive(Debug)]
struct Taken {
    client: Client,
    /// Whether it waits for a query.
    is_idle: bool,
    /// Since when it is idle, or is not.
    since: u64,
    /// Since when a write has waited for the client to read.
    unread_since: Option<Instant>,
    leave: Arc<Notify>,
}

/// Where a connection comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Client {
    network: Network,
    /// The address alone.
    host: Network,
}

impl Client {
    fn new(address: IpAddr) -> Client {
        let address = address.to_canonical();
        let prefix = if address.is_ipv4() { IPV4_PREFIX } else { IPV6_PREFIX };
        Client { network: Network::new(address, prefix), host: Network::new(address, u8::MAX) }
    }
}

/// One place; dropping it frees it.
#[derive(Debug)]
pub(super) struct Seat {
    number: u64,
    leave: Arc<Notify>,
    seats: Seats,
}

/// A write that waits for its client; dropping it says that it does not wait any more.
pub(super) struct Unread<'a>(&'a Seat);

impl Seats {
    pub(super) fn new(limits: Limits) -> Seats {
        Seats(Arc::new(Shared { limits, table: Mutex::default() }))
    }

    /// A place for a client, if need be that of another; says why the other was evicted.
    pub(super) fn take(&self, client: IpAddr) -> Option<(Seat, Option<Eviction>)> {
        self.take_at(client, Instant::now())
    }

    fn take_at(&self, client: IpAddr, now: Instant) -> Option<(Seat, Option<Eviction>)> {
        let client = Client::new(client);
        let mut table = self.table();
        let limits = &self.0.limits;
        let newcomer = table.newcomer(client, limits, now);
        let evicted = if newcomer.has_share || table.taken.len() >= limits.connections {
            Some(table.evict(&newcomer)?)
        } else {
            None
        };
        let (number, leave) = table.insert(client);
        Some((Seat { number, leave, seats: self.clone() }, evicted))
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // Nothing that is done with it can panic half-way.
        self.0.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Table {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn count(&self, network: Network) -> usize {
        self.counts.get(&network).copied().unwrap_or(0)
    }

    fn insert(&mut self, client: Client) -> (u64, Arc<Notify>) {
        let (since, leave) = (self.tick(), Arc::new(Notify::new()));
        let taken = Taken { client, is_idle: true, since, unread_since: None, leave: Arc::clone(&leave) };
        self.taken.insert(since, taken);
        for network in [client.network, client.host] {
            *self.counts.entry(network).or_default() += 1;
        }
        (since, leave)
    }

    fn remove(&mut self, number: u64) -> Option<Taken> {
        let taken = self.taken.remove(&number)?;
        for network in [taken.client.network, taken.client.host] {
            match self.count(network) {
                0 | 1 => self.counts.remove(&network),
                more => self.counts.insert(network, more - 1),
            };
        }
        Some(taken)
    }

    /// A connection that needs a place.
    fn newcomer(&self, client: Client, limits: &Limits, now: Instant) -> Newcomer {
        let of_network = self.count(client.network);
        Newcomer {
            client,
            of_network: of_network + 1,
            of_host: self.count(client.host) + 1,
            has_share: of_network >= limits.connections_per_network,
            many: (limits.connections_per_network / MANY).max(1),
            now,
        }
    }

    /// Evicts the connection that comes first in the order; none where the newcomer may evict none.
    fn evict(&mut self, newcomer: &Newcomer) -> Option<Eviction> {
        let ranked =
            self.taken.iter().filter_map(|(number, taken)| Some((self.rank(taken, newcomer)?, *number)));
        let (rank, number) = ranked.min()?;
        self.remove(number)?.leave.notify_one();
        Some(rank.tier.eviction())
    }

    /// Where a connection comes in the order, the first evicted first; none where it may not be evicted.
    fn rank(&self, taken: &Taken, newcomer: &Newcomer) -> Option<Rank> {
        let is_neighbour = taken.client.network == newcomer.client.network;
        let is_own = taken.client.host == newcomer.client.host;
        // What the newcomer adds to its own network and address counts on both sides.
        let of_network = self.count(taken.client.network) + usize::from(is_neighbour);
        let of_host = self.count(taken.client.host) + usize::from(is_own);
        let is_candidate = match is_neighbour {
            true => of_host >= newcomer.of_host,
            false => !newcomer.has_share && of_network >= newcomer.of_network,
        };
        let count = if newcomer.has_share { of_host } else { of_network };
        let unread = taken.unread(newcomer.now);
        let tier = match unread {
            Some(_) => Tier::NotReading,
            None if taken.is_idle && count > 1 => Tier::IdleOfSeveral,
            None if taken.is_idle => Tier::IdleAlone,
            // An address does not evict what is being answered to itself.
            None if is_own => return None,
            None if count > newcomer.many => Tier::BusyOfMany,
            None => Tier::Busy,
        };
        let unread = Reverse(unread.unwrap_or_default());
        let (of_network, of_host) = (Reverse(of_network), Reverse(of_host));
        is_candidate.then_some(Rank { tier, unread, of_network, of_host, since: taken.since })
    }
}

impl Taken {
    /// How long its client has not read, where that is long enough to count.
    fn unread(&self, now: Instant) -> Option<Duration> {
        let unread = self.unread_since.map(|since| now.saturating_duration_since(since));
        unread.filter(|unread| *unread >= STUCK)
    }
}

/// A connection that needs a place.
struct Newcomer {
    client: Client,
    /// How many connections its network and its address have with it.
    of_network: usize,
    of_host: usize,
    /// Whether its network has its share, so that a neighbour is evicted.
    has_share: bool,
    /// A client with more connections than this has many.
    many: usize,
    now: Instant,
}

/// The order of eviction: the least is evicted first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    tier: Tier,
    unread: Reverse<Duration>,
    of_network: Reverse<usize>,
    of_host: Reverse<usize>,
    since: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tier {
    /// The client does not read.
    NotReading,
    /// Waits for a query; the client has several connections.
    IdleOfSeveral,
    /// Is being answered; the client has many connections.
    BusyOfMany,
    /// Waits for a query; the client has no other connection.
    IdleAlone,
    /// Is being answered.
    Busy,
}

impl Tier {
    fn eviction(self) -> Eviction {
        match self {
            Tier::NotReading => Eviction::NotReading,
            Tier::IdleOfSeveral | Tier::IdleAlone => Eviction::Idle,
            Tier::BusyOfMany | Tier::Busy => Eviction::Busy,
        }
    }
}

impl Seat {
    /// Says whether the client waits for us, or we for the client.
    pub(super) fn set_busy(&self, is_busy: bool) {
        let mut table = self.seats.table();
        let since = table.tick();
        if let Some(taken) = table.taken.get_mut(&self.number) {
            (taken.is_idle, taken.since) = (!is_busy, since);
        }
    }

    /// Says that a write waits for the client to read, until the value is dropped.
    pub(super) fn unread(&self) -> Unread<'_> {
        self.set_unread(Some(Instant::now()));
        Unread(self)
    }

    fn set_unread(&self, since: Option<Instant>) {
        if let Some(taken) = self.seats.table().taken.get_mut(&self.number) {
            taken.unread_since = since;
        }
    }

    /// Completes when the place is needed for another, however often it is asked.
    pub(super) async fn needed(&self) {
        while self.seats.table().taken.contains_key(&self.number) {
            self.leave.notified().await;
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.table().remove(self.number);
    }
}

impl Drop for Unread<'_> {
    fn drop(&mut self) {
        self.0.set_unread(None);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use proptest::prelude::*;

    fn seats(connections: usize, connections_per_network: usize) -> Seats {
        Seats::new(Limits { connections, connections_per_network, ..Limits::default() })
    }

    fn client(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    /// A place, and why another lost it.
    fn take(seats: &Seats, text: &str) -> (Seat, Option<Eviction>) {
        seats.take(client(text)).unwrap()
    }

    fn seat(seats: &Seats, text: &str) -> Seat {
        take(seats, text).0
    }

    fn busy(seats: &Seats, text: &str) -> Seat {
        let seat = seat(seats, text);
        seat.set_busy(true);
        seat
    }

    fn is_evicted(seat: &Seat) -> bool {
        !seat.seats.table().taken.contains_key(&seat.number)
    }

    async fn is_needed(seat: &Seat) -> bool {
        let moment = std::time::Duration::from_millis(1);
        tokio::time::timeout(moment, seat.needed()).await.is_ok()
    }

    #[tokio::test]
    async fn the_one_that_waited_longest_gives_way() {
        let seats = seats(3, 3);
        let [first, second, third] =
            ["192.0.2.1", "198.51.100.1", "2001:db8::1"].map(|client| seat(&seats, client));
        first.set_busy(true);
        second.set_busy(true);
        second.set_busy(false);
        let (fourth, evicted) = take(&seats, "203.0.113.1");
        assert_eq!(evicted, Some(Eviction::Idle));
        assert!(is_needed(&third).await, "it came last but has waited longest");
        assert!(is_needed(&third).await, "and is told so as often as it asks");
        assert!(!is_needed(&first).await && !is_needed(&second).await && !is_needed(&fourth).await);
    }

    #[test]
    fn a_client_that_does_not_read_is_evicted_before_one_that_idles() {
        let seats = seats(3, 3);
        let (idle, slow, stuck) =
            (seat(&seats, "192.0.2.1"), busy(&seats, "198.51.100.1"), busy(&seats, "203.0.113.1"));
        stuck.set_unread(Some(Instant::now()));
        let later = Instant::now() + STUCK;
        slow.set_unread(Some(later));
        let (_new, evicted) = seats.take_at(client("192.0.3.1"), later).unwrap();
        assert_eq!(evicted, Some(Eviction::NotReading));
        assert!(is_evicted(&stuck) && !is_evicted(&idle) && !is_evicted(&slow));
        let (_new, evicted) = seats.take_at(client("192.0.4.1"), later).unwrap();
        assert_eq!(evicted, Some(Eviction::Idle));
        assert!(is_evicted(&idle) && !is_evicted(&slow), "it has not been waited for long");
    }

    #[test]
    fn a_write_that_goes_on_is_not_unread() {
        let seats = seats(2, 2);
        let (reading, other) = (busy(&seats, "192.0.2.1"), busy(&seats, "198.51.100.1"));
        drop(reading.unread());
        other.set_unread(Some(Instant::now()));
        let (_new, evicted) = seats.take_at(client("203.0.113.1"), Instant::now() + 2 * STUCK).unwrap();
        assert_eq!(evicted, Some(Eviction::NotReading));
        assert!(is_evicted(&other) && !is_evicted(&reading));
    }

    #[test]
    fn where_all_are_busy_the_network_with_the_most_connections_gives_way() {
        let seats = seats(4, 4);
        let small = busy(&seats, "198.51.100.1");
        let large = ["192.0.2.1", "192.0.2.2", "192.0.2.3"].map(|client| busy(&seats, client));
        let (new, evicted) = take(&seats, "203.0.113.1");
        assert_eq!(evicted, Some(Eviction::Busy));
        assert!(is_evicted(&large[0]) && !is_evicted(&small) && !is_evicted(&new));
    }

    #[test]
    fn a_network_evicts_nobody_who_has_fewer_connections() {
        let seats = seats(4, 3);
        let honest = seat(&seats, "198.51.100.1");
        let _other = busy(&seats, "203.0.113.1");
        let mut flood: Vec<Seat> = ["192.0.2.1", "192.0.2.1"].map(|client| busy(&seats, client)).into();
        for _ in 0..1000 {
            // Its connections are evicted by its own, once there is no other place.
            flood[0].set_busy(false);
            flood.push(seat(&seats, "192.0.2.1"));
            flood.remove(0);
            assert!(!is_evicted(&honest));
        }
    }

    #[test]
    fn a_network_with_one_connection_keeps_it_while_another_has_many() {
        for is_busy in [false, true] {
            let seats = seats(6, 4);
            let alone = seat(&seats, "198.51.100.1");
            let many = [1, 2, 3, 4].map(|host| seat(&seats, &format!("192.0.2.{host}")));
            many.iter().for_each(|seat| seat.set_busy(is_busy));
            let newcomers = [1, 2, 3, 4].map(|network| take(&seats, &format!("10.0.{network}.1")));
            assert!(!is_evicted(&alone), "it has waited longest");
            assert_eq!(many.iter().filter(|seat| is_evicted(seat)).count(), 3);
            let reason = if is_busy { Eviction::Busy } else { Eviction::Idle };
            assert!(newcomers[1..].iter().all(|(_, evicted)| *evicted == Some(reason)));
        }
    }

    #[test]
    fn a_client_that_does_not_read_is_evicted_before_one_of_many() {
        let seats = seats(5, 4);
        let alone = busy(&seats, "198.51.100.1");
        alone.set_unread(Some(Instant::now()));
        let many = ["192.0.2.1"; 4].map(|client| seat(&seats, client));
        let (_new, evicted) = seats.take_at(client("203.0.113.1"), Instant::now() + STUCK).unwrap();
        assert_eq!(evicted, Some(Eviction::NotReading));
        assert!(is_evicted(&alone) && !many.iter().any(is_evicted));
    }

    #[test]
    fn few_connections_that_are_answered_outlast_one_that_idles() {
        let seats = seats(33, 32);
        let idle = seat(&seats, "198.51.100.1");
        let few: Vec<Seat> = (0..8).map(|_| busy(&seats, "192.0.2.1")).collect();
        let _rest: Vec<Seat> = (0..24).map(|number| busy(&seats, &format!("10.0.{number}.1"))).collect();
        let (_new, evicted) = take(&seats, "203.0.113.1");
        assert_eq!(evicted, Some(Eviction::Idle));
        assert!(is_evicted(&idle) && !few.iter().any(is_evicted));
    }

    #[test]
    fn an_address_with_one_connection_keeps_it_while_its_neighbour_has_many() {
        let seats = seats(10, 4);
        let alone = seat(&seats, "192.0.2.1");
        let many = ["192.0.2.2"; 3].map(|client| busy(&seats, client));
        assert!(seats.take(client("192.0.2.2")).is_none(), "all of its own are being answered");
        let (_third, evicted) = take(&seats, "192.0.2.3");
        assert_eq!(evicted, Some(Eviction::Busy));
        assert!(!is_evicted(&alone) && is_evicted(&many[0]));
    }

    #[test]
    fn busy_neighbours_give_way_by_address_and_an_address_not_to_itself() {
        let seats = seats(2, 2);
        let greedy = [busy(&seats, "192.0.2.1"), busy(&seats, "192.0.2.1")];
        assert!(seats.take(client("192.0.2.1")).is_none());
        let (_neighbour, evicted) = take(&seats, "192.0.2.2");
        assert_eq!(evicted, Some(Eviction::Busy));
        assert!(is_evicted(&greedy[0]) && !is_evicted(&greedy[1]));
    }

    #[tokio::test]
    async fn a_network_that_has_its_part_gives_way_to_itself() {
        let seats = seats(10, 2);
        let other = seat(&seats, "198.51.100.1");
        let first = seat(&seats, "192.0.2.1");
        let second = seat(&seats, "192.0.2.2");
        let third = seat(&seats, "::ffff:192.0.2.3");
        assert!(is_needed(&first).await);
        assert!(!is_needed(&other).await && !is_needed(&second).await);
        second.set_busy(true);
        third.set_busy(true);
        assert!(seats.take(client("192.0.2.3")).is_none(), "it has one, and all are busy");
        assert!(seats.take(client("192.0.3.4")).is_some());
    }

    #[test]
    fn a_seat_that_was_given_away_frees_no_other() {
        let seats = seats(1, 1);
        let first = seat(&seats, "192.0.2.1");
        let second = busy(&seats, "192.0.2.1");
        drop(first);
        assert!(seats.take(client("192.0.2.1")).is_none());
        drop(second);
        assert!(seats.take(client("192.0.2.1")).is_some());
    }

    proptest! {
        /// Networks 1 to 4 do what they like; network 0 has one client with one connection at a time.
        #[test]
        fn a_client_of_a_small_network_always_gets_a_place_and_keeps_it(
            steps in proptest::collection::vec((1u8..5, 0u8..3, 0u8..4), 0..200),
        ) {
            let seats = seats(8, 2);
            let mut flood = Vec::new();
            let honest = |at: usize| seats.take(client(if at.is_multiple_of(2) { "10.0.0.1" } else { "10.0.9.1" }));
            let mut mine = honest(0).unwrap().0;
            for (at, (network, host, state)) in steps.into_iter().enumerate() {
                let taken = seats.take(IpAddr::from([10, 0, network, host]));
                flood.extend(taken.map(|(seat, _)| {
                    seat.set_busy(state > 0);
                    seat.set_unread((state > 1).then(Instant::now));
                    seat
                }));
                let table = seats.table();
                prop_assert!(table.taken.len() <= 8);
                prop_assert!(table.counts.values().all(|count| (1..=2).contains(count)));
                prop_assert_eq!(table.counts.values().sum::<usize>(), 2 * table.taken.len());
                drop(table);
                prop_assert!(!is_evicted(&mine), "by network {network}");
                if state == 3 {
                    mine = honest(at).expect("a place").0;
                }
            }
        }
    }
}
