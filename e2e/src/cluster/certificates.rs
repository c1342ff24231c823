//! The certificates and keys of a cluster, made anew for each.

use std::net::IpAddr;
use std::path::Path;

use anyhow::{Context, Result};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::CertificateDer;

/// Writes the API server's certificate and the service accounts' keys; returns the authority.
pub(super) fn write(folder: &Path, address: IpAddr) -> Result<CertificateDer<'static>> {
    let authority = authority()?;
    let key = KeyPair::generate()?;
    let names = vec![address.to_string(), "localhost".to_owned()];
    let certificate = CertificateParams::new(names)?.signed_by(&key, &authority)?;
    let accounts = KeyPair::generate()?;
    let files = [
        ("ca.crt", authority.pem()),
        ("server.crt", certificate.pem()),
        ("server.key", key.serialize_pem()),
        ("sa.key", accounts.serialize_pem()),
        ("sa.pub", accounts.public_key_pem()),
    ];
    for (name, text) in files {
        std::fs::write(folder.join(name), text).with_context(|| format!("cannot write {name}"))?;
    }
    Ok(authority.der().clone())
}

fn authority() -> Result<CertifiedIssuer<'static, KeyPair>> {
    let mut parameters = CertificateParams::new(Vec::new())?;
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    Ok(CertifiedIssuer::self_signed(parameters, KeyPair::generate()?)?)
}
