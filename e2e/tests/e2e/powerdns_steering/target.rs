//! Something that is up or down: an HTTP server that answers for one host, in the clear or by TLS.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};

use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// What its page says.
pub(crate) const PAGE: &str = "it's \"up\"";

/// A server; it goes with the value, and its port is closed then.
pub(crate) struct Target {
    address: SocketAddr,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Target {
    /// One that has a page for this host, and nothing for others.
    pub(crate) fn start(address: SocketAddr, host: &str) -> Target {
        Target::serve(address, host, answer)
    }

    /// The same by TLS, with a certificate that nobody has reason to trust.
    pub(crate) fn start_tls(address: SocketAddr, host: &str) -> Target {
        let config = Arc::new(certified(host));
        Target::serve(address, host, move |stream, line| {
            let connection = ServerConnection::new(config.clone()).unwrap();
            answer(StreamOwned::new(connection, stream), line);
        })
    }

    fn serve(address: SocketAddr, host: &str, answer: impl Fn(TcpStream, &str) + Send + 'static) -> Target {
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

fn certified(host: &str) -> ServerConfig {
    let own = rcgen::generate_simple_self_signed([host.to_owned()]).unwrap();
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(own.signing_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(ring::default_provider().into());
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    config.with_single_cert(vec![own.cert.der().clone()], key).unwrap()
}

/// Whoever says nothing only wanted to connect.
fn answer(mut stream: impl Read + Write, line: &str) {
    let mut request = Vec::new();
    let mut buffer = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut buffer) {
            Ok(length) if length > 0 => request.extend_from_slice(&buffer[..length]),
            _ => return,
        }
    }
    let request = String::from_utf8_lossy(&request);
    let status = match request.contains(line) {
        true if request.starts_with("GET /missing") => "404 Not Found",
        true => "200 OK",
        false => "421 Misdirected Request",
    };
    let length = PAGE.len();
    let _ =
        write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{PAGE}");
    let _ = stream.flush();
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
