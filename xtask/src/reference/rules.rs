//! The rules that the API server judges objects by, with what it says where one does not hold.

use serde_json::Value;

/// All rules of a schema, as a table; nothing where there are none.
pub(super) fn section(schema: &Value) -> String {
    let mut rows = String::new();
    collect(schema, "", &mut rows);
    if rows.is_empty() {
        return rows;
    }
    format!(
        "\n### Rules\n\nThe API server judges these (CEL) by itself, without the webhook.\n\n\
         | at | must hold | else it says |\n|---|---|---|\n{rows}"
    )
}

fn collect(schema: &Value, path: &str, rows: &mut String) {
    for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
        *rows += &row(path, rule);
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        collect(field, &path, rows);
    }
    if schema["items"].is_object() {
        collect(&schema["items"], &format!("{path}[]"), rows);
    }
}

fn row(path: &str, rule: &Value) -> String {
    let at = if path.is_empty() { "the object".to_owned() } else { format!("`{path}`") };
    let condition = rule["rule"].as_str().unwrap_or_default();
    let condition = condition.split_whitespace().collect::<Vec<_>>().join(" ");
    let cells = [at, format!("`{condition}`"), message(rule)];
    format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | "))
}

fn message(rule: &Value) -> String {
    match rule["messageExpression"].as_str() {
        Some(expression) => template(expression),
        None => rule["message"].as_str().unwrap_or_default().to_owned(),
    }
}

/// The text of a CEL expression that joins literals and values: a value is shown as `…`.
fn template(expression: &str) -> String {
    let (mut text, mut quoted, mut escaped) = (String::new(), false, false);
    for letter in expression.chars() {
        match letter {
            _ if escaped => {
                text.push(letter);
                escaped = false;
            }
            '\\' => escaped = true,
            '\'' => {
                quoted = !quoted;
                if !quoted {
                    text.push('…');
                }
            }
            _ if quoted => text.push(letter),
            _ => {}
        }
    }
    // A value follows each literal but the last.
    text.strip_suffix('…').unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_in_a_message_are_dots() {
        assert_eq!(template("'spec.a: `' + self.a + '` isn\\'t it'"), "spec.a: `…` isn't it");
    }
}
