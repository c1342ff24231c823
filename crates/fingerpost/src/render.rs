//! From data to text: tables, colours, diffs, manifests and zone files. No IO.

pub mod changes;
pub mod condition;
pub mod deliveries;
pub mod difference;
pub mod explanation;
pub mod manifests;
pub mod markdown;
pub mod numbers;
pub mod palette;
pub mod plan;
pub mod steering;
pub mod table;
pub mod zones;

pub use palette::Palette;

/// The owner of a record set as people call it: `Record dns/www`, or the path of a zone file.
pub fn owner(owner: &planner::document::DocumentOwner, clusters: bool) -> String {
    let name = dns::visible(&owner.name);
    let text = match (&*owner.kind, &*owner.namespace) {
        ("", _) => name.into_owned(),
        (kind, "") => format!("{kind} {name}"),
        (kind, namespace) => format!("{kind} {}/{name}", dns::visible(namespace)),
    };
    if clusters { format!("{} {text}", dns::visible(&owner.cluster)) } else { text }
}

/// An object as people call it: `ServiceRoute shop/web`. In a folder a name may hold anything.
pub fn object(object: &planner::ObjectRef) -> String {
    let (kind, name) = (object.kind.kind(), dns::visible(&object.name));
    if object.namespace.is_empty() {
        format!("{kind} {name}")
    } else {
        format!("{kind} {}/{name}", dns::visible(&object.namespace))
    }
}
