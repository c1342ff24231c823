//! Dropping what our definitions do not have.
//!
//! An API server has definitions of its own, which may be newer than this program. What they add is
//! optional, so an older program uses the rest; [`decode`](crate::decode) itself stays strict.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use crate::meta::OwnMetadata;
use crate::{Kind, crds};

/// The parts of a manifest of ours.
const PARTS: [&str; 5] = ["apiVersion", "kind", "metadata", "spec", "status"];

/// The schemas of our kinds' specs; making them costs more than many a manifest.
static SPECS: LazyLock<BTreeMap<Kind, Value>> = LazyLock::new(specs);

fn specs() -> BTreeMap<Kind, Value> {
    let definitions: Vec<Value> = crds().iter().map(|crd| json!(crd)["spec"].take()).collect();
    let of = |kind: Kind| {
        let own = |one: &&Value| one["group"] == kind.group() && one["names"]["kind"] == kind.kind();
        let definition = definitions.iter().find(own)?;
        let schema = &definition["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"];
        Some((kind, schema.clone()))
    };
    Kind::ALL.iter().filter_map(|kind| of(*kind)).collect()
}

/// Drops from a manifest of one of our kinds every field that our definition does not have.
///
/// Kinds of others are left as they are, since of these unknown fields do not matter.
pub fn prune(kind: Kind, manifest: &mut Value) {
    let (Some(schema), Some(parts)) = (SPECS.get(&kind), manifest.as_object_mut()) else { return };
    parts.retain(|part, _| PARTS.contains(&part.as_str()));
    if let Some(metadata) = parts.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.retain(|field, _| OwnMetadata::FIELDS.contains(&field.as_str()));
    }
    if let Some(spec) = parts.get_mut("spec") {
        prune_value(schema, spec);
    }
}

fn prune_value(schema: &Value, value: &mut Value) {
    match value {
        Value::Object(fields) => {
            if let Some(properties) = schema["properties"].as_object() {
                prune_fields(properties, fields);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| prune_value(&schema["items"], item)),
        _ => {}
    }
}

fn prune_fields(properties: &Map<String, Value>, fields: &mut Map<String, Value>) {
    fields.retain(|field, _| properties.contains_key(field));
    for (field, value) in fields {
        prune_value(&properties[field], value);
    }
}
