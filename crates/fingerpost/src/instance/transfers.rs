//! Transfers of a running instance: who may have which zones, and who is told of their changes.
//!
//! ```text
//! plan ──► DNSClass embedded.transfer ─┬─ Secrets ──► settings ──► view table
//!      └──► zones ──► archive: steps, off the publishing path
//!                 └──► catalog ──► view table
//!                 └──► a serial moved ──► NOTIFY
//! ```
//!
//! Whatever is missing here, answers go on: a class without its keys refuses every transfer, and the
//! log says why.

pub mod held;
mod notices;
mod settings;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use api::dnsclass::Transfer;
use backends::transport::guard::Guard;
use dns::Name;
use server::transfer::{Catalog, TransferSettings};
use server::{Endpoint, ViewTable, Zone, Zones};
use tokio::sync::watch;
use tokio::task::{JoinHandle, spawn_blocking};

use super::Instance;
use crate::secrets::Secrets;
use notices::{Notices, Sender};
use settings::Gathered;

/// How often it is looked whether a secondary is to be told again, and a Secret is there by now.
const LOOK: Duration = Duration::from_secs(15);

/// Follows the instance in the background.
#[derive(Debug)]
pub struct Transfers {
    changed: watch::Sender<()>,
    task: JoinHandle<()>,
}

/// What transfers are made of.
pub struct Means {
    /// The instance.
    pub instance: Arc<Instance>,
    /// Where keys come from.
    pub secrets: Arc<dyn Secrets>,
    /// Counts up when keys may have changed.
    pub secret_changes: watch::Receiver<u64>,
    /// Where a NOTIFY may go.
    pub guard: Arc<Guard>,
    /// What the last run served, where its serials stood for its content: steps lead on from there.
    pub before: BTreeMap<String, Zones>,
}

impl Transfers {
    /// Begins to follow the instance.
    pub fn start(means: Means) -> Transfers {
        let (changed, changes) = watch::channel(());
        let keeping = Keeping {
            means,
            catalogs: BTreeMap::new(),
            gathered: BTreeMap::new(),
            notices: Notices::default(),
        };
        Transfers { changed, task: tokio::spawn(keeping.follow(changes)) }
    }

    /// Says that the plan or what is served may be another.
    pub fn follow(&self) {
        self.changed.send_replace(());
    }
}

impl Drop for Transfers {
    fn drop(&mut self) {
        self.task.abort();
    }
}

struct Keeping {
    means: Means,
    catalogs: BTreeMap<String, Catalog>,
    gathered: BTreeMap<String, Gathered>,
    notices: Notices,
}

impl Keeping {
    async fn follow(mut self, mut changes: watch::Receiver<()>) {
        let mut looks = tokio::time::interval(LOOK);
        loop {
            let has_ended = tokio::select! {
                changed = changes.changed() => changed.is_err(),
                Ok(()) = self.means.secret_changes.changed() => {
                    self.gathered.values_mut().for_each(Gathered::doubt);
                    false
                }
                _ = looks.tick() => false,
            };
            if has_ended {
                return;
            }
            self.round().await;
        }
    }

    async fn round(&mut self) {
        if !self.means.instance.views.load().synced {
            return;
        }
        self.set().await;
        let table = Arc::clone(&self.means.instance.views.load());
        self.keep(&table).await;
        self.catalog(&table);
        for (view, settings) in &table.transfers {
            let zones = settled(&table, view).chain(self.catalog_zones(view)).collect();
            let (from, views) = (self.address(&table, view), &self.means.instance.views);
            self.notices.tell(&Sender { view, from, settings, views }, zones);
        }
        self.notices.forget(|view| table.transfers.contains_key(view));
    }

    /// The address that a view listens on, where that is one.
    fn address(&self, table: &ViewTable, view: &str) -> Option<IpAddr> {
        let leads = |endpoint: &Endpoint| {
            endpoint.view.as_deref() == Some(view) || endpoint.clients.iter().any(|(_, other)| other == view)
        };
        let facts = self.means.instance.facts();
        let mut listeners = facts.listeners.iter().filter(|counted| !counted.address.ip().is_unspecified());
        let found = listeners.find(|counted| table.endpoints.get(&counted.endpoint).is_some_and(leads));
        found.map(|counted| counted.address.ip())
    }

