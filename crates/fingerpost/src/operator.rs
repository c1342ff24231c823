//! `fingerpost operator`: the pipeline in a cluster.
//!
//! ```text
//! cluster::watch ──► engine ──► API server        lease: who writes
//!                      │                          admission, certificates: the webhook
//!                      └──► health, metrics, /api/v1/
//! ```

pub mod admission;
pub mod certificates;
pub mod compose;
pub mod definitions;
pub(crate) mod delivering;
mod directing;
pub mod engine;
pub mod events;
pub mod health;
pub mod lease;
pub mod live;
pub mod metrics;
pub mod queue;
pub mod removals;
pub mod send;
mod signing;
pub mod webhook;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use axum::Router;
use axum::extract::State;
use axum::response::Response;
use axum::routing::get;
use backends::transport::guard::Forbidden;
use governor::Quota;
use planner::{Planner, Setting};
use prometheus_client::registry::Registry;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::cli::{BindAddress, OperatorArguments};
use crate::cluster::requests::Requests;
use crate::cluster::{Board, Connection, News, Subject, api_server, watch as watches};
use crate::deliveries::Deliveries;
use crate::directing::Directing;
use crate::http::{self, ApiListener, ApiPlan, Gate, Limits, Serving};
use crate::instance::Instance;
use crate::keys::SecretVaults;
use crate::probes::Probes;
use crate::secrets::ClusterSecrets;
use definitions::Outdated;
use engine::{Engine, Parts};
use health::Health;
use lease::{Election, Leadership};
use metrics::{Asking, Inquiries, Metrics};

/// How much news may wait for the loop.
const NEWS: usize = 4096;
/// How long until everything is read anew after planning failed.
const START_AGAIN: Duration = Duration::from_secs(5);

/// Runs the operator until `stop` is ready.
pub async fn run(arguments: &OperatorArguments, stop: impl Future<Output = ()>) -> Result<()> {
    let connection = Connection::open(&arguments.cluster).await?;
    let (stopping, stopped) = watch::channel(false);
    let identity = identity()?;
    let (leadership, election) = election(arguments, &connection, &identity, stopped.clone())?;
    let outdated = Outdated::default();
    tokio::spawn(definitions::watch(connection.client.clone(), outdated.clone()));
    let secrets = ClusterSecrets::new(connection.clone());
    tokio::spawn(secrets.clone().follow());
    let forbidden = api_server::learn(&connection);
    let operator = Operator { arguments, connection, leadership, identity, outdated, secrets, forbidden };
    let ended = operator.work(stop, stopped).await;
    // The lease is let go last, when nothing is under way any more.
    let _ = stopping.send(true);
    if let Some(election) = election {
        let _ = election.await;
    }
    ended
}

/// Who this is in the Lease: the pod, else this process on this machine.
fn identity() -> Result<String> {
    let name = std::env::var("POD_NAME").or_else(|_| std::fs::read_to_string("/etc/hostname"));
    let name = name.map_or_else(|_| "fingerpost".to_owned(), |name| name.trim().to_owned());
    Ok(lease::unique_identity(&name)?)
}

fn election(
    arguments: &OperatorArguments,
    connection: &Connection,
    identity: &str,
    stopped: watch::Receiver<bool>,
) -> Result<(Leadership, Option<JoinHandle<()>>)> {
    if !arguments.leader_elect {
        return Ok((Leadership::always(), None));
    }
    let (timeout, lease) = (arguments.kube_api_timeout, arguments.leader_election_renew_deadline);
    ensure!(
        timeout < lease,
        "--kube-api-timeout {timeout:?} must be shorter than --leader-election-renew-deadline {lease:?}: a write is sent \
         only while more than its own timeout is left of the lease"
    );
    let settings = lease::Settings {
        name: arguments.leader_election_id.clone(),
        namespace: connection.namespace.clone(),
        identity: identity.to_owned(),
        lease_duration: arguments.leader_election_lease_duration,
        renew_deadline: arguments.leader_election_renew_deadline,
        retry_period: arguments.leader_election_retry_period,
    };
    let election = Election::new(&connection.config, settings)?;
    let leadership = election.leadership();
    Ok((leadership, Some(tokio::spawn(election.run(flagged(stopped))))))
}

/// Ready when the flag is up, or nobody can raise it any more.
async fn flagged(mut flag: watch::Receiver<bool>) {
    // An error says that the sender is gone, which ends the waiting too.
    let _ = flag.wait_for(|flag| *flag).await;
}

struct Operator<'a> {
    arguments: &'a OperatorArguments,
    connection: Connection,
    leadership: Leadership,
    identity: String,
    outdated: Outdated,
    secrets: Arc<ClusterSecrets>,
    /// Where the API server is.
    forbidden: Forbidden,
}

/// What the pages show.
#[derive(Clone)]
struct Shown {
    instance: Arc<Instance>,
    metrics: Arc<Metrics>,
    asking: Asking,
    health: Health,
    requests: Requests,
    outdated: Outdated,
}

