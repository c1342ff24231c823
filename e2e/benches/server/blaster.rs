//! The load: a saturating client for short slices of time.
//!
//! It keeps [`WINDOW`] queries on their way. That is enough for full batches at a server that is never idle,
//! and few enough for the smallest receive buffer among the servers, so that nothing is dropped and every
//! answer is counted.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::datagrams::{BATCH, Incoming, Outgoing, enlarge};

/// How many queries may be without an answer; the default receive buffer of Linux holds about 256.
const WINDOW: usize = 3 * BATCH;
/// After so long an answer does not come any more. A server may lose its core to others for a while.
const PATIENCE: Duration = Duration::from_secs(1);
/// The longest time that is spent on warming up.
const WARMING: Duration = Duration::from_secs(5);

/// A client of one server with one set of queries.
pub(crate) struct Blaster {
    socket: UdpSocket,
    outgoing: Outgoing,
    incoming: Incoming,
    next: usize,
    rcode: u8,
}

/// What came of one slice.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    /// Queries that were sent.
    pub(crate) sent: usize,
    /// Answers with the right code.
    pub(crate) answered: usize,
    /// Answers with another code, or truncated.
    pub(crate) wrong: usize,
    /// From the first query to the last answer.
    pub(crate) took: Duration,
}

impl Tally {
    /// Queries that got no answer.
    pub(crate) fn lost(&self) -> usize {
        self.sent.saturating_sub(self.answered + self.wrong)
    }

    fn on_the_way(&self) -> usize {
        self.lost()
    }
}

impl Blaster {
    /// A client with queries of its own; `rcode` is what every answer must say.
    pub(crate) fn new<'a>(
        server: SocketAddr,
        queries: impl Iterator<Item = &'a [u8]> + Clone,
        rcode: u8,
    ) -> Result<Blaster> {
        let socket = UdpSocket::bind("127.0.0.1:0").context("cannot open a socket")?;
        socket.connect(server)?;
        enlarge(&socket);
        Ok(Blaster { socket, outgoing: Outgoing::new(queries), incoming: Incoming::new(), next: 0, rcode })
    }

    /// Asks every query once, so that caches are warm before anything counts.
    pub(crate) fn warm(&mut self) -> Result<()> {
        let (start, mut sent) = (Instant::now(), 0);
        while sent < self.outgoing.len() && start.elapsed() < WARMING {
            sent += self.slice(Duration::from_millis(50))?.sent;
        }
        Ok(())
    }

    /// Loads the server for so long, and then waits for the last answers.
    pub(crate) fn slice(&mut self, length: Duration) -> Result<Tally> {
        let start = Instant::now();
        let mut tally = Tally::default();
        let mut last_answer = start;
        loop {
            let now = Instant::now();
            let is_over = now - start >= length;
            if !is_over && tally.on_the_way() + BATCH <= WINDOW {
                tally.sent += self.send()?;
            }
            if self.receive(&mut tally)? > 0 {
                last_answer = now;
            }
            let is_late = now - last_answer > PATIENCE;
            if is_late || is_over && tally.on_the_way() == 0 {
                tally.took = last_answer - start;
                return Ok(tally);
            }
        }
    }

    fn send(&mut self) -> Result<usize> {
        let sent = self.outgoing.send(&self.socket, self.next).context("cannot send queries")?;
        self.next = (self.next + sent) % self.outgoing.len();
        Ok(sent)
    }

    fn receive(&mut self, tally: &mut Tally) -> Result<usize> {
        let received = self.incoming.look(&self.socket).context("cannot receive answers")?;
        for number in 0..received {
            match *self.incoming.datagram(number) {
                [_, _, flags, code, ..] if flags & 0x02 == 0 && code & 0x0f == self.rcode => {
                    tally.answered += 1
                }
                _ => tally.wrong += 1,
            }
        }
        Ok(received)
    }
}
