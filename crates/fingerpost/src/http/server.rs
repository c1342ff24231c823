//! The HTTP server behind every listener of ours: bounded in connections, octets and time.
//!
//! ```text
//! accept ─► connection table ─► TLS handshake ─► headers ─► router ─► response ─► idle ─┐
//!             │ full: evict or refuse     every step has a limit     ▲                │
//!             └─ one client has a share                              └── keep-alive ◄─┘
//! ```
//!
//! A client that sends nothing, sends slowly or does not read costs one place in the table and the buffers of
//! one connection, and loses the place to the next client when the table is full.

pub mod bodies;
pub mod connections;
pub mod limits;
#[cfg(test)]
mod tests;
pub mod tls;
mod watched;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};
use tower::ServiceExt;

use self::connections::{Place, Table};
pub use self::limits::Limits;
pub use self::tls::{Tls, TlsFiles};
use self::watched::{Watched, WatchedBody};

/// How long requests in progress have when the server stops.
const LAST_MOMENT: Duration = Duration::from_secs(1);
/// How long the server waits after the system refused a connection, such as for lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// Connections that wait to be accepted.
const BACKLOG: u32 = 1024;
/// The kernel's buffers of one connection and direction, so that no connection costs megabytes of them.
const SOCKET_BUFFER: u32 = 128 << 10;

/// The local address of the connection that a request came by.
#[derive(Clone, Copy, Debug)]
pub struct LocalAddress(pub SocketAddr);

/// Opens a listening socket that answers nothing yet.
pub async fn bind(address: SocketAddr, flag: &str) -> Result<TcpListener> {
    open(address)
        .with_context(|| format!("cannot serve HTTP on {address} (choose another address with {flag})"))
}

fn open(address: SocketAddr) -> std::io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    socket.set_reuseaddr(true)?;
    socket.set_send_buffer_size(SOCKET_BUFFER)?;
    socket.set_recv_buffer_size(SOCKET_BUFFER)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// A running HTTP server.
#[derive(Debug)]
pub struct Serving {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
    follower: Option<JoinHandle<()>>,
}

/// Serves a router in plain HTTP until it is stopped.
pub fn serve(listener: TcpListener, router: Router, limits: Limits) -> Serving {
    serve_with(listener, None, router, limits)
}

/// Serves a router, over TLS where that is configured, until it is stopped.
pub fn serve_with(listener: TcpListener, tls: Option<Tls>, router: Router, limits: Limits) -> Serving {
    let (stop, stopped) = watch::channel(false);
    let follower = tls.as_ref().and_then(Tls::follow);
    let server = Server { tls, router, limits, table: Table::new(limits) };
    let task = tokio::spawn(accept(listener, Arc::new(server), stopped));
    Serving { stop, task, follower }
}

impl Serving {
    /// Accepts no more requests; those in progress have a moment to end.
    pub async fn stop(self) {
        // The receiver is gone only when the task has ended already.
        let _ = self.stop.send(true);
        let _ = tokio::time::timeout(2 * LAST_MOMENT, self.task).await;
        if let Some(follower) = self.follower {
            follower.abort();
        }
    }
}

struct Server {
    tls: Option<Tls>,
    router: Router,
    limits: Limits,
    table: Arc<Table>,
}

async fn accept(listener: TcpListener, server: Arc<Server>, stopped: watch::Receiver<bool>) {
    let (mut connections, mut stopping) = (JoinSet::new(), stopped.clone());
    loop {
        tokio::select! {
            _ = stopping.changed() => break,
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    if let Some(place) = server.table.enter(peer.ip()) {
                        connections.spawn(connection(server.clone(), stream, peer, place, stopped.clone()));
                    }
                    // What was evicted ends at once, so that no more connections are open than the limit.
                    while connections.len() > server.limits.connections {
                        connections.join_next().await;
                    }
                }
                Err(error) => {
                    tracing::debug!("no connection could be accepted: {error}");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    let ended = async { while connections.join_next().await.is_some() {} };
    // Connections that last longer are aborted with the set.
    let _ = tokio::time::timeout(LAST_MOMENT, ended).await;
}

/// Serves one connection until it ends, is evicted or exceeds a limit.
async fn connection(
    server: Arc<Server>,
    stream: TcpStream,
    peer: SocketAddr,
    place: Place,
    stopped: watch::Receiver<bool>,
) {
    let Ok(local) = stream.local_addr() else { return };
    // Small answers go out at once; where the system refuses that, they go out a moment later.
    let _ = stream.set_nodelay(true);
    let ends = Ends { peer, local };
    let served = async {
        let stream = Watched::new(stream, place.connection());
        match &server.tls {
            None => exchange(&server, stream, ends, &place, stopped).await,
            Some(tls) => {
                let handshake = tokio::time::timeout(server.limits.header_time, tls.accept(stream)).await;
                if let Ok(Ok(stream)) = handshake {
                    exchange(&server, stream, ends, &place, stopped).await;
                }
            }
        }
    };
    let connection = place.connection();
    tokio::select! {
        () = served => {}
        () = connection.cut(server.limits) => {}
    }
}

#[derive(Clone, Copy)]
struct Ends {
    peer: SocketAddr,
    local: SocketAddr,
}

async fn exchange(
    server: &Server,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    ends: Ends,
    place: &Place,
    mut stopped: watch::Receiver<bool>,
) {
    let limits = server.limits;
    let service = hyper::service::service_fn(|request: Request<Incoming>| {
        let (router, connection) = (server.router.clone(), place.connection());
        async move {
            connection.set_working();
            let mut request = request.map(Body::new);
            let extensions = request.extensions_mut();
            extensions.insert(ConnectInfo(ends.peer));
            extensions.insert(LocalAddress(ends.local));
            extensions.insert(connection.clone());
            // A router cannot fail.
            let response: Response<Body> = router.oneshot(request).await.unwrap_or_else(never);
            Ok::<_, Infallible>(response.map(|body| WatchedBody::new(body, connection)))
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(limits.header_time);
    builder.max_headers(limits.headers).max_header_size(limits.header_octets).max_buf_size(limits.buffer);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let mut stopping = false;
    loop {
        tokio::select! {
            _ = connection.as_mut() => return,
            _ = stopped.changed(), if !stopping => {
                stopping = true;
                connection.as_mut().graceful_shutdown();
            }
        }
    }
}

fn never<T>(never: Infallible) -> T {
    match never {}
}
