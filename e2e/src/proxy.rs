//! A reverse proxy in front of the API server that misbehaves call by call, as a test says.
//!
//! ```text
//! fingerpost ──https──► proxy ──https──► kube-apiserver
//!                        │ rules: which call, which fault
//!                        └ log: every call, every write with its body and the answer's code
//! ```
//!
//! It has the API server's own certificate and address, at another port. The caller's token is passed on,
//! so roles are judged by the API server as ever. Bodies stream both ways; without a rule the proxy changes
//! nothing.

mod answer;
mod call;
mod fault;
mod relay;

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::https::{self, HttpsClient, runtime};
use crate::{Api, Cluster, wait_for};

pub use call::Call;
pub use fault::{Fault, Hook, Rule};

/// A running proxy; it goes with its value.
pub struct Proxy {
    address: SocketAddr,
    state: Arc<State>,
    listening: JoinHandle<()>,
}

/// What every call sees.
struct State {
    client: HttpsClient,
    acceptor: TlsAcceptor,
    upstream: String,
    script: Mutex<Script>,
    // How often all connections have been cut; whoever streams looks at it.
    cuts: watch::Sender<usize>,
}

/// The rules and what has happened so far.
#[derive(Default)]
struct Script {
    rules: Vec<Rule>,
    calls: Vec<Call>,
    last_write: Option<Instant>,
    last_call: Option<Instant>,
}

impl Proxy {
    /// Starts a proxy in front of a cluster's API server.
    pub fn start(cluster: &Cluster) -> Result<Proxy> {
        let runtime = runtime()?;
        let listener = runtime.block_on(TcpListener::bind((cluster.address(), 0)));
        let listener = listener.context("the proxy cannot listen")?;
        let address = listener.local_addr()?;
        let (client, upstream) = (cluster.client(), cluster.url());
        let folder = cluster.folder();
        let acceptor = https::acceptor(&folder.join("server.crt"), &folder.join("server.key"))?;
        let (script, cuts) = (Mutex::default(), watch::Sender::new(0));
        let state = Arc::new(State { client, acceptor, upstream, script, cuts });
        let listening = runtime.spawn(listen(listener, state.clone()));
        Ok(Proxy { address, state, listening })
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// A client of one of the users that goes through it.
    pub fn api_as(&self, user: &str) -> Api {
        Api::new(self.state.client.clone(), self.url(), user)
    }

    /// Adds a rule; the first rule that fits a call decides it.
    pub fn add(&self, rule: Rule) {
        self.state.script().rules.push(rule);
    }

    /// Forgets all rules; calls that hang go on hanging until they are cut.
    pub fn clear(&self) {
        self.state.script().rules.clear();
    }

    /// Cuts every connection that is open now, watches included.
    pub fn cut(&self) {
        self.state.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Every call that came so far, in order of arrival.
    pub fn calls(&self) -> Vec<Call> {
        self.state.script().calls.clone()
    }

    /// Every write that came so far: each change but those of leases, events and access reviews.
    pub fn writes(&self) -> Vec<Call> {
        self.state.script().calls.iter().filter(|call| call.is_write()).cloned().collect()
    }

    /// Forgets the calls so far, so that the next is the first.
    pub fn forget(&self) {
        self.state.script().calls.clear();
    }

    /// Waits until no write has come for a while.
    pub fn wait_for_quiet(&self, quiet: Duration) -> Result<()> {
        self.wait_since(quiet, |script| script.last_write)
    }

    /// Waits until no call of any sort has come for a while.
    pub fn wait_for_calm(&self, calm: Duration) -> Result<()> {
        self.wait_since(calm, |script| script.last_call)
    }

    fn wait_since(&self, time: Duration, last: impl Fn(&Script) -> Option<Instant>) -> Result<()> {
        let start = Instant::now();
        wait_for("quiet", || {
            let since = last(&self.state.script()).unwrap_or(start).max(start);
            Ok((since.elapsed() >= time).then_some(()))
        })
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.listening.abort();
        self.cut();
    }
}

impl State {
    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes a call down and finds out what is to become of it.
    fn arrived(&self, mut call: Call) -> (Call, Option<Fault>) {
        let mut script = self.script();
        call.number = script.calls.len();
        script.last_call = Some(Instant::now());
        if call.is_write() {
            script.last_write = script.last_call;
        }
        script.calls.push(call.clone());
        let fault = script.rules.iter_mut().find_map(|rule| rule.fault_for(&call));
        (call, fault)
    }

    /// Writes down what was answered; the log may have been cleared meanwhile.
    fn answered(&self, call: &Call, code: u16) {
        if let Some(logged) = self.script().calls.get_mut(call.number) {
            logged.code = Some(code);
        }
    }
}

async fn listen(listener: TcpListener, state: Arc<State>) {
    while let Ok((stream, _)) = listener.accept().await {
        tokio::spawn(serve(stream, state.clone()));
    }
}

/// Serves one connection until it ends or all are cut.
async fn serve(stream: TcpStream, state: Arc<State>) {
    let mut cuts = state.cuts.subscribe();
    let service = service_fn(|request| answer::answer(state.clone(), request));
    // A fault ends in an error here; the client is the one to be told, by the broken connection.
    let connection = async {
        let stream = state.acceptor.accept(stream).await.ok()?;
        http1::Builder::new().serve_connection(TokioIo::new(stream), service).await.ok()
    };
    tokio::select! {
        _ = connection => {}
        _ = cuts.changed() => {}
    }
}
