//! The TCP side of an address: messages behind their lengths, many to a connection (RFC 7766).

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::{Limits, Service, ended, seconds};
use crate::transfer::{Attended, Stream};
use crate::{Rcode, Reply, Transport};

/// Long enough that running out of descriptors does not eat a core.
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(20);

/// What a message of a transfer says about itself.
const SENT: Reply = Reply::plain(Rcode::NoError);

/// Takes connections until `stopped`, then lets them finish what they are at.
pub(super) async fn serve(
    listener: TcpListener,
    service: Service,
    limits: Limits,
    mut stopped: watch::Receiver<()>,
) {
    let mut hall = Hall {
        room: Arc::new(Semaphore::new(limits.connections)),
        service,
        limits,
        stopped: stopped.clone(),
        connections: JoinSet::new(),
    };
    loop {
        let accepted = tokio::select! {
            biased;
            () = ended(&mut stopped) => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, client)) => hall.admit(stream, client),
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
    room: Arc<Semaphore>,
    service: Service,
    limits: Limits,
    stopped: watch::Receiver<()>,
    connections: JoinSet<()>,
}

impl Hall {
    /// Serves a connection, or closes it at once where there is no room: the client can then go
    /// to another server rather than wait in a queue.
    fn admit(&mut self, stream: TcpStream, client: SocketAddr) {
        while self.connections.try_join_next().is_some() {}
        let Ok(place) = Arc::clone(&self.room).try_acquire_owned() else {
            self.service.counters.refused_connection();
            return;
        };
        let (service, limits, stopped) = (self.service.clone(), self.limits, self.stopped.clone());
        self.connections.spawn(async move {
            let _place = place;
            if let Err(error) = converse(stream, client.ip(), service, limits, stopped).await {
                tracing::debug!(%client, %error, "connection ended");
            }
        });
    }
}

/// Answers one query after the other until the client leaves, idles or the server stops.
async fn converse(
    stream: TcpStream,
    client: IpAddr,
    service: Service,
    limits: Limits,
    mut stopped: watch::Receiver<()>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut stream = BufReader::new(stream);
    let (mut query, mut response, mut framed) = (Vec::new(), Vec::new(), Vec::new());
    loop {
        let read = tokio::select! {
            biased;
            () = ended(&mut stopped) => return Ok(()),
            read = timeout(limits.idle, read(&mut stream, &mut query)) => read,
        };
        match read {
            Ok(Ok(true)) => {}
            Ok(Ok(false)) | Err(_) => return Ok(()),
            Ok(Err(error)) => return Err(error),
        }
        let (mut transfer, mut reply) = match service.attend(&query, client, Transport::Tcp, &mut response) {
            Attended::Plain | Attended::Silent => continue,
            Attended::Replied(reply) => (None, Some(reply)),
            Attended::Streaming(transfer) => (Some(transfer), None),
        };
        while reply.is_some() || more(&mut transfer, &mut response)? {
            frame(&response, &mut framed);
            timeout(limits.slow_reader, stream.write_all(&framed)).await??;
            service.counters.sent(reply.take().unwrap_or(SENT));
        }
    }
}

/// Writes the next message of a transfer; false when there is none.
fn more(transfer: &mut Option<Stream>, response: &mut Vec<u8>) -> io::Result<bool> {
    let Some(transfer) = transfer else { return Ok(false) };
    // A transfer that breaks off has told nothing: the client begins again.
    transfer.next(u64::from(seconds()), response).map_err(io::Error::other)
}

/// Reads the next message; false when the client has closed its side.
async fn read(stream: &mut BufReader<TcpStream>, query: &mut Vec<u8>) -> io::Result<bool> {
    let length = match stream.read_u16().await {
        Ok(length) => usize::from(length),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
        Err(error) => return Err(error),
    };
    query.resize(length, 0);
    stream.read_exact(query).await?;
    Ok(true)
}

/// Puts the length before the message, so that both leave in one segment (RFC 7766 section 8).
fn frame(message: &[u8], framed: &mut Vec<u8>) {
    framed.clear();
    framed.extend_from_slice(&(message.len() as u16).to_be_bytes());
    framed.extend_from_slice(message);
}
