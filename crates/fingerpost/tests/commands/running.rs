//! A running `up` on free ports of 127.0.0.1, ended by the test that started it.

use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, UdpSocket};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use hickory_proto::op::{Message, Query};
use hickory_proto::rr::{Name, RecordType};

use crate::command;

/// How long anything may take before a test gives up on it.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Running {
    child: Child,
    output: Arc<Mutex<String>>,
}

impl Running {
    /// Starts it without state and waits until it is ready.
    pub(crate) fn start(folders: &[&str]) -> Running {
        let running = Running::spawn(&[folders, &["--no-state"]].concat());
        running.wait_for("ready: every change");
        running
    }

    pub(crate) fn spawn(arguments: &[&str]) -> Running {
        Running::command(&[&["up"], arguments].concat())
    }

    /// Starts a command that serves DNS and HTTP.
    pub(crate) fn command(arguments: &[&str]) -> Running {
        let free = ["--dns", "127.0.0.1:0", "--http", "127.0.0.1:0"];
        let mut command = command(&[arguments, &free].concat());
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).stdin(Stdio::null()).spawn().unwrap();
        let output = Arc::new(Mutex::new(String::new()));
        collect(child.stdout.take().unwrap(), output.clone());
        collect(child.stderr.take().unwrap(), output.clone());
        Running { child, output }
    }

    pub(crate) fn output(&self) -> String {
        self.output.lock().unwrap().clone()
    }

    /// Waits until it has printed this.
    pub(crate) fn wait_for(&self, text: &str) {
        eventually(
            || self.output().contains(text),
            || format!("never printed `{text}`, but:\n{}", self.output()),
        );
    }

    /// Where a view is answered, as it printed at the start.
    pub(crate) fn dns(&self, view: &str) -> SocketAddr {
        self.word_after(&format!("  view {view} ")).parse().unwrap()
    }

    pub(crate) fn url(&self) -> String {
        self.word_after("  http ")
    }

    /// The owner ID, as it printed at the start.
    pub(crate) fn owner(&self) -> String {
        self.word_after("  owner ")
    }

    fn word_after(&self, start: &str) -> String {
        let output = self.output();
        let line =
            output.lines().find_map(|line| line.strip_prefix(start)).unwrap_or_else(|| panic!("{output}"));
        line.split_whitespace().next().unwrap().to_owned()
    }

    /// A page, with its status.
    pub(crate) fn get(&self, path: &str, accept: &str) -> (u16, String) {
        Running::get_at(&format!("{}{path}", self.url().trim_end_matches('/')), accept)
    }

    /// What an address answers, with its status.
    pub(crate) fn get_at(address: &str, accept: &str) -> (u16, String) {
        let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
        let mut response = agent.get(address).header("accept", accept).call().unwrap();
        (response.status().as_u16(), response.body_mut().read_to_string().unwrap())
    }

    /// Ends it as a service manager would; gives its exit code.
    pub(crate) fn terminate(mut self) -> Option<i32> {
        let status = Command::new("kill").args(["-TERM", &self.child.id().to_string()]).status().unwrap();
        assert!(status.success());
        self.wait()
    }

    /// Waits for it to end by itself; gives its exit code.
    pub(crate) fn wait(&mut self) -> Option<i32> {
        let mut code = None;
        let ended = || match self.child.try_wait().unwrap() {
            Some(status) => {
                code = status.code();
                true
            }
            None => false,
        };
        eventually(ended, || "it did not end".to_owned());
        code
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended already; either way nothing is left to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Asks for the IPv4 addresses of a name: the code, then the data of the answer.
pub(crate) fn ask(server: SocketAddr, name: &str) -> Vec<String> {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut query = Message::query();
    query.add_query(Query::query(Name::from_ascii(name).unwrap(), RecordType::A));
    socket.send_to(&query.to_vec().unwrap(), server).unwrap();
    let mut buffer = [0; 4096];
    let length = socket.recv(&mut buffer).unwrap();
    let response = Message::from_vec(&buffer[..length]).unwrap();
    let data = response.answers.iter().map(|record| record.data.to_string());
    std::iter::once(format!("{:?}", response.metadata.response_code)).chain(data).collect()
}

pub(crate) fn eventually(mut holds: impl FnMut() -> bool, otherwise: impl Fn() -> String) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "{}", otherwise());
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn collect(stream: impl Read + Send + 'static, output: Arc<Mutex<String>>) {
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            output.lock().unwrap().push_str(&(line + "\n"));
        }
    });
}
