//! A stream and a body that report to their connection's times.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use hyper::body::{Frame, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::connections::Connection;

/// A stream that reports whether its client reads.
#[derive(Debug)]
pub(super) struct Watched {
    stream: TcpStream,
    connection: Arc<Connection>,
}

impl Watched {
    pub(super) fn new(stream: TcpStream, connection: Arc<Connection>) -> Watched {
        Watched { stream, connection }
    }

    fn noted<T>(&self, written: Poll<T>) -> Poll<T> {
        self.connection.note_write(written.is_pending());
        written
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Watched {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &[u8]) -> Poll<io::Result<usize>> {
        let watched = self.get_mut();
        let written = Pin::new(&mut watched.stream).poll_write(cx, buffer);
        watched.noted(written)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let watched = self.get_mut();
        let written = Pin::new(&mut watched.stream).poll_write_vectored(cx, buffers);
        watched.noted(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(cx)
    }
}

/// The body of a response: when it ends, its connection waits for the next request.
pub(super) struct WatchedBody {
    body: Body,
    connection: Arc<Connection>,
}

impl WatchedBody {
    pub(super) fn new(body: Body, connection: Arc<Connection>) -> WatchedBody {
        WatchedBody { body, connection }
    }
}

impl Drop for WatchedBody {
    fn drop(&mut self) {
        self.connection.set_waiting();
    }
}

impl hyper::body::Body for WatchedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.get_mut().body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
