//! `fingerpost dns`: an authoritative server that follows a cluster's objects.
//!
//! ```text
//! open listeners ─► serve what was kept ─► read ─► plan ─► serve, ready ─┐
//!                                            ┌── an object changed ◄─────┤
//!                                            └─► plan ─► serve ─► keep ──┘   until SIGTERM, then drain
//! ```
//!
//! What fails on the way changes nothing that is served: an API server that is away, planning that
//! panics, an address that cannot be opened, a disk that is full.

mod keys;
mod readiness;
mod remembering;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use backends::transport::guard::Forbidden;
use jiff::civil::Date;
use planner::{Change, Delta, Planner, Rules, Setting};
use server::Endpoint;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::MissedTickBehavior;

use crate::cli::DnsArguments;
use crate::cluster::{Awaited, Board, Connection, News, Subject, api_server, feed, serials, watch};
use crate::http::{self, ApiListener, ApiPlan, Gate, Limits};
use crate::instance::keeper::Keeper;
use crate::instance::listeners::Listeners;
use crate::instance::ports::{Ports, Slot};
use crate::instance::serving::Serving;
use crate::instance::transfers::{Means, Transfers};
use crate::instance::{Instance, saved};
use crate::keys::SecretVaults;
use crate::planned;
use crate::probes::Probes;
use crate::secrets::ClusterSecrets;
use crate::state::StateDir;
use keys::HeardKeys;
use readiness::{Readiness, pages};

const NEWS: usize = 4096;
const MOST_NEWS: usize = 1024;
/// How often it is tried again to open an address that could not be opened.
const RETRY: Duration = Duration::from_secs(5);
/// How long until everything is read anew after planning failed.
const START_AGAIN: Duration = Duration::from_secs(5);

/// Serves until `stop` is ready, and then for as long as the drain takes.
pub async fn run(arguments: &DnsArguments, stop: impl Future<Output = ()>) -> Result<()> {
    let connection = Connection::open(&arguments.cluster).await?;
    let plan = ApiPlan::in_cluster(&arguments.api);
    let gate = Gate::new(&arguments.api, &plan, Some(&connection.client))?;
    let page = http::bind(arguments.http, "--http").await?;
    let api = ApiListener::bind(&arguments.api, &plan).await?;
    let state = arguments.state.as_deref().map(StateDir::open).transpose()?.map(Arc::new);
    let mut nameserver = Nameserver::open(arguments, state, &connection).await?;
    tracing::info!(dns = ?nameserver.listeners.address(Slot::Numbered(0)), http = %page.local_addr()?,
        api = api.as_ref().map(ApiListener::url).transpose()?, "listening");
    let readiness = nameserver.readiness.clone();
    let (instance, limits) = (nameserver.instance.clone(), Limits::new(arguments.api.http_connections));
    let status = pages(instance.clone(), readiness.clone(), connection.requests.clone());
    let http = http::serve(page, http::with_errors(status), limits);
    let api = api.map(|api| api.serve(http::with_errors(http::api_pages(instance, gate)), limits));
    tokio::pin!(stop);
    loop {
        let session = nameserver.session(&connection, arguments);
        tokio::select! {
            () = &mut stop => break,
            ended = session => {
                // What is served stays; only what it was planned from is made anew.
                tracing::error!("{:#}; everything is read anew", ended.unwrap_or_else(|error| error));
                nameserver.forget();
                tokio::time::sleep(START_AGAIN).await;
            }
        }
    }
    readiness.drain();
    tracing::info!("draining for {:?}", arguments.drain);
    tokio::time::sleep(arguments.drain).await;
    nameserver.stop().await;
    http.stop().await;
    if let Some(api) = api {
        api.stop().await;
    }
    Ok(())
}

struct Nameserver {
    instance: Arc<Instance>,
    keeper: Option<Keeper>,
    listeners: Listeners,
    transfers: Transfers,
    probes: Probes,
    readiness: Readiness,
    state: Option<Arc<StateDir>>,
    keys: HeardKeys,
    /// Where keys are, once there is a cluster to ask.
    vaults: Option<SecretVaults>,
    date: Option<Date>,
    /// Whether the whole plan was served once.
    published: bool,
    /// Some address could not be opened.
    unbound: bool,
    /// What a restart is to know may have changed since it was saved.
    unsaved: bool,
}

