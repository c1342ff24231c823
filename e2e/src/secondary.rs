//! Real secondaries, configured as docs/transfers.md says, started and ended by a test.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::{Process, dig, own_address};

/// The secret of the key `transfer` in the documentation's examples.
pub const TRANSFER_SECRET: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// Which program it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecondaryProgram {
    /// Knot's `knotd`, which follows the catalog.
    Knot,
    /// NSD, which has `example.org` alone.
    Nsd,
    /// BIND's `named`, which follows the catalog.
    Bind,
}

/// A place for a secondary, so that its primary can know it before it runs.
#[derive(Clone, Copy, Debug)]
pub struct SecondaryPlace {
    program: SecondaryProgram,
    dns: SocketAddr,
}

/// A running secondary; it goes with its data.
pub struct Secondary {
    place: SecondaryPlace,
    process: Process,
    // Held so that the data stays for as long as the process needs it.
    _folder: TempDir,
}

impl SecondaryPlace {
    /// A free place. BIND takes only addresses that an interface has, so it gets a port of its own.
    pub fn new(program: SecondaryProgram) -> Result<SecondaryPlace> {
        let dns = match program {
            SecondaryProgram::Bind => TcpListener::bind("127.0.0.1:0")?.local_addr()?,
            _ => SocketAddr::new(own_address(), 53),
        };
        Ok(SecondaryPlace { program, dns })
    }

    /// Where it will answer.
    pub fn dns(&self) -> SocketAddr {
        self.dns
    }

    /// Starts it with the documentation's configuration, and waits until it answers.
    pub fn start(self, primary: SocketAddr) -> Result<Secondary> {
        let folder = tempfile::tempdir()?;
        let documented = self.program.documented()?;
        let (own, primary_port) = (self.dns.ip().to_string(), primary.port().to_string());
        let text = documented
            .replace("192.0.2.53@53", &format!("{}@{primary_port}", primary.ip()))
            .replace("192.0.2.53 port 53", &format!("{} port {primary_port}", primary.ip()))
            .replace("192.0.2.53", &primary.ip().to_string())
            .replace("198.51.100.53", &own);
        let path = folder.path().join("server.conf");
        fs::write(&path, self.program.complete(text, folder.path(), self.dns))?;
        let mut process = self.program.run(folder.path(), &path)?;
        process.wait_until("the secondary to answer", || dig(self.dns, ". SOA").is_ok())?;
        Ok(Secondary { place: self, process, _folder: folder })
    }
}

impl Secondary {
    /// Where it answers.
    pub fn dns(&self) -> SocketAddr {
        self.place.dns
    }

    /// Which program it is.
    pub fn program(&self) -> SecondaryProgram {
        self.place.program
    }

    /// Everything that it has printed.
    pub fn output(&self) -> String {
        self.process.output()
    }
}

impl SecondaryProgram {
    /// The example for it in the documentation: the block after its heading.
    fn documented(self) -> Result<String> {
        let heading = match self {
            SecondaryProgram::Knot => "## Knot DNS",
            SecondaryProgram::Nsd => "## NSD",
            SecondaryProgram::Bind => "## BIND",
        };
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/transfers.md");
        let page = fs::read_to_string(path)?;
        let (_, section) = page.split_once(heading).with_context(|| format!("no {heading} in the page"))?;
        let mut fences = section.split("```");
        let block = fences.nth(1).context("no example in the section")?;
        Ok(block.split_once('\n').map(|(_, text)| text.to_owned()).unwrap_or_default())
    }

    /// The example with what it leaves to the machine: where to listen and to write.
    fn complete(self, text: String, folder: &Path, dns: SocketAddr) -> String {
        let (folder, address, port) = (folder.display(), dns.ip(), dns.port());
        match self {
            SecondaryProgram::Knot => {
                let storage = format!("    storage: \"{folder}\"\n");
                let own = format!("  - id: default\n{storage}  - id: member\n{storage}");
                let text = text.replacen("  - id: member\n", &own, 1);
                format!(
                    "server:\n  rundir: \"{folder}\"\n  listen: {address}@{port}\n\
                 database:\n  storage: \"{folder}\"\n\
                 log:\n- target: stderr\n  any: info\n{text}"
                )
            }
            SecondaryProgram::Nsd => format!(
                "server:\n  ip-address: {address}\n  port: {port}\n  username: \"\"\n  chroot: \"\"\n\
                 \x20 zonesdir: \"{folder}\"\n  database: \"\"\n  pidfile: \"{folder}/nsd.pid\"\n\
                 \x20 xfrdfile: \"{folder}/xfrd.state\"\n  xfrdir: \"{folder}\"\n\
                 \x20 zonelistfile: \"{folder}/zones\"\n  verbosity: 2\n\
                 remote-control:\n  control-enable: no\n{text}"
            ),
            // BIND takes one block of options only, so what is ours goes into the example's.
            SecondaryProgram::Bind => {
                let own = format!(
                    "controls {{ }};\noptions {{\n  directory \"{folder}\"; pid-file \"{folder}/named.pid\";\n\
                     \x20 session-keyfile \"{folder}/session.key\"; recursion no; dnssec-validation no;\n\
                     \x20 listen-on port {port} {{ {address}; }}; listen-on-v6 {{ none; }};\n"
                );
                text.replacen("options {\n", &own, 1)
            }
        }
    }

    fn run(self, folder: &Path, path: &Path) -> Result<Process> {
        let (program, package, arguments) = match self {
            SecondaryProgram::Knot => ("/usr/sbin/knotd", "knot", [].as_slice()),
            SecondaryProgram::Nsd => ("/usr/sbin/nsd", "nsd", ["-d"].as_slice()),
            SecondaryProgram::Bind => ("/usr/sbin/named", "bind9", ["-g", "-n", "1"].as_slice()),
        };
        ensure!(
            PathBuf::from(program).is_file(),
            "{program} is missing: run `cargo xtask test` as root, or `apt-get install {package}`"
        );
        let mut command = Command::new(program);
        command.args(arguments).arg("-c").arg(path).current_dir(folder);
        Process::start(program, &command)
    }
}
