//! What a request of either protocol must pass before its body is read, and how its body is read.
//!
//! ```text
//! request ─► rate limit ─► Host and Origin ─► media type ─► body: bounded in size, in time and in all
//! ```

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::body::HttpBody;
use axum::extract::ConnectInfo;
use http::header::CONTENT_TYPE;
use http::request::Parts;

use super::limits::Limits;
use crate::http::hosts::{Hosts, check_origin};
use crate::http::server::LocalAddress;
use crate::http::server::bodies::{Bodies, BodyError, Held, announced};
use crate::http::server::connections::Connection;

/// The flag that adds a name to those by which the server may be reached.
const FLAG: &str = "--allowed-host";

/// What requests must pass.
pub struct Entrance {
    limits: Limits,
    /// The names of this server, where a request must use one.
    hosts: Option<Hosts>,
    bodies: Bodies,
    /// The media type of every body, in lower case and without parameters.
    media_type: &'static str,
}

/// Why a request does not pass.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The client makes too many requests; it may make one after so long.
    #[error("too many requests from this address")]
    Limited(Duration),
    /// It is meant for another server, or a web page sends it.
    #[error("{0}")]
    Forbidden(String),
    /// Its body is announced as something else.
    #[error("the Content-Type must be {0}")]
    MediaType(&'static str),
    /// Its body cannot be read.
    #[error("{0}")]
    Body(#[from] BodyError),
}

impl Entrance {
    /// An entrance for bodies of one media type. Without hosts, any Host passes.
    pub fn new(limits: Limits, hosts: Option<Hosts>, bodies: Bodies, media_type: &'static str) -> Entrance {
        Entrance { limits, hosts, bodies, media_type }
    }

    /// Whether a request passes before its body is read.
    ///
    /// A request without a body has no media type to check: the router refuses a method that a path does not have.
    pub fn check(&self, parts: &Parts, body: &Body) -> Result<(), Refused> {
        self.limits.check(client(parts)).map_err(Refused::Limited)?;
        let local = parts.extensions.get::<LocalAddress>().map(|local| local.0);
        let hosts = self.hosts.as_ref();
        let checked = hosts.map_or_else(
            || check_origin(&parts.headers),
            |hosts| hosts.check(&parts.headers, &parts.uri, local, FLAG),
        );
        checked.map_err(|refusal| Refused::Forbidden(refusal.to_string()))?;
        match !body.is_end_stream() && !self.is_of_media_type(parts) {
            true => Err(Refused::MediaType(self.media_type)),
            false => Ok(()),
        }
    }

    /// Reads the body of a request that passed.
    pub async fn read(&self, parts: &Parts, body: Body, most: usize) -> Result<Held, Refused> {
        let connection = parts.extensions.get::<Arc<Connection>>().map(|connection| &**connection);
        Ok(self.bodies.read(body, announced(&parts.headers), most, connection).await?)
    }

    fn is_of_media_type(&self, parts: &Parts) -> bool {
        let mut values = parts.headers.get_all(CONTENT_TYPE).iter();
        let value = values.next().and_then(|value| value.to_str().ok()).unwrap_or_default();
        let essence = value.split(';').next().unwrap_or_default().trim();
        values.next().is_none() && essence.eq_ignore_ascii_case(self.media_type)
    }
}

fn client(parts: &Parts) -> IpAddr {
    let peer = parts.extensions.get::<ConnectInfo<SocketAddr>>();
    peer.map_or(IpAddr::from([127, 0, 0, 1]), |peer| peer.0.ip())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use http::Request;
    use rstest::rstest;

    use super::*;

    const MEDIA_TYPE: &str = "application/external.dns.webhook+json";

    fn refused(method: &str, headers: &[(&str, &str)], body: &'static str) -> Option<Refused> {
        let hosts = Some(Hosts::new(&["provider.example.org".to_owned()]));
        let entrance = Entrance::new(Limits::new(None), hosts, Bodies::new(1 << 20), MEDIA_TYPE);
        let request = Request::builder().method(method).uri("/records");
        let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let (parts, body) = request.body(Body::from(body)).unwrap().into_parts();
        entrance.check(&parts, &body).err()
    }

    #[rstest]
    #[case("POST", Some("application/external.dns.webhook+json;version=1"), true)]
    #[case("POST", Some("Application/External.dns.webhook+json ; version=1"), true)]
    #[case("POST", Some("application/json"), false)]
    #[case("POST", Some("text/plain"), false)]
    #[case("POST", Some("text/plain;application/external.dns.webhook+json"), false)]
    #[case("POST", None, false)]
    #[case("PUT", Some("text/plain"), false)]
    #[case("DELETE", Some("text/plain"), false)]
    fn a_body_has_the_media_type_of_the_protocol(
        #[case] method: &str,
        #[case] media_type: Option<&str>,
        #[case] fine: bool,
    ) {
        let media_type = media_type.map(|value| ("content-type", value));
        let headers: Vec<_> = media_type.into_iter().chain([("host", "localhost:8888")]).collect();
        let refused = refused(method, &headers, "{}");
        assert_eq!(refused, (!fine).then_some(Refused::MediaType(MEDIA_TYPE)));
    }

    #[rstest]
    fn a_request_without_a_body_has_no_media_type_to_check(
        #[values("GET", "POST", "PUT", "DELETE", "TRACE")] method: &str,
    ) {
        assert_eq!(refused(method, &[("host", "localhost:8888")], ""), None);
    }

    #[rstest]
    #[case(&[("host", "provider.example.org")], true)]
    #[case(&[("host", "127.0.0.1:8888")], true)]
    #[case(&[("host", "rebound.example.net:8888")], false)]
    #[case(&[("host", "localhost:8888"), ("origin", "http://evil.example")], false)]
    #[case(&[("host", "localhost:8888"), ("sec-fetch-site", "cross-site")], false)]
    fn no_web_page_passes(#[case] headers: &[(&str, &str)], #[case] fine: bool) {
        for method in ["GET", "DELETE"] {
            assert_eq!(refused(method, headers, "").is_none(), fine);
        }
    }
}
