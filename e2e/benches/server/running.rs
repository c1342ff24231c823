//! A server that has been started for the bench, on a core that it shares with no load.

use std::ffi::OsStr;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use e2e::Process;
use tempfile::TempDir;

use crate::rows::{Question, Row};
use crate::zones;

/// The core of all servers; they are loaded one at a time. It is the first, because Knot takes that one for
/// its first thread whatever it is told.
pub(crate) const SERVER_CORE: usize = 0;
/// The core of the load.
pub(crate) const LOAD_CORE: usize = 1;
/// Both of them.
pub(crate) const ALL_CORES: [usize; 2] = [SERVER_CORE, LOAD_CORE];
/// How many answers of a row are looked at before it is measured.
const CHECKED: usize = 200;
/// How often a question is asked before its answer must be right: health checks need a moment.
const ATTEMPTS: usize = 100;

/// A running server; it is killed when the value goes.
pub(crate) struct Running {
    /// What the table calls it.
    pub(crate) name: &'static str,
    /// Where it answers.
    pub(crate) address: SocketAddr,
    /// The rows that it can do.
    pub(crate) rows: &'static [Row],
    started: Instant,
    process: Process,
    // Held so that the files stay for as long as the process needs them.
    _folder: Option<TempDir>,
}

/// A port for one more server: free for both transports a moment ago.
///
/// All are on 127.0.0.1, because BIND listens on addresses of interfaces only.
pub(crate) fn address() -> Result<SocketAddr> {
    for _ in 0..100 {
        let address = UdpSocket::bind("127.0.0.1:0")?.local_addr()?;
        if TcpListener::bind(address).is_ok() {
            return Ok(address);
        }
    }
    bail!("no port is free for both transports")
}

/// What a server is started for.
#[derive(Clone, Copy)]
pub(crate) enum Work<'a> {
    /// All rows that it can do, on the servers' core.
    Rows,
    /// This static zone and nothing else, on all cores.
    Start(&'a str),
}

impl Work<'_> {
    /// The static zone.
    pub(crate) fn zone(&self) -> String {
        match self {
            Work::Rows => zones::fixed(),
            Work::Start(zone) => (*zone).to_owned(),
        }
    }

    /// Whether there are steered zones too.
    pub(crate) fn is_steered(&self) -> bool {
        matches!(self, Work::Rows)
    }

    /// A command on the cores that it may use.
    pub(crate) fn command(&self, program: impl AsRef<OsStr>) -> Command {
        match self {
            Work::Rows => on_cores(&[SERVER_CORE], program),
            Work::Start(_) => on_cores(&ALL_CORES, program),
        }
    }
}

/// A command that runs on these cores only.
pub(crate) fn on_cores(cores: &[usize], program: impl AsRef<OsStr>) -> Command {
    let cores: Vec<String> = cores.iter().map(usize::to_string).collect();
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", &cores.join(",")]).arg(program);
    command
}

/// This program again, as something else.
pub(crate) fn own_program(what: &str) -> Result<Command> {
    let mut command =
        on_cores(&[SERVER_CORE], std::env::current_exe().context("cannot tell where this program is")?);
    command.arg(what);
    Ok(command)
}

impl Running {
    /// Starts a server.
    pub(crate) fn start(
        name: &'static str,
        address: SocketAddr,
        rows: &'static [Row],
        command: &Command,
        folder: Option<TempDir>,
    ) -> Result<Running> {
        let started = Instant::now();
        let process = Process::start(name, command)?;
        Ok(Running { name, address, rows, started, process, _folder: folder })
    }

    /// When it was started.
    pub(crate) fn started(&self) -> Instant {
        self.started
    }

    /// Waits for the first right answer, looking again and again without a pause.
    pub(crate) fn wait_for(&mut self, question: &Question) -> Result<()> {
        let start = Instant::now();
        while exchange(self.address, &question.query).and_then(|answer| question.check(&answer)).is_err() {
            let is_late = start.elapsed() > e2e::PATIENCE || !self.process.is_running();
            ensure!(!is_late, "no right answer from {}, which said:\n{}", self.name, self.output());
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Waits for the floor, which says the query again.
    pub(crate) fn wait_for_echo(&mut self, question: &Question) -> Result<()> {
        let address = self.address;
        self.process.wait_until("an echo", || exchange(address, &question.query).is_ok())
    }

    /// Its process ids, those of its children included.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let mut all = vec![self.process.id()];
        let mut at = 0;
        while at < all.len() {
            let path = format!("/proc/{id}/task/{id}/children", id = all[at]);
            let text = std::fs::read_to_string(path).unwrap_or_default();
            all.extend(text.split_whitespace().filter_map(|id| id.parse::<u32>().ok()));
            at += 1;
        }
        all
    }

    /// Everything that it has printed.
    pub(crate) fn output(&self) -> String {
        self.process.output()
    }

    /// Fails unless it answers the row's questions rightly.
    pub(crate) fn check(&self, questions: &[Question]) -> Result<()> {
        for question in &questions[..CHECKED] {
            self.ask(question).with_context(|| format!("{} said:\n{}", self.name, self.output()))?;
        }
        Ok(())
    }

    fn ask(&self, question: &Question) -> Result<()> {
        let mut last = Ok(());
        for _ in 0..ATTEMPTS {
            last = exchange(self.address, &question.query).and_then(|answer| question.check(&answer));
            if last.is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        last
    }
}

/// Sends a query and waits for its answer.
pub(crate) fn exchange(server: SocketAddr, query: &[u8]) -> Result<Vec<u8>> {
    let socket = UdpSocket::bind("127.0.0.1:0")?;
    socket.set_read_timeout(Some(Duration::from_millis(500)))?;
    socket.connect(server)?;
    socket.send(query)?;
    let mut answer = vec![0; 4096];
    let length = socket.recv(&mut answer).context("no answer")?;
    answer.truncate(length);
    Ok(answer)
}

/// Writes a file of a server's own.
pub(crate) fn write(folder: &Path, name: &str, text: impl AsRef<[u8]>) -> Result<()> {
    std::fs::write(folder.join(name), text).with_context(|| format!("cannot write {name}"))
}
