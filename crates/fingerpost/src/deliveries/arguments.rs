//! What can be said on the command line about deliveries.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use backends::delivery::Retry;
use backends::lookup::Resolver;
use backends::transport::guard::{Forbidden, Guard};
use clap::Args;
use server::Network;

use super::lookup::Eyes;
use crate::cli::parse_duration;

const HEADING: &str = "Providers";

/// Where requests may go.
#[derive(Clone, Debug, Default, Args)]
pub struct TargetArguments {
    /// Networks that a DNSClass or a health check may point at although they are loopback or link-local
    #[arg(long, value_name = "CIDR", env = "FINGERPOST_ALLOW_TARGET", value_delimiter = ',',
        help_heading = HEADING)]
    pub allow_target: Vec<String>,
}

impl TargetArguments {
    /// The networks that are allowed.
    pub fn networks(&self) -> Result<Vec<Network>> {
        let parse = |text: &String| text.parse().with_context(|| format!("--allow-target {text}"));
        self.allow_target.iter().map(parse).collect()
    }

    /// The networks that are allowed to a process whose DNS listener has this address. One that listens on loopback
    /// only is alone on this machine, and means this machine.
    pub fn networks_of(&self, listener: SocketAddr) -> Result<Vec<Network>> {
        let mut guard = self.guard(Forbidden::default())?;
        if listener.ip().is_loopback() {
            guard.allow_loopback();
        }
        Ok(guard.allowed)
    }

    /// What requests may go to; some addresses are forbidden unless they are allowed.
    pub fn guard(&self, forbidden: Forbidden) -> Result<Guard> {
        Ok(Guard { forbidden, ..Guard::allowing(self.networks()?) })
    }
}

/// How records reach providers.
#[derive(Clone, Debug, Args)]
pub struct DeliveryArguments {
    /// Where requests may go.
    #[command(flatten)]
    pub targets: TargetArguments,
    /// The owner ID in ownership records at providers; it must differ between clusters that share one
    ///
    /// Default: the operator takes the uid of the namespace kube-system. `up` makes an ID at random at the
    /// first use of a state directory, keeps it there and prints it at the start.
    #[arg(long, value_name = "NAME", env = "FINGERPOST_OWNER", help_heading = HEADING)]
    pub owner: Option<String>,
    /// How often a DNSClass is asked how it is
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = parse_duration,
        env = "DNS_CLASS_HEALTH_CHECK_INTERVAL", help_heading = HEADING)]
    pub health_check_interval: Duration,
    /// The first pause after a failed request; each further one is twice as long
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = parse_duration,
        env = "DNS_RECORD_RETRY_BASE_DELAY", help_heading = HEADING)]
    pub retry_base_delay: Duration,
    /// The longest pause between two attempts
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = parse_duration,
        env = "DNS_RECORD_RETRY_MAX_DELAY", help_heading = HEADING)]
    pub retry_max_delay: Duration,
    /// After how many attempts a record's status says so; it is tried on at the longest pause
    #[arg(long, value_name = "NUMBER", default_value_t = 5, env = "DNS_RECORD_RETRY_MAX_ATTEMPTS",
        help_heading = HEADING)]
    pub retry_max_attempts: u32,
    /// How often providers are compared with the plan although nothing changed
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = parse_duration,
        env = "FINGERPOST_DRIFT_INTERVAL", help_heading = HEADING)]
    pub drift_interval: Duration,
    /// A resolver, as address or host with or without port, that is asked where zones are delegated to, so
    /// that records say whether the world sees them; without it nothing is looked up
    #[arg(long, value_name = "ADDRESS", value_parser = parse_resolver, env = "FINGERPOST_LOOKUP_RESOLVER",
        help_heading = HEADING)]
    pub lookup_resolver: Option<Resolver>,
}

impl DeliveryArguments {
    /// How failures are retried.
    pub fn retry(&self) -> Retry {
        Retry { base: self.retry_base_delay, cap: self.retry_max_delay, attempts: self.retry_max_attempts }
    }

    /// Who looks whether the world sees what was delivered.
    pub fn eyes(&self, guard: &Arc<Guard>) -> Option<Eyes> {
        self.lookup_resolver.clone().map(|resolver| Eyes::new(resolver, guard.clone()))
    }
}

fn parse_resolver(text: &str) -> Result<Resolver, String> {
    Resolver::parse(text).ok_or_else(|| "is no address or host, with or without a port".to_owned())
}
