//! The last valid spec of an object that turned invalid, as an annotation on the object itself: so all
//! replicas and the next leader of a cluster agree on what is in force (ERRATA, "An object that turns
//! invalid").

use api::{Kind, Meta, Object};
use serde_json::{Value, json};

use crate::marks::LAST_VALID_SPEC;

/// How much of an object's 256 KiB of annotations the spec may take.
const MAX_SPEC: usize = 200 * 1024;

/// The text of the annotation; nothing where it would be too long.
pub(crate) fn last_valid_spec(object: &Object) -> Option<String> {
    let spec = api::manifest(object).get("spec")?.to_string();
    (spec.len() <= MAX_SPEC).then_some(spec)
}

/// The object that the annotation stands for: what was valid before the version that carries it.
///
/// `None` where the text is not, or no longer, a valid spec of the kind.
pub fn from_last_valid(kind: Kind, meta: &Meta, annotation: &str) -> Option<Object> {
    let spec: Value = serde_json::from_str(annotation).ok()?;
    let metadata = json!({ "name": meta.name, "namespace": meta.namespace });
    let mut manifest =
        json!({ "apiVersion": kind.api_version(), "kind": kind.kind(), "metadata": metadata, "spec": spec });
    api::prune(kind, &mut manifest);
    let mut object = api::decode(kind, manifest).ok()?;
    object.meta = meta.clone();
    object.meta.annotations.remove(LAST_VALID_SPEC);
    api::validate(&object).is_empty().then_some(object)
}
