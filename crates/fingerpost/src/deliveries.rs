//! Deliveries: one for each class whose records are held elsewhere.
//!
//! ```text
//! plan ──► Deliveries ──orders──► backends::delivery (one per class) ──► provider
//!   ▲          │                          │
//!   └─ changes ┴──────── reports ◄────────┘      attendant: credentials and health of one class
//! ```
//!
//! Whoever owns the plan owns this too and tells it of every change; what comes back are changes for the
//! planner. A class's secrets and health are the business of its attendant, a task of its own, so that a
//! server that hangs delays nobody.

mod arguments;
mod attendant;
mod connect;
mod counts;
mod credentials;
mod lookup;
mod memory;
mod orders;
mod reports;
mod steered;
mod timed;
mod written;

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use api::{DNSClassSpec, Object, Spec};
use backends::delivery::{self, Fence, Order, Report, Retry, Trouble};
use backends::transport::guard::Guard;
use backends::{Provider, Steers};
use dns::Name;
use planner::marks::ALLOW_MASS_DELETE;
use planner::{Change, Delta, Planner};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::secrets::Secrets;
pub use arguments::{DeliveryArguments, TargetArguments};
use attendant::Attendant;
pub use counts::{ClassCounts, Counts, RequestLabels, Times};
pub use lookup::Eyes;
use lookup::Looks;
pub use memory::{Everything, Memory};
use steered::Steered;
pub use written::{Deed, WrittenSet, WrittenSets};

/// What all deliveries have in common.
#[derive(Clone)]
pub struct Circumstances {
    /// The owner ID in ownership records, or why there is none; without one nothing is written.
    pub owner: Result<String, Arc<str>>,
    /// Where requests may go.
    pub guard: Arc<Guard>,
    /// Whether we may write, and how new we are.
    pub fence: Arc<dyn Fence>,
    /// Where credentials come from.
    pub secrets: Arc<dyn Secrets>,
    /// Counts up when credentials may have changed.
    pub secret_changes: watch::Receiver<u64>,
    /// How failures are retried.
    pub retry: Retry,
    /// How often a class is asked how it is.
    pub health_interval: Duration,
    /// How often a provider is compared with the plan although nothing changed.
    pub drift_interval: Duration,
    /// Who looks whether the world sees what was delivered, if anybody does.
    pub eyes: Option<Eyes>,
    /// What is counted.
    pub counts: Counts,
}

/// What a class's tasks tell.
enum Told {
    Reports(Vec<Report>),
    Health(reports::Health),
    Steers(Steers),
    LookedUp(Change),
}

/// One class that is delivered.
struct Class {
    /// Which start of the class this is: what an earlier one still tells is not listened to.
    number: u64,
    orders: UnboundedSender<Order>,
    spec: Box<DNSClassSpec>,
    settings: delivery::Settings,
    /// The names that something was said about.
    nodes: HashSet<(Name, Name)>,
    zones: HashSet<Name>,
    /// Whether the server was well when last heard of, as far as the planner knows.
    healthy: Option<bool>,
    looks: Option<Looks>,
    /// What the provider steers by itself.
    steered: Steered,
    delivery: JoinHandle<()>,
    attendant: JoinHandle<()>,
}

/// All deliveries of a plan.
pub struct Deliveries {
    circumstances: Circumstances,
    memory: Memory,
    classes: BTreeMap<Arc<str>, Class>,
    starts: u64,
    written: WrittenSets,
    told: (UnboundedSender<Word>, UnboundedReceiver<Word>),
}

/// What is told, by which class, in which of its starts.
type Word = (Arc<str>, u64, Told);

impl Deliveries {
    /// Deliveries that have not begun.
    pub fn new(circumstances: Circumstances, memory: Memory) -> Deliveries {
        Deliveries {
            circumstances,
            memory,
            classes: BTreeMap::new(),
            starts: 0,
            written: WrittenSets::default(),
            told: unbounded_channel(),
        }
    }

