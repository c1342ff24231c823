//! References to other objects, shared by several kinds.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use crate::checks::Checks;
use crate::pattern;

/// The DNSClass that delivers something.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DNSClassRef {
    /// Name of the DNSClass.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// A Secret whose keys are known from what it is used for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretRef {
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Its namespace; default: the operator's. A Secret in another namespace must allow its use
    /// with the annotation `fingerpost.dev/allow-dnsclass: <class name>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub namespace: Option<String>,
}

/// One key of a Secret.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretKeyRef {
    /// Name of the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Its namespace; default: the operator's. A Secret in another namespace must allow its use
    /// with the annotation `fingerpost.dev/allow-dnsclass: <class name>`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63))]
    pub namespace: Option<String>,
    /// The key within the Secret.
    #[schemars(length(min = 1, max = 253))]
    pub key: String,
}

impl DNSClassRef {
    pub(crate) fn check(&self, path: &str, checks: &mut Checks) {
        checks.fits(&pattern::OBJECT_NAME, &format!("{path}.name"), &self.name);
    }
}

impl SecretRef {
    pub(crate) fn check(&self, path: &str, checks: &mut Checks) {
        checks.fits(&pattern::OBJECT_NAME, &format!("{path}.name"), &self.name);
        checks.fits_if_set(&pattern::NAMESPACE, &format!("{path}.namespace"), self.namespace.as_deref());
    }
}

impl SecretKeyRef {
    pub(crate) fn check(&self, path: &str, checks: &mut Checks) {
        checks.fits(&pattern::OBJECT_NAME, &format!("{path}.name"), &self.name);
        checks.fits_if_set(&pattern::NAMESPACE, &format!("{path}.namespace"), self.namespace.as_deref());
        checks.require(
            !self.key.is_empty(),
            &format!("{path}.key"),
            "",
            "must not be empty: name a key of the Secret",
        );
    }
}
