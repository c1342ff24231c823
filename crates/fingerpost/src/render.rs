//! From data to text: tables, colours, diffs, manifests and zone files. No IO.

pub mod changes;
pub mod condition;
pub mod difference;
pub mod explanation;
pub mod manifests;
pub mod numbers;
pub mod palette;
pub mod plan;
pub mod table;
pub mod zones;

pub use palette::Palette;

/// An object as people call it: `ServiceRoute shop/web`. In a folder a name may hold anything.
pub fn object(object: &planner::ObjectRef) -> String {
    let (kind, name) = (object.kind.kind(), dns::visible(&object.name));
    if object.namespace.is_empty() {
        format!("{kind} {name}")
    } else {
        format!("{kind} {}/{name}", dns::visible(&object.namespace))
    }
}
