//! Who may send records: everything that is set up must hold.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use api::dnsclass::HmacAlgorithm;
use backends::webhook::protocol::{Code, NONCE, TIMESTAMP};
use backends::webhook::{Arrived, Keys, Verifier};
use http::HeaderMap;
use http::header::AUTHORIZATION;
use jiff::Timestamp;

use super::nonces::KeptNonces;
use super::store::Trouble;
use super::token::Tokens;

/// How often the files with secrets are read again.
const REREAD: Duration = Duration::from_secs(10);

/// The ways by which a request proves who sends it. Client certificates are the connection's business.
#[derive(Default)]
pub struct Authentication {
    /// Signatures.
    pub signatures: Option<Verifier>,
    /// Where the nonces of signed writes are kept over a restart.
    pub nonces: Option<KeptNonces>,
    /// ServiceAccount tokens.
    pub tokens: Option<Tokens>,
}

/// The files that hold the shared secrets.
#[derive(Clone, Debug)]
pub struct SecretFiles {
    /// The hash function.
    pub algorithm: HmacAlgorithm,
    /// The files; at least one.
    pub files: Vec<PathBuf>,
}

impl Authentication {
    /// Whether a request could be believed as far as its headers tell, before its body is read.
    pub async fn precheck(&self, headers: &HeaderMap, now: Timestamp) -> Result<(), Trouble> {
        if let Some(tokens) = &self.tokens {
            let token =
                headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()?.strip_prefix("Bearer "));
            let accepted = match token {
                Some(token) => tokens.accept(token, now).await,
                None => false,
            };
            if !accepted {
                return Err(refused(Code::AuthFailed, "the token is not accepted"));
            }
        }
        let checked = self.signatures.as_ref().map_or(Ok(()), |signatures| signatures.precheck(headers, now));
        checked.map_err(|refusal| refused(refusal.code(), &refusal.to_string()))
    }

    /// Whether a request is believed whose headers passed, now that its body is known.
    pub async fn check(&self, request: &Arrived<'_>, now: Timestamp) -> Result<(), Trouble> {
        if let Some(signatures) = &self.signatures {
            let verified = signatures.verify(request, now);
            verified.map_err(|refusal| refused(refusal.code(), &refusal.to_string()))?;
            self.keep_nonce(request, now)?;
        }
        Ok(())
    }

    /// Takes the nonces of the last minutes into memory.
    pub fn recall(&self, now: Timestamp) -> Result<()> {
        let (Some(signatures), Some(nonces)) = (&self.signatures, &self.nonces) else { return Ok(()) };
        match nonces.load() {
            Ok(kept) => kept.iter().for_each(|(timestamp, nonce)| signatures.recall(nonce, *timestamp, now)),
            Err(error) => tracing::warn!("the nonces of the last minutes cannot be read: {error}"),
        }
        Ok(())
    }

    fn keep_nonce(&self, request: &Arrived<'_>, now: Timestamp) -> Result<(), Trouble> {
        let Some(nonces) = self.nonces.as_ref().filter(|_| request.method != "GET") else { return Ok(()) };
        let header = |name: &str| request.headers.get(name)?.to_str().ok();
        let timestamp: Option<Timestamp> = header(TIMESTAMP).and_then(|text| text.parse().ok());
        let (Some(nonce), Some(timestamp)) = (header(NONCE), timestamp) else { return Ok(()) };
        nonces.keep(nonce, timestamp.as_second(), now.as_second()).map_err(|error| {
            tracing::error!("the nonces cannot be kept: {error}");
            refused(
                Code::Unavailable,
                "the server's disk takes no writes (full or read-only), so the request's nonce cannot be kept",
            )
        })
    }

    /// Reads the secrets again and again, for as long as it is polled.
    pub async fn follow(&self, files: Option<SecretFiles>) {
        let (Some(files), Some(signatures)) = (files, &self.signatures) else {
            return std::future::pending().await;
        };
        loop {
            tokio::time::sleep(REREAD).await;
            match files.read() {
                Ok(keys) => signatures.change_keys(keys),
                Err(error) => tracing::warn!("the secrets stay as they were: {error:#}"),
            }
        }
    }
}

impl SecretFiles {
    /// The keys as they are in the files now.
    pub fn read(&self) -> Result<Keys> {
        let mut secrets = self.files.iter().map(|path| {
            let secret = std::fs::read(path)
                .with_context(|| format!("cannot read the secret in {}", path.display()))?;
            let secret = secret.trim_ascii_end().to_vec();
            ensure!(!secret.is_empty(), "the secret in {} is empty", path.display());
            Ok(secret)
        });
        let first = secrets.next().context("there is no file with a secret")??;
        Ok(Keys { algorithm: self.algorithm, first, others: secrets.collect::<Result<_>>()? })
    }
}

fn refused(code: Code, message: &str) -> Trouble {
    Trouble { code, message: message.to_owned() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn a_secret_is_what_is_in_its_file_without_the_line_end() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let files = |files| SecretFiles { algorithm: HmacAlgorithm::Sha256, files };
        let keys = files(vec![file("new", "a secret\n"), file("old", "another")]).read().unwrap();
        assert_eq!(keys.all().collect::<Vec<_>>(), [&b"a secret"[..], b"another"]);
        let empty = files(vec![file("new", "a secret"), file("empty", "\n")]).read().unwrap_err();
        assert!(empty.to_string().contains("is empty"));
        assert!(files(vec![folder.path().join("missing")]).read().is_err());
    }
}
