//! The UDP side of an address: threads of its own, each with a socket of its own.
//!
//! ```text
//!  socket ── recvmmsg ──► batch ──► read, find, answer ──► batch ── sendmmsg ──► socket
//! ```
//!
//! The kernel spreads clients over the sockets, so the threads share nothing that is written. A
//! stop loses nothing that had arrived: a thread answers what its socket still holds, and ends.

use std::io;
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use socket2::{Protocol, Socket, Type};
use tokio::sync::{oneshot, watch};

use super::{Options, Service, ended, socket};

mod system;
mod worker;

use worker::Worker;

/// Room for a burst of queries while others are being answered.
const RECEIVE_BUFFER: usize = 4 << 20;

/// Binds one more socket to an address.
///
/// All of an address's sockets share it, also with another process of the same user: that there is
/// none is for the TCP socket to find out, which shares with nobody.
pub(super) fn bind(address: SocketAddr) -> io::Result<Socket> {
    let socket = socket(address, Type::DGRAM, Protocol::UDP)?;
    socket.set_nonblocking(false)?;
    socket.set_reuse_port(true)?;
    // A wish: where the kernel allows less, the server works all the same.
    let _ = socket.set_recv_buffer_size(RECEIVE_BUFFER);
    // A wish as well.
    let _ = system::send_whole(&socket, address.is_ipv4());
    if address.ip().is_unspecified() {
        system::tell_destination(&socket, address.is_ipv4())?;
    }
    socket.bind(&address.into())?;
    Ok(socket)
}

/// The threads that answer on one address; they end when this is dropped.
#[derive(Debug)]
pub(super) struct Threads {
    sockets: Vec<Arc<Socket>>,
    stopping: Arc<AtomicBool>,
    ends: Vec<oneshot::Receiver<()>>,
}

impl Threads {
    /// Starts to answer: on the socket that is bound, and on as many more as there are threads.
    pub(super) fn start(first: Socket, address: SocketAddr, service: &Service, options: &Options) -> Threads {
        let cores = system::cores();
        let wanted = if options.threads == 0 { cores.len().max(1) } else { options.threads };
        let others = (1..wanted).map_while(|_| {
            let failed = |error| tracing::warn!(%address, %error, "no further socket; fewer threads answer");
            bind(address).map_err(failed).ok()
        });
        let sockets: Vec<Arc<Socket>> = std::iter::once(first).chain(others).map(Arc::new).collect();
        let stopping = Arc::new(AtomicBool::new(false));
        let limit = options.rate_limit.shared_by(sockets.len());
        let mut threads = Threads { sockets, stopping, ends: Vec::new() };
        for (at, socket) in threads.sockets.iter().enumerate() {
            let worker =
                Worker::new(Arc::clone(socket), Arc::clone(&threads.stopping), service.clone(), limit);
            let core = cores.get(at % cores.len().max(1)).copied();
            match spawn(worker, address, core) {
                Ok(end) => threads.ends.push(end),
                Err(error) => tracing::error!(%address, %error, "a thread that answers could not be started"),
            }
        }
        threads
    }

    /// Waits for the end of the channel, then for that of the threads.
    pub(super) async fn run(mut self, mut stopped: watch::Receiver<()>) {
        ended(&mut stopped).await;
        self.stop();
        for end in std::mem::take(&mut self.ends) {
            // It is never sent: that the thread is gone is the message.
            let _ = end.await;
        }
    }

    fn stop(&self) {
        self.stopping.store(true, Ordering::Release);
        for socket in &self.sockets {
            // Wakes the thread that waits. A socket without a peer cannot be shut down, says the
            // kernel, and does it all the same.
            let _ = socket.shutdown(Shutdown::Read);
        }
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        self.stop();
    }
}

fn spawn(worker: Worker, address: SocketAddr, core: Option<usize>) -> io::Result<oneshot::Receiver<()>> {
    let (end, ended) = oneshot::channel();
    let from_any = address.ip().is_unspecified();
    let run = move || {
        let _end: oneshot::Sender<()> = end;
        if let Some(Err(error)) = core.map(system::stay_on) {
            tracing::debug!(%error, "the thread may change cores");
        }
        worker.run(from_any);
    };
    thread::Builder::new().name(format!("dns-udp-{}", address.port())).spawn(run).map(|_| ended)
}
