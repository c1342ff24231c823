//! Real sockets on the loopback: both transports, limits, stopping, and swaps under load.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use dns::Name;
use server::{
    Endpoint, EndpointId, Limits, ListenError, Options, Rcode, ServeHandle, Views, Zones, bind, serve,
    serve_with,
};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio::time::timeout;

use crate::client::{Ask, show};
use crate::world;

pub(crate) const SOA: &str = "@ 60 SOA ns admin 1 2 3 4 5";
pub(crate) const ENDPOINT: EndpointId = EndpointId(7);
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

pub(crate) fn loopback() -> SocketAddr {
    (Ipv4Addr::LOCALHOST, 0).into()
}

pub(crate) fn views(text: &str) -> Views {
    let views = Views::new();
    views.publish(|table| {
        table.views.insert("v".to_owned(), world::zones("e.", &format!("{SOA}\n{text}")));
        table.endpoints.insert(ENDPOINT, Endpoint { view: Some("v".to_owned()), clients: Vec::new() });
        table.synced = true;
    });
    views
}

pub(crate) async fn start(views: &Views, limits: Limits) -> ServeHandle {
    let options = Options { limits, ..Options::default() };
    serve_with(options, bind(loopback()).await.unwrap(), ENDPOINT, views.clone())
}

async fn udp_client(server: SocketAddr, from: IpAddr) -> UdpSocket {
    let socket = UdpSocket::bind((from, 0)).await.unwrap();
    socket.connect(server).await.unwrap();
    socket
}

async fn ask_udp(socket: &UdpSocket, query: &[u8]) -> Vec<u8> {
    let mut response = vec![0; 4096];
    socket.send(query).await.unwrap();
    let length = timeout(PATIENCE, socket.recv(&mut response)).await.expect("a response in time").unwrap();
    response.truncate(length);
    response
}

pub(crate) async fn send_tcp(stream: &mut TcpStream, query: &[u8]) {
    stream.write_all(&framed(query)).await.unwrap();
}

pub(crate) fn framed(query: &[u8]) -> Vec<u8> {
    [&(query.len() as u16).to_be_bytes(), query].concat()
}

pub(crate) async fn receive_tcp(stream: &mut (impl AsyncRead + Unpin)) -> Vec<u8> {
    let receive = async {
        let mut response = vec![0; usize::from(stream.read_u16().await.unwrap())];
        stream.read_exact(&mut response).await.unwrap();
        response
    };
    timeout(PATIENCE, receive).await.expect("a response in time")
}

/// Whether the server closes the connection in time.
pub(crate) async fn closes(stream: &mut (impl AsyncRead + Unpin)) -> bool {
    let closed = timeout(PATIENCE, stream.read(&mut [0; 64])).await.expect("an end in time");
    !matches!(closed, Ok(length) if length > 0)
}

pub(crate) fn query(name: &str) -> Vec<u8> {
    Ask::new(name, "A").octets()
}

#[tokio::test]
async fn both_transports_answer_on_one_port_and_are_counted() {
    let handle = serve(bind(loopback()).await.unwrap(), ENDPOINT, views("www 60 A 192.0.2.1"));
    let udp = udp_client(handle.local_addr(), Ipv4Addr::LOCALHOST.into()).await;
    let wanted = ["NOERROR aa", "answer www.e. 60 A 192.0.2.1"];
    assert_eq!(show(&ask_udp(&udp, &query("www.e.")).await), wanted);
    assert_eq!(show(&ask_udp(&udp, &query("gone.e.")).await)[0], "NXDOMAIN aa");
    udp.send(&[1, 2, 3]).await.unwrap();
    let mut tcp = TcpStream::connect(handle.local_addr()).await.unwrap();
    send_tcp(&mut tcp, &query("www.e.")).await;
    assert_eq!(show(&receive_tcp(&mut tcp).await), wanted);
    assert_eq!(show(&ask_udp(&udp, &Ask::new("e.", "A").with("version=9").octets()).await)[0], "BADVERS");
    let counters = handle.counters();
    handle.stop().await;
    let counts = counters.snapshot();
    assert_eq!((counts.udp_queries, counts.tcp_queries, counts.dropped, counts.truncated), (4, 1, 1, 0));
    assert_eq!(counts.responses[&Rcode::NoError], 2);
    assert_eq!(counts.responses[&Rcode::NxDomain], 1);
    assert_eq!(counts.responses[&Rcode::BadVers], 1);
    assert_eq!(counts.responses[&Rcode::Refused], 0);
}

