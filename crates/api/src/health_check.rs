//! Health checks: how it is found out whether an address is up.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::checks::Checks;
use crate::pattern;
use crate::{Duration, placement::PlacementMode};

/// The shortest duration that a health check may name.
const SHORTEST: Duration = Duration::from_millis(100);

/// How it is found out whether an address is up. Empty, it asks `https://<host name>/healthz` at
/// every address, every five seconds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[x_kube(
    validation = (
        "duration(self.interval) >= duration('100ms')",
        "healthCheck.interval: is too short: use at least `100ms`"
    ),
    validation = (
        "!has(self.timeout) || duration(self.timeout) >= duration('100ms')",
        "healthCheck.timeout: is too short: use at least `100ms`"
    ),
    validation = (
        "!has(self.timeout) || duration(self.timeout) <= duration(self.interval)",
        "healthCheck.timeout: is longer than the interval: use at most the interval"
    ),
    validation = (
        "self.protocol != 'TCP' || has(self.port)",
        "healthCheck.port: TCP has no port of its own: name one"
    ),
    validation = (
        "self.protocol != 'TCP' || !(has(self.path) || has(self.host) || has(self.expectedCodes))",
        "healthCheck.protocol: TCP only connects: remove path, host and expectedCodes, or use HTTP or HTTPS"
    )
)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HealthCheck {
    /// What is spoken: `HTTPS` and `HTTP` ask for a page, `TCP` only connects.
    #[serde(default)]
    pub protocol: Protocol,
    /// The page to ask for. Default: `/healthz`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 2048))]
    #[x_kube(validation = ("self.startsWith('/')", "healthCheck.path: must start with `/`"))]
    pub path: Option<String>,
    /// The port. Default: 443 for HTTPS, 80 for HTTP; TCP needs one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 65535))]
    pub port: Option<u16>,
    /// The host in the request and in TLS, put to each address. Default: the name that is served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub host: Option<String>,
    /// The status codes that mean up, each as a code or a range. Default: `200-299`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 16), inner(length(min = 3, max = 7)))]
    #[x_kube(validation = pattern::STATUS_CODES.rule_for_each("healthCheck.expectedCodes"))]
    pub expected_codes: Option<Vec<String>>,
    /// How often each address is asked, from `100ms`.
    #[serde(default = "five_seconds")]
    pub interval: Duration,
    /// How long an answer may take, at most the interval. Default: `2s`, or the interval where
    /// that is shorter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Duration>,
    /// How many failures in a row mean down. Default: 3, and 6 in mode `active-passive-warm`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 100))]
    pub failures: Option<u32>,
    /// How many successes in a row mean up again.
    #[serde(default = "two")]
    #[schemars(range(min = 1, max = 100))]
    pub successes: u32,
    /// Takes any certificate. The probe then only tells that somebody answers.
    #[serde(default)]
    pub insecure_skip_verify: bool,
}

/// What a health check speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Protocol {
    /// A page over plain HTTP.
    Http,
    /// A page over HTTPS.
    #[default]
    Https,
    /// A connection, and nothing said.
    Tcp,
}

fn five_seconds() -> Duration {
    Duration::from_secs(5)
}

fn two() -> u32 {
    2
}

impl Default for HealthCheck {
    fn default() -> Self {
        Self {
            protocol: Protocol::Https,
            path: None,
            port: None,
            host: None,
            expected_codes: None,
            interval: five_seconds(),
            timeout: None,
            failures: None,
            successes: two(),
            insecure_skip_verify: false,
        }
    }
}

impl HealthCheck {
    /// The page to ask for.
    pub fn path(&self) -> &str {
        self.path.as_deref().unwrap_or("/healthz")
    }

    /// The port to connect to; TCP has none of its own, and validation sees to it that one is named.
    pub fn port(&self) -> Option<u16> {
        self.port.or(match self.protocol {
            Protocol::Http => Some(80),
            Protocol::Https => Some(443),
            Protocol::Tcp => None,
        })
    }

    /// How long an answer may take.
    pub fn timeout(&self) -> Duration {
        self.timeout.unwrap_or(Duration::from_secs(2).min(self.interval))
    }

    /// How many failures in a row mean down.
    pub fn failures(&self, mode: Option<PlacementMode>) -> u32 {
        let by_default = if mode == Some(PlacementMode::ActivePassiveWarm) { 6 } else { 3 };
        self.failures.unwrap_or(by_default)
    }

    /// The status codes that mean up, each as first and last.
    pub fn codes(&self) -> Vec<(u16, u16)> {
        match &self.expected_codes {
            Some(entries) => entries.iter().filter_map(|entry| pattern::status_codes(entry)).collect(),
            None => vec![(200, 299)],
        }
    }

