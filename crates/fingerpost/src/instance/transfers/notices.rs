//! Who has been told of which serial, and who is to be told again.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use dns::Name;
use server::transfer::{Notice, TransferSettings, notify};
use server::{Views, Zone};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// How many zones one secondary is told of at a time.
const AT_ONCE: usize = 32;
/// Nobody is told again sooner than this without news.
const LEAST_REFRESH: u64 = 60;

/// What secondaries have been told.
#[derive(Default)]
pub(super) struct Notices {
    told: BTreeMap<(String, Name), Told>,
    doors: BTreeMap<SocketAddr, Arc<Semaphore>>,
}

struct Told {
    notice: Notice,
    to: Vec<SocketAddr>,
    again: Instant,
    tasks: Vec<JoinHandle<()>>,
}

impl Drop for Told {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

/// A view whose secondaries are told.
pub(super) struct Sender<'a> {
    /// Its name.
    pub(super) view: &'a str,
    /// Where it listens.
    pub(super) from: Option<IpAddr>,
    /// Who is told, and with which key.
    pub(super) settings: &'a TransferSettings,
    /// Where it is counted.
    pub(super) views: &'a Views,
}

impl Notices {
    /// Tells the secondaries of a view what is new to them.
    pub(super) fn tell(&mut self, sender: &Sender<'_>, zones: Vec<Arc<Zone>>) {
        let there: BTreeSet<&Name> = zones.iter().map(|zone| zone.origin()).collect();
        self.told.retain(|(of, origin), _| of != sender.view || there.contains(origin));
        for zone in &zones {
            let Some(soa) = zone.soa().cloned() else { continue };
            let key = sender.settings.keys.first().cloned();
            self.tell_one(sender, Notice { origin: zone.origin().clone(), soa, key });
        }
    }

    fn tell_one(&mut self, sender: &Sender<'_>, notice: Notice) {
        let (place, to) = ((sender.view.to_owned(), notice.origin.clone()), &sender.settings.notify);
        let is_known = |told: &Told| told.notice == notice && told.to == *to && Instant::now() < told.again;
        if self.told.get(&place).is_some_and(is_known) {
            return;
        }
        // What was still being told of an older serial ends here.
        self.told.remove(&place);
        let tasks = to.iter().map(|to| self.send(sender, notice.clone(), *to)).collect();
        let again = Instant::now() + refresh(&notice);
        self.told.insert(place, Told { notice, to: to.clone(), again, tasks });
    }

    fn send(&mut self, sender: &Sender<'_>, notice: Notice, to: SocketAddr) -> JoinHandle<()> {
        let door = self.doors.entry(to).or_insert_with(|| Arc::new(Semaphore::new(AT_ONCE))).clone();
        let (from, views) = (sender.from, sender.views.clone());
        tokio::spawn(async move {
            // Nobody closes it.
            let Ok(_turn) = door.acquire().await else { return };
            notify(&notice, from, to, views.archive()).await;
        })
    }

    /// Forgets the views that are not among those.
    pub(super) fn forget(&mut self, is_there: impl Fn(&str) -> bool) {
        self.told.retain(|(view, _), _| is_there(view));
    }
}

fn refresh(notice: &Notice) -> Duration {
    let soa = notice.soa.data.first().and_then(|data| data.as_soa());
    let seconds = soa.map_or(LEAST_REFRESH, |soa| u64::from(soa.refresh));
    Duration::from_secs(seconds.max(LEAST_REFRESH))
}
