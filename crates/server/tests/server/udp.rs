//! The UDP threads on real sockets: what arrives is answered, whatever it is and whenever it is.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dns::{Name, Rdata, RecordSet, Rtype};
use ring::rand::SystemRandom;
use rstest::rstest;
use server::dnssec::{Algorithm, Denial, SharedSignatures, Signing, ZoneKeys};
use server::{
    CookieKeys, CountersSnapshot, Endpoint, EndpointId, Identity, Options, RateLimit, Rcode, ServeHandle,
    Views, ZoneUpdate, bind, serve_with,
};

use crate::client::{Ask, show};
use crate::world;

const ENDPOINT: EndpointId = EndpointId(3);
const PATIENCE: Duration = Duration::from_secs(20);
const SOA: &str = "@ 60 SOA ns admin 1 2 3 4 5";

fn views(lines: &str) -> Views {
    let views = Views::new();
    views.publish(|table| {
        table
            .views
            .insert("v".to_owned(), world::zones("e.", &format!("{SOA}\nwww 60 A 192.0.2.1\n{lines}")));
        table.endpoints.insert(ENDPOINT, Endpoint { view: Some("v".to_owned()), clients: Vec::new() });
        table.synced = true;
    });
    views
}

async fn start(views: &Views, address: impl Into<SocketAddr>, options: Options) -> ServeHandle {
    serve_with(options, bind(address.into()).await.unwrap(), ENDPOINT, views.clone())
}

fn threads(threads: usize) -> Options {
    Options { threads, ..Options::default() }
}

/// A client whose kernel takes replies from the server's address alone.
fn client(server: SocketAddr) -> UdpSocket {
    let any: SocketAddr = match server {
        SocketAddr::V4(_) => (Ipv4Addr::LOCALHOST, 0).into(),
        SocketAddr::V6(_) => (Ipv6Addr::LOCALHOST, 0).into(),
    };
    let socket = UdpSocket::bind(any).unwrap();
    socket.connect(server).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket
}

fn receive(socket: &UdpSocket) -> Vec<u8> {
    let mut response = vec![0; 4096];
    let length = socket.recv(&mut response).expect("a response in time");
    response.truncate(length);
    response
}

fn ask(socket: &UdpSocket, ask: &Ask) -> Vec<String> {
    socket.send(&ask.octets()).unwrap();
    show(&receive(socket))
}

fn www() -> Ask {
    Ask::new("www.e.", "A")
}

/// A query with a number of its own.
fn numbered(id: u16, ask: &Ask) -> Vec<u8> {
    [&id.to_be_bytes(), &ask.octets()[2..]].concat()
}

fn number(response: &[u8]) -> u16 {
    u16::from_be_bytes([response[0], response[1]])
}

