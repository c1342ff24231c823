//! Which `Host` and `Origin` a request may have, so that no web page reaches a listener through a browser.
//!
//! A page can send requests to loopback addresses. Its requests name the page's own origin, and a page that
//! rebinds its name to a loopback address (DNS rebinding) sends its own name as `Host`. Both are refused.

use std::net::{IpAddr, SocketAddr};

use http::header::{HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, Uri};

/// The names by which a listener may be reached, besides its own addresses.
#[derive(Clone, Debug, Default)]
pub struct Hosts {
    /// HOST or HOST:PORT, in lower case.
    allowed: Vec<String>,
}

/// Why a request is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostRefusal {
    /// There is no `Host`, or several.
    #[error("the request has no single Host header")]
    NoHost,
    /// The `Host` is not ours.
    #[error("the Host `{0}` is not one of this server's: use its address, or start it with {1} {0}")]
    Host(String, &'static str),
    /// A page of another origin sends the request.
    #[error("the request comes from a web page of another origin, and this server answers none")]
    Origin,
}

impl Hosts {
    /// Loopback names, the address that a connection was made to, and these.
    pub fn new(allowed: &[String]) -> Hosts {
        Hosts {
            allowed: allowed.iter().map(|host| host.trim_end_matches('.').to_ascii_lowercase()).collect(),
        }
    }

    /// Whether a request that came to a local address is meant for this server and sent by no foreign page.
    /// The flag is the one that adds a host.
    pub fn check(
        &self,
        headers: &HeaderMap,
        uri: &Uri,
        local: Option<SocketAddr>,
        flag: &'static str,
    ) -> Result<(), HostRefusal> {
        let host = single(headers, HOST.as_str()).ok_or(HostRefusal::NoHost)?;
        for named in std::iter::once(host).chain(uri.authority().map(Authority::as_str)) {
            if !self.is_ours(named, local) {
                return Err(HostRefusal::Host(dns::visible(named).to_string(), flag));
            }
        }
        check_origin(headers)
    }

    fn is_ours(&self, host: &str, local: Option<SocketAddr>) -> bool {
        let Some((name, _)) = parts(host) else { return false };
        let (host, name) = (host.to_ascii_lowercase(), name.trim_end_matches('.').to_ascii_lowercase());
        if self.allowed.iter().any(|allowed| *allowed == host || *allowed == name) {
            return true;
        }
        // A unit test's requests have no connection; they count as local ones.
        let local = local.map_or(IpAddr::from([127, 0, 0, 1]), |local| local.ip().to_canonical());
        match name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
            Ok(address) => {
                let address = address.to_canonical();
                address == local || (address.is_loopback() && local.is_loopback())
            }
            Err(_) => name == "localhost" && local.is_loopback(),
        }
    }
}

/// Whether no web page of another origin sends a request. Programs send neither of these headers.
pub fn check_origin(headers: &HeaderMap) -> Result<(), HostRefusal> {
    let same_site = |site: &str| matches!(site, "same-origin" | "none");
    if headers.get("sec-fetch-site").is_some_and(|site| !site.to_str().is_ok_and(same_site)) {
        return Err(HostRefusal::Origin);
    }
    if headers.get(ORIGIN).is_none() {
        return Ok(());
    }
    let origin = single(headers, ORIGIN.as_str()).ok_or(HostRefusal::Origin)?;
    let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    match (authority, single(headers, HOST.as_str())) {
        (Some(authority), Some(host)) if authority.eq_ignore_ascii_case(host) => Ok(()),
        _ => Err(HostRefusal::Origin),
    }
}

/// The value of a header that is there once.
fn single<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

