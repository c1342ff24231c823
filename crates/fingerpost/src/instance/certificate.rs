//! The certificate of DNS over TLS: read from files, and read again when they change.
//!
//! What cannot be used never replaces what can: a half-written file costs nothing.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use arc_swap::ArcSwap;
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::task::JoinSet;

use crate::http::server::tls::certificates;

/// How often the files are looked at.
const REREAD: Duration = Duration::from_secs(10);

/// A certificate that follows its files for as long as this lives.
#[derive(Debug)]
pub struct Certificate {
    /// How to serve with it.
    pub configuration: Arc<ServerConfig>,
    _following: JoinSet<()>,
}

#[derive(Clone, Debug)]
struct Files {
    certificates: PathBuf,
    key: PathBuf,
}

/// What the files held.
#[derive(PartialEq, Eq)]
struct Content {
    certificates: Vec<u8>,
    key: Vec<u8>,
}

/// What clients are shown.
#[derive(Debug)]
struct Shown(ArcSwap<CertifiedKey>);

impl Certificate {
    /// Reads the files, and from then on what becomes of them. Needs a Tokio runtime.
    pub fn open(certificates: PathBuf, key: PathBuf) -> Result<Certificate> {
        let files = Files { certificates, key };
        let content = files.read()?;
        let shown = Arc::new(Shown(ArcSwap::from_pointee(content.certified()?)));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        let mut configuration = builder.with_no_client_auth().with_cert_resolver(shown.clone());
        configuration.alpn_protocols = vec![server::ALPN.to_vec()];
        let mut following = JoinSet::new();
        following.spawn(follow(files, content, shown, REREAD));
        Ok(Certificate { configuration: Arc::new(configuration), _following: following })
    }
}

async fn follow(files: Files, mut last: Content, shown: Arc<Shown>, every: Duration) {
    loop {
        tokio::time::sleep(every).await;
        let Ok(found) = files.read() else { continue };
        if found == last {
            continue;
        }
        match found.certified() {
            Ok(certified) => shown.0.store(Arc::new(certified)),
            Err(error) => tracing::warn!("the certificate of DNS over TLS stays as it was: {error:#}"),
        }
        last = found;
    }
}

impl Files {
    fn read(&self) -> Result<Content> {
        let read =
            |path: &PathBuf| std::fs::read(path).with_context(|| format!("cannot read {}", path.display()));
        Ok(Content { certificates: read(&self.certificates)?, key: read(&self.key)? })
    }
}

impl Content {
    /// Fails where the key is another's.
    fn certified(&self) -> Result<CertifiedKey> {
        let key = PrivateKeyDer::from_pem_slice(&self.key).context("there is no key")?;
        let provider = rustls::crypto::ring::default_provider();
        Ok(CertifiedKey::from_der(certificates(&self.certificates)?, key, &provider)?)
    }
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn write(folder: &std::path::Path, name: &str) -> (PathBuf, PathBuf) {
        let made = rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap();
        let paths = (folder.join("tls.crt"), folder.join("tls.key"));
        std::fs::write(&paths.0, made.cert.pem()).unwrap();
        std::fs::write(&paths.1, made.signing_key.serialize_pem()).unwrap();
        paths
    }

    #[tokio::test]
    async fn a_new_certificate_is_shown_and_a_broken_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let (certificates, key) = write(folder.path(), "one.example");
        let files = Files { certificates: certificates.clone(), key };
        let content = files.read().unwrap();
        let shown = Arc::new(Shown(ArcSwap::from_pointee(content.certified().unwrap())));
        let (first, every) = (shown.0.load_full(), Duration::from_millis(5));
        let following = tokio::spawn(follow(files, content, shown.clone(), every));
        std::fs::write(&certificates, "half of it").unwrap();
        tokio::time::sleep(20 * every).await;
        assert!(Arc::ptr_eq(&first, &shown.0.load_full()));
        write(folder.path(), "two.example");
        let changed = async {
            while Arc::ptr_eq(&first, &shown.0.load_full()) {
                tokio::time::sleep(every).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), changed).await.expect("the new one in time");
        following.abort();
    }

    #[tokio::test]
    async fn a_key_of_another_certificate_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let (certificates, key) = write(folder.path(), "one.example");
        let other = tempfile::tempdir().unwrap();
        let (_, other_key) = write(other.path(), "two.example");
        assert!(Certificate::open(certificates.clone(), other_key).is_err());
        assert!(Certificate::open(certificates, key).is_ok());
    }
}