    /// Begins to deliver the whole plan.
    pub fn begin(&mut self, planner: &Planner) {
        for (name, object) in planner.provider_classes() {
            self.start(planner, name, &object);
        }
    }

    /// Ends all deliveries; what is under way is left to the fence.
    pub fn end(&mut self) {
        std::mem::take(&mut self.classes).into_values().for_each(Class::end);
        self.circumstances.counts.keep_only(|_| false);
    }

    /// Follows a change of the plan.
    pub fn follow(&mut self, planner: &Planner, delta: &Delta) {
        if !delta.classes.is_empty() {
            self.follow_classes(planner, &delta.classes);
        }
        for (name, class) in &mut self.classes {
            class.follow(name, planner, delta, &mut self.memory);
            self.circumstances.counts.size(name, class.nodes.len());
        }
    }

    /// What was written to providers since this was last asked.
    pub fn take_written(&mut self) -> WrittenSets {
        std::mem::take(&mut self.written)
    }

    /// What the planner is to be told next. Waits for as long as nothing happens.
    pub async fn next(&mut self) -> Vec<Change> {
        let mut changes = Vec::new();
        while changes.is_empty() {
            let Some((class, number, told)) = self.told.1.recv().await else { break };
            self.take(&class, number, told, &mut changes);
            while let Ok((class, number, told)) = self.told.1.try_recv() {
                self.take(&class, number, told, &mut changes);
            }
        }
        changes
    }

    fn take(&mut self, class: &Arc<str>, number: u64, told: Told, changes: &mut Vec<Change>) {
        let Some(known) = self.classes.get_mut(class).filter(|known| known.number == number) else { return };
        let now = jiff::Timestamp::now().as_second();
        match told {
            Told::Reports(told) => {
                let told: Vec<Report> =
                    told.into_iter().flat_map(|report| known.steered.hear(report)).collect();
                self.memory.hear(class, &told);
                self.circumstances.counts.hear(class, &told);
                self.written.note(class, &told);
                for report in told {
                    known.looks.iter().for_each(|looks| looks.hear(&report));
                    if known.is_news(&report) {
                        changes.push(reports::change(class, report, now));
                    }
                }
            }
            Told::Health(health) => {
                known.healthy = Some(health.result.is_ok());
                self.circumstances.counts.check(class, health.result.is_ok());
                changes.push(health.change(class));
            }
            Told::Steers(Steers { abilities, dialect }) => {
                known.steered.decide(dialect);
                changes.push(Change::ClassAbilities(class.clone(), abilities));
            }
            Told::LookedUp(change) => changes.push(change),
        }
    }

    fn follow_classes(&mut self, planner: &Planner, changed: &[Arc<str>]) {
        let now: BTreeMap<_, _> = planner.provider_classes().into_iter().collect();
        for name in changed {
            match now.get(name) {
                Some(object) => self.follow_class(planner, name, object),
                // Nobody says any more where the records are, so they stay.
                None => self.stop(name),
            }
        }
        self.circumstances.counts.keep_only(|class| self.classes.contains_key(class));
    }

    fn follow_class(&mut self, planner: &Planner, name: &Arc<str>, object: &Object) {
        let Spec::DNSClass(spec) = &object.spec else { return };
        let settings = self.settings(object, spec);
        match self.classes.get_mut(name) {
            Some(class) if class.spec == *spec => class.set(settings),
            Some(_) => {
                self.stop(name);
                self.start(planner, name.clone(), object);
            }
            None => self.start(planner, name.clone(), object),
        }
    }

    fn stop(&mut self, name: &str) {
        if let Some(class) = self.classes.remove(name) {
            class.end();
        }
    }

