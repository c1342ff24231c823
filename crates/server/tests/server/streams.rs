//! Connections that are hostile, slow, many or encrypted.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::{PrivateKeyDer, ServerName};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use server::transfer::TransferSettings;
use server::{
    ALPN, CookieKeys, Identity, Limits, Options, Rcode, ServeHandle, Views, bind, bind_tls, serve_tls,
    serve_with,
};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::client::{Ask, show};
use crate::live::{ENDPOINT, PATIENCE, closes, framed, loopback, query, receive_tcp, send_tcp, start, views};

const TEXT: &str = "www 60 A 192.0.2.1";

/// A connection from a loopback address of its own.
async fn connect(server: SocketAddr, from: [u8; 4]) -> TcpStream {
    connect_with(server, from, None).await
}

/// The same, with a buffer of so many octets for what it receives.
async fn connect_with(server: SocketAddr, from: [u8; 4], buffer: Option<u32>) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    buffer.into_iter().for_each(|octets| socket.set_recv_buffer_size(octets).unwrap());
    socket.bind((IpAddr::from(from), 0).into()).unwrap();
    socket.connect(server).await.unwrap()
}

async fn is_answered(stream: &mut TcpStream) -> bool {
    send_tcp(stream, &query("www.e.")).await;
    show(&receive_tcp(stream).await)[0] == "NOERROR aa"
}

#[tokio::test]
async fn where_all_places_are_taken_the_one_that_idles_longest_gives_way() {
    let handle = start(&views(TEXT), Limits { connections: 2, ..Limits::default() }).await;
    let mut first = connect(handle.local_addr(), [127, 0, 0, 1]).await;
    assert!(is_answered(&mut first).await);
    let mut second = connect(handle.local_addr(), [127, 0, 1, 1]).await;
    assert!(is_answered(&mut second).await);
    assert!(is_answered(&mut first).await);
    let mut third = connect(handle.local_addr(), [127, 0, 2, 1]).await;
    assert!(is_answered(&mut third).await);
    assert!(closes(&mut second).await, "the first had asked since");
    assert!(is_answered(&mut first).await);
    assert_eq!(handle.counters().snapshot().refused_connections, 0);
    assert_eq!(handle.counters().snapshot().open_connections, 2);
    drop((first, third));
    let all_closed = async {
        while handle.counters().snapshot().open_connections > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(60), all_closed).await.unwrap();
}

/// Asks for more than all buffers on the way hold, and reads nothing.
async fn glut(stream: &mut TcpStream, query: &[u8]) {
    let queries = framed(query).repeat(64);
    let flood = async { while stream.write_all(&queries).await.is_ok() {} };
    assert!(timeout(Duration::from_millis(100), flood).await.is_err());
}

#[tokio::test]
async fn where_all_are_busy_one_more_of_the_same_address_is_closed_at_once_and_counted() {
    let limits = Limits { connections: 1, slow_reader: Duration::from_secs(60), ..Limits::default() };
    let handle = start(&views(&large()), limits).await;
    let mut slow = connect(handle.local_addr(), [127, 0, 0, 1]).await;
    glut(&mut slow, &query("big.e.")).await;
    let mut refused = connect(handle.local_addr(), [127, 0, 0, 1]).await;
    assert!(closes(&mut refused).await);
    let counts = handle.counters().snapshot();
    assert_eq!((counts.refused_connections, counts.evicted_not_reading, counts.evicted_busy), (1, 0, 0));
    let mut other = connect(handle.local_addr(), [127, 0, 1, 1]).await;
    send_tcp(&mut other, &query("big.e.")).await;
    assert_eq!(show(&receive_tcp(&mut other).await)[0], "NOERROR aa");
}

