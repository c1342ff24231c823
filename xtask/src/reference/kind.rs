//! What is told about one kind: its names, its columns, its fields and its rules.

use serde_json::Value;

use super::{fields, rules};

/// The schema of a definition's only version.
pub(super) fn schema(definition: &Value) -> &Value {
    &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
}

/// A kind's line in the index.
pub(super) fn line(definition: &Value, page: &str) -> String {
    let (kind, short) = (name(definition), short_names(definition));
    let short = if short.is_empty() { String::new() } else { format!("`{short}`") };
    format!(
        "| [{kind}](reference/{page}.md#{}) | `{}` | {} | {short} |\n",
        kind.to_lowercase(),
        api_version(definition),
        scope(definition)
    )
}

/// A kind's section on its family's page.
pub(super) fn section(definition: &Value) -> String {
    let schema = schema(definition);
    let part = |title: &str, part: &Value| format!("\n### {title}\n\n{}", fields::table(part));
    let mut text = format!(
        "\n## {}\n\n{}\n\n{}\n\n{}\n",
        name(definition),
        head(definition),
        fields::prose(schema),
        columns(definition)
    );
    text += &part("Spec", &schema["properties"]["spec"]);
    text += &part("Status", &schema["properties"]["status"]);
    text + &rules::section(schema)
}

fn name(definition: &Value) -> &str {
    definition["spec"]["names"]["kind"].as_str().unwrap_or_default()
}

fn api_version(definition: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let spec = &definition["spec"];
    format!("{}/{}", text(&spec["group"]), text(&spec["versions"][0]["name"]))
}

fn scope(definition: &Value) -> &str {
    if definition["spec"]["scope"] == "Cluster" { "cluster" } else { "namespace" }
}

fn short_names(definition: &Value) -> String {
    fields::words(&definition["spec"]["names"]["shortNames"]).join(", ")
}

fn head(definition: &Value) -> String {
    let plural = definition["spec"]["names"]["plural"].as_str().unwrap_or_default();
    let group = definition["spec"]["group"].as_str().unwrap_or_default();
    let short = match short_names(definition).as_str() {
        "" => String::new(),
        short => format!(", short name `{short}`"),
    };
    let (version, scope) = (api_version(definition), scope(definition));
    format!("`{version}`, in {} {scope}; `kubectl get {plural}.{group}`{short}.", article(scope))
}

fn article(scope: &str) -> &'static str {
    if scope == "cluster" { "the whole" } else { "a" }
}

/// What `kubectl get` shows, and what only `-o wide` does.
fn columns(definition: &Value) -> String {
    let columns = definition["spec"]["versions"][0]["additionalPrinterColumns"].as_array();
    let columns = columns.map(Vec::as_slice).unwrap_or_default();
    let named = |wide: bool| -> Vec<&str> {
        let some = columns.iter().filter(|column| (column["priority"].as_u64().unwrap_or(0) > 0) == wide);
        some.filter_map(|column| column["name"].as_str()).collect()
    };
    let wide = match named(true).as_slice() {
        [] => String::new(),
        wide => format!("; with `-o wide` also {}", wide.join(", ")),
    };
    format!("Columns: {}{wide}.", named(false).join(", "))
}
