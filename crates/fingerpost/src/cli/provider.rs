//! The arguments of `provider`.

#![allow(rustdoc::bare_urls, reason = "these texts are read in a terminal")]

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use api::dnsclass::{HmacAlgorithm, TsigAlgorithm, ZoneKind};
use clap::{Args, ValueEnum};
use dns::Name;

use super::{parse_duration, parse_name};
use crate::http::server::limits::CONNECTIONS;

/// Which protocol is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Protocol {
    /// The webhook protocol of DNSClass and DNSRecord.
    #[default]
    Webhook,
    /// ExternalDNS's protocol for webhook providers.
    ExternalDns,
}

/// Where records are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Stored {
    /// In this process, which answers DNS itself.
    #[default]
    Embedded,
    /// In PowerDNS, by its API.
    Powerdns,
    /// In a server that takes dynamic updates.
    Rfc2136,
    /// In a folder of zone files.
    ZoneFile,
}

/// The arguments of `provider`.
#[derive(Clone, Debug, Args)]
pub struct ProviderArguments {
    /// The address that takes records
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8888", env = "FINGERPOST_PROVIDER_LISTEN")]
    pub listen: SocketAddr,
    /// The protocol that is spoken there
    #[arg(long, value_enum, default_value_t, value_name = "PROTOCOL", env = "FINGERPOST_PROVIDER_PROTOCOL")]
    pub protocol: Protocol,
    /// A zone that takes records; may be given several times
    ///
    /// Names outside of all of them are refused.
    #[arg(long = "zone", value_name = "NAME", required = true, value_parser = parse_name, value_delimiter = ',',
        env = "FINGERPOST_PROVIDER_ZONE")]
    pub zones: Vec<Name>,
    /// The TTL of records that come without one
    #[arg(long, value_name = "SECONDS", default_value = "300", env = "FINGERPOST_PROVIDER_DEFAULT_TTL",
        value_parser = clap::value_parser!(u32).range(0..=i64::from(dns::MAX_TTL)))]
    pub default_ttl: u32,
    /// The address of /healthz, /readyz and /metrics
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080", env = "FINGERPOST_HTTP")]
    pub http: SocketAddr,
    /// Where to keep what a restart needs: the embedded store's records, and who wrote last
    #[arg(long, value_name = "DIR", env = "FINGERPOST_STATE", required_unless_present = "no_state")]
    pub state: Option<PathBuf>,
    /// Keep nothing on disk
    #[arg(long, conflicts_with = "state")]
    pub no_state: bool,
    /// How many requests a second each client address may make [default: any number]
    #[arg(long, value_name = "NUMBER", env = "FINGERPOST_PROVIDER_RATE_LIMIT")]
    pub rate_limit: Option<NonZeroU32>,
    /// How many MiB of large request bodies are in memory at once, and how large one may be with external-dns
    #[arg(long, value_name = "MIB", default_value_t = 32, env = "FINGERPOST_PROVIDER_BODY_MEMORY",
        value_parser = clap::value_parser!(u32).range(8..=4095))]
    pub body_memory: u32,
    /// How many connections each HTTP listener holds, a quarter of them for one client address
    ///
    /// For more, the connection that has waited longest for its client is closed. A listener takes at most a
    /// sixteenth of the open files that the system permits.
    #[arg(long, value_name = "NUMBER", default_value_t = CONNECTIONS, env = "FINGERPOST_HTTP_CONNECTIONS",
        value_parser = super::api::parse_http_connections)]
    pub http_connections: usize,
    /// Who may send records.
    #[command(flatten)]
    pub authentication: AuthenticationArguments,
    /// Where records are kept.
    #[command(flatten)]
    pub store: StoreArguments,
}

