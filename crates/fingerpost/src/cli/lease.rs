//! The arguments of `switchover` and `lease`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::{DataOutput, ReaderArguments, parse_duration};
use crate::cluster::ClusterArguments;

pub(super) const SWITCHOVER_ABOUT: &str = "\
Moves a Placement's clients to another region on purpose, in order: it looks whether the region is up, hands \
the witness's lease over (where the Placement has a witness), waits until the region holds it, and waits \
until what DNS answers with stands where clients ask: at the class's provider it is read back. Each step is \
printed. DNS never moves before the lease.

Where a step fails or takes too long, the way back is ordered: the lease goes back to the region that had it, \
then DNS, and that is waited for and read back too. Where it cannot be seen that everything is back, the \
command says what is not, and ends with another code.

It talks to `fingerpost up` over HTTP on this machine, or to an operator through the annotation \
`fingerpost.dev/switchover-to` of the Placement, which the operator takes away when it is done. What happened \
stands in the Placement's `status.history`.

A region that is not up needs --force, and so does every region of a Placement without a health check: nothing \
says whether it is up.";

pub(super) const SWITCHOVER_EXAMPLES: &str = "\
Examples:
  fingerpost switchover apps/web --to neu --dry-run      # what would be done
  fingerpost switchover apps/web --to neu                # at the `up` on this machine
  fingerpost switchover apps/web --to neu --kube --context NAME

Exit codes:
  0  clients are sent to the region
  1  nothing was changed: the message says why
  3  a step failed and everything is back where it was
  4  a step failed and it is not known that everything is back: the message says what is not";

/// The arguments of `switchover`.
#[derive(Clone, Debug, Args)]
pub struct SwitchoverArguments {
    /// The Placement, as NAMESPACE/NAME; by its name or hostname alone where no other one has it
    #[arg(value_name = "PLACEMENT")]
    pub placement: String,
    /// The region to move to
    #[arg(long, value_name = "REGION")]
    pub to: String,
    /// The form of the output; as JSON one object a line, as each step is done
    #[arg(short, long, value_enum, default_value_t, value_name = "FORM")]
    pub output: DataOutput,
    /// Only look, and say what would be done
    #[arg(long)]
    pub dry_run: bool,
    /// Move although the region is not known to be up, no health check is there to say so, or a provider does not answer
    #[arg(long)]
    pub force: bool,
    /// How long the way there may take, and the way back if there has to be one
    #[arg(long, value_name = "DURATION", default_value = "3m", value_parser = parse_duration)]
    pub timeout: Duration,
    /// The running `up`
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8053", conflicts_with = "kube")]
    pub url: String,
    /// How the running `up` is read.
    #[command(flatten)]
    pub reader: ReaderArguments,
    /// Switch over a Placement of a cluster
    #[arg(long)]
    pub kube: bool,
    /// Which cluster.
    #[command(flatten)]
    pub cluster: ClusterArguments,
}

pub(super) const LEASE_ABOUT: &str = "\
Runs a command only while a lease is held: for whatever must run in one region at a time, such as the writer \
of a database. It waits for the lease, starts the command, and ends it when the lease is lost: with SIGTERM \
while some of the lease is left, and with SIGKILL before the lease can be anybody else's.

The lease is that of a Placement, as the operator or `up` of the region keeps it (--url); the command then \
runs while that region holds it. Or it is a lease of its own, directly in a witness (--etcd, --http, \
--kubernetes), which this command takes, renews and gives back itself.

The command finds the lease's generation in FINGERPOST_LEASE_GENERATION: a number that grows with every new \
holder. Whatever it writes to should refuse a lower one than the highest it has seen; only that fences off a \
process that was stopped for a while and goes on. The command runs in a process group of its own, which gets \
the signals; SIGTERM and SIGINT are passed on. Should this command itself be killed, nobody ends the other \
one, so run both under a supervisor that ends them together, such as a container.";

pub(super) const LEASE_EXAMPLES: &str = "\
Examples:
  fingerpost lease apps/web --url http://127.0.0.1:8053 -- ./writer
  fingerpost lease writers/ledger --etcd https://etcd-0.example.org:2379 --secret DIR -- ./writer
  fingerpost lease ledger --http https://witness.example.org/leases/ledger -- \\
      sh -c 'echo $FINGERPOST_LEASE_GENERATION'

Exit codes:
  the command's own, or 128 and the number of the signal that ended it
  1   an error: the message says what
  75  the command was ended because the lease was lost: start again";

/// The arguments of `lease`.
#[derive(Clone, Debug, Args)]
pub struct LeaseArguments {
    /// The Placement, as NAMESPACE/NAME; in a witness, any name
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The running operator or `up` that keeps the lease
    #[arg(long, value_name = "URL", required_unless_present_any = ["etcd", "http", "kubernetes"],
        conflicts_with_all = ["etcd", "http", "kubernetes"])]
    pub url: Option<String>,
    /// How the running instance is read.
    #[command(flatten)]
    pub reader: ReaderArguments,
    /// The members of an etcd that keeps the lease
    #[arg(long, value_name = "URL", value_delimiter = ',', conflicts_with_all = ["http", "kubernetes"])]
    pub etcd: Vec<String>,
    /// The document that is the lease, on a server that honours If-Match
    #[arg(long, value_name = "URL", conflicts_with = "kubernetes")]
    pub http: Option<String>,
    /// The kubeconfig of a cluster that keeps the lease
    #[arg(long, value_name = "FILE")]
    pub kubernetes: Option<PathBuf>,
    /// A folder of files to sign in with: username and password, token, tls.crt and tls.key, ca.crt
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    pub secret: Option<PathBuf>,
    /// What the lease shows as its holder [default: this machine, and a number of its own]
    #[arg(long = "as", value_name = "HOLDER", conflicts_with = "url")]
    pub holder: Option<String>,
    /// How long the lease is held without being renewed
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = parse_duration)]
    pub lease: Duration,
    /// How often it is renewed, or looked at
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_duration)]
    pub renew: Duration,
    /// How long the command has between SIGTERM and SIGKILL; at most a fifth of the lease
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = parse_duration)]
    pub grace: Duration,
    /// The command and its arguments
    #[arg(value_name = "COMMAND", required = true, last = true)]
    pub command: Vec<String>,
}
