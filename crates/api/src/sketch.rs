//! What can be told of a Zone whose manifest does not decode.

use serde_json::{Map, Value, json};

use crate::resemblance::resembles;
use crate::{Kind, Object, decode};

/// The fields of the spec that say where a Zone is.
const PLACE: [&str; 3] = ["domainName", "zoneRef", "dnsClassRef"];

/// A Zone with its name, `domainName`, `zoneRef` and `dnsClassRef` alone, whatever is wrong with the rest of it;
/// `None` where these do not decode either.
pub fn zone_sketch(manifest: &Value) -> Option<Object> {
    let spec = corrected(spec(manifest)?);
    let is_absolute = spec.get(PLACE[0])?.as_str()?.ends_with('.');
    let metadata = metadata(manifest);
    let sketch = |place: &[&str]| {
        let (api_version, kind) = (Kind::Zone.api_version(), Kind::Zone.kind());
        let spec = part(&spec, place);
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

/// What can be used of the metadata. A name that looks like a number is one.
fn metadata(manifest: &Value) -> Map<String, Value> {
    let written = manifest.get("metadata").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut metadata = part(&written, &["name", "namespace", "uid", "creationTimestamp"]);
    for value in metadata.values_mut().filter(|value| value.is_number() || value.is_boolean()) {
        *value = value.to_string().into();
    }
    metadata.retain(|_, value| value.is_string());
    metadata.entry("name").or_insert_with(|| "".into());
    metadata
}

/// The fields that say where the Zone is, wherever they are written: in the spec above all.
fn spec(manifest: &Value) -> Option<&Map<String, Value>> {
    let written = manifest.get("spec").and_then(fields_with_name);
    written.or_else(|| fields_with_name(manifest))
}

/// The first fields with the name of a zone among them, the outer ones before the inner ones.
fn fields_with_name(value: &Value) -> Option<&Map<String, Value>> {
    match value {
        Value::Object(fields) if domain(fields).is_some() => Some(fields),
        Value::Object(fields) => fields.values().find_map(fields_with_name),
        Value::Array(items) => items.iter().find_map(fields_with_name),
        _ => None,
    }
}

/// The name of the zone, be its field misspelt.
fn domain(fields: &Map<String, Value>) -> Option<&Value> {
    let misspelt = || fields.iter().find(|(field, _)| resembles(field, PLACE[0])).map(|(_, value)| value);
    fields.get(PLACE[0]).or_else(misspelt)
}

/// The fields with the name of the zone under its own name. A relative name says nothing without the reference that
/// goes with it, so that is not missed where it is misspelt.
fn corrected(fields: &Map<String, Value>) -> Map<String, Value> {
    let mut fields = fields.clone();
    for field in PLACE {
        let misspelt = || fields.keys().find(|written| resembles(written, field)).cloned();
        if !fields.contains_key(field)
            && let Some(value) = misspelt().and_then(|written| fields.remove(&written))
        {
            fields.insert(field.to_owned(), value);
        }
    }
    fields
}

fn part(of: &Map<String, Value>, fields: &[&str]) -> Map<String, Value> {
    fields.iter().filter_map(|field| Some(((*field).to_owned(), of.get(*field)?.clone()))).collect()
}

/// What the text of Zones tells of them where it is no YAML: the values that stand behind the names of fields. Left out
/// are other kinds, and Zones whose origin depends on another Zone.
pub fn zone_sketches_of_text(text: &str) -> Vec<Object> {
    // Each item of a list begins with its `apiVersion`, unless the author ordered the fields otherwise.
    let mut starts: Vec<usize> = text.match_indices("apiVersion").map(|(at, _)| at).collect();
    starts.push(text.len());
    let items = starts.windows(2).map(|item| &text[item[0]..item[1]]);
    let sketches: Vec<Object> = items.filter_map(zone_sketch_of_text).collect();
    if sketches.is_empty() { zone_sketch_of_text(text).into_iter().collect() } else { sketches }
}

fn zone_sketch_of_text(text: &str) -> Option<Object> {
    let domain = value_in(text, PLACE[0])?;
    let is_told = domain.ends_with('.') || value_in(text, "zoneRef").is_none() && !text.contains("zoneRef");
    let (api_version, kind) = (value_in(text, "apiVersion")?, value_in(text, "kind")?);
    let is_right = api_version == Kind::Zone.api_version() && kind == Kind::Zone.kind();
    let is_zone = is_right || Kind::misspelt(api_version, kind) == Some(Kind::Zone);
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
        let rest = text[at + field.len()..].trim_start_matches(['"', '\'', ' ']).strip_prefix(':')?;
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
        assert_eq!(told(json!({ "domain": "example.org" })), None);
        assert_eq!(told(json!({ "domainName": "eu", "zoenRef": { "nmae": "root" } })), None);
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
        let listed = json!([{ "ttl": 60 }, { "domainName": "example.org." }]);
        assert_eq!(origin(json!({ "metadata": metadata, "spec": listed })), name);
        for field in ["domianName", "domainname", "domain_name"] {
            assert_eq!(
                origin(json!({ "metadata": metadata, "spec": { field: "example.org." } })),
                name,
                "{field}"
            );
        }
        for metadata in [json!({ "name": 7 }), json!({ "name": "a", "namespace": ["b"] }), json!("a")] {
            let spec = json!({ "domainName": "example.org." });
            assert_eq!(origin(json!({ "metadata": metadata, "spec": spec })), name, "{metadata}");
        }
        let bad = json!({ "domainName": "example.org.", "zoneRef": { "nmae": "root" } });
        assert_eq!(origin(json!({ "metadata": metadata, "spec": bad })), name, "an absolute name suffices");
    }

    #[test]
    fn a_zone_is_told_by_a_text_that_is_no_yaml() {
        let head = "apiVersion: kubi.zone/v1alpha1\nkind: Zone\nmetadata: {name: a, namespace: b}\n";
        let told = |text: &str| {
            let object = zone_sketches_of_text(text).into_iter().next()?;
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
        assert_eq!(told(&format!("{head}spec:\n  domainName : example.org\n  ttl: [\n")), zone);
        assert_eq!(
            told(&format!("{}spec:\n  domainName: example.org\n  ttl: [\n", head.replace("zone/", "zoen/"))),
            zone
        );
        assert_eq!(told(&head.replace("Zone", "Record")), None);
    }

    #[test]
    fn all_zones_of_a_list_are_told_by_its_text() {
        let item = |kind: &str, name: &str| {
            format!(
                "- apiVersion: kubi.zone/v1alpha1\n  kind: {kind}\n  metadata: {{name: {name}}}\n  \
                 spec: {{domainName: {name}.example.}}\n"
            )
        };
        let items = item("Zone", "a") + &item("Record", "b") + &item("Zone", "c");
        let text = format!("apiVersion: v1\nkind: List\nitems:\n{items}- [\n");
        let names: Vec<String> =
            zone_sketches_of_text(&text).iter().map(|zone| zone.meta.name.to_string()).collect();
        assert_eq!(names, ["a", "c"]);
    }
}
