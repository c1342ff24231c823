//! The command line: what there is to type, and the help that teaches it.

mod api;
mod check;
mod dns;
mod explain;
mod import;
mod keys;
mod lease;
mod messages;
mod operator;
mod plan;
mod provider;
mod serving;
mod tenancy;
mod up;

use std::path::PathBuf;
use std::time::Duration;

use ::dns::Name;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;

pub use api::{ApiArguments, ReaderArguments};
pub use check::CheckArguments;
pub use dns::DnsArguments;
pub use explain::ExplainArguments;
pub use import::{ImportArguments, ImportOutput};
pub use keys::{KeysArguments, KeysCommand, KeysPlace};
pub use lease::{LeaseArguments, SwitchoverArguments};
pub use messages::{Color, LogFormat, MessageArguments};
pub use operator::{BindAddress, OperatorArguments, WebhookCertificates};
pub use plan::{MaxDeletes, PlanArguments, PlanOutput, PlanShow};
pub use provider::{AuthenticationArguments, Protocol, ProviderArguments, StoreArguments, Stored};
pub use serving::ServingArguments;
pub use tenancy::TenancyArguments;
pub use up::UpArguments;

/// The whole command line.
#[derive(Debug, Parser)]
#[command(
    name = "fingerpost",
    version,
    about = "A DNS control plane: objects in, answers out",
    max_term_width = 100
)]
#[command(long_about = "\
A DNS control plane for services that live in more than one region.

You declare what there is as Kubernetes objects and zone files in a folder; fingerpost works out \
every record, shows what a change would do, and answers the queries itself.")]
#[command(after_help = "\
Start here:
  fingerpost up examples/quickstart         # serve a folder; then ask it with dig
  fingerpost plan examples/quickstart       # every record, child object and status
  fingerpost explain www.example.org examples/quickstart

`fingerpost help COMMAND` has examples and exit codes for each command.")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// What is printed besides the data.
    #[command(flatten)]
    pub messages: MessageArguments,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve a folder: manifests in, answers out
    #[command(long_about = up::ABOUT, after_long_help = up::EXAMPLES)]
    Up(UpArguments),
    /// Show what a folder amounts to, or what a change would do
    #[command(long_about = plan::ABOUT, after_long_help = plan::EXAMPLES)]
    Plan(PlanArguments),
    /// Tell which answer a name gets and why, or why it has none
    #[command(long_about = explain::ABOUT, after_long_help = explain::EXAMPLES)]
    Explain(ExplainArguments),
    /// Validate manifests and zone files
    #[command(long_about = check::ABOUT, after_long_help = check::EXAMPLES)]
    Check(CheckArguments),
    /// Show what a provider's zone holds, and write it as manifests
    #[command(long_about = import::ABOUT, after_long_help = import::EXAMPLES)]
    Import(ImportArguments),
    /// Show DNSSEC keys and their DS records, and roll them
    #[command(long_about = keys::ABOUT, after_long_help = keys::EXAMPLES)]
    Keys(KeysArguments),
    /// Move a Placement's clients to another region on purpose
    #[command(long_about = lease::SWITCHOVER_ABOUT, after_long_help = lease::SWITCHOVER_EXAMPLES)]
    Switchover(SwitchoverArguments),
    /// Run a command only while a lease is held
    #[command(long_about = lease::LEASE_ABOUT, after_long_help = lease::LEASE_EXAMPLES)]
    Lease(LeaseArguments),
    /// Print the CustomResourceDefinitions
    #[command(long_about = CRDS_ABOUT)]
    Crds {
        /// The form of the output
        #[arg(short, long, value_enum, default_value_t, value_name = "FORM")]
        output: ManifestOutput,
    },
    /// In a cluster: plan its objects, write children and statuses, admit or refuse objects
    #[command(long_about = operator::ABOUT, after_long_help = operator::EXAMPLES)]
    Operator(Box<OperatorArguments>),
    /// In a cluster: answer queries from its objects, in any number of replicas
    #[command(long_about = dns::ABOUT, after_long_help = dns::EXAMPLES)]
    Dns(DnsArguments),
    /// Take records from others over HTTP, and hold or hand on what they say
    #[command(long_about = provider::ABOUT, after_long_help = provider::EXAMPLES)]
    Provider(Box<ProviderArguments>),
    /// Print the script by which a shell completes this command line
    #[command(long_about = COMPLETIONS_ABOUT)]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the manual pages of all commands
    #[command(long_about = MAN_ABOUT)]
    Man {
        /// Where the pages go; the directory is made where it is missing
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
    /// Print the version, the commit and its date
    Version {
        /// The form of the output
        #[arg(short, long, value_enum, default_value_t, value_name = "FORM")]
        output: DataOutput,
    },
}

/// Where the objects come from.
#[derive(Clone, Debug, Args)]
pub struct Folders {
    /// Folders of manifests (*.yaml, *.yml, *.json) and zone files (*.zone)
    ///
    /// DIR, or NAME=DIR for a cluster of its own. Folders without a name are together one cluster;
    /// a name given again adds a folder to its cluster. The order of clusters decides conflicts.
    #[arg(value_name = "[NAME=]DIR")]
    pub folders: Vec<String>,
}

/// For people or for programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DataOutput {
    /// For people.
    #[default]
    Text,
    /// As data.
    Json,
}

/// The forms of manifests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ManifestOutput {
    /// One document after another.
    #[default]
    Yaml,
    /// One list of all.
    Json,
}

pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no duration: write 500ms, 15s or 10m");
    let parsed: jiff::SignedDuration = text.parse().map_err(|_| wrong())?;
    Duration::try_from(parsed).map_err(|_| wrong())
}

fn parse_name(text: &str) -> Result<Name, String> {
    Name::parse(text).map_err(|error| error.to_string())
}

const CRDS_ABOUT: &str = "\
Prints the CustomResourceDefinitions of all families, ready for `kubectl apply --server-side -f -`.";

const COMPLETIONS_ABOUT: &str = "\
Prints the script by which a shell completes this command line.

  bash        fingerpost completions bash > ~/.local/share/bash-completion/completions/fingerpost
  zsh         fingerpost completions zsh > \"${fpath[1]}/_fingerpost\"
  fish        fingerpost completions fish > ~/.config/fish/completions/fingerpost.fish
  PowerShell  fingerpost completions powershell >> $PROFILE";

const MAN_ABOUT: &str = "\
Writes one manual page for each command, as fingerpost.1, fingerpost-up.1 and so on.

  fingerpost man ~/.local/share/man/man1 && man fingerpost-plan";
