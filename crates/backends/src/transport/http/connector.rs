//! Connects to what the guard permits, and to nothing else: the address that is judged is the one that is
//! connected to, whether it is written as one or a name has it just now.

use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::future::select_ok;
use http::Uri;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tower::Service;

use crate::Failure;
use crate::transport::guard::Guard;

/// How much of a start each address of a name has before the next one (RFC 8305, section 8).
const START: Duration = Duration::from_millis(250);
/// No more addresses of one name are tried.
const MOST_ADDRESSES: usize = 16;

/// Connects to servers that the guard permits.
#[derive(Clone)]
pub(super) struct Connector(pub(super) Arc<Guard>);

impl Service<Uri> for Connector {
    type Response = TokioIo<TcpStream>;
    type Error = Failure;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Failure>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        Box::pin(connect(self.0.clone(), uri))
    }
}

async fn connect(guard: Arc<Guard>, uri: Uri) -> Result<TokioIo<TcpStream>, Failure> {
    let usual = if uri.scheme_str() == Some("https") { 443 } else { 80 };
    let (host, port) = (uri.host().unwrap_or_default(), uri.port_u16().unwrap_or(usual));
    let addresses = guard.resolve(host, port).await?;
    let attempts = (0_u32..).zip(addresses).take(MOST_ADDRESSES);
    let attempts = attempts.map(|(place, address)| Box::pin(attempt(address, START * place)));
    let (stream, _) = select_ok(attempts).await?;
    // What is asked is small, and its answer is waited for.
    let _ = stream.set_nodelay(true);
    Ok(TokioIo::new(stream))
}

async fn attempt(address: SocketAddr, after: Duration) -> std::io::Result<TcpStream> {
    tokio::time::sleep(after).await;
    TcpStream::connect(address).await
}
