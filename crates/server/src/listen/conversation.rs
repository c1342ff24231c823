//! One connection, plain or encrypted: messages behind their lengths, many of them (RFC 7766).
//!
//! ```text
//!  client ──► read a whole query ──► answer ──► outlet ──► write ──► client
//!                     ▲                           ▲ few places, so a client that does
//!                     └── next ───────────────────┘ not read is not read from either
//! ```
//!
//! Reading and writing go on at the same time, and a response is written when it is there: what
//! takes long holds nobody up. A query that has begun has to arrive whole within the idle time and a
//! response has to be taken within that of slow readers, however the octets trickle; and a connection whose place
//! is needed for another waits for neither. While a write waits for the client to read, the place says so: such
//! connections are the first to be evicted. Memory is what messages under way take: a query is stored as
//! it arrives, not as long as it says to be.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::seats::Seat;
use super::{Limits, Service, ended, seconds};
use crate::transfer::{Attended, Stream};
use crate::{Rcode, Reply, Transport};

/// How many responses may wait to be written.
const WAITING: usize = 2;
/// How many transfers of a connection go on at the same time.
const TRANSFERS: usize = 4;
/// What is read at once; most queries are far shorter.
const READ_BUFFER: usize = 2048;
/// What a buffer may keep for the next query.
const KEPT: usize = 4096;

/// A connection and what serves it.
pub(super) struct Conversation {
    pub(super) service: Service,
    pub(super) limits: Limits,
    pub(super) client: IpAddr,
    pub(super) transport: Transport,
    pub(super) seat: Arc<Seat>,
    pub(super) stopped: watch::Receiver<()>,
    /// What is being sent in many messages.
    pub(super) transfers: JoinSet<io::Result<()>>,
}

/// A response with its length before it, so that both leave in one segment (RFC 7766 section 8).
struct Framed {
    octets: Vec<u8>,
    reply: Reply,
}

impl Conversation {
    /// Answers until the client leaves or idles, its place is needed, or the server stops.
    pub(super) async fn hold<S: AsyncRead + AsyncWrite>(mut self, stream: S) -> io::Result<()> {
        let (read, write) = tokio::io::split(stream);
        let (outlet, responses) = mpsc::channel(WAITING);
        let (service, seat) = (self.service.clone(), Arc::clone(&self.seat));
        let writing = write_all(write, responses, &service, &seat, self.limits.slow_reader);
        tokio::pin!(writing);
        let read = tokio::select! {
            read = self.read_all(BufReader::with_capacity(READ_BUFFER, read), outlet) => read,
            // Whoever cannot be written to is not read from any more.
            written = &mut writing => return written,
            () = seat.needed() => Ok(()),
        };
        read.and(finish(writing, &seat).await)
    }

    async fn read_all<R: AsyncRead + Unpin>(
        &mut self,
        mut stream: BufReader<R>,
        outlet: mpsc::Sender<Framed>,
    ) -> io::Result<()> {
        let mut query = Vec::new();
        while self.begins(&mut stream).await? && self.next(&mut stream, &mut query).await? {
            self.seat.set_busy(true);
            if !self.attend(&query, &outlet).await {
                return Ok(());
            }
            self.seat.set_busy(!self.transfers.is_empty());
            query.clear();
            query.shrink_to(KEPT);
        }
        // What is under way is still sent.
        while self.transfers.join_next().await.is_some() {}
        Ok(())
    }

    /// Waits for the first octet of a query; false when there will be none. Whoever waits for a
    /// transfer does not idle.
    async fn begins<R: AsyncRead + Unpin>(&mut self, stream: &mut BufReader<R>) -> io::Result<bool> {
        loop {
            tokio::select! {
                biased;
                () = ended(&mut self.stopped) => return Ok(false),
                Some(ended) = self.transfers.join_next() => {
                    // A transfer that breaks off ends the connection, so that the client sees it.
                    ended.map_err(io::Error::other)??;
                    self.seat.set_busy(!self.transfers.is_empty());
                }
                filled = timeout(self.limits.idle, stream.fill_buf()) => match filled {
                    Ok(octets) => return Ok(!octets?.is_empty()),
                    Err(_) if self.transfers.is_empty() => return Ok(false),
                    Err(_) => {}
                },
            }
        }
    }

