//! Traffic that nobody sends with good intentions: afterwards the server answers as before, and is no larger.

#[path = "hostile/flood.rs"]
mod flood;
#[path = "hostile/load.rs"]
mod load;
#[path = "hostile/packet.rs"]
mod packet;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use e2e::{Folder, Options, Up, Usage, ask, block_on, dig, wait_for};
use rstest::rstest;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;

use flood::Flood;
use load::Load;
use packet::{framed, of_length, query, with_type};

/// The longest datagram that IPv4 has room for.
const LONGEST: usize = 65_507;
/// The longest message that a stream has room for.
const LONGEST_BY_STREAM: usize = 65_535;
/// The length of a message's header; without one there is nothing to answer.
const HEADER: usize = 12;
/// How many connections the messages of all lengths share.
const STREAMS: usize = 8;
/// How many hostile packets a test sends; `cargo xtask soak` asks for more.
const PACKETS: usize = 100_000;
/// Clients that ask for much and read nothing: as many as an address has places.
const LAZY: u16 = 256;
/// How many networks they are from: each has a quarter of the places.
const LAZY_NETWORKS: u16 = 4;
const PATIENCE: Duration = Duration::from_secs(60);
/// How many queries a flood has.
const FLOOD: u16 = 4000;
/// How many responses a second a network gets while it is flooded.
const LIMIT: usize = 100;
/// How many octets a second a network gets while it is flooded, and how many names the flood asks for in turn.
const OCTETS: usize = 20_000;
const NAMES: u16 = 100;

const SIGNED_AND_STEERED: &str = "\
apiVersion: dns.homelab.mortenolsen.pro/v1alpha1
kind: DNSClass
metadata: {name: plain}
spec: {embedded: {}}
---
apiVersion: dns.homelab.mortenolsen.pro/v1alpha1
kind: DNSClass
metadata: {name: signed}
spec: {embedded: {dnssec: {algorithm: ED25519, denial: Compact}}}
---
apiVersion: fingerpost.dev/v1alpha1
kind: Placement
metadata: {name: web, namespace: shop}
spec:
  hostname: web.example.org
  mode: weighted-canary
  regions:
  - {name: stable, addresses: [192.0.2.13], weight: 80}
  - {name: canary, addresses: [198.51.100.13], weight: 20}
";

fn start() -> (Folder, Up) {
    start_with(&[])
}

fn start_with(flags: &[&str]) -> (Folder, Up) {
    start_in(Folder::new().unwrap(), flags)
}

/// The same zone plain in the first view and signed in the second, with a steered name.
fn start_signed_and_steered() -> (Folder, Up) {
    let folder = Folder::new().unwrap();
    folder.write("manifests.yaml", SIGNED_AND_STEERED).unwrap();
    start_in(folder, &[])
}

fn start_in(folder: Folder, flags: &[&str]) -> (Folder, Up) {
    let loud = (0..4).map(|at| format!("loud TXT \"{at} {}\"\n", "x".repeat(100))).collect::<String>();
    let text = (0..40).map(|at| format!("large TXT \"{at} {}\"\n", "x".repeat(200))).collect::<String>();
    let many = (0..NAMES).map(|at| format!("loud{at:02} TXT \"{}\"\n", "x".repeat(250))).collect::<String>();
    let zone = format!(
        "$TTL 300\n@ SOA ns noc 1 2 3 4 5\n@ NS ns\nns A 192.0.2.1\nwww A 192.0.2.2\n{loud}{many}{text}"
    );
    folder.write("example.org.zone", &zone).unwrap();
    let up = Up::start(Options::folder(folder.path()).flags(flags)).unwrap();
    (folder, up)
}

