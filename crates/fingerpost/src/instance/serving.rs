//! How the listeners of an instance serve: from the command line and the files that it names.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use ring::rand::{SecureRandom, SystemRandom};
use server::{CookieKeys, Identity, Limits, Options, RateLimit};

use super::certificate::Certificate;
use crate::cli::ServingArguments;

/// How the listeners serve.
#[derive(Debug)]
pub struct Serving {
    /// What all of them have in common.
    pub options: Options,
    /// Where DNS over TLS is served, and how.
    pub tls: Option<(SocketAddr, Certificate)>,
}

impl Serving {
    /// Reads the files that the arguments name. Needs a Tokio runtime.
    pub fn new(arguments: &ServingArguments) -> Result<Serving> {
        let identity = Identity {
            nsid: arguments.nsid.as_ref().map(|nsid| nsid.as_bytes().into()),
            cookies: Some(cookies(arguments.cookie_secret_file.as_deref())?),
        };
        let rate_limit = RateLimit {
            per_second: arguments.rate_limit,
            octets_per_second: arguments.rate_limit_octets,
            slip: arguments.rate_limit_slip,
            exempt_loopback: !arguments.rate_limit_loopback,
            ..RateLimit::default()
        };
        let options = Options {
            limits: Limits::of(arguments.tcp_connections),
            identity: Arc::new(identity),
            rate_limit,
            threads: arguments.dns_threads,
        };
        Ok(Serving { options, tls: tls(arguments)? })
    }
}

/// How a server serves whom nobody told how.
pub fn usual() -> Result<Options> {
    let identity = Identity { nsid: None, cookies: Some(cookies(None)?) };
    Ok(Options { identity: Arc::new(identity), ..Options::default() })
}

/// The secrets in a file, or one that lives as long as this process.
fn cookies(file: Option<&Path>) -> Result<CookieKeys> {
    let Some(file) = file else { return fresh() };
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("cannot read the cookie secrets in {}", file.display()))?;
    CookieKeys::parse(&text).with_context(|| format!("the cookie secrets in {}", file.display()))
}

fn fresh() -> Result<CookieKeys> {
    let mut key = [0; 16];
    SystemRandom::new().fill(&mut key).map_err(|_| anyhow!("the system gives no random numbers"))?;
    Ok(CookieKeys::new(key, Vec::new()))
}

fn tls(arguments: &ServingArguments) -> Result<Option<(SocketAddr, Certificate)>> {
    let (Some(address), Some(certificate), Some(key)) =
        (arguments.dns_tls, &arguments.tls_certificate, &arguments.tls_key)
    else {
        return Ok(None);
    };
    let certificate =
        Certificate::open(certificate.clone(), key.clone()).context("--tls-certificate and --tls-key")?;
    Ok(Some((address, certificate)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use clap::Parser;

    use crate::cli::{Cli, Command};

    fn serving(flags: &str) -> Result<Serving> {
        let line = format!("fingerpost up . {flags}");
        let Command::Up(arguments) = Cli::try_parse_from(line.split_whitespace())?.command else {
            panic!("another command")
        };
        Serving::new(&arguments.serving)
    }

    #[tokio::test]
    async fn without_flags_everybody_gets_cookies_and_loopback_is_not_limited() {
        let (one, other) = (serving("").unwrap().options, serving("").unwrap().options);
        assert_eq!(one.rate_limit, RateLimit::default());
        assert!(one.identity.cookies.is_some() && one.identity.nsid.is_none());
        assert_ne!(one.identity.cookies, other.identity.cookies, "a secret of its own each time");
        assert_eq!((one.threads, one.limits.connections), (0, 256));
    }

    #[test]
    fn flags_say_otherwise() {
        let serving = serving(
            "--rate-limit 7 --rate-limit-octets 9999 --rate-limit-slip 3 --rate-limit-loopback --nsid weu-1 --dns-threads 2 --tcp-connections 9",
        );
        let options = serving.unwrap().options;
        let limits = (options.rate_limit.per_second, options.rate_limit.octets_per_second);
        assert_eq!(limits, (7, 9999));
        assert_eq!((options.rate_limit.slip, options.rate_limit.exempt_loopback), (3, false));
        assert_eq!(options.identity.nsid.as_deref(), Some(&b"weu-1"[..]));
        assert_eq!((options.threads, options.limits.connections), (2, 9));
        assert_eq!(options.limits.connections_per_network, 3);
    }

    #[test]
    fn a_cookie_secret_file_is_read_and_a_wrong_one_named_without_what_it_holds() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cookies");
        let flags = format!("--cookie-secret-file {}", file.display());
        assert!(serving(&flags).unwrap_err().to_string().starts_with("cannot read the cookie secrets"));
        std::fs::write(&file, "000102030405060708090a0b0c0d0e0f\n").unwrap();
        let keys = CookieKeys::new([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], Vec::new());
        assert_eq!(serving(&flags).unwrap().options.identity.cookies, Some(keys));
        std::fs::write(&file, "000102030405060708090a0b0c0d0e").unwrap();
        let error = format!("{:#}", serving(&flags).unwrap_err());
        assert!(error.contains("line 1 is no cookie secret") && !error.contains("0001"), "{error}");
    }

    #[test]
    fn what_belongs_together_is_asked_for_together() {
        assert!(serving("--dns-tls 127.0.0.1:853").is_err());
        assert!(serving("--tls-certificate f --tls-key f").is_err());
        assert!(serving("--nsid").is_err());
        assert!(serving(&format!("--nsid {}", "n".repeat(65))).is_err());
        assert!(serving("--tcp-connections 0").is_err());
        let error = serving("--dns-tls 127.0.0.1:853 --tls-certificate none --tls-key none").unwrap_err();
        assert!(format!("{error:#}").contains("cannot read none"), "{error:#}");
    }
}
