//! A validator of JSON schemas, as far as ours use them. It is strict: what a schema does not describe is a fault, so
//! that a field cannot be added without the schema.

use std::collections::BTreeSet;

use serde_json::Value;

/// What is wrong in a value by a schema; empty where nothing is.
pub(crate) fn faults(schema: &Value, value: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    check(schema, schema, value, "$", &mut faults);
    faults
}

fn check(root: &Value, schema: &Value, value: &Value, path: &str, faults: &mut Vec<String>) {
    let parts = parts(root, schema, value);
    if let Some(Err(fault)) = parts.iter().find(|part| part.is_err()) {
        return faults.push(format!("{path}: {fault}"));
    }
    let parts: Vec<&Value> = parts.into_iter().flatten().collect();
    for part in &parts {
        faults.extend(own_faults(part, value).into_iter().map(|fault| format!("{path}: {fault}")));
    }
    if let (Some(fields), true) =
        (value.as_object(), parts.iter().any(|part| part.get("properties").is_some()))
    {
        for (name, field) in fields {
            match parts.iter().find_map(|part| part["properties"].get(name)) {
                Some(schema) => check(root, schema, field, &format!("{path}.{name}"), faults),
                None => faults.push(format!("{path}: the schema has no `{name}`")),
            }
        }
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        if let Some(items) = parts.iter().find_map(|part| part.get("items")) {
            check(root, items, item, &format!("{path}[{index}]"), faults);
        }
    }
}

/// The schemas that describe a value together: with those that are referred to, and the alternative that fits.
fn parts<'a>(root: &'a Value, schema: &'a Value, value: &Value) -> Vec<Result<&'a Value, String>> {
    let mut all = vec![Ok(schema)];
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
        all.extend(parts(root, &root["$defs"][name], value));
    }
    for key in ["oneOf", "anyOf"] {
        let Some(alternatives) = schema[key].as_array() else { continue };
        // The tag of an enum, or the type of a value that may be null, says which alternative it is.
        let fits = |one: &&Value| {
            parts(root, one, value)
                .iter()
                .all(|part| part.as_ref().is_ok_and(|part| own_faults(part, value).is_empty()))
        };
        match alternatives.iter().find(fits) {
            Some(one) => all.extend(parts(root, one, value)),
            None => all.push(Err(format!("no alternative of {key} fits {value}"))),
        }
    }
    all
}

/// What is wrong by one schema, without the fields and items of the value.
fn own_faults(schema: &Value, value: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if !types.is_empty() && !types.iter().any(|one| is_of_type(one, value)) {
        faults.push(format!("{value} is not of type {types:?}"));
    }
    if schema.get("const").is_some_and(|constant| constant != value) {
        faults.push(format!("{value} is not {}", schema["const"]));
    }
    if schema["enum"].as_array().is_some_and(|all| !all.contains(value)) {
        faults.push(format!("{value} is none of {}", schema["enum"]));
    }
    let has: BTreeSet<&String> = value.as_object().into_iter().flat_map(|fields| fields.keys()).collect();
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if value.is_object() && !has.contains(&name.to_owned()) {
            faults.push(format!("`{name}` is missing"));
        }
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        if let (Some(constant), Some(field)) = (field.get("const"), value.get(name))
            && constant != field
        {
            faults.push(format!("`{name}` is not {constant}"));
        }
    }
    faults
}

fn is_of_type(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "integer" => value.is_u64() || value.is_i64(),
        _ => value.is_number(),
    }
}

#[test]
fn the_validator_finds_what_a_schema_forbids() {
    let schema = serde_json::json!({
        "type": "object", "required": ["kind"], "properties": { "kind": { "$ref": "#/$defs/Kind" } },
        "$defs": { "Kind": { "oneOf": [{ "const": "a", "type": "string" }, { "type": "integer" }] } },
    });
    let faults = |value: Value| faults(&schema, &value).len();
    assert_eq!(faults(serde_json::json!({ "kind": "a" })), 0);
    assert_eq!(faults(serde_json::json!({ "kind": 7 })), 0);
    assert_eq!(faults(serde_json::json!({ "kind": "b" })), 1);
    assert_eq!(faults(serde_json::json!({})), 1);
    assert_eq!(faults(serde_json::json!({ "kind": "a", "more": 1 })), 1);
}
