//! The arguments of `check`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::{DataOutput, TenancyArguments};
use crate::deliveries::TargetArguments;

/// The arguments of `check`.
#[derive(Clone, Debug, Args)]
pub struct CheckArguments {
    /// Folders, manifests (*.yaml, *.yml, *.json) and zone files (*.zone); `-` is standard input
    ///
    /// DIR or FILE, or NAME=DIR for a cluster of its own. Those without a name are together one cluster; a name
    /// given again adds to its cluster. The order of clusters decides conflicts.
    #[arg(value_name = "[NAME=]DIR|FILE|-")]
    pub folders: Vec<String>,
    /// Treat warnings as errors: the exit code is 1 where there is one
    #[arg(long)]
    pub strict: bool,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t, value_name = "FORM")]
    pub output: DataOutput,
    /// The address that `up` would answer on: while it is a loopback address, classes may point at loopback
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:5300", env = "FINGERPOST_DNS")]
    pub dns: SocketAddr,
    /// Secrets in files, as DIR/NAME/KEY or DIR/NAMESPACE/NAME/KEY, besides those in the folders
    #[arg(long, value_name = "DIR", env = "FINGERPOST_SECRETS")]
    pub secrets: Option<PathBuf>,
    /// Where requests may go.
    #[command(flatten)]
    pub targets: TargetArguments,
    /// Which namespaces may claim which names.
    #[command(flatten)]
    pub tenancy: TenancyArguments,
}

pub(super) const ABOUT: &str = "\
Validates manifests and zone files with the rules of admission, and judges targets as `up` does. What is \
wrong in an object itself is an error; what is only missing, such as a Gateway or a Secret that another \
folder may hold, is a warning. Errors come first, and objects that only wait for another one are listed \
with it.";

pub(super) const EXAMPLES: &str = "\
Examples:
  fingerpost check examples/quickstart
  fingerpost check examples/quickstart -o json
  fingerpost check --strict DIR                    # for pipelines: a warning is an error
  fingerpost check DIR/zone.yaml DIR/example.org.zone
  helm template CHART | fingerpost check -         # manifests from standard input
  fingerpost check --dns 0.0.0.0:53 DIR            # as the operator: no class may point at loopback

Exit codes:
  0  good, or only warnings
  1  something is refused, or cannot be read; with --strict, or there are warnings";
