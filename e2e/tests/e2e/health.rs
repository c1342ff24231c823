//! Health checks against real backends, which are killed and come back: `fingerpost up` on Placements.

use std::io::{Read, Write};
use std::net::{IpAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use e2e::{BACKEND_PORT, Backend, Folder, Options, Up, ask, own_address, wait_for};
use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::Value;

const NAME: &str = "app.example.org";
const QUICK: &str = "interval: 200ms, failures: 1, successes: 1";

/// A Placement of regions `r0`, `r1` and so on.
fn placement(mode: &str, check: &str, addresses: &[IpAddr]) -> String {
    let region = |(number, address)| format!("  - {{name: r{number}, addresses: [{address}]}}\n");
    let regions: String = addresses.iter().enumerate().map(region).collect();
    format!(
        "apiVersion: fingerpost.dev/v1alpha1\nkind: Placement\nmetadata: {{name: app, namespace: apps}}\nspec:\n  \
         hostname: {NAME}\n  mode: {mode}\n  healthCheck: {{port: {BACKEND_PORT}, {check}}}\n  regions:\n{regions}"
    )
}

/// `up` on one Placement, with the folder that it is in.
struct World {
    up: Up,
    _folder: Folder,
}

impl World {
    fn start(mode: &str, check: &str, addresses: &[IpAddr]) -> Result<World> {
        World::start_with(mode, check, addresses, |options| options)
    }

    fn start_with(
        mode: &str,
        check: &str,
        addresses: &[IpAddr],
        with: impl Fn(Options) -> Options,
    ) -> Result<World> {
        let folder = Folder::new()?;
        folder.write("placement.yaml", &placement(mode, check, addresses))?;
        let up = Up::start(with(Options::folder(folder.path())))?;
        Ok(World { up, _folder: folder })
    }

    fn answer(&self) -> Result<Vec<String>> {
        Ok(ask(self.up.dns(0), NAME)?.records)
    }

    fn wait_for_answer(&self, addresses: &[IpAddr]) -> Result<()> {
        let mut expected: Vec<String> = addresses.iter().map(|address| format!("A {address}")).collect();
        expected.sort();
        wait_for(&format!("the answer {expected:?}"), || {
            let answer = self.answer()?;
            anyhow::ensure!(answer == expected, "it is {answer:?}; {}", self.up.get("/api/v1/health")?);
            Ok(Some(()))
        })
    }

    /// How many probes by TCP have failed.
    fn failed_runs(&self) -> Result<u64> {
        const LINE: &str = "fingerpost_probe_runs_total{protocol=\"TCP\",result=\"failure\"} ";
        let metrics = self.up.get("/metrics")?;
        let count = metrics.lines().find_map(|line| line.strip_prefix(LINE));
        Ok(count.context("no such metric")?.parse()?)
    }

    /// What the page says of a target.
    fn seen(&self, address: IpAddr) -> Result<Value> {
        let page: Value = serde_json::from_str(&self.up.get("/api/v1/health")?)?;
        let all = page.as_array().context("no list")?;
        let of_target = |entry: &&Value| entry["target"] == address.to_string();
        all.iter().find(of_target).cloned().context("no such target")
    }

    fn wait_for_seen(&self, address: IpAddr, state: &str, reason: &str) -> Result<Value> {
        wait_for(&format!("{address} to be {state}"), || {
            let seen = self.seen(address)?;
            let said = seen["reason"].as_str().unwrap_or_default();
            anyhow::ensure!(seen["state"] == state && said.starts_with(reason), "{seen}");
            Ok(Some(seen))
        })
    }
}

fn addresses(count: usize) -> Vec<IpAddr> {
    (0..count).map(|_| own_address()).collect()
}

#[test]
fn clients_leave_a_dead_backend_come_back_to_it_and_stay_with_the_last_when_all_are_dead() -> Result<()> {
    let regions = addresses(2);
    let first = Backend::silent(regions[0])?;
    let second = Backend::silent(regions[1])?;
    let world = World::start("active-hotstandby", &format!("protocol: TCP, {QUICK}"), &regions)?;
    let seen = world.wait_for_seen(regions[0], "up", "")?;
    assert_eq!((&seen["protocol"], &seen["port"]), (&"TCP".into(), &BACKEND_PORT.into()));
    world.wait_for_seen(regions[1], "up", "")?;
    world.wait_for_answer(&regions[..1])?;
    first.kill();
    world.wait_for_answer(&regions[1..])?;
    let seen = world.wait_for_seen(regions[0], "down", "connection refused")?;
    assert_eq!(seen["seenUp"], true);
    let first = Backend::silent(regions[0])?;
    world.wait_for_answer(&regions[..1])?;
    first.kill();
    world.wait_for_answer(&regions[1..])?;
    // Two that go within the time that noticing takes go together, so the second is to go later.
    let before = world.failed_runs()?;
    wait_for("ten more failures", || Ok((world.failed_runs()? >= before + 10).then_some(())))?;
    second.kill();
    world.wait_for_seen(regions[1], "down", "connection refused")?;
    assert_eq!(world.answer()?, [format!("A {}", regions[1])], "the last usable set");
    let explained = world.up.get(&format!("/api/v1/explain?name={NAME}"))?;
    let explained: serde_json::Value = serde_json::from_str(&explained)?;
    let probes = explained["probes"].as_array().cloned().unwrap_or_default();
    let is_down = |probe: &serde_json::Value| {
        probe["target"] == regions[0].to_string() && probe["port"] == BACKEND_PORT && probe["state"] == "down"
    };
    assert!(probes.iter().any(is_down), "{explained}");
    let metrics = world.up.get("/metrics")?;
    assert!(metrics.contains("fingerpost_probes{state=\"down\"} 2"), "{metrics}");
    Ok(())
}

#[test]
fn what_was_never_up_is_answered_until_another_is_up() -> Result<()> {
    let regions = addresses(2);
    let world = World::start("active-hotstandby", &format!("protocol: TCP, {QUICK}"), &regions)?;
    for address in &regions {
        let seen = world.wait_for_seen(*address, "down", "connection refused")?;
        assert_eq!(seen["seenUp"], false);
    }
    assert_eq!(world.answer()?, [format!("A {}", regions[0])], "nothing was up, so nothing moved");
    let _second = Backend::silent(regions[1])?;
    world.wait_for_answer(&regions[1..])?;
    let _first = Backend::silent(regions[0])?;
    world.wait_for_answer(&regions[..1])
}

/// Never done with its answer.
fn trickle(mut stream: TcpStream) {
    while stream.write_all(b"H").is_ok() {
        std::thread::sleep(Duration::from_millis(50));
        if stream.write_all(b"TTP/1.1 200 OK\r\nX: ").is_err() {
            return;
        }
    }
}

/// Says 200 to who asks for the right host and page, else 404.
fn right_page(mut stream: TcpStream) {
    let mut request = [0; 2048];
    let count = stream.read(&mut request).unwrap_or(0);
    let text = String::from_utf8_lossy(&request[..count]).into_owned();
    let host = format!("Host: {NAME}:{BACKEND_PORT}\r\n");
    let is_right = text.starts_with("GET /live?deep=yes HTTP/1.1\r\n") && text.contains(&host);
    let status = if is_right { "200 OK" } else { "404 Not Found" };
    // Whoever hangs up early has missed it.
    let _ = write!(stream, "HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
}

#[test]
fn only_who_answers_as_expected_is_up_and_each_other_says_why_not() -> Result<()> {
    let mut regions = addresses(6);
    let metadata: IpAddr = "169.254.169.254".parse()?;
    regions.push(metadata);
    let redirect = "HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1/\r\n\r\n";
    let _backends = [
        Backend::serving(regions[0], right_page)?,
        Backend::saying(regions[1], "HTTP/1.1 503 A secret\r\n\r\n")?,
        Backend::saying(regions[2], redirect)?,
        Backend::serving(regions[3], |mut stream| drop(stream.read_to_end(&mut Vec::new())))?,
        Backend::serving(regions[4], trickle)?,
        Backend::saying(regions[5], "a secret\r\n")?,
    ];
    let check = "protocol: HTTP, path: '/live?deep=yes', interval: 500ms, failures: 2, successes: 1";
    let world = World::start("active-active", check, &regions)?;
    world.wait_for_seen(regions[0], "up", "")?;
    let reasons = [
        "status 503",
        "status 302 redirects, which is not followed",
        "no answer within 500ms",
        "no answer within 500ms",
        "the answer is no HTTP",
        "169.254.169.254 must not be probed: an administrator can allow it with --allow-target",
    ];
    for (address, reason) in regions[1..].iter().zip(reasons) {
        world.wait_for_seen(*address, "down", reason)?;
    }
    world.wait_for_answer(&regions[..1])?;
    assert!(!world.up.get("/api/v1/health")?.contains("secret"), "a target's words are not repeated");
    Ok(())
}

#[test]
fn a_backend_that_flaps_must_answer_for_longer() -> Result<()> {
    let regions = addresses(2);
    let _steady = Backend::silent(regions[1])?;
    let mut backend = Backend::silent(regions[0])?;
    let world = World::start("active-hotstandby", &format!("protocol: TCP, {QUICK}"), &regions)?;
    world.wait_for_seen(regions[0], "up", "")?;
    backend.kill();
    world.wait_for_seen(regions[0], "down", "connection refused")?;
    backend = Backend::silent(regions[0])?;
    world.wait_for_seen(regions[0], "up", "")?;
    backend.kill();
    let flapping =
        "connection refused; it flaps (3 changes within ten minutes), so it must answer 2 times in a row";
    wait_for("the reason", || Ok((world.seen(regions[0])?["reason"] == flapping).then_some(())))?;
    let _back = Backend::silent(regions[0])?;
    world.wait_for_answer(&regions[..1])
}

/// A backend whose certificate is for this name.
fn encrypted(address: IpAddr, name: &str, issuer: &CertifiedIssuer<'_, KeyPair>) -> Result<Backend> {
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new(vec![name.to_owned()])?.signed_by(&key, issuer)?;
    let key = PrivateKeyDer::try_from(key.serialize_der()).map_err(anyhow::Error::msg)?;
    let config = ServerConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)?;
    let config = Arc::new(config);
    Backend::serving(address, move |stream| {
        let Ok(connection) = ServerConnection::new(config.clone()) else { return };
        let mut stream = StreamOwned::new(connection, stream);
        if stream.read(&mut [0; 2048]).is_ok() {
            let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
        }
    })
}

#[test]
fn a_certificate_for_another_name_is_no_good() -> Result<()> {
    let regions = addresses(2);
    let issuer = CertifiedIssuer::self_signed(CertificateParams::new(Vec::new())?, KeyPair::generate()?)?;
    let folder = Folder::new()?;
    folder.write("authority.pem", &issuer.pem())?;
    let _backends =
        [encrypted(regions[0], "other.example.org", &issuer)?, encrypted(regions[1], NAME, &issuer)?];
    let authority = folder.path().join("authority.pem").display().to_string();
    let check = "protocol: HTTPS, interval: 1s, failures: 1, successes: 1";
    let world = World::start_with("active-hotstandby", check, &regions, |options| {
        options.variable("SSL_CERT_FILE", &authority)
    })?;
    world.wait_for_seen(regions[0], "down", "certificate not valid for app.example.org")?;
    world.wait_for_seen(regions[1], "up", "")?;
    world.wait_for_answer(&regions[1..])
}
