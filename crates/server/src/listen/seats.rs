//! The places for connections at an address: how many there are, and who gives way.
//!
//! Where there is no place left, the connection that has waited longest for its next query is
//! ended in favour of a new one; where all are busy, the new one is refused. Clients of one
//! network share a part of the places, so that one network cannot take all.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::Limits;
use crate::Network;

/// What counts as one network.
const IPV4_PREFIX: u8 = 24;
const IPV6_PREFIX: u8 = 56;

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
}

#[derive(Debug)]
struct Taken {
    network: Network,
    /// Since when it waits for a query; none while it is at one.
    waits_since: Option<u64>,
    leave: Arc<Notify>,
}

/// One place; dropping it frees it.
#[derive(Debug)]
pub(super) struct Seat {
    number: u64,
    leave: Arc<Notify>,
    seats: Seats,
}

impl Seats {
    pub(super) fn new(limits: Limits) -> Seats {
        Seats(Arc::new(Shared { limits, table: Mutex::default() }))
    }

    /// A place for a client, if need be that of another.
    pub(super) fn take(&self, client: IpAddr) -> Option<Seat> {
        let client = client.to_canonical();
        let network = Network::new(client, if client.is_ipv4() { IPV4_PREFIX } else { IPV6_PREFIX });
        let mut table = self.table();
        let neighbours = table.taken.values().filter(|taken| taken.network == network).count();
        if neighbours >= self.0.limits.connections_per_network {
            table.end_oldest(|taken| taken.network == network)?;
        } else if table.taken.len() >= self.0.limits.connections {
            table.end_oldest(|_| true)?;
        }
        let (number, leave) = (table.tick(), Arc::new(Notify::new()));
        let taken = Taken { network, waits_since: Some(number), leave: Arc::clone(&leave) };
        table.taken.insert(number, taken);
        Some(Seat { number, leave, seats: self.clone() })
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

    /// Ends the one that has waited longest; none where all are busy.
    fn end_oldest(&mut self, eligible: impl Fn(&Taken) -> bool) -> Option<()> {
        let waiting = self.taken.iter().filter(|(_, taken)| eligible(taken));
        let waiting = waiting.filter_map(|(number, taken)| Some((taken.waits_since?, *number)));
        let (_, number) = waiting.min()?;
        self.taken.remove(&number)?.leave.notify_one();
        Some(())
    }
}

impl Seat {
    /// Says whether the client waits for us, or we for the client.
    pub(super) fn set_busy(&self, is_busy: bool) {
        let mut table = self.seats.table();
        let now = table.tick();
        if let Some(taken) = table.taken.get_mut(&self.number) {
            taken.waits_since = (!is_busy).then_some(now);
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
        self.seats.table().taken.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn seats(connections: usize, connections_per_network: usize) -> Seats {
        Seats::new(Limits { connections, connections_per_network, ..Limits::default() })
    }

    fn client(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    async fn is_needed(seat: &Seat) -> bool {
        let moment = std::time::Duration::from_millis(1);
        tokio::time::timeout(moment, seat.needed()).await.is_ok()
    }

    #[tokio::test]
    async fn the_one_that_waited_longest_gives_way() {
        let seats = seats(3, 3);
        let [first, second, third] = ["192.0.2.1", "198.51.100.1", "2001:db8::1"].map(client);
        let [first, second, third] = [first, second, third].map(|client| seats.take(client).unwrap());
        first.set_busy(true);
        second.set_busy(true);
        second.set_busy(false);
        let fourth = seats.take(client("203.0.113.1")).unwrap();
        assert!(is_needed(&third).await, "it came last but has waited longest");
        assert!(is_needed(&third).await, "and is told so as often as it asks");
        assert!(!is_needed(&first).await && !is_needed(&second).await && !is_needed(&fourth).await);
    }

    #[test]
    fn nobody_who_is_busy_gives_way() {
        let seats = seats(1, 1);
        let seat = seats.take(client("192.0.2.1")).unwrap();
        seat.set_busy(true);
        assert!(seats.take(client("198.51.100.1")).is_none());
        drop(seat);
        assert!(seats.take(client("198.51.100.1")).is_some());
    }

    #[tokio::test]
    async fn a_network_that_has_its_part_gives_way_to_itself() {
        let seats = seats(10, 2);
        let other = seats.take(client("198.51.100.1")).unwrap();
        let first = seats.take(client("192.0.2.1")).unwrap();
        let second = seats.take(client("192.0.2.2")).unwrap();
        let third = seats.take(client("::ffff:192.0.2.3")).unwrap();
        assert!(is_needed(&first).await);
        assert!(!is_needed(&other).await && !is_needed(&second).await);
        second.set_busy(true);
        third.set_busy(true);
        assert!(seats.take(client("192.0.2.4")).is_none());
        assert!(seats.take(client("192.0.3.4")).is_some());
    }

    #[test]
    fn a_seat_that_was_given_away_frees_no_other() {
        let seats = seats(1, 1);
        let first = seats.take(client("192.0.2.1")).unwrap();
        let second = seats.take(client("192.0.2.1")).unwrap();
        second.set_busy(true);
        drop(first);
        assert!(seats.take(client("192.0.2.1")).is_none());
    }
}
