//! The core Namespace: its annotation `fingerpost.dev/domains` says which domains its objects may claim.

use dns::Name;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::Published;
use crate::meta::ForeignMetadata;
use crate::object::{Body, Manifest};
use crate::{Meta, Problem};

/// The annotation of a Namespace that lists the domains which its objects may claim.
pub const DOMAINS_ANNOTATION: &str = "fingerpost.dev/domains";

/// A Namespace; all that we read of it is in its metadata.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Namespace {}

impl Body for Namespace {
    type Manifest = NamespaceManifest;

    fn write(&self) -> Value {
        json!({ "spec": {} })
    }

    fn validate(&self, _: &Meta) -> Vec<Problem> {
        Vec::new()
    }
}

/// A Namespace as it is read.
#[derive(Deserialize)]
pub(crate) struct NamespaceManifest {
    metadata: ForeignMetadata,
}

impl Manifest for NamespaceManifest {
    type Body = Namespace;

    fn open(self) -> (Meta, Namespace, Option<Published>) {
        (self.metadata.into(), Namespace {}, None)
    }
}

/// The domains that a Namespace's annotation lists, and a message for every entry that is no domain.
///
/// An entry that is no domain grants nothing.
pub fn granted_domains(meta: &Meta) -> (Vec<Name>, Vec<String>) {
    let (mut domains, mut problems) = (Vec::new(), Vec::new());
    let Some(text) = meta.annotations.get(DOMAINS_ANNOTATION) else { return (domains, problems) };
    for entry in text.split(',').map(str::trim) {
        match granted_domain(entry) {
            Ok(domain) => domains.push(domain),
            Err(problem) => problems.push(problem),
        }
    }
    domains.sort();
    domains.dedup();
    (domains, problems)
}

fn granted_domain(entry: &str) -> Result<Name, String> {
    let advice = "list domains such as `example.org, example.net`; a domain includes the names below it";
    if entry.is_empty() {
        return Err(format!("an entry is empty: {advice}"));
    }
    if entry.contains('*') {
        return Err(format!("`{entry}` has a `*`: {advice}"));
    }
    match Name::parse(entry) {
        Ok(name) if name.is_root() => Err(format!("`{entry}` is the root of the DNS: {advice}")),
        Ok(name) => Ok(name),
        Err(error) => Err(format!("{error}: {advice}")),
    }
}
