//! Real DNS servers that take dynamic updates (RFC 2136), started and ended by a test.
//!
//! Each has the zones that it is given, and the keys of [`KEYS`]: the first three may read and change
//! them, the last is known but may do nothing. Zones whose name begins with `signed.` are signed.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use tempfile::TempDir;

use crate::{Process, ask, call, own_address};

/// The keys that the servers know: name, algorithm and secret in base64.
pub const KEYS: [(&str, &str, &str); 4] = [
    ("key256", "hmac-sha256", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="),
    ("key384", "hmac-sha384", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="),
    ("key512", "hmac-sha512", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="),
    ("stranger", "hmac-sha256", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="),
];

/// The octets of the secret of all of them.
pub fn key_secret() -> Vec<u8> {
    (0..32).collect()
}

/// Which program it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UpdateProgram {
    /// BIND's `named`.
    Bind,
    /// Knot's `knotd`.
    Knot,
}

/// A running server; it goes with its data.
pub struct UpdateServer {
    program: UpdateProgram,
    process: Process,
    dns: SocketAddr,
    folder: TempDir,
}

impl UpdateServer {
    /// Starts it with these zones, which hold nothing but SOA and NS, and waits until it answers.
    pub fn start(program: UpdateProgram, zones: &[&str]) -> Result<UpdateServer> {
        let folder = tempfile::tempdir()?;
        for zone in zones {
            let text = format!(
                "$ORIGIN {zone}.\n$TTL 3600\n@ SOA ns.{zone}. noc.{zone}. 1 3600 600 86400 300\n@ NS ns\nns A 192.0.2.53\n"
            );
            fs::write(folder.path().join(format!("{zone}.zone")), text)?;
        }
        UpdateServer::start_in(program, folder, zones)
    }

    /// Starts it on the zone files `<zone>.zone` of a folder, and waits until it answers.
    pub fn start_in(program: UpdateProgram, folder: TempDir, zones: &[&str]) -> Result<UpdateServer> {
        let dns = program.place()?;
        let configuration = program.configuration(folder.path(), dns, zones);
        fs::write(folder.path().join("server.conf"), configuration)?;
        fs::create_dir_all(folder.path().join("db"))?;
        let mut process = program.run(folder.path())?;
        let zone = zones.first().context("a server needs a zone")?;
        // A name that is not there is an answer too; REFUSED and SERVFAIL are not.
        let is_served = |code: &str| ["No Error", "Non-Existent Domain"].contains(&code);
        process.wait_until("the DNS server to be ready", || {
            ask(dns, &format!("ns.{zone}")).is_ok_and(|reply| is_served(&reply.code))
        })?;
        Ok(UpdateServer { program, process, dns, folder })
    }

    /// Where it answers.
    pub fn dns(&self) -> SocketAddr {
        self.dns
    }

    /// Where its files are.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// How many requests of a kind Knot was sent since its start: `query`, `update`, `axfr` and so on.
    pub fn requests(&self, kind: &str) -> Result<usize> {
        let socket = self.folder.path().join("knot.sock");
        let output = call("knotc", "knot", &["-s", &socket.display().to_string(), "stats", "mod-stats"])?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let counter = format!("mod-stats.server-operation[{kind}] = ");
        let number = text.lines().find_map(|line| line.strip_prefix(&counter));
        // A counter that stands at nought is left out.
        number.map_or(Ok(0), |number| Ok(number.trim().parse()?))
    }

    /// Everything that it has printed.
    pub fn output(&self) -> String {
        self.process.output()
    }

    /// Its process.
    pub fn process(&mut self) -> &mut Process {
        &mut self.process
    }

    /// Starts it again with what it had on disk.
    pub fn restart(&mut self) -> Result<()> {
        self.process.kill()?;
        self.process = self.program.run(self.folder.path())?;
        Ok(())
    }
}

impl UpdateProgram {
    /// BIND takes only addresses that an interface has, so it gets a port of its own instead.
    fn place(self) -> Result<SocketAddr> {
        match self {
            UpdateProgram::Bind => Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?),
            UpdateProgram::Knot => Ok(SocketAddr::new(own_address(), 53)),
        }
    }

    fn run(self, folder: &Path) -> Result<Process> {
        let (program, package, arguments) = match self {
            UpdateProgram::Bind => ("/usr/sbin/named", "bind9", ["-g", "-n", "1"].as_slice()),
            UpdateProgram::Knot => ("/usr/sbin/knotd", "knot", [].as_slice()),
        };
        anyhow::ensure!(
            PathBuf::from(program).is_file(),
            "{program} is missing: run `cargo xtask test` as root, or `apt-get install {package}`"
        );
        let mut command = Command::new(program);
        command.args(arguments).arg("-c").arg(folder.join("server.conf"));
        Process::start(program, &command)
    }

    fn configuration(self, folder: &Path, dns: SocketAddr, zones: &[&str]) -> String {
        match self {
            UpdateProgram::Bind => bind(folder, dns, zones),
            UpdateProgram::Knot => knot(folder, dns, zones),
        }
    }
}

fn bind(folder: &Path, dns: SocketAddr, zones: &[&str]) -> String {
    let folder = folder.display();
    let mut text = format!(
        "options {{ directory \"{folder}\"; listen-on port {} {{ {}; }}; listen-on-v6 {{ none; }};\n\
         recursion no; notify no; dnssec-validation no; allow-transfer {{ none; }};\n\
         pid-file \"{folder}/named.pid\"; session-keyfile \"{folder}/session.key\"; }};\n\
         controls {{ }};\n",
        dns.port(),
        dns.ip()
    );
    for (name, algorithm, secret) in KEYS {
        text += &format!("key \"{name}\" {{ algorithm {algorithm}; secret \"{secret}\"; }};\n");
    }
    for zone in zones {
        let signing =
            if zone.starts_with("signed.") { "dnssec-policy default; inline-signing no;" } else { "" };
        text += &format!(
            "zone \"{zone}\" {{ type primary; {signing} file \"{folder}/{zone}.zone\";\n\
             allow-transfer {{ key key256; key key384; key key512; }};\n\
             update-policy {{ deny * name forbidden.{zone}.; grant key256 zonesub ANY; grant key384 zonesub ANY;\n\
             grant key512 zonesub ANY; }}; }};\n"
        );
    }
    text
}

fn knot(folder: &Path, dns: SocketAddr, zones: &[&str]) -> String {
    let folder = folder.display();
    let mut text = format!(
        "server:\n  rundir: \"{folder}\"\n  listen: {}@{}\n\
         database:\n  storage: \"{folder}/db\"\n\
         log:\n- target: stderr\n  any: info\n\
         key:\n",
        dns.ip(),
        dns.port()
    );
    for (name, algorithm, secret) in KEYS {
        text += &format!("- id: {name}\n  algorithm: {algorithm}\n  secret: {secret}\n");
    }
    text += "acl:\n- id: ours\n  key: [key256, key384, key512]\n  action: [transfer, update]\n";
    text += "template:\n- id: default\n  global-module: mod-stats\n";
    text += "zone:\n";
    for zone in zones {
        let signing = if zone.starts_with("signed.") { "on" } else { "off" };
        text += &format!("- domain: {zone}\n  storage: \"{folder}\"\n  file: {zone}.zone\n");
        text += &format!("  acl: ours\n  dnssec-signing: {signing}\n");
    }
    text
}
