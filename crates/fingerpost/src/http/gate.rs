//! What stands before the page and `/api/`: the `Host`, the `Origin` and, where it is demanded, a credential.
//!
//! Which of these there is, and on which address, follows from the flags; a combination that would show
//! everything to everybody is an error at the start.

use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::{RETRY_AFTER, WWW_AUTHENTICATE};
use kube::Client;
use tokio::net::TcpListener;

use super::Limits;
use super::access::{Access, Denial, Reviews, TokenFile};
use super::hosts::Hosts;
use super::server::{LocalAddress, Serving, Tls, TlsFiles, bind, serve_with};
use crate::cli::{ApiArguments, BindAddress};

/// The address of the page and `/api/` where no flag names another.
pub const DEFAULT: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8054);
/// The flag that adds a name to those by which a listener may be reached.
pub const FLAG: &str = "--allowed-host";

/// What requests must have; clones share it.
#[derive(Clone)]
pub struct Gate(Arc<Checks>);

struct Checks {
    hosts: Hosts,
    access: Option<Access>,
}

/// Where and how the page and `/api/` are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApiPlan {
    /// Not at all.
    Off,
    /// On the listener of `--http`, which is a loopback one.
    Merged,
    /// On a listener of its own; where no flag names it, an address in use is no error.
    Own(SocketAddr, Named),
}

/// Whether a flag names an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// It is the default.
    No,
    /// A flag names it.
    Yes,
}

impl ApiPlan {
    /// The listener of `dns` and `operator`.
    pub fn in_cluster(arguments: &ApiArguments) -> ApiPlan {
        match arguments.api {
            None => ApiPlan::Own(DEFAULT, Named::No),
            Some(BindAddress(None)) => ApiPlan::Off,
            Some(BindAddress(Some(address))) => ApiPlan::Own(address, Named::Yes),
        }
    }

    /// The listener of `up`, whose `--http` is this.
    pub fn beside(arguments: &ApiArguments, http: SocketAddr) -> ApiPlan {
        match arguments.api {
            None if is_loopback(http) => ApiPlan::Merged,
            Some(BindAddress(Some(api))) if api == http && api.port() != 0 && is_loopback(http) => {
                ApiPlan::Merged
            }
            _ => ApiPlan::in_cluster(arguments),
        }
    }
}

/// Whether only this machine reaches an address.
pub fn is_loopback(address: SocketAddr) -> bool {
    address.ip().to_canonical().is_loopback()
}

impl Gate {
    /// The gate of a listener. In a cluster, tokens are reviewed by its API server.
    pub fn new(arguments: &ApiArguments, plan: &ApiPlan, cluster: Option<&Client>) -> Result<Gate> {
        let is_open = match plan {
            ApiPlan::Off | ApiPlan::Merged => true,
            ApiPlan::Own(address, _) => is_loopback(*address),
        };
        ensure!(
            *plan != ApiPlan::Merged || arguments.api_tls_cert.is_none(),
            "--api-tls-cert has no listener of its own to serve: name one with --api ADDR"
        );
        let encrypted = arguments.api_tls_cert.is_some() || arguments.api_insecure;
        let access = match (&arguments.api_token_file, cluster) {
            (Some(path), _) => Some(Access::File(TokenFile::open(path).context("--api-token-file")?)),
            (None, _) if is_open => None,
            (None, Some(client)) => Some(Access::Cluster(Box::new(Reviews::new(client.clone())))),
            (None, None) => bail!(
                "--api on an address that is not a loopback one shows everything to everybody who reaches it: \
                 name a file with a token by --api-token-file, or listen on 127.0.0.1"
            ),
        };
        ensure!(
            is_open || encrypted,
            "--api on an address that is not a loopback one would send tokens and answers in the clear: give \
             --api-tls-cert and --api-tls-key, or say --api-insecure where another layer encrypts"
        );
        Ok(Gate(Arc::new(Checks { hosts: Hosts::new(&arguments.allowed_hosts), access })))
    }

    /// A router whose every page is behind this gate.
    pub fn around(&self, router: Router) -> Router {
        router.route_layer(from_fn_with_state(self.clone(), pass))
    }
}

async fn pass(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    let local = request.extensions().get::<LocalAddress>().map(|local| local.0);
    let Checks { hosts, access } = &*gate.0;
    if let Err(refusal) = hosts.check(request.headers(), request.uri(), local, FLAG) {
        return (StatusCode::FORBIDDEN, format!("{refusal}\n")).into_response();
    }
    if let Some(access) = access
        && let Err(denial) = access.check(request.headers()).await
    {
        return denied(&denial);
    }
    next.run(request).await
}

