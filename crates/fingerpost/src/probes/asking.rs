//! Asks one target once.
//!
//! The whole of it has one time limit: resolving, connecting, encrypting and reading. The address is the
//! spec's and the host is put onto it, so every address behind a name is asked for itself.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use backends::Failure;
use backends::transport::guard::Guard;
use futures::future::select_ok;
use planner::{Certificate, ProbeQuestion, ProbeSpec, ProbeTarget};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use super::encryption::Encryption;
use super::page;
use super::trouble::{Outcome, Trouble, forbidden};

/// How much is read at once: the head of an answer is seldom longer.
const CHUNK: usize = 2048;
/// No more addresses of one name are asked.
const MOST_ADDRESSES: usize = 16;

/// Whoever notices the end of the time only so much later was not let onto a processor: the target may have
/// answered long ago.
const LATE: f64 = 1.25;
const MOMENT: Duration = Duration::from_millis(100);

/// What every probe needs to ask.
pub struct Means {
    /// Where probes may go.
    pub guard: Arc<Guard>,
    /// Whose certificates are believed.
    pub encryption: Encryption,
}

/// A probe made ready to be run many times.
pub struct Asker {
    target: ProbeTarget,
    port: u16,
    timeout: Duration,
    page: Option<Page>,
    /// What a name's addresses were when it last had any: a resolver that is away is no target's fault.
    known: Mutex<Vec<SocketAddr>>,
}

struct Page {
    /// None where it cannot be asked for.
    request: Option<Vec<u8>>,
    tls: Option<(Certificate, Option<ServerName<'static>>)>,
    host: Box<str>,
    codes: Vec<(u16, u16)>,
}

impl Asker {
    /// Makes a probe ready.
    pub fn new(spec: &ProbeSpec) -> Asker {
        let page = match &spec.question {
            ProbeQuestion::Connect => None,
            ProbeQuestion::Page { tls, host, path, codes } => {
                let host = host.trim_end_matches('.');
                let usual = if tls.is_some() { 443 } else { 80 };
                Some(Page {
                    request: page::request(host, spec.port, usual, path),
                    tls: tls.map(|tls| (tls, ServerName::try_from(host.to_owned()).ok())),
                    host: host.into(),
                    codes: codes.clone(),
                })
            }
        };
        let timeout = Duration::from_millis(spec.timeout.max(1));
        let known = Mutex::new(Vec::new());
        Asker { target: spec.target.clone(), port: spec.port, timeout, page, known }
    }

    /// Asks once.
    pub async fn ask(&self, means: &Means) -> Outcome {
        let start = Instant::now();
        match tokio::time::timeout(self.timeout, self.ask_target(means)).await {
            Ok(outcome) => outcome,
            Err(_) => timed_out(self.timeout, start.elapsed()),
        }
    }

    async fn ask_target(&self, means: &Means) -> Outcome {
        // What cannot be judged yet is not asked, and not blamed.
        if !means.guard.forbidden.is_known() {
            return Outcome::Skipped;
        }
        match &self.target {
            ProbeTarget::Address(address) => {
                let address = SocketAddr::new(*address, self.port);
                match means.guard.permits(address) {
                    true => self.ask_at(address, means).await,
                    false => forbidden(address.ip()),
                }
            }
            ProbeTarget::Host(name) => {
                let host = name.to_string();
                match self.resolve(host.trim_end_matches('.'), means).await {
                    Ok(addresses) => self.ask_any(&addresses, means).await,
                    Err(outcome) => outcome,
                }
            }
        }
    }

    async fn resolve(&self, host: &str, means: &Means) -> Result<Vec<SocketAddr>, Outcome> {
        let found = means.guard.clone().resolve(host, self.port).await;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match found {
            Ok(mut found) => {
                found.truncate(MOST_ADDRESSES);
                known.clone_from(&found);
                Ok(found)
            }
            Err(Failure::Forbidden) => Err(Trouble::Forbidden(format!("an address of {host}").into()).into()),
            Err(_) if known.is_empty() => Err(Trouble::NoAddress(host.into()).into()),
            Err(_) => Ok(known.clone()),
        }
    }

    /// Up as soon as one of them is; else what is wrong with the last.
    async fn ask_any(&self, addresses: &[SocketAddr], means: &Means) -> Outcome {
        if addresses.is_empty() {
            return Outcome::Skipped;
        }
        let asked = addresses.iter().map(|address| {
            Box::pin(async move {
                match self.ask_at(*address, means).await {
                    Outcome::Success => Ok(()),
                    other => Err(other),
                }
            })
        });
        select_ok(asked).await.map_or_else(|outcome| outcome, |_| Outcome::Success)
    }

