//! The command line: what there is to type, and the help that teaches it.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use dns::{Name, Rtype};

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
  fingerpost up examples/quickstart         serve a folder; then ask it with dig
  fingerpost plan examples/quickstart       every record, child object and status
  fingerpost explain www.example.org examples/quickstart

`fingerpost help COMMAND` has examples and exit codes for each command.")]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// When to use colours; NO_COLOR turns them off too.
    #[arg(long, global = true, value_enum, default_value_t, env = "FINGERPOST_COLOR", value_name = "WHEN")]
    pub color: Color,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// On a terminal.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve a folder: manifests in, answers out
    #[command(long_about = UP_ABOUT, after_long_help = UP_EXAMPLES)]
    Up(UpArguments),
    /// Show what a folder amounts to, or what a change would do
    #[command(long_about = PLAN_ABOUT, after_long_help = PLAN_EXAMPLES)]
    Plan(PlanArguments),
    /// Tell which answer a name gets and why, or why it has none
    #[command(long_about = EXPLAIN_ABOUT, after_long_help = EXPLAIN_EXAMPLES)]
    Explain(ExplainArguments),
    /// Validate manifests and zone files
    #[command(long_about = CHECK_ABOUT, after_long_help = CHECK_EXAMPLES)]
    Check(CheckArguments),
    /// Print the CustomResourceDefinitions
    #[command(long_about = CRDS_ABOUT)]
    Crds,
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

/// The arguments of `up`.
#[derive(Clone, Debug, Args)]
pub struct UpArguments {
    /// What to serve.
    #[command(flatten)]
    pub folders: Folders,
    /// The address of the first view, UDP and TCP; the other views take the ports after it
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:5300", env = "FINGERPOST_DNS")]
    pub dns: SocketAddr,
    /// The address of /healthz, /readyz, /metrics and /api/v1/
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
}

/// The arguments of `plan`.
#[derive(Clone, Debug, Args)]
pub struct PlanArguments {
    /// What to plan.
    #[command(flatten)]
    pub folders: Folders,
    /// Show only what differs from this: a folder, a saved `plan -o json`, or the URL of a running instance
    ///
    /// With several clusters give NAME=DIR for each, as for the folders themselves.
    #[arg(long, value_name = "[NAME=]DIR|FILE|URL", num_args = 1)]
    pub against: Vec<String>,
    /// The date that new serials start with [default: today, UTC]
    #[arg(long, value_name = "YYYY-MM-DD")]
    pub date: Option<jiff::civil::Date>,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t, value_name = "FORM")]
    pub output: PlanOutput,
    /// Take the plan of a running instance instead of folders, such as http://127.0.0.1:8053
    #[arg(long, value_name = "URL", conflicts_with = "folders")]
    pub url: Option<String>,
}

/// The forms of a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PlanOutput {
    /// For people.
    #[default]
    Text,
    /// The whole plan, or with --against the differences, as data.
    Json,
    /// Child objects and statuses as the manifests that an operator would apply.
    Yaml,
    /// The zones of each view in master-file form.
    Zone,
}

/// The arguments of `explain`.
#[derive(Clone, Debug, Args)]
pub struct ExplainArguments {
    /// The name to ask for
    #[arg(value_name = "NAME", value_parser = parse_name)]
    pub name: Name,
    /// Where the objects come from.
    #[command(flatten)]
    pub folders: Folders,
    /// The address of the client that asks, to choose the view as the server would
    #[arg(long, value_name = "IP")]
    pub client: Option<std::net::IpAddr>,
    /// The view to ask: a region or a class [default: all]
    #[arg(long, value_name = "VIEW", conflicts_with = "client")]
    pub view: Option<String>,
    /// The record type to ask for [default: A and AAAA, else what the name has]
    #[arg(long = "type", value_name = "TYPE")]
    pub rtype: Option<Rtype>,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t, value_name = "FORM")]
    pub output: DataOutput,
    /// Ask a running instance instead of reading folders
    #[arg(long, value_name = "URL", conflicts_with = "folders")]
    pub url: Option<String>,
}

/// The arguments of `check`.
#[derive(Clone, Debug, Args)]
pub struct CheckArguments {
    /// What to check.
    #[command(flatten)]
    pub folders: Folders,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t, value_name = "FORM")]
    pub output: DataOutput,
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

fn parse_name(text: &str) -> Result<Name, String> {
    Name::parse(text).map_err(|error| error.to_string())
}

const UP_ABOUT: &str = "\
Serves folders of manifests and zone files: reads them, plans every record, answers over UDP and TCP, \
and follows every change of a file within a moment.

A view is served for each region of the DNSConfiguration and for each `embedded` DNSClass; without any \
there is one view, `default`. The first view answers on --dns, the others on the ports after it, in the \
order that is printed at the start.

Nothing that was served stops being served because a file breaks: its last good content stays in force \
and the trouble is reported with file, line and column. What the next start needs to answer at once is \
kept in the state directory.";

const UP_EXAMPLES: &str = "\
Examples:
  fingerpost up examples/quickstart
  fingerpost up weu=examples/regions/weu neu=examples/regions/neu
  fingerpost up --dns 127.0.0.1:0 --http 127.0.0.1:0 --no-state DIR   free ports, nothing kept

Exit codes:
  0  stopped by SIGTERM or SIGINT
  1  could not start: the message says why

More:
  RUST_LOG=debug shows what happens inside.";

const PLAN_ABOUT: &str = "\
Shows every record set, child object and status that folders amount to; with --against only what would be \
added, changed and removed. Reads nothing but the folders and writes nothing.

No output holds a time of day: the same folders and the same --date give the same bytes.";

const PLAN_EXAMPLES: &str = "\
Examples:
  fingerpost plan examples/quickstart
  fingerpost plan new/ --against old/                      what a pull request changes
  fingerpost plan DIR -o json > plan.json                  keep it, and later:
  fingerpost plan DIR --against plan.json
  fingerpost plan DIR --against http://127.0.0.1:8053      what a running instance would change
  fingerpost plan DIR -o zone                              zone files, one after another
  fingerpost plan weu=a neu=b --against weu=c --against neu=d

Exit codes:
  0  no changes, or no --against
  1  an error: the message says what and where
  2  there are changes";

const EXPLAIN_ABOUT: &str = "\
Tells which answer a client gets for a name and the whole way to it, object by object. For a name that does \
not resolve it tells why not, and which object would have to change.";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  fingerpost explain www.example.org examples/quickstart
  fingerpost explain www.example.org --type AAAA --view weu weu=DIR neu=DIR
  fingerpost explain www.example.org --client 192.0.2.7 --url http://127.0.0.1:8053

Exit codes:
  0  the name resolves in every view that was asked
  1  an error: the message says what and where
  2  the name does not resolve";

const CHECK_ABOUT: &str = "\
Validates manifests and zone files with the rules of admission. What is wrong in an object itself is an \
error; what is only missing, such as a Gateway that another folder may hold, is a warning.";

const CHECK_EXAMPLES: &str = "\
Examples:
  fingerpost check examples/quickstart
  fingerpost check DIR -o json

Exit codes:
  0  good, or only warnings
  1  something is refused, or cannot be read";

const CRDS_ABOUT: &str = "\
Prints the CustomResourceDefinitions of all families as YAML, ready for `kubectl apply --server-side -f -`.";
