//! A certificate with its key and the authorities that vouch for it, as the Secret holds them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    KeyUsagePurpose,
};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use x509_parser::time::ASN1Time;

const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";
const AUTHORITIES: &str = "ca.crt";

/// How long a certificate is good for; it is renewed after two thirds of that.
pub(super) const LIFE: SignedDuration = SignedDuration::from_hours(365 * 24);
/// The API server's clock may be behind ours.
const BEFORE: SignedDuration = SignedDuration::from_hours(1);

/// Certificate, key and authorities as PEM. The key shows up in no output.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Pair {
    certificate: Vec<u8>,
    key: Vec<u8>,
    authorities: Vec<u8>,
}

impl fmt::Debug for Pair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pair(…)")
    }
}

/// Why there is no certificate to be had.
#[derive(Debug, thiserror::Error)]
pub(super) enum PairError {
    /// A part of the Secret is not there.
    #[error("it has no `{0}`")]
    Missing(&'static str),
    /// A part of the Secret is not PEM, or holds nothing.
    #[error("its `{0}` holds no PEM of that sort")]
    Pem(&'static str),
    /// Certificate and key do not go together, or cannot be used.
    #[error("its certificate and key cannot be used: {0}")]
    Unusable(rustls::Error),
    /// The certificate cannot be read.
    #[error("its certificate cannot be read")]
    Unreadable,
    /// No certificate can be made.
    #[error("no certificate can be made: {0}")]
    Make(#[from] rcgen::Error),
    /// The time is none that a certificate can have.
    #[error("the clock shows no time that a certificate can have")]
    Time,
}

/// The only provider of cryptography in this program.
pub(super) fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

impl Pair {
    /// Makes a certificate for these names, with an authority of its own. What vouched for the
    /// certificate before stays among the authorities.
    pub(super) fn make(names: &[String], now: Timestamp, before: Option<&Pair>) -> Result<Pair, PairError> {
        let authority = CertifiedIssuer::self_signed(authority(now)?, KeyPair::generate()?)?;
        let key = KeyPair::generate()?;
        let certificate = server(names, now)?.signed_by(&key, &authority)?;
        let earlier = before.and_then(Pair::first_authority).unwrap_or_default();
        Ok(Pair {
            certificate: certificate.pem().into_bytes(),
            key: key.serialize_pem().into_bytes(),
            authorities: (authority.pem() + &earlier).into_bytes(),
        })
    }

    /// Takes what the Secret holds, good or bad.
    pub(super) fn read(secret: &Secret) -> Result<Pair, PairError> {
        let part = |name: &'static str| {
            let found = secret.data.as_ref().and_then(|data| data.get(name));
            found.map(|part| part.0.clone()).ok_or(PairError::Missing(name))
        };
        let authorities = part(AUTHORITIES).unwrap_or_default();
        Ok(Pair { certificate: part(CERTIFICATE)?, key: part(KEY)?, authorities })
    }

    /// Puts the parts into a Secret's data.
    pub(super) fn write(&self, data: &mut BTreeMap<String, ByteString>) {
        let parts = [(CERTIFICATE, &self.certificate), (KEY, &self.key), (AUTHORITIES, &self.authorities)];
        data.extend(parts.map(|(name, part)| (name.to_owned(), ByteString(part.clone()))));
    }

    /// What the API server is to trust, as PEM.
    pub(super) fn authorities(&self) -> &[u8] {
        &self.authorities
    }

    /// The certificates of the authorities.
    pub(super) fn authority_certificates(&self) -> Result<Vec<CertificateDer<'static>>, PairError> {
        certificates(&self.authorities, AUTHORITIES)
    }

    /// The certificate and those that lead from it to an authority.
    pub(super) fn chain(&self) -> Result<Vec<CertificateDer<'static>>, PairError> {
        certificates(&self.certificate, CERTIFICATE)
    }

    /// Certificate and key in the form in which they are served.
    pub(super) fn certified_key(&self) -> Result<CertifiedKey, PairError> {
        let key = PrivateKeyDer::from_pem_slice(&self.key).map_err(|_| PairError::Pem(KEY))?;
        CertifiedKey::from_der(self.chain()?, key, &provider()).map_err(PairError::Unusable)
    }

    /// From when until when the certificate is good.
    pub(super) fn validity(&self) -> Result<(Timestamp, Timestamp), PairError> {
        let chain = self.chain()?;
        let first = chain.first().ok_or(PairError::Pem(CERTIFICATE))?;
        let (_, parsed) = x509_parser::parse_x509_certificate(first).map_err(|_| PairError::Unreadable)?;
        let time = |time: ASN1Time| Timestamp::from_second(time.timestamp()).map_err(|_| PairError::Time);
        let validity = parsed.validity();
        Ok((time(validity.not_before)?, time(validity.not_after)?))
    }

    /// The authority of this very certificate, which stands first, as PEM.
    fn first_authority(&self) -> Option<String> {
        const END: &str = "-----END CERTIFICATE-----";
        let text = std::str::from_utf8(&self.authorities).ok()?;
        let first = format!("{}{END}\n", text.split_once(END)?.0);
        CertificateDer::from_pem_slice(first.as_bytes()).is_ok().then_some(first)
    }
}

fn certificates(pem: &[u8], part: &'static str) -> Result<Vec<CertificateDer<'static>>, PairError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    found.ok().filter(|found| !found.is_empty()).ok_or(PairError::Pem(part))
}

/// Every authority has a name of its own, so that nobody takes one for the other.
fn authority(now: Timestamp) -> Result<CertificateParams, PairError> {
    let mut parameters = lasting(CertificateParams::default(), now)?;
    parameters.distinguished_name.push(DnType::CommonName, format!("fingerpost webhook authority {now}"));
    parameters.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    parameters.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    Ok(parameters)
}

fn server(names: &[String], now: Timestamp) -> Result<CertificateParams, PairError> {
    let mut parameters = lasting(CertificateParams::new(names)?, now)?;
    parameters.distinguished_name.push(DnType::CommonName, "fingerpost webhook");
    parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    parameters.use_authority_key_identifier_extension = true;
    Ok(parameters)
}

fn lasting(mut parameters: CertificateParams, now: Timestamp) -> Result<CertificateParams, PairError> {
    let at = |shift: SignedDuration| {
        let second = now.checked_add(shift).map_err(|_| PairError::Time)?.as_second();
        ASN1Time::from_timestamp(second).map_err(|_| PairError::Time)
    };
    parameters.not_before = at(-BEFORE)?.to_datetime();
    parameters.not_after = at(LIFE)?.to_datetime();
    Ok(parameters)
}