/// As many connections as there are places, from four networks, of clients that ask and never read.
async fn deaf(server: SocketAddr, query: &[u8]) -> Vec<TcpStream> {
    let connections = (0..256u16).map(|at| async move {
        let from = [127, 0, (at % 4) as u8, (1 + at / 4) as u8];
        let mut one = connect_with(server, from, Some(4096)).await;
        glut(&mut one, query).await;
        one
    });
    let mut all = Vec::new();
    // Many at a time, so that they are all there before the first is cut off.
    for one in connections.map(Box::pin).collect::<Vec<_>>().chunks_mut(64) {
        for stream in join_all(one).await {
            all.push(stream);
        }
    }
    all
}

async fn join_all<F: Future + Unpin>(futures: &mut [F]) -> Vec<F::Output> {
    let mut done: Vec<Option<F::Output>> = futures.iter().map(|_| None).collect();
    std::future::poll_fn(|context| {
        for (future, done) in futures.iter_mut().zip(&mut done).filter(|(_, done)| done.is_none()) {
            if let std::task::Poll::Ready(output) = std::pin::Pin::new(future).poll(context) {
                *done = Some(output);
            }
        }
        if done.iter().all(Option::is_some) { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
    done.into_iter().flatten().collect()
}

#[tokio::test]
async fn clients_of_four_networks_that_do_not_read_keep_no_other_client_out() {
    // On a busy machine a query may stay half sent for longer than the usual limit.
    let long = Duration::from_secs(120);
    let limits = Limits { idle: long, slow_reader: long, ..Limits::default() };
    let handle = start(&views(&format!("{TEXT}\n{}", large())), limits).await;
    let deaf = deaf(handle.local_addr(), &query("big.e.")).await;
    assert_eq!(handle.counters().snapshot().open_connections, 256);
    for at in 1..=20 {
        let mut honest = connect(handle.local_addr(), [127, 1, at, 1]).await;
        assert!(is_answered(&mut honest).await);
    }
    tokio::time::sleep(Duration::from_millis(1200)).await;
    for at in 1..=20 {
        let mut honest = connect(handle.local_addr(), [127, 2, at, 1]).await;
        assert!(is_answered(&mut honest).await);
    }
    // A neighbour of those that do not read is served too.
    let mut neighbour = connect(handle.local_addr(), [127, 0, 0, 200]).await;
    assert!(is_answered(&mut neighbour).await);
    let counts = handle.counters().snapshot();
    assert_eq!(counts.refused_connections, 0, "{counts:?}");
    assert!(counts.evicted_not_reading > 0 && counts.open_connections <= 257, "{counts:?}");
    drop(deaf);
}

#[tokio::test]
async fn transfers_that_nobody_reads_are_evicted_first() {
    let views = views(&(0..20_000).map(|at| format!("name-{at} 60 A 192.0.2.1\n")).collect::<String>());
    allow_transfers(&views);
    let handle =
        start(&views, Limits { connections: 8, connections_per_network: 8, ..Limits::default() }).await;
    let mut deaf = Vec::new();
    for at in 1..=4 {
        let mut one = connect(handle.local_addr(), [127, 0, 0, at]).await;
        glut(&mut one, &Ask::new("e.", "AXFR").octets()).await;
        deaf.push(one);
    }
    let mut idle = Vec::new();
    for at in 5..=8 {
        idle.push(connect(handle.local_addr(), [127, 0, 0, at]).await);
    }
    tokio::time::sleep(Duration::from_millis(1200)).await;
    let mut honest = Vec::new();
    for at in 1..=4 {
        let mut one = connect(handle.local_addr(), [127, 1, at, 1]).await;
        send_tcp(&mut one, &query("name-7.e.")).await;
        assert_eq!(show(&receive_tcp(&mut one).await)[0], "NOERROR aa");
        honest.push(one);
    }
    let counts = handle.counters().snapshot();
    assert_eq!((counts.evicted_not_reading, counts.evicted_idle, counts.refused_connections), (4, 0, 0));
    for one in &mut idle {
        send_tcp(one, &query("name-7.e.")).await;
        assert_eq!(show(&receive_tcp(one).await)[0], "NOERROR aa");
    }
}

#[tokio::test]
async fn a_connection_is_kept_however_many_arrive_from_networks_that_have_more() {
    let handle = start(&views(TEXT), Limits::of(16)).await;
    let mut honest = connect(handle.local_addr(), [127, 1, 0, 1]).await;
    let mut flood = std::collections::VecDeque::new();
    for at in 0..400u16 {
        flood.push_back(connect(handle.local_addr(), [127, 0, (at % 4) as u8, (1 + at % 200) as u8]).await);
        if flood.len() > 64 {
            flood.pop_front();
        }
    }
    assert!(is_answered(&mut honest).await);
}

/// Waits until the server has no more connections open than this.
async fn settles(handle: &ServeHandle, connections: u64) {
    let open = || handle.counters().snapshot().open_connections;
    let settled = async {
        while open() > connections {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(1), settled).await.unwrap_or_else(|_| panic!("{} are open", open()));
}

#[tokio::test]
async fn queries_that_never_end_hold_no_more_than_the_places() {
    let handle = start(&views(TEXT), Limits { connections: 4, ..Limits::default() }).await;
    let mut many = Vec::new();
    for at in 0..200 {
        let mut one = connect(handle.local_addr(), [127, 0, at, 1]).await;
        one.write_all(&[0]).await.unwrap();
        many.push(one);
        let open = handle.counters().snapshot().open_connections;
        assert!(open <= 4 + 1, "{open} are open, and one may be closing");
    }
    settles(&handle, 4).await;
    let mut good = connect(handle.local_addr(), [127, 1, 0, 1]).await;
    assert!(is_answered(&mut good).await);
}

#[tokio::test]
async fn responses_that_nobody_reads_hold_no_more_than_the_places() {
    let handle = start(&views(&large()), Limits { connections: 4, ..Limits::default() }).await;
    let mut many = Vec::new();
    for at in 0..12 {
        let mut one = connect(handle.local_addr(), [127, 0, at, 1]).await;
        stuff(&mut one, &handle).await;
        many.push(one);
    }
    settles(&handle, 4).await;
    let mut good = connect(handle.local_addr(), [127, 1, 0, 1]).await;
    send_tcp(&mut good, &query("big.e.")).await;
    assert_eq!(show(&receive_tcp(&mut good).await)[0], "NOERROR aa");
}

/// Asks until one response does not leave, and no more: the server then waits for both, our next
/// query and room for its response.
async fn stuff(stream: &mut TcpStream, handle: &ServeHandle) {
    let sent = || handle.counters().snapshot().responses[&Rcode::NoError];
    loop {
        let before = sent();
        send_tcp(stream, &query("big.e.")).await;
        let leaves = async {
            while sent() == before {
                tokio::task::yield_now().await;
            }
        };
        if timeout(Duration::from_millis(200), leaves).await.is_err() {
            return;
        }
    }
}

#[tokio::test]
async fn one_network_cannot_take_all_places() {
    let limits = Limits { connections: 8, connections_per_network: 2, ..Limits::default() };
    let handle = start(&views(TEXT), limits).await;
    let mut other = connect(handle.local_addr(), [127, 1, 0, 1]).await;
    assert!(is_answered(&mut other).await);
    let mut many = Vec::new();
    for host in 1..=6 {
        let mut one = connect(handle.local_addr(), [127, 0, 0, host]).await;
        assert!(is_answered(&mut one).await);
        many.push(one);
    }
    for gone in &mut many[..4] {
        assert!(closes(gone).await);
    }
    assert!(is_answered(&mut many[5]).await && is_answered(&mut many[4]).await);
    assert!(is_answered(&mut other).await);
}

#[tokio::test]
async fn a_query_that_trickles_is_cut_off_though_it_never_pauses() {
    let limits = Limits { idle: Duration::from_millis(300), ..Limits::default() };
    let handle = start(&views(TEXT), limits).await;
    let mut slow = connect(handle.local_addr(), [127, 0, 0, 1]).await;
    let trickle = async {
        // One octet at a time, and none is the last.
        slow.write_all(&[0xff, 0xff]).await.unwrap();
        while slow.write_all(&[0]).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, trickle).await.expect("the connection is closed");
    let mut next = connect(handle.local_addr(), [127, 0, 0, 1]).await;
    assert!(is_answered(&mut next).await);
}

#[tokio::test]
async fn a_client_that_says_no_more_gets_all_that_it_asked_for() {
    let handle = start(&views(&large()), Limits::default()).await;
    let mut stream = connect(handle.local_addr(), [127, 0, 0, 1]).await;
    stream.write_all(&framed(&query("big.e.")).repeat(20)).await.unwrap();
    stream.shutdown().await.unwrap();
    for _ in 0..20 {
        assert_eq!(show(&receive_tcp(&mut stream).await).len(), 1501);
    }
    assert!(closes(&mut stream).await);
}

#[tokio::test]
async fn a_transfer_holds_no_other_query_up_and_arrives_whole() {
    const RECORDS: usize = 5000;
    let views = views(&(0..RECORDS).map(|at| format!("name-{at} 60 A 192.0.2.1\n")).collect::<String>());
    allow_transfers(&views);
    let handle = start(&views, Limits::default()).await;
    let mut stream = connect(handle.local_addr(), [127, 0, 0, 1]).await;
    let transfer = framed(&Ask::new("e.", "AXFR").with("tcp").octets());
    stream.write_all(&[transfer, framed(&query("name-7.e."))].concat()).await.unwrap();
    stream.shutdown().await.unwrap();
    let (mut transferred, mut messages, mut overtaken) = (0, 0, false);
    while transferred < RECORDS + 2 {
        let response = receive_tcp(&mut stream).await;
        let records = usize::from(u16::from_be_bytes([response[6], response[7]]));
        if response[12..].starts_with(b"\x06name-7") {
            overtaken = true;
        } else {
            (transferred, messages) = (transferred + records, messages + 1);
        }
    }
    assert!(overtaken, "the other answer came before the end");
    assert_eq!(transferred, RECORDS + 2, "the SOA begins and ends it");
    assert!(messages > 2, "{messages}");
    assert!(closes(&mut stream).await);
}

fn allow_transfers(views: &Views) {
    views.publish(|table| {
        let to = vec!["127.0.0.0/8".parse().unwrap()];
        let settings = TransferSettings { to, ..TransferSettings::default() };
        table.transfers.insert("v".to_owned(), Arc::new(settings));
    });
}

fn large() -> String {
    (0..1500).map(|at| format!("big 60 A 192.0.{}.{}\n", at / 250, at % 250)).collect()
}

#[tokio::test]
async fn cookies_and_the_idle_time_are_told_over_tcp() {
    let identity =
        Identity { nsid: Some((*b"weu-1").into()), cookies: Some(CookieKeys::new([7; 16], vec![])) };
    let options = Options { identity: Arc::new(identity), ..Options::default() };
    let handle = serve_with(options, bind(loopback()).await.unwrap(), ENDPOINT, views(TEXT));
    let mut stream = connect(handle.local_addr(), [127, 0, 0, 1]).await;
    let ask = Ask::new("www.e.", "A").with("option=10:0102030405060708").with("option=11:").with("option=3:");
    send_tcp(&mut stream, &ask.octets()).await;
    let lines = show(&receive_tcp(&mut stream).await);
    assert_eq!(lines[3], "nsid weu-1");
    assert!(lines[4].starts_with("cookie 010203040506070801000000"), "{lines:?}");
    assert_eq!(lines[5], "keepalive 0064");
}

/// A server over TLS, and what a client needs to trust it.
async fn start_tls(views: &Views, limits: Limits) -> (ServeHandle, TlsConnector) {
    let signed = rcgen::generate_simple_self_signed(vec!["ns.example".to_owned()]).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::try_from(signed.signing_key.serialize_der()).unwrap();
    let mut ours = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![signed.cert.der().clone()], key)
        .unwrap();
    ours.alpn_protocols = vec![ALPN.to_vec()];
    let mut roots = RootCertStore::empty();
    roots.add(signed.cert.der().clone()).unwrap();
    let mut theirs = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    theirs.alpn_protocols = vec![ALPN.to_vec()];
    let options = Options { limits, ..Options::default() };
    let bound = bind_tls(loopback()).await.unwrap();
    let handle = serve_tls(&options, Arc::new(ours), bound, ENDPOINT, views.clone());
    (handle, TlsConnector::from(Arc::new(theirs)))
}

async fn connect_tls(server: SocketAddr, connector: &TlsConnector) -> TlsStream<TcpStream> {
    let stream = TcpStream::connect(server).await.unwrap();
    connector.connect(ServerName::try_from("ns.example").unwrap(), stream).await.unwrap()
}

#[tokio::test]
async fn tls_carries_many_queries_and_hides_their_length() {
    let (handle, connector) = start_tls(&views(TEXT), Limits::default()).await;
    let mut stream = connect_tls(handle.local_addr(), &connector).await;
    assert_eq!(stream.get_ref().1.alpn_protocol(), Some(ALPN));
    let padded = Ask::new("www.e.", "A").with("option=12:00").octets();
    stream.write_all(&framed(&padded).repeat(3)).await.unwrap();
    for _ in 0..3 {
        let response = receive_tcp(&mut stream).await;
        assert_eq!(show(&response)[1], "answer www.e. 60 A 192.0.2.1");
        assert_eq!(response.len(), 468);
    }
    timeout(PATIENCE, handle.stop()).await.expect("nothing holds the stop up");
    assert!(closes(&mut stream).await);
}

#[tokio::test]
async fn whoever_does_not_finish_the_handshake_is_cut_off() {
    let limits = Limits { idle: Duration::from_millis(100), ..Limits::default() };
    let (handle, connector) = start_tls(&views(TEXT), limits).await;
    let mut silent = TcpStream::connect(handle.local_addr()).await.unwrap();
    assert!(closes(&mut silent).await);
    let mut plain = TcpStream::connect(handle.local_addr()).await.unwrap();
    send_tcp(&mut plain, &query("www.e.")).await;
    timeout(PATIENCE, async { while !closes(&mut plain).await {} }).await.expect("an end in time");
    let mut good = connect_tls(handle.local_addr(), &connector).await;
    good.write_all(&framed(&query("www.e."))).await.unwrap();
    assert_eq!(show(&receive_tcp(&mut good).await)[0], "NOERROR aa");
}

#[tokio::test]
async fn over_tls_too_a_client_that_does_not_read_is_evicted_first() {
    let limits = Limits { connections: 4, connections_per_network: 4, ..Limits::default() };
    let (handle, connector) = start_tls(&views(&large()), limits).await;
    let name = || ServerName::try_from("ns.example").unwrap();
    let mut idle =
        connector.connect(name(), connect(handle.local_addr(), [127, 0, 0, 9]).await).await.unwrap();
    let mut deaf = Vec::new();
    for at in 1..=3 {
        let stream = connect(handle.local_addr(), [127, 0, 0, at]).await;
        let mut stream = connector.connect(name(), stream).await.unwrap();
        let queries = framed(&query("big.e.")).repeat(64);
        let flood = async { while stream.write_all(&queries).await.is_ok() {} };
        assert!(timeout(Duration::from_millis(300), flood).await.is_err());
        deaf.push(stream);
    }
    tokio::time::sleep(Duration::from_millis(1200)).await;
    for at in 1..=3 {
        let stream = connect(handle.local_addr(), [127, 1, at, 1]).await;
        let mut honest = connector.connect(name(), stream).await.unwrap();
        honest.write_all(&framed(&query("big.e."))).await.unwrap();
        assert_eq!(show(&receive_tcp(&mut honest).await)[0], "NOERROR aa");
    }
    let counts = handle.counters().snapshot();
    assert!(counts.evicted_not_reading >= 1 && counts.evicted_idle == 0, "{counts:?}");
    idle.write_all(&framed(&query("big.e."))).await.unwrap();
    assert_eq!(show(&receive_tcp(&mut idle).await)[0], "NOERROR aa");
}
