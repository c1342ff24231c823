//! Keys in Secrets of the operator's namespace: one Secret for a vault, one entry for a zone.
//!
//! A write says which version it changes, so of two writers at one moment one begins again.

use std::collections::BTreeMap;
use std::time::Duration;

use dns::Name;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ListParams, ObjectMeta, PostParams};
use kube::{Api, Client};
use server::dnssec::ZoneKeys;

use super::{KeysError, entry};

/// The label by which the Secrets are found.
const LABEL: &str = "fingerpost.dev/dnssec-keys";
/// Another may write between our reading and our writing, but not for long.
const ATTEMPTS: usize = 5;
/// How long one call may take, unless it is told otherwise.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The Secrets that hold keys.
#[derive(Clone)]
pub struct SecretVaults {
    client: Client,
    namespace: String,
    timeout: Duration,
}

impl std::fmt::Debug for SecretVaults {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SecretVaults({})", self.namespace)
    }
}

impl SecretVaults {
    /// Those of a namespace.
    pub fn new(client: Client, namespace: String) -> SecretVaults {
        SecretVaults { client, namespace, timeout: TIMEOUT }
    }

    /// The same, each call within this time.
    pub fn within(self, timeout: Duration) -> SecretVaults {
        SecretVaults { timeout, ..self }
    }

    /// The keys in one vault; `None` where there is no such Secret.
    pub async fn load(&self, vault: &str) -> Result<Option<Vec<Result<ZoneKeys, KeysError>>>, KeysError> {
        let secret = self.call(vault, self.api().get_opt(vault)).await?;
        Ok(secret.map(|secret| zones(vault, &secret)))
    }

    /// Every zone that has keys, with its vault.
    pub async fn all(&self) -> Result<Vec<(String, Result<ZoneKeys, KeysError>)>, KeysError> {
        let secrets = self.call(LABEL, self.api().list(&ListParams::default().labels(LABEL))).await?;
        let of = |secret: Secret| {
            let vault = secret.metadata.name.clone().unwrap_or_default();
            zones(&vault, &secret).into_iter().map(move |keys| (vault.clone(), keys))
        };
        Ok(secrets.items.into_iter().flat_map(of).collect())
    }

    /// Changes the keys of a zone, and keeps what comes of it; begins again where another wrote.
    pub async fn edit(
        &self,
        vault: &str,
        zone: &Name,
        change: impl Fn(Option<ZoneKeys>) -> Result<ZoneKeys, KeysError>,
    ) -> Result<ZoneKeys, KeysError> {
        let mut last = None;
        for _ in 0..ATTEMPTS {
            match self.try_edit(vault, zone, &change).await {
                Ok(keys) => return Ok(keys),
                Err(Attempt::Over(error)) => return Err(error),
                Err(Attempt::Again(error)) => last = Some(error),
            }
        }
        Err(last.unwrap_or_else(|| KeysError::None(zone.clone())))
    }

    async fn try_edit(
        &self,
        vault: &str,
        zone: &Name,
        change: &impl Fn(Option<ZoneKeys>) -> Result<ZoneKeys, KeysError>,
    ) -> Result<ZoneKeys, Attempt> {
        let secret = self.call(vault, self.api().get_opt(vault)).await?;
        let before = secret.as_ref().and_then(|secret| zone_in(vault, secret, zone)).transpose()?;
        let text = before.as_ref().map(ZoneKeys::to_stored);
        let after = change(before)?;
        let stored = after.to_stored();
        if text.as_ref() != Some(&stored) {
            self.write(vault, secret, entry(zone), stored).await?;
        }
        Ok(after)
    }

    async fn write(
        &self,
        vault: &str,
        secret: Option<Secret>,
        entry: String,
        stored: String,
    ) -> Result<(), Attempt> {
        let (api, parameters) = (self.api(), PostParams::default());
        let is_new = secret.is_none();
        let mut secret = secret.unwrap_or_else(|| empty(vault));
        secret.data.get_or_insert_default().insert(entry, ByteString(stored.into_bytes()));
        // A Secret that a user made has to be found as well.
        secret.metadata.labels.get_or_insert_default().insert(LABEL.to_owned(), "true".to_owned());
        // The version that was read is in the metadata, so a replacement of another is refused.
        let written = match is_new {
            true => tokio::time::timeout(self.timeout, api.create(&parameters, &secret)).await,
            false => tokio::time::timeout(self.timeout, api.replace(vault, &parameters, &secret)).await,
        };
        match written {
            Ok(Ok(_)) => Ok(()),
            Ok(Err(kube::Error::Api(status))) if status.code == 409 => {
                Err(Attempt::Again(refused(vault, "others write it all the time")))
            }
            Ok(Err(error)) => Err(Attempt::Over(failed(vault, &error))),
            Err(_) => Err(Attempt::Over(refused(vault, "the API server does not answer"))),
        }
    }

    async fn call<T>(
        &self,
        vault: &str,
        call: impl Future<Output = kube::Result<T>>,
    ) -> Result<T, KeysError> {
        match tokio::time::timeout(self.timeout, call).await {
            Ok(answer) => answer.map_err(|error| failed(vault, &error)),
            Err(_) => Err(refused(vault, "the API server does not answer")),
        }
    }

    fn api(&self) -> Api<Secret> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }
}

/// How an attempt to write failed.
enum Attempt {
    Again(KeysError),
    Over(KeysError),
}

impl From<KeysError> for Attempt {
    fn from(error: KeysError) -> Attempt {
        Attempt::Over(error)
    }
}

fn empty(vault: &str) -> Secret {
    let labels = BTreeMap::from([("app.kubernetes.io/managed-by".to_owned(), "fingerpost".to_owned())]);
    let metadata = ObjectMeta { name: Some(vault.to_owned()), labels: Some(labels), ..ObjectMeta::default() };
    Secret { metadata, type_: Some("Opaque".to_owned()), ..Secret::default() }
}

fn zones(vault: &str, secret: &Secret) -> Vec<Result<ZoneKeys, KeysError>> {
    secret.data.iter().flatten().map(|(entry, value)| read(vault, entry, &value.0)).collect()
}

fn zone_in(vault: &str, secret: &Secret, zone: &Name) -> Option<Result<ZoneKeys, KeysError>> {
    let entry = entry(zone);
    secret.data.as_ref()?.get(&entry).map(|value| read(vault, &entry, &value.0))
}

fn read(vault: &str, entry: &str, value: &[u8]) -> Result<ZoneKeys, KeysError> {
    let text = std::str::from_utf8(value).unwrap_or_default();
    ZoneKeys::from_stored(text).map_err(|error| refused(vault, &format!("{entry}: {error}")))
}

fn failed(vault: &str, error: &kube::Error) -> KeysError {
    let reason = match error {
        kube::Error::Api(status) => status.message.clone(),
        _ => "the API server cannot be asked".to_owned(),
    };
    refused(vault, &reason)
}

fn refused(vault: &str, reason: &str) -> KeysError {
    KeysError::Secret { name: vault.to_owned(), reason: reason.to_owned() }
}
