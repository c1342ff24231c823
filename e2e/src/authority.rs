//! An authority of a test's own, and the certificates that it signs.

use anyhow::Result;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, IsCa, KeyPair};

/// Signs certificates; nobody trusts it who is not told to.
pub struct Authority(CertifiedIssuer<'static, KeyPair>);

/// A certificate and its key, as PEM.
pub struct Certified {
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: String,
}

impl Authority {
    /// A new one.
    pub fn new() -> Result<Authority> {
        let mut parameters = CertificateParams::new(Vec::new())?;
        parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        Ok(Authority(CertifiedIssuer::self_signed(parameters, KeyPair::generate()?)?))
    }

    /// Its own certificate, as PEM.
    pub fn certificate(&self) -> String {
        self.0.pem()
    }

    /// A certificate for a name or an address, without a common name.
    pub fn sign(&self, name: &str) -> Result<Certified> {
        let mut parameters = CertificateParams::new(vec![name.to_owned()])?;
        parameters.distinguished_name = DistinguishedName::new();
        let key = KeyPair::generate()?;
        let certificate = parameters.signed_by(&key, &self.0)?.pem();
        Ok(Certified { certificate, key: key.serialize_pem() })
    }
}
