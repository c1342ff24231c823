//! A server that says whatever a test wants it to.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::super::*;
use crate::transport::guard::Guard;
use crate::transport::http::Trust;

/// An answer that never comes.
pub(super) const HANG: &str = "hang";

/// An HTTP answer; the status may bring headers.
pub(super) fn answer(status: &str, body: &str) -> String {
    format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
}

/// A client of a server that answers each request, head and body, so.
pub(super) async fn serve(answer: impl Fn(&str) -> String + Send + Sync + 'static) -> Powerdns {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let answer = Arc::new(answer);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let answer = answer.clone();
            tokio::spawn(async move { converse(stream, &*answer).await });
        }
    });
    let (server_id, api_key) = ("localhost".to_owned(), "key".into());
    let settings = Settings { url, server_id, api_key, zone_kind: ZoneKind::Native, dnssec: false };
    Powerdns::new(settings, client()).unwrap()
}

pub(super) fn client() -> HttpClient {
    let guard = Guard::allowing(["127.0.0.0/8".parse().unwrap()]);
    HttpClient::new(Arc::new(guard), Duration::from_secs(2), &Trust::default()).unwrap()
}

async fn converse(mut stream: TcpStream, answer: &(dyn Fn(&str) -> String + Send + Sync)) {
    let mut request = Vec::new();
    while !is_whole(&request) {
        if stream.read_buf(&mut request).await.unwrap_or(0) == 0 {
            return;
        }
    }
    match answer(&String::from_utf8(request).unwrap()) {
        answer if answer == HANG => std::future::pending().await,
        answer => stream.write_all(answer.as_bytes()).await.unwrap_or_default(),
    }
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_ascii_lowercase();
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse::<usize>().ok());
    body.len() >= length.unwrap_or(0)
}
