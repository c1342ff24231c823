//! The part of `metadata` that planning looks at.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::foreign::OtherFields;

/// Where and since when an object is, and who owns it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Meta {
    /// Its namespace; empty when its kind is cluster-scoped.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
    /// The API server's identifier; objects in files have none.
    pub uid: Option<Box<str>>,
    /// The API server's count of changes to the spec.
    pub generation: Option<i64>,
    /// When it was created, which ranks it in conflicts.
    pub created: Option<Timestamp>,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// Its annotations.
    pub annotations: BTreeMap<String, String>,
    /// The objects that own it.
    pub owners: Vec<Owner>,
    /// Its finalizers.
    pub finalizers: Vec<String>,
    /// Whether it is being deleted, and is only there until its finalizers are gone.
    pub deleting: bool,
}

/// One entry of `ownerReferences`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Owner {
    /// Group and version of the owner.
    pub api_version: String,
    /// Kind of the owner.
    pub kind: String,
    /// Name of the owner.
    pub name: String,
    /// The owner's identifier; empty where it is not known.
    #[serde(default)]
    pub uid: String,
    /// Whether it is the one owner that manages the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub controller: Option<bool>,
}

/// Defines `metadata` as it stands in a manifest. Our own kinds refuse fields that
/// Kubernetes does not have, foreign ones do not mind.
macro_rules! metadata {
    ($name:ident $(; $others:ident)? $(, $strict:meta, $($ignored:ident),*)?) => {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase" $(, $strict)?)]
        #[allow(dead_code)]
        pub(crate) struct $name {
            name: Arc<str>,
            namespace: Option<Arc<str>>,
            uid: Option<Box<str>>,
            generation: Option<i64>,
            creation_timestamp: Option<Timestamp>,
            labels: Option<BTreeMap<String, String>>,
            annotations: Option<BTreeMap<String, String>>,
            owner_references: Option<Vec<Owner>>,
            finalizers: Option<Vec<String>>,
            deletion_timestamp: Option<IgnoredAny>,
            $($($ignored: Option<IgnoredAny>,)*)?
            $(#[serde(flatten)] $others: OtherFields,)?
        }

        impl From<$name> for Meta {
            fn from(raw: $name) -> Meta {
                Meta {
                    namespace: raw.namespace.unwrap_or_default(),
                    name: raw.name,
                    uid: raw.uid,
                    generation: raw.generation,
                    created: raw.creation_timestamp,
                    labels: raw.labels.unwrap_or_default(),
                    annotations: raw.annotations.unwrap_or_default(),
                    owners: raw.owner_references.unwrap_or_default(),
                    finalizers: raw.finalizers.unwrap_or_default(),
                    deleting: raw.deletion_timestamp.is_some(),
                }
            }
        }
    };
}

metadata!(AnyMetadata; others);
metadata!(
    OwnMetadata,
    deny_unknown_fields,
    generate_name,
    resource_version,
    managed_fields,
    self_link,
    deletion_grace_period_seconds
);

/// The metadata of a foreign kind. Fields that Kubernetes does not have do not matter, unless one is a misspelt
/// `namespace`: without it this is another object.
#[derive(Deserialize)]
#[serde(try_from = "AnyMetadata")]
pub(crate) struct ForeignMetadata(Meta);

impl TryFrom<AnyMetadata> for ForeignMetadata {
    type Error = String;

    fn try_from(raw: AnyMetadata) -> Result<ForeignMetadata, String> {
        match raw.others.misspelt("namespace").first() {
            Some(field) if raw.namespace.is_none() => Err(field.to_string()),
            _ => Ok(ForeignMetadata(raw.into())),
        }
    }
}

impl From<ForeignMetadata> for Meta {
    fn from(ForeignMetadata(meta): ForeignMetadata) -> Meta {
        meta
    }
}

impl OwnMetadata {
    /// The fields that it takes, as a manifest spells them.
    pub(crate) const FIELDS: [&str; 15] = [
        "name",
        "namespace",
        "uid",
        "generation",
        "creationTimestamp",
        "labels",
        "annotations",
        "ownerReferences",
        "finalizers",
        "deletionTimestamp",
        "generateName",
        "resourceVersion",
        "managedFields",
        "selfLink",
        "deletionGracePeriodSeconds",
    ];
}

impl Meta {
    /// `metadata` as a manifest has it, with what is empty left out.
    pub(crate) fn to_value(&self) -> Value {
        let mut metadata = Map::new();
        let mut put = |key: &str, value: Value| metadata.insert(key.to_owned(), value);
        put("name", json!(*self.name));
        let optional = [
            ("namespace", (!self.namespace.is_empty()).then(|| json!(*self.namespace))),
            ("uid", self.uid.as_ref().map(|uid| json!(uid))),
            ("generation", self.generation.map(|generation| json!(generation))),
            ("creationTimestamp", self.created.map(|created| json!(created))),
            ("labels", (!self.labels.is_empty()).then(|| json!(self.labels))),
            ("annotations", (!self.annotations.is_empty()).then(|| json!(self.annotations))),
            ("ownerReferences", (!self.owners.is_empty()).then(|| json!(self.owners))),
            ("finalizers", (!self.finalizers.is_empty()).then(|| json!(self.finalizers))),
        ];
        for (key, value) in optional {
            value.map(|value| put(key, value));
        }
        Value::Object(metadata)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn the_list_of_fields_is_what_decoding_takes() {
        let refusal = serde_json::from_value::<OwnMetadata>(json!({ "?": 1 })).err().unwrap().to_string();
        let expected = refusal.split_once("expected one of ").unwrap().1;
        let named: Vec<&str> = expected.split('`').skip(1).step_by(2).collect();
        assert_eq!(named, OwnMetadata::FIELDS);
    }
}
