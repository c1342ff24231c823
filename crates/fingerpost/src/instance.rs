//! A running instance: the plan, what is served from it, and what there is to tell about both.
//!
//! ```text
//! Reading ──► Planner ──► Delta ──► one swap of the view table ──► answers
//!                │                        │
//!                └── HTTP reads           └── state, a moment later
//! ```
//!
//! Planning that panics costs nothing that is served: the last answers stay, and the next reading
//! plans everything anew.

pub mod certificate;
pub mod geo;
pub mod holders;
pub mod journal;
pub mod keeper;
pub mod listeners;
pub mod ports;
pub mod saved;
pub mod serving;
pub mod signing;
pub mod transfers;

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, RwLock, RwLockReadGuard};
use std::time::{Instant, SystemTime};

use backends::embedded;
use dns::Name;
use jiff::Timestamp;
use planner::{Change, Delta, Planner, ViewInfo};
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use server::steering::Health;
use server::{Endpoint, EndpointId, Views, Zones};
use tokio::sync::Notify;

use crate::deliveries::Counts;
use crate::directing::Board;
use crate::explanation::{Explanation, Question, QuestionError, explain, probed};
use crate::probes::Sightings;
use crate::source::{Locator, SourceProblem};
use geo::Geos;
use listeners::Counted;
use signing::Signings;
use signing::clock::SteadyClock;
use transfers::held;

/// What the planning loop writes and HTTP reads.
#[derive(Debug)]
pub struct Instance {
    make: Maker,
    planner: RwLock<Planner>,
    /// What is served.
    pub views: Views,
    /// Where clients are.
    pub geos: Geos,
    /// Which zones are signed, and by which keys.
    pub signings: Signings,
    /// Told when the planner has to hear of other signatures.
    pub signatures_moved: Notify,
    /// What key rollovers go by.
    pub clock: SteadyClock,
    /// How the targets of steered names fare.
    pub health: Health,
    /// Where Placements are directed, and who holds their leases.
    pub directions: Board,
    /// What their probes have seen.
    pub sightings: Sightings,
    ready: AtomicBool,
    revision: AtomicU64,
    facts: Mutex<Facts>,
    /// How long planning took, in seconds.
    pub plan_seconds: Histogram,
    /// What deliveries count.
    pub deliveries: Counts,
    /// Who knows where objects are declared, where they come from files.
    pub locator: OnceLock<Locator>,
}

/// Makes a planner that knows nothing yet.
struct Maker(Box<dyn Fn() -> Planner + Send + Sync>);

impl fmt::Debug for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Maker")
    }
}

/// What is known besides the plan.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// What is wrong in the folders.
    pub problems: Vec<SourceProblem>,
    /// The listeners.
    pub listeners: Vec<Counted>,
    /// When the plan last changed.
    pub last_change: Option<Timestamp>,
    /// How often planning panicked.
    pub panics: u64,
    /// What the planner was told of signatures.
    pub signed: BTreeMap<(String, Name), u64>,
}

/// Planning failed in a way that it never should; what is served stands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("planning failed and the last answers stay: {0}; please report this")]
pub struct PlanningPanic(String);

impl Instance {
    /// Nothing planned and nothing served yet.
    pub fn new(make: impl Fn() -> Planner + Send + Sync + 'static) -> Instance {
        Instance {
            planner: RwLock::new(make()),
            make: Maker(Box::new(make)),
            views: Views::new(),
            geos: Geos::default(),
            signings: Signings::default(),
            signatures_moved: Notify::new(),
            clock: SteadyClock::default(),
            health: Health::new(),
            directions: Board::default(),
            sightings: Sightings::default(),
            ready: AtomicBool::new(false),
            revision: AtomicU64::new(0),
            facts: Mutex::new(Facts::default()),
            plan_seconds: Histogram::new(exponential_buckets(0.0001, 4.0, 10)),
            deliveries: Counts::default(),
            locator: OnceLock::new(),
        }
    }

