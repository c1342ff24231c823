//! `fingerpost up`: manifests in, answers out, on one machine.
//!
//! ```text
//! open listeners ─► serve what was kept ─► read ─► plan ─► serve, ready ─┐
//!                                            ┌── a file changed ◄─────────┤
//!                                            └─► plan ─► serve ─► keep ──┘   until SIGTERM
//! ```

mod banner;
mod delivering;
mod directing;
mod notices;
mod samples;

pub(super) use delivering::owner;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use jiff::civil::Date;
use planner::{Change, Delta, Planner};
use server::Endpoint;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::watch;

use super::signals::Signals;
use super::{Ending, logging};
use crate::cli::{LogFormat, UpArguments};
use crate::deliveries::{Deliveries, Memory};
use crate::directing::Directing;
use crate::http;
use crate::instance::keeper::Keeper;
use crate::instance::listeners::Listeners;
use crate::instance::ports::{Ports, Slot};
use crate::instance::serving::Serving;
use crate::instance::signing::KeySource;
use crate::instance::transfers::{Means, Transfers};
use crate::instance::{Instance, guarded, saved};
use crate::keys::KeyFolder;
use crate::planned;
use crate::probes::Probes;
use crate::progress;
use crate::render::Palette;
use crate::secrets::{LocalSecrets, SecretFiles};
use crate::source::{ClusterFolders, Pace, Reading, Source, Watch};
use crate::state::{StateDir, StateError, default_location};
use crate::transferred::Transferred;
use notices::Notices;

/// How often it is tried again to open an address that could not be opened.
const RETRY: Duration = Duration::from_secs(5);
/// How long the end waits for what is still under way.
const LAST_WAIT: Duration = Duration::from_secs(1);

pub(super) fn run(arguments: &UpArguments, palette: Palette) -> Result<Ending> {
    logging::start("warn", LogFormat::Text);
    let runtime = Runtime::new().context("cannot start")?;
    let ending = runtime.block_on(serve(arguments, palette));
    runtime.shutdown_timeout(LAST_WAIT);
    ending
}

async fn serve(arguments: &UpArguments, palette: Palette) -> Result<Ending> {
    let clusters = ClusterFolders::parse(&arguments.folders.folders)?;
    let mut signals = Signals::new()?;
    let page = http::bind(arguments.http, "--http").await?;
    let http_address = page.local_addr()?;
    let state = open_state(arguments, &clusters)?;
    let mut up = Up::open(arguments, clusters, state, palette).await?;
    let mut pages = http::pages(up.instance.clone());
    if http_address.ip().is_loopback() {
        pages = pages.merge(http::order_pages(up.instance.clone()));
    }
    let http = http::serve(page, pages);
    let read = up.start();
    let started = tokio::select! {
        started = read => Some(started?),
        () = signals.ended() => None,
    };
    if let Some((source, reading)) = started {
        up.first(reading).await?;
        up.print_start(http_address);
        up.follow(source, &mut signals).await?;
    }
    up.stop().await;
    http.stop().await;
    Ok(Ending::Good)
}