/// Who may send records.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Who may send records")]
pub struct AuthenticationArguments {
    /// A file with a shared secret that requests are signed with; given again, any of them holds
    ///
    /// A line end after the secret does not count. The files are read again every 10 seconds.
    #[arg(long, value_name = "FILE", value_delimiter = ',', env = "FINGERPOST_PROVIDER_HMAC_SECRET_FILE")]
    pub hmac_secret_file: Vec<PathBuf>,
    /// The hash function of the signatures
    #[arg(long, value_name = "NAME", default_value = "SHA256", value_parser = parse_hmac,
        env = "FINGERPOST_PROVIDER_HMAC_ALGORITHM")]
    pub hmac_algorithm: HmacAlgorithm,
    /// A HOST or HOST:PORT by which clients reach this server; given, requests signed for another are refused
    ///
    /// Without authentication, and on loopback addresses, these names and the server's own address are the only
    /// Hosts that requests may have.
    #[arg(
        long,
        visible_alias = "allowed-host",
        value_name = "HOST",
        value_delimiter = ',',
        env = "FINGERPOST_PROVIDER_HOST"
    )]
    pub host: Vec<String>,
    /// The certificate for HTTPS, as PEM; read again when it changes
    #[arg(long, value_name = "FILE", requires = "tls_key", env = "FINGERPOST_PROVIDER_TLS_CERT")]
    pub tls_cert: Option<PathBuf>,
    /// The key of the certificate
    #[arg(long, value_name = "FILE", requires = "tls_cert", env = "FINGERPOST_PROVIDER_TLS_KEY")]
    pub tls_key: Option<PathBuf>,
    /// Clients must show a certificate signed by one of these
    #[arg(long, value_name = "FILE", requires = "tls_cert", env = "FINGERPOST_PROVIDER_CLIENT_CA")]
    pub client_ca: Option<PathBuf>,
    /// A ServiceAccount whose token is accepted, as NAMESPACE:NAME; may be given several times
    #[arg(long, value_name = "NAMESPACE:NAME", value_delimiter = ',',
        requires_all = ["service_account_issuer", "service_account_audience", "service_account_keys"],
        env = "FINGERPOST_PROVIDER_SERVICE_ACCOUNT")]
    pub service_account: Vec<String>,
    /// The issuer that tokens must have, such as https://kubernetes.default.svc
    #[arg(
        long,
        value_name = "URL",
        requires = "service_account",
        env = "FINGERPOST_PROVIDER_SERVICE_ACCOUNT_ISSUER"
    )]
    pub service_account_issuer: Option<String>,
    /// The audience that tokens must be for
    #[arg(
        long,
        value_name = "TEXT",
        requires = "service_account",
        env = "FINGERPOST_PROVIDER_SERVICE_ACCOUNT_AUDIENCE"
    )]
    pub service_account_audience: Option<String>,
    /// The issuer's public keys (JWKS): a file, or a URL such as https://kubernetes.default.svc/openid/v1/jwks
    #[arg(
        long,
        value_name = "FILE|URL",
        requires = "service_account",
        env = "FINGERPOST_PROVIDER_SERVICE_ACCOUNT_KEYS"
    )]
    pub service_account_keys: Option<String>,
    /// The authority of the URL's certificate
    #[arg(long, value_name = "FILE", env = "FINGERPOST_PROVIDER_SERVICE_ACCOUNT_CA")]
    pub service_account_ca: Option<PathBuf>,
    /// A token to ask the URL with
    #[arg(long, value_name = "FILE", env = "FINGERPOST_PROVIDER_SERVICE_ACCOUNT_TOKEN_FILE")]
    pub service_account_token_file: Option<PathBuf>,
    /// Take records from anybody who reaches an address that is not a loopback one
    #[arg(long, env = "FINGERPOST_PROVIDER_INSECURE")]
    pub insecure: bool,
}

