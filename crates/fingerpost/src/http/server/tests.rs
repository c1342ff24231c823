#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::Instant;

use axum::routing::{get, post};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::bodies::{Bodies, announced};
use super::connections::Connection;
use super::*;
use crate::http::stream;

const PATIENCE: Duration = Duration::from_secs(10);

fn limits() -> Limits {
    Limits {
        connections: 8,
        connections_of_client: 8,
        header_time: Duration::from_millis(300),
        stall_time: Duration::from_millis(300),
        ..Limits::default()
    }
}

fn pages() -> Router {
    let endless = || async {
        let piece = vec![b'x'; stream::PIECE];
        stream::body(|mut pieces| async move {
            loop {
                pieces.text.extend_from_slice(&piece);
                pieces.send().await?;
            }
        })
    };
    let read = |request: Request<Body>| async {
        let (parts, body) = request.into_parts();
        let connection = parts.extensions.get::<Arc<Connection>>().cloned();
        let bodies = Bodies::new(1 << 20);
        let read = bodies.read(body, announced(&parts.headers), 1000, connection.as_deref()).await;
        read.map(|held| held.octets).map_err(|error| (error.status(), error.to_string()))
    };
    Router::new()
        .route("/", get(|| async { "fine" }))
        .route("/endless", get(endless))
        .route("/body", post(read))
}

async fn start(limits: Limits) -> (SocketAddr, Serving) {
    let listener = bind("127.0.0.1:0".parse().unwrap(), "--test").await.unwrap();
    let address = listener.local_addr().unwrap();
    (address, serve(listener, pages(), limits))
}

async fn open(address: SocketAddr, text: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(text.as_bytes()).await.unwrap();
    stream
}

/// What a server sends until it closes the connection.
async fn rest(mut stream: TcpStream) -> String {
    let mut text = Vec::new();
    // A connection may be reset where the server did not read all of it.
    let _ = tokio::time::timeout(PATIENCE, stream.read_to_end(&mut text)).await.expect("it stays open");
    String::from_utf8_lossy(&text).into_owned()
}

async fn ask(address: SocketAddr, text: &str) -> String {
    rest(open(address, text).await).await
}

async fn is_fine(address: SocketAddr) -> bool {
    ask(address, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").await.ends_with("fine")
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_that_are_slow_many_or_large_end_the_connection() {
    let (address, _serving) = start(limits()).await;
    let begun = Instant::now();
    assert!(!ask(address, "GET / HTTP/1.1\r\nHost: a\r\n").await.contains("fine"));
    assert!(begun.elapsed() >= Duration::from_millis(250) && begun.elapsed() < PATIENCE);
    let many: String = (0..200).map(|number| format!("X-{number}: y\r\n")).collect();
    assert!(ask(address, &format!("GET / HTTP/1.1\r\n{many}\r\n")).await.contains(" 431 "));
    let large = "y".repeat(60 << 10);
    assert!(ask(address, &format!("GET / HTTP/1.1\r\nX: {large}\r\n\r\n")).await.contains(" 431 "));
    assert!(is_fine(address).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_does_not_read_is_cut() {
    let (address, _serving) = start(limits()).await;
    let mut readers = Vec::new();
    for _ in 0..8 {
        readers.push(open(address, "GET /endless HTTP/1.1\r\nHost: a\r\n\r\n").await);
    }
    tokio::time::sleep(Duration::from_millis(1000)).await;
    assert!(is_fine(address).await);
    for reader in readers {
        // What was sent before the cut is bounded by the buffers.
        assert!(rest(reader).await.len() < 2 << 20);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn half_requests_make_room_for_others() {
    let (address, _serving) = start(Limits { header_time: PATIENCE, ..limits() }).await;
    let mut halves = Vec::new();
    for _ in 0..50 {
        halves.push(open(address, "GET / HTT").await);
        assert!(is_fine(address).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn idle_connections_are_closed_and_used_ones_stay() {
    let (address, _serving) = start(limits()).await;
    let mut stream = open(address, "").await;
    for _ in 0..3 {
        stream.write_all(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").await.unwrap();
        let mut text = [0; 512];
        let length = stream.read(&mut text).await.unwrap();
        assert!(String::from_utf8_lossy(&text[..length]).ends_with("fine"));
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(rest(stream).await, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_too_large_is_refused_before_it_is_read() {
    let (address, _serving) = start(limits()).await;
    let head = |length: usize| format!("POST /body HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n");
    assert!(ask(address, &head(1001)).await.contains(" 413 "));
    let chunked = "POST /body HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunks = format!("{:x}\r\n{}\r\n", 1100, "x".repeat(1100));
    assert!(ask(address, &format!("{chunked}{chunks}")).await.contains(" 413 "));
    assert!(ask(address, &format!("{}{}", head(5), "12345")).await.contains("12345"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_takes_too_long_is_cut() {
    let limits = Limits { request_time: Duration::from_millis(500), stall_time: PATIENCE, ..limits() };
    let (address, _serving) = start(limits).await;
    let mut stream = open(address, "GET /endless HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let (begun, mut buffer) = (Instant::now(), [0; 4096]);
    // It reads all the time, and slowly.
    while begun.elapsed() < PATIENCE && stream.read(&mut buffer).await.is_ok_and(|length| length > 0) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(begun.elapsed() < PATIENCE);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_does_not_wait_for_idle_clients() {
    let (address, serving) = start(Limits { header_time: PATIENCE, ..limits() }).await;
    let _idle = open(address, "").await;
    let _stalled = open(address, "GET /endless HTTP/1.1\r\nHost: a\r\n\r\n").await;
    let begun = Instant::now();
    serving.stop().await;
    assert!(begun.elapsed() < 3 * LAST_MOMENT);
    assert!(TcpStream::connect(address).await.is_err());
}
