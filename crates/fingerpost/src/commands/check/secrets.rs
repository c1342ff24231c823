//! Secrets that are referred to, and are not there or lack a key.

use api::{Object, SecretUse};

use super::finding::{Finding, Severity};
use super::{Check, Places, reference};
use crate::secrets::{LocalSecrets, Missing, SecretName};

impl Check<'_> {
    /// What is missing of the Secrets that classes and witnesses refer to. It may be in the cluster, so it is a warning.
    pub(super) fn missing_secrets(&self, places: &mut Places<'_>) -> Vec<Finding> {
        let secrets = LocalSecrets::new(self.secret_files.clone());
        secrets.declare(self.planned.secrets.clone());
        let mut findings = Vec::new();
        for (cluster, object) in &self.planned.objects {
            for used in api::secret_uses(object) {
                let Some(missing) = missing(&secrets, object, &used) else { continue };
                let message = format!("SecretNotFound: {}: {missing}", used.field);
                let object = reference(object);
                findings.push(places.at_field(*cluster, &object, &used.field, Severity::Warning, message));
            }
        }
        findings
    }
}

fn missing(secrets: &LocalSecrets, object: &Object, used: &SecretUse<'_>) -> Option<String> {
    let (namespace, user) = match &*object.meta.namespace {
        "" => (used.namespace, object.meta.name.to_string()),
        own => (used.namespace.or(Some(own)), format!("{own}/{}", object.meta.name)),
    };
    let name = SecretName { namespace: namespace.map(str::to_owned), name: used.name.to_owned() };
    let secret = match secrets.secret_for(&name, &user) {
        Ok(secret) => secret,
        Err(missing) if missing == Missing::not_found(&name) => {
            let advice =
                "declare it in the folders, put it into --secrets DIR, or apply it to the cluster first";
            return Some(format!("the Secret {name} is not there: {advice}"));
        }
        Err(Missing::NotFound(message) | Missing::Unknown(message)) => return Some(message),
    };
    let lacks = |key: &&&str| secret.data.get(**key).is_none_or(Vec::is_empty);
    let absent: Vec<&str> = used.keys.iter().filter(lacks).copied().collect();
    let present: Vec<&str> = secret.data.keys().map(String::as_str).collect();
    let present = if present.is_empty() { "none".to_owned() } else { present.join(", ") };
    let keys = if absent.len() == 1 { "key" } else { "keys" };
    (!absent.is_empty())
        .then(|| format!("the Secret {name} has no {keys} {}; its keys are: {present}", absent.join(", ")))
}
