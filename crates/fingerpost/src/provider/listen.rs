//! The listener of either protocol: plain or over TLS, with or without client certificates.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use axum::Router;
use axum_server::Handle;
use axum_server::tls_rustls::RustlsConfig;
use hyper_util::rt::TokioTimer;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// How long a client may take to send its headers.
const HEADER_TIME: Duration = Duration::from_secs(10);
/// How often the certificate's files are looked at.
const REREAD: Duration = Duration::from_secs(10);

/// The files for TLS.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// Our certificates.
    pub certificates: PathBuf,
    /// The key.
    pub key: PathBuf,
    /// Authorities of clients' certificates, where those are wanted.
    pub clients: Option<PathBuf>,
}

/// What the files held.
#[derive(Clone, PartialEq, Eq)]
struct TlsContent {
    certificates: Vec<u8>,
    key: Vec<u8>,
    clients: Option<Vec<u8>>,
}

/// A running listener.
pub struct Listening {
    handle: Handle<SocketAddr>,
    tasks: Vec<JoinHandle<()>>,
}

/// Serves a router until it is stopped.
pub fn serve(listener: TcpListener, tls: Option<TlsFiles>, router: Router) -> Result<Listening> {
    let handle = Handle::new();
    let listener = listener.into_std()?;
    let service = router.into_make_service_with_connect_info::<SocketAddr>();
    let mut tasks = Vec::new();
    match tls {
        None => {
            let mut server = axum_server::from_tcp(listener)?.handle(handle.clone());
            server.http_builder().http1().timer(TokioTimer::new()).header_read_timeout(HEADER_TIME);
            tasks.push(tokio::spawn(async move { drop(server.serve(service).await) }));
        }
        Some(files) => {
            let content = files.read()?;
            let configuration = RustlsConfig::from_config(Arc::new(content.configuration()?));
            let mut server =
                axum_server::from_tcp_rustls(listener, configuration.clone())?.handle(handle.clone());
            server.http_builder().http1().timer(TokioTimer::new()).header_read_timeout(HEADER_TIME);
            tasks.push(tokio::spawn(async move { drop(server.serve(service).await) }));
            tasks.push(tokio::spawn(files.follow(content, configuration)));
        }
    }
    Ok(Listening { handle, tasks })
}

impl Listening {
    /// Takes no more requests; those under way get a moment.
    pub async fn stop(self) {
        const MOMENT: Duration = Duration::from_secs(1);
        self.handle.graceful_shutdown(Some(MOMENT));
        let mut tasks = self.tasks.into_iter();
        if let Some(server) = tasks.next() {
            let _ = tokio::time::timeout(2 * MOMENT, server).await;
        }
        tasks.for_each(|task| task.abort());
    }
}

impl TlsFiles {
    fn read(&self) -> Result<TlsContent> {
        let read =
            |path: &PathBuf| std::fs::read(path).with_context(|| format!("cannot read {}", path.display()));
        let clients = self.clients.as_ref().map(read).transpose()?;
        Ok(TlsContent { certificates: read(&self.certificates)?, key: read(&self.key)?, clients })
    }

    /// Serves new certificates as they come; what cannot be used is left where it is.
    async fn follow(self, mut served: TlsContent, configuration: RustlsConfig) {
        loop {
            tokio::time::sleep(REREAD).await;
            let Ok(found) = self.read() else { continue };
            if found == served {
                continue;
            }
            match found.configuration() {
                Ok(new) => configuration.reload_from_config(Arc::new(new)),
                Err(error) => tracing::warn!("the certificate stays as it was: {error:#}"),
            }
            served = found;
        }
    }
}

impl TlsContent {
    fn configuration(&self) -> Result<ServerConfig> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder =
            ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions()?;
        let builder = match &self.clients {
            None => builder.with_no_client_auth(),
            Some(pem) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates(pem).context("--client-ca")? {
                    roots.add(certificate).context("--client-ca")?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
                builder.with_client_cert_verifier(verifier.build().context("--client-ca")?)
            }
        };
        let key = PrivateKeyDer::from_pem_slice(&self.key).context("--tls-key holds no key")?;
        let chain = certificates(&self.certificates).context("--tls-cert")?;
        let mut configuration = builder.with_single_cert(chain, key).context("--tls-cert and --tls-key")?;
        configuration.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(configuration)
    }
}

/// The certificates in a PEM file, at least one.
pub fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.context("this is not PEM")?;
    anyhow::ensure!(!found.is_empty(), "there is no certificate in it");
    Ok(found)
}
