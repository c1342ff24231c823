//! A real PowerDNS, started and ended by a test.

use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use api::dnsclass::ZoneKind;
use backends::powerdns::{Powerdns, Settings};
use backends::transport::guard::Guard;
use backends::transport::http::{HttpClient, Trust};
use serde_json::Value;
use tempfile::TempDir;
use ureq::Agent;

use crate::{Process, call, own_address};

const SCHEMA: &str = "/usr/share/pdns-backend-sqlite3/schema/schema.sqlite3.sql";
/// The key of its API.
pub(crate) const API_KEY: &str = "test-key";

/// Where a PowerDNS keeps its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// A database file of SQL tables.
    Sqlite,
    /// A file of ordered keys.
    Lmdb,
}

impl Store {
    /// Every store that we test with.
    pub const ALL: [Store; 2] = [Store::Sqlite, Store::Lmdb];
}

/// The manifests of a DNSClass `edge` at this URL, and of its Secret.
pub fn powerdns_class(url: &str) -> String {
    format!(
        "
apiVersion: v1
kind: Secret
metadata: {{name: powerdns, namespace: dns}}
stringData: {{api-key: {API_KEY}}}
---
apiVersion: dns.homelab.mortenolsen.pro/v1alpha1
kind: DNSClass
metadata: {{name: edge}}
spec:
  powerdns: {{url: '{url}', apiKeySecretRef: {{name: powerdns, namespace: dns, key: api-key}}}}
"
    )
}

/// A running PowerDNS; it goes with its data.
pub struct PowerDns {
    process: Process,
    address: IpAddr,
    folder: TempDir,
}

impl PowerDns {
    /// Starts it with sqlite and waits until its API answers.
    pub fn start() -> Result<PowerDns> {
        PowerDns::with(Store::Sqlite, "")
    }

    /// Starts it with a store and further lines of configuration.
    pub fn with(store: Store, lines: &str) -> Result<PowerDns> {
        let folder = tempfile::tempdir()?;
        let address = own_address();
        let launch = launch(store, &folder)?;
        let configuration = format!("{launch}{}{lines}\n", configuration(&folder, address));
        fs::write(folder.path().join("pdns.conf"), configuration)?;
        let process = run(&folder, address)?;
        Ok(PowerDns { process, address, folder })
    }

    /// Kills it.
    pub fn kill(&mut self) -> Result<()> {
        self.process.kill()
    }

