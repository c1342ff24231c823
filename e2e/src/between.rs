//! A plain HTTP proxy in front of a provider that misbehaves as a test says.
//!
//! ```text
//! fingerpost ──http──► between ──http──► PowerDNS, a webhook provider, …
//! ```
//!
//! Real servers hang, trickle and answer rubbish too rarely to wait for it. Without a misdeed the proxy
//! changes nothing and writes down every call.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use bytes::Bytes;
use futures::stream::{self, StreamExt};
use http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::https::runtime;
use crate::own_address;

/// What it does instead of its duty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Misdeed {
    /// Takes the request and never answers.
    Hang,
    /// Answers one octet a second.
    Trickle,
    /// Answers a page for people.
    Html,
    /// Answers with this status and a body that nobody may repeat.
    Status(u16),
    /// Answers 429 and asks to wait for so many seconds.
    Wait(u64),
    /// Promises more than it sends.
    CutShort,
    /// Sends a gibibyte.
    Endless,
    /// Sends the caller to where it must not go.
    Redirect,
    /// Passes the request on and keeps the answer to itself.
    LoseAnswer,
    /// Behaves until the next write, which it passes on and keeps the answer to; from then on it is away.
    LeaveAtWrite,
}

/// What a misbehaving server says; it must not be seen anywhere.
pub const RUBBISH: &str = "<html>confidential rubbish from upstream</html>";

/// A call that came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its method.
    pub method: String,
    /// Its path and query.
    pub path: String,
    /// Its body.
    pub body: String,
}

/// Something to do at a call, before it is passed on (false) or after it was answered (true).
pub type AtCall = Box<dyn FnMut(usize, bool) + Send>;

/// A running proxy; it goes with its value.
pub struct Between {
    address: SocketAddr,
    state: Arc<State>,
    listening: JoinHandle<()>,
}

struct State {
    upstream: Mutex<SocketAddr>,
    client: Client<HttpConnector, Full<Bytes>>,
    misdeed: Mutex<Option<Misdeed>>,
    calls: Mutex<Vec<Seen>>,
    watcher: Mutex<Option<AtCall>>,
}

type Body = BoxBody<Bytes, std::io::Error>;

