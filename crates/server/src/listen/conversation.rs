//! One connection, plain or encrypted: messages behind their lengths, many of them (RFC 7766).
//!
//! ```text
//!  client ──► read a whole query ──► answer ──► outlet ──► write ──► client
//!                     ▲                           ▲ few places, so a client that does
//!                     └── next ───────────────────┘ not read is not read from either
//! ```
//!
//! Reading and writing go on at the same time, and a response is written when it is there: what
//! takes long holds nobody up. A query has to arrive whole within the idle time and a response has
//! to be taken within that of slow readers, however the octets trickle. Memory is what messages
//! under way take: a query is stored as it arrives, not as long as it says to be.

use std::io;
use std::net::IpAddr;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use super::seats::Seat;
use super::{Limits, Service, ended};
use crate::{Reply, Transport};

/// How many responses may wait to be written.
const WAITING: usize = 2;
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
    pub(super) seat: Seat,
    pub(super) stopped: watch::Receiver<()>,
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
        let (service, slow_reader) = (self.service.clone(), self.limits.slow_reader);
        let writing = write_all(write, responses, &service, slow_reader);
        let reading = self.read_all(BufReader::with_capacity(READ_BUFFER, read), outlet);
        // Whoever cannot be written to is not read from any more; whoever is not read from any
        // more still gets what is under way.
        let (read, written) = {
            tokio::pin!(reading, writing);
            tokio::select! {
                read = &mut reading => (read, writing.await),
                written = &mut writing => (Ok(()), written),
            }
        };
        read.and(written)
    }

    async fn read_all<R: AsyncRead + Unpin>(
        &mut self,
        mut stream: R,
        outlet: mpsc::Sender<Framed>,
    ) -> io::Result<()> {
        let mut query = Vec::new();
        while self.next(&mut stream, &mut query).await? {
            self.seat.set_busy(true);
            // This is the place for a query that leads to many messages: a task with an outlet of
            // its own keeps their order, and other responses pass between them.
            if let Some(framed) = self.respond(&query)
                && outlet.send(framed).await.is_err()
            {
                return Ok(());
            }
            self.seat.set_busy(false);
            query.clear();
            query.shrink_to(KEPT);
        }
        Ok(())
    }

    /// Reads the next query; false when there will be none.
    async fn next<R: AsyncRead + Unpin>(&mut self, stream: &mut R, query: &mut Vec<u8>) -> io::Result<bool> {
        tokio::select! {
            biased;
            () = ended(&mut self.stopped) => Ok(false),
            () = self.seat.needed() => Ok(false),
            read = timeout(self.limits.idle, read(stream, query)) => read.unwrap_or(Ok(false)),
        }
    }

    fn respond(&self, query: &[u8]) -> Option<Framed> {
        let mut response = Vec::new();
        let reply = self.service.respond(query, self.client, self.transport, &mut response)?;
        Some(Framed { octets: framed(&response), reply })
    }
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

/// Writes responses as they come until there will be no more.
async fn write_all<W: AsyncWrite + Unpin>(
    mut stream: W,
    mut responses: mpsc::Receiver<Framed>,
    service: &Service,
    slow_reader: std::time::Duration,
) -> io::Result<()> {
    while let Some(framed) = responses.recv().await {
        timeout(slow_reader, async {
            stream.write_all(&framed.octets).await?;
            stream.flush().await
        })
        .await??;
        service.counters.sent(framed.reply);
    }
    // So that the client sees an end and no reset; it need not be there any more.
    let _ = timeout(slow_reader, stream.shutdown()).await;
    Ok(())
}

fn framed(message: &[u8]) -> Vec<u8> {
    [&(message.len() as u16).to_be_bytes(), message].concat()
}
