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
mod serials;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use dns::Name;
use jiff::civil::Date;
use planner::{Change, Delta, Planner, ViewInfo};
use server::Endpoint;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::watch;

use super::Ending;
use super::signals::Signals;
use crate::cli::UpArguments;
use crate::console;
use crate::deliveries::{Deliveries, Memory};
use crate::directing::Directing;
use crate::http::gate::is_loopback;
use crate::http::{self, ApiListener, ApiPlan, Gate, Limits};
use crate::instance::holders::HolderKeeper;
use crate::instance::keeper::Keeper;
use crate::instance::listeners::Listeners;
use crate::instance::ports::{Ports, Slot};
use crate::instance::serving::Serving;
use crate::instance::signing::KeySource;
use crate::instance::transfers::{Means, Transfers};
use crate::instance::{Instance, guarded, saved};
use crate::keys::KeyFolder;
use crate::owner;
use crate::planned;
use crate::probes::Probes;
use crate::progress;
use crate::render::Palette;
use crate::secrets::{LocalSecrets, SecretFiles};
use crate::source::{ClusterFolders, Pace, Reading, Source, Watch};
use crate::state::{StateDir, default_location};
use crate::transferred::Transferred;
use banner::Addresses;
use notices::Notices;

/// How often it is tried again to open an address that could not be opened.
const RETRY: Duration = Duration::from_secs(5);
/// How long the end waits for what is still under way.
const LAST_WAIT: Duration = Duration::from_secs(1);

pub(super) fn run(arguments: &UpArguments, palette: Palette) -> Result<Ending> {
    let runtime = Runtime::new().context("cannot start")?;
    let ending = runtime.block_on(serve(arguments, palette));
    runtime.shutdown_timeout(LAST_WAIT);
    ending
}

async fn serve(arguments: &UpArguments, palette: Palette) -> Result<Ending> {
    let clusters = ClusterFolders::parse(&arguments.folders.folders)?;
    let mut signals = Signals::new()?;
    let plan = ApiPlan::beside(&arguments.api, arguments.http);
    let gate = Gate::new(&arguments.api, &plan, None)?;
    let page = http::bind(arguments.http, "--http").await?;
    let api = ApiListener::bind(&arguments.api, &plan).await?;
    let addresses = Addresses::of(&page, &plan, api.as_ref())?;
    let state = open_state(arguments, &clusters)?;
    let mut up = Up::open(arguments, clusters, state, palette).await?;
    let serving =
        serve_pages(&up.instance, page, api, &plan, gate, Limits::new(arguments.api.http_connections))?;
    let read = up.start();
    let started = tokio::select! {
        started = read => Some(started?),
        () = signals.ended() => None,
    };
    if let Some((source, reading)) = started {
        up.first(reading).await?;
        up.print_start(&addresses);
        up.follow(source, &mut signals).await?;
    }
    up.stop().await;
    for one in serving {
        one.stop().await;
    }
    Ok(Ending::Good)
}

/// Serves `--http`, and the page and `/api/` on it or on a listener of their own. Orders are accepted where only this
/// machine can give them.
fn serve_pages(
    instance: &Arc<Instance>,
    page: TcpListener,
    api: Option<ApiListener>,
    plan: &ApiPlan,
    gate: Gate,
    limits: Limits,
) -> Result<Vec<http::Serving>> {
    let orders = || http::order_pages(instance.clone(), gate.clone());
    let plan_pages = || http::api_pages(instance.clone(), gate.clone());
    let mut pages = http::status_pages(instance.clone());
    if *plan == ApiPlan::Merged {
        pages = pages.merge(plan_pages()).merge(orders());
    }
    let mut serving = vec![http::serve(page, http::with_errors(pages), limits)];
    if let Some(api) = api {
        let is_local = is_loopback(api.address()?);
        let pages = if is_local { plan_pages().merge(orders()) } else { plan_pages() };
        serving.push(api.serve(http::with_errors(pages), limits));
    }
    Ok(serving)
}