impl Between {
    /// Starts a proxy in front of a server.
    pub fn start(upstream: SocketAddr) -> Result<Between> {
        let runtime = runtime()?;
        let listener = runtime.block_on(TcpListener::bind((own_address(), 0)));
        let listener = listener.context("the proxy cannot listen")?;
        let address = listener.local_addr()?;
        let state = Arc::new(State {
            upstream: Mutex::new(upstream),
            client: Client::builder(TokioExecutor::new()).build_http(),
            misdeed: Mutex::default(),
            calls: Mutex::default(),
            watcher: Mutex::default(),
        });
        let listening = runtime.spawn(listen(listener, state.clone()));
        Ok(Between { address, state, listening })
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Misbehaves from now on, or behaves.
    pub fn misbehave(&self, misdeed: Option<Misdeed>) {
        *lock(&self.state.misdeed) = misdeed;
    }

    /// Stands before another server from now on.
    pub fn lead_to(&self, upstream: SocketAddr) {
        *lock(&self.state.upstream) = upstream;
    }

    /// Every call that came so far.
    pub fn calls(&self) -> Vec<Seen> {
        lock(&self.state.calls).clone()
    }

    /// Forgets the calls so far.
    pub fn forget(&self) {
        lock(&self.state.calls).clear();
    }

    /// Does something at every call; it is told the call's number.
    pub fn watch(&self, watcher: Option<AtCall>) {
        *lock(&self.state.watcher) = watcher;
    }
}

impl Drop for Between {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn listen(listener: TcpListener, state: Arc<State>) {
    while let Ok((stream, _)) = listener.accept().await {
        let state = state.clone();
        tokio::spawn(async move {
            let service = service_fn(move |request| answer(state.clone(), request));
            // A caller that hangs up is no concern of the proxy.
            let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn answer(state: Arc<State>, request: Request<Incoming>) -> Result<Response<Body>, std::io::Error> {
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map_err(std::io::Error::other)?.to_bytes();
    let number = {
        let mut calls = lock(&state.calls);
        calls.push(Seen {
            method: parts.method.to_string(),
            path: parts.uri.to_string(),
            body: String::from_utf8_lossy(&body).into_owned(),
        });
        calls.len() - 1
    };
    let misdeed = *lock(&state.misdeed);
    match misdeed {
        None => {}
        Some(Misdeed::LoseAnswer) => {
            pass_on(&state, parts, body).await?;
            return Err(std::io::Error::other("lost on purpose"));
        }
        Some(Misdeed::LeaveAtWrite) if parts.method == http::Method::GET => {}
        Some(Misdeed::LeaveAtWrite) => {
            pass_on(&state, parts, body).await?;
            *lock(&state.misdeed) = Some(Misdeed::Status(503));
            return Err(std::io::Error::other("lost on purpose"));
        }
        Some(misdeed) => return misbehave(misdeed).await,
    }
    tell(&state, number, false);
    let answer = pass_on(&state, parts, body).await;
    tell(&state, number, true);
    answer
}

fn tell(state: &State, number: usize, after: bool) {
    if let Some(watcher) = lock(&state.watcher).as_mut() {
        watcher(number, after);
    }
}

async fn pass_on(
    state: &State,
    mut parts: http::request::Parts,
    body: Bytes,
) -> Result<Response<Body>, std::io::Error> {
    let upstream = *lock(&state.upstream);
    let path = parts.uri.path_and_query().map_or("/", http::uri::PathAndQuery::as_str);
    parts.uri = format!("http://{upstream}{path}").parse().map_err(std::io::Error::other)?;
    let request = Request::from_parts(parts, Full::new(body));
    let response = state.client.request(request).await.map_err(std::io::Error::other)?;
    let (parts, body) = response.into_parts();
    let body = body.collect().await.map_err(std::io::Error::other)?.to_bytes();
    Ok(Response::from_parts(parts, whole(body)))
}

fn whole(body: impl Into<Bytes>) -> Body {
    Full::new(body.into()).map_err(|never: Infallible| match never {}).boxed()
}

async fn misbehave(misdeed: Misdeed) -> Result<Response<Body>, std::io::Error> {
    let mut response = Response::new(whole(RUBBISH));
    match misdeed {
        Misdeed::Hang => std::future::pending::<()>().await,
        Misdeed::Trickle => *response.body_mut() = trickle(),
        Misdeed::Html | Misdeed::LoseAnswer | Misdeed::LeaveAtWrite => {}
        Misdeed::Status(status) => {
            *response.status_mut() = StatusCode::from_u16(status).map_err(std::io::Error::other)?;
        }
        Misdeed::Wait(seconds) => {
            *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
            response.headers_mut().insert("retry-after", HeaderValue::from(seconds));
        }
        Misdeed::CutShort => {
            response.headers_mut().insert("content-length", HeaderValue::from(100_000));
            *response.body_mut() = cut_short();
        }
        Misdeed::Endless => *response.body_mut() = endless(),
        Misdeed::Redirect => {
            *response.status_mut() = StatusCode::TEMPORARY_REDIRECT;
            response
                .headers_mut()
                .insert("location", HeaderValue::from_static("http://169.254.169.254/latest"));
        }
    }
    Ok(response)
}

fn trickle() -> Body {
    let octets = stream::unfold(0u32, |count| async move {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Some((Ok(Frame::data(Bytes::from_static(b" "))), count + 1))
    });
    BodyExt::boxed(StreamBody::new(octets))
}

fn cut_short() -> Body {
    let parts =
        [Ok(Frame::data(Bytes::from_static(b"{"))), Err(std::io::Error::other("cut short on purpose"))];
    BodyExt::boxed(StreamBody::new(stream::iter(parts)))
}

fn endless() -> Body {
    let chunk = Bytes::from(vec![b' '; 1 << 20]);
    let chunks = stream::iter(0..1024).map(move |_| Ok(Frame::data(chunk.clone())));
    BodyExt::boxed(StreamBody::new(chunks))
}
