//! Secrets: what classes sign in with, from a folder, from files, or from a cluster.
//!
//! A Secret's content is never printed: it has no `Debug` of its own, and nothing here logs it.

mod cluster;
mod files;
mod folder;
mod token;

use std::collections::BTreeMap;
use std::fmt;

use futures::future::BoxFuture;

pub use cluster::ClusterSecrets;
pub use files::SecretFiles;
pub use folder::{FolderSecrets, LocalSecrets};

/// The annotation by which a Secret lets classes of other namespaces use it.
pub const ALLOW: &str = "fingerpost.dev/allow-dnsclass";

/// A Secret as somebody declared it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret {
    /// The classes that its annotation lets use it; `None` without the annotation.
    pub allows: Option<Vec<String>>,
    /// Its keys.
    pub data: BTreeMap<String, Vec<u8>>,
}

/// Which Secret.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SecretName {
    /// Its namespace; `None` is the operator's own.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

/// Why a Secret cannot be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// It is not there, or may not be used.
    NotFound(String),
    /// Nobody could say whether it is there.
    Unknown(String),
}

/// Where Secrets come from.
pub trait Secrets: Send + Sync {
    /// A Secret, for a class.
    fn secret<'a>(&'a self, name: &'a SecretName, class: &'a str) -> BoxFuture<'a, Result<Secret, Missing>>;

    /// A token of our own ServiceAccount for an audience.
    fn token<'a>(&'a self, audience: &'a str) -> BoxFuture<'a, Result<String, Missing>>;
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secret").field("keys", &self.data.len()).finish_non_exhaustive()
    }
}

impl fmt::Display for SecretName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

impl Secret {
    /// Takes an object of the API; a key in `stringData` counts before one in `data`.
    pub fn of(object: k8s_openapi::api::core::v1::Secret) -> Secret {
        let annotation = object.metadata.annotations.unwrap_or_default().remove(ALLOW);
        let data = object.data.unwrap_or_default().into_iter().map(|(key, value)| (key, value.0));
        let plain = object.string_data.unwrap_or_default();
        let plain = plain.into_iter().map(|(key, value)| (key, value.into_bytes()));
        Secret { allows: annotation.map(|text| classes(&text)), data: data.chain(plain).collect() }
    }

    /// Whether its annotation names a class.
    pub fn allows(&self, class: &str) -> Option<bool> {
        self.allows.as_ref().map(|allowed| allowed.iter().any(|allowed| allowed == class))
    }
}

/// What a Secret holds in base64; an end of line, which editors leave behind, is no part of it.
pub fn from_base64(text: &[u8]) -> Option<Vec<u8>> {
    let quoted = serde_json::Value::from(std::str::from_utf8(text).ok()?.trim());
    serde_json::from_value::<k8s_openapi::ByteString>(quoted).ok().map(|octets| octets.0)
}

fn classes(text: &str) -> Vec<String> {
    text.split(',').map(|class| class.trim().to_owned()).filter(|class| !class.is_empty()).collect()
}

impl Missing {
    pub(crate) fn not_found(name: &SecretName) -> Missing {
        Missing::NotFound(format!("the Secret {name} is not there"))
    }

    pub(crate) fn not_allowed(name: &SecretName, class: &str) -> Missing {
        Missing::NotFound(format!(
            "the Secret {name} does not let {class} use it: annotate it with {ALLOW}: {class}"
        ))
    }
}