/// The state directory; a default one that cannot be had, or that another process uses, is done without.
fn open_state(arguments: &UpArguments, clusters: &[ClusterFolders]) -> Result<Option<Arc<StateDir>>> {
    if arguments.no_state {
        return Ok(None);
    }
    let Some(path) = arguments.state.clone().or_else(|| default_location(clusters)) else { return Ok(None) };
    match StateDir::open(&path) {
        Ok(state) => Ok(Some(Arc::new(state))),
        // Nobody asked for a directory that this user cannot have.
        Err(error) if arguments.state.is_none() => {
            console::warning(&format!("{:#}; going on without keeping state", anyhow::Error::from(error)));
            Ok(None)
        }
        Err(error) => Err(error.into()),
    }
}

/// A running `up`.
struct Up {
    instance: Arc<Instance>,
    clusters: Vec<ClusterFolders>,
    owner: Result<String, Arc<str>>,
    state: Option<Arc<StateDir>>,
    keeper: Option<Keeper>,
    holders: Option<HolderKeeper>,
    ports: Ports,
    saved_ports: Vec<Option<String>>,
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
    /// The serials that were served before this start.
    served_serials: BTreeMap<Name, u32>,
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
        require_folders(&clusters, state.as_deref().is_some_and(StateDir::is_used))?;
        let names: Vec<String> = clusters.iter().map(|cluster| cluster.name.clone()).collect();
        let (made, rules) = (names.clone(), arguments.tenancy.rules());
        let instance = Arc::new(Instance::new(move || Planner::new(made.clone()).under(rules.clone())));
        let secrets = Arc::new(LocalSecrets::new(arguments.secrets.clone().map(SecretFiles::new)));
        let (secret_changes, told) = watch::channel(0);
        let owner = owner_id(arguments, state.as_deref(), &clusters);
        let circumstances = delivering::circumstances(
            arguments,
            owner.clone(),
            state.as_deref(),
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
        let ports = state.as_deref().map(StateDir::load_ports).unwrap_or_default();
        let mut up = Up {
            directing,
            transfers,
            transferred: Transferred::default(),
            probes: probes.context("cannot start probing")?,
            deliveries: Deliveries::new(circumstances, Memory::on_disk(state.clone())),
            secrets,
            secret_changes,
            keeper: state.clone().map(|state| Keeper::new(state, instance.clone())),
            holders: state.clone().map(|state| HolderKeeper::new(state, instance.clone(), names)),
            instance,
            clusters,
            owner,
            state,
            saved_ports: ports.clone(),
            ports: Ports::of_earlier_run(ports),
            listeners: Listeners::new(arguments.dns, Serving::new(&arguments.serving)?),
            notices: Notices::new(palette),
            palette,
            date: None,
            served_serials: serials::served(&zones),
            distrusted: false,
            unbound: false,
            unsaved: false,
        };
        let mut zones = zones;
        up.instance.signings.set_source(key_source(arguments, up.state.as_deref()));
        up.instance.sign_zones(&views, &mut zones);
        up.instance.steer_zones(&views, &mut zones);
        let wanted = up.ports.endpoints(&views);
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
        let saved = self.state.as_ref().map(|state| state.load_serials()).unwrap_or_default();
        let mut changes: Vec<Change> = serials::changes(saved, &self.served_serials).collect();
        changes.extend(self.state.iter().flat_map(|state| state.load_remembered()));
        changes.extend(self.holders.as_ref().map(HolderKeeper::load));
        changes.extend(self.kept_directions());
        changes.extend(self.date_change());
        changes.extend(self.instance.signed_changes());
        changes.extend(reading.changes);
        self.instance.facts().problems.clone_from(&reading.problems);
        let delta = self.instance.plan(changes)?;
        self.keep_versions(&delta);
        let views = self.instance.planner().views();
        self.ports.restart(&views);
        let wanted = self.endpoints(&views);
        self.bind_or_fail(&wanted).await?;
        self.instance.publish_all(self.listeners.table(&wanted))?;
        self.serve_listeners(&wanted).await;
        if let (Some(keeper), Some(holders)) = (&self.keeper, &self.holders) {
            tokio::join!(keeper.keep_first(), holders.keep_first());
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

    /// Where views are to answer; a port that is given to a view is kept over restarts.
    fn endpoints(&mut self, views: &[ViewInfo]) -> BTreeMap<Slot, Endpoint> {
        let wanted = self.ports.endpoints(views);
        if self.saved_ports != self.ports.given() {
            self.saved_ports = self.ports.given().to_vec();
            self.state.iter().for_each(|state| state.save_ports(&self.saved_ports));
        }
        wanted
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

    fn print_start(&self, http: &Addresses) {
        let owner = self.owner.as_deref();
        let site = banner::Site {
            clusters: &self.clusters,
            http,
            state: self.state.as_deref(),
            owner: owner.unwrap_or("none: records are delivered with --owner NAME or --state DIR only"),
        };
        banner::print(&self.instance, &self.listeners, &self.ports, &site, self.palette);
    }

    /// Takes every change until the end.
    async fn follow(&mut self, source: Source, signals: &mut Signals) -> Result<()> {
        let (sender, mut readings) = unbounded_channel();
        let watch = Watch::start(source, Pace::default(), move |reading| sender.send(reading).is_ok());
        let watch = watch.context("the folders cannot be watched for changes")?;
        // An error means that an earlier watch is asked, and there is none.
        let _ = self.instance.locator.set(watch.locator());
        self.take_all(&mut readings, signals).await;
        // The watch's thread may be in the middle of a reading.
        tokio::task::spawn_blocking(move || drop(watch)).await.context("the watch ended badly")
    }

    async fn take_all(&mut self, readings: &mut UnboundedReceiver<Reading>, signals: &mut Signals) {
        let mut retry = tokio::time::interval(RETRY);
        loop {
            tokio::select! {
                () = signals.ended() => return,
                changes = self.deliveries.next() => self.take_delivered(changes).await,
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
        if let Err(error) = guarded(|| self.notices.unused_files(&self.instance.planner())) {
            self.notices.trouble(&error.to_string());
        }
    }

    /// Prints what was written to providers, and plans it.
    async fn take_delivered(&mut self, changes: Vec<Change>) {
        self.notices.written(&self.deliveries.take_written());
        self.take_changes(changes).await;
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
        self.keep_versions(&delta);
        self.serve_change(&delta).await?;
        self.transfers.follow();
        self.transferred.follow(&delta, Instant::now());
        self.deliver(&delta, anew);
        self.direct(&delta, anew);
        self.probe(&delta, anew);
        self.notices.changes(&delta);
        guarded(|| self.notices.objects(&delta.statuses, &self.instance.planner()))?;
        if let (Some(keeper), Some(holders)) = (&self.keeper, &self.holders) {
            keeper.keep(&delta);
            match anew {
                true => holders.keep_first().await,
                false => holders.keep(&delta.holders),
            }
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
        let views = self.instance.planner().views();
        let wanted = self.endpoints(&views);
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
        let remembered = guarded(|| self.instance.planner().remembered()).unwrap_or_default();
        let remembered = remembered.into_iter().filter(|(_, _, memory)| memory.is_version());
        let versions =
            remembered.map(|(cluster, object, memory)| Change::Remembered(cluster, object, memory));
        self.date = None;
        self.instance.facts().signed.clear();
        let signed = self.instance.signed_changes();
        let directions = self.instance.directions.directions().into_iter();
        let directions = directions.map(|((cluster, object), told)| Change::Direction(cluster, object, told));
        let seen = self.instance.sightings.retell();
        // The first of all, since it is about the objects that follow.
        let holders = guarded(|| self.instance.planner().holders()).unwrap_or_default();
        let holders = std::iter::once(Change::Holders(Box::new(holders)));
        let told = holders
            .chain(serials)
            .chain(versions)
            .chain(self.date_change())
            .chain(signed)
            .chain(directions)
            .chain(seen);
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

/// The owner ID of this process, or why there is none.
fn owner_id(
    arguments: &UpArguments,
    state: Option<&StateDir>,
    clusters: &[ClusterFolders],
) -> Result<String, Arc<str>> {
    match &arguments.delivery.owner {
        Some(owner) => Ok(owner.clone()),
        None => owner::of_state(state, clusters).map_err(|why| why.to_string().into()),
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
