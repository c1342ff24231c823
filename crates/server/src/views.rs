//! Which zones a client sees: views, and the endpoints that lead to them.
//!
//! Readers never wait. Writers take turns, and each publishes all of its changes, in any number
//! of views, by one swap. Before that, small zones that changed are compiled for fast answers;
//! large ones are compiled by a thread of their own, and until it is done their changed names are
//! answered all the same, only not as fast.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;

use arc_swap::{ArcSwap, Guard};
use dns::Name;

use crate::fast::SMALL;
use crate::transfer::{Archive, TransferSettings};
use crate::{Network, Sight, Zone, Zones};

/// A listening address by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EndpointId(pub u16);

/// What the clients of one listening address see.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoint {
    /// The view of a client that is in none of the networks; with none it is refused.
    pub view: Option<String>,
    /// Networks with a view of their own; the longest prefix that holds the client decides.
    pub clients: Vec<(Network, String)>,
}

/// Everything that answers are made from, as of one moment.
#[derive(Clone, Debug, Default)]
pub struct ViewTable {
    /// The zones of each view.
    pub views: BTreeMap<String, Zones>,
    /// What each listening address leads to.
    pub endpoints: BTreeMap<EndpointId, Endpoint>,
    /// Whether the world has been read once. Until then nothing is said not to exist.
    pub synced: bool,
    /// Who may transfer the zones of a view; where nothing is said, nobody.
    pub transfers: BTreeMap<String, Arc<TransferSettings>>,
    /// The catalog zones of views, for those who may transfer.
    pub catalogs: BTreeMap<String, Zones>,
    /// Zones whose content is ahead of their serial, with what is transferred meanwhile: the last
    /// version whose serial stood for it, where one is known.
    pub held: BTreeMap<String, BTreeMap<Name, Option<Arc<Zone>>>>,
}

impl ViewTable {
    /// What a client of an endpoint sees.
    pub fn sight(&self, endpoint: EndpointId, client: IpAddr) -> Sight<'_> {
        self.sight_of(self.endpoints.get(&endpoint).and_then(|endpoint| endpoint.view_of(client)))
    }

    fn sight_of(&self, view: Option<&str>) -> Sight<'_> {
        Sight { zones: view.and_then(|view| self.views.get(view)), synced: self.synced }
    }

    /// What the clients of an endpoint see.
    pub(crate) fn sights(&self, endpoint: EndpointId) -> Sights<'_> {
        let endpoint = self.endpoints.get(&endpoint);
        let common = self.sight_of(endpoint.and_then(|endpoint| endpoint.view.as_deref()));
        Sights { table: self, endpoint, common }
    }
}

/// What the clients of one endpoint see, looked up once for many of them.
pub(crate) struct Sights<'a> {
    table: &'a ViewTable,
    endpoint: Option<&'a Endpoint>,
    /// What a client in none of the networks sees.
    common: Sight<'a>,
}

impl<'a> Sights<'a> {
    #[inline]
    pub(crate) fn of(&self, client: IpAddr) -> Sight<'a> {
        match self.endpoint {
            Some(endpoint) if !endpoint.clients.is_empty() => self.table.sight_of(endpoint.view_of(client)),
            _ => self.common,
        }
    }
}

impl Endpoint {
    /// The view that a client is answered from.
    pub fn view_of(&self, client: IpAddr) -> Option<&str> {
        let networks = self.clients.iter().filter(|(network, _)| network.contains(client));
        // The first of equals wins, so the comparison is strict from the back.
        let longest = networks.rev().max_by_key(|(network, _)| network.prefix());
        longest.map(|(_, view)| view).or(self.view.as_ref()).map(String::as_str)
    }
}

/// A shared handle on the current table; clones see the same table.
#[derive(Clone, Debug, Default)]
pub struct Views(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    table: ArcSwap<ViewTable>,
    writer: Mutex<Option<Compiler>>,
    archive: Archive,
}

