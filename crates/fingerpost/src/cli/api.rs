//! The arguments of the page and `/api/`, and of whoever reads them.

use std::path::PathBuf;

use clap::Args;

use super::BindAddress;
use crate::http::server::limits::CONNECTIONS;

/// Where the page and `/api/` are served, and to whom.
#[derive(Clone, Debug, Default, Args)]
#[command(next_help_heading = "The page and /api/")]
pub struct ApiArguments {
    /// The address of the page and /api/; 0 switches it off
    ///
    /// Default: 127.0.0.1:8054; in `up` the address of --http while that is a loopback address. They show
    /// everything: on any other address than a loopback one they demand a credential, and TLS or --api-insecure.
    #[arg(long, value_name = "ADDR", env = "FINGERPOST_API")]
    pub api: Option<BindAddress>,
    /// A file with the bearer token that readers must send; read again every 10 seconds
    ///
    /// In a cluster, without a file, a token is reviewed by the API server: its account must be permitted to
    /// `get` the resource `plans` of `fingerpost.dev`.
    #[arg(long, value_name = "FILE", env = "FINGERPOST_API_TOKEN_FILE")]
    pub api_token_file: Option<PathBuf>,
    /// The certificate of --api for HTTPS, as PEM; read again when it changes
    #[arg(long, value_name = "FILE", requires = "api_tls_key", env = "FINGERPOST_API_TLS_CERT")]
    pub api_tls_cert: Option<PathBuf>,
    /// The key of the certificate
    #[arg(long, value_name = "FILE", requires = "api_tls_cert", env = "FINGERPOST_API_TLS_KEY")]
    pub api_tls_key: Option<PathBuf>,
    /// Serve --api without TLS on an address that is not a loopback one
    #[arg(long, env = "FINGERPOST_API_INSECURE")]
    pub api_insecure: bool,
    /// A HOST or HOST:PORT by which readers may reach --api, besides its own address; may be given several times
    #[arg(
        long = "allowed-host",
        value_name = "HOST",
        value_delimiter = ',',
        env = "FINGERPOST_ALLOWED_HOST"
    )]
    pub allowed_hosts: Vec<String>,
    /// How many connections each HTTP listener holds, a quarter of them for one client address
    ///
    /// For more, the connection that has waited longest for its client is closed. A listener takes at most a
    /// sixteenth of the open files that the system permits.
    #[arg(long, value_name = "NUMBER", default_value_t = CONNECTIONS, env = "FINGERPOST_HTTP_CONNECTIONS",
        value_parser = parse_http_connections)]
    pub http_connections: usize,
}

/// How a running instance is read.
#[derive(Clone, Debug, Default, Args)]
pub struct ReaderArguments {
    /// A file with the bearer token that the running instance demands
    #[arg(long, value_name = "FILE", env = "FINGERPOST_TOKEN_FILE")]
    pub token_file: Option<PathBuf>,
    /// The authority of the running instance's certificate, as PEM [default: the usual public ones]
    #[arg(long, value_name = "FILE", env = "FINGERPOST_CA_FILE")]
    pub ca_file: Option<PathBuf>,
}

pub(super) fn parse_http_connections(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|number| *number > 0).ok_or_else(|| "write a number from 1 on".to_owned())
}
