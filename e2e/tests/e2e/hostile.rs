//! Traffic that nobody sends with good intentions: afterwards the server answers as before, and is no larger.

#[path = "hostile/flood.rs"]
mod flood;
#[path = "hostile/packet.rs"]
mod packet;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use e2e::{Folder, Options, Up, Usage, ask, block_on, eventually};
use rstest::rstest;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;

use flood::Flood;
use packet::{Packets, query, with_type};

/// The longest datagram that IPv4 has room for.
const LONGEST: usize = 65_507;
/// How many hostile packets a test sends; `cargo xtask soak` asks for more.
const PACKETS: usize = 100_000;
/// Clients that ask for much and read nothing.
const LAZY: usize = 60;
const PATIENCE: Duration = Duration::from_secs(60);
/// How many queries a flood has.
const FLOOD: u16 = 4000;
/// How many responses a second a network gets while it is flooded.
const LIMIT: usize = 100;

fn start() -> (Folder, Up) {
    start_with(&[])
}

fn start_with(flags: &[&str]) -> (Folder, Up) {
    let folder = Folder::new().unwrap();
    let loud = (0..4).map(|at| format!("loud TXT \"{at} {}\"\n", "x".repeat(100))).collect::<String>();
    let text = (0..40).map(|at| format!("large TXT \"{at} {}\"\n", "x".repeat(200))).collect::<String>();
    let zone =
        format!("$TTL 300\n@ SOA ns noc 1 2 3 4 5\n@ NS ns\nns A 192.0.2.1\nwww A 192.0.2.2\n{loud}{text}");
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
fn datagrams_of_every_length_stop_nobody_and_responses_get_no_reply() {
    let (_folder, up) = start();
    let (socket, other) = (socket(), self::socket());
    for length in 0..=LONGEST {
        let mut octets = query();
        octets.resize(length, 0xc0);
        other.send_to(&octets, up.dns(0)).unwrap();
        if let Some(flags) = octets.get_mut(2) {
            *flags |= 0x80;
        }
        socket.send_to(&octets, up.dns(0)).unwrap();
    }
    // Whatever was answered would have been answered before this.
    let reply = reply(&socket, up.dns(0), &with_type(4711, 1));
    assert_eq!(reply[..2], 4711u16.to_be_bytes(), "a response was answered");
    assert!(answers(up.dns(0)));
}

#[test]
fn streams_with_messages_of_every_size_stop_nobody() {
    let (_folder, up) = start();
    for length in (0..=usize::from(u16::MAX)).step_by(509).chain([1, 11, 12, 13, usize::from(u16::MAX)]) {
        let mut stream = TcpStream::connect(up.dns(0)).unwrap();
        let mut message = query();
        message.resize(length, 0xc0);
        let head = u16::try_from(length).unwrap().to_be_bytes();
        // A server may hang up before it has read all of it.
        let _ = stream.write_all(&[&head[..], &message].concat());
    }
    let mut stream = TcpStream::connect(up.dns(0)).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(&[&[0, query().len() as u8][..], &query()].concat()).unwrap();
    let mut head = [0; 4];
    stream.read_exact(&mut head).unwrap();
    assert_eq!(head[2..], query()[..2]);
}

#[test]
fn clients_that_read_nothing_keep_nobody_from_an_answer() {
    let (_folder, up) = start();
    let large = packet::large();
    let framed = [&[0, large.len() as u8][..], &large].concat().repeat(500);
    let lazy: Vec<TcpStream> = (0..LAZY)
        .map(|_| {
            let mut stream = TcpStream::connect(up.dns(0)).unwrap();
            stream.set_write_timeout(Some(Duration::from_millis(100))).unwrap();
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
    let (_folder, up) = start();
    let socket = socket();
    socket.set_nonblocking(true).unwrap();
    let mut hostile = Packets::new(1);
    // Buffers and threads take their room with the first packets.
    send(&socket, up.dns(0), &mut hostile, packets / 5);
    let (before, earlier) = (Usage::of(up.id()).unwrap().memory, queries_of(&up));
    send(&socket, up.dns(0), &mut hostile, packets);
    eventually(|| answers(up.dns(0))).unwrap();
    let received = queries_of(&up) - earlier;
    let after = Usage::of(up.id()).unwrap().memory;
    let megabytes = |octets: u64| octets as f64 / 1e6;
    println!(
        "counted: {packets} hostile packets, of which {received} were received: {:.1} MB before, {:.1} MB after",
        megabytes(before),
        megabytes(after)
    );
    assert!(received as usize >= packets - packets / 100, "the server saw {received} of {packets}");
    assert!(after <= before + before / 10, "{before} octets before, {after} after");
}

/// How many messages have arrived over UDP.
fn queries_of(up: &Up) -> u64 {
    let text = up.get("/metrics").unwrap();
    let lines = text.lines().filter(|line| line.starts_with("fingerpost_dns_queries_total"));
    let over_udp = lines.filter(|line| line.contains(r#"transport="udp""#));
    over_udp.filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum()
}

/// Sends packets as fast as the server takes them, and reads what comes back.
fn send(socket: &UdpSocket, server: SocketAddr, packets: &mut Packets, count: usize) {
    let mut buffer = [0; 4096];
    let start = Instant::now();
    for number in 0..count {
        // A full buffer is what a flood meets.
        let _ = socket.send_to(&packets.next(), server);
        while socket.recv_from(&mut buffer).is_ok() {}
        if number % 1000 == 0 {
            catch_up(socket, server);
            let answered = eventually(|| answers(server));
            assert!(answered.is_ok(), "no answer after {number} packets and {:?}", start.elapsed());
        }
    }
}

/// Waits until the thread that this socket's packets go to has come to the last of them.
fn catch_up(socket: &UdpSocket, server: SocketAddr) {
    let (query, mut buffer) = (with_type(4711, 1), [0; 4096]);
    socket.set_nonblocking(false).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let caught_up = eventually(|| {
        socket.send_to(&query, server).unwrap();
        // What comes before it answers hostile packets.
        while socket.recv_from(&mut buffer).is_ok() {
            if buffer[..2] == query[..2] {
                return true;
            }
        }
        false
    });
    caught_up.expect("a query between hostile packets is answered");
    socket.set_nonblocking(true).unwrap();
}
