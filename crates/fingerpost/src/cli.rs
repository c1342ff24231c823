//! The command line: what there is to type, and the help that teaches it.

mod keys;
mod lease;
mod provider;
mod serving;

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use dns::{Name, Rtype};

use crate::cluster::ClusterArguments;
use crate::deliveries::{DeliveryArguments, TargetArguments};
use crate::import::manifests::Form;

pub use keys::{KeysArguments, KeysCommand, KeysPlace};
pub use lease::{LeaseArguments, SwitchoverArguments};
pub use provider::{AuthenticationArguments, Protocol, ProviderArguments, StoreArguments, Stored};
pub use serving::ServingArguments;

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
    /// Show what a provider's zone holds, and write it as manifests
    #[command(long_about = IMPORT_ABOUT, after_long_help = IMPORT_EXAMPLES)]
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
    Crds,
    /// In a cluster: plan its objects, write children and statuses, admit or refuse objects
    #[command(long_about = OPERATOR_ABOUT, after_long_help = OPERATOR_EXAMPLES)]
    Operator(Box<OperatorArguments>),
    /// In a cluster: answer queries from its objects, in any number of replicas
    #[command(long_about = DNS_ABOUT, after_long_help = DNS_EXAMPLES)]
    Dns(DnsArguments),
    /// Take records from others over HTTP, and hold or hand on what they say
    #[command(long_about = provider::ABOUT, after_long_help = provider::EXAMPLES)]
    Provider(Box<ProviderArguments>),
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
    /// Where DNSSEC keys are kept [default: keys/ in the state directory]
    #[arg(long, value_name = "DIR", env = "FINGERPOST_KEYS")]
    pub keys: Option<PathBuf>,
    /// Secrets in files, as DIR/NAME/KEY or DIR/NAMESPACE/NAME/KEY, besides those in the folders
    #[arg(long, value_name = "DIR", env = "FINGERPOST_SECRETS")]
    pub secrets: Option<PathBuf>,
    /// How records reach providers.
    #[command(flatten)]
    pub delivery: DeliveryArguments,
    /// How DNS is served.
    #[command(flatten)]
    pub serving: ServingArguments,
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
    /// Read a cluster, and show what the operator would change in it
    ///
    /// With folders: what applying them would change. Nothing is written.
    #[arg(long, conflicts_with_all = ["url", "against"])]
    pub kube: bool,
    /// Which cluster.
    #[command(flatten)]
    pub cluster: ClusterArguments,
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
    /// Read a cluster instead of folders
    #[arg(long, conflicts_with_all = ["url", "folders"])]
    pub kube: bool,
    /// Which cluster.
    #[command(flatten)]
    pub cluster: ClusterArguments,
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
    /// Where requests may go.
    #[command(flatten)]
    pub targets: TargetArguments,
}

/// The arguments of `import`.
#[derive(Clone, Debug, Args)]
pub struct ImportArguments {
    /// Where the DNSClass and its Secrets are.
    #[command(flatten)]
    pub folders: Folders,
    /// The DNSClass whose provider is read
    #[arg(long, value_name = "NAME")]
    pub class: String,
    /// The zone
    #[arg(long, value_name = "NAME", value_parser = parse_name)]
    pub zone: Name,
    /// What the manifests are: a DNSRecord for each record set, or a Zone with its Records
    #[arg(long, value_enum, default_value_t, value_name = "KIND")]
    pub kind: Form,
    /// The namespace of the manifests
    #[arg(long, value_name = "NAME", default_value = "default")]
    pub namespace: String,
    /// Take over what this owner id of an ExternalDNS marks, and nothing else
    #[arg(long, value_name = "ID")]
    pub adopt_owner: Option<String>,
    /// The --txt-prefix of that ExternalDNS
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub txt_prefix: String,
    /// The --txt-suffix of that ExternalDNS
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub txt_suffix: String,
    /// Write our ownership marks for what is adopted; nothing else is written, and nothing deleted
    #[arg(long)]
    pub apply: bool,
    /// The form of the output
    #[arg(short, long, value_enum, default_value_t, value_name = "FORM")]
    pub output: ImportOutput,
    /// Who we are in ownership marks [default: as `up` on these folders, or the operator of this cluster]
    #[arg(long, value_name = "NAME", env = "FINGERPOST_OWNER")]
    pub owner: Option<String>,
    /// Secrets in files, as DIR/NAME/KEY or DIR/NAMESPACE/NAME/KEY, besides those in the folders
    #[arg(long, value_name = "DIR", env = "FINGERPOST_SECRETS")]
    pub secrets: Option<PathBuf>,
    /// Where requests may go.
    #[command(flatten)]
    pub targets: TargetArguments,
    /// Read the DNSClass and its Secrets from a cluster instead of folders
    #[arg(long, conflicts_with = "folders")]
    pub kube: bool,
    /// Which cluster.
    #[command(flatten)]
    pub cluster: ClusterArguments,
}

/// The forms of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ImportOutput {
    /// A table for people.
    #[default]
    Text,
    /// The same as data.
    Json,
    /// The manifests.
    Yaml,
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

