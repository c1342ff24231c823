//! What differs between two JSON values, path by path.

use std::collections::BTreeSet;

use serde_json::Value;

/// One line for each place where the values differ, such as `status.phase: Pending → Active`.
pub fn lines(before: &Value, after: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    compare("", before, after, &mut lines);
    lines
}

fn compare(path: &str, before: &Value, after: &Value, lines: &mut Vec<String>) {
    match (before, after) {
        _ if before == after => {}
        (Value::Object(old), Value::Object(new)) => {
            let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            for key in keys {
                compare(&below(path, key), &before[key], &after[key], lines);
            }
        }
        (Value::Array(old), Value::Array(new)) => compare_lists(path, old, new, lines),
        (Value::Null, _) => {
            lines.push(format!("{path}: + {}", condition(after).unwrap_or_else(|| short(after))))
        }
        (_, Value::Null) => lines.push(format!("{path}: - {}", short(before))),
        // What a condition says now is told whole: its end says what is still served.
        (_, Value::String(now)) if path.ends_with(".message") => {
            lines.push(format!("{path}: {} → {now}", short(before)));
        }
        _ => lines.push(format!("{path}: {} → {}", short(before), short(after))),
    }
}

fn below(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Lists of objects are compared by what identifies their items, other lists as sets.
fn compare_lists(path: &str, old: &[Value], new: &[Value], lines: &mut Vec<String>) {
    if old.iter().chain(new).all(|item| !item.is_object()) {
        return compare_sets(path, old, new, lines);
    }
    let fields = identity([old, new]);
    if fields.is_empty() {
        return compare_sets(path, old, new, lines);
    }
    let (old, new) = (labelled(old, fields), labelled(new, fields));
    let labels: BTreeSet<&String> = old.iter().chain(&new).map(|(label, _)| label).collect();
    let find = |side: &[(String, &Value)], label| {
        side.iter().find(|(own, _)| own == label).map(|(_, item)| (*item).clone())
    };
    for label in labels {
        let sides = (find(&old, label).unwrap_or_default(), find(&new, label).unwrap_or_default());
        compare(&format!("{path}[{label}]"), &sides.0, &sides.1, lines);
    }
}

fn compare_sets(path: &str, old: &[Value], new: &[Value], lines: &mut Vec<String>) {
    let gone = old.iter().filter(|item| !new.contains(item));
    let come = new.iter().filter(|item| !old.contains(item));
    lines.extend(gone.map(|item| format!("{path}: - {}", short(item))));
    lines.extend(come.map(|item| format!("{path}: + {}", short(item))));
}

/// Items with what they are called: by the first fields that tell them apart on both sides, else by their whole content.
fn labelled<'a>(items: &'a [Value], identity: &[&str]) -> Vec<(String, &'a Value)> {
    items.iter().map(|item| (label(item, identity), item)).collect()
}

/// What identifies an item: a name and a type, then what lists of records have besides.
const IDENTITY: [&str; 12] = [
    "name",
    "fqdn",
    "dnsName",
    "hostname",
    "cidr",
    "type",
    "recordType",
    "setIdentifier",
    "class",
    "region",
    "rdata",
    "targets",
];
/// How much of that is tried: the first that tells all items of a list apart is taken.
const IDENTITIES: [&[&str]; 3] = [IDENTITY.split_at(7).0, IDENTITY.split_at(10).0, &IDENTITY];

/// The fewest fields that tell the items of each side apart; none where no fields do.
fn identity(sides: [&[Value]; 2]) -> &'static [&'static str] {
    let is_unique = |fields: &&&[&str]| {
        sides.iter().all(|items| {
            let labels: BTreeSet<String> = items.iter().map(|item| label(item, fields)).collect();
            labels.len() == items.len() && labels.iter().all(|label| !label.is_empty())
        })
    };
    IDENTITIES.iter().find(is_unique).copied().unwrap_or_default()
}

fn label(item: &Value, fields: &[&str]) -> String {
    let word = |field: &&str| match item.get(*field)? {
        Value::String(text) => Some(text.clone()),
        value => Some(value.to_string()),
    };
    match fields {
        [] => item.to_string(),
        fields => fields.iter().filter_map(word).collect::<Vec<_>>().join(" "),
    }
}

/// A condition for one line, whole.
fn condition(value: &Value) -> Option<String> {
    let text = |key: &str| value.get(key)?.as_str();
    Some(format!("{} {}, {}", text("status")?, text("reason")?, text("message")?))
}

/// A value for one line: long ones are cut.
fn short(value: &Value) -> String {
    const LONGEST: usize = 120;
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case(json!({"a": 1}), json!({"a": 1}), &[])]
    #[case(json!({"a": {"b": 1}}), json!({"a": {"b": 2}}), &["a.b: 1 → 2"])]
    #[case(json!({"a": "x"}), json!({}), &["a: - x"])]
    #[case(json!({}), json!({"a": "x"}), &["a: + x"])]
    #[case(json!({"hosts": ["a", "b"]}), json!({"hosts": ["b", "c"]}), &["hosts: - a", "hosts: + c"])]
    #[case(
        json!({"conditions": [{"type": "Ready", "status": "True"}]}),
        json!({"conditions": [{"type": "Published", "status": "True"}, {"type": "Ready", "status": "False"}]}),
        &["conditions[Published]: + {\"status\":\"True\",\"type\":\"Published\"}", "conditions[Ready].status: True → False"]
    )]
    #[case(
        json!({"conditions": []}),
        json!({"conditions": [{"type": "Ready", "status": "False", "reason": "Lost", "message": "by a hair"}]}),
        &["conditions[Ready]: + False Lost, by a hair"]
    )]
    #[case(json!({"l": [{"x": 1}]}), json!({"l": [{"x": 2}]}), &["l: - {\"x\":1}", "l: + {\"x\":2}"])]
    #[case(
        json!({"entries": [{"fqdn": "b.", "type": "A", "rdata": "1"}, {"fqdn": "b.", "type": "A", "rdata": "2"}]}),
        json!({"entries": [{"fqdn": "a.", "type": "A", "rdata": "1"}, {"fqdn": "b.", "type": "A", "rdata": "1"}, {"fqdn": "b.", "type": "A", "rdata": "2"}]}),
        &["entries[a. A 1]: + {\"fqdn\":\"a.\",\"rdata\":\"1\",\"type\":\"A\"}"]
    )]
    fn differences_are_told_by_path(#[case] before: Value, #[case] after: Value, #[case] expected: &[&str]) {
        assert_eq!(lines(&before, &after), expected);
    }
}
