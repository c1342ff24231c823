//! Something that is up or down: an HTTP server that answers for one host.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

/// A server; it goes with the value, and its port is closed then.
pub(super) struct Target {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Target {
    /// One that has a page for this host, and nothing for others.
    pub(super) fn start(address: SocketAddr, host: &str) -> Target {
        let listener = TcpListener::bind(address).unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let (over, line) = (is_over.clone(), format!("Host: {host}:{}\r\n", address.port()));
        let thread = thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                answer(stream, &line);
            }
        });
        Target { address, is_over, thread: Some(thread) }
    }
}

/// Whoever says nothing only wanted to connect.
fn answer(mut stream: TcpStream, line: &str) {
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut buffer) {
            Ok(length) if length > 0 => request.extend_from_slice(&buffer[..length]),
            _ => return,
        }
    }
    let is_ours = String::from_utf8_lossy(&request).contains(line);
    let status = if is_ours { "200 OK" } else { "421 Misdirected Request" };
    let _ = write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
}

impl Drop for Target {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        drop(TcpStream::connect(self.address));
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
