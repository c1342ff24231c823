//! What objects set that is on no record set: where a class delivers to and where its clients are, which lease a Placement
//! follows, and what annotations hand on to providers. A change of it may change every answer, so a comparison of plans
//! shows it.

use api::Kind;
use serde_json::{Map, Value, json};

use super::diff::{Pair, pairs};
use super::{Document, DocumentObject, DocumentVersion};
use crate::marks::{ADOPT, ALLOW_MASS_DELETE, HAND_OVER_TO, ORPHAN, PROVIDER_SETTING, SHARED};

/// The fields of a Placement that decide where its clients are sent later on.
const PLACEMENT_FIELDS: [&str; 2] = ["witness", "failback"];
/// The annotations that change what is done at a provider.
const ANNOTATIONS: [&str; 5] = [ADOPT, ALLOW_MASS_DELETE, HAND_OVER_TO, ORPHAN, SHARED];

/// The objects in force whose settings differ. Of objects that come or go only classes count: the record sets of the others
/// say that they come or go.
pub(super) fn changed<'a>(
    before: &'a Document,
    after: &'a Document,
) -> impl Iterator<Item = Pair<DocumentObject>> + 'a {
    let versions = pairs(&before.versions, &after.versions, DocumentVersion::key);
    versions
        .map(|pair| Pair { before: pair.before.map(settings), after: pair.after.map(settings) })
        .filter(counts)
}

fn counts(pair: &Pair<DocumentObject>) -> bool {
    let is_class = pair.either().is_some_and(|one| is_of(&one.manifest, Kind::DNSClass));
    let stays = pair.before.is_some() && pair.after.is_some();
    pair.before != pair.after && (stays || is_class)
}

/// An object with its settings and nothing else.
fn settings(version: DocumentVersion) -> DocumentObject {
    let DocumentVersion { cluster, manifest, .. } = version;
    let annotations = annotations(&manifest);
    let mut metadata = json!({ "name": manifest["metadata"]["name"] });
    if let Some(namespace) = manifest["metadata"].get("namespace") {
        metadata["namespace"] = namespace.clone();
    }
    if !annotations.is_empty() {
        metadata["annotations"] = Value::Object(annotations);
    }
    let mut own =
        json!({ "apiVersion": manifest["apiVersion"], "kind": manifest["kind"], "metadata": metadata });
    if let Some(spec) = spec(&manifest) {
        own["spec"] = spec;
    }
    DocumentObject { cluster, manifest: own }
}

fn annotations(manifest: &Value) -> Map<String, Value> {
    let all = manifest["metadata"]["annotations"].as_object().into_iter().flatten();
    let counts = |name: &str| name.starts_with(PROVIDER_SETTING) || ANNOTATIONS.contains(&name);
    all.filter(|(name, _)| counts(name)).map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The part of a spec that counts: all of a class, some fields of a Placement, and nothing of other kinds.
fn spec(manifest: &Value) -> Option<Value> {
    let spec = manifest.get("spec")?;
    if is_of(manifest, Kind::DNSClass) {
        return Some(spec.clone());
    }
    let field = |name: &&str| Some(((*name).to_owned(), spec.get(*name)?.clone()));
    let fields: Map<String, Value> = match is_of(manifest, Kind::Placement) {
        true => PLACEMENT_FIELDS.iter().filter_map(field).collect(),
        false => Map::new(),
    };
    (!fields.is_empty()).then_some(Value::Object(fields))
}

fn is_of(manifest: &Value, kind: Kind) -> bool {
    manifest["apiVersion"] == kind.api_version() && manifest["kind"] == kind.kind()
}
