//! HTTP clients that read slowly, send half requests or send much: DNS and health are answered, and memory is bounded.

use std::io::{Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use e2e::{Folder, Options, ProviderServer, Up, Usage, fetch, wait_for};
use hickory_proto::op::{Message, Query};
use hickory_proto::rr::{Name, RecordType};
use rstest::rstest;

const PATIENCE: Duration = Duration::from_secs(10);
const MIB: u64 = 1 << 20;

/// How much a test does; `cargo xtask soak http` asks for more.
struct Numbers {
    records: usize,
    readers: usize,
    halves: usize,
    bodies: usize,
}

fn numbers() -> Numbers {
    match std::env::var_os("FINGERPOST_SOAK").is_some() {
        true => Numbers { records: 200_000, readers: 400, halves: 2000, bodies: 200 },
        false => Numbers { records: 20_000, readers: 280, halves: 300, bodies: 24 },
    }
}

/// What the records of a large zone may cost for all readers together: buffers of a few hundred connections.
const READERS_BOUND: u64 = 64 * MIB;
/// What large bodies may cost: the budget of 32 MiB, what is parsed of it, and buffers.
const BODIES_BOUND: u64 = 256 * MIB;

fn send(address: SocketAddr, text: &str) -> Result<TcpStream> {
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(text.as_bytes())?;
    Ok(stream)
}

/// The status of the answer to a request; 0 where the connection was closed instead.
fn status(address: SocketAddr, request: &str) -> u16 {
    let answer = send(address, request).and_then(|mut stream| {
        let mut head = [0; 12];
        stream.read_exact(&mut head)?;
        Ok(String::from_utf8_lossy(&head[9..]).parse()?)
    });
    answer.unwrap_or_default()
}

/// Asks for the SOA of the zone over TCP.
fn ask_by_stream(server: SocketAddr) -> Result<()> {
    let mut query = Message::query();
    query.add_query(Query::query(Name::from_ascii("example.org.")?, RecordType::SOA));
    let query = query.to_vec()?;
    let mut stream = TcpStream::connect_timeout(&server, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(&(query.len() as u16).to_be_bytes())?;
    stream.write_all(&query)?;
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let mut reply = vec![0; usize::from(u16::from_be_bytes(length))];
    stream.read_exact(&mut reply)?;
    ensure!(!Message::from_vec(&reply)?.answers.is_empty(), "no answer");
    Ok(())
}

/// How often DNS over TCP and health were asked and have answered.
#[derive(Default)]
struct Asked {
    count: AtomicU64,
    has_failed: AtomicBool,
}

impl Asked {
    /// Waits until both were asked, and have answered, since now; not where one has failed to.
    fn wait_for_more(&self) -> Result<()> {
        let before = self.count.load(Ordering::Relaxed);
        wait_for("answers", || {
            // One exchange may have begun before.
            let has_more = self.count.load(Ordering::Relaxed) > before + 1;
            Ok((has_more || self.has_failed.load(Ordering::Relaxed)).then_some(()))
        })
    }

    fn ask(&self, dns: SocketAddr, health: &str) -> Result<()> {
        let asked = ask_by_stream(dns).context("DNS over TCP");
        let asked = asked.and_then(|()| fetch(health).map(drop).context("health"));
        match asked.is_ok() {
            true => drop(self.count.fetch_add(1, Ordering::Relaxed)),
            false => self.has_failed.store(true, Ordering::Relaxed),
        }
        asked
    }
}

/// Asks by DNS over TCP and for health, again and again, while something else happens.
fn answered_throughout(
    dns: SocketAddr,
    health: &str,
    work: impl FnOnce(&Asked) -> Result<()>,
) -> Result<u64> {
    let (over, asked) = (AtomicBool::new(false), Asked::default());
    std::thread::scope(|scope| {
        let asking = scope.spawn(|| -> Result<()> {
            while !over.load(Ordering::Relaxed) {
                asked.ask(dns, health)?;
                std::thread::sleep(Duration::from_millis(20));
            }
            Ok(())
        });
        let worked = work(&asked);
        over.store(true, Ordering::Relaxed);
        asking.join().map_err(|_| anyhow::anyhow!("asking failed"))??;
        worked
    })?;
    let count = asked.count.into_inner();
    ensure!(count > 0, "nothing was asked");
    Ok(count)
}

fn large_zone(records: usize) -> Result<Folder> {
    let folder = Folder::new()?;
    let hosts = (0..records).map(|number| format!("host-{number} A 192.0.2.{}\n", number % 256));
    let text =
        format!("$TTL 300\n@ SOA ns noc 1 2 3 4 5\n@ NS ns\nns A 192.0.2.1\n{}", hosts.collect::<String>());
    folder.write("example.org.zone", &text)?;
    Ok(folder)
}

/// The addresses of the clients that read slowly or send half requests: together they may have more connections than
/// the listener, and none of them is the address of the client that asks.
const SLOW_CLIENTS: usize = 8;

/// Opens a connection and sends a part of a request, or all of it, from one of the slow clients. A connection that
/// the server refuses or evicts meanwhile is what the client deserves.
fn open_slow(number: usize, server: SocketAddr, text: &str) -> Result<TcpStream> {
    let mut stream = connect_from(client(number % SLOW_CLIENTS), server)?;
    let _ = stream.write_all(text.as_bytes());
    Ok(stream)
}

#[test]
fn slow_readers_and_half_requests_stop_nothing() -> Result<()> {
    let Numbers { records, readers, halves, .. } = numbers();
    let folder = large_zone(records)?;
    let up = Up::start(Options::folder(folder.path()))?;
    let http = SocketAddr::new(up.address(), 8053);
    let health = format!("http://{http}/healthz");
    // What is allocated once, at the first request of a kind, is no reader's.
    ensure!(up.get("/api/v1/recordsets")?.len() > records * 50, "the whole zone is read");
    let before = up.usage()?;
    let asked = answered_throughout(up.dns(0), &health, |asked| {
        let mut open = Vec::new();
        for number in 0..readers {
            let pages = ["/api/v1/plan", "/api/v1/recordsets", "/api/v1/zone?name=example.org"];
            let page = pages[number % pages.len()];
            open.push(open_slow(number, http, &format!("GET {page} HTTP/1.1\r\nHost: {http}\r\n\r\n"))?);
        }
        asked.wait_for_more()?;
        for number in 0..halves {
            open.push(open_slow(number, http, "GET /healthz HTTP/1.1\r\nHost: ")?);
        }
        asked.wait_for_more()?;
        std::thread::sleep(Duration::from_secs(2));
        asked.wait_for_more()
    })?;
    let grown = up.usage()?.peak.saturating_sub(before.peak);
    ensure!(grown < READERS_BOUND, "{readers} readers and {halves} half requests cost {} MiB", grown / MIB);
    println!(
        "counted: {readers} unread answers of a zone of {records} records and {halves} half requests: {} MiB more \
         (bound {} MiB), {asked} of {asked} answered by DNS over TCP and /healthz meanwhile",
        grown / MIB,
        READERS_BOUND / MIB
    );
    Ok(())
}

#[test]
fn large_bodies_stop_nothing() -> Result<()> {
    for (protocol, media_type) in
        [("webhook", "application/json"), ("external-dns", "application/external.dns.webhook+json;version=1")]
    {
        let (state, bodies) = (tempfile::tempdir()?, numbers().bodies);
        let mut server =
            ProviderServer::start(state.path(), &["--zone", "example.org", "--protocol", protocol])?;
        let address: SocketAddr = server.authority().parse()?;
        let health = format!("http://{}:8080/readyz", address.ip());
        let body = " ".repeat(7 << 20);
        let before = Usage::of(server.process().id())?;
        let (taken, busy) = (AtomicU64::new(0), AtomicU64::new(0));
        let asked = answered_throughout(server.dns(), &health, |_| {
            std::thread::scope(|scope| {
                for number in 0..bodies {
                    let (taken, busy, body) = (&taken, &busy, &body);
                    // Each client has an address of its own, so that no client's share of connections counts.
                    scope.spawn(move || {
                        let request = format!(
                            "POST /records HTTP/1.1\r\nHost: {address}\r\nContent-Type: {media_type}\r\n\
                             Connection: close\r\nContent-Length: {}\r\n\r\n",
                            body.len()
                        );
                        // The body holds nothing, which is told once it has been read.
                        match status_from(client(number), address, &request, body) {
                            400 => taken.fetch_add(1, Ordering::Relaxed),
                            _ => busy.fetch_add(1, Ordering::Relaxed),
                        };
                    });
                }
            });
            Ok(())
        })?;
        let grown = Usage::of(server.process().id())?.peak.saturating_sub(before.peak);
        let (taken, busy) = (taken.into_inner(), busy.into_inner());
        ensure!(grown < BODIES_BOUND, "{protocol}: {bodies} bodies cost {} MiB", grown / MIB);
        ensure!(taken > 0, "{protocol}: no body was read, {busy} were refused");
        println!(
            "counted: {protocol}: {bodies} bodies of 7 MiB at once: {} MiB more (bound {} MiB), {taken} read and \
             {busy} asked to come back, {asked} of {asked} answered by DNS over TCP and /readyz meanwhile",
            grown / MIB,
            BODIES_BOUND / MIB
        );
    }
    Ok(())
}

fn client(number: usize) -> IpAddr {
    IpAddr::from([127, 77, (number / 250) as u8, (number % 250) as u8 + 1])
}

/// A connection from an address of our choice.
fn connect_from(client: IpAddr, server: SocketAddr) -> Result<TcpStream> {
    let stream = e2e::block_on(async {
        let socket = tokio::net::TcpSocket::new_v4()?;
        socket.bind(SocketAddr::new(client, 0))?;
        anyhow::Ok(tokio::time::timeout(PATIENCE, socket.connect(server)).await??.into_std()?)
    })??;
    stream.set_nonblocking(false)?;
    Ok(stream)
}

fn status_from(client: IpAddr, server: SocketAddr, head: &str, body: &str) -> u16 {
    let answer = connect_from(client, server).and_then(|mut stream| {
        stream.set_read_timeout(Some(6 * PATIENCE))?;
        stream.write_all(head.as_bytes())?;
        // Where the server refuses early, the rest of the body has no reader.
        let _ = stream.write_all(body.as_bytes());
        let mut line = [0; 12];
        stream.read_exact(&mut line)?;
        Ok(String::from_utf8_lossy(&line[9..]).parse()?)
    });
    answer.unwrap_or_default()
}

#[rstest]
#[case::webhook(&[], "application/json", r#"{"record":{"type":"A","domain":"example.org","subdomain":"www","values":["192.0.2.1"]},"operation":"upsert"}"#, 200)]
#[case::external_dns(&["--protocol", "external-dns"], "application/external.dns.webhook+json;version=1", r#"{"create":[{"dnsName":"www.example.org","recordType":"A","targets":["192.0.2.1"]}]}"#, 204)]
fn no_web_page_writes_to_a_provider_on_loopback(
    #[case] flags: &[&str],
    #[case] media_type: &str,
    #[case] body: &str,
    #[case] good: u16,
) -> Result<()> {
    let state = tempfile::tempdir()?;
    let flags = [&["--zone", "example.org", "--allowed-host", "provider.test"], flags].concat();
    let server = ProviderServer::start(state.path(), &flags)?;
    let address: SocketAddr = server.authority().parse()?;
    let post = |headers: &str| {
        let length = body.len();
        let head = format!("POST /records HTTP/1.1\r\nConnection: close\r\nContent-Length: {length}\r\n");
        status(address, &format!("{head}{headers}\r\n{body}"))
    };
    let (ours, typed) = (format!("Host: {address}\r\n"), format!("Content-Type: {media_type}\r\n"));
    assert_eq!(post(&format!("Host: rebound.example.net:8888\r\n{typed}")), 403);
    assert_eq!(post(&format!("{ours}{typed}Origin: http://evil.example\r\n")), 403);
    assert_eq!(post(&format!("{ours}{typed}Origin: null\r\n")), 403);
    assert_eq!(post(&format!("{ours}{typed}Sec-Fetch-Site: cross-site\r\n")), 403);
    assert_eq!(post(&format!("{ours}Content-Type: text/plain\r\n")), 415);
    assert_eq!(post(&ours), 415);
    assert_eq!(post(&typed), 403, "without a Host");
    assert!(e2e::ask(server.dns(), "www.example.org")?.records.is_empty(), "nothing was written");
    assert_eq!(post(&format!("{ours}{typed}")), good);
    assert_eq!(post(&format!("Host: provider.test\r\n{typed}")), good);
    assert_eq!(e2e::ask(server.dns(), "www.example.org")?.records, ["A 192.0.2.1"]);
    Ok(())
}

#[test]
fn the_api_answers_its_own_host_and_no_page_of_another_origin() -> Result<()> {
    let folder = large_zone(3)?;
    let up = Up::start(Options::folder(folder.path()).flags(&["--allowed-host", "dns.test"]))?;
    let http = SocketAddr::new(up.address(), 8053);
    let get = |path: &str, headers: &str| {
        status(http, &format!("GET {path} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n"))
    };
    let pages = ["/", "/api/v1/plan", "/api/v1/objects", "/api/v1/notes", "/api/v1/zone?name=example.org"];
    for page in pages {
        assert_eq!(get(page, &format!("Host: {http}\r\n")), 200, "{page}");
        assert_eq!(get(page, "Host: dns.test:1\r\n"), 200, "{page}");
        assert_eq!(get(page, "Host: rebound.example.net\r\n"), 403, "{page}");
        assert_eq!(get(page, &format!("Host: {http}\r\nOrigin: http://evil.example\r\n")), 403, "{page}");
    }
    for page in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(get(page, "Host: anything.example.net\r\n"), 200, "{page}");
    }
    Ok(())
}

#[test]
fn an_api_beyond_loopback_demands_a_token_and_says_what_to_do() -> Result<()> {
    let folder = large_zone(3)?;
    let token = folder.path().join("token");
    let refused = |flags: &[&str]| -> Result<String> {
        let mut up = Up::spawn(Options::folder(folder.path()).flags(flags))?;
        ensure!(up.wait_for_end()? == Some(1), "it started: {}", up.output());
        Ok(up.output())
    };
    let text = refused(&["--api", "0.0.0.0:0"])?;
    assert!(text.contains("--api-token-file"), "{text}");
    std::fs::write(&token, "a-token\n")?;
    let file = token.display().to_string();
    let text = refused(&["--api", "0.0.0.0:0", "--api-token-file", &file])?;
    assert!(text.contains("--api-tls-cert") && text.contains("--api-insecure"), "{text}");
    let address = e2e::own_address();
    let flags = ["--api", &format!("{address}:8054"), "--api-token-file", &file];
    let up = Up::start(Options::folder(folder.path()).flags(&flags))?;
    let api = SocketAddr::new(address, 8054);
    let get = |headers: &str| {
        status(
            api,
            &format!("GET /api/v1/plan HTTP/1.1\r\nHost: {api}\r\nConnection: close\r\n{headers}\r\n"),
        )
    };
    assert_eq!(get(""), 401);
    assert_eq!(get("Authorization: Bearer wrong\r\n"), 401);
    assert_eq!(get("Authorization: Bearer a-token\r\n"), 200);
    assert!(up.get("/healthz").is_ok() && up.get("/api/v1/plan").is_err(), "the API has moved");
    let url = format!("http://{api}");
    let explain = |flags: &[&str]| -> Result<bool> {
        let mut command = std::process::Command::new(e2e::fingerpost()?);
        command.args(["explain", "host-1.example.org", "--url", &url]).args(flags);
        Ok(command.output()?.status.success())
    };
    assert!(!explain(&[])? && explain(&["--token-file", &file])?);
    Ok(())
}

#[test]
fn a_stalled_reader_is_cut_within_its_time() -> Result<()> {
    let folder = large_zone(30_000)?;
    let up = Up::start(Options::folder(folder.path()))?;
    let http = SocketAddr::new(up.address(), 8053);
    let mut stream = send(http, &format!("GET /api/v1/plan HTTP/1.1\r\nHost: {http}\r\n\r\n"))?;
    let begun = Instant::now();
    std::thread::sleep(Duration::from_secs(22));
    wait_for("the reader to be cut", || {
        let mut octets = [0; 1 << 16];
        let ended = stream.read(&mut octets).map_or(true, |length| length == 0);
        Ok(ended.then_some(()))
    })?;
    ensure!(begun.elapsed() < Duration::from_secs(60), "it took {:?}", begun.elapsed());
    Ok(())
}
