//! What a class signs in with, gathered from Secrets.
//!
//! Whatever is missing is told by name and key; nothing of a content is ever told.

use api::dnsclass::{Backend, HmacAuth, Tls};
use api::{DNSClassSpec, SecretKeyRef, SecretRef};
use backends::delivery::Trouble;

use crate::secrets::{Missing, Secret, SecretName, Secrets};

/// What a class signs in with. It has no `Debug`, since it would print it.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Credentials {
    /// HMAC keys, an API key or a TSIG key; the first is the one that we use.
    pub(super) keys: Vec<Vec<u8>>,
    /// Certificates that the server's must be signed by.
    pub(super) authorities: Option<Vec<u8>>,
    /// Our certificate and its key.
    pub(super) identity: Option<(Vec<u8>, Vec<u8>)>,
    /// A token of our ServiceAccount.
    pub(super) token: Option<String>,
}

/// Gathers what a class signs in with.
pub(super) async fn gather(
    class: &str,
    spec: &DNSClassSpec,
    secrets: &dyn Secrets,
) -> Result<Credentials, Trouble> {
    let from = From { class, secrets };
    let mut credentials = Credentials::default();
    match spec.backend() {
        Some(Backend::Webhook(_)) => {
            if let Some(auth) = &spec.hmac_auth {
                credentials.keys = from.hmac(auth).await?;
            }
            if let Some(auth) = &spec.service_account_auth {
                credentials.token = Some(secrets.token(&auth.audience).await.map_err(trouble)?);
            }
            from.tls(spec.tls.as_ref(), &mut credentials).await?;
        }
        Some(Backend::Powerdns(powerdns)) => {
            credentials.keys = vec![from.key(&powerdns.api_key_secret_ref).await?];
            from.tls(powerdns.tls.as_ref(), &mut credentials).await?;
        }
        Some(Backend::Rfc2136(server)) => {
            if let Some(tsig) = &server.tsig {
                credentials.keys = vec![from.key(&tsig.secret_ref).await?];
            }
        }
        Some(Backend::ExternalDNSWebhook(webhook)) => {
            from.tls(webhook.tls.as_ref(), &mut credentials).await?
        }
        _ => {}
    }
    Ok(credentials)
}

struct From<'a> {
    class: &'a str,
    secrets: &'a dyn Secrets,
}

impl From<'_> {
    async fn hmac(&self, auth: &HmacAuth) -> Result<Vec<Vec<u8>>, Trouble> {
        if let Some(secret) = &auth.secret {
            return Ok(vec![secret.expose().as_bytes().to_vec()]);
        }
        let Some(reference) = &auth.secret_ref else { return Ok(Vec::new()) };
        let name = named(&reference.name, reference.namespace.as_deref());
        let secret = self.secret(&name).await?;
        let mut keys = vec![value(&secret, &name, &reference.key)?];
        // A further key may be there or not: that is what a rotation is.
        keys.extend(reference.additional_keys.iter().filter_map(|key| value(&secret, &name, key).ok()));
        Ok(keys)
    }

    async fn tls(&self, tls: Option<&Tls>, credentials: &mut Credentials) -> Result<(), Trouble> {
        let Some(tls) = tls else { return Ok(()) };
        if let Some(reference) = &tls.ca_secret_ref {
            credentials.authorities = Some(self.keys(reference, ["ca.crt"]).await?.remove(0));
        }
        if let Some(reference) = &tls.client_secret_ref {
            let mut pair = self.keys(reference, ["tls.crt", "tls.key"]).await?;
            let key = pair.pop().unwrap_or_default();
            credentials.identity = pair.pop().map(|certificate| (certificate, key));
        }
        Ok(())
    }

    async fn keys<const N: usize>(
        &self,
        reference: &SecretRef,
        keys: [&str; N],
    ) -> Result<Vec<Vec<u8>>, Trouble> {
        let name = named(&reference.name, reference.namespace.as_deref());
        let secret = self.secret(&name).await?;
        keys.into_iter().map(|key| value(&secret, &name, key)).collect()
    }

    async fn key(&self, reference: &SecretKeyRef) -> Result<Vec<u8>, Trouble> {
        let name = named(&reference.name, reference.namespace.as_deref());
        let secret = self.secret(&name).await?;
        value(&secret, &name, &reference.key)
    }

    async fn secret(&self, name: &SecretName) -> Result<Secret, Trouble> {
        self.secrets.secret(name, self.class).await.map_err(trouble)
    }
}

fn named(name: &str, namespace: Option<&str>) -> SecretName {
    SecretName { namespace: namespace.map(str::to_owned), name: name.to_owned() }
}

fn value(secret: &Secret, name: &SecretName, key: &str) -> Result<Vec<u8>, Trouble> {
    match secret.data.get(key) {
        Some(value) if !value.is_empty() => Ok(value.clone()),
        Some(_) => Err(not_found(format!("the key {key} of the Secret {name} is empty"))),
        None => Err(not_found(format!("the Secret {name} has no key {key}"))),
    }
}

fn not_found(message: String) -> Trouble {
    Trouble { reason: "SecretNotFound", code: "SECRET_NOT_FOUND", message }
}

/// The code where nobody could say whether a Secret is there: no reason to give up one that was.
pub(super) const UNKNOWN: &str = "SECRET_UNKNOWN";

fn trouble(missing: Missing) -> Trouble {
    match missing {
        Missing::NotFound(message) => not_found(message),
        Missing::Unknown(message) => Trouble { reason: "SecretNotFound", code: UNKNOWN, message },
    }
}
