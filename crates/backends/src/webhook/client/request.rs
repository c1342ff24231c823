//! Requests as they leave: path, headers, trace context and signature.

use api::dnsclass::SecretText;
use bytes::Bytes;
use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, USER_AGENT};
use http::{HeaderValue, Method, Request, Uri};
use http_body_util::Full;
use jiff::Timestamp;
use ring::rand::{SecureRandom, SystemRandom};

use super::super::protocol::{GENERATION, NONCE, OWNER, SIGNATURE, TIMESTAMP};
use super::super::verification::Fence;
use super::super::{Keys, hex, nonce, signature};
use crate::Failure;
use crate::transport::http::bearer;

const AGENT: &str = concat!("fingerpost/", env!("CARGO_PKG_VERSION"));

/// Where requests go, and how they prove who sends them.
pub(super) struct Target {
    /// Scheme and authority.
    server: String,
    authority: String,
    /// The base path, without a final slash.
    base: String,
    keys: Option<Keys>,
    bearer: Option<HeaderValue>,
}

/// The trace that requests belong to (W3C Trace Context).
#[derive(Clone, Copy, Debug)]
pub(super) struct Trace([u8; 16]);

impl Trace {
    /// A new one.
    pub(super) fn new() -> Result<Trace, Failure> {
        random().map(Trace)
    }

    /// The header of a request in it, with a span of its own.
    fn header(self) -> Result<String, Failure> {
        let span: [u8; 8] = random()?;
        Ok(format!("00-{}-{}-01", hex(&self.0), hex(&span)))
    }
}

impl Target {
    pub(super) fn new(
        server: &str,
        keys: Option<Keys>,
        token: Option<&SecretText>,
    ) -> Result<Target, Failure> {
        let wrong = || Failure::Unsupported("the server's URL cannot be used: write it as http://host:port");
        let uri: Uri = server.parse().map_err(|_| wrong())?;
        let scheme =
            uri.scheme_str().filter(|scheme| matches!(*scheme, "http" | "https")).ok_or_else(wrong)?;
        let authority = uri.authority().map(|authority| authority.as_str()).ok_or_else(wrong)?;
        if uri.query().is_some() || authority.contains('@') {
            return Err(wrong());
        }
        if keys.as_ref().is_some_and(|keys| keys.all().any(<[u8]>::is_empty)) {
            return Err(Failure::Unsupported("the shared secret is empty"));
        }
        Ok(Target {
            server: format!("{scheme}://{authority}"),
            authority: authority.to_owned(),
            base: uri.path().trim_end_matches('/').to_owned(),
            keys,
            bearer: token.map(|token| bearer(token.expose())).transpose()?,
        })
    }

    /// A request to a path of the protocol.
    pub(super) fn request(
        &self,
        method: &Method,
        path: &str,
        body: Bytes,
        fence: Option<&Fence>,
        trace: Trace,
    ) -> Result<Request<Full<Bytes>>, Failure> {
        let path = format!("{}{path}", self.base);
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.server));
        request = request.header(USER_AGENT, AGENT).header(ACCEPT, "application/json");
        request = request.header("traceparent", trace.header()?);
        if !body.is_empty() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        if let Some(bearer) = &self.bearer {
            request = request.header(AUTHORIZATION, bearer);
        }
        if let Some(fence) = fence {
            request = request.header(OWNER, &fence.owner).header(GENERATION, fence.generation);
        }
        if let Some(keys) = &self.keys {
            for (name, value) in self.proof(keys, method.as_str(), &path, &body, fence)? {
                request = request.header(name, value);
            }
        }
        request.body(Full::new(body)).map_err(|_| Failure::Unsupported("the request cannot be written"))
    }

    /// The headers that prove who sends a request.
    fn proof(
        &self,
        keys: &Keys,
        method: &str,
        path: &str,
        body: &[u8],
        fence: Option<&Fence>,
    ) -> Result<[(&'static str, String); 3], Failure> {
        let timestamp = Timestamp::from_second(Timestamp::now().as_second()).unwrap_or_default().to_string();
        let nonce = nonce::make(random()?, &self.authority, fence);
        let signature =
            signature::sign(keys, &signature::signed_string(method, path, &timestamp, &nonce, body));
        Ok([(TIMESTAMP, timestamp), (NONCE, nonce), (SIGNATURE, signature)])
    }
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Target")
            .field("server", &self.server)
            .field("base", &self.base)
            .finish_non_exhaustive()
    }
}

fn random<const N: usize>() -> Result<[u8; N], Failure> {
    let mut octets = [0; N];
    let filled = SystemRandom::new().fill(&mut octets);
    filled.map(|()| octets).map_err(|_| Failure::Unsupported("this system has no randomness to give"))
}
