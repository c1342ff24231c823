//! Other people's authoritative servers on zone files, started and ended by a test.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::{Process, ask, own_address};

/// Which program it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Program {
    /// BIND's `named`.
    Bind,
    /// Knot's `knotd`.
    Knot,
    /// NLnet Labs' `nsd`.
    Nsd,
}

impl Program {
    /// All that we compare ourselves with.
    pub const ALL: [Program; 3] = [Program::Bind, Program::Knot, Program::Nsd];
}

/// A running server; it goes with its data.
pub struct Peer {
    /// Which program it is.
    pub program: Program,
    process: Process,
    dns: SocketAddr,
    // Held so that the data stays for as long as the process needs it.
    _folder: TempDir,
}

impl Peer {
    /// Starts it on zones, each by name and content, and waits until it answers for all of them.
    pub fn start(program: Program, zones: &[(String, String)]) -> Result<Peer> {
        let folder = tempfile::tempdir()?;
        for (zone, text) in zones {
            fs::write(folder.path().join(format!("{zone}.zone")), text)?;
        }
        fs::create_dir_all(folder.path().join("db"))?;
        let dns = program.place()?;
        let names: Vec<&str> = zones.iter().map(|(zone, _)| zone.as_str()).collect();
        let configuration = folder.path().join("server.conf");
        fs::write(&configuration, program.configuration(folder.path(), dns, &names))?;
        let mut process = program.run(&configuration)?;
        for zone in names {
            // A name that is not there is an answer too; REFUSED and SERVFAIL are not.
            let is_served = |code: &str| ["No Error", "Non-Existent Domain"].contains(&code);
            process.wait_until(&format!("{program:?} to answer for {zone}"), || {
                ask(dns, zone).is_ok_and(|reply| is_served(&reply.code))
            })?;
        }
        Ok(Peer { program, process, dns, _folder: folder })
    }

    /// Where it answers.
    pub fn dns(&self) -> SocketAddr {
        self.dns
    }

    /// Everything that it has printed.
    pub fn output(&self) -> String {
        self.process.output()
    }
}

impl Program {
    /// BIND takes only addresses that an interface has, so it gets a port of its own instead.
    fn place(self) -> Result<SocketAddr> {
        match self {
            Program::Bind => Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?),
            Program::Knot | Program::Nsd => Ok(SocketAddr::new(own_address(), 53)),
        }
    }

    fn run(self, configuration: &Path) -> Result<Process> {
        let (program, package, arguments) = match self {
            Program::Bind => ("/usr/sbin/named", "bind9", ["-g", "-n", "1"].as_slice()),
            Program::Knot => ("/usr/sbin/knotd", "knot", [].as_slice()),
            Program::Nsd => ("/usr/sbin/nsd", "nsd", ["-d"].as_slice()),
        };
        ensure!(
            PathBuf::from(program).is_file(),
            "{program} is missing: run `cargo xtask test` as root, or `apt-get install {package}`"
        );
        let mut command = Command::new(program);
        command.args(arguments).arg("-c").arg(configuration);
        Process::start(program, &command).with_context(|| format!("{self:?} does not start"))
    }

    fn configuration(self, folder: &Path, dns: SocketAddr, zones: &[&str]) -> String {
        let start = match self {
            Program::Bind => bind(folder, dns),
            Program::Knot => knot(folder, dns),
            Program::Nsd => nsd(folder, dns),
        };
        zones.iter().fold(start, |text, zone| text + &self.zone(zone))
    }

    fn zone(self, zone: &str) -> String {
        match self {
            Program::Bind => format!("zone \"{zone}\" {{ type primary; file \"{zone}.zone\"; }};\n"),
            Program::Knot => format!("- domain: {zone}\n  file: {zone}.zone\n"),
            Program::Nsd => format!("zone:\n  name: {zone}\n  zonefile: {zone}.zone\n"),
        }
    }
}

/// Zones are odd on purpose, so that what they hold is not judged; answers have no authority that they do not need.
fn bind(folder: &Path, dns: SocketAddr) -> String {
    let folder = folder.display();
    format!(
        "options {{ directory \"{folder}\"; listen-on port {} {{ {}; }}; listen-on-v6 {{ none; }};\n\
         recursion no; notify no; dnssec-validation no; minimal-responses no-auth; check-integrity no;\n\
         check-names primary ignore; check-mx ignore; check-mx-cname ignore; check-srv-cname ignore;\n\
         check-sibling no; check-wildcard no; check-spf ignore; empty-zones-enable no;\n\
         pid-file \"{folder}/named.pid\"; session-keyfile \"{folder}/session.key\"; }};\n\
         controls {{ }};\n",
        dns.port(),
        dns.ip()
    )
}

fn knot(folder: &Path, dns: SocketAddr) -> String {
    let folder = folder.display();
    format!(
        "server:\n  rundir: \"{folder}\"\n  listen: {}@{}\n\
         database:\n  storage: \"{folder}/db\"\n\
         log:\n- target: stderr\n  any: info\n\
         template:\n- id: default\n  storage: \"{folder}\"\n  semantic-checks: soft\n\
         zone:\n",
        dns.ip(),
        dns.port()
    )
}

fn nsd(folder: &Path, dns: SocketAddr) -> String {
    let folder = folder.display();
    format!(
        "server:\n  ip-address: {}@{}\n  zonesdir: \"{folder}\"\n  username: \"\"\n  server-count: 1\n\
         \x20 database: \"\"\n  pidfile: \"{folder}/nsd.pid\"\n  xfrdfile: \"{folder}/xfrd.state\"\n\
         \x20 xfrdir: \"{folder}\"\n  zonelistfile: \"{folder}/zone.list\"\n  logfile: \"{folder}/nsd.log\"\n\
         \x20 minimal-responses: yes\n  rrl-ratelimit: 0\n\
         remote-control:\n  control-enable: no\n",
        dns.ip(),
        dns.port()
    )
}