    fn settings(&self, object: &Object, spec: &DNSClassSpec) -> delivery::Settings {
        delivery::Settings {
            owner: owner_at(self.circumstances.owner.as_deref().unwrap_or_default(), &object.meta.name),
            retry: self.circumstances.retry,
            concurrency: CONCURRENCY,
            drift: self.circumstances.drift_interval,
            allow_mass_delete: object.meta.annotations.get(ALLOW_MASS_DELETE).cloned(),
            timeout: Duration::from_secs(spec.timeout_seconds.into()),
        }
    }

    fn start(&mut self, planner: &Planner, name: Arc<str>, object: &Object) {
        let Spec::DNSClass(spec) = &object.spec else { return };
        self.starts += 1;
        let number = self.starts;
        let settings = self.settings(object, spec);
        let (reports, mut reported) = unbounded_channel();
        let (orders, delivery) = delivery::start(settings.clone(), self.circumstances.fence.clone(), reports);
        let (told, class) = (self.told.0.clone(), name.clone());
        tokio::spawn(async move {
            while let Some(reports) = reported.recv().await {
                // Nobody listens when the process ends.
                let _ = told.send((class.clone(), number, Told::Reports(reports)));
            }
        });
        let (connected, provider) = watch::channel(None);
        let attendant = Attendant {
            class: name.clone(),
            spec: (**spec).clone(),
            circumstances: self.circumstances.clone(),
            orders: orders.clone(),
            connected,
            last_check: reports::last_check(object),
            steers: None,
            next_question: Instant::now(),
        };
        let attendant = attendant.start(number, self.told.0.clone());
        let mut class = Class {
            number,
            looks: self.looks(&name, number, provider),
            steered: Steered::of(spec),
            orders,
            spec: spec.clone(),
            settings,
            nodes: HashSet::new(),
            zones: HashSet::new(),
            healthy: reports::was_healthy(object),
            delivery,
            attendant,
        };
        class.tell_everything(&name, planner, &mut self.memory);
        self.circumstances.counts.size(&name, class.nodes.len());
        self.classes.insert(name, class);
    }

    fn looks(&self, class: &Arc<str>, number: u64, provider: lookup::Connected) -> Option<Looks> {
        let (told, class) = (self.told.0.clone(), class.clone());
        let tell = move |key, hash, sight| {
            let change = lookup::change(&class, key, hash, sight);
            // Nobody listens when the process ends.
            let _ = told.send((class.clone(), number, Told::LookedUp(change)));
        };
        self.circumstances.eyes.clone().map(|eyes| Looks::start(eyes, provider, tell))
    }
}

/// Who we are in the marks of one class: two classes may share a server and even a zone, and neither must
/// take the other's records for its own.
pub fn owner_at(owner: &str, class: &str) -> String {
    format!("{owner}/{class}")
}

/// Connects to a class's provider, for one who asks once.
pub async fn connect_once(
    class: &str,
    spec: &DNSClassSpec,
    secrets: &dyn Secrets,
    guard: &Arc<Guard>,
    owner: &str,
) -> Result<Arc<dyn Provider>, Trouble> {
    let credentials = credentials::gather(class, spec, secrets).await?;
    connect::provider(spec, &credentials, guard, &owner_at(owner, class))
}

/// How many requests to one class are under way at once.
const CONCURRENCY: usize = 4;

impl Class {
    fn end(self) {
        self.attendant.abort();
        self.delivery.abort();
    }

    /// An order that nobody takes is one to a delivery that has ended with us.
    fn order(&self, order: Order) {
        let _ = self.orders.send(order);
    }

    /// Whether a report tells the planner something. That a server answered which was well before is
    /// nothing to write into a status.
    fn is_news(&mut self, report: &Report) -> bool {
        match report {
            Report::Reached(result) => self.healthy.replace(result.is_ok()) != Some(result.is_ok()),
            _ => true,
        }
    }

    fn set(&mut self, settings: delivery::Settings) {
        if self.settings != settings {
            self.settings = settings.clone();
            self.order(Order::Settings(settings));
        }
    }
}

impl Drop for Deliveries {
    fn drop(&mut self) {
        self.end();
    }
}
