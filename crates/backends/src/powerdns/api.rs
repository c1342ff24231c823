//! The requests themselves: what is sent, and what each status means.

use std::sync::Arc;

use bytes::Bytes;
use dns::{Name, RecordSet};
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, Request, Uri};
use http_body_util::Full;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::configuration::Configuration;
use super::reading::{self, Facts, Listed, Read, ZoneDocument};
use super::{Settings, request};
use crate::Failure;
use crate::transport::guard::Guard;
use crate::transport::http::{Answer, HttpClient};

/// A whole zone may be long: a million record sets are some 220 MB.
const LONGEST_ANSWER: usize = 256 << 20;

const NO_SERVER: &str = "the API has no such server: check url and serverId";

/// The HTTP API of one server.
pub(super) struct Api {
    client: HttpClient,
    base: String,
    key: HeaderValue,
}

/// The version of a server, by its first two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// The 4 of 4.7.3.
    pub major: u16,
    /// The 7 of 4.7.3.
    pub minor: u16,
}

#[derive(Deserialize)]
struct ServerDocument {
    daemon_type: String,
    version: String,
}

impl Api {
    pub(super) fn new(settings: &Settings, client: HttpClient) -> Result<Api, Failure> {
        let url = settings.url.trim_end_matches('/');
        let base = format!("{url}/api/v1/servers/{}", request::escape(&settings.server_id));
        base.parse::<Uri>().map_err(|_| Failure::Unsupported("the URL of the server cannot be read"))?;
        let mut key = HeaderValue::from_str(settings.api_key.expose())
            .map_err(|_| Failure::Unsupported("the API key has characters that no key has"))?;
        key.set_sensitive(true);
        Ok(Api { client: client.reading_at_most(LONGEST_ANSWER), base, key })
    }

    /// Where requests may go.
    pub(super) fn guard(&self) -> Arc<Guard> {
        self.client.guard()
    }

    /// The host of the API, which has been read before.
    pub(super) fn host(&self) -> String {
        self.base.parse::<Uri>().ok().and_then(|uri| uri.host().map(str::to_owned)).unwrap_or_default()
    }

    /// Which version the server has; anything but an authoritative server is not understood.
    pub(super) async fn version(&self) -> Result<Version, Failure> {
        let answer = self.send(Method::GET, "", None).await?;
        if answer.status == 404 {
            return Err(Failure::Unsupported(NO_SERVER));
        }
        let server: ServerDocument = json(&answer)?;
        Version::parse(&server.version)
            .filter(|_| server.daemon_type == "authoritative")
            .ok_or(Failure::Unreadable)
    }

    /// How the server is set up.
    pub(super) async fn configuration(&self) -> Result<Configuration, Failure> {
        json(&self.send(Method::GET, "/config", None).await?)
    }

    /// Every zone that the server has.
    pub(super) async fn zones(&self) -> Result<Vec<Listed>, Failure> {
        json(&self.send(Method::GET, "/zones?dnssec=false", None).await?)
    }

    /// One zone, if the server has it.
    pub(super) async fn find_zone(&self, zone: &Name) -> Result<Option<Listed>, Failure> {
        let path = format!("/zones?dnssec=false&zone={}", request::escape(&zone.to_string()));
        let answer = self.send(Method::GET, &path, None).await?;
        // A name that PowerDNS does not take as a zone's is none that it has.
        if answer.status == 422 {
            return Ok(None);
        }
        json(&answer).map(|found: Vec<Listed>| found.into_iter().next())
    }

    /// Makes a zone; false where there is one.
    pub(super) async fn make_zone(&self, body: String) -> Result<bool, Failure> {
        let answer = self.send(Method::POST, "/zones", Some(body)).await?;
        match answer.status.as_u16() {
            409 => Ok(false),
            404 => Err(Failure::Unsupported(NO_SERVER)),
            _ => succeed(&answer).map(|()| true),
        }
    }

    /// Changes what a zone is like.
    pub(super) async fn set_zone(&self, zone: &Name, body: String) -> Result<(), Failure> {
        succeed(&self.send(Method::PUT, &request::zone_path(zone), Some(body)).await?)
    }

