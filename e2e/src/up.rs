//! `fingerpost up`, started and ended by a test.

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use tempfile::TempDir;

use crate::{Process, Usage, fingerpost, own_address};

/// What `up` is started with.
pub struct Options {
    folders: Vec<String>,
    state: Option<PathBuf>,
    address: IpAddr,
    flags: Vec<String>,
    environment: Vec<(String, String)>,
}

impl Options {
    /// One cluster from one folder.
    pub fn folder(path: &Path) -> Options {
        Options {
            folders: vec![path.display().to_string()],
            state: None,
            address: own_address(),
            flags: Vec::new(),
            environment: Vec::new(),
        }
    }

    /// Several clusters, each by name and folder.
    pub fn clusters(clusters: &[(&str, PathBuf)]) -> Options {
        let folders = clusters.iter().map(|(name, path)| format!("{name}={}", path.display())).collect();
        Options { folders, state: None, address: own_address(), flags: Vec::new(), environment: Vec::new() }
    }

    /// Keeps the state in this folder, so that a restart finds it.
    pub fn state(mut self, path: &Path) -> Options {
        self.state = Some(path.to_path_buf());
        self
    }

    /// Adds flags.
    pub fn flags(mut self, flags: &[&str]) -> Options {
        self.flags.extend(flags.iter().map(|flag| (*flag).to_owned()));
        self
    }

    /// Sets a variable of its environment.
    pub fn variable(mut self, name: &str, value: &str) -> Options {
        self.environment.push((name.to_owned(), value.to_owned()));
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
    process: Process,
    address: IpAddr,
    // Held so that the folder stays for as long as the process needs it.
    _state: Option<TempDir>,
}

impl Up {
    /// Starts it and waits until it is ready to answer.
    pub fn start(options: Options) -> Result<Up> {
        let mut up = Up::spawn(options)?;
        let ready = format!("http://{}:8053/readyz", up.address);
        up.process.wait_until("`up` to be ready", || ureq::get(&ready).call().is_ok())?;
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
        command.args(&options.flags).envs(options.environment);
        let process = Process::start("`fingerpost up`", &command)?;
        Ok(Up { process, address: options.address, _state: own_state })
    }

    /// The address that it listens on, which no other `up` of this process has.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    /// The id of its process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Where the view with this number is answered, counted from 0.
    pub fn dns(&self, view: u16) -> SocketAddr {
        SocketAddr::new(self.address, 5300 + view)
    }

    /// Fetches a page of its HTTP interface.
    pub fn get(&self, path: &str) -> Result<String> {
        let address = format!("http://{}:8053{path}", self.address);
        // A zone of 200,000 records is longer than what the client takes by default.
        let mut answer = ureq::get(&address).call()?;
        Ok(answer.body_mut().with_config().limit(1 << 30).read_to_string()?)
    }

    /// What its process has used.
    pub fn usage(&self) -> Result<Usage> {
        Usage::of(self.process.id())
    }

    /// Everything that it has printed.
    pub fn output(&self) -> String {
        self.process.output()
    }

    /// Waits until it has printed this.
    pub fn wait_for_output(&self, text: &str) -> Result<()> {
        self.process.wait_for_output(text)
    }

    /// Kills it, without a chance to tidy up.
    pub fn kill(&mut self) -> Result<()> {
        self.process.kill()
    }

    /// Asks it to end (SIGTERM), and waits until it has.
    pub fn terminate(&mut self) -> Result<Option<i32>> {
        self.process.terminate()?;
        self.process.wait_for_end()
    }

    /// Stops it where it stands; [`Up::resume`] goes on.
    pub fn suspend(&mut self) -> Result<()> {
        self.process.suspend()
    }

    /// Lets it go on after [`Up::suspend`].
    pub fn resume(&mut self) -> Result<()> {
        self.process.resume()
    }

    /// Waits for it to end by itself and returns its exit code.
    pub fn wait_for_end(&mut self) -> Result<Option<i32>> {
        self.process.wait_for_end()
    }
}
