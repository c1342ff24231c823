//! The arguments of `operator`.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::{ApiArguments, TenancyArguments, parse_duration};
use crate::cluster::ClusterArguments;
use crate::deliveries::DeliveryArguments;

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
    /// The address of /metrics, /healthz and /readyz; 0 switches it off
    #[arg(long, alias = "http", value_name = "ADDR", default_value = ":8080", env = "FINGERPOST_METRICS_BIND_ADDRESS",
        help_heading = ADDRESSES)]
    pub metrics_bind_address: BindAddress,
    /// A second address of /healthz, /readyz and /metrics; 0 switches it off
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
    /// The page and `/api/`.
    #[command(flatten)]
    pub api: ApiArguments,
    /// How records reach providers.
    #[command(flatten)]
    pub delivery: DeliveryArguments,
    /// Which namespaces may claim which names.
    #[command(flatten)]
    pub tenancy: TenancyArguments,
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

const LEADER: &str = "Leader election";
const ADDRESSES: &str = "Addresses";
const WEBHOOK: &str = "Admission webhook";
const SERVER: &str = "API server";

pub(super) const ABOUT: &str = "\
Runs the pipeline in a Kubernetes cluster: watches the objects of all families, plans every record, keeps \
Istio Gateways and DNSEndpoints in line with the plan, writes statuses and events, and refuses what is wrong \
by an admission webhook.

Several replicas agree by a Lease on the one that writes; the others follow, serve the webhook and take over. \
A kind whose CRD is not installed is waited for. Nothing is written before everything has been read, and \
nothing is deleted because something could not be read.";

pub(super) const EXAMPLES: &str = "\
Examples:
  fingerpost crds | kubectl apply --server-side -f -      # install the kinds, then
  fingerpost operator --webhook-bind-address 0            # try it without the webhook
  fingerpost operator --kubeconfig FILE --context NAME
  fingerpost operator --webhook-url https://192.0.2.1:9443

Exit codes:
  0  stopped by SIGTERM or SIGINT; the Lease is released
  1  could not start: the message says why

More:
  RUST_LOG=debug shows what happens inside. /readyz says what is forbidden, by kind and verb.";
