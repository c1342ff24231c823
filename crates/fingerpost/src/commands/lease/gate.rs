//! Whether a lease is held, and until when: as a running instance says, or by holding it ourselves.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use api::SecretRef;
use api::placement::{EtcdWitness, HttpWitness, KubernetesWitness, Witness};
use backends::transport::http::HttpClient;
use futures::future::BoxFuture;
use http::header::AUTHORIZATION;
use http::{HeaderValue, Request};
use http_body_util::Full;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::cli::LeaseArguments;
use crate::console;
use crate::http::client::{anywhere, authorization, trust};
use crate::http::errors::message;
use crate::operator::lease::unique_identity;
use crate::secrets::{Missing, Secret, SecretFiles, SecretName, Secrets};
use crate::witness::{Intent, Keeper, Means, Report, Terms, connect};

/// How long giving a lease back may take.
const LAST_CALL: Duration = Duration::from_secs(5);

/// A lease that is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) generation: u64,
    pub(super) until: Instant,
    /// How long that was when it was heard.
    pub(super) span: Duration,
}

/// What a look at a lease tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    Held(Held),
    /// Surely not.
    Lost,
    /// Nobody could tell.
    Unknown,
}

/// Where a lease is looked at.
pub(super) enum Gate {
    /// A running instance keeps it for its region.
    Asked { client: Box<HttpClient>, url: String, authorization: Option<HeaderValue>, pause: Duration },
    /// We keep it.
    Kept { keeper: Keeper, reports: watch::Receiver<Report>, holder: String },
}

impl Gate {
    pub(super) async fn open(arguments: &LeaseArguments) -> Result<Gate> {
        match &arguments.url {
            Some(url) => asked(url, arguments),
            None => kept(arguments).await,
        }
    }

    /// Waits until the lease is held.
    pub(super) async fn wait(&mut self) -> Result<Held> {
        let mut told = None;
        loop {
            if let Look::Held(held) = self.look().await {
                return Ok(held);
            }
            let trouble = self.trouble().await;
            if trouble != told {
                if let Some(trouble) = &trouble {
                    console::note(&format!("waiting for the lease: {trouble}"));
                }
                told = trouble;
            }
        }
    }

    /// Waits for a while and looks at the lease again.
    pub(super) async fn look(&mut self) -> Look {
        match self {
            Gate::Asked { client, url, authorization, pause } => {
                sleep(*pause).await;
                let sent = Instant::now();
                ask(client, url, authorization.as_ref())
                    .await
                    .map_or(Look::Unknown, |answer| told(&answer, sent))
            }
            Gate::Kept { reports, .. } => {
                if reports.changed().await.is_err() {
                    return std::future::pending().await;
                }
                kept_still(&reports.borrow_and_update())
            }
        }
    }

    /// Why the lease is not held, for people.
    async fn trouble(&self) -> Option<String> {
        match self {
            Gate::Asked { client, url, authorization, .. } => {
                match ask(client, url, authorization.as_ref()).await {
                    Ok(answer) => Some(match answer["holder"].as_str() {
                        Some(holder) => format!("it is held by {holder}"),
                        None => "no region holds it".to_owned(),
                    }),
                    Err(error) => Some(format!("{url}: {error:#}")),
                }
            }
            Gate::Kept { reports, .. } => {
                let report = reports.borrow();
                let held = report.seen.as_ref().map(|seen| format!("it is held by {}", seen.document.holder));
                report.trouble.as_ref().map(|failure| format!("the witness: {failure}")).or(held)
            }
        }
    }

    /// Gives back a lease of our own.
    pub(super) async fn release(&mut self) {
        let Gate::Kept { keeper, reports, holder } = self else { return };
        keeper.want(Intent::Yield(None, false));
        let given_back = reports
            .wait_for(|report| report.seen.as_ref().is_some_and(|seen| seen.document.holder != *holder));
        if tokio::time::timeout(LAST_CALL, given_back).await.is_err() {
            console::error("the lease could not be given back: others wait until it has run out");
        }
    }
}

fn asked(url: &str, arguments: &LeaseArguments) -> Result<Gate> {
    let pause = (arguments.renew / 2).min(Duration::from_secs(5));
    let timeout = arguments.renew.min(Duration::from_secs(5));
    let client = HttpClient::new(anywhere(), timeout, &trust(&arguments.reader)?)?;
    let url = format!("{}/api/v1/leases/{}", url.trim_end_matches('/'), arguments.name);
    Ok(Gate::Asked { client: Box::new(client), url, authorization: authorization(&arguments.reader)?, pause })
}

