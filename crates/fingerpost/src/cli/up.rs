//! The arguments of `up`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::{ApiArguments, Folders, ServingArguments, TenancyArguments};
use crate::deliveries::DeliveryArguments;

/// The arguments of `up`.
#[derive(Clone, Debug, Args)]
pub struct UpArguments {
    /// What to serve.
    #[command(flatten)]
    pub folders: Folders,
    /// The address of the first view, UDP and TCP; the other views take the ports after it
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:5300", env = "FINGERPOST_DNS")]
    pub dns: SocketAddr,
    /// The address of /healthz, /readyz and /metrics, and of /api/v1/ while it is a loopback address
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8053", env = "FINGERPOST_HTTP")]
    pub http: SocketAddr,
    /// Where to keep what the next start needs to answer at once
    ///
    /// Default: fingerpost/HASH in $XDG_STATE_HOME or ~/.local/state, one for each set of folders.
    #[arg(long, value_name = "DIR", env = "FINGERPOST_STATE", conflicts_with = "no_state")]
    pub state: Option<PathBuf>,
    /// Keep nothing on disk
    #[arg(long)]
    pub no_state: bool,
    /// Where DNSSEC keys are kept [default: keys/ in the state directory]
    #[arg(long, value_name = "DIR", env = "FINGERPOST_KEYS")]
    pub keys: Option<PathBuf>,
    /// Secrets in files, as DIR/NAME/KEY or DIR/NAMESPACE/NAME/KEY, besides those in the folders
    #[arg(long, value_name = "DIR", env = "FINGERPOST_SECRETS")]
    pub secrets: Option<PathBuf>,
    /// The page and `/api/`.
    #[command(flatten)]
    pub api: ApiArguments,
    /// How records reach providers.
    #[command(flatten)]
    pub delivery: DeliveryArguments,
    /// Which namespaces may claim which names.
    #[command(flatten)]
    pub tenancy: TenancyArguments,
    /// How DNS is served.
    #[command(flatten)]
    pub serving: ServingArguments,
}

pub(super) const ABOUT: &str = "\
Serves folders of manifests and zone files: reads them, plans every record, answers over UDP and TCP, \
and follows every change of a file within a moment.

A view is served for each region of the DNSConfiguration and for each `embedded` DNSClass; without any \
there is one view, `default`. The first view answers on --dns, the others on the ports after it, in the \
order that is printed at the start.

Nothing that was served stops being served because a file breaks: its last good content stays in force \
and the trouble is reported with file, line and column. What the next start needs to answer at once is \
kept in the state directory.";

pub(super) const EXAMPLES: &str = "\
Examples:
  fingerpost up examples/quickstart
  fingerpost up weu=examples/regions/weu neu=examples/regions/neu
  fingerpost up --dns 127.0.0.1:0 --http 127.0.0.1:0 --no-state DIR   # free ports, nothing kept

Exit codes:
  0  stopped by SIGTERM or SIGINT
  1  could not start: the message says why

More:
  RUST_LOG=debug shows what happens inside.";
