//! The arguments of `dns`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{ApiArguments, ServingArguments, TenancyArguments, parse_duration};
use crate::cluster::ClusterArguments;
use crate::deliveries::TargetArguments;

/// The arguments of `dns`.
#[derive(Clone, Debug, Args)]
pub struct DnsArguments {
    /// Which cluster.
    #[command(flatten)]
    pub cluster: ClusterArguments,
    /// An `embedded` DNSClass to serve; may be given several times [default: all]
    #[arg(long = "class", value_name = "NAME", env = "FINGERPOST_CLASS", value_delimiter = ',')]
    pub classes: Vec<String>,
    /// The address to answer on, UDP and TCP; classes with `listen` have their own
    #[arg(long, value_name = "ADDR", default_value = "0.0.0.0:53", env = "FINGERPOST_DNS")]
    pub dns: SocketAddr,
    /// The address of /healthz, /readyz and /metrics
    #[arg(long, value_name = "ADDR", default_value = "0.0.0.0:8053", env = "FINGERPOST_HTTP")]
    pub http: SocketAddr,
    /// Where to keep what the next start needs to answer at once
    #[arg(long, value_name = "DIR", env = "FINGERPOST_STATE", required_unless_present = "no_state")]
    pub state: Option<PathBuf>,
    /// Keep nothing on disk
    #[arg(long, conflicts_with = "state")]
    pub no_state: bool,
    /// How long to go on answering after SIGTERM, while resolvers and load balancers learn of it
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = parse_duration,
        env = "FINGERPOST_DRAIN")]
    pub drain: Duration,
    /// How often everything is read anew, besides following every change
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = parse_duration,
        env = "FINGERPOST_RESYNC_PERIOD")]
    pub resync_period: Duration,
    /// The page and `/api/`.
    #[command(flatten)]
    pub api: ApiArguments,
    /// Where a NOTIFY may go.
    #[command(flatten)]
    pub targets: TargetArguments,
    /// Which namespaces may claim which names.
    #[command(flatten)]
    pub tenancy: TenancyArguments,
    /// How DNS is served.
    #[command(flatten)]
    pub serving: ServingArguments,
}

pub(super) const ABOUT: &str = "\
Answers queries from the objects of a Kubernetes cluster. Serves the `embedded` DNSClasses: those without \
`listen` share --dns and are told apart by their `clients`. Any number of replicas may run; none leads.

What is served is kept in the state directory: a restart answers from there at once, and goes on doing so \
while the API server is away. Before anything is known every question gets SERVFAIL, never NXDOMAIN. After \
SIGTERM it says that it is not ready and goes on answering for --drain.";

pub(super) const EXAMPLES: &str = "\
Examples:
  fingerpost dns --dns 0.0.0.0:5353 --state /var/lib/fingerpost
  fingerpost dns --class edge --class internal --state DIR
  fingerpost dns --kubeconfig FILE --dns 127.0.0.1:5300 --http 127.0.0.1:8053 --no-state

Exit codes:
  0  stopped by SIGTERM or SIGINT
  1  could not start: the message says why";