impl Nameserver {
    /// Opens the listeners and serves what was kept. Whatever fails here, nothing has started.
    async fn open(
        arguments: &DnsArguments,
        state: Option<Arc<StateDir>>,
        connection: &Connection,
    ) -> Result<Nameserver> {
        let (classes, rules) = (arguments.classes.clone(), arguments.tenancy.rules());
        let instance = Arc::new(Instance::new(move || planner(&classes, &rules)));
        let (views, mut zones) = state.as_deref().map(saved::load).unwrap_or_default();
        instance.steer_zones(&views, &mut zones);
        let keys = HeardKeys::open(&instance, state.as_deref().map(StateDir::path));
        instance.sign_zones(&views, &mut zones);
        let guard = Arc::new(arguments.targets.guard(api_server::learn(connection))?);
        let probes = Probes::start(instance.health.clone(), guard, instance.sightings.clone());
        let mut nameserver = Nameserver {
            transfers: start_transfers(arguments, &instance, connection)?,
            probes: probes.context("cannot start probing")?,
            keeper: state.clone().map(|state| Keeper::new(state, instance.clone()).without_serials()),
            instance,
            listeners: Listeners::new(arguments.dns, Serving::new(&arguments.serving)?),
            readiness: Readiness::new(!views.is_empty()),
            state,
            keys,
            vaults: None,
            date: None,
            published: false,
            unbound: false,
            unsaved: false,
        };
        let wanted = Ports::default().endpoints(&views);
        nameserver.bind_first(&wanted).await?;
        let endpoints = nameserver.listeners.table(&wanted);
        nameserver.instance.views.publish(|table| {
            table.views = zones;
            table.endpoints = endpoints;
        });
        nameserver.answer(&wanted).await;
        Ok(nameserver)
    }

    /// Reads and follows the cluster; ends only when planning fails in a way that it never should.
    async fn session(&mut self, connection: &Connection, arguments: &DnsArguments) -> Result<anyhow::Error> {
        self.vaults = Some(SecretVaults::new(connection.client.clone(), connection.namespace.clone()));
        let (sender, mut news) = channel(NEWS);
        let subjects = Subject::of_server();
        let board = watch::start(connection, &subjects, arguments.resync_period, &sender);
        drop(sender);
        self.readiness.watch(board.clone());
        let mut changes = self.remembered();
        changes.extend(self.first_changes(&mut news, &board).await);
        let mut retry = tokio::time::interval(RETRY);
        retry.set_missed_tick_behavior(MissedTickBehavior::Delay);
        changes.extend(self.instance.sightings.retell());
        loop {
            self.follow(std::mem::take(&mut changes)).await?;
            let mut heard = Vec::new();
            tokio::select! {
                count = news.recv_many(&mut heard, MOST_NEWS) => {
                    if count == 0 {
                        return Ok(anyhow::anyhow!("the watches have ended"));
                    }
                }
                seen = self.probes.next() => changes.extend(seen),
                _ = retry.tick() => self.look_again().await?,
            }
            heard.into_iter().for_each(|one| take(one, &mut changes));
            self.report_state();
        }
    }

    /// Everything that there is, as changes.
    async fn first_changes(&mut self, news: &mut Receiver<News>, board: &Board) -> Vec<Change> {
        let (mut changes, mut awaited) = (Vec::new(), Awaited::of(board));
        while !awaited.is_over() {
            let Some(one) = news.recv().await else { break };
            awaited.hear(&one);
            take(one, &mut changes);
        }
        changes
    }

    /// Plans and serves. Before the first plan has a view, what was kept goes on being served.
    ///
    /// A zone must not be answered unsigned because its class was read before its keys, so these are read
    /// in between; and what signs a zone counts in its serial, so the plan hears of it before it is served.
    async fn follow(&mut self, changes: Vec<Change>) -> Result<()> {
        let is_news = !changes.is_empty() || !self.published;
        let mut delta = if is_news { self.plan(changes)? } else { Delta::default() };
        match self.published {
            true => self.probes.change(delta.probes.clone()),
            false => self.probes.follow(&self.instance.planner()),
        }
        let views = self.instance.planner().views();
        if views.is_empty() && !self.published {
            self.published = self.instance.views.load().views.is_empty();
            self.readiness.plan(false);
            return Ok(());
        }
        let moved = self.hear_keys().await;
        let signed = self.instance.signed_changes();
        if !signed.is_empty() {
            delta.zones.extend(self.plan(signed)?.zones);
        }
        self.note_answers(&delta);
        let is_first = !self.published;
        if is_first || !delta.is_empty() {
            self.serve_change(&delta, !views.is_empty()).await?;
        }
        if is_first {
            self.save_remembered();
        }
        if moved {
            self.instance.sign();
        }
        // A class may say something else about transfers, and no answer be another.
        if is_news || moved || !delta.is_empty() {
            self.transfers.follow();
        }
        Ok(())
    }

    fn plan(&mut self, changes: Vec<Change>) -> Result<Delta> {
        let date = planned::current_date();
        let today = (self.date.replace(date) != Some(date)).then(|| planned::today(date));
        Ok(self.instance.plan(today.into_iter().chain(changes).collect())?)
    }