    /// The plan as it stands.
    pub fn planner(&self) -> RwLockReadGuard<'_, Planner> {
        self.planner.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is known besides the plan.
    pub fn facts(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the first plan is served.
    pub fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// Says that the first plan is served.
    pub fn set_ready(&self) {
        self.ready.store(true, Ordering::Release);
    }

    /// Brings the plan up to date.
    pub fn plan(&self, changes: Vec<Change>) -> Result<Delta, PlanningPanic> {
        let start = Instant::now();
        let planned = {
            let mut planner = self.planner.write().unwrap_or_else(PoisonError::into_inner);
            let planned = guarded(|| planner.apply(changes));
            if !planned.as_ref().is_ok_and(Delta::is_empty) {
                self.revision.fetch_add(1, Ordering::Release);
            }
            planned
        };
        self.plan_seconds.observe(start.elapsed().as_secs_f64());
        let mut facts = self.facts();
        if planned.as_ref().is_ok_and(|delta| !delta.is_empty()) {
            facts.last_change = Some(Timestamp::now());
        }
        facts.panics += u64::from(planned.is_err());
        planned
    }

    /// Plans from nothing, after a panic left a planner that cannot be trusted.
    pub fn plan_anew(&self, changes: Vec<Change>) -> Result<(), PlanningPanic> {
        // A new planner knows nothing of what the one before it was told.
        self.facts().signed.clear();
        let mut planner = (self.make.0)();
        guarded(|| planner.apply(changes))?;
        *self.planner.write().unwrap_or_else(PoisonError::into_inner) = planner;
        self.revision.fetch_add(1, Ordering::Release);
        Ok(())
    }

    /// Serves a change of the plan, by one swap.
    pub fn publish(
        &self,
        delta: &Delta,
        endpoints: BTreeMap<EndpointId, Endpoint>,
    ) -> Result<(), PlanningPanic> {
        if delta.views {
            return self.publish_all(endpoints);
        }
        let planner = self.planner();
        guarded(|| {
            self.views.publish(|table| {
                let before = table.views.clone();
                for view in planner.views() {
                    let geo = self.geos.of(&view);
                    let fresh = || Zones::steered_by(geo.clone(), self.health.clone());
                    let zones = table.views.entry(view.name.clone()).or_insert_with(fresh);
                    if !zones.geo().is(&geo) {
                        zones.set_geo(geo);
                    }
                    embedded::update(&planner, &view, delta, zones);
                    self.signings.apply(&view, zones, now());
                }
                table.endpoints = endpoints;
                held::hold(table, &before, &planner, delta);
            });
        })
    }

    /// Serves the whole plan and nothing else, by one swap.
    pub fn publish_all(&self, endpoints: BTreeMap<EndpointId, Endpoint>) -> Result<(), PlanningPanic> {
        let planner = self.planner();
        let views = guarded(|| self.zones(&planner))?;
        guarded(|| {
            self.views.publish(|table| {
                let before = std::mem::replace(&mut table.views, views);
                table.endpoints = endpoints;
                held::hold_all(table, &before, &planner);
                table.synced = true;
            });
        })
    }

    /// Steers zones that were kept by what their views say of where clients are.
    pub fn steer_zones(&self, views: &[ViewInfo], zones: &mut BTreeMap<String, Zones>) {
        for view in views.iter().filter(|view| view.geo.is_some()) {
            let geo = self.geos.of(view);
            zones.entry(view.name.clone()).and_modify(|zones| zones.set_geo(geo));
        }
    }

    /// Looks whether a database of places has changed, and steers by it if so.
    pub fn refresh_geo(&self) -> Result<(), PlanningPanic> {
        let moved = |view: &ViewInfo| {
            let geo = self.geos.of(view);
            let served = self.views.load().views.get(&view.name).is_some_and(|zones| !zones.geo().is(&geo));
            served.then(|| (view.name.clone(), geo))
        };
        guarded(|| {
            let moved: Vec<_> = self.planner().views().iter().filter_map(moved).collect();
            if moved.is_empty() {
                return;
            }
            self.views.publish(|table| {
                for (view, geo) in moved {
                    table.views.entry(view).and_modify(|zones| zones.set_geo(geo));
                }
            });
        })
    }

    /// How often the plan has changed.
    pub fn revision(&self) -> u64 {
        self.revision.load(Ordering::Acquire)
    }

    /// Explains a name as it is served now.
    pub fn explain(&self, question: &Question) -> Result<Explanation, QuestionError> {
        let (table, planner) = (self.views.load(), self.planner());
        // The operator serves nothing itself: what the servers answer is worked out when it is asked for.
        let worked_out = || zones_with(&planner, &self.geos, &self.health);
        let worked_out = if table.views.is_empty() { worked_out() } else { BTreeMap::new() };
        let zones = |view: &str| table.views.get(view).or_else(|| worked_out.get(view));
        let mut explanation = explain(&planner, zones, question)?;
        let now = Timestamp::now();
        explanation.probes = probed(&planner, &explanation, |probe| self.sightings.get(probe), now);
        if let Some(locator) = self.locator.get() {
            explanation.locate(&planner, |objects| locator.locations(objects));
        }
        Ok(explanation)
    }

    /// Looks whether keys have changed or a step of theirs falls due, and signs accordingly.
    pub fn refresh_signing(&self) -> Result<(), PlanningPanic> {
        guarded(|| {
            let table = self.views.load();
            let served =
                |origin: &Name| table.views.values().filter_map(|zones| zones.zone(origin)).collect();
            if self.signings.refresh(served, self.clock.read()) {
                self.sign();
            }
        })
    }

    /// Signs the zones of views as these say.
    pub fn sign_zones(&self, views: &[ViewInfo], zones: &mut BTreeMap<String, Zones>) {
        for view in views {
            let zones = zones.get_mut(&view.name);
            zones.into_iter().for_each(|zones| self.signings.apply(view, zones, now()));
        }
    }

    /// What the planner is to be told of signatures that are others than it was told last.
    pub fn signed_changes(&self) -> Vec<Change> {
        let numbers = self.signings.numbers(now());
        let mut facts = self.facts();
        let differs = |(id, number): &(&(String, Name), &u64)| facts.signed.get(*id) != Some(*number);
        let changed = numbers.iter().filter(differs);
        let changed = changed
            .map(|((vault, zone), number)| Change::Signed(vault.clone(), zone.clone(), *number))
            .collect();
        facts.signed = numbers;
        changed
    }

    /// Signs what is served as its classes say.
    pub fn sign(&self) {
        let views = self.planner().views();
        self.views.publish(|table| self.sign_zones(&views, &mut table.views));
    }

    fn zones(&self, planner: &Planner) -> BTreeMap<String, Zones> {
        let mut zones = zones_with(planner, &self.geos, &self.health);
        self.sign_zones(&planner.views(), &mut zones);
        zones
    }
}

/// The zones of every view of a plan, of whose targets nothing is known.
pub fn zones(planner: &Planner) -> BTreeMap<String, Zones> {
    zones_with(planner, &Geos::default(), &Health::new())
}

fn zones_with(planner: &Planner, geos: &Geos, health: &Health) -> BTreeMap<String, Zones> {
    let of_view = |view: ViewInfo| {
        let empty = Zones::steered_by(geos.of(&view), health.clone());
        (view.name.clone(), embedded::fill(planner, &view, empty))
    };
    planner.views().into_iter().map(of_view).collect()
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Does work on a plan; a panic in it is an error, and nothing more.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, PlanningPanic> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| PlanningPanic(message(&*panic)))
}

/// What a panic said.
fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn a_panic_is_an_error_with_its_words() {
        let error = guarded(|| panic!("zone {} is upside down", 7)).unwrap_err();
        assert!(error.to_string().contains("the last answers stay: zone 7 is upside down"), "{error}");
        assert_eq!(guarded(|| 1), Ok(1));
    }

    #[test]
    fn nothing_is_served_before_the_first_plan_and_synced_with_it() {
        let instance = Instance::new(|| Planner::new(vec!["default".to_owned()]));
        assert!(!instance.views.load().synced);
        instance.plan(vec![Change::Today(20_260_102)]).unwrap();
        instance.publish_all(BTreeMap::new()).unwrap();
        let table = instance.views.load();
        assert!(table.synced && table.views.contains_key("default"));
    }
}
