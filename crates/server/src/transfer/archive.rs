//! The histories of all zones that may be transferred, shared by those who keep and those who read them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use dns::Name;

use super::history::{History, is_later};
use super::step::Step;
use crate::Zone;

/// What was and is transferred: histories by view and zone, and counts.
#[derive(Debug, Default)]
pub struct Archive {
    histories: Mutex<BTreeMap<String, BTreeMap<Name, Kept>>>,
    counts: [AtomicU64; TransferEvent::ALL.len()],
}

type Kept = Arc<Mutex<Option<History>>>;

/// What can happen in transfers, as it is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TransferEvent {
    /// A whole zone was asked for and sent.
    Whole,
    /// An incremental transfer was answered with steps.
    Steps,
    /// An incremental transfer was answered with a whole zone.
    WholeInsteadOfSteps,
    /// The client had the newest version.
    UpToDate,
    /// The client may not transfer.
    Refused,
    /// A signature did not hold.
    BadSignature,
    /// A secondary was notified.
    NotifySent,
    /// A secondary took the notification.
    NotifyAnswered,
    /// A secondary answered the notification with an error.
    NotifyRefused,
    /// A secondary did not answer, however often it was tried.
    NotifyUnanswered,
}

impl TransferEvent {
    /// All of them.
    pub const ALL: [TransferEvent; 10] = [
        TransferEvent::Whole,
        TransferEvent::Steps,
        TransferEvent::WholeInsteadOfSteps,
        TransferEvent::UpToDate,
        TransferEvent::Refused,
        TransferEvent::BadSignature,
        TransferEvent::NotifySent,
        TransferEvent::NotifyAnswered,
        TransferEvent::NotifyRefused,
        TransferEvent::NotifyUnanswered,
    ];
}

/// What a client is given.
#[derive(Debug)]
pub(super) enum Offer {
    /// It has the newest version.
    UpToDate(Arc<Zone>),
    /// The steps from its version to the newest.
    Steps(Arc<Zone>, Vec<Arc<Step>>),
    /// Everything.
    Whole(Arc<Zone>),
}

impl Archive {
    /// Keeps what a zone is now; says whether its serial moved or it is new here.
    ///
    /// Its cost follows the change, unless another file lies below the zone: then it is the zone's.
    pub fn keep(&self, view: &str, zone: &Arc<Zone>) -> bool {
        let kept = self.kept(view, zone.origin());
        let mut history = locked(&kept);
        match &mut *history {
            Some(history) => history.advance(zone),
            None => {
                *history = History::new(zone);
                history.is_some()
            }
        }
    }

    /// Forgets the zones of a view that are not among those.
    pub fn retain(&self, view: &str, is_there: impl Fn(&Name) -> bool) {
        if let Some(zones) = locked(&self.histories).get_mut(view) {
            zones.retain(|origin, _| is_there(origin));
        }
    }

    /// Forgets the views that are not among those.
    pub fn retain_views(&self, is_there: impl Fn(&str) -> bool) {
        locked(&self.histories).retain(|view, _| is_there(view));
    }

    /// What a client gets that has a serial, or nothing. Brings the history up to date first: whoever
    /// was told a serial must find it here.
    pub(super) fn offer(&self, view: &str, zone: &Arc<Zone>, serial: Option<u32>) -> Option<Offer> {
        self.keep(view, zone);
        let kept = self.kept(view, zone.origin());
        let history = locked(&kept);
        let history = history.as_ref()?;
        let version = Arc::clone(history.version());
        Some(match serial {
            Some(serial) if !is_later(history.serial(), serial) => Offer::UpToDate(version),
            // Steps know nothing of signatures, which follow the time as well as the content.
            Some(_) if version.signing().is_some() => Offer::Whole(version),
            Some(serial) => match history.since(serial) {
                Some(steps) => Offer::Steps(version, steps),
                None => Offer::Whole(version),
            },
            None => Offer::Whole(version),
        })
    }

    fn kept(&self, view: &str, origin: &Name) -> Kept {
        let mut histories = locked(&self.histories);
        let zones = histories.entry(view.to_owned()).or_default();
        Arc::clone(zones.entry(origin.clone()).or_default())
    }

    /// Counts something that happened.
    pub fn count(&self, event: TransferEvent) {
        self.counts[event as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// How often each thing happened.
    pub fn counts(&self) -> BTreeMap<TransferEvent, u64> {
        let count = |event: TransferEvent| self.counts[event as usize].load(Ordering::Relaxed);
        TransferEvent::ALL.into_iter().map(|event| (event, count(event))).collect()
    }
}

/// Whoever panicked left the last whole version, so the poison means nothing.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