#[rstest]
#[case("0.0.0.0:0", "127.0.0.1")]
#[case("0.0.0.0:0", "127.0.0.77")]
#[case("127.0.0.9:0", "127.0.0.9")]
#[case("[::]:0", "::1")]
#[tokio::test(flavor = "multi_thread")]
async fn a_reply_leaves_from_the_address_that_was_asked(#[case] bound: &str, #[case] asked: &str) {
    let handle = start(&views(""), bound.parse::<SocketAddr>().unwrap(), threads(2)).await;
    let server = SocketAddr::new(asked.parse().unwrap(), handle.local_addr().port());
    assert_eq!(ask(&client(server), &www())[1], "answer www.e. 60 A 192.0.2.1");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_length_is_survived_and_answered_from_a_header_on() {
    let handle = start(&views(""), (Ipv4Addr::LOCALHOST, 0), threads(1)).await;
    let socket = client(handle.local_addr());
    let whole = www().octets();
    // Beyond what a thread keeps of a query one length is like the other.
    let lengths = (0..=5000).chain((5001..=65_507).step_by(499)).chain([65_507]);
    for length in lengths {
        let mut query: Vec<u8> = whole.iter().copied().chain(std::iter::repeat(0)).take(length).collect();
        if length < 12 {
            socket.send(&query).unwrap();
            continue;
        }
        query[..2].copy_from_slice(&(length as u16).to_be_bytes());
        socket.send(&query).unwrap();
        let response = receive(&socket);
        assert_eq!(number(&response), length as u16);
        assert_eq!(response[3] & 0x0f == 0, length == whole.len(), "{length} octets");
    }
    let counts = handle.counters().snapshot();
    assert_eq!((counts.dropped, counts.fast), (12, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn every_type_is_answered() {
    const WINDOW: usize = 32;
    let handle = start(&views(""), (Ipv4Addr::LOCALHOST, 0), threads(2)).await;
    let socket = client(handle.local_addr());
    let mut codes: BTreeMap<u8, u32> = BTreeMap::new();
    let types: Vec<u16> = (0..=u16::MAX).collect();
    for window in types.chunks(WINDOW) {
        for rtype in window {
            socket.send(&numbered(*rtype, &Ask { rtype: *rtype, ..www() })).unwrap();
        }
        let mut answered: Vec<u16> = Vec::new();
        for _ in window {
            let response = receive(&socket);
            answered.push(number(&response));
            *codes.entry(response[3] & 0x0f).or_default() += 1;
        }
        answered.sort_unstable();
        assert_eq!(answered, window);
    }
    // 0, OPT and NXNAME; AXFR and IXFR; the other meta types but ANY.
    assert_eq!((codes[&1], codes[&5], codes[&4]), (3, 2, 124));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_answers_what_had_arrived() {
    const QUERIES: u16 = 400;
    for round in 0..5 {
        let handle = start(&views(""), (Ipv4Addr::LOCALHOST, 0), threads(2)).await;
        let sockets: Vec<UdpSocket> = (0..4).map(|_| client(handle.local_addr())).collect();
        for id in 0..QUERIES {
            sockets[usize::from(id) % 4].send(&numbered(id, &www())).unwrap();
        }
        let counters = handle.counters();
        tokio::time::timeout(PATIENCE, handle.stop()).await.expect("a stop in time");
        let mut answered: Vec<u16> = Vec::new();
        for id in 0..QUERIES {
            answered.push(number(&receive(&sockets[usize::from(id) % 4])));
        }
        answered.sort_unstable();
        assert_eq!(answered, (0..QUERIES).collect::<Vec<u16>>(), "round {round}");
        assert_eq!(counters.snapshot().udp_queries, u64::from(QUERIES));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_under_load_goes_on_answering() {
    let views = views("");
    let mut handle = start(&views, (Ipv4Addr::LOCALHOST, 0), threads(2)).await;
    let address = handle.local_addr();
    let done = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let flood = std::thread::spawn({
        let done = Arc::clone(&done);
        move || {
            let socket = client(address);
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                // While nobody listens the kernel says so.
                let _ = socket.send(&www().octets());
                std::thread::sleep(Duration::from_micros(50));
            }
        }
    });
    for _ in 0..10 {
        assert_eq!(ask(&client(address), &www())[0], "NOERROR aa");
        tokio::time::timeout(PATIENCE, handle.stop()).await.expect("a stop in time");
        handle = start(&views, address, threads(2)).await;
    }
    assert_eq!(ask(&client(address), &www())[0], "NOERROR aa");
    done.store(true, std::sync::atomic::Ordering::Relaxed);
    flood.join().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_runtime_task_or_handle_frees_the_address() {
    let handle = start(&views(""), (Ipv4Addr::LOCALHOST, 0), threads(2)).await;
    let address = handle.local_addr();
    drop(handle);
    let start = Instant::now();
    while UdpSocket::bind(address).is_err() {
        assert!(start.elapsed() < PATIENCE, "the address is still taken");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Asks until the fast path answers; gives the counts.
fn until_fast(handle: &ServeHandle, query: &Ask) -> CountersSnapshot {
    let (socket, start) = (client(handle.local_addr()), Instant::now());
    let before = handle.counters().snapshot().fast;
    loop {
        assert!(ask(&socket, query)[0].ends_with("aa"));
        let counts = handle.counters().snapshot();
        if counts.fast > before {
            return counts;
        }
        assert!(start.elapsed() < PATIENCE, "the zone is not compiled in time");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_zone_is_answered_at_once_and_fast_soon_also_after_a_change_that_reaches_far() {
    let lines: String = (0..3000).map(|at| format!("host{at}.sub 60 A 192.0.2.7\n")).collect();
    let views = views(&lines);
    let handle = start(&views, (Ipv4Addr::LOCALHOST, 0), threads(1)).await;
    let host = Ask::new("host5.sub.e.", "A");
    until_fast(&handle, &host);
    let origin: Name = "e.".parse().unwrap();
    let put = |line: &str| {
        let sets = world::sets(&origin, &[line.to_owned()]);
        let name = sets[0].name.clone();
        views.publish(|table| {
            let update = ZoneUpdate::PutNode { origin: origin.clone(), name, sets };
            table.views.get_mut("v").unwrap().apply(update);
        });
    };
    let socket = client(handle.local_addr());
    put("host5.sub.e. 9 A 192.0.2.99");
    assert_eq!(ask(&socket, &host)[1], "answer host5.sub.e. 9 A 192.0.2.99");
    put("sub.e. 9 NS ns.elsewhere.");
    assert_eq!(ask(&socket, &host)[1], "authority sub.e. 9 NS ns.elsewhere.");
    assert_eq!(ask(&socket, &www())[1], "answer www.e. 60 A 192.0.2.1");
    until_fast(&handle, &www());
    assert_eq!(ask(&socket, &host)[1], "authority sub.e. 9 NS ns.elsewhere.");
}

#[tokio::test(flavor = "multi_thread")]
async fn past_the_limit_responses_slip_or_are_held_back_and_a_good_cookie_is_let_through() {
    const QUERIES: u64 = 300;
    let rate_limit = RateLimit { per_second: 10, slip: 2, exempt_loopback: false, ..RateLimit::default() };
    let identity = Identity { cookies: Some(CookieKeys::new([7; 16], Vec::new())), ..Identity::default() };
    let options = Options { rate_limit, identity: Arc::new(identity), threads: 1, ..Options::default() };
    let handle = start(&views(""), (Ipv4Addr::LOCALHOST, 0), options).await;
    let socket = client(handle.local_addr());
    // The first answer brings a cookie.
    socket.send(&www().with("option=10:0102030405060708").octets()).unwrap();
    let response = receive(&socket);
    let cookie: String = response[response.len() - 24..].iter().map(|octet| format!("{octet:02x}")).collect();
    for _ in 1..QUERIES {
        socket.send(&www().octets()).unwrap();
    }
    let with_cookie = www().with(&format!("option=10:{cookie}"));
    for _ in 0..50 {
        socket.send(&numbered(9, &with_cookie)).unwrap();
    }
    // Nothing overtakes on one socket, so the last answer is the one to the last query.
    let (mut with_cookie, mut truncated, mut whole) = (0, 0, 1);
    while with_cookie < 50 {
        let response = receive(&socket);
        let shown = show(&response);
        match (number(&response), shown[0].as_str()) {
            (9, "NOERROR aa") => with_cookie += 1,
            (_, "NOERROR aa") => whole += 1,
            (_, "NOERROR tc") => truncated += 1,
            other => panic!("{other:?}"),
        }
    }
    let counts = handle.counters().snapshot();
    assert!(counts.slipped > 0 && counts.rate_limited > 0, "{counts:?}");
    assert_eq!((counts.slipped, counts.cookies_good), (truncated, 50));
    assert_eq!(whole + counts.slipped + counts.rate_limited, QUERIES);
    assert_eq!(counts.responses[&Rcode::NoError], 50 + whole + truncated);
}

/// Sends queries for names in turn, as fast as they are answered; gives how many octets came back.
fn flood(socket: &UdpSocket, queries: &[Vec<u8>]) -> usize {
    socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let (mut buffer, mut received) = ([0; 4096], 0);
    for batch in queries.chunks(32) {
        for query in batch {
            socket.send(query).unwrap();
        }
        socket.set_nonblocking(true).unwrap();
        while let Ok(length) = socket.recv(&mut buffer) {
            received += length;
        }
        socket.set_nonblocking(false).unwrap();
    }
    while let Ok(length) = socket.recv(&mut buffer) {
        received += length;
    }
    received
}

#[tokio::test]
async fn a_hundred_names_in_turn_are_not_amplified_past_the_limit_on_octets() {
    const OCTETS: u32 = 20_000;
    let text = "x".repeat(250);
    let names: String = (0..100).map(|at| format!("n{at} 60 TXT {text} {text} {text} {text}\n")).collect();
    let rate_limit = RateLimit { octets_per_second: OCTETS, exempt_loopback: false, ..RateLimit::default() };
    let options = Options { rate_limit, threads: 1, ..Options::default() };
    let handle = start(&views(&names), (Ipv4Addr::LOCALHOST, 0), options).await;
    let socket = client(handle.local_addr());
    let query = |at: usize| Ask::new(&format!("n{}.e.", at % 100), "TXT").with("edns").octets();
    let queries: Vec<Vec<u8>> = (0..10_000).map(query).collect();
    let begun = Instant::now();
    let received = flood(&socket, &queries);
    let sent: usize = queries.iter().map(Vec::len).sum();
    // A second's worth at once, what the time allows, and of the rest every second, empty.
    let allowed = f64::from(OCTETS) * (1.0 + begun.elapsed().as_secs_f64()) + sent as f64 / 2.0;
    assert!(received as f64 <= allowed, "{received} of {allowed} octets for {sent}");
    let counts = handle.counters().snapshot();
    assert!(counts.octets_limited > 9_000, "{counts:?}");
    assert_eq!(counts.octets_limited, counts.rate_limited + counts.slipped);
}

#[tokio::test]
async fn a_cookie_is_let_through_past_the_limit_on_octets() {
    let rate_limit = RateLimit { octets_per_second: 1000, exempt_loopback: false, ..RateLimit::default() };
    let identity = Identity { cookies: Some(CookieKeys::new([7; 16], Vec::new())), ..Identity::default() };
    let options = Options { rate_limit, identity: Arc::new(identity), threads: 1, ..Options::default() };
    let handle = start(&views(""), (Ipv4Addr::LOCALHOST, 0), options).await;
    let socket = client(handle.local_addr());
    socket.send(&www().with("option=10:0102030405060708").octets()).unwrap();
    let response = receive(&socket);
    let cookie: String = response[response.len() - 24..].iter().map(|octet| format!("{octet:02x}")).collect();
    let with_cookie = www().with(&format!("option=10:{cookie}"));
    for _ in 0..100 {
        assert_eq!(ask(&socket, &with_cookie)[0], "NOERROR aa");
    }
    assert_eq!(handle.counters().snapshot().octets_limited, 0);
}

#[rstest]
#[case::of_the_fast_path("www.e.")]
#[case::of_a_denial("none.e.")]
#[tokio::test]
async fn what_is_held_back_is_not_signed_first(#[case] name: &str) {
    let views = views("");
    let made = SharedSignatures::default();
    let keys =
        ZoneKeys::create("e.".parse().unwrap(), Algorithm::EcdsaP256, 0, &SystemRandom::new()).unwrap();
    let signing = Arc::new(Signing::new(&keys, Denial::Compact, made.clone()).unwrap());
    views.publish(|table| {
        let sign = ZoneUpdate::Sign { origin: "e.".parse().unwrap(), signing: Some(signing) };
        table.views.get_mut("v").unwrap().apply(sign);
    });
    // One answer a second, and room for that one's octets alone.
    let rate_limit = RateLimit { per_second: 1, exempt_loopback: false, slip: 1, ..RateLimit::default() };
    let by_answers = Options { rate_limit, threads: 1, ..Options::default() };
    let rate_limit = RateLimit { per_second: 1_000_000, octets_per_second: 1, ..rate_limit };
    let by_octets = Options { rate_limit, threads: 1, ..Options::default() };
    for options in [by_answers, by_octets] {
        let handle = start(&views, (Ipv4Addr::LOCALHOST, 0), options).await;
        let socket = client(handle.local_addr());
        let random = |at: u32| Ask::new(&format!("x{at}.{name}"), "A").with("do");
        let asked = |at: u32| if name == "www.e." { Ask::new(name, "A").with("do") } else { random(at) };
        assert_eq!(ask(&socket, &asked(0))[0], "NOERROR aa");
        let (begun, before) = (Instant::now(), made.made());
        for at in 1..=20 {
            // Another record each time, which has no signature yet.
            views.publish(|table| {
                let (origin, name): (Name, Name) = ("e.".parse().unwrap(), "www.e.".parse().unwrap());
                let data = vec![Rdata::a(Ipv4Addr::from(at))];
                let sets = vec![RecordSet::new(name.clone(), Rtype::A, 60, data)];
                table.views.get_mut("v").unwrap().apply(ZoneUpdate::PutNode { origin, name, sets });
            });
            let shown = ask(&socket, &asked(at));
            assert!(shown[0] == "NOERROR tc" || begun.elapsed() > Duration::from_millis(900), "{shown:?}");
        }
        let allowed = 3 * (1 + begun.elapsed().as_secs());
        assert!(made.made() - before < allowed, "{} signatures were made", made.made() - before);
    }
}
