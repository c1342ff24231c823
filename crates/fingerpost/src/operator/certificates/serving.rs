//! TLS with a certificate that may be another one at the next connection.

use std::io;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use axum::Router;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::net::TcpListener;

use crate::http::Limits;
use crate::http::server::{Serving, Tls, serve_with};

/// The certificate that is served; until there is one, no connection comes about.
#[derive(Debug, Default)]
pub struct Served(ArcSwapOption<CertifiedKey>);

impl Served {
    /// Whether there is a certificate to serve.
    pub fn is_there(&self) -> bool {
        self.0.load().is_some()
    }

    pub(super) fn swap(&self, certified: CertifiedKey) {
        self.0.store(Some(Arc::new(certified)));
    }
}

impl ResolvesServerCert for Served {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.load_full()
    }
}

/// Serves a router over TLS until it is stopped. All requests come from the API server.
pub fn serve(
    listener: TcpListener,
    served: Arc<Served>,
    router: Router,
    limits: Limits,
) -> io::Result<Serving> {
    Ok(serve_with(listener, Some(Tls::of_resolver(served)?), router, limits.for_one_client()))
}
