//! A real PowerDNS with sqlite, started and ended by a test.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::{Process, own_address};

const SCHEMA: &str = "/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql";
/// The key of its API.
pub(crate) const API_KEY: &str = "test-key";

/// A running PowerDNS; it goes with its data.
pub struct PowerDns {
    process: Process,
    address: IpAddr,
    // Held so that the database stays for as long as the process needs it.
    _folder: TempDir,
}

impl PowerDns {
    /// Starts it and waits until its API answers.
    pub fn start() -> Result<PowerDns> {
        let folder = tempfile::tempdir()?;
        let address = own_address();
        make_database(&folder)?;
        fs::write(folder.path().join("pdns.conf"), configuration(&folder, address))?;
        let mut command = Command::new("/usr/sbin/pdns_server");
        command.arg(format!("--config-dir={}", folder.path().display()));
        command.args(["--daemon=no", "--guardian=no"]);
        let mut process = Process::start("pdns_server", &command).context(hint("pdns-server"))?;
        let url = format!("http://{address}:8081/api/v1/servers/localhost");
        process.wait_until("PowerDNS to be ready", || {
            ureq::get(&url).header("X-API-Key", API_KEY).call().is_ok()
        })?;
        Ok(PowerDns { process, address, _folder: folder })
    }

    /// Where its API is.
    pub fn url(&self) -> String {
        format!("http://{}:8081", self.address)
    }

    /// Where it answers queries.
    pub fn dns(&self) -> SocketAddr {
        SocketAddr::new(self.address, 53)
    }

    /// The id of its process.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Makes a zone without anything in it but its SOA.
    pub fn make_zone(&self, origin: &str) -> Result<()> {
        let body = format!(
            r#"{{"name":"{origin}.","kind":"Native","nameservers":["ns.{origin}."],"api_rectify":false}}"#
        );
        let url = format!("{}/api/v1/servers/localhost/zones", self.url());
        let request =
            ureq::post(&url).header("X-API-Key", API_KEY).header("Content-Type", "application/json");
        request.send(&body).with_context(|| format!("PowerDNS did not make the zone {origin}"))?;
        Ok(())
    }
}

fn hint(package: &str) -> String {
    format!("run `cargo xtask test` as root, or `apt-get install {package}`")
}

fn make_database(folder: &TempDir) -> Result<()> {
    let schema = fs::File::open(SCHEMA).with_context(|| hint("pdns-backend-sqlite3"))?;
    let mut command = Command::new("sqlite3");
    command.arg(folder.path().join("pdns.sqlite3")).stdin(Stdio::from(schema));
    let output = command.output().with_context(|| hint("sqlite3"))?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

fn configuration(folder: &TempDir, address: IpAddr) -> String {
    let folder = folder.path().display();
    format!(
        "launch=gsqlite3\ngsqlite3-database={folder}/pdns.sqlite3\nlocal-address={address}\nlocal-port=53\n\
         socket-dir={folder}\nsetuid=\nsetgid=\napi=yes\napi-key={API_KEY}\nwebserver=yes\n\
         webserver-address={address}\nwebserver-port=8081\nwebserver-allow-from=127.0.0.0/8\n\
         webserver-max-bodysize=200\ncache-ttl=0\nquery-cache-ttl=0\nnegquery-cache-ttl=0\nzone-cache-refresh-interval=0\n"
    )
}
