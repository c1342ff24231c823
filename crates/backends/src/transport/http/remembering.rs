//! Connections that remember why TLS failed on them.
//!
//! ```text
//! our handshake is complete ─► request ─► first read: the server's alert      TLS 1.3
//!                              └─ may fail before anything is read
//! ```
//!
//! In TLS 1.3 a server judges our certificate after our side of the handshake is complete. Its alert may be read
//! before the request is sent, or the request may meet a connection that the server has closed. Both end the request
//! with an error that has no cause. So the connection keeps the cause, and the error leads to the connection.

use std::future::Future;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use http::{Extensions, Uri};
use hyper::rt::{Read, ReadBuf, ReadBufCursor, Write};
use hyper_util::client::legacy::connect::{Connected, Connection};
use tower::Service;

use super::known_failure;
use crate::Failure;

/// A TLS alert is shorter than this.
const ALERT: usize = 64;

/// A connector whose connections remember why TLS failed.
#[derive(Clone)]
pub(super) struct Remembering<C>(pub(super) C);

/// Why TLS failed on a connection, once it has; clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory(Arc<OnceLock<Failure>>);

/// A connection and its memory.
pub(super) struct Remembered<S> {
    stream: S,
    memory: Memory,
}

impl Memory {
    /// What the connection of a request remembers.
    pub(super) fn of(connected: &Connected) -> Option<Failure> {
        let mut extensions = Extensions::new();
        connected.get_extras(&mut extensions);
        extensions.get::<Memory>()?.0.get().cloned()
    }

    fn note(&self, error: &io::Error) {
        if let Some(failure) = known_failure(error) {
            self.0.get_or_init(|| failure);
        }
    }
}

impl<C> Service<Uri> for Remembering<C>
where
    C: Service<Uri>,
    C::Future: Send + 'static,
{
    type Response = Remembered<C::Response>;
    type Error = C::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, C::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), C::Error>> {
        self.0.poll_ready(context)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = self.0.call(uri);
        Box::pin(async { Ok(Remembered { stream: connecting.await?, memory: Memory::default() }) })
    }
}

impl<S: Connection> Connection for Remembered<S> {
    fn connected(&self) -> Connected {
        self.stream.connected().extra(self.memory.clone())
    }
}

impl<S: Read + Unpin> Remembered<S> {
    fn noted<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.inspect_err(|error| self.memory.note(error))
    }

    /// The alert of a server that takes no more octets waits to be read. Nothing else is read after this.
    fn written<T>(&mut self, context: &mut Context<'_>, result: io::Result<T>) -> io::Result<T> {
        if result.is_err() {
            let mut octets = [MaybeUninit::uninit(); ALERT];
            let mut buffer = ReadBuf::uninit(&mut octets);
            if let Poll::Ready(Err(error)) = Pin::new(&mut self.stream).poll_read(context, buffer.unfilled())
            {
                self.memory.note(&error);
            }
        }
        self.noted(result)
    }
}

impl<S: Read + Unpin> Read for Remembered<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        read.map(|result| self.noted(result))
    }
}

impl<S: Read + Write + Unpin> Write for Remembered<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, octets);
        written.map(|result| self.written(context, result))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.stream).poll_flush(context);
        flushed.map(|result| self.written(context, result))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        octets: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, octets);
        written.map(|result| self.written(context, result))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use std::convert::Infallible;

    use bytes::Bytes;
    use http::Request;
    use http_body_util::Full;
    use hyper_util::client::legacy::Client;
    use hyper_util::rt::TokioExecutor;
    use rustls::AlertDescription;

    use super::super::of_error;
    use super::*;
    use crate::{Mistrust, Obstacle};

    /// A connection that takes no octets, whose next octets are an alert.
    struct Refusing {
        alert: Option<AlertDescription>,
    }

    impl Connection for Refusing {
        fn connected(&self) -> Connected {
            Connected::new()
        }
    }

    impl Read for Refusing {
        fn poll_read(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
            buffer: ReadBufCursor<'_>,
        ) -> Poll<io::Result<()>> {
            match self.alert {
                // The alert arrives when the client library has looked for octets, and before it writes.
                Some(alert) if buffer.remaining() <= ALERT => {
                    Poll::Ready(Err(io::Error::other(rustls::Error::AlertReceived(alert))))
                }
                _ => Poll::Pending,
            }
        }
    }

    impl Write for Refusing {
        fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
            Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    async fn failure(alert: Option<AlertDescription>) -> Failure {
        let connector =
            tower::service_fn(move |_: Uri| async move { Ok::<_, Infallible>(Refusing { alert }) });
        let client: Client<_, Full<Bytes>> =
            Client::builder(TokioExecutor::new()).build(Remembering(connector));
        let request = Request::get("http://server.example/").body(Full::default()).unwrap();
        of_error(&client.request(request).await.unwrap_err())
    }

    #[tokio::test]
    async fn an_alert_that_was_not_read_before_a_write_failed_is_the_cause() {
        let alert = Some(AlertDescription::CertificateRequired);
        assert_eq!(failure(alert).await, Failure::Untrusted(Mistrust::Own));
        assert_eq!(failure(None).await, Failure::Unreachable(Obstacle::Closed));
    }
}
