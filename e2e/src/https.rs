//! HTTPS with certificates of a test's own: a client that trusts one authority, and a server's side.
//!
//! The tests themselves are plain threads; whatever needs a runtime shares this one.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use anyhow::{Context, Result, anyhow};
use bytes::Bytes;
use http_body_util::Full;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use tokio::runtime::Runtime;
use tokio_rustls::TlsAcceptor;

/// A client whose requests have their whole body from the start.
pub(crate) type HttpsClient = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// The runtime of the client and of every proxy.
pub(crate) fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<std::io::Result<Runtime>> = OnceLock::new();
    let runtime = RUNTIME.get_or_init(Runtime::new).as_ref();
    runtime.map_err(|error| anyhow!("cannot start a runtime: {error}"))
}

/// A client for servers whose certificate this authority signed.
pub(crate) fn client(authority: CertificateDer<'static>) -> Result<HttpsClient> {
    let mut roots = RootCertStore::empty();
    roots.add(authority).context("the authority's certificate is not one")?;
    let config = ClientConfig::builder_with_provider(ring::default_provider().into())
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = HttpsConnectorBuilder::new().with_tls_config(config).https_only().enable_http1().build();
    Ok(Client::builder(TokioExecutor::new()).build(connector))
}

/// A server's side with the certificate and the key of these files.
pub(crate) fn acceptor(certificate: &Path, key: &Path) -> Result<TlsAcceptor> {
    let config = ServerConfig::builder_with_provider(ring::default_provider().into())
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_file(certificate)?],
            PrivateKeyDer::from_pem_file(key)?,
        )?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