    async fn ask_at(&self, address: SocketAddr, means: &Means) -> Outcome {
        let stream = match TcpStream::connect(address).await {
            Ok(stream) => stream,
            Err(error) => return Outcome::of_error(&error),
        };
        match &self.page {
            None => {
                // Nothing was said, so nothing can be lost: no trace of the connection is kept here or there.
                let _ = stream.set_zero_linger();
                Outcome::Success
            }
            Some(page) => page.ask(stream, means).await,
        }
    }
}

impl Page {
    async fn ask(&self, stream: TcpStream, means: &Means) -> Outcome {
        let Some(request) = &self.request else { return Trouble::Unspeakable.into() };
        match &self.tls {
            None => self.exchange(stream, request).await,
            Some((_, None)) => Trouble::Unspeakable.into(),
            Some((certificate, Some(name))) => {
                let connector = match certificate {
                    Certificate::Verified => &means.encryption.verified,
                    Certificate::Any => &means.encryption.any,
                };
                match connector.connect(name.clone(), stream).await {
                    Ok(stream) => self.exchange(stream, request).await,
                    Err(error) => Outcome::of_tls_error(&error, &self.host),
                }
            }
        }
    }

    async fn exchange(&self, mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &[u8]) -> Outcome {
        if let Err(error) = stream.write_all(request).await {
            return Outcome::of_tls_error(&error, &self.host);
        }
        match read_status(&mut stream, &self.host).await {
            Ok(status) => page::judge(status, &self.codes).map_or_else(Outcome::from, |()| Outcome::Success),
            Err(outcome) => outcome,
        }
    }
}

/// What it means that nothing came within a time, by when that was noticed.
fn timed_out(timeout: Duration, noticed: Duration) -> Outcome {
    match noticed > timeout.mul_f64(LATE) + MOMENT {
        true => Outcome::Skipped,
        false => Trouble::TimedOut(timeout).into(),
    }
}

async fn read_status(stream: &mut (impl AsyncRead + Unpin), host: &str) -> Result<u16, Outcome> {
    let mut received = Vec::with_capacity(CHUNK);
    loop {
        received.reserve(CHUNK);
        let count = stream.read_buf(&mut received).await;
        let count = count.map_err(|error| Outcome::of_tls_error(&error, host))?;
        match page::status(&received)? {
            Some(status) => return Ok(status),
            None if count == 0 => return Err(Trouble::HungUp.into()),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case::at_once(2000, 2000, false)]
    #[case::within_a_quarter_and_a_moment(2000, 2600, false)]
    #[case::later(2000, 2601, true)]
    #[case::a_short_time_has_the_moment_too(100, 225, false)]
    #[case::a_short_time_long_over(100, 226, true)]
    fn whoever_was_starved_of_a_processor_does_not_blame_the_target(
        #[case] timeout: u64,
        #[case] noticed: u64,
        #[case] is_skipped: bool,
    ) {
        let timeout = Duration::from_millis(timeout);
        let outcome = timed_out(timeout, Duration::from_millis(noticed));
        let blamed = Outcome::Failure(Trouble::TimedOut(timeout));
        assert_eq!(outcome, if is_skipped { Outcome::Skipped } else { blamed });
    }

    #[tokio::test]
    async fn a_run_that_could_not_go_on_in_time_tells_nothing_of_its_target() {
        let listener = std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let question = ProbeQuestion::Page {
            tls: None,
            host: "a.example".into(),
            path: "/".into(),
            codes: vec![(200, 299)],
        };
        let spec = ProbeSpec {
            target: ProbeTarget::Address(address.ip()),
            port: address.port(),
            question,
            interval: 100,
            timeout: 100,
            failures: 1,
            successes: 1,
        };
        let mut guard = Guard::default();
        guard.allow_loopback();
        let roots = webpki_roots::TLS_SERVER_ROOTS.iter().cloned().collect();
        let encryption = Encryption::trusting(roots).unwrap();
        let (asker, means) = (Asker::new(&spec), Means { guard: Arc::new(guard), encryption });
        // The one thread of this runtime is held for longer than the probe may take.
        let starving = async {
            tokio::task::yield_now().await;
            std::thread::sleep(Duration::from_millis(500));
        };
        let (outcome, ()) = tokio::join!(asker.ask(&means), starving);
        assert_eq!(outcome, Outcome::Skipped);
    }
}