async fn ask(client: &HttpClient, url: &str, authorization: Option<&HeaderValue>) -> Result<Value> {
    let mut request = Request::get(url);
    if let Some(value) = authorization {
        request = request.header(AUTHORIZATION, value.clone());
    }
    let answer = client.send(request.body(Full::default())?).await?;
    if !answer.status.is_success() {
        bail!("{}: {}", answer.status, message(&String::from_utf8_lossy(&answer.body)));
    }
    Ok(serde_json::from_slice(&answer.body)?)
}

/// The time that is left is counted from when we asked, by our own clock.
fn told(answer: &Value, sent: Instant) -> Look {
    let left = answer["remainingMilliseconds"].as_u64().filter(|_| answer["held"] == true);
    let (Some(left), Some(generation)) = (left, answer["generation"].as_u64()) else { return Look::Lost };
    let span = Duration::from_millis(left);
    let until = sent.checked_add(span).unwrap_or(sent);
    Look::Held(Held { generation, until, span })
}

/// A report comes with every round, so one that believes nothing may only be late.
fn kept_still(report: &Report) -> Look {
    let now = Instant::now();
    match (report.believes_until, &report.seen) {
        (Some(until), Some(seen)) if until > now => {
            Look::Held(Held { generation: seen.document.generation, until, span: until - now })
        }
        _ => Look::Unknown,
    }
}

async fn kept(arguments: &LeaseArguments) -> Result<Gate> {
    let host = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
    let holder = match &arguments.holder {
        Some(holder) => holder.clone(),
        None => unique_identity(host.trim())?,
    };
    let means = Means { secrets: Arc::new(Given(secret(arguments)?)), guard: anywhere(), tenants: false };
    let name = arguments.name.replace('/', ".");
    let store = connect(&witness(arguments), "", &arguments.name, &name, &means).await?;
    let terms = Terms { holder: holder.clone(), lease: arguments.lease, renew: arguments.renew };
    let keeper = Keeper::start(store, terms, 0);
    keeper.want(Intent::Hold(Duration::ZERO));
    Ok(Gate::Kept { reports: keeper.reports(), keeper, holder })
}

fn witness(arguments: &LeaseArguments) -> Witness {
    let reference = SecretRef { name: "given".to_owned(), namespace: None };
    let secret_ref = arguments.secret.as_ref().map(|_| reference.clone());
    let endpoints = arguments.etcd.clone();
    let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    Witness {
        etcd: (!endpoints.is_empty()).then(|| EtcdWitness { endpoints, secret_ref: secret_ref.clone() }),
        kubernetes: arguments
            .kubernetes
            .as_ref()
            .map(|_| KubernetesWitness { kubeconfig_secret_ref: reference }),
        http: arguments.http.clone().map(|url| HttpWitness { url, secret_ref }),
        region: None,
        lease: api::Duration::from_millis(millis(arguments.lease)),
        renew: api::Duration::from_millis(millis(arguments.renew)),
    }
}

/// What was given on the command line to sign in with.
fn secret(arguments: &LeaseArguments) -> Result<Secret> {
    let mut secret = Secret::default();
    if let Some(folder) = &arguments.secret {
        let (parent, name) = folder.parent().zip(folder.file_name()).context("--secret names no folder")?;
        let name = SecretName { namespace: None, name: name.to_string_lossy().into_owned() };
        let read = SecretFiles::new(parent.to_owned()).read(&name);
        secret = read.with_context(|| format!("there is no folder {}", folder.display()))?;
    }
    if let Some(file) = &arguments.kubernetes {
        let content = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        secret.data.insert("kubeconfig".to_owned(), content);
    }
    Ok(secret)
}

/// One Secret, whatever it is asked for by.
struct Given(Secret);

impl Secrets for Given {
    fn secret<'a>(&'a self, _: &'a SecretName, _: &'a str) -> BoxFuture<'a, Result<Secret, Missing>> {
        Box::pin(async { Ok(self.0.clone()) })
    }

    fn token<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<String, Missing>> {
        Box::pin(async { Err(Missing::NotFound("there is no ServiceAccount here".to_owned())) })
    }
}
