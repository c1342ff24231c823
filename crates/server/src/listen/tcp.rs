//! The TCP side of an address: taking connections, plain or for TLS, and letting them go.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use socket2::SockRef;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

use super::conversation::Conversation;
use super::seats::Seats;
use super::{Limits, Service, ended, tls};
use crate::Transport;

/// Long enough that running out of descriptors does not eat a core.
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(20);
/// How many octets the kernel takes ahead of what it can send to a client: some messages of a transfer.
const UNSENT: u32 = 128 << 10;

/// Takes connections until `stopped`, then lets them finish what they are at.
pub(super) async fn serve(
    listener: TcpListener,
    service: Service,
    limits: Limits,
    tls: Option<TlsAcceptor>,
    mut stopped: watch::Receiver<()>,
) {
    let seats = Seats::new(limits);
    let mut hall =
        Hall { seats, service, limits, tls, stopped: stopped.clone(), connections: JoinSet::new() };
    loop {
        let accepted = tokio::select! {
            biased;
            () = ended(&mut stopped) => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, client)) => {
                hall.admit(stream, client);
                hall.see_off().await;
            }
            Err(error) => {
                tracing::debug!(%error, "accepting failed");
                tokio::time::sleep(PAUSE_AFTER_ERROR).await;
            }
        }
    }
    drop(listener);
    // Whoever is not done by then is cut off when the set is dropped.
    let _ = timeout(limits.farewell, async { while hall.connections.join_next().await.is_some() {} }).await;
}

/// The open connections and what each of them needs.
struct Hall {
    seats: Seats,
    service: Service,
    limits: Limits,
    tls: Option<TlsAcceptor>,
    stopped: watch::Receiver<()>,
    connections: JoinSet<()>,
}

impl Hall {
    /// Serves a connection, or closes it at once where there is no place: the client can then go
    /// to another server rather than wait in a queue.
    fn admit(&mut self, stream: TcpStream, client: SocketAddr) {
        while self.connections.try_join_next().is_some() {}
        let Some((seat, evicted)) = self.seats.take(client.ip()) else {
            self.service.counters.refused_connection();
            return;
        };
        if let Some(eviction) = evicted {
            self.service.counters.evicted_connection(eviction);
        }
        let conversation = Conversation {
            service: self.service.clone(),
            limits: self.limits,
            client: client.ip(),
            transport: if self.tls.is_some() { Transport::Tls } else { Transport::Tcp },
            seat: Arc::new(seat),
            stopped: self.stopped.clone(),
            transfers: JoinSet::new(),
        };
        let tls = self.tls.clone();
        let open = self.service.counters.open_connection();
        self.connections.spawn(async move {
            let _open = open;
            if let Err(error) = converse(stream, tls, conversation).await {
                tracing::debug!(%client, %error, "connection ended");
            }
        });
    }

    /// Waits until those have gone whose places were given to others, which they do at once: so no
    /// more connections are open than there are places, and one.
    async fn see_off(&mut self) {
        while self.connections.len() > self.limits.connections {
            self.connections.join_next().await;
        }
    }
}

async fn converse(stream: TcpStream, tls: Option<TlsAcceptor>, conversation: Conversation) -> io::Result<()> {
    stream.set_nodelay(true)?;
    bound_memory(&stream, conversation.limits.slow_reader);
    match tls {
        None => conversation.hold(stream).await,
        Some(acceptor) => match tls::greet(&acceptor, stream, &conversation).await? {
            Some(stream) => conversation.hold(stream).await,
            None => Ok(()),
        },
    }
}

/// Bounds what the kernel holds for a client that does not read: how much, also while the connection is open,
/// and for how long, also after it was closed. Without it the kernel buffers megabytes and keeps them for minutes.
fn bound_memory(stream: &TcpStream, slow_reader: Duration) {
    let socket = SockRef::from(stream);
    // Both are a wish: a kernel that has neither serves all the same.
    let _ = socket.set_tcp_notsent_lowat(UNSENT);
    let _ = socket.set_tcp_user_timeout(Some(slow_reader));
}
