//! `fingerpost provider`: a server that takes records over HTTP and holds them in a store.
//!
//! ```text
//! webhook (document 002) ─┐                 ┌─► embedded: journal, memory, DNS
//!                         ├─► store ─► dyn Provider
//! external_dns ───────────┘                 └─► PowerDNS, RFC 2136, zone files
//! ```
//!
//! Nothing is acknowledged before it stands where it was asked to stand, on the disk for the embedded store.
//! What a client sends is bounded, and what a store says never reaches a client.

pub mod authentication;
pub mod embedded;
pub mod external_dns;
pub mod fences;
pub mod journal;
pub mod limits;
pub mod listen;
pub mod metrics;
pub mod nonces;
pub mod store;
pub mod stores;
pub mod token;
pub mod webhook;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use axum::Router;
use axum::extract::State;
use axum::routing::get;
use backends::transport::guard::Guard;
use backends::transport::http::{HttpClient, Trust};
use backends::webhook::Verifier;
use jiff::Timestamp;
use server::ServeHandle;

use self::authentication::{Authentication, SecretFiles};
use self::embedded::{ENDPOINT, Embedded};
use self::fences::Fences;
use self::limits::Limits;
use self::listen::TlsFiles;
use self::metrics::Metrics;
use self::nonces::KeptNonces;
use self::store::Store;
use self::token::{Source, Tokens};
use crate::cli::{AuthenticationArguments, Protocol, ProviderArguments};
use crate::http;
use crate::instance::serving;
use crate::state::lock;

/// How long a look at the issuer's keys may take.
const KEYS_TIME: Duration = Duration::from_secs(5);

/// What every request sees.
pub struct Shared {
    store: Store,
    authentication: Authentication,
    fences: Fences,
    limits: Limits,
    metrics: Metrics,
    default_ttl: u32,
}

/// Serves until `stop` is ready.
pub async fn run(arguments: &ProviderArguments, stop: impl Future<Output = ()>) -> Result<()> {
    ensure_safe(arguments)?;
    let state = arguments.state.as_deref();
    let _lock = state.map(kept).transpose()?;
    let opened = stores::open(&arguments.store, state)?;
    // ExternalDNS keeps marks of its own, as records like all others.
    let owner = opened.owner.filter(|_| arguments.protocol == Protocol::Webhook);
    let store = Store::new(opened.provider, arguments.zones.clone()).marked(owner);
    let shared = Arc::new(shared(arguments, store, state).await?);
    if let Err(failure) = shared.store.open_zones().await {
        tracing::warn!("the zones cannot be opened yet: {failure}");
    }
    let dns = match &opened.embedded {
        Some(embedded) => Some(serve_dns(arguments, embedded).await?),
        None => None,
    };
    let listener = http::bind(arguments.listen, "--listen").await?;
    let page = http::bind(arguments.http, "--http").await?;
    tracing::info!(listen = %listener.local_addr()?, http = %page.local_addr()?,
        dns = ?dns.as_ref().map(ServeHandle::local_addr), "listening");
    let router = match arguments.protocol {
        Protocol::Webhook => webhook::router(shared.clone()),
        Protocol::ExternalDns => external_dns::router(shared.clone()),
    };
    let listening = listen::serve(listener, tls(&arguments.authentication), router)?;
    let pages = http::serve(page, pages(shared.clone()));
    tokio::select! {
        () = stop => {}
        () = shared.authentication.follow(secrets(&arguments.authentication)) => {}
    }
    listening.stop().await;
    pages.stop().await;
    if let Some(dns) = dns {
        dns.stop().await;
    }
    Ok(())
}

/// Refuses to take records from everybody unless that is said.
fn ensure_safe(arguments: &ProviderArguments) -> Result<()> {
    let who = &arguments.authentication;
    let external = arguments.protocol == Protocol::ExternalDns;
    let signed = !who.hmac_secret_file.is_empty() || !who.service_account.is_empty();
    ensure!(
        !(external && signed),
        "ExternalDNS neither signs its requests nor sends a token: leave --hmac-secret-file and --service-account out"
    );
    ensure!(
        who.insecure || signed || who.client_ca.is_some() || arguments.listen.ip().is_loopback(),
        "anybody could write records on {}: set up {}, listen on a loopback address, or say --insecure",
        arguments.listen,
        if external { "--client-ca" } else { "--hmac-secret-file, --client-ca or --service-account" }
    );
    Ok(())
}

/// The state directory, kept from other processes.
fn kept(state: &Path) -> Result<std::fs::File> {
    let unusable =
        || format!("the state directory {} cannot be used: name another with --state DIR", state.display());
    std::fs::create_dir_all(state).with_context(unusable)?;
    Ok(lock(state)?)
}

async fn shared(arguments: &ProviderArguments, store: Store, state: Option<&Path>) -> Result<Shared> {
    let file = state.map(|state| state.join("generations"));
    let (fences, trouble) = Fences::open(file.as_deref()).context("the generations cannot be read")?;
    if let Some(trouble) = trouble {
        tracing::warn!("{trouble}");
    }
    Ok(Shared {
        store,
        authentication: authentication(&arguments.authentication, state).await?,
        fences,
        limits: Limits::new(arguments.rate_limit),
        metrics: Metrics::default(),
        default_ttl: arguments.default_ttl,
    })
}