    /// Kills it, if it still runs, and starts it again with the same data.
    pub fn restart(&mut self) -> Result<()> {
        self.process.kill()?;
        self.process = run(&self.folder, self.address)?;
        Ok(())
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

    /// Everything that it has printed.
    pub fn output(&self) -> String {
        self.process.output()
    }

    /// Our client of it, which makes plain zones.
    pub fn provider(&self) -> Result<Powerdns> {
        self.provider_of(ZoneKind::Native, false)
    }

    /// Our client of it, which makes zones of this kind.
    pub fn provider_of(&self, zone_kind: ZoneKind, dnssec: bool) -> Result<Powerdns> {
        self.provider_with(API_KEY, zone_kind, dnssec)
    }

    /// Our client of it, with this key.
    pub fn provider_with(&self, key: &str, zone_kind: ZoneKind, dnssec: bool) -> Result<Powerdns> {
        let settings = Settings {
            url: self.url(),
            server_id: "localhost".into(),
            api_key: key.into(),
            zone_kind,
            dnssec,
        };
        let allowed = vec!["127.0.0.0/8".parse()?];
        let guard = Arc::new(Guard::allowing(allowed));
        let client = HttpClient::new(guard, Duration::from_secs(30), &Trust::default())?;
        Ok(Powerdns::new(settings, client)?)
    }

    /// Sends a request to its API as anybody else would; the answer must be a success.
    pub fn send(&self, method: &str, path: &str, body: &str) -> Result<Value> {
        let config = Agent::config_builder().http_status_as_error(false).allow_non_standard_methods(true);
        let agent: Agent = config.timeout_global(Some(Duration::from_secs(60))).build().into();
        let request = ureq::http::Request::builder().method(method);
        let request = request.uri(format!("{}/api/v1/servers/localhost{path}", self.url()));
        let request = request.header("X-API-Key", API_KEY).header("Content-Type", "application/json");
        let mut answer = agent.run(request.body(body.to_owned())?)?;
        let text = answer.body_mut().with_config().limit(1 << 30).read_to_string()?;
        ensure!(answer.status().is_success(), "{method} {path} was answered {}: {text}", answer.status());
        Ok(serde_json::from_str(&text).unwrap_or(Value::Null))
    }

    /// Makes a zone without anything in it but its SOA.
    pub fn make_zone(&self, origin: &str) -> Result<()> {
        let body = format!(
            r#"{{"name":"{origin}.","kind":"Native","nameservers":["ns.{origin}."],"api_rectify":false}}"#
        );
        self.send("POST", "/zones", &body)
            .with_context(|| format!("PowerDNS did not make the zone {origin}"))?;
        Ok(())
    }

    /// Replaces a record set as anybody else would.
    pub fn put(&self, zone: &str, name: &str, record_type: &str, content: &str) -> Result<()> {
        let body = serde_json::json!({"rrsets": [{
            "name": name, "type": record_type, "ttl": 60, "changetype": "REPLACE",
            "records": [{"content": content}],
        }]});
        self.send("PATCH", &format!("/zones/{zone}"), &body.to_string()).map(drop)
    }

    /// The requests that it was sent since its start, as `METHOD /path`, each with the octets of its answer.
    pub fn requests(&self) -> Result<Vec<(String, usize)>> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let marker = format!("/marker-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        // It writes its log after its answers: once it has told of the marker, it has told of all before.
        ensure!(self.send("GET", &marker, "").is_err(), "there is a page {marker}");
        self.process.wait_for_output(&marker)?;
        std::thread::sleep(Duration::from_millis(50));
        Ok(self
            .process
            .output()
            .lines()
            .filter_map(request)
            .filter(|(line, _)| !line.contains("/marker-"))
            .collect())
    }

    /// How many of the requests that it was sent begin and end so.
    pub fn count(&self, start: &str, end: &str) -> Result<usize> {
        let matches = |(line, _): &&(String, usize)| line.starts_with(start) && line.ends_with(end);
        Ok(self.requests()?.iter().filter(matches).count())
    }

    /// Runs PowerDNS's own tool on the data.
    pub fn tool(&self, arguments: &[&str]) -> Result<Output> {
        let folder = format!("--config-dir={}", self.folder.path().display());
        call("pdnsutil", "pdns-server", &[&[folder.as_str()], arguments].concat())
    }

    /// Runs statements on the database of a server with sqlite.
    pub fn sql(&self, statements: &str) -> Result<()> {
        let file = self.folder.path().join("statements.sql");
        fs::write(&file, statements)?;
        sqlite(&self.folder, fs::File::open(file)?)
    }
}

/// `FINGERPOST_PDNS_SERVER` names another one, to test with another version.
fn program() -> PathBuf {
    std::env::var_os("FINGERPOST_PDNS_SERVER").map_or("/usr/sbin/pdns_server".into(), PathBuf::from)
}

fn run(folder: &TempDir, address: IpAddr) -> Result<Process> {
    let mut command = Command::new(program());
    command.arg(format!("--config-dir={}", folder.path().display()));
    command.args(["--daemon=no", "--guardian=no"]);
    let mut process = Process::start("pdns_server", &command).context(hint("pdns-server"))?;
    let url = format!("http://{address}:8081/api/v1/servers/localhost");
    process
        .wait_until("PowerDNS to be ready", || ureq::get(&url).header("X-API-Key", API_KEY).call().is_ok())?;
    Ok(process)
}

/// A request out of a line of the log.
fn request(line: &str) -> Option<(String, usize)> {
    let mut parts = line.split_once("[webserver]")?.1.split('"').skip(1);
    let (request, answer) = (parts.next()?.strip_suffix(" HTTP/1.1")?, parts.next()?);
    let octets = answer.split_whitespace().nth(1)?.parse().ok()?;
    Some((request.replace("/api/v1/servers/localhost", ""), octets))
}

fn hint(package: &str) -> String {
    format!("run `cargo xtask test` as root, or `apt-get install {package}`")
}

fn launch(store: Store, folder: &TempDir) -> Result<String> {
    let path = folder.path().display();
    Ok(match store {
        Store::Sqlite => {
            sqlite(folder, fs::File::open(SCHEMA).with_context(|| hint("pdns-backend-sqlite3"))?)?;
            format!("launch=gsqlite3\ngsqlite3-database={path}/pdns.sqlite3\ngsqlite3-dnssec=yes\n")
        }
        Store::Lmdb => format!("launch=lmdb\nlmdb-filename={path}/pdns.lmdb\n"),
    })
}

fn sqlite(folder: &TempDir, statements: fs::File) -> Result<()> {
    let mut command = Command::new("sqlite3");
    command.arg(folder.path().join("pdns.sqlite3")).stdin(Stdio::from(statements));
    let output = command.output().with_context(|| hint("sqlite3"))?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

fn configuration(folder: &TempDir, address: IpAddr) -> String {
    let folder = folder.path().display();
    format!(
        "local-address={address}\nlocal-port=53\n\
         socket-dir={folder}\nsetuid=\nsetgid=\napi=yes\napi-key={API_KEY}\nwebserver=yes\n\
         webserver-address={address}\nwebserver-port=8081\nwebserver-allow-from=127.0.0.0/8\n\
         webserver-max-bodysize=200\nloglevel=6\nwebserver-loglevel=normal\n\
         cache-ttl=0\nquery-cache-ttl=0\nnegquery-cache-ttl=0\nzone-cache-refresh-interval=0\n"
    )
}
