//! What probing costs: `cargo xtask bench probes`.
//!
//! `fingerpost up` probes so many addresses every five seconds. They are all on this machine, behind one
//! listener in another process, so that the time on a processor that is counted is that of the prober
//! alone: the whole of its process, with what the kernel does in its name.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use e2e::{Folder, Options, Up, wait_for_within};
use rcgen::{CertificateParams, CertifiedIssuer, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// Addresses of a region, and regions of a Placement.
const ADDRESSES: usize = 32;
const REGIONS: usize = 2;
const THREADS: usize = 4;
const INTERVAL: Duration = Duration::from_secs(5);
/// The share of a core that TCP and HTTP may take.
const BAR: f64 = 0.3;
const NAME: &str = "app.example.org";

fn main() -> Result<()> {
    let numbers: Vec<usize> = std::env::args().filter_map(|argument| argument.parse().ok()).collect();
    let [targets, seconds] = numbers.as_slice() else {
        println!("usage: cargo xtask bench probes [--targets NUMBER] [--seconds NUMBER]");
        return Ok(());
    };
    println!(
        "| every 5 s | targets | share of a core | µs a probe | up | memory |\n|---|---|---|---|---|---|"
    );
    let mut over = Vec::new();
    for protocol in ["TCP", "HTTP", "HTTPS"] {
        let share = measure(protocol, *targets, Duration::from_secs(*seconds as u64))?;
        if share > BAR && protocol != "HTTPS" {
            over.push(protocol);
        }
    }
    ensure!(over.is_empty(), "over {BAR} of a core: {}", over.join(", "));
    Ok(())
}

fn measure(protocol: &str, targets: usize, window: Duration) -> Result<f64> {
    let folder = Folder::new()?;
    let port = serve(protocol, &folder)?;
    folder.write("placements.yaml", &manifests(protocol, port, targets))?;
    let authority = folder.path().join("authority.pem").display().to_string();
    let up = Up::start(Options::folder(folder.path()).variable("SSL_CERT_FILE", &authority))?;
    let patience = Duration::from_secs(180);
    wait_for_within(patience, "nearly every target to be up", || {
        Ok((count(&up, "up")? * 100 >= targets * 99).then_some(()))
    })?;
    let (before, start) = (up.usage()?, Instant::now());
    std::thread::sleep(window);
    let (after, took) = (up.usage()?, start.elapsed());
    let share = after.since(&before).as_secs_f64() / took.as_secs_f64();
    let cost = share * INTERVAL.as_secs_f64() / targets as f64 * 1e6;
    let (alive, memory) = (count(&up, "up")?, after.memory >> 20);
    println!("| {protocol} | {targets} | {:.1} % | {cost:.0} | {alive} | {memory} MB |", share * 100.0);
    Ok(share)
}

/// How many targets are in a state, by the metrics.
fn count(up: &Up, state: &str) -> Result<usize> {
    let metrics = up.get("/metrics")?;
    let line = format!("fingerpost_probes{{state=\"{state}\"}} ");
    let number = metrics.lines().find_map(|text| text.strip_prefix(&line)).context("no such metric")?;
    Ok(number.parse()?)
}

fn manifests(protocol: &str, port: u16, targets: usize) -> String {
    let mut addresses = (0..targets).map(|number| {
        let [.., high, low] = (number as u32 + 1).to_be_bytes();
        Ipv4Addr::new(127, 210, high, low)
    });
    let mut text = String::new();
    for number in 0..targets.div_ceil(ADDRESSES * REGIONS) {
        let _ = write!(
            text,
            "---\napiVersion: fingerpost.dev/v1alpha1\nkind: Placement\nmetadata: {{name: p{number}, namespace: bench}}\n\
             spec:\n  hostname: p{number}.probes.example\n  mode: active-active\n  healthCheck: {}\n  regions:\n",
            check(protocol, port)
        );
        for region in 0..REGIONS {
            let some: Vec<String> =
                addresses.by_ref().take(ADDRESSES).map(|address| address.to_string()).collect();
            let some = if some.is_empty() { vec!["127.210.255.254".to_owned()] } else { some };
            let _ = writeln!(text, "  - {{name: r{region}, addresses: [{}]}}", some.join(", "));
        }
    }
    text
}

fn check(protocol: &str, port: u16) -> String {
    match protocol {
        "TCP" => format!("{{protocol: TCP, port: {port}}}"),
        _ => format!("{{protocol: {protocol}, port: {port}, host: {NAME}, path: /healthz}}"),
    }
}

/// Serves all addresses from this process, and says on which port.
fn serve(protocol: &str, folder: &Folder) -> Result<u16> {
    let take: Arc<dyn Fn(TcpStream) + Send + Sync> = match protocol {
        "TCP" => Arc::new(drop),
        "HTTP" => Arc::new(answer),
        "HTTPS" => {
            let config = encryption(folder)?;
            Arc::new(move |stream| {
                if let Ok(connection) = ServerConnection::new(config.clone()) {
                    answer(StreamOwned::new(connection, stream));
                }
            })
        }
        other => bail!("no such protocol: {other}"),
    };
    let listener = listener()?;
    let port = listener.local_addr()?.port();
    for _ in 0..THREADS {
        let (listener, take) = (listener.try_clone()?, take.clone());
        std::thread::spawn(move || listener.incoming().flatten().for_each(|stream| take(stream)));
    }
    Ok(port)
}

/// One with room for those that come while the machine is busy.
fn listener() -> Result<TcpListener> {
    e2e::block_on(async {
        let socket = tokio::net::TcpSocket::new_v4()?;
        socket.bind((Ipv4Addr::UNSPECIFIED, 0).into())?;
        let listener = socket.listen(4096)?.into_std()?;
        listener.set_nonblocking(false)?;
        Ok::<_, anyhow::Error>(listener)
    })?
}

fn answer(mut stream: impl Read + Write) {
    // Whoever hangs up early has missed the page, and asks again.
    if stream.read(&mut [0; 2048]).is_ok() {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nup\n");
    }
}

fn encryption(folder: &Folder) -> Result<Arc<ServerConfig>> {
    let issuer = CertifiedIssuer::self_signed(CertificateParams::new(Vec::new())?, KeyPair::generate()?)?;
    folder.write("authority.pem", &issuer.pem())?;
    let key = KeyPair::generate()?;
    let certificate = CertificateParams::new(vec![NAME.to_owned()])?.signed_by(&key, &issuer)?;
    let key = PrivateKeyDer::try_from(key.serialize_der()).map_err(anyhow::Error::msg)?;
    let config = ServerConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)?;
    Ok(Arc::new(config))
}