    /// Reads a query that has begun; false when there will be none.
    async fn next<R: AsyncRead + Unpin>(
        &mut self,
        stream: &mut BufReader<R>,
        query: &mut Vec<u8>,
    ) -> io::Result<bool> {
        tokio::select! {
            biased;
            () = ended(&mut self.stopped) => Ok(false),
            read = timeout(self.limits.idle, read(stream, query)) => read.unwrap_or(Ok(false)),
        }
    }

    /// Sends the response, or begins to send it where it is a transfer: its messages keep their
    /// order, and other responses pass between them. False when nobody takes it.
    async fn attend(&mut self, query: &[u8], outlet: &mpsc::Sender<Framed>) -> bool {
        let mut response = Vec::new();
        match self.service.attend(query, self.client, self.transport, &mut response) {
            Attended::Plain | Attended::Silent => true,
            Attended::Replied(reply) => {
                outlet.send(Framed { octets: framed(&response), reply }).await.is_ok()
            }
            Attended::Streaming(transfer) => {
                if self.transfers.len() >= TRANSFERS {
                    let _ = self.transfers.join_next().await;
                }
                self.transfers.spawn(hand_over(transfer, outlet.clone()));
                true
            }
        }
    }
}

/// Sends the messages of a transfer one after the other.
async fn hand_over(mut transfer: Stream, outlet: mpsc::Sender<Framed>) -> io::Result<()> {
    let mut message = Vec::new();
    while transfer.next(u64::from(seconds()), &mut message).map_err(io::Error::other)? {
        let framed = Framed { octets: framed(&message), reply: Reply::plain(Rcode::NoError) };
        if outlet.send(framed).await.is_err() {
            break;
        }
    }
    Ok(())
}

/// Reads a message; false when the client has closed its side.
async fn read<R: AsyncRead + Unpin>(stream: &mut R, query: &mut Vec<u8>) -> io::Result<bool> {
    let length = match stream.read_u16().await {
        Ok(length) => length,
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
        Err(error) => return Err(error),
    };
    let read = stream.take(u64::from(length)).read_to_end(query).await?;
    Ok(read == usize::from(length))
}

/// Writes what is under way to whoever is not read from any more. Who does not take it keeps no other
/// from the place: once that is needed, only what can be sent without waiting is sent.
async fn finish(mut writing: Pin<&mut impl Future<Output = io::Result<()>>>, seat: &Seat) -> io::Result<()> {
    tokio::select! {
        biased;
        written = &mut writing => written,
        () = seat.needed() => timeout(Duration::ZERO, writing).await.unwrap_or(Ok(())),
    }
}

/// Writes responses as they come until there will be no more.
async fn write_all<W: AsyncWrite + Unpin>(
    mut stream: W,
    mut responses: mpsc::Receiver<Framed>,
    service: &Service,
    seat: &Seat,
    slow_reader: Duration,
) -> io::Result<()> {
    while let Some(framed) = responses.recv().await {
        timeout(slow_reader, write(&mut stream, &framed.octets, seat)).await??;
        service.counters.sent(framed.reply);
    }
    // So that the client sees an end and no reset; it need not be there any more.
    let _ = timeout(slow_reader, noted(seat, stream.shutdown())).await;
    Ok(())
}

async fn write<W: AsyncWrite + Unpin>(stream: &mut W, octets: &[u8], seat: &Seat) -> io::Result<()> {
    let mut rest = octets;
    while !rest.is_empty() {
        match noted(seat, stream.write(rest)).await? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            written => rest = rest.get(written..).unwrap_or_default(),
        }
    }
    noted(seat, stream.flush()).await
}

/// Does one step of writing; where it has to wait for the client to read, the place says so meanwhile.
async fn noted<T>(seat: &Seat, step: impl Future<Output = T>) -> T {
    tokio::pin!(step);
    tokio::select! {
        biased;
        done = &mut step => return done,
        () = std::future::ready(()) => {}
    }
    let _unread = seat.unread();
    step.await
}

fn framed(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u16).to_be_bytes(), message].concat()
}
