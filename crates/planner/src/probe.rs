//! Probes: what is asked of whom to find out whether it is up, and what came of it.
//!
//! A probe is known by what it does, so however many names share a target and a way of asking,
//! it is asked once.

use std::net::IpAddr;

use dns::{Name, ProbeId, stable_hash};
use serde::{Deserialize, Serialize};

/// One target and one way of asking it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProbeSpec {
    /// Whom.
    pub target: ProbeTarget,
    /// At which port.
    pub port: u16,
    /// What.
    pub question: ProbeQuestion,
    /// How often, in milliseconds.
    pub interval: u64,
    /// How long an answer may take, in milliseconds.
    pub timeout: u64,
    /// How many failures in a row mean down.
    pub failures: u32,
    /// How many successes in a row mean up again.
    pub successes: u32,
}

/// Who is probed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ProbeTarget {
    /// An address.
    Address(IpAddr),
    /// Whatever addresses a name has at the time: up where one of them is.
    Host(Name),
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProbeQuestion {
    /// A connection, and nothing said.
    Connect,
    /// A page.
    Page {
        /// Over TLS, and whether its certificate is looked at.
        tls: Option<Certificate>,
        /// The host in the request and in TLS, whatever the target's address.
        host: String,
        /// The path, with its leading `/`.
        path: String,
        /// The status codes that mean up, as first and last.
        codes: Vec<(u16, u16)>,
    },
}

/// Whether a target's certificate is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Certificate {
    /// It must be valid for the host.
    Verified,
    /// Any will do.
    Any,
}

/// How a target is, by its probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetHealth {
    /// Whether it is up.
    pub state: TargetState,
    /// Since when, in Unix seconds.
    pub since: i64,
    /// Why it is down, in words of ours; empty where it is not.
    pub reason: Box<str>,
    /// Whether it was seen up since this process began to ask.
    pub seen_up: bool,
}

/// Whether a target is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetState {
    /// It was not asked often enough to tell.
    Unknown,
    /// It is.
    Up,
    /// It is not.
    Down,
}

impl ProbeSpec {
    /// What the probe is known by, in every process and version.
    pub fn id(&self) -> ProbeId {
        let target = match &self.target {
            ProbeTarget::Address(address) => address.to_string(),
            ProbeTarget::Host(name) => name.to_string(),
        };
        let numbers =
            [self.port.into(), self.interval, self.timeout, self.failures.into(), self.successes.into()];
        let numbers: Vec<u8> = numbers.iter().flat_map(|number: &u64| number.to_be_bytes()).collect();
        ProbeId(stable_hash([target.as_bytes(), &self.question.octets(), &numbers]))
    }
}

impl ProbeQuestion {
    fn octets(&self) -> Vec<u8> {
        let ProbeQuestion::Page { tls, host, path, codes } = self else { return vec![0] };
        let kind = match tls {
            None => 1,
            Some(Certificate::Verified) => 2,
            Some(Certificate::Any) => 3,
        };
        let codes = codes.iter().flat_map(|(first, last)| [first.to_be_bytes(), last.to_be_bytes()].concat());
        let texts = [host.as_bytes(), &[0], path.as_bytes(), &[0]].concat();
        std::iter::once(kind).chain(texts).chain(codes).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn two_probes_are_one_only_where_they_do_the_same() {
        let connect = ProbeSpec {
            target: ProbeTarget::Address("192.0.2.1".parse().unwrap()),
            port: 80,
            question: ProbeQuestion::Connect,
            interval: 5000,
            timeout: 2000,
            failures: 3,
            successes: 2,
        };
        let page = |tls, host: &str, path: &str| ProbeSpec {
            question: ProbeQuestion::Page {
                tls,
                host: host.into(),
                path: path.into(),
                codes: vec![(200, 299)],
            },
            ..connect.clone()
        };
        let all = [
            connect.clone(),
            ProbeSpec { port: 81, ..connect.clone() },
            ProbeSpec { interval: 5001, ..connect.clone() },
            ProbeSpec { failures: 2, successes: 3, ..connect.clone() },
            ProbeSpec { target: ProbeTarget::Host(Name::parse("lb.test").unwrap()), ..connect.clone() },
            page(None, "a.test", "/"),
            page(None, "a.test/", ""),
            page(Some(Certificate::Any), "a.test", "/"),
            page(Some(Certificate::Verified), "a.test", "/"),
        ];
        let ids: BTreeSet<ProbeId> = all.iter().map(ProbeSpec::id).collect();
        assert_eq!(ids.len(), all.len());
        assert_eq!(connect.id(), connect.clone().id());
        // Other processes and versions know it by the same number.
        assert_eq!(connect.id(), ProbeId(12_656_536_506_280_522_733));
    }
}
