//! A server that keeps one document and honours `If-Match`, or misbehaves as a test wants it to.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;

use crate::own_address;

/// A running server; it goes on until the test process ends.
#[derive(Clone)]
pub struct DocumentServer {
    shared: Arc<Shared>,
    address: SocketAddr,
}

#[derive(Default)]
struct Shared {
    document: Mutex<(u64, Option<String>)>,
    hangs: AtomicBool,
    careless: AtomicBool,
    token: Mutex<Option<String>>,
    /// How many of the next writes find that somebody was faster.
    races: AtomicU64,
    conflicts: AtomicU64,
}

impl DocumentServer {
    /// Starts it on an address of its own.
    pub fn start() -> Result<DocumentServer> {
        let listener = TcpListener::bind((own_address(), 8080))?;
        let server = DocumentServer { shared: Arc::default(), address: listener.local_addr()? };
        let shared = server.shared.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = shared.clone();
                std::thread::spawn(move || drop(shared.serve(stream)));
            }
        });
        Ok(server)
    }

    /// Where the document is.
    pub fn url(&self) -> String {
        format!("http://{}/leases/one", self.address)
    }

    /// The document as it stands.
    pub fn document(&self) -> Option<String> {
        self.shared.lock().1.clone()
    }

    /// Whether requests are taken and never answered.
    pub fn hang(&self, hangs: bool) {
        self.shared.hangs.store(hangs, Ordering::SeqCst);
    }

    /// Whether `If-Match` is ignored.
    pub fn ignore_versions(&self, careless: bool) {
        self.shared.careless.store(careless, Ordering::SeqCst);
    }

    /// Lets in only who has this bearer token.
    pub fn require_token(&self, token: &str) {
        *self.shared.token.lock().unwrap_or_else(PoisonError::into_inner) = Some(token.to_owned());
    }

    /// Makes so many of the next writes lose a race.
    pub fn race(&self, times: u64) {
        self.shared.races.store(times, Ordering::SeqCst);
    }

    /// How many writes were refused with 412.
    pub fn conflicts(&self) -> u64 {
        self.shared.conflicts.load(Ordering::SeqCst)
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, (u64, Option<String>)> {
        self.document.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, stream: TcpStream) -> Result<()> {
        let mut reader = BufReader::new(stream.try_clone()?);
        let mut lines = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line)? == 0 || line == "\r\n" {
                break;
            }
            lines.push(line.trim().to_owned());
        }
        let header = |name: &str| {
            let found = lines.iter().filter_map(|line| line.split_once(": "));
            found.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned()).next()
        };
        let length = header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        reader.read_exact(&mut body)?;
        while self.hangs.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(50));
        }
        let writes = lines.first().is_some_and(|line| line.starts_with("PUT "));
        let token = self.token.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let is_let_in = token.is_none_or(|token| header("authorization") == Some(format!("Bearer {token}")));
        let answer = match writes {
            _ if !is_let_in => answer("401 Unauthorized", "", "a secret of the server's"),
            true => self.write(header("if-match"), header("if-none-match"), String::from_utf8(body)?),
            false => self.read(),
        };
        Ok((&stream).write_all(answer.as_bytes())?)
    }

    fn read(&self) -> String {
        let (version, document) = &*self.lock();
        match document {
            Some(text) => answer("200 OK", &format!("ETag: \"{version}\"\r\n"), text),
            None => answer("404 Not Found", "", ""),
        }
    }

    fn write(&self, matching: Option<String>, none_matching: Option<String>, body: String) -> String {
        let mut document = self.lock();
        let is_race = self.races.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if is_race.is_ok() {
            document.0 += 1;
        }
        let stands = document.1.is_some().then(|| format!("\"{}\"", document.0));
        let fits = match (&matching, &none_matching) {
            (Some(version), _) => stands.as_ref() == Some(version),
            (None, Some(_)) => stands.is_none(),
            (None, None) => true,
        };
        if !fits && !self.careless.load(Ordering::SeqCst) {
            self.conflicts.fetch_add(1, Ordering::SeqCst);
            return answer("412 Precondition Failed", "", "");
        }
        *document = (document.0 + 1, Some(body));
        answer("200 OK", &format!("ETag: \"{}\"\r\n", document.0), "")
    }
}

fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}