/// Where records are kept.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Where records are kept")]
pub struct StoreArguments {
    /// Where records are kept
    #[arg(long, value_enum, default_value_t, value_name = "STORE", env = "FINGERPOST_PROVIDER_STORE")]
    pub store: Stored,
    /// Whose records these are at PowerDNS and by dynamic update; others' are left alone
    #[arg(
        long,
        value_name = "TEXT",
        default_value = "fingerpost-provider",
        env = "FINGERPOST_PROVIDER_OWNER"
    )]
    pub owner: String,
    /// How long a request to the store may take
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = parse_duration,
        env = "FINGERPOST_PROVIDER_TIMEOUT")]
    pub timeout: Duration,
    /// embedded: the address that answers DNS, UDP and TCP
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:5300", env = "FINGERPOST_DNS")]
    pub dns: SocketAddr,
    /// powerdns: the URL of its API, such as http://127.0.0.1:8081
    #[arg(
        long,
        value_name = "URL",
        required_if_eq("store", "powerdns"),
        env = "FINGERPOST_PROVIDER_POWERDNS_URL"
    )]
    pub powerdns_url: Option<String>,
    /// powerdns: a file with its API key
    #[arg(
        long,
        value_name = "FILE",
        required_if_eq("store", "powerdns"),
        env = "FINGERPOST_PROVIDER_POWERDNS_API_KEY_FILE"
    )]
    pub powerdns_api_key_file: Option<PathBuf>,
    /// powerdns: the id of the server
    #[arg(
        long,
        value_name = "ID",
        default_value = "localhost",
        env = "FINGERPOST_PROVIDER_POWERDNS_SERVER_ID"
    )]
    pub powerdns_server_id: String,
    /// powerdns: the authority of the URL's certificate
    #[arg(long, value_name = "FILE", env = "FINGERPOST_PROVIDER_POWERDNS_CA")]
    pub powerdns_ca: Option<PathBuf>,
    /// powerdns: the kind of zones that are made, Native or Primary
    #[arg(long, value_name = "KIND", default_value = "Native", value_parser = parse_kind,
        env = "FINGERPOST_PROVIDER_POWERDNS_ZONE_KIND")]
    pub powerdns_zone_kind: ZoneKind,
    /// rfc2136: the server that takes updates
    #[arg(
        long,
        value_name = "HOST:PORT",
        required_if_eq("store", "rfc2136"),
        env = "FINGERPOST_PROVIDER_RFC2136_SERVER"
    )]
    pub rfc2136_server: Option<String>,
    /// rfc2136: the name of the TSIG key
    #[arg(long, value_name = "NAME", value_parser = parse_name, requires = "tsig_secret_file",
        env = "FINGERPOST_PROVIDER_TSIG_NAME")]
    pub tsig_name: Option<Name>,
    /// rfc2136: the algorithm of the TSIG key
    #[arg(long, value_name = "NAME", default_value = "hmac-sha256", value_parser = parse_tsig,
        env = "FINGERPOST_PROVIDER_TSIG_ALGORITHM")]
    pub tsig_algorithm: TsigAlgorithm,
    /// rfc2136: a file with the TSIG key's secret, in base64
    #[arg(long, value_name = "FILE", requires = "tsig_name", env = "FINGERPOST_PROVIDER_TSIG_SECRET_FILE")]
    pub tsig_secret_file: Option<PathBuf>,
    /// zone-file: the folder that the zone files are written to
    #[arg(
        long,
        value_name = "DIR",
        required_if_eq("store", "zone-file"),
        env = "FINGERPOST_PROVIDER_ZONE_DIRECTORY"
    )]
    pub zone_directory: Option<PathBuf>,
}

fn parse_hmac(text: &str) -> Result<HmacAlgorithm, String> {
    named(&text.to_ascii_uppercase()).ok_or_else(|| format!("`{text}` is neither SHA256 nor SHA512"))
}

fn parse_kind(text: &str) -> Result<ZoneKind, String> {
    named(text).ok_or_else(|| format!("`{text}` is neither Native nor Primary"))
}

fn parse_tsig(text: &str) -> Result<TsigAlgorithm, String> {
    named(text).ok_or_else(|| {
        format!("`{text}` is not an allowed value: use one of hmac-sha256, hmac-sha384, hmac-sha512")
    })
}

/// What is written so in a DNSClass.
fn named<T: serde::de::DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_value(serde_json::Value::String(text.to_owned())).ok()
}

pub(super) const ABOUT: &str = "\
Takes records over HTTP and holds them: the reference server of the webhook protocol by which DNSClass and \
DNSRecord reach DNS servers, and with --protocol external-dns a webhook provider for ExternalDNS. The records \
are kept in one of four stores; the embedded one answers DNS itself.

A record is on the disk, or with whoever --store names, before it is acknowledged. At PowerDNS and by dynamic \
update, records that did not come through here are left alone.

Every way of authentication that is set up must hold: signatures, client certificates and ServiceAccount \
tokens. Without any, only a loopback address is listened on.";

pub(super) const EXAMPLES: &str = "\
Examples:
  fingerpost provider --zone example.org --state DIR --hmac-secret-file secret
  fingerpost provider --zone example.org --state DIR --listen 0.0.0.0:7100 \\
      --hmac-secret-file new,old --tls-cert tls.crt --tls-key tls.key --dns 0.0.0.0:53
  fingerpost provider --zone example.org --state DIR --hmac-secret-file secret --store powerdns \\
      --powerdns-url http://127.0.0.1:8081 --powerdns-api-key-file key
  fingerpost provider --protocol external-dns --zone example.org --state DIR    # beside it:
  external-dns --provider=webhook --webhook-provider-url=http://127.0.0.1:8888 --source=crd

Exit codes:
  0  stopped by SIGTERM or SIGINT
  1  could not start: the message says why";
