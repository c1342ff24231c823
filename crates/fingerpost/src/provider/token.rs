//! ServiceAccount tokens, judged offline by the issuer's public keys (RFC 7519, RFC 7517).
//!
//! RS256 and ES256 are known, which is what API servers sign with. A token by a key that is not known makes
//! the keys be read anew, at most once in a while.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use backends::transport::http::{HttpClient, bearer};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use http::header::AUTHORIZATION;
use http_body_util::Full;
use jiff::Timestamp;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// How far the issuer's clock may be from ours, in seconds.
const LEEWAY: i64 = 60;
/// How long keys count before an unknown one makes them be read anew.
const REST: Duration = Duration::from_secs(10);
/// The longest token that is looked at.
const MOST: usize = 16 << 10;

/// Which tokens are accepted.
pub struct Tokens {
    /// The `iss` that they must have.
    pub issuer: String,
    /// The `aud` that they must have.
    pub audience: String,
    /// The `sub` of which they must have one, as `system:serviceaccount:NAMESPACE:NAME`.
    pub subjects: Vec<String>,
    /// Where the keys come from.
    pub source: Source,
    keys: Mutex<Keys>,
}

/// Where the issuer's keys come from.
pub enum Source {
    /// A file.
    File(PathBuf),
    /// An API server.
    Url {
        /// The address of the keys.
        url: String,
        /// How it is asked.
        client: Box<HttpClient>,
        /// A file with the token that it is asked with.
        token: Option<PathBuf>,
    },
}

#[derive(Default)]
struct Keys {
    keys: Vec<Key>,
    read: Option<Instant>,
}

#[derive(Clone, Debug, Deserialize)]
struct KeySet {
    keys: Vec<Key>,
}

#[derive(Clone, Debug, Deserialize)]
struct Key {
    kty: String,
    #[serde(default)]
    kid: Option<String>,
    #[serde(default)]
    crv: String,
    #[serde(default)]
    n: String,
    #[serde(default)]
    e: String,
    #[serde(default)]
    x: String,
    #[serde(default)]
    y: String,
}

#[derive(Deserialize)]
struct Header {
    alg: String,
    #[serde(default)]
    kid: Option<String>,
}

#[derive(Deserialize)]
struct Claims {
    iss: String,
    sub: String,
    aud: Audience,
    exp: i64,
    #[serde(default)]
    nbf: Option<i64>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Several(Vec<String>),
}

/// A token that is taken apart, and not believed yet.
struct Parts<'a> {
    header: Header,
    claims: Claims,
    signed: &'a str,
    signature: Vec<u8>,
}

impl Tokens {
    /// Tokens of these accounts, with no key known yet.
    pub fn new(issuer: String, audience: String, subjects: Vec<String>, source: Source) -> Tokens {
        Tokens { issuer, audience, subjects, source, keys: Mutex::default() }
    }

    /// Reads the keys; an error says why that cannot be.
    pub async fn read_keys(&self) -> Result<()> {
        // The time counts from the try, so that a source that fails is not asked with every request.
        self.known().read = Some(Instant::now());
        let octets = self.source.read().await?;
        let set: KeySet = serde_json::from_slice(&octets).context("the keys are not a JSON Web Key Set")?;
        self.known().keys = set.keys;
        Ok(())
    }

    /// Whether a token is one that is accepted.
    pub async fn accept(&self, token: &str, now: Timestamp) -> bool {
        let Some(parts) = taken_apart(token) else { return false };
        if !self.covers(&parts.claims, now.as_second()) {
            return false;
        }
        if self.holds(&parts) {
            return true;
        }
        let rested = self.known().read.is_none_or(|read| read.elapsed() >= REST);
        if !rested {
            return false;
        }
        if let Err(error) = self.read_keys().await {
            tracing::warn!("the keys of ServiceAccount tokens cannot be read: {error:#}");
        }
        self.holds(&parts)
    }

    fn covers(&self, claims: &Claims, now: i64) -> bool {
        let audience = match &claims.aud {
            Audience::One(one) => *one == self.audience,
            Audience::Several(several) => several.contains(&self.audience),
        };
        let timely = now <= claims.exp.saturating_add(LEEWAY)
            && claims.nbf.is_none_or(|from| now >= from.saturating_sub(LEEWAY));
        audience && timely && claims.iss == self.issuer && self.subjects.contains(&claims.sub)
    }

    fn holds(&self, parts: &Parts<'_>) -> bool {
        let known = self.known();
        let fits =
            |key: &&Key| parts.header.kid.is_none() || key.kid.is_none() || key.kid == parts.header.kid;
        known.keys.iter().filter(fits).any(|key| key.verifies(parts))
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Keys> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Source {
    async fn read(&self) -> Result<Vec<u8>> {
        match self {
            Source::File(path) => {
                std::fs::read(path).with_context(|| format!("cannot read the keys in {}", path.display()))
            }
            Source::Url { url, client, token } => {
                let mut request = http::Request::get(url);
                if let Some(path) = token {
                    let token = std::fs::read_to_string(path)
                        .with_context(|| format!("cannot read the token in {}", path.display()))?;
                    request = request.header(AUTHORIZATION, bearer(&token)?);
                }
                let answer = client.send(request.body(Full::new(Bytes::new()))?).await;
                let answer = answer.with_context(|| format!("cannot ask {url}"))?;
                if answer.status != 200 {
                    bail!("{url} answers with status {}", answer.status.as_u16());
                }
                Ok(answer.body.to_vec())
            }
        }
    }
}

impl Key {
    fn verifies(&self, parts: &Parts<'_>) -> bool {
        let signed = parts.signed.as_bytes();
        match (parts.header.alg.as_str(), self.kty.as_str()) {
            ("RS256", "RSA") => {
                let (Some(n), Some(e)) = (decoded(&self.n), decoded(&self.e)) else { return false };
                let key = RsaPublicKeyComponents { n, e };
                key.verify(&RSA_PKCS1_2048_8192_SHA256, signed, &parts.signature).is_ok()
            }
            ("ES256", "EC") if self.crv == "P-256" => {
                let (Some(x), Some(y)) = (decoded(&self.x), decoded(&self.y)) else { return false };
                let point = [&[4], &x[..], &y[..]].concat();
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point)
                    .verify(signed, &parts.signature)
                    .is_ok()
            }
            _ => false,
        }
    }
}

fn taken_apart(token: &str) -> Option<Parts<'_>> {
    let (signed, signature) = token.rsplit_once('.').filter(|_| token.len() <= MOST)?;
    let (header, claims) = signed.split_once('.')?;
    Some(Parts { header: json(header)?, claims: json(claims)?, signed, signature: decoded(signature)? })
}

fn json<T: DeserializeOwned>(text: &str) -> Option<T> {
    serde_json::from_slice(&decoded(text)?).ok()
}

fn decoded(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

#[cfg(test)]
mod tests;
