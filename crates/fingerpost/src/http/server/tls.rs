//! TLS of a listener: certificates in files that are read again when they change, or from a resolver.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use arc_swap::ArcSwap;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ResolvesServerCert, WebPkiClientVerifier};
use rustls::{RootCertStore, ServerConfig};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// How often the files are read.
const REREAD: Duration = Duration::from_secs(10);

/// How a listener encrypts.
#[derive(Clone)]
pub struct Tls {
    configuration: Arc<ArcSwap<ServerConfig>>,
    followed: Option<(TlsFiles, TlsContent)>,
}

/// The files of a certificate, and the flags that name them.
#[derive(Clone, Debug)]
pub struct TlsFiles {
    /// The certificates.
    pub certificates: PathBuf,
    /// The key.
    pub key: PathBuf,
    /// The authorities of clients' certificates, where clients must present one.
    pub clients: Option<PathBuf>,
}

/// The content of the files.
#[derive(Clone, PartialEq, Eq)]
struct TlsContent {
    certificates: Vec<u8>,
    key: Vec<u8>,
    clients: Option<Vec<u8>>,
}

impl Tls {
    /// A certificate in files; they are read again while the listener runs.
    pub fn of_files(files: TlsFiles) -> Result<Tls> {
        let content = files.read()?;
        let configuration = Arc::new(ArcSwap::from_pointee(content.configuration()?));
        Ok(Tls { configuration, followed: Some((files, content)) })
    }

    /// A certificate that may be another one at every connection.
    pub fn of_resolver(resolver: Arc<dyn ResolvesServerCert>) -> io::Result<Tls> {
        let builder = ServerConfig::builder_with_provider(provider());
        let builder = builder.with_safe_default_protocol_versions().map_err(io::Error::other)?;
        let configuration = over_http1(builder.with_no_client_auth().with_cert_resolver(resolver));
        Ok(Tls { configuration: Arc::new(ArcSwap::from_pointee(configuration)), followed: None })
    }

    pub(super) async fn accept<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
    ) -> io::Result<TlsStream<S>> {
        TlsAcceptor::from(self.configuration.load_full()).accept(stream).await
    }

    /// Starts to follow the files, where there are any.
    pub(super) fn follow(&self) -> Option<JoinHandle<()>> {
        let (files, content) = self.followed.clone()?;
        Some(tokio::spawn(follow(files, content, self.configuration.clone())))
    }
}

/// Serves new certificates as they come; files that cannot be used change nothing.
async fn follow(files: TlsFiles, mut served: TlsContent, configuration: Arc<ArcSwap<ServerConfig>>) {
    loop {
        tokio::time::sleep(REREAD).await;
        let Ok(found) = files.read() else { continue };
        if found == served {
            continue;
        }
        match found.configuration() {
            Ok(new) => configuration.store(Arc::new(new)),
            Err(error) => tracing::warn!("the new certificate is not used: {error:#}"),
        }
        served = found;
    }
}

impl TlsFiles {
    fn read(&self) -> Result<TlsContent> {
        let read =
            |path: &PathBuf| std::fs::read(path).with_context(|| format!("cannot read {}", path.display()));
        let clients = self.clients.as_ref().map(read).transpose()?;
        Ok(TlsContent { certificates: read(&self.certificates)?, key: read(&self.key)?, clients })
    }
}

impl TlsContent {
    fn configuration(&self) -> Result<ServerConfig> {
        let builder =
            ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions()?;
        let builder = match &self.clients {
            None => builder.with_no_client_auth(),
            Some(pem) => {
                let mut roots = RootCertStore::empty();
                for certificate in certificates(pem).context("--client-ca")? {
                    roots.add(certificate).context("--client-ca")?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider());
                builder.with_client_cert_verifier(verifier.build().context("--client-ca")?)
            }
        };
        let key = PrivateKeyDer::from_pem_slice(&self.key).context("the TLS key file holds no key")?;
        let chain = certificates(&self.certificates).context("the TLS certificate file")?;
        let configuration = builder.with_single_cert(chain, key);
        Ok(over_http1(configuration.context("the TLS certificate and key do not fit together")?))
    }
}

fn over_http1(mut configuration: ServerConfig) -> ServerConfig {
    configuration.alpn_protocols = vec![b"http/1.1".to_vec()];
    configuration
}

fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// The certificates in a PEM file, at least one.
pub fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.context("this is not PEM")?;
    anyhow::ensure!(!found.is_empty(), "there is no certificate in it");
    Ok(found)
}