    /// Brings the settings of all views up to date.
    async fn set(&mut self) {
        let wanted = self.wanted();
        self.gathered.retain(|view, _| wanted.contains_key(view));
        for (view, transfer) in wanted {
            let known = self.gathered.get(&view);
            if known.is_some_and(|known| known.is_of(&transfer)) {
                continue;
            }
            let gathered =
                Gathered::new(&view, transfer, &*self.means.secrets, &self.means.guard, known).await;
            self.gathered.insert(view, gathered);
        }
        let settings: BTreeMap<String, Arc<TransferSettings>> = self
            .gathered
            .iter()
            .filter_map(|(view, gathered)| Some((view.clone(), gathered.settings.clone()?)))
            .collect();
        let views = &self.means.instance.views;
        if views.load().transfers != settings {
            views.archive().retain_views(|view| settings.contains_key(view));
            views.publish(|table| table.transfers = settings);
        }
    }

    /// What the classes of the views say about transfers.
    fn wanted(&self) -> BTreeMap<String, Transfer> {
        let planner = self.means.instance.planner();
        let transfer = |view: &str| planner.embedded_class(view)?.transfer.clone();
        let views = planner.views().into_iter().filter(settings::is_class);
        views.filter_map(|view| Some((view.name.clone(), transfer(&view.name)?))).collect()
    }

    /// Keeps the versions of all zones. Another file below a large zone costs a look at all of it.
    async fn keep(&mut self, table: &Arc<ViewTable>) {
        let before = std::mem::take(&mut self.means.before);
        let (table, instance) = (Arc::clone(table), Arc::clone(&self.means.instance));
        let kept = spawn_blocking(move || {
            let archive = instance.views.archive();
            for view in table.transfers.keys() {
                let old = before.get(view).into_iter().flat_map(all);
                for zone in old.chain(settled(&table, view)) {
                    archive.keep(view, &zone);
                }
                let catalogs = table.catalogs.get(view);
                let zones = table.views.get(view).into_iter().chain(catalogs);
                let there: BTreeSet<&Name> = zones.flat_map(Zones::origins).collect();
                archive.retain(view, |origin| there.contains(origin));
            }
        });
        if let Err(error) = kept.await {
            tracing::error!(%error, "the versions of zones could not be kept; please report this");
        }
    }

    /// Brings the catalogs up to date.
    fn catalog(&mut self, table: &ViewTable) {
        let now = u32::try_from(seconds()).unwrap_or(u32::MAX);
        let mut changed = self.catalogs.len();
        self.catalogs.retain(|view, _| table.transfers.contains_key(view));
        changed -= self.catalogs.len();
        for view in table.transfers.keys() {
            let members: BTreeSet<Name> = settled(table, view).map(|zone| zone.origin().clone()).collect();
            let is_new = match self.catalogs.get_mut(view) {
                Some(catalog) => catalog.update(members, now),
                None => {
                    self.catalogs.extend(Catalog::new(view, members, now).map(|made| (view.clone(), made)));
                    true
                }
            };
            changed += usize::from(is_new);
        }
        if changed > 0 {
            let zones = self.catalogs.iter().map(|(view, catalog)| (view.clone(), catalog.zones().clone()));
            let zones = zones.collect();
            self.means.instance.views.publish(|table| table.catalogs = zones);
        }
    }

    fn catalog_zones(&self, view: &str) -> impl Iterator<Item = Arc<Zone>> {
        self.catalogs.get(view).map(Catalog::zones).into_iter().flat_map(all)
    }
}

fn all(zones: &Zones) -> impl Iterator<Item = Arc<Zone>> {
    zones.origins().filter_map(|origin| zones.zone(origin)).cloned()
}

/// The zones of a view that have content, each in its settled version.
fn settled<'a>(table: &'a ViewTable, view: &str) -> impl Iterator<Item = Arc<Zone>> + 'a {
    let held = table.held.get(view);
    let zones = table.views.get(view).into_iter().flat_map(all);
    let settled = zones.filter_map(move |zone| match held.and_then(|held| held.get(zone.origin())) {
        Some(held) => held.clone(),
        None => Some(zone),
    });
    settled.filter(|zone| zone.soa().is_some())
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
