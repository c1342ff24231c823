//! Zones that can be told although their document cannot be used: nothing in them is answered, and nothing denied.

use std::sync::Arc;

use api::{Kind, Object, Problem};
use serde_json::Value;

use super::super::documents::documents;
use super::super::problem::Trouble;
use super::super::yaml;
use super::{Body, Declared, Head, reference};

/// The Zones in a text that is not YAML throughout.
pub(super) fn told(label: &str, text: &str, trouble: &Trouble) -> Vec<Declared> {
    let sketches = |document| match yaml::value(document) {
        Ok(value) => sketches(&value),
        Err(_) => api::zone_sketches_of_text(document.text).into_iter().map(Arc::new).collect(),
    };
    let zones = documents(text).into_iter().flat_map(sketches);
    zones.filter_map(|sketch| broken(label, trouble, &sketch)).collect()
}

/// The Zones in a document that is YAML, the items of a list among them.
fn sketches(value: &Value) -> Vec<Arc<Object>> {
    let items = value.get("items").and_then(Value::as_array).into_iter().flatten();
    std::iter::once(value).chain(items).filter_map(|one| Head::of(one).sketch).collect()
}

/// A Zone as broken. One without a name is known by where it is written.
pub(super) fn broken(label: &str, trouble: &Trouble, sketch: &Arc<Object>) -> Option<Declared> {
    let (line, column) = (trouble.line, trouble.column);
    let mut sketch = sketch.clone();
    if sketch.meta.name.is_empty() {
        Arc::make_mut(&mut sketch).meta.name = format!("{label}:{line}").into();
    }
    let message = format!("{} ({label}:{line}:{column})", trouble.message);
    let body = Body::Broken(vec![Problem::new("", "", message)], Some(sketch.clone()));
    let reference = reference(&sketch);
    (reference.kind == Kind::Zone).then_some(Declared {
        reference,
        line,
        column,
        body,
        kept: false,
        misspelt: false,
    })
}
