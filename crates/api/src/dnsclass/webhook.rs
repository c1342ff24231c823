//! How requests to a webhook server prove who sends them.

use std::fmt;

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SecretKeyRef;
use crate::checks::Checks;

/// Signing of requests with a shared secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[x_kube(validation = (
    "has(self.secretRef) != has(self.secret)",
    "spec.hmacAuth: needs either secretRef or secret, and not both"
))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HmacAuth {
    /// The Secret that holds the shared secret. This is the way to choose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<HmacSecretRef>,
    /// The shared secret itself, for tests only: whoever may read the DNSClass can read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<SecretText>,
    /// The hash function of the signature.
    #[serde(default)]
    pub algorithm: HmacAlgorithm,
}

/// The keys of a Secret that requests are signed with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HmacSecretRef {
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Its namespace; default: the operator's. A Secret in another namespace must allow its use
    /// with the annotation `fingerpost.dev/allow-dnsclass: <class name>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub namespace: Option<String>,
    /// The key within the Secret that requests are signed with.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
    /// Further keys within the Secret whose signatures are accepted as well, so that a secret can
    /// be changed on one side after the other.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 8), inner(length(min = 1, max = 253)))]
    pub additional_keys: Vec<String>,
}

/// A text that is never printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SecretText(String);

impl SecretText {
    /// The text itself, for signing.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<&str> for SecretText {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(hidden)")
    }
}

impl JsonSchema for SecretText {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "SecretText".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "format": "password", "minLength": 1, "maxLength": 4096 })
    }
}

/// The hash function of a signature.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum HmacAlgorithm {
    /// HMAC with SHA-256.
    #[default]
    Sha256,
    /// HMAC with SHA-512.
    Sha512,
}

/// Sending of a ServiceAccount's token with each request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ServiceAccountAuth {
    /// Whom the token is for, which the server must check.
    #[schemars(length(min = 1, max = 1024))]
    pub audience: String,
}

impl HmacAuth {
    pub(super) fn check(&self, path: &str, checks: &mut Checks) {
        let message = "needs either secretRef or secret, and not both";
        checks.require(self.secret_ref.is_some() != self.secret.is_some(), path, "", message);
        if let Some(reference) = &self.secret_ref {
            reference.check(&format!("{path}.secretRef"), checks);
        }
        let empty = self.secret.as_ref().is_some_and(|secret| secret.expose().is_empty());
        checks.require(!empty, &format!("{path}.secret"), "", "must not be empty");
    }
}

impl HmacSecretRef {
    fn check(&self, path: &str, checks: &mut Checks) {
        self.first_key().check(path, checks);
        let keys = std::iter::once(&self.key).chain(&self.additional_keys);
        let field = |index: usize| match index.checked_sub(1) {
            None => format!("{path}.key"),
            Some(index) => format!("{path}.additionalKeys[{index}]"),
        };
        checks.unique_at(field, keys.map(String::as_str));
    }

    /// The key that requests are signed with.
    pub fn first_key(&self) -> SecretKeyRef {
        SecretKeyRef { name: self.name.clone(), namespace: self.namespace.clone(), key: self.key.clone() }
    }
}