#[tokio::test]
async fn what_is_truncated_over_udp_is_whole_over_tcp() {
    let lines: String = (0..60).map(|at| format!("big 60 A 192.0.2.{at}\n")).collect();
    let handle = start(&views(&lines), Limits::default()).await;
    let udp = udp_client(handle.local_addr(), Ipv4Addr::LOCALHOST.into()).await;
    assert_eq!(show(&ask_udp(&udp, &query("big.e.")).await), ["NOERROR aa tc"]);
    let mut tcp = TcpStream::connect(handle.local_addr()).await.unwrap();
    send_tcp(&mut tcp, &query("big.e.")).await;
    assert_eq!(show(&receive_tcp(&mut tcp).await).len(), 61);
    assert_eq!(handle.counters().snapshot().truncated, 1);
}

#[tokio::test]
async fn pipelined_queries_are_answered_in_order_and_a_non_query_is_passed_over() {
    let handle = start(&views("a 60 A 192.0.2.1\nb 60 A 192.0.2.2"), Limits::default()).await;
    let mut tcp = TcpStream::connect(handle.local_addr()).await.unwrap();
    let all = [framed(&query("a.e.")), framed(&[]), framed(&query("b.e.")), framed(&query("c.e."))].concat();
    // The last query arrives in two pieces.
    tcp.write_all(&all[..all.len() - 5]).await.unwrap();
    assert_eq!(show(&receive_tcp(&mut tcp).await)[1], "answer a.e. 60 A 192.0.2.1");
    assert_eq!(show(&receive_tcp(&mut tcp).await)[1], "answer b.e. 60 A 192.0.2.2");
    tcp.write_all(&all[all.len() - 5..]).await.unwrap();
    assert_eq!(show(&receive_tcp(&mut tcp).await)[0], "NXDOMAIN aa");
    tcp.shutdown().await.unwrap();
    assert!(closes(&mut tcp).await);
}

#[tokio::test]
async fn the_client_network_decides_which_view_answers() {
    let views = views("www 60 A 192.0.2.1");
    views.publish(|table| {
        let inside = world::zones("e.", &format!("{SOA}\nwww 60 A 10.0.0.1"));
        table.views.insert("inside".to_owned(), inside);
        let clients = vec![("127.0.0.2/32".parse().unwrap(), "inside".to_owned())];
        table.endpoints.insert(ENDPOINT, Endpoint { view: None, clients });
    });
    let handle = start(&views, Limits::default()).await;
    let [inside, outside] = [[127, 0, 0, 2], [127, 0, 0, 1]].map(IpAddr::from);
    let inside = udp_client(handle.local_addr(), inside).await;
    assert_eq!(show(&ask_udp(&inside, &query("www.e.")).await)[1], "answer www.e. 60 A 10.0.0.1");
    let outside = udp_client(handle.local_addr(), outside).await;
    assert_eq!(show(&ask_udp(&outside, &query("www.e.")).await), ["REFUSED"]);
}

#[tokio::test]
async fn a_port_in_use_is_named_with_what_to_do() {
    let first = bind(loopback()).await.unwrap();
    let error = bind(first.local_addr()).await.unwrap_err();
    assert!(matches!(error, ListenError::InUse { transport: "TCP", .. }));
    let port = first.local_addr().port();
    assert_eq!(
        error.to_string(),
        format!(
            "TCP port {port} of 127.0.0.1 is in use by another program; stop that program, or listen on another port"
        )
    );
    let udp_only = UdpSocket::bind(loopback()).await.unwrap();
    let error = bind(udp_only.local_addr().unwrap()).await.unwrap_err();
    assert!(error.to_string().starts_with("UDP port"), "{error}");
}

#[tokio::test]
async fn an_address_of_another_machine_is_named() {
    let error = bind("192.0.2.1:5300".parse().unwrap()).await.unwrap_err();
    assert!(matches!(error, ListenError::NotHere { .. }), "{error}");
}

#[tokio::test]
async fn an_idle_connection_and_half_a_query_are_closed() {
    let limits = Limits { idle: Duration::from_millis(50), ..Limits::default() };
    let handle = start(&views("www 60 A 192.0.2.1"), limits).await;
    let mut idle = TcpStream::connect(handle.local_addr()).await.unwrap();
    assert!(closes(&mut idle).await);
    let mut half = TcpStream::connect(handle.local_addr()).await.unwrap();
    half.write_all(&framed(&query("www.e."))[..20]).await.unwrap();
    assert!(closes(&mut half).await);
}

#[tokio::test]
async fn a_client_that_does_not_read_is_cut_off() {
    let lines: String = (0..1500).map(|at| format!("big 60 A 192.0.{}.{}\n", at / 250, at % 250)).collect();
    let limits = Limits { slow_reader: Duration::from_millis(100), ..Limits::default() };
    let handle = start(&views(&lines), limits).await;
    let mut slow = TcpStream::connect(handle.local_addr()).await.unwrap();
    let flood = async {
        // The responses fill every buffer on the way, and then the server gives up.
        while slow.write_all(&framed(&query("big.e."))).await.is_ok() {}
    };
    timeout(PATIENCE, flood).await.expect("the connection is closed");
}

