//! A client that asks throughout a change and remembers every answer that it should not have got.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::{Result, anyhow};

use crate::{Reply, ask};

/// Between two queries: without it the client would take the server's processor, not watch it.
const PAUSE: Duration = Duration::from_micros(500);

/// A name and every set of records that may be answered for it.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// The name to ask for.
    pub name: String,
    /// The answers that are right: for a name that changes, the old one and the new one.
    pub allowed: Vec<Vec<String>>,
}

impl Expectation {
    /// A name with the answers that are right, each as the data of its records (`A 192.0.2.1`).
    pub fn new(name: &str, allowed: &[&[&str]]) -> Expectation {
        let allowed = allowed.iter().map(|set| set.iter().map(|record| (*record).to_owned()).collect());
        Expectation { name: name.to_owned(), allowed: allowed.collect() }
    }

    fn verdict(&self, reply: Result<Reply>) -> Option<String> {
        match reply {
            Ok(reply) if reply.code == "No Error" && self.allowed.contains(&reply.records) => None,
            Ok(reply) => Some(format!("{}: {reply}", self.name)),
            Err(error) => Some(format!("{error:#}")),
        }
    }
}

/// What the client saw.
#[derive(Debug, Default)]
pub struct Report {
    /// How many queries it sent.
    pub queries: usize,
    /// Every answer that was wrong or missing.
    pub bad: Vec<String>,
}

/// The client, at work in a thread of its own.
pub struct Watcher {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Report>,
}

impl Watcher {
    /// Starts to ask for all names in turn.
    pub fn start(server: SocketAddr, expectations: Vec<Expectation>) -> Watcher {
        let stop = Arc::new(AtomicBool::new(false));
        let flag = stop.clone();
        Watcher { stop, thread: std::thread::spawn(move || watch(server, &expectations, &flag)) }
    }

    /// Ends the client and returns what it saw.
    pub fn stop(self) -> Result<Report> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().map_err(|_| anyhow!("the watching client panicked"))
    }
}

fn watch(server: SocketAddr, expectations: &[Expectation], stop: &AtomicBool) -> Report {
    let mut report = Report::default();
    for expectation in expectations.iter().cycle() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        report.queries += 1;
        report.bad.extend(expectation.verdict(ask(server, &expectation.name)));
        std::thread::sleep(PAUSE);
    }
    report
}