    /// Serves a change, everything at the first time, and keeps it.
    async fn serve_change(&mut self, delta: &Delta, has_views: bool) -> Result<()> {
        let whole = Delta { views: true, ..Delta::default() };
        let served = if self.published { delta } else { &whole };
        self.serve(served).await?;
        self.published = true;
        self.instance.set_ready();
        self.readiness.plan(has_views);
        if let Some(keeper) = &self.keeper {
            keeper.keep(served);
        }
        Ok(())
    }

    async fn serve(&mut self, delta: &Delta) -> Result<()> {
        let wanted = self.wanted();
        self.bind(&wanted).await;
        self.instance.publish(delta, self.listeners.table(&wanted))?;
        self.answer(&wanted).await;
        Ok(())
    }

    /// Looks for other keys; says whether there are any.
    async fn hear_keys(&mut self) -> bool {
        let Some(vaults) = self.vaults.clone() else { return false };
        let signers = self.instance.planner().signers().to_vec();
        self.keys.look(&self.instance, &vaults, &signers).await
    }

    /// In a cluster no slot is kept for a class: those without `listen` share `--dns`.
    fn wanted(&self) -> BTreeMap<Slot, Endpoint> {
        Ports::default().endpoints(&self.instance.planner().views())
    }

    async fn bind(&mut self, wanted: &BTreeMap<Slot, Endpoint>) {
        let troubles = self.listeners.bind(wanted).await;
        self.note_unbound(&troubles);
    }

    fn note_unbound(&mut self, troubles: &[anyhow::Error]) {
        self.unbound = !troubles.is_empty();
        troubles.iter().for_each(|error| tracing::error!("{error:#}"));
    }

    /// At the start `--dns` must open. What a class names may be another machine's, and is tried again.
    async fn bind_first(&mut self, wanted: &BTreeMap<Slot, Endpoint>) -> Result<()> {
        let mut troubles = self.listeners.bind(wanted).await;
        if self.listeners.address(Slot::Numbered(0)).is_none() && !troubles.is_empty() {
            return Err(troubles.remove(0));
        }
        self.note_unbound(&troubles);
        Ok(())
    }

    /// Tries again what failed, and looks at what nobody tells us of.
    async fn look_again(&mut self) -> Result<()> {
        self.instance.refresh_geo()?;
        self.save_remembered();
        if self.unbound {
            self.listen_again().await;
        }
        Ok(())
    }

    async fn listen_again(&mut self) {
        let wanted = self.wanted();
        self.bind(&wanted).await;
        let endpoints = self.listeners.table(&wanted);
        self.instance.views.publish(|table| table.endpoints = endpoints);
        self.answer(&wanted).await;
    }

    async fn answer(&mut self, wanted: &BTreeMap<Slot, Endpoint>) {
        self.listeners.serve(wanted, &self.instance.views).await;
        self.instance.facts().listeners = self.listeners.counted();
    }

    /// Lets go of a plan that cannot be trusted; what is served stays.
    fn forget(&mut self) {
        // Nothing is fed, so nothing can fail.
        let _ = self.instance.plan_anew(Vec::new());
        (self.date, self.published) = (None, false);
    }

    fn report_state(&self) {
        let problems = self.state.as_ref().map(|state| state.take_problems()).unwrap_or_default();
        problems.iter().for_each(|problem| tracing::error!("{problem}"));
    }

    async fn stop(mut self) {
        self.save_remembered();
        self.listeners.stop().await;
        if let Some(keeper) = self.keeper {
            keeper.finish().await;
        }
    }
}

/// What zones were transferred as before a restart is not known: their serials may have been others'.
fn start_transfers(
    arguments: &DnsArguments,
    instance: &Arc<Instance>,
    connection: &Connection,
) -> Result<Transfers> {
    let secrets = ClusterSecrets::new(connection.clone());
    tokio::spawn(secrets.clone().look());
    Ok(Transfers::start(Means {
        instance: instance.clone(),
        secret_changes: secrets.changes(),
        secrets,
        guard: Arc::new(arguments.targets.guard(Forbidden::default())?),
        before: BTreeMap::new(),
    }))
}

fn planner(classes: &[String], rules: &Rules) -> Planner {
    let setting = Setting::Server { classes: classes.to_vec() };
    Planner::in_cluster("default".to_owned(), setting).under(rules.clone())
}

/// What the planner is told of one piece of news.
fn take(news: News, changes: &mut Vec<Change>) {
    match news {
        News::Seen(Subject::Kind(kind), arrival) => {
            changes.extend(feed::changes(kind, &arrival));
        }
        News::Seen(Subject::Serials, arrival) => {
            changes.extend(serials::of_config_map(arrival.text.get()));
        }
        News::Gone(Subject::Kind(kind), key) => changes.push(feed::gone(kind, &key)),
        _ => {}
    }
}