impl Views {
    /// An empty table, not synced.
    pub fn new() -> Views {
        Views::default()
    }

    /// Changes the table; readers see all of the change or nothing of it.
    pub fn publish(&self, change: impl FnOnce(&mut ViewTable)) {
        // A writer that panicked has published nothing, so its poison means nothing.
        let mut compiler = self.0.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if self.0.publish(change) {
            compiler.get_or_insert_with(|| Compiler::start(Arc::downgrade(&self.0))).wake();
        }
    }

    /// What is transferred of the table's zones.
    pub fn archive(&self) -> &Archive {
        &self.0.archive
    }

    /// The table as it now stands.
    pub fn load(&self) -> Guard<Arc<ViewTable>> {
        self.0.table.load()
    }
}

impl Shared {
    /// Says whether there are zones that a thread has to compile.
    fn publish(&self, change: impl FnOnce(&mut ViewTable)) -> bool {
        let mut table = ViewTable::clone(&self.table.load());
        change(&mut table);
        let large = table.views.values_mut().map(|zones| zones.compile(SMALL).len()).sum::<usize>();
        self.table.store(Arc::new(table));
        large > 0
    }

    /// Compiles every zone that wants it, and publishes each as soon as it is done.
    fn compile(&self) {
        let table = self.table.load_full();
        for (view, zones) in &table.views {
            for zone in zones.wanting() {
                let index = zone.compiled();
                let _turn = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
                self.publish(|table| {
                    if let Some(zones) = table.views.get_mut(view) {
                        zones.adopt(zone, index);
                    }
                });
            }
        }
    }
}

/// The thread that compiles large zones; it ends when the table is gone.
#[derive(Debug)]
struct Compiler {
    work: SyncSender<()>,
}

impl Compiler {
    fn start(shared: Weak<Shared>) -> Compiler {
        // One call waits while another is being answered; more would say the same.
        let (work, calls) = sync_channel(1);
        let run = move || {
            while let (Ok(()), Some(shared)) = (calls.recv(), shared.upgrade()) {
                shared.compile();
            }
        };
        if let Err(error) = thread::Builder::new().name("zone-compiler".to_owned()).spawn(run) {
            // Answers are right without it.
            tracing::warn!(%error, "no thread to compile large zones; their answers take longer");
        }
        Compiler { work }
    }

    fn wake(&self) {
        let _ = self.work.try_send(());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use rstest::rstest;

    fn endpoint() -> Endpoint {
        let clients =
            [("10.0.0.0/8", "wide"), ("10.1.0.0/16", "narrow"), ("10.1.0.0/16", "second"), ("::/0", "six")];
        let clients = clients.map(|(network, view)| (network.parse().unwrap(), view.to_owned())).to_vec();
        Endpoint { view: Some("default".to_owned()), clients }
    }

    #[rstest]
    #[case("10.2.0.1", "wide")]
    #[case("10.1.0.1", "narrow")]
    #[case("::ffff:10.1.0.1", "narrow")]
    #[case("2001:db8::1", "six")]
    #[case("192.0.2.1", "default")]
    fn the_longest_prefix_decides_before_the_default(#[case] client: &str, #[case] view: &str) {
        assert_eq!(endpoint().view_of(client.parse().unwrap()), Some(view));
    }

    #[test]
    fn a_change_is_seen_by_every_clone_and_not_by_a_reader_under_way() {
        let views = Views::new();
        let before = views.clone().load();
        views.publish(|table| table.synced = true);
        assert!(!before.synced);
        assert!(views.clone().load().synced);
    }

    #[test]
    fn a_writer_that_panics_publishes_nothing_and_stops_nobody() {
        let views = Views::new();
        let other = views.clone();
        let writer = std::thread::spawn(move || {
            other.publish(|table| {
                table.synced = true;
                panic!("in the middle of a change");
            });
        });
        assert!(writer.join().is_err());
        assert!(!views.load().synced);
        views.publish(|table| table.synced = true);
        assert!(views.load().synced);
    }
}