fn answers(server: SocketAddr) -> bool {
    ask(server, "www.example.org").is_ok_and(|reply| reply.records == ["A 192.0.2.2"])
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

/// The reply to a query; none where the next reply is another's.
fn reply(socket: &UdpSocket, server: SocketAddr, query: &[u8]) -> Vec<u8> {
    socket.send_to(query, server).unwrap();
    let mut buffer = vec![0; 4096];
    let (length, _) = socket.recv_from(&mut buffer).expect("a query is answered");
    buffer.truncate(length);
    buffer
}

#[test]
fn every_type_is_answered_with_its_own_id_and_question() {
    let (_folder, up) = start();
    let socket = socket();
    for rtype in 0..=u16::MAX {
        let query = with_type(rtype, rtype);
        let reply = reply(&socket, up.dns(0), &query);
        assert_eq!(reply[..2], query[..2], "type {rtype}");
        assert_eq!(reply[12..query.len()], query[12..], "type {rtype}");
    }
}

#[test]
fn datagrams_of_every_length_are_answered_and_responses_get_no_reply() {
    let (_folder, up) = start();
    let (socket, earlier) = (socket(), queries_of(&up, "udp"));
    let mut sent = 0;
    for length in 0..=LONGEST {
        let mut response = of_length(length);
        response.iter_mut().skip(2).take(1).for_each(|flags| *flags |= 0x80);
        let silent = if length < HEADER { vec![response, of_length(length)] } else { vec![response] };
        silent.iter().for_each(|octets| assert!(socket.send_to(octets, up.dns(0)).is_ok()));
        let query = if length < HEADER { with_type(4711, 1) } else { of_length(length) };
        // Each reply is awaited, so that nothing has to be dropped; one too many would be taken for the next.
        assert_eq!(reply(&socket, up.dns(0), &query)[..2], query[..2], "length {length}");
        sent += silent.len() as u64 + 1;
    }
    received(&up, "udp", earlier + sent);
    assert!(answers(up.dns(0)));
}

#[test]
fn messages_of_every_length_in_few_streams_are_answered_in_their_order() {
    let (_folder, up) = start();
    let (server, earlier) = (up.dns(0), queries_of(&up, "tcp"));
    let streams: Vec<_> =
        (0..STREAMS).map(|first| std::thread::spawn(move || converse(server, first))).collect();
    streams.into_iter().for_each(|stream| stream.join().unwrap());
    received(&up, "tcp", earlier + LONGEST_BY_STREAM as u64 + 1);
    assert!(answers(up.dns(0)));
}

/// Sends messages of every so manieth length without waiting, and reads the replies meanwhile.
fn converse(server: SocketAddr, first: usize) {
    let lengths = move || (first..=LONGEST_BY_STREAM).step_by(STREAMS);
    let mut stream = TcpStream::connect(server).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut sending = stream.try_clone().unwrap();
    let sender = std::thread::spawn(move || {
        lengths().try_for_each(|length| sending.write_all(&framed(&of_length(length))))
    });
    for length in lengths().filter(|length| *length >= HEADER) {
        let mut head = [0; 2];
        stream.read_exact(&mut head).unwrap_or_else(|error| panic!("no reply to {length} octets: {error}"));
        let mut reply = vec![0; usize::from(u16::from_be_bytes(head))];
        stream.read_exact(&mut reply).unwrap();
        assert_eq!(reply[..2], (length as u16).to_be_bytes(), "the reply to {length} octets");
    }
    sender.join().unwrap().unwrap();
}

#[test]
fn clients_that_read_nothing_keep_nobody_from_an_answer() {
    let (_folder, up) = start();
    let large = packet::large();
    let framed = [&[0, large.len() as u8][..], &large].concat().repeat(500);
    let lazy: Vec<TcpStream> = (0..LAZY)
        .map(|at| {
            let from = [127, 255, (at % LAZY_NETWORKS) as u8, (1 + at / LAZY_NETWORKS) as u8];
            let mut stream = connect_from(from, up.dns(0));
            stream.set_write_timeout(Some(Duration::from_millis(10))).unwrap();
            let _ = stream.write_all(&framed);
            stream
        })
        .collect();
    assert!(answers(up.dns(0)));
    let mut stream = TcpStream::connect(up.dns(0)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(&[&[0, query().len() as u8][..], &query()].concat()).unwrap();
    stream.read_exact(&mut [0; 2]).unwrap();
    drop(lazy);
}

/// A connection from an address of this machine.
fn connect_from(from: [u8; 4], server: SocketAddr) -> TcpStream {
    let connected = block_on(async {
        let socket = TcpSocket::new_v4()?;
        socket.bind((std::net::Ipv4Addr::from(from), 0).into())?;
        socket.connect(server).await?.into_std()
    });
    let stream = connected.unwrap().unwrap();
    stream.set_nonblocking(false).unwrap();
    stream
}

/// Each name is far below its own limit.
#[test]
fn a_flood_for_many_names_is_not_amplified_past_the_limit_on_octets() {
    let limit = OCTETS.to_string();
    let (_folder, up) =
        start_with(&["--rate-limit-octets", &limit, "--rate-limit-loopback", "--dns-threads", "1"]);
    let queries: Vec<Vec<u8>> = (0..FLOOD).map(|at| packet::loud_of(at % NAMES)).collect();
    let seen = Flood::new(up.dns(0), PATIENCE).send(&queries, &query(), query().len());
    println!("{seen:?}");
    let allowed = OCTETS as f64 * (1.0 + seen.took.as_secs_f64()) + 1232.0;
    assert!(seen.full.octets > OCTETS / 2 && seen.full.octets as f64 <= allowed, "{allowed}: {seen:?}");
    assert!(seen.slipped.octets <= seen.sent.octets / 2 && seen.most_by_one <= 0, "{seen:?}");
}

/// Amplification is what is left of the answers past the limit, in terms of the queries that they are for.
#[rstest]
#[case::of_one_name(|_| packet::loud(), 4)]
#[case::of_names_that_are_not_there(packet::missing, 1)]
fn a_flood_in_the_name_of_a_network_is_not_amplified_past_its_limit(
    #[case] query: fn(u16) -> Vec<u8>,
    #[case] amplified: usize,
) {
    let limit = LIMIT.to_string();
    let flags = ["--rate-limit", &limit, "--rate-limit-loopback", "--dns-threads", "1"];
    let (_folder, up) = start_with(&flags);
    let queries: Vec<Vec<u8>> = (0..FLOOD).map(query).collect();
    let length = queries[0].len();
    let seen = Flood::new(up.dns(0), PATIENCE).send(&queries, &query(0), amplified * length);
    println!("{seen:?}");
    assert!(seen.full.octets > amplified * length * seen.full.messages, "nothing to amplify: {seen:?}");
    // A second's worth at once, and what the time allows; the clock here has run longer than the server's.
    let allowed = LIMIT as f64 * (1.0 + seen.took.as_secs_f64()) + 1.0;
    assert!(seen.full.messages >= LIMIT && seen.full.messages as f64 <= allowed, "{allowed}: {seen:?}");
    assert!(seen.slipped.octets <= seen.octets_held_back(length) && seen.most_by_one <= 0, "{seen:?}");
    assert_eq!(seen.slipped.messages, seen.held_back() / 2, "every second slips: {seen:?}");
    assert!(asked_over_tcp(up.dns(0), &query(0)).len() > amplified * length, "who was slipped asks over TCP");
}

/// The answer to a client of the flooded network.
fn asked_over_tcp(server: SocketAddr, query: &[u8]) -> Vec<u8> {
    let asked = async {
        let socket = TcpSocket::new_v4()?;
        socket.bind("127.255.0.9:0".parse().unwrap())?;
        let mut stream = socket.connect(server).await?;
        stream.write_all(&[&[0, query.len() as u8][..], query].concat()).await?;
        let mut answer = vec![0; usize::from(stream.read_u16().await?)];
        stream.read_exact(&mut answer).await?;
        std::io::Result::Ok(answer)
    };
    let in_time = block_on(async { tokio::time::timeout(PATIENCE, asked).await }).unwrap();
    in_time.expect("an answer over TCP in time").unwrap()
}

#[test]
fn hostile_packets_leave_nothing_behind() {
    let packets = std::env::var("FINGERPOST_HOSTILE_PACKETS").ok().and_then(|text| text.parse().ok());
    let packets: usize = packets.unwrap_or(PACKETS);
    let (_folder, up) = start_signed_and_steered();
    let signatures = |view| dig(up.dns(view), "web.example.org A +dnssec").unwrap().data("RRSIG").len();
    assert_eq!((signatures(0), signatures(1)), (0, 1), "the second view is the signed one");
    let mut load = Load::new([up.dns(0), up.dns(1)], 1);
    // Buffers, threads and the signatures that are kept take their room with the first packets.
    load.send(packets / 5);
    let counts = || ["udp", "tcp"].map(|transport| queries_of(&up, transport));
    let (before, earlier) = (Usage::of(up.id()).unwrap().memory, counts());
    let beside = load.send(packets);
    received(&up, "tcp", earlier[1] + beside.by_stream);
    let got = counts()[0] - earlier[0] - beside.questions;
    let after = Usage::of(up.id()).unwrap().memory;
    let megabytes = |octets: u64| octets as f64 / 1e6;
    println!(
        "counted: {packets} hostile packets, of which {got} were received, and {} messages in streams: {:.1} MB \
         before, {:.1} MB after",
        beside.by_stream,
        megabytes(before),
        megabytes(after)
    );
    assert!(got as usize >= packets - packets / 100, "the server saw {got} of {packets}");
    assert!(after <= before + before / 10, "{before} octets before, {after} after");
}

/// How many messages have arrived over a transport, in all views.
fn queries_of(up: &Up, transport: &str) -> u64 {
    let (text, label) = (up.get("/metrics").unwrap(), format!("transport=\"{transport}\""));
    let lines = text.lines().filter(|line| line.starts_with("fingerpost_dns_queries_total"));
    let over_it = lines.filter(|line| line.contains(&label));
    over_it.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

/// Waits until exactly so many messages have arrived by the server's own count.
fn received(up: &Up, transport: &str, count: u64) {
    let seen = wait_for("all messages to arrive", || match queries_of(up, transport) {
        seen if seen == count => Ok(Some(())),
        seen => anyhow::bail!("{seen} of {count} have"),
    });
    seen.unwrap();
}
