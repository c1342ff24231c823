//! Fields as a table: path, type with its bounds, default and meaning.

use serde_json::Value;

/// The table of all fields below a schema.
pub(super) fn table(schema: &Value) -> String {
    let mut text = "| field | type | default | |\n|---|---|---|---|\n".to_owned();
    rows(schema, "", &mut text);
    text
}

fn rows(schema: &Value, path: &str, text: &mut String) {
    let required = words(&schema["required"]);
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        let must = required.contains(&name.as_str());
        *text += &row(&path, field, must);
        // Conditions are the same everywhere; the index tells of them.
        if name != "conditions" {
            rows(field, &path, text);
            rows(&field["items"], &format!("{path}[]"), text);
        }
    }
}

fn row(path: &str, field: &Value, required: bool) -> String {
    let mut kind = type_of(field);
    if required {
        kind.insert(1, "**required**".to_owned());
    }
    let default = match &field["default"] {
        Value::Null => String::new(),
        default => format!("`{}`", plain(default)),
    };
    let cells = [format!("`{path}`"), kind.join(", "), default, prose(field)];
    format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | "))
}

/// A field's own words, on one line.
pub(super) fn prose(schema: &Value) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The strings of a list.
pub(super) fn words(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// The type and what bounds it, in words.
fn type_of(field: &Value) -> Vec<String> {
    let choices = words(&field["enum"]);
    if !choices.is_empty() {
        let choices: Vec<String> = choices.iter().map(|choice| format!("`{choice}`")).collect();
        return vec![format!("one of {}", choices.join(", "))];
    }
    let mut told = match field["type"].as_str().unwrap_or_default() {
        "array" => list_of(field),
        "string" if field["format"] == "date-time" => vec!["time".to_owned()],
        kind => vec![kind.to_owned()],
    };
    told.extend(range(&field["minLength"], &field["maxLength"], " characters"));
    told.extend(range(&field["minimum"], &field["maximum"], ""));
    told.extend(field["pattern"].as_str().map(|pattern| format!("matching `{pattern}`")));
    told
}

fn list_of(field: &Value) -> Vec<String> {
    let items = type_of(&field["items"]);
    let (kind, bounds) = items.split_first().map_or(("", &[][..]), |(kind, bounds)| (kind, bounds));
    let kind = if kind.starts_with("one of") { kind.to_owned() } else { format!("{kind}s") };
    let bounds = if bounds.is_empty() { String::new() } else { format!(" ({})", bounds.join(", ")) };
    let mut told = vec![format!("list of {kind}{bounds}")];
    told.extend(range(&field["minItems"], &field["maxItems"], " entries"));
    let keys = words(&field["x-kubernetes-list-map-keys"]);
    told.extend((!keys.is_empty()).then(|| format!("unique by `{}`", keys.join("`, `"))));
    told.extend((field["x-kubernetes-list-type"] == "set").then(|| "no entry twice".to_owned()));
    told
}

fn range(least: &Value, most: &Value, unit: &str) -> Option<String> {
    match (least.as_f64(), most.as_f64()) {
        (None, None) => None,
        (Some(least), None) => Some(format!("at least {least}{unit}")),
        (None, Some(most)) => Some(format!("at most {most}{unit}")),
        (Some(1.0), Some(1.0)) => Some(format!("exactly 1{}", unit.trim_end_matches('s'))),
        (Some(least), Some(most)) if least == most => Some(format!("exactly {least}{unit}")),
        (Some(least), Some(most)) => Some(format!("{least} to {most}{unit}")),
    }
}

/// A value as one would write it in a manifest.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use serde_json::json;

    #[test]
    fn a_field_is_told_with_its_bounds_its_default_and_whether_it_must_be_there() {
        let schema = json!({
            "required": ["name"],
            "properties": {
                "name": { "type": "string", "minLength": 1, "maxLength": 63, "description": "Its\nname." },
                "ports": { "type": "array", "maxItems": 4, "description": "Ports.", "items": {
                    "type": "object", "properties": {
                        "mode": { "type": "string", "enum": ["a", "b"], "default": "a", "description": "x|y" } } } },
            },
        });
        let table = table(&schema);
        let rows: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            rows,
            [
                "| `name` | string, **required**, 1 to 63 characters |  | Its name. |",
                "| `ports` | list of objects, at most 4 entries |  | Ports. |",
                "| `ports[].mode` | one of `a`, `b` | `a` | x\\|y |",
            ]
        );
    }
}
