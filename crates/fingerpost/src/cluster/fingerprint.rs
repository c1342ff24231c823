//! A fingerprint of JSON that does not depend on the order of keys. It lives as long as the process.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

/// The fingerprint of a value; equal values have equal ones.
pub fn fingerprint(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    feed(value, &mut hasher);
    hasher.finish()
}

fn feed(value: &Value, hasher: &mut DefaultHasher) {
    std::mem::discriminant(value).hash(hasher);
    match value {
        Value::Null => {}
        Value::Bool(flag) => flag.hash(hasher),
        Value::Number(number) => number.hash(hasher),
        Value::String(text) => text.hash(hasher),
        Value::Array(items) => {
            items.len().hash(hasher);
            items.iter().for_each(|item| feed(item, hasher));
        }
        Value::Object(fields) => {
            let mut keys: Vec<&String> = fields.keys().collect();
            keys.sort_unstable();
            keys.len().hash(hasher);
            for key in keys {
                key.hash(hasher);
                feed(&fields[key], hasher);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn the_order_of_keys_does_not_count_and_everything_else_does() {
        let print = |text: &str| fingerprint(&serde_json::from_str(text).unwrap());
        assert_eq!(print(r#"{"a":1,"b":[2,3]}"#), print(r#"{"b":[2,3],"a":1}"#));
        let all =
            [r#"{"a":1}"#, r#"{"a":"1"}"#, r#"{"a":[1]}"#, r#"{"a":[1,1]}"#, r#"{"b":1}"#, r#"{"a":null}"#];
        let distinct: std::collections::BTreeSet<u64> = all.iter().map(|text| print(text)).collect();
        assert_eq!(distinct.len(), all.len());
    }
}