/// The state directory; a default one that another process uses is done without.
fn open_state(arguments: &UpArguments, clusters: &[ClusterFolders]) -> Result<Option<Arc<StateDir>>> {
    if arguments.no_state {
        return Ok(None);
    }
    let Some(path) = arguments.state.clone().or_else(|| default_location(clusters)) else { return Ok(None) };
    match StateDir::open(&path) {
        Ok(state) => Ok(Some(Arc::new(state))),
        Err(error @ StateError::InUse(_)) if arguments.state.is_none() => {
            eprintln!("{error}; going on without keeping state");
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// A running `up`.
struct Up {
    instance: Arc<Instance>,
    clusters: Vec<ClusterFolders>,
    state: Option<Arc<StateDir>>,
    keeper: Option<Keeper>,
    ports: Ports,
    listeners: Listeners,
    deliveries: Deliveries,
    directing: Directing,
    transfers: Transfers,
    transferred: Transferred,
    probes: Probes,
    secrets: Arc<LocalSecrets>,
    secret_changes: watch::Sender<u64>,
    notices: Notices,
    palette: Palette,
    date: Option<Date>,
    /// Planning panicked: the planner has to be made anew.
    distrusted: bool,
    /// Some address could not be opened.
    unbound: bool,
    /// Where DNSRecords stand at providers has changed since it was saved.
    unsaved: bool,
}

impl Up {
    /// Opens the listeners and serves what was kept. Whatever fails here, nothing has started.
    async fn open(
        arguments: &UpArguments,
        clusters: Vec<ClusterFolders>,
        state: Option<Arc<StateDir>>,
        palette: Palette,
    ) -> Result<Up> {
        let (views, zones) = state.as_deref().map(saved::load).unwrap_or_default();
        require_folders(&clusters, !views.is_empty())?;
        let names: Vec<String> = clusters.iter().map(|cluster| cluster.name.clone()).collect();
        let instance = Arc::new(Instance::new(move || Planner::new(names.clone())));
        let secrets = Arc::new(LocalSecrets::new(arguments.secrets.clone().map(SecretFiles::new)));
        let (secret_changes, told) = watch::channel(0);
        let circumstances = delivering::circumstances(
            arguments,
            &clusters,
            secrets.clone(),
            told,
            instance.deliveries.clone(),
        )?;
        let directing = directing::directing(&circumstances, &instance, state.as_deref());
        let transfers = Transfers::start(Means {
            instance: instance.clone(),
            secrets: secrets.clone(),
            secret_changes: circumstances.secret_changes.clone(),
            guard: circumstances.guard.clone(),
            before: zones.clone(),
        });
        let probes =
            Probes::start(instance.health.clone(), circumstances.guard.clone(), instance.sightings.clone());
        let mut up = Up {
            directing,
            transfers,
            transferred: Transferred::default(),
            probes: probes.context("cannot start probing")?,
            deliveries: Deliveries::new(circumstances, Memory::on_disk(state.clone())),
            secrets,
            secret_changes,
            keeper: state.clone().map(|state| Keeper::new(state, instance.clone())),
            instance,
            clusters,
            state,
            ports: Ports::default(),
            listeners: Listeners::new(arguments.dns, Serving::new(&arguments.serving)?),
            notices: Notices::new(palette),
            palette,
            date: None,
            distrusted: false,
            unbound: false,
            unsaved: false,
        };
        let mut zones = zones;
        up.instance.signings.set_source(key_source(arguments, up.state.as_deref()));
        up.instance.sign_zones(&views, &mut zones);
        up.instance.steer_zones(&views, &mut zones);
        let wanted = Ports::default().endpoints(&views);
        up.bind_or_fail(&wanted).await?;
        let endpoints = up.listeners.table(&wanted);
        up.instance.views.publish(|table| {
            table.views = zones;
            table.endpoints = endpoints;
        });
        up.serve_listeners(&wanted).await;
        Ok(up)
    }

    /// Reads the folders for the first time, on a thread of its own.
    fn start(&self) -> impl Future<Output = Result<(Source, Reading)>> + use<> {
        let mut source = self.source();
        let reading = tokio::task::spawn_blocking(move || {
            let reading = progress::read(&mut source);
            (source, reading)
        });
        async { reading.await.context("reading the folders failed; please report this") }
    }

    fn source(&self) -> Source {
        let source = Source::new(&self.clusters);
        match &self.state {
            Some(state) => source.with_state(state.clone()),
            None => source,
        }
    }

    /// Plans and serves for the first time. An address that cannot be opened is an error still.
    async fn first(&mut self, reading: Reading) -> Result<()> {
        let serials = self.state.as_ref().map(|state| state.load_serials()).unwrap_or_default();
        let mut changes: Vec<Change> =
            serials.into_iter().map(|(name, saved)| Change::Serial(name, saved)).collect();
        changes.extend(self.state.iter().flat_map(|state| state.load_remembered()));
        changes.extend(self.kept_directions());
        changes.extend(self.date_change());
        changes.extend(self.instance.signed_changes());
        changes.extend(reading.changes);
        self.instance.facts().problems.clone_from(&reading.problems);
        self.instance.plan(changes)?;
        let wanted = self.ports.endpoints(&self.instance.planner().views());
        self.bind_or_fail(&wanted).await?;
        self.instance.publish_all(self.listeners.table(&wanted))?;
        self.serve_listeners(&wanted).await;
        if let Some(keeper) = &self.keeper {
            keeper.keep_first().await;
        }
        self.notices.known_views(self.listeners.views(&wanted));
        self.notices.first(&reading.problems, &self.instance.planner());
        self.hear_secrets(reading.secrets);
        self.deliveries.begin(&self.instance.planner());
        self.directing.begin(&self.instance.planner());
        self.transfers.follow();
        self.probes.follow(&self.instance.planner());
        self.unsaved = true;
        // Last, so that whoever waits for it finds a process that has time for the first change.
        self.instance.set_ready();
        Ok(())
    }

    async fn bind_or_fail(&mut self, wanted: &BTreeMap<Slot, Endpoint>) -> Result<()> {
        match self.listeners.bind(wanted).await.into_iter().next() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    async fn serve_listeners(&mut self, wanted: &BTreeMap<Slot, Endpoint>) {
        self.listeners.serve(wanted, &self.instance.views).await;
        self.instance.facts().listeners = self.listeners.counted();
    }

    fn print_start(&self, http: std::net::SocketAddr) {
        banner::print(
            &self.instance,
            &self.listeners,
            &self.ports,
            &self.clusters,
            http,
            self.state.as_deref(),
            self.palette,
        );
    }

    /// Takes every change until the end.
    async fn follow(&mut self, source: Source, signals: &mut Signals) -> Result<()> {
        let (sender, mut readings) = unbounded_channel();
        let watch = Watch::start(source, Pace::default(), move |reading| sender.send(reading).is_ok());
        let watch = watch.context("the folders cannot be watched for changes")?;
        self.take_all(&mut readings, signals).await;
        // The watch's thread may be in the middle of a reading.
        tokio::task::spawn_blocking(move || drop(watch)).await.context("the watch ended badly")
    }

    async fn take_all(&mut self, readings: &mut UnboundedReceiver<Reading>, signals: &mut Signals) {
        let mut retry = tokio::time::interval(RETRY);
        loop {
            tokio::select! {
                () = signals.ended() => return,
                changes = self.deliveries.next() => self.take_changes(changes).await,
                changes = self.directing.next() => self.take_directions(changes).await,
                changes = self.probes.next() => self.take_changes(changes).await,
                changes = self.transferred.next() => self.take_changes(changes).await,
                reading = readings.recv() => match reading {
                    Some(reading) => self.take(reading).await,
                    None => return,
                },
                _ = retry.tick() => self.take_again().await,
            }
            self.notices.state(self.state.as_deref());
        }
    }

    /// Tries again what failed: an address in use, or planning; and looks at what nobody tells us of.
    async fn take_again(&mut self) {
        self.look_at_secret_files();
        self.save_remembered();
        let refreshed = self.instance.refresh_geo().and_then(|()| self.instance.refresh_signing());
        if let Err(error) = refreshed {
            self.notices.trouble(&error.to_string());
        }
        let signed = self.instance.signed_changes();
        if self.unbound || self.distrusted || !signed.is_empty() {
            self.take_changes(signed).await;
        }
    }

    /// Plans a reading and serves the plan.
    async fn take(&mut self, reading: Reading) {
        self.instance.facts().problems.clone_from(&reading.problems);
        self.notices.problems(&reading.problems);
        self.hear_secrets(reading.secrets);
        self.take_changes(reading.changes).await;
    }

    /// Plans changes and serves the plan. Whatever fails, the last answers stay.
    async fn take_changes(&mut self, changes: Vec<Change>) {
        if let Err(error) = self.follow_plan(changes).await {
            self.distrusted = true;
            self.notices.trouble(&format!("{error:#}"));
        }
    }

    async fn follow_plan(&mut self, changes: Vec<Change>) -> Result<()> {
        let anew = self.distrusted;
        let delta = self.plan(changes)?;
        self.serve_change(&delta).await?;
        self.transfers.follow();
        self.transferred.follow(&delta, Instant::now());
        self.deliver(&delta, anew);
        self.direct(&delta, anew);
        self.probe(&delta, anew);
        self.notices.changes(&delta);
        guarded(|| self.notices.objects(&delta.statuses, &self.instance.planner()))?;
        if let Some(keeper) = &self.keeper {
            keeper.keep(&delta);
        }
        Ok(())
    }

    /// Lets the probes follow the plan.
    fn probe(&self, delta: &Delta, anew: bool) {
        match anew {
            true => self.probes.follow(&self.instance.planner()),
            false => self.probes.change(delta.probes.clone()),
        }
    }

    async fn serve_change(&mut self, delta: &Delta) -> Result<()> {
        let wanted = self.ports.endpoints(&self.instance.planner().views());
        let troubles = self.listeners.bind(&wanted).await;
        self.unbound = !troubles.is_empty();
        self.notices.listeners(&troubles);
        self.instance.publish(delta, self.listeners.table(&wanted))?;
        self.serve_listeners(&wanted).await;
        self.notices.views(self.listeners.views(&wanted));
        Ok(())
    }

    fn plan(&mut self, changes: Vec<Change>) -> Result<Delta> {
        if !self.distrusted {
            let changes = self.date_change().into_iter().chain(changes).collect();
            return Ok(self.instance.plan(changes)?);
        }
        // The old planner still knows them, unless it is what panics.
        let serials = guarded(|| self.instance.planner().serials()).unwrap_or_default();
        let serials = serials.into_iter().map(|(name, saved)| Change::Serial(name, saved));
        self.date = None;
        self.instance.facts().signed.clear();
        let signed = self.instance.signed_changes();
        let directions = self.instance.directions.directions().into_iter();
        let directions = directions.map(|((cluster, object), told)| Change::Direction(cluster, object, told));
        let seen = self.instance.sightings.retell();
        let told = serials.chain(self.date_change()).chain(signed).chain(directions).chain(seen);
        let everything = told.chain(self.source().read().changes).collect();
        self.instance.plan_anew(everything)?;
        self.distrusted = false;
        // Everything may have moved, so everything is served anew.
        Ok(Delta { views: true, ..Delta::default() })
    }

    /// Tells the planner the date when it is another one.
    fn date_change(&mut self) -> Option<Change> {
        let date = planned::current_date();
        let changed = self.date.replace(date) != Some(date);
        changed.then(|| planned::today(date))
    }

    async fn stop(mut self) {
        self.notices.say("stopping");
        self.save_remembered();
        drop(self.deliveries);
        drop(self.directing);
        drop(self.transfers);
        self.listeners.stop().await;
        if let Some(keeper) = self.keeper {
            keeper.finish().await;
        }
    }
}

/// Where DNSSEC keys are kept; without any place they are made anew with every start.
fn key_source(arguments: &UpArguments, state: Option<&StateDir>) -> KeySource {
    let kept = arguments.keys.clone().or_else(|| state.map(|state| state.path().join("keys")));
    kept.map_or(KeySource::Nowhere, |path| KeySource::Folder(KeyFolder::new(path)))
}

/// A folder that is not there is a slip of the pen, unless it was served before.
fn require_folders(clusters: &[ClusterFolders], served_before: bool) -> Result<()> {
    for folder in clusters.iter().flat_map(|cluster| &cluster.folders) {
        ensure!(served_before || folder.exists(), "there is no folder {}: check the path", folder.display());
        ensure!(!folder.is_file(), "{} is not a folder: name the folder that holds it", folder.display());
    }
    Ok(())
}
