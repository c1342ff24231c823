//! Where requests that an object asks for would go.
//!
//! A URL in a manifest is a request that our process makes, so that it must not reach what only
//! our process can reach. Literal addresses are judged here, names when they are connected to.

mod inward;

use std::net::IpAddr;

use self::inward::loose_ipv4;
pub use self::inward::{embedded_addresses, is_inward};
use crate::{Object, Problem, Spec};

/// The host and port that a request would go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) host: String,
    pub(crate) port: Option<u16>,
}

impl Target {
    /// Reads an `http` or `https` URL without user, query and fragment.
    pub(crate) fn from_url(url: &str) -> Option<Target> {
        let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"))?;
        if rest.chars().any(|c| "?#@\\".contains(c) || c.is_whitespace() || c.is_control()) {
            return None;
        }
        Target::from_authority(rest.split('/').next()?)
    }

    /// Reads `host`, `host:port`, `address:port` or `[address]:port`.
    pub(crate) fn from_authority(authority: &str) -> Option<Target> {
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => bracketed(rest)?,
            None => plain(authority)?,
        };
        let port = port.map(str::parse).transpose().ok()?;
        (port != Some(0)).then(|| Target { host: host.to_owned(), port })
    }

    /// The address, where it is written as one, in any of the ways that a C library reads.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        self.host.parse().ok().or_else(|| loose_ipv4(&self.host).map(IpAddr::V4))
    }
}

fn bracketed(rest: &str) -> Option<(&str, Option<&str>)> {
    let (host, rest) = rest.split_once(']')?;
    host.parse::<std::net::Ipv6Addr>().ok()?;
    match rest {
        "" => Some((host, None)),
        rest => Some((host, Some(rest.strip_prefix(':')?))),
    }
}

fn plain(authority: &str) -> Option<(&str, Option<&str>)> {
    let (host, port) = match authority.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (authority, None),
    };
    dns::Name::parse(host).ok().map(|_| (host, port))
}

/// Literal addresses in the object that requests of ours must not go to: loopback, link-local
/// (which the clouds' metadata services have), multicast and unspecified ones, unless `allowed`
/// says otherwise.
pub fn forbidden_targets(object: &Object, allowed: impl Fn(IpAddr) -> bool) -> Vec<Problem> {
    let literal = targets(&object.spec)
        .into_iter()
        .filter_map(|(field, text, target)| Some((field, text, target?.address()?)));
    literal
        .filter(|(_, _, address)| is_inward(*address) && !allowed(*address))
        .map(|(field, text, address)| Problem::new(field, text, forbidden(address)))
        .collect()
}

fn forbidden(address: IpAddr) -> String {
    format!(
        "leads to {address}, which only this process may reach: use another address, or allow this one with --allow-target"
    )
}

/// The fields of a spec that requests go to.
fn targets(spec: &Spec) -> Vec<(String, &str, Option<Target>)> {
    match spec {
        Spec::DNSClass(class) => class.targets(),
        Spec::Placement(placement) => placement.targets(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::{Kind, decode};

    fn class(spec: serde_json::Value) -> Object {
        let manifest = json!({"apiVersion": "", "kind": "", "metadata": {"name": "c"}, "spec": spec});
        decode(Kind::DNSClass, manifest).unwrap()
    }

    #[rstest]
    #[case("http://127.0.0.1:80", true)]
    #[case("http://[::1]", true)]
    #[case("http://[::ffff:127.0.0.1]", true)]
    #[case("http://169.254.169.254/latest", true)]
    #[case("http://[fe80::1]", true)]
    #[case("http://[fd00:ec2::254]", true)]
    #[case("http://0.0.0.0", true)]
    #[case("http://224.0.0.1", true)]
    #[case("http://10.0.0.1", false)]
    #[case("http://[2001:db8::1]", false)]
    #[case("http://localhost", false)]
    fn inward_addresses_are_forbidden(#[case] url: &str, #[case] forbidden: bool) {
        let problems = forbidden_targets(&class(json!({ "server": url })), |_| false);
        assert_eq!(problems.len(), usize::from(forbidden), "{problems:?}");
        assert!(problems.iter().all(|problem| problem.to_string().contains("--allow-target")));
    }

    /// PROMISES 24, as far as an object alone can be judged: names are when they are connected to.
    #[test]
    fn no_tenant_s_object_makes_us_connect_to_loopback_link_local_metadata_or_the_api_server() {
        const FORMS: &str = include_str!("../../../testdata/targets/inward.txt");
        let forms = FORMS.lines().filter(|line| !line.starts_with('#'));
        let urls: Vec<&str> = forms.filter_map(|line| line.split(' ').next()).collect();
        assert!(urls.len() >= 200, "{}", urls.len());
        let is_refused = |url: &&&str| {
            let object = class(json!({ "server": url }));
            !crate::validate(&object).is_empty() || !forbidden_targets(&object, |_| false).is_empty()
        };
        let passed: Vec<&&str> = urls.iter().filter(|url| !is_refused(url)).collect();
        let is_name = |url: &&&str| url.to_ascii_lowercase().contains("localhost");
        assert!(passed.iter().all(is_name), "{passed:?}");
    }

    #[test]
    fn what_is_allowed_is_not_forbidden() {
        let object = class(json!({ "server": "http://127.0.0.1" }));
        assert_eq!(forbidden_targets(&object, |address| address.is_loopback()), []);
    }

    #[test]
    fn every_back_end_and_witness_is_looked_at() {
        let key = json!({"name": "n", "key": "k"});
        let specs = [
            json!({"powerdns": {"url": "http://127.0.0.1", "apiKeySecretRef": key}}),
            json!({"externalDNSWebhook": {"url": "http://127.0.0.1"}}),
            json!({"rfc2136": {"server": "127.0.0.1:53"}}),
        ];
        for spec in specs {
            assert_eq!(forbidden_targets(&class(spec.clone()), |_| false).len(), 1, "{spec}");
        }
        let witness =
            json!({"etcd": {"endpoints": ["http://127.0.0.1:2379"]}, "http": {"url": "http://[::1]"}});
        let placement = json!({"apiVersion": "", "kind": "", "metadata": {"name": "p"}, "spec": {
            "hostname": "a.example.org", "mode": "single-region", "regions": [], "witness": witness}});
        assert_eq!(forbidden_targets(&decode(Kind::Placement, placement).unwrap(), |_| false).len(), 2);
    }
}