async fn authentication(arguments: &AuthenticationArguments, state: Option<&Path>) -> Result<Authentication> {
    let keys = secrets(arguments).map(|files| files.read()).transpose()?;
    let signatures = keys.map(|keys| Verifier::new(keys).for_hosts(arguments.host.clone()));
    let tokens = tokens(arguments)?;
    if let Some(tokens) = &tokens
        && let Err(error) = tokens.read_keys().await
    {
        tracing::warn!("the keys of ServiceAccount tokens cannot be read yet: {error:#}");
    }
    let authentication = Authentication { signatures, nonces: state.map(KeptNonces::new), tokens };
    authentication.recall(Timestamp::now())?;
    Ok(authentication)
}

fn secrets(arguments: &AuthenticationArguments) -> Option<SecretFiles> {
    let (algorithm, files) = (arguments.hmac_algorithm, arguments.hmac_secret_file.clone());
    (!files.is_empty()).then_some(SecretFiles { algorithm, files })
}

fn tokens(arguments: &AuthenticationArguments) -> Result<Option<Tokens>> {
    let (Some(issuer), Some(audience), Some(keys)) = (
        &arguments.service_account_issuer,
        &arguments.service_account_audience,
        &arguments.service_account_keys,
    ) else {
        return Ok(None);
    };
    let subjects = arguments.service_account.iter().map(|account| format!("system:serviceaccount:{account}"));
    let source = match keys.contains("://") {
        false => Source::File(PathBuf::from(keys)),
        true => Source::Url {
            url: keys.clone(),
            client: Box::new(trusting_client(arguments.service_account_ca.as_deref(), KEYS_TIME)?),
            token: arguments.service_account_token_file.clone(),
        },
    };
    Ok(Some(Tokens::new(issuer.clone(), audience.clone(), subjects.collect(), source)))
}

/// A client for addresses that whoever starts us names: it may go anywhere.
fn trusting_client(authority: Option<&Path>, timeout: Duration) -> Result<HttpClient> {
    let read = |path: &Path| std::fs::read(path).with_context(|| format!("cannot read {}", path.display()));
    let trust = Trust { authorities: authority.map(read).transpose()?, identity: None };
    Ok(HttpClient::new(anywhere(), timeout, &trust)?)
}

fn anywhere() -> Arc<Guard> {
    let networks = ["0.0.0.0/0", "::/0"].iter().filter_map(|network| network.parse().ok());
    Arc::new(Guard::allowing(networks))
}

fn tls(arguments: &AuthenticationArguments) -> Option<TlsFiles> {
    let (certificates, key) = (arguments.tls_cert.clone()?, arguments.tls_key.clone()?);
    Some(TlsFiles { certificates, key, clients: arguments.client_ca.clone() })
}

async fn serve_dns(arguments: &ProviderArguments, embedded: &Embedded) -> Result<ServeHandle> {
    let address = arguments.store.dns;
    let bound = server::bind(address).await;
    let bound = bound
        .with_context(|| format!("cannot serve DNS on {address} (choose another address with --dns)"))?;
    Ok(server::serve_with(serving::usual()?, bound, ENDPOINT, embedded.views()))
}

fn pages(shared: Arc<Shared>) -> Router {
    Router::new()
        .route("/healthz", get(http::healthy))
        .route("/readyz", get(ready))
        .route("/metrics", get(counts))
        .with_state(shared)
}

async fn ready(State(shared): State<Arc<Shared>>) -> (axum::http::StatusCode, String) {
    http::readiness(
        shared.store.health().await.err().map(|failure| failure.to_string()).into_iter().collect(),
    )
}

async fn counts(State(shared): State<Arc<Shared>>) -> axum::response::Response {
    shared.metrics.page(shared.authentication.signatures.as_ref().map(Verifier::remembered))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use clap::Parser;
    use rstest::rstest;

    use super::*;
    use crate::cli::{Cli, Command};

    #[rstest]
    #[case("", true)]
    #[case("--listen 0.0.0.0:1", false)]
    #[case("--listen 0.0.0.0:1 --insecure", true)]
    #[case("--listen 0.0.0.0:1 --hmac-secret-file f", true)]
    #[case("--listen 0.0.0.0:1 --tls-cert f --tls-key f", false)]
    #[case("--listen 0.0.0.0:1 --tls-cert f --tls-key f --client-ca f", true)]
    #[case("--protocol external-dns", true)]
    #[case("--protocol external-dns --hmac-secret-file f", false)]
    #[case("--protocol external-dns --listen 0.0.0.0:1", false)]
    fn records_are_taken_from_everybody_only_where_that_is_said(#[case] flags: &str, #[case] fine: bool) {
        let line = format!("fingerpost provider --no-state --zone example.org {flags}");
        let cli = Cli::try_parse_from(line.split_whitespace()).unwrap();
        let Command::Provider(arguments) = cli.command else { panic!("another command") };
        assert_eq!(ensure_safe(&arguments).is_ok(), fine);
    }
}
