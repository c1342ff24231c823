//! An object as it arrives: its head, and the text that the rest is read from when it is needed.
//!
//! `managedFields` are most of an object's text and nobody here reads them, so they are skipped
//! while parsing instead of being built and dropped.

use std::sync::Arc;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

/// Which object of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    /// Its namespace; empty for cluster-scoped kinds.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
}

/// An object as the API server sent it.
#[derive(Clone, Debug)]
pub struct Arrival {
    /// Which.
    pub key: Key,
    /// The API server's identifier.
    pub uid: Box<str>,
    /// How new it is; later versions have larger numbers.
    pub version: u64,
    /// Whether it is being deleted.
    pub deleting: bool,
    /// The whole object.
    pub text: Box<RawValue>,
}

#[derive(Deserialize)]
struct Manifest {
    metadata: Head,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head {
    #[serde(default)]
    namespace: Arc<str>,
    name: Arc<str>,
    #[serde(default)]
    uid: Box<str>,
    #[serde(default)]
    resource_version: Box<str>,
    deletion_timestamp: Option<IgnoredAny>,
}

impl Arrival {
    /// Reads the head of an object.
    pub fn parse(text: Box<RawValue>) -> Result<Arrival, serde_json::Error> {
        let Manifest { metadata } = serde_json::from_str(text.get())?;
        Ok(Arrival {
            key: Key { namespace: metadata.namespace, name: metadata.name },
            uid: metadata.uid,
            version: metadata.resource_version.parse().unwrap_or(0),
            deleting: metadata.deletion_timestamp.is_some(),
            text,
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn the_head_is_read_whatever_the_rest_holds() {
        let text = r#"{"kind":"X","metadata":{"name":"a","namespace":"b","uid":"u","resourceVersion":"42",
            "managedFields":[{"fieldsV1":{}}],"deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{"y":[1]}}"#;
        let arrival = Arrival::parse(RawValue::from_string(text.to_owned()).unwrap()).unwrap();
        assert_eq!((&*arrival.key.namespace, &*arrival.key.name), ("b", "a"));
        assert_eq!((&*arrival.uid, arrival.version, arrival.deleting), ("u", 42, true));
    }
}
