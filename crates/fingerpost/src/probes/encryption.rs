//! TLS of probes: whose certificates are believed.
//!
//! Certificates are checked against the authorities that this machine trusts (`SSL_CERT_FILE` and
//! `SSL_CERT_DIR` say which), or the usual public ones where it names none. No session is taken up again:
//! a certificate is looked at with every probe, or nobody would notice that it has expired.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio_rustls::TlsConnector;

/// How to connect, with a certificate that is looked at and with any.
#[derive(Clone)]
pub struct Encryption {
    /// The certificate must be valid for the host.
    pub verified: TlsConnector,
    /// Any certificate will do.
    pub any: TlsConnector,
}

impl Encryption {
    /// Reads the authorities that this machine trusts.
    pub fn new() -> Result<Encryption, Error> {
        Encryption::trusting(roots())
    }

    /// Trusts these authorities.
    pub fn trusting(roots: RootCertStore) -> Result<Encryption, Error> {
        let provider = Arc::new(ring::default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(roots.into(), provider.clone()).build();
        let verifier = verifier.map_err(|error| Error::General(error.to_string()))?;
        let any = Arc::new(AnyCertificate(provider.clone()));
        Ok(Encryption { verified: connector(&provider, verifier)?, any: connector(&provider, any)? })
    }
}

fn roots() -> RootCertStore {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
    }
    roots
}

fn connector(
    provider: &Arc<CryptoProvider>,
    verifier: Arc<dyn ServerCertVerifier>,
) -> Result<TlsConnector, Error> {
    let mut config = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    config.resumption = Resumption::disabled();
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Takes every certificate, as the user asked for; whoever shows one must still have its key.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
