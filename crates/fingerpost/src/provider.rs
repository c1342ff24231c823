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
pub mod entrance;
pub mod external_dns;
pub mod fences;
pub mod journal;
pub mod limits;
pub mod listings;
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
use self::entrance::Entrance;
use self::fences::Fences;
use self::limits::Limits;
use self::listings::Listings;
use self::metrics::Metrics;
use self::nonces::KeptNonces;
use self::store::Store;
use self::token::{Source, Tokens};
use crate::cli::{AuthenticationArguments, Protocol, ProviderArguments};
use crate::http;
use crate::http::gate::is_loopback;
use crate::http::hosts::Hosts;
use crate::http::server::bodies::Bodies;
use crate::http::server::{Tls, TlsFiles, serve_with};
use crate::instance::serving;
use crate::state::{Opened, open_directory};

/// How long a look at the issuer's keys may take.
const KEYS_TIME: Duration = Duration::from_secs(5);

/// What every request sees.
pub struct Shared {
    store: Store,
    authentication: Authentication,
    fences: Fences,
    entrance: Entrance,
    listings: Listings,
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
        Protocol::ExternalDns => {
            let paths = "/, /records and /adjustendpoints";
            http::only_with_errors(external_dns::router(shared.clone()), paths)
        }
    };
    let limits = http::Limits::new(arguments.http_connections);
    let tls = tls(&arguments.authentication).map(Tls::of_files).transpose()?;
    let listening = serve_with(listener, tls, router, limits);
    let pages = pages(shared.clone(), opened.embedded.clone());
    let pages = http::only_with_errors(pages, "/healthz, /readyz and /metrics");
    let pages = http::serve(page, pages, limits);
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
        who.insecure || signed || who.client_ca.is_some() || is_loopback(arguments.listen),
        "anybody could write records on {}: set up {}, listen on a loopback address, or say --insecure",
        arguments.listen,
        if external { "--client-ca" } else { "--hmac-secret-file, --client-ca or --service-account" }
    );
    Ok(())
}

/// The state directory, kept from other processes. A full or read-only disk is no reason not to serve.
fn kept(state: &Path) -> Result<Opened> {
    let opened = open_directory(state, &[])?;
    if let Some(refusal) = &opened.refusal {
        tracing::warn!(
            "the state directory {} cannot be written: {refusal}; records are served, and writes refused until it can",
            state.display()
        );
    }
    Ok(opened)
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
        entrance: entrance(arguments),
        listings: Listings::default(),
        metrics: Metrics::default(),
        default_ttl: arguments.default_ttl,
    })
}

/// Where nothing proves who sends a request, and on loopback addresses, which web pages can reach, a request must name
/// this server as its Host.
fn entrance(arguments: &ProviderArguments) -> Entrance {
    let who = &arguments.authentication;
    let proved =
        !who.hmac_secret_file.is_empty() || !who.service_account.is_empty() || who.client_ca.is_some();
    let hosts = (!proved || is_loopback(arguments.listen)).then(|| Hosts::new(&who.host));
    let media_type = match arguments.protocol {
        Protocol::Webhook => webhook::MEDIA_TYPE,
        Protocol::ExternalDns => external_dns::MEDIA_TYPE,
    };
    let bodies = Bodies::new(arguments.body_memory as usize * (1 << 20));
    Entrance::new(Limits::new(arguments.rate_limit), hosts, bodies, media_type)
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

/// What the pages show: the requests, and the store that answers DNS itself.
type Shown = (Arc<Shared>, Option<Arc<Embedded>>);

fn pages(shared: Arc<Shared>, embedded: Option<Arc<Embedded>>) -> Router {
    Router::new()
        .route("/healthz", get(http::healthy))
        .route("/readyz", get(ready))
        .route("/metrics", get(counts))
        .with_state((shared, embedded))
}

/// A store that answers DNS itself is ready while it does, also where it takes no writes.
async fn ready(State((shared, embedded)): State<Shown>) -> (axum::http::StatusCode, String) {
    let mut troubles: Vec<String> =
        shared.store.health().await.err().map(|failure| failure.to_string()).into_iter().collect();
    let Some(embedded) = embedded else { return http::readiness(troubles) };
    let damaged = embedded.condition().damaged_zones;
    if damaged > 0 {
        troubles
            .push(format!("{damaged} zones are not served, because their records are damaged on the disk"));
    }
    let text =
        if troubles.is_empty() { "ready".to_owned() } else { format!("ready, but: {}", troubles.join("; ")) };
    (axum::http::StatusCode::OK, format!("{text}\n"))
}

async fn counts(State((shared, embedded)): State<Shown>) -> axum::response::Response {
    let nonces = shared.authentication.signatures.as_ref().map(Verifier::remembered);
    shared.metrics.page(nonces, embedded.map(|embedded| embedded.condition()))
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