/// The form of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

/// Where the webhook's certificate comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum WebhookCertificates {
    /// The operator makes and renews it, and fills in the CA.
    #[default]
    SelfSigned,
    /// Somebody else, such as cert-manager, writes the Secret and fills in the CA.
    Provided,
}

/// An address to listen on: `:8080`, `127.0.0.1:8080`, or `0` for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BindAddress(pub Option<SocketAddr>);

impl FromStr for BindAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<BindAddress, String> {
        if text == "0" {
            return Ok(BindAddress(None));
        }
        let everywhere = text.strip_prefix(':').map(|port| format!("0.0.0.0:{port}"));
        let address = everywhere.as_deref().unwrap_or(text).parse();
        address.map(Some).map(BindAddress).map_err(|_| {
            format!("`{text}` is no address: write :8080, 127.0.0.1:8080, or 0 to switch it off")
        })
    }
}

/// The arguments of `operator`.
#[derive(Clone, Debug, Args)]
pub struct OperatorArguments {
    /// Which cluster.
    #[command(flatten)]
    pub cluster: ClusterArguments,
    /// Whether replicas agree by a Lease on the one that writes
    #[arg(long, value_name = "BOOL", default_value_t = true, num_args = 0..=1, default_missing_value = "true",
        action = clap::ArgAction::Set, env = "FINGERPOST_LEADER_ELECT", help_heading = LEADER)]
    pub leader_elect: bool,
    /// The name of the Lease, in the operator's namespace
    #[arg(long, value_name = "NAME", default_value = "fingerpost-operator",
        env = "FINGERPOST_LEADER_ELECTION_ID", help_heading = LEADER)]
    pub leader_election_id: String,
    /// How long a Lease counts that is not renewed
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = parse_duration,
        env = "FINGERPOST_LEADER_ELECTION_LEASE_DURATION", help_heading = LEADER)]
    pub leader_election_lease_duration: Duration,
    /// How long the leader tries to renew before it stops leading
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_duration,
        env = "FINGERPOST_LEADER_ELECTION_RENEW_DEADLINE", help_heading = LEADER)]
    pub leader_election_renew_deadline: Duration,
    /// How long to wait between two tries
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = parse_duration,
        env = "FINGERPOST_LEADER_ELECTION_RETRY_PERIOD", help_heading = LEADER)]
    pub leader_election_retry_period: Duration,
    /// The address of /metrics and /api/v1/; 0 switches it off
    #[arg(long, value_name = "ADDR", default_value = ":8080", env = "FINGERPOST_METRICS_BIND_ADDRESS",
        help_heading = ADDRESSES)]
    pub metrics_bind_address: BindAddress,
    /// The address of /healthz and /readyz; 0 switches it off
    #[arg(long, value_name = "ADDR", default_value = ":8081", env = "FINGERPOST_HEALTH_PROBE_BIND_ADDRESS",
        help_heading = ADDRESSES)]
    pub health_probe_bind_address: BindAddress,
    /// The address of the admission webhook, over TLS; 0 switches it off
    #[arg(long, value_name = "ADDR", default_value = ":9443", env = "FINGERPOST_WEBHOOK_BIND_ADDRESS",
        help_heading = ADDRESSES)]
    pub webhook_bind_address: BindAddress,
    /// Where the API server reaches the webhook of an operator outside the cluster, as https://HOST:PORT
    ///
    /// The operator then applies its own ValidatingWebhookConfiguration.
    #[arg(long, value_name = "URL", env = "FINGERPOST_WEBHOOK_URL", help_heading = WEBHOOK)]
    pub webhook_url: Option<String>,
    /// The Service that the API server reaches the webhook by
    #[arg(long, value_name = "NAME", default_value = "fingerpost-webhook", env = "FINGERPOST_WEBHOOK_SERVICE",
        help_heading = WEBHOOK)]
    pub webhook_service: String,
    /// The ValidatingWebhookConfiguration whose CA is filled in
    #[arg(long, value_name = "NAME", default_value = "fingerpost", env = "FINGERPOST_WEBHOOK_CONFIGURATION",
        help_heading = WEBHOOK)]
    pub webhook_configuration: String,
    /// The Secret with the webhook's certificate, in the operator's namespace
    #[arg(long, value_name = "NAME", default_value = "fingerpost-webhook", env = "FINGERPOST_WEBHOOK_SECRET",
        help_heading = WEBHOOK)]
    pub webhook_secret: String,
    /// Where the webhook's certificate comes from
    #[arg(long, value_enum, default_value_t, value_name = "HOW", env = "FINGERPOST_WEBHOOK_CERTIFICATES",
        help_heading = WEBHOOK)]
    pub webhook_certificates: WebhookCertificates,
    /// How many writes a second are sent to the API server
    #[arg(long, value_name = "NUMBER", default_value = "200", env = "FINGERPOST_KUBE_API_QPS",
        help_heading = SERVER)]
    pub kube_api_qps: NonZeroU32,
    /// How many writes may be sent at once after quiet
    #[arg(long, value_name = "NUMBER", default_value = "400", env = "FINGERPOST_KUBE_API_BURST",
        help_heading = SERVER)]
    pub kube_api_burst: NonZeroU32,
    /// How long one write may take; none is sent with less than this left of the Lease
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = parse_duration,
        env = "FINGERPOST_KUBE_API_TIMEOUT", help_heading = SERVER)]
    pub kube_api_timeout: Duration,
    /// How often everything is read anew, besides following every change
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = parse_duration,
        env = "FINGERPOST_RESYNC_PERIOD", help_heading = SERVER)]
    pub resync_period: Duration,
    /// How records reach providers.
    #[command(flatten)]
    pub delivery: DeliveryArguments,
    /// The form of the log
    #[arg(long, value_enum, default_value_t, value_name = "FORM", env = "FINGERPOST_LOG_FORMAT")]
    pub log_format: LogFormat,
}

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
    /// The address of /healthz, /readyz, /metrics and /api/v1/
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
    /// Where a NOTIFY may go.
    #[command(flatten)]
    pub targets: TargetArguments,
    /// The form of the log
    #[arg(long, value_enum, default_value_t, value_name = "FORM", env = "FINGERPOST_LOG_FORMAT")]
    pub log_format: LogFormat,
    /// How DNS is served.
    #[command(flatten)]
    pub serving: ServingArguments,
}