    /// What a zone is like, without its records.
    pub(super) async fn facts(&self, zone: &Name) -> Result<Facts, Failure> {
        let path = format!("{}?rrsets=false", request::zone_path(zone));
        Ok(json::<ZoneDocument>(&self.send(Method::GET, &path, None).await?)?.facts)
    }

    /// A zone with all its records.
    pub(super) async fn zone(&self, zone: &Name) -> Result<(Facts, Read), Failure> {
        self.read(request::zone_path(zone)).await
    }

    /// A zone's records without those that are switched off: for PowerDNS a quarter of the work.
    pub(super) async fn export(&self, zone: &Name) -> Result<Bytes, Failure> {
        let path = format!("{}/export", request::zone_path(zone));
        let answer = self.send(Method::GET, &path, None).await?;
        succeed(&answer).map(|()| answer.body)
    }

    /// What one name of a zone has.
    pub(super) async fn name(&self, zone: &Name, name: &Name) -> Result<Vec<RecordSet>, Failure> {
        let name = request::escape(&name.to_string());
        let path = format!("{}?rrset_name={name}", request::zone_path(zone));
        Ok(self.read(path).await?.1.sets)
    }

    async fn read(&self, path: String) -> Result<(Facts, Read), Failure> {
        let document: ZoneDocument = json(&self.send(Method::GET, &path, None).await?)?;
        Ok((document.facts, reading::read(document.rrsets)))
    }

    /// Changes record sets, all or none; the zone's serial afterwards, if the server tells.
    pub(super) async fn patch(&self, zone: &Name, body: String) -> Result<Option<u32>, Failure> {
        let answer = self.send(Method::PATCH, &request::zone_path(zone), Some(body)).await?;
        succeed(&answer)?;
        let serial = answer.headers.get("X-PDNS-New-Serial");
        Ok(serial.and_then(|serial| serial.to_str().ok()?.parse().ok()))
    }

    /// Has the server put its names in order, for DNSSEC and for names that only have names below them.
    pub(super) async fn rectify(&self, zone: &Name) -> Result<(), Failure> {
        succeed(&self.send(Method::PUT, &format!("{}/rectify", request::zone_path(zone)), None).await?)
    }

    /// Has the server tell its secondaries; one that knows of none is content.
    pub(super) async fn notify(&self, zone: &Name) -> Result<(), Failure> {
        let answer = self.send(Method::PUT, &format!("{}/notify", request::zone_path(zone)), None).await?;
        succeed(&answer).or_else(|failure| match failure {
            Failure::Refused(_) => Ok(()),
            failure => Err(failure),
        })
    }

    async fn send(&self, method: Method, path: &str, body: Option<String>) -> Result<Answer, Failure> {
        let request = Request::builder()
            .method(method)
            .uri(format!("{}{path}", self.base))
            .header("X-API-Key", self.key.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(body.unwrap_or_default())))
            .map_err(|_| Failure::Unsupported("the URL of the server cannot be read"))?;
        self.client.send(request).await
    }
}

impl Version {
    fn parse(text: &str) -> Option<Version> {
        let mut numbers = text.split(['.', '-']).map(str::parse);
        Some(Version { major: numbers.next()?.ok()?, minor: numbers.next()?.ok()? })
    }
}

/// Nothing but success is a success.
fn succeed(answer: &Answer) -> Result<(), Failure> {
    match answer.status.as_u16() {
        200..=299 => Ok(()),
        404 => Err(Failure::NoZone),
        // 4.7 answers 400 to a body that is too long, so both are tried again in halves.
        400 | 422 => Err(Failure::Refused("INVALID_RECORD")),
        _ => Err(answer.failure()),
    }
}

fn json<T: DeserializeOwned>(answer: &Answer) -> Result<T, Failure> {
    succeed(answer)?;
    let parsed = serde_json::from_slice(&answer.body);
    parsed
        .or_else(|_| serde_json::from_str(&request::readable(&answer.body)))
        .map_err(|_| Failure::Unreadable)
}
