//! DNS over TLS (RFC 7858): an address of its own, the same answers.
//!
//! Certificates come from whoever makes the `rustls::ServerConfig`; one with a resolver that
//! changes its mind serves new certificates without a restart.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::conversation::Conversation;
use super::{ListenError, Options, ServeHandle, Service, tcp, tcp_socket};
use crate::{EndpointId, Transport, Views};

/// The name of the protocol within TLS.
pub const ALPN: &[u8] = b"dot";

/// An address that is bound for DNS over TLS and does not answer yet.
#[derive(Debug)]
pub struct BoundTls {
    tcp: TcpListener,
    address: SocketAddr,
}

impl BoundTls {
    /// The address with the port that was chosen.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }
}

/// Binds an address for DNS over TLS; port 0 chooses one that is free.
pub async fn bind_tls(address: SocketAddr) -> Result<BoundTls, ListenError> {
    let failed = |source| ListenError::new(Transport::Tls, address, source);
    let tcp = tcp_socket(address).map_err(failed)?;
    let address = tcp.local_addr().map_err(failed)?;
    Ok(BoundTls { tcp, address })
}

/// Answers over TLS until the handle is stopped or dropped. Needs a Tokio runtime.
pub fn serve_tls(
    options: &Options,
    tls: Arc<rustls::ServerConfig>,
    bound: BoundTls,
    endpoint: EndpointId,
    views: Views,
) -> ServeHandle {
    let (stop, stopped) = watch::channel(());
    let service = Service::new(endpoint, views, options);
    let counters = Arc::clone(&service.counters);
    let task = tcp::serve(bound.tcp, service, options.limits, Some(TlsAcceptor::from(tls)), stopped);
    ServeHandle { address: bound.address, counters, stop, tasks: vec![tokio::spawn(task)] }
}

/// Shakes hands within the idle time; none where the place is needed for another meanwhile.
pub(super) async fn greet(
    acceptor: &TlsAcceptor,
    stream: TcpStream,
    conversation: &Conversation,
) -> io::Result<Option<TlsStream<TcpStream>>> {
    tokio::select! {
        biased;
        () = conversation.seat.needed() => Ok(None),
        greeted = timeout(conversation.limits.idle, acceptor.accept(stream)) => Ok(Some(greeted??)),
    }
}
