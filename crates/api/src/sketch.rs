//! What can be told of a Zone whose manifest does not decode.

use serde_json::{Map, Value, json};

use crate::{Kind, Object, decode};

/// The fields of the spec that say where a Zone is.
const PLACE: [&str; 3] = ["domainName", "zoneRef", "dnsClassRef"];

/// A Zone with its name, `domainName`, `zoneRef` and `dnsClassRef` alone, whatever is wrong with the rest of it;
/// `None` where these do not decode either.
pub fn zone_sketch(manifest: &Value) -> Option<Object> {
    let spec = spec(manifest)?;
    let is_absolute = spec.get(PLACE[0])?.as_str()?.ends_with('.');
    let metadata = manifest.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut metadata = part(&metadata, &["name", "namespace", "uid", "creationTimestamp"]);
    metadata.entry("name").or_insert_with(|| "".into());
    let sketch = |place: &[&str]| {
        let (api_version, kind) = (Kind::Zone.api_version(), Kind::Zone.kind());
        let spec = part(spec, place);
        decode(
            Kind::Zone,
            json!({ "apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec }),
        )
        .ok()
    };
    // A reference to a class says less than the name does, and an absolute name needs no other zone.
    let by_name = || sketch(&PLACE[..1]).filter(|_| is_absolute);
    sketch(&PLACE).or_else(|| sketch(&PLACE[..2])).or_else(by_name)
}

/// The fields that say where the Zone is: the spec, or what is written in its place.
fn spec(manifest: &Value) -> Option<&Map<String, Value>> {
    let has_name = |fields: &&Map<String, Value>| fields.contains_key(PLACE[0]);
    let fields = manifest.as_object()?;
    let misspelt = || fields.values().filter_map(Value::as_object).find(has_name);
    let written = fields.get("spec").and_then(Value::as_object).filter(has_name);
    written.or_else(misspelt).or_else(|| Some(fields).filter(has_name))
}

fn part(of: &Map<String, Value>, fields: &[&str]) -> Map<String, Value> {
    fields.iter().filter_map(|field| Some(((*field).to_owned(), of.get(*field)?.clone()))).collect()
}

/// What the text of a Zone tells of it where it is no YAML: the values that stand behind the names of fields.
/// `None` where it is another kind, or where its origin depends on another Zone.
pub fn zone_sketch_of_text(text: &str) -> Option<Object> {
    let domain = value_in(text, PLACE[0])?;
    let is_told = domain.ends_with('.') || value_in(text, "zoneRef").is_none() && !text.contains("zoneRef");
    let is_zone = value_in(text, "kind")? == Kind::Zone.kind()
        && value_in(text, "apiVersion")? == Kind::Zone.api_version();
    let metadata: Map<String, Value> = ["name", "namespace"]
        .iter()
        .filter_map(|field| Some(((*field).to_owned(), value_in(text, field)?.into())))
        .collect();
    let manifest = json!({ "metadata": metadata, "spec": { "domainName": domain } });
    (is_zone && is_told).then(|| zone_sketch(&manifest)).flatten()
}

/// The value behind the first mention of a field, in block or flow style. A value at the very end of the text may
/// have been cut off and is none.
fn value_in<'a>(text: &'a str, field: &str) -> Option<&'a str> {
    let mut mentions = text.match_indices(field);
    mentions.find_map(|(at, _)| {
        let is_start = text[..at].chars().next_back().is_none_or(|before| " \t\n\"'{,".contains(before));
        let rest = text[at + field.len()..].trim_start_matches(['"', '\'']).strip_prefix(':')?;
        let rest = rest.trim_start_matches([' ', '\t', '"', '\'']);
        let end = rest.find([' ', '\t', '\r', '\n', ',', '}', '"', '\'', '#'])?;
        (is_start && end > 0).then(|| &rest[..end])
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;
    use crate::Spec;

    fn told(spec: Value) -> Option<(String, bool, bool)> {
        let manifest = json!({
            "apiVersion": "kubi.zone/v1alpha1", "kind": "Zone", "metadata": { "name": "a", "namespace": "b", "x": 1 },
            "spec": spec, "more": 1,
        });
        match zone_sketch(&manifest)?.spec {
            Spec::Zone(zone) => {
                Some((zone.domain_name, zone.zone_ref.is_some(), zone.dns_class_ref.is_some()))
            }
            _ => None,
        }
    }

    #[test]
    fn a_zone_is_told_by_the_fields_that_say_where_it_is() {
        let name = || "example.org".to_owned();
        assert_eq!(told(json!({ "domainName": "example.org", "tll": 60 })), Some((name(), false, false)));
        assert_eq!(told(json!({ "domainName": "example.org", "ttl": "?" })), Some((name(), false, false)));
        let class = json!({ "domainName": "example.org", "ttl": -1, "dnsClassRef": { "name": "edge" } });
        assert_eq!(told(class), Some((name(), false, true)));
        let class = json!({ "domainName": "example.org", "dnsClassRef": { "nmae": "edge" } });
        assert_eq!(told(class), Some((name(), false, false)));
        let reference = json!({ "domainName": "eu", "zoneRef": { "name": "root" }, "tll": 60 });
        assert_eq!(told(reference), Some(("eu".to_owned(), true, false)));
    }

    #[test]
    fn a_zone_whose_name_cannot_be_told_has_no_sketch() {
        assert_eq!(told(json!({ "domianName": "example.org" })), None);
        assert_eq!(told(json!({ "domainName": "eu", "zoneRef": { "nmae": "root" } })), None);
        assert_eq!(told(json!({ "domainName": 7 })), None);
        assert_eq!(zone_sketch(&json!({})), None);
    }

    #[test]
    fn a_zone_is_told_wherever_its_name_is_written() {
        let origin = |manifest: Value| match zone_sketch(&manifest)?.spec {
            Spec::Zone(zone) => Some(zone.domain_name),
            _ => None,
        };
        let metadata = json!({ "name": "a" });
        let name = Some("example.org.".to_owned());
        assert_eq!(origin(json!({ "metadata": metadata, "sepc": { "domainName": "example.org." } })), name);
        assert_eq!(origin(json!({ "metadata": metadata, "domainName": "example.org.", "spec": null })), name);
        assert_eq!(origin(json!({ "spec": { "domainName": "example.org.", "tll": 60 } })), name);
        let bad = json!({ "domainName": "example.org.", "zoneRef": { "nmae": "root" } });
        assert_eq!(origin(json!({ "metadata": metadata, "spec": bad })), name, "an absolute name suffices");
    }

    #[test]
    fn a_zone_is_told_by_a_text_that_is_no_yaml() {
        let head = "apiVersion: kubi.zone/v1alpha1\nkind: Zone\nmetadata: {name: a, namespace: b}\n";
        let told = |text: &str| {
            let object = zone_sketch_of_text(text)?;
            let Spec::Zone(zone) = object.spec else { return None };
            Some(format!("{}/{} {}", object.meta.namespace, object.meta.name, zone.domain_name))
        };
        let zone = Some("b/a example.org".to_owned());
        assert_eq!(told(&format!("{head}spec:\n  domainName: example.org # ours\n  ttl: [\n")), zone);
        assert_eq!(told(&format!("{head}spec: {{domainName: \"example.org\", ttl: 60\n")), zone);
        let json = r#"{"apiVersion": "kubi.zone/v1alpha1", "kind": "Zone", "metadata": {"namespace": "b", "name": "a"},
            "spec": {"domainName": "example.org", "#;
        assert_eq!(told(json), zone);
        assert_eq!(told(&format!("{head}spec:\n  domainName: example.or")), None, "it may have been cut off");
        assert_eq!(told(&format!("{head}spec:\n  domainName: eu\n  zoneRef: {{name: [\n")), None);
        assert_eq!(told(&head.replace("Zone", "Record")), None);
    }
}