    /// Whether a status code means up.
    pub fn expects(&self, code: u16) -> bool {
        self.codes().iter().any(|(first, last)| (*first..=*last).contains(&code))
    }

    /// Checks everything that the block itself shows.
    pub(crate) fn check(&self, path: &str, checks: &mut Checks) {
        self.check_times(path, checks);
        self.check_request(path, checks);
        for (field, count) in [("failures", self.failures.unwrap_or(1)), ("successes", self.successes)] {
            let message = "is out of range: use a number from 1 to 100";
            checks.require((1..=100).contains(&count), &format!("{path}.{field}"), count, message);
        }
    }

    fn check_times(&self, path: &str, checks: &mut Checks) {
        let timeout = self.timeout();
        for (field, duration) in [("interval", self.interval), ("timeout", timeout)] {
            let message = "is too short: use at least `100ms`";
            checks.require(duration >= SHORTEST, &format!("{path}.{field}"), duration, message);
        }
        if timeout > self.interval {
            let message = format!("is longer than the interval: use at most `{}`", self.interval);
            checks.refuse(format!("{path}.timeout"), timeout, message);
        }
    }

    fn check_request(&self, path: &str, checks: &mut Checks) {
        let page = self.path();
        checks.require(page.starts_with('/'), &format!("{path}.path"), page, "must start with `/`");
        let printable = page.bytes().all(|octet| octet.is_ascii_graphic());
        checks.require(
            printable,
            &format!("{path}.path"),
            page,
            "has a character that must be percent-encoded",
        );
        checks.require(self.port() != Some(0), &format!("{path}.port"), 0, "is no port: use 1 to 65535");
        if let Some(host) = &self.host {
            checks.name(&format!("{path}.host"), host);
        }
        for (index, code) in self.expected_codes.iter().flatten().enumerate() {
            checks.fits(&pattern::STATUS_CODES, &format!("{path}.expectedCodes[{index}]"), code);
        }
        let given = self.expected_codes.as_ref();
        let message = "is empty, so that nothing would be up: name a code such as `200-299`, or leave it out";
        checks.require(
            given.is_none_or(|codes| !codes.is_empty()),
            &format!("{path}.expectedCodes"),
            "",
            message,
        );
        if self.protocol == Protocol::Tcp {
            self.check_tcp(path, checks);
        }
    }

    fn check_tcp(&self, path: &str, checks: &mut Checks) {
        let message = "TCP has no port of its own: name one";
        checks.require(self.port.is_some(), &format!("{path}.port"), "", message);
        let asks = self.path.is_some() || self.host.is_some() || self.expected_codes.is_some();
        let message = "only connects: remove path, host and expectedCodes, or use HTTP or HTTPS";
        checks.require(!asks, &format!("{path}.protocol"), "TCP", message);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use rstest::rstest;

    use super::*;

    fn parse(yaml: &str) -> HealthCheck {
        serde_saphyr::from_str(yaml).unwrap()
    }

    #[test]
    fn empty_block_is_the_documents_default() {
        let check = parse("{}");
        assert_eq!(check, HealthCheck::default());
        assert_eq!((check.protocol, check.path(), check.port()), (Protocol::Https, "/healthz", Some(443)));
        assert_eq!((check.interval.to_string(), check.timeout().to_string()), ("5s".into(), "2s".into()));
        assert_eq!((check.failures(None), check.successes), (3, 2));
        assert_eq!(check.failures(Some(PlacementMode::ActivePassiveWarm)), 6);
    }

    #[rstest]
    #[case("{protocol: HTTP}", Some(80))]
    #[case("{protocol: TCP}", None)]
    #[case("{protocol: TCP, port: 25}", Some(25))]
    fn port_follows_the_protocol(#[case] yaml: &str, #[case] port: Option<u16>) {
        assert_eq!(parse(yaml).port(), port);
    }

    #[test]
    fn default_timeout_is_never_longer_than_the_interval() {
        assert_eq!(parse("{interval: 500ms}").timeout(), Duration::from_millis(500));
    }

    #[rstest]
    #[case("{}", 204, true)]
    #[case("{}", 301, false)]
    #[case("{expectedCodes: ['200', 300-302]}", 301, true)]
    #[case("{expectedCodes: ['200', 300-302]}", 201, false)]
    fn codes_mean_up(#[case] yaml: &str, #[case] code: u16, #[case] up: bool) {
        assert_eq!(parse(yaml).expects(code), up);
    }
}
