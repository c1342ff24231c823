//! A backend that probes ask, and that a test kills and brings back.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use anyhow::{Context, Result};

/// The port of every backend; each has an address of its own.
pub const BACKEND_PORT: u16 = 8080;

/// A listening backend; it dies with the value.
pub struct Backend {
    address: SocketAddr,
    dying: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Backend {
    /// One that does this with every connection, each on a thread of its own.
    pub fn serving(address: IpAddr, serve: impl Fn(TcpStream) + Send + Sync + 'static) -> Result<Backend> {
        let serve = Arc::new(serve);
        Backend::start(address, move |stream| {
            let serve = serve.clone();
            std::thread::spawn(move || serve(stream));
        })
    }

    /// One that takes connections and says nothing.
    pub fn silent(address: IpAddr) -> Result<Backend> {
        Backend::start(address, drop)
    }

    /// One that reads a request and says this.
    pub fn saying(address: IpAddr, text: &'static str) -> Result<Backend> {
        Backend::serving(address, move |mut stream| {
            // Whoever hangs up early has missed it.
            let _ = stream.read(&mut [0; 2048]);
            let _ = stream.write_all(text.as_bytes());
        })
    }

    fn start(address: IpAddr, take: impl Fn(TcpStream) + Send + 'static) -> Result<Backend> {
        let listener = TcpListener::bind((address, BACKEND_PORT));
        let listener = listener.with_context(|| format!("cannot listen on {address}"))?;
        let (address, dying) = (listener.local_addr()?, Arc::new(AtomicBool::new(false)));
        let is_dying = dying.clone();
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if is_dying.load(Ordering::Relaxed) {
                    return;
                }
                take(stream);
            }
        });
        Ok(Backend { address, dying, thread: Some(thread) })
    }

    /// Dies: from now on connections are refused.
    pub fn kill(self) {}
}

impl Drop for Backend {
    fn drop(&mut self) {
        self.dying.store(true, Ordering::Relaxed);
        // One more connection, so that the thread looks up. Where there is none to be had, it has gone.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