const LEADER: &str = "Leader election";
const ADDRESSES: &str = "Addresses";
const WEBHOOK: &str = "Admission webhook";
const SERVER: &str = "API server";

pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no duration: write 500ms, 15s or 10m");
    let parsed: jiff::SignedDuration = text.parse().map_err(|_| wrong())?;
    Duration::try_from(parsed).map_err(|_| wrong())
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
  fingerpost plan --kube                                   what the operator would change in the cluster
  fingerpost plan DIR --kube                               what `kubectl apply -f DIR` would change

Exit codes:
  0  no changes, or neither --against nor --kube
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
  fingerpost explain www.example.org --kube --context NAME

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

const OPERATOR_ABOUT: &str = "\
Runs the pipeline in a Kubernetes cluster: watches the objects of all families, plans every record, keeps \
Istio Gateways and DNSEndpoints in line with the plan, writes statuses and events, and refuses what is wrong \
by an admission webhook.

Several replicas agree by a Lease on the one that writes; the others follow, serve the webhook and take over. \
A kind whose CRD is not installed is waited for. Nothing is written before everything has been read, and \
nothing is deleted because something could not be read.";

const OPERATOR_EXAMPLES: &str = "\
Examples:
  fingerpost crds | kubectl apply --server-side -f -      install the kinds, then
  fingerpost operator --webhook-bind-address 0            try it from a laptop, without the webhook
  fingerpost operator --kubeconfig FILE --context NAME
  fingerpost operator --webhook-url https://192.0.2.1:9443

Exit codes:
  0  stopped by SIGTERM or SIGINT; the Lease is released
  1  could not start: the message says why

More:
  RUST_LOG=debug shows what happens inside. /readyz says what is forbidden, by kind and verb.";

const DNS_ABOUT: &str = "\
Answers queries from the objects of a Kubernetes cluster. Serves the `embedded` DNSClasses: those without \
`listen` share --dns and are told apart by their `clients`. Any number of replicas may run; none leads.

What is served is kept in the state directory: a restart answers from there at once, and goes on doing so \
while the API server is away. Before anything is known every question gets SERVFAIL, never NXDOMAIN. After \
SIGTERM it says that it is not ready and goes on answering for --drain.";

const DNS_EXAMPLES: &str = "\
Examples:
  fingerpost dns --dns 0.0.0.0:5353 --state /var/lib/fingerpost
  fingerpost dns --class edge --class internal --state DIR
  fingerpost dns --kubeconfig FILE --dns 127.0.0.1:5300 --http 127.0.0.1:8053 --no-state

Exit codes:
  0  stopped by SIGTERM or SIGINT
  1  could not start: the message says why";

const IMPORT_ABOUT: &str = "\
Reads a zone from the provider of a DNSClass and shows every record set: whose it is, and what would become of \
it. With `-o yaml` it prints manifests that plan to exactly what is there.

Adopted is what nobody claims; with --adopt-owner it is what that owner id of ExternalDNS's TXT registry marks, \
and nothing else. What another Fingerpost marks is left alone. Nothing is written unless --apply is given, and \
then only our own ownership marks: no record is changed, and none deleted.";

const IMPORT_EXAMPLES: &str = "\
Examples:
  fingerpost import --class edge --zone example.com manifests/
  fingerpost import --class edge --zone example.com manifests/ -o yaml > manifests/example.com.yaml
  fingerpost import --class edge --zone example.com manifests/ --apply
  fingerpost import --class edge --zone example.com --kube --adopt-owner prod --apply

Exit codes: 0 the zone was read (and, with --apply, marked), 1 it could not be.";