#[tokio::test]
async fn a_stop_closes_idle_connections_and_frees_the_port() {
    let views = views("www 60 A 192.0.2.1");
    let handle = start(&views, Limits::default()).await;
    let address = handle.local_addr();
    let mut idle = TcpStream::connect(address).await.unwrap();
    send_tcp(&mut idle, &query("www.e.")).await;
    receive_tcp(&mut idle).await;
    timeout(Duration::from_secs(1), handle.stop()).await.expect("nothing holds the stop up");
    assert!(closes(&mut idle).await);
    let again = serve(bind(address).await.expect("the port is free"), ENDPOINT, views);
    let udp = udp_client(again.local_addr(), Ipv4Addr::LOCALHOST.into()).await;
    assert_eq!(show(&ask_udp(&udp, &query("www.e.")).await)[0], "NOERROR aa");
}

#[tokio::test]
async fn a_dropped_handle_stops_the_server() {
    let handle = start(&views("www 60 A 192.0.2.1"), Limits::default()).await;
    let mut idle = TcpStream::connect(handle.local_addr()).await.unwrap();
    drop(handle);
    assert!(closes(&mut idle).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn swaps_under_load_show_no_wrong_answer() {
    let views = views("");
    publish_version(&views, 0);
    let handle = start(&views, Limits::default()).await;
    let stop = Arc::new(AtomicBool::new(false));
    let udp = tokio::spawn(watch_udp(handle.local_addr(), Arc::clone(&stop)));
    let tcp = tokio::spawn(watch_tcp(handle.local_addr(), Arc::clone(&stop)));
    let start = Instant::now();
    let mut version = 0;
    while start.elapsed() < Duration::from_millis(700) {
        version += 1;
        publish_version(&views, version);
        tokio::task::yield_now().await;
    }
    stop.store(true, Ordering::Relaxed);
    let (udp, tcp) = (udp.await.unwrap(), tcp.await.unwrap());
    assert!(udp > 1 && tcp > 1 && version > 1, "{udp} and {tcp} versions seen of {version}");
    let counts = handle.counters().snapshot();
    let answered: u64 = counts.responses.values().sum();
    assert_eq!(counts.responses[&Rcode::NoError], answered);
    assert_eq!(counts.dropped, 0);
}

/// An alias in one zone and its target in another, both with the version as TTL.
fn publish_version(views: &Views, version: u32) {
    views.publish(|table| {
        let zones: &mut Zones = table.views.get_mut("v").unwrap();
        let [alias, target]: [Name; 2] = ["e.", "f."].map(|origin| origin.parse().unwrap());
        world::put_nodes(
            zones,
            &alias,
            &[format!("www {version} CNAME www.f."), "fixed 60 A 192.0.2.1".to_owned()],
        );
        world::put_nodes(zones, &target, &[SOA.to_owned(), format!("www {version} A 192.0.2.9")]);
    });
}

/// The version of a response, which is the same in both of its records.
fn version(response: &[u8]) -> u32 {
    let lines = show(response);
    assert_eq!(lines.len(), 3, "{lines:?}");
    let ttls: Vec<u32> =
        lines[1..].iter().map(|line| line.split(' ').nth(2).unwrap().parse().unwrap()).collect();
    assert_eq!(ttls[0], ttls[1], "one response is of one version: {lines:?}");
    ttls[0]
}

/// Asks until the end; gives how many versions were seen.
async fn watch_udp(server: SocketAddr, stop: Arc<AtomicBool>) -> usize {
    let socket = udp_client(server, Ipv4Addr::LOCALHOST.into()).await;
    let mut seen = vec![0];
    while !stop.load(Ordering::Relaxed) {
        seen.push(version(&ask_udp(&socket, &query("www.e.")).await));
        assert_eq!(show(&ask_udp(&socket, &query("fixed.e.")).await)[1], "answer fixed.e. 60 A 192.0.2.1");
    }
    distinct(seen)
}

async fn watch_tcp(server: SocketAddr, stop: Arc<AtomicBool>) -> usize {
    let mut stream = TcpStream::connect(server).await.unwrap();
    let mut seen = vec![0];
    while !stop.load(Ordering::Relaxed) {
        send_tcp(&mut stream, &query("www.e.")).await;
        seen.push(version(&receive_tcp(&mut stream).await));
    }
    distinct(seen)
}

fn distinct(mut seen: Vec<u32>) -> usize {
    assert!(seen.is_sorted(), "no version comes back");
    seen.dedup();
    seen.len()
}