impl Operator<'_> {
    async fn work(&self, stop: impl Future<Output = ()>, stopped: watch::Receiver<bool>) -> Result<()> {
        tokio::pin!(stop);
        let rules = self.arguments.tenancy.rules();
        let make = move || Planner::in_cluster("default".to_owned(), Setting::Operator).under(rules.clone());
        let instance = Arc::new(Instance::new(make));
        let (health, metrics) = (Health::default(), Arc::new(Metrics::default()));
        let (asking, mut inquiries) = Asking::new();
        let shown = Shown {
            instance: instance.clone(),
            health: health.clone(),
            metrics: metrics.clone(),
            asking,
            requests: self.connection.requests.clone(),
            outdated: self.outdated.clone(),
        };
        let pages = self.serve(shown.clone()).await?;
        let webhook =
            webhook::start(self.arguments, &self.connection, &instance, &self.leadership, stopped).await?;
        let (client, timeout) = (self.connection.client.clone(), self.arguments.kube_api_timeout);
        let vaults = SecretVaults::new(client, self.connection.namespace.clone()).within(timeout);
        signing::hear(&instance, &vaults).await;
        tokio::spawn(signing::run(instance.clone(), vaults, self.leadership.clone(), timeout));
        let probes = self.probes(&instance)?;
        health.lead(self.leadership.clone());
        if let Some(webhook) = &webhook {
            health.admit(webhook.problems());
        }
        loop {
            let (sender, news) = channel(NEWS);
            let resync = self.arguments.resync_period;
            let board = watches::start(&self.connection, &Subject::of_operator(), resync, &sender);
            // The watches end when the engine no longer listens.
            drop(sender);
            health.watch(board.clone());
            let deliveries = tokio::select! {
                () = &mut stop => break,
                deliveries = self.deliveries(instance.deliveries.clone()) => deliveries?,
            };
            let directing = self.directing(&instance)?;
            let parts = self.parts(&shown, board, news, inquiries, (deliveries, directing, probes.clone()));
            let mut engine = Engine::new(parts);
            let ended = engine.run(&mut stop).await;
            inquiries = engine.into_inquiries();
            match ended {
                Ok(()) => break,
                Err(panic) => tracing::error!("{panic}; everything is read anew"),
            }
            // Nothing is fed, so nothing can fail.
            let _ = instance.plan_anew(Vec::new());
            tokio::time::sleep(START_AGAIN).await;
        }
        for page in pages {
            page.stop().await;
        }
        if let Some(webhook) = webhook {
            webhook.stop().await;
        }
        Ok(())
    }

    fn parts(
        &self,
        shown: &Shown,
        board: Board,
        news: Receiver<News>,
        inquiries: Inquiries,
        (deliveries, directing, probes): (Deliveries, Directing, Arc<Probes>),
    ) -> Parts {
        let (client, arguments) = (&self.connection.client, self.arguments);
        Parts {
            instance: shown.instance.clone(),
            board,
            news,
            leadership: self.leadership.clone(),
            sender: send::Sender::new(client.clone(), self.leadership.clone(), arguments.kube_api_timeout),
            events: events::Events::new(client.clone(), self.identity.clone()),
            health: shown.health.clone(),
            metrics: shown.metrics.clone(),
            inquiries,
            outdated: self.outdated.clone(),
            deliveries,
            directing,
            probes,
            namespace: self.connection.namespace.clone(),
            quota: Quota::per_second(arguments.kube_api_qps).allow_burst(arguments.kube_api_burst),
        }
    }

    /// Opens the pages; an address that cannot be opened is an error at the start.
    async fn serve(&self, shown: Shown) -> Result<Vec<Serving>> {
        let arguments = self.arguments;
        let limits = Limits::new(arguments.api.http_connections);
        let plan = ApiPlan::in_cluster(&arguments.api);
        let gate = Gate::new(&arguments.api, &plan, Some(&self.connection.client))?;
        let metrics = Router::new().route("/metrics", get(show_metrics)).with_state(shown.clone());
        let status = metrics.merge(health::router(shown.health));
        let mut serving = Vec::new();
        let addresses = [
            (arguments.metrics_bind_address, "--metrics-bind-address"),
            (arguments.health_probe_bind_address, "--health-probe-bind-address"),
        ];
        for (address, flag) in addresses {
            if let BindAddress(Some(address)) = address {
                let listener = http::bind(address, flag).await?;
                tracing::info!(address = %listener.local_addr()?, flag, "listening");
                serving.push(http::serve(listener, http::with_errors(status.clone()), limits));
            }
        }
        if let Some(api) = ApiListener::bind(&arguments.api, &plan).await? {
            tracing::info!(address = api.url()?, flag = "--api", "listening");
            serving.push(api.serve(http::with_errors(http::api_pages(shown.instance, gate)), limits));
        }
        Ok(serving)
    }
}

async fn show_metrics(State(shown): State<Shown>) -> Response {
    let sample = shown.asking.sample().await;
    let mut registry = Registry::default();
    tokio::task::block_in_place(|| http::metrics::register(&mut registry, &shown.instance));
    shown.metrics.register(&mut registry, sample.as_ref(), &shown.health.board(), &shown.requests);
    metrics::register_outdated(&mut registry, &shown.outdated);
    http::metrics::response(&registry)
}