fn denied(denial: &Denial) -> Response {
    let text = format!("{denial}\n");
    match denial {
        Denial::Unauthenticated => {
            (StatusCode::UNAUTHORIZED, [(WWW_AUTHENTICATE, "Bearer")], text).into_response()
        }
        Denial::Forbidden(_) => (StatusCode::FORBIDDEN, text).into_response(),
        Denial::Unavailable => (StatusCode::SERVICE_UNAVAILABLE, [(RETRY_AFTER, "5")], text).into_response(),
    }
}

/// The listener of the page and `/api/`, where it has one of its own, bound and not served yet.
pub struct ApiListener {
    listener: TcpListener,
    tls: Option<Tls>,
}

impl ApiListener {
    /// Binds it. An address that no flag names may be in use, by another instance on this machine: then this
    /// one goes without.
    pub async fn bind(arguments: &ApiArguments, plan: &ApiPlan) -> Result<Option<ApiListener>> {
        let ApiPlan::Own(address, named) = plan else { return Ok(None) };
        let files = arguments.api_tls_cert.clone().zip(arguments.api_tls_key.clone());
        let files = files.map(|(certificates, key)| TlsFiles { certificates, key, clients: None });
        let tls = files.map(Tls::of_files).transpose().context("--api-tls-cert and --api-tls-key")?;
        match (bind(*address, "--api").await, named) {
            (Ok(listener), _) => Ok(Some(ApiListener { listener, tls })),
            (Err(error), Named::No) => {
                tracing::warn!("the page and /api/ are not served: {error:#}");
                Ok(None)
            }
            (Err(error), Named::Yes) => Err(error),
        }
    }

    /// Where it listens.
    pub fn address(&self) -> Result<SocketAddr> {
        Ok(self.listener.local_addr()?)
    }

    /// The URL of its page.
    pub fn url(&self) -> Result<String> {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        Ok(format!("{scheme}://{}/", self.address()?))
    }

    /// Serves the pages.
    pub fn serve(self, pages: Router, limits: Limits) -> Serving {
        serve_with(self.listener, self.tls, pages, limits)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use clap::Parser;
    use rstest::rstest;

    use super::*;
    use crate::cli::{Cli, Command};

    fn up(flags: &str) -> (ApiArguments, SocketAddr) {
        let line = format!("fingerpost up DIR {flags}");
        match Cli::try_parse_from(line.split_whitespace()).unwrap().command {
            Command::Up(arguments) => (arguments.api, arguments.http),
            _ => panic!("another command"),
        }
    }

    #[rstest]
    #[case("", "merged")]
    #[case("--http 127.0.0.2:1", "merged")]
    #[case("--http [::1]:1", "merged")]
    #[case("--http 0.0.0.0:8053", "own 127.0.0.1:8054")]
    #[case("--http 192.0.2.1:8053", "own 127.0.0.1:8054")]
    #[case("--api 127.0.0.1:1", "own 127.0.0.1:1")]
    #[case("--api 127.0.0.1:8053", "merged")]
    #[case("--api 0", "off")]
    #[case("--http 0.0.0.0:8053 --api 0", "off")]
    fn up_serves_both_on_one_loopback_listener(#[case] flags: &str, #[case] expected: &str) {
        let (arguments, http) = up(flags);
        let plan = match ApiPlan::beside(&arguments, http) {
            ApiPlan::Off => "off".to_owned(),
            ApiPlan::Merged => "merged".to_owned(),
            ApiPlan::Own(address, _) => format!("own {address}"),
        };
        assert_eq!(plan, expected);
    }

    #[rstest]
    #[case("", None)]
    #[case("--api 127.0.0.1:1", None)]
    #[case("--api 0.0.0.0:1", Some("--api-token-file"))]
    #[case("--api :1 --api-insecure", Some("--api-token-file"))]
    #[case("--api :1 --api-tls-cert FILE --api-tls-key FILE", Some("--api-token-file"))]
    #[case("--api :1 --api-token-file FILE", Some("--api-insecure"))]
    #[case("--api :1 --api-token-file FILE --api-insecure", None)]
    #[case("--api [2001:db8::1]:1 --api-token-file FILE --api-tls-cert FILE --api-tls-key FILE", None)]
    #[case("--api :1 --api-token-file MISSING --api-insecure", Some("cannot read"))]
    #[case("--api-tls-cert FILE --api-tls-key FILE", Some("--api ADDR"))]
    fn everything_is_shown_only_to_those_who_prove_who_they_are(
        #[case] flags: &str,
        #[case] trouble: Option<&str>,
    ) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "text").unwrap();
        let (arguments, http) = up(&flags.replace("FILE", &file.display().to_string()));
        let made = Gate::new(&arguments, &ApiPlan::beside(&arguments, http), None);
        match (made.err(), trouble) {
            (None, None) => {}
            (Some(error), Some(part)) => assert!(format!("{error:#}").contains(part), "{error:#}"),
            (error, _) => panic!("{error:?}"),
        }
    }
}
