//! `fingerpost up`, started and ended by a test.

use std::io::{BufRead, BufReader, Read};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::fingerpost;

/// How long anything may take before a test gives up on it.
const PATIENCE: Duration = Duration::from_secs(60);

/// What `up` is started with.
pub struct Options {
    folders: Vec<String>,
    state: Option<PathBuf>,
    address: IpAddr,
}

impl Options {
    /// One cluster from one folder.
    pub fn folder(path: &Path) -> Options {
        Options { folders: vec![path.display().to_string()], state: None, address: own_address() }
    }

    /// Several clusters, each by name and folder.
    pub fn clusters(clusters: &[(&str, PathBuf)]) -> Options {
        let folders = clusters.iter().map(|(name, path)| format!("{name}={}", path.display())).collect();
        Options { folders, state: None, address: own_address() }
    }

    /// Keeps the state in this folder, so that a restart finds it.
    pub fn state(mut self, path: &Path) -> Options {
        self.state = Some(path.to_path_buf());
        self
    }

    /// Listens on the address of another `up`.
    pub fn address(mut self, address: IpAddr) -> Options {
        self.address = address;
        self
    }
}

/// A running `fingerpost up`; it is killed when the value goes.
pub struct Up {
    child: Child,
    address: IpAddr,
    output: Arc<Mutex<String>>,
    // Held so that the folder stays for as long as the process needs it.
    _state: Option<TempDir>,
}

impl Up {
    /// Starts it and waits until it is ready to answer.
    pub fn start(options: Options) -> Result<Up> {
        let mut up = Up::spawn(options)?;
        up.wait_until_ready()?;
        Ok(up)
    }

    /// Starts it without waiting for anything.
    pub fn spawn(options: Options) -> Result<Up> {
        let own_state = if options.state.is_none() { Some(tempfile::tempdir()?) } else { None };
        let state = options.state.as_deref().or(own_state.as_ref().map(TempDir::path));
        let mut command = Command::new(fingerpost()?);
        command.arg("up").args(&options.folders).arg("--state").args(state);
        command.args(["--dns", &format!("{}:5300", options.address)]);
        command.args(["--http", &format!("{}:8053", options.address)]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null()).spawn()?;
        let output = Arc::new(Mutex::new(String::new()));
        collect(child.stdout.take(), &output);
        collect(child.stderr.take(), &output);
        Ok(Up { child, address: options.address, output, _state: own_state })
    }

    /// The address that it listens on, which no other `up` of this process has.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// Where the view with this number is answered, counted from 0.
    pub fn dns(&self, view: u16) -> SocketAddr {
        SocketAddr::new(self.address, 5300 + view)
    }

    /// Fetches a page of its HTTP interface.
    pub fn get(&self, path: &str) -> Result<String> {
        let address = format!("http://{}:8053{path}", self.address);
        Ok(ureq::get(&address).call()?.body_mut().read_to_string()?)
    }

    /// Everything that it has printed.
    pub fn output(&self) -> String {
        self.output.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until it has printed this.
    pub fn wait_for_output(&self, text: &str) -> Result<()> {
        eventually(|| self.output().contains(text))
            .with_context(|| format!("never printed `{text}`, but:\n{}", self.output()))
    }

    /// Waits for it to end by itself and returns its exit code.
    pub fn wait_for_end(&mut self) -> Result<Option<i32>> {
        let mut code = None;
        eventually(|| match self.child.try_wait() {
            Ok(Some(status)) => {
                code = status.code();
                true
            }
            _ => false,
        })
        .context("it did not end by itself")?;
        Ok(code)
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let start = Instant::now();
        while self.get("/readyz").is_err() {
            if let Some(status) = self.child.try_wait()? {
                bail!("`fingerpost up` ended with {status}:\n{}", self.output());
            }
            if start.elapsed() > PATIENCE {
                bail!("`fingerpost up` was not ready in time:\n{}", self.output());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        // It may have ended already; either way nothing is left to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Waits until something holds, within the patience of all tests.
fn eventually(mut holds: impl FnMut() -> bool) -> Result<()> {
    let start = Instant::now();
    while !holds() {
        if start.elapsed() > PATIENCE {
            bail!("gave up after {} s", PATIENCE.as_secs());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// An address in 127.0.0.0/8 that is told apart by process and by call.
fn own_address() -> IpAddr {
    static NEXT: AtomicU8 = AtomicU8::new(1);
    let [.., high, low] = std::process::id().to_be_bytes();
    IpAddr::V4(Ipv4Addr::new(
        127,
        high.clamp(1, 254),
        low.clamp(1, 254),
        NEXT.fetch_add(1, Ordering::Relaxed),
    ))
}

fn collect(stream: Option<impl Read + Send + 'static>, output: &Arc<Mutex<String>>) {
    let Some(stream) = stream else { return };
    let output = output.clone();
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
            output.push_str(&line);
            output.push('\n');
        }
    });
}
