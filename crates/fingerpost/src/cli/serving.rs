//! The arguments of how DNS is served, of `up` and `dns`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

/// What an NSID may have at most, so that it fits every response.
const LONGEST_NSID: usize = 64;

/// How DNS is served.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "How DNS is served")]
pub struct ServingArguments {
    /// How many threads answer UDP at each address; 0 is one for each core
    #[arg(long, value_name = "NUMBER", default_value_t = 0, env = "FINGERPOST_DNS_THREADS")]
    pub dns_threads: usize,
    /// How many responses a second on one name go to one client network over UDP; 0 is any number
    ///
    /// A network is a /24, or a /56 with IPv6. What a zone does not have counts together. Past the
    /// limit responses are dropped or slipped (see --rate-limit-slip), so that nobody can use this
    /// server to flood another. A resolver asks for a name once a TTL: a thousand a second is far
    /// from what even many of them behind one address need. Clients that ask over TCP, or show a
    /// DNS cookie of ours, are never limited. 0 switches --rate-limit-octets off too.
    #[arg(long, value_name = "NUMBER", default_value_t = 1000, env = "FINGERPOST_RATE_LIMIT")]
    pub rate_limit: u32,
    /// How many octets a second go to one client network over UDP in all responses; 0 is any number
    ///
    /// --rate-limit counts each name by itself, so a source that asks for many names in turn is not
    /// held back by it. The default is about 6,000 plain or 2,000 signed answers a second. Past the
    /// limit responses are dropped or slipped as with --rate-limit, and the same clients are exempt.
    #[arg(long, value_name = "NUMBER", default_value_t = 1_000_000, env = "FINGERPOST_RATE_LIMIT_OCTETS")]
    pub rate_limit_octets: u32,
    /// Of the responses past the limit every NUMBERth is sent, empty and truncated; 0 is none, 1 is all
    ///
    /// A real client then asks again over TCP. Such a response is never longer than its query.
    #[arg(long, value_name = "NUMBER", default_value_t = 2, env = "FINGERPOST_RATE_LIMIT_SLIP")]
    pub rate_limit_slip: u8,
    /// Limit clients on loopback addresses too
    #[arg(long, env = "FINGERPOST_RATE_LIMIT_LOOPBACK")]
    pub rate_limit_loopback: bool,
    /// A file with the secrets of DNS cookies, for servers that share an address
    ///
    /// 32 hexadecimal digits a line, as other servers have them: cookies are made with the first
    /// and accepted from all. To roll over, add the new secret as the second line everywhere, then
    /// make it the first, then remove the old one, with a restart and an hour after each step.
    /// Without a file there is a secret for as long as this process runs.
    #[arg(long, value_name = "FILE", env = "FINGERPOST_COOKIE_SECRET_FILE")]
    pub cookie_secret_file: Option<PathBuf>,
    /// What this server calls itself to those who ask (NSID, and id.server in class CHAOS)
    #[arg(long, value_name = "TEXT", value_parser = parse_nsid, env = "FINGERPOST_NSID")]
    pub nsid: Option<String>,
    /// How many TCP connections an address holds, a quarter of them for one client network
    ///
    /// For more, another one is closed: one whose client does not read, else the one that has been
    /// idle longest, else one of the network with the most. The process needs a file descriptor for
    /// each.
    #[arg(long, value_name = "NUMBER", default_value_t = 256, env = "FINGERPOST_TCP_CONNECTIONS",
        value_parser = parse_connections)]
    pub tcp_connections: usize,
    /// An address for DNS over TLS, such as 0.0.0.0:853; it answers as the first address of --dns
    #[arg(long, value_name = "ADDR", requires_all = ["tls_certificate", "tls_key"], env = "FINGERPOST_DNS_TLS")]
    pub dns_tls: Option<SocketAddr>,
    /// The certificate for DNS over TLS, as PEM; read again when it changes
    #[arg(long, value_name = "FILE", requires = "dns_tls", env = "FINGERPOST_TLS_CERTIFICATE")]
    pub tls_certificate: Option<PathBuf>,
    /// The key of the certificate
    #[arg(long, value_name = "FILE", requires = "dns_tls", env = "FINGERPOST_TLS_KEY")]
    pub tls_key: Option<PathBuf>,
}

fn parse_nsid(text: &str) -> Result<String, String> {
    match text.len() {
        1..=LONGEST_NSID => Ok(text.to_owned()),
        length => Err(format!("it has {length} octets: write 1 to {LONGEST_NSID}")),
    }
}

fn parse_connections(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|number| *number > 0).ok_or_else(|| "write a number from 1 on".to_owned())
}