/// The name or address and the port of an authority without user information.
fn parts(host: &str) -> Option<(&str, Option<u16>)> {
    let authority: Authority = host.parse().ok()?;
    if host.contains('@') || authority.host().is_empty() {
        return None;
    }
    let port = match host.strip_prefix(authority.host())?.strip_prefix(':') {
        Some(port) => Some(port.parse().ok()?),
        None => None,
    };
    Some((&host[..authority.host().len()], port))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use rstest::rstest;

    fn refusal(headers: &[(&'static str, &str)], uri: &str, local: &str) -> Option<HostRefusal> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        let hosts = Hosts::new(&["dns.example.org".to_owned(), "Api.Example.net:8443".to_owned()]);
        hosts.check(&map, &uri.parse().unwrap(), Some(local.parse().unwrap()), "--allowed-host").err()
    }

    #[rstest]
    #[case("127.0.0.1:8054", "127.0.0.1:8054", true)]
    #[case("127.0.0.1:9000", "127.0.0.1:8054", true)] // a forwarded port
    #[case("localhost", "127.0.0.1:8054", true)]
    #[case("LOCALHOST.:8054", "127.0.0.1:8054", true)]
    #[case("[::1]:8054", "[::1]:8054", true)]
    #[case("127.0.0.2:8054", "127.0.0.1:8054", true)]
    #[case("192.0.2.1:8054", "192.0.2.1:8054", true)]
    #[case("192.0.2.1:8054", "[::ffff:192.0.2.1]:8054", true)]
    #[case("dns.example.org", "192.0.2.1:8054", true)]
    #[case("DNS.example.org.:1", "192.0.2.1:8054", true)]
    #[case("api.example.net:8443", "192.0.2.1:8054", true)]
    #[case("api.example.net", "192.0.2.1:8054", false)]
    #[case("evil.example", "127.0.0.1:8054", false)]
    #[case("evil.example:8054", "127.0.0.1:8054", false)]
    #[case("127.0.0.1.evil.example", "127.0.0.1:8054", false)]
    #[case("localhost.evil.example", "127.0.0.1:8054", false)]
    #[case("192.0.2.1", "127.0.0.1:8054", false)]
    #[case("localhost", "192.0.2.1:8054", false)]
    #[case("0.0.0.0", "127.0.0.1:8054", false)]
    #[case("user@localhost", "127.0.0.1:8054", false)]
    #[case("localhost:port", "127.0.0.1:8054", false)]
    #[case("", "127.0.0.1:8054", false)]
    fn a_request_names_this_server(#[case] host: &str, #[case] local: &str, #[case] fine: bool) {
        let refusal = refusal(&[("host", host)], "/", local);
        assert_eq!(refusal.is_none(), fine, "{refusal:?}");
    }

    #[rstest]
    #[case(&[("origin", "http://localhost:8054")], true)]
    #[case(&[("origin", "https://localhost:8054")], true)]
    #[case(&[("sec-fetch-site", "same-origin")], true)]
    #[case(&[("sec-fetch-site", "none")], true)]
    #[case(&[("origin", "http://localhost:3000")], false)]
    #[case(&[("origin", "http://evil.example")], false)]
    #[case(&[("origin", "null")], false)]
    #[case(&[("origin", "")], false)]
    #[case(&[("origin", "http://localhost:8054"), ("origin", "http://evil.example")], false)]
    #[case(&[("sec-fetch-site", "cross-site")], false)]
    #[case(&[("sec-fetch-site", "same-site")], false)]
    fn a_page_of_another_origin_is_refused(#[case] headers: &[(&'static str, &str)], #[case] fine: bool) {
        let headers: Vec<_> = headers.iter().copied().chain([("host", "localhost:8054")]).collect();
        assert_eq!(refusal(&headers, "/", "127.0.0.1:8054").is_none(), fine);
    }

    #[test]
    fn one_host_is_required_and_an_absolute_target_counts_too() {
        assert_eq!(refusal(&[], "/", "127.0.0.1:1"), Some(HostRefusal::NoHost));
        let two = [("host", "localhost"), ("host", "localhost")];
        assert_eq!(refusal(&two, "/", "127.0.0.1:1"), Some(HostRefusal::NoHost));
        let absolute = refusal(&[("host", "localhost")], "http://evil.example/", "127.0.0.1:1");
        assert!(matches!(absolute, Some(HostRefusal::Host(..))));
    }
}
