//! TLS with a certificate that may be another one at the next connection.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use axum::Router;
use axum_server::Handle;
use axum_server::tls_rustls::RustlsConfig;
use rustls::ServerConfig;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::pair::provider;

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

/// A running webhook.
#[derive(Debug)]
pub struct Serving {
    handle: Handle<SocketAddr>,
    task: JoinHandle<io::Result<()>>,
}

/// Serves a router over TLS until it is stopped.
pub fn serve(listener: TcpListener, served: Arc<Served>, router: Router) -> io::Result<Serving> {
    let configuration = RustlsConfig::from_config(Arc::new(configuration(served)?));
    let handle = Handle::new();
    let server = axum_server::from_tcp_rustls(listener.into_std()?, configuration)?.handle(handle.clone());
    let task = tokio::spawn(server.serve(router.into_make_service()));
    Ok(Serving { handle, task })
}

fn configuration(served: Arc<Served>) -> io::Result<ServerConfig> {
    let builder = ServerConfig::builder_with_provider(provider());
    let builder = builder.with_safe_default_protocol_versions().map_err(io::Error::other)?;
    let mut configuration = builder.with_no_client_auth().with_cert_resolver(served);
    configuration.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(configuration)
}

impl Serving {
    /// Takes no more requests; those under way get a moment.
    pub async fn stop(self) {
        const MOMENT: Duration = Duration::from_secs(1);
        self.handle.graceful_shutdown(Some(MOMENT));
        let _ = tokio::time::timeout(2 * MOMENT, self.task).await;
    }
}
