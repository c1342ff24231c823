//! Argo CD's health scripts, run by a Lua of the version that Argo CD has.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use e2e::call;
use e2e::chart::deploy;
use serde_json::{Value, json};

const PREFIX: &str = "resource.customizations.health.";

/// Each kind as `group_Kind` with its script.
fn scripts() -> Result<Vec<(String, String)>> {
    let map: Value = serde_saphyr::from_str(&std::fs::read_to_string(deploy("argocd/argocd-cm.yaml"))?)?;
    let data = map["data"].as_object().context("no data")?;
    let script = |(key, text): (&String, &Value)| {
        let kind = key.strip_prefix(PREFIX).with_context(|| format!("{key} is no health script"))?;
        Ok((kind.to_owned(), text.as_str().unwrap_or_default().to_owned()))
    };
    data.iter().map(script).collect()
}

/// What Argo CD would show, by a Lua of the version that it has.
fn health(script: &str, object: &Value) -> Result<(String, String)> {
    let show = "print(found.status) print(found.message)";
    let program = format!("obj = {}\nlocal found = (function()\n{script}\nend)()\n{show}", lua(object));
    let output = call("lua5.1", "lua5.1", &["-e", &program])?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    let (status, message) = text.trim_end().split_once('\n').unwrap_or((text.trim_end(), ""));
    Ok((status.to_owned(), message.to_owned()))
}

/// A value as Lua writes it; Argo CD hands objects over as tables.
fn lua(value: &Value) -> String {
    match value {
        Value::Null => "nil".to_owned(),
        Value::Array(values) => format!("{{{}}}", values.iter().map(lua).collect::<Vec<_>>().join(", ")),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| format!("[{name:?}] = {}", lua(value)));
            format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
        }
        Value::String(text) => format!("{text:?}"),
        scalar => scalar.to_string(),
    }
}

fn condition(kind: &str, status: &str, reason: &str) -> Value {
    json!({"type": kind, "status": status, "reason": reason, "message": format!("{kind} is {status}: {reason}")})
}

fn object(phase: &str, conditions: &[Value]) -> Value {
    let status = json!({"observedGeneration": 3, "phase": phase, "conditions": conditions});
    json!({"metadata": {"name": "it", "generation": 3}, "status": status})
}

#[test]
fn every_kind_has_a_health_script() -> Result<()> {
    let mut kinds = BTreeSet::new();
    for entry in std::fs::read_dir(deploy("crds"))? {
        let crd: Value = serde_saphyr::from_str(&std::fs::read_to_string(entry?.path())?)?;
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        kinds.insert(format!("{}_{}", text(&crd["spec"]["group"]), text(&crd["spec"]["names"]["kind"])));
    }
    assert_eq!(scripts()?.into_iter().map(|(kind, _)| kind).collect::<BTreeSet<_>>(), kinds);
    Ok(())
}

#[test]
fn health_follows_the_conditions() -> Result<()> {
    let ready = condition("Ready", "True", "Served");
    let cases = [
        ("Healthy", object("Active", std::slice::from_ref(&ready))),
        ("Healthy", object("Active", &[ready.clone(), condition("Published", "Unknown", "HandedOver")])),
        ("Degraded", object("Active", &[ready.clone(), condition("Published", "False", "Failed")])),
        (
            "Degraded",
            object(
                "Pending",
                &[condition("Ready", "False", "NotDelegated"), condition("Stalled", "True", "NotDelegated")],
            ),
        ),
        ("Degraded", object("Failed", &[condition("Ready", "False", "GatewayNotFound")])),
        ("Progressing", object("Pending", &[condition("Ready", "False", "NoAddress")])),
        ("Progressing", object("Pending", &[condition("Ready", "Unknown", "Pending")])),
        ("Suspended", object("Pending", &[condition("Ready", "False", "DNSPolicyInactive")])),
        ("Suspended", object("Pending", &[condition("Ready", "False", "NoServiceRoutes")])),
        ("Progressing", json!({"metadata": {"name": "it", "generation": 1}})),
    ];
    for (kind, script) in scripts()? {
        for (expected, object) in &cases {
            let (status, message) = health(&script, object)?;
            assert_eq!(&status, expected, "{kind}: {object}");
            assert!(!message.is_empty(), "{kind}: {object}");
        }
    }
    Ok(())
}

#[test]
fn an_older_status_says_nothing_about_a_newer_object() -> Result<()> {
    let mut newer = object("Active", &[condition("Ready", "True", "Served")]);
    newer["metadata"]["generation"] = json!(4);
    let (_, script) = scripts()?.into_iter().next().context("no script")?;
    assert_eq!(health(&script, &newer)?.0, "Progressing");
    Ok(())
}

#[test]
fn every_status_of_the_golden_plans_has_a_health() -> Result<()> {
    let (_, script) = scripts()?.into_iter().next().context("no script")?;
    let mut seen = BTreeSet::new();
    for name in ["regions", "zones", "quickstart"] {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../testdata/golden/{name}.plan.yaml"));
        let documents: Vec<Value> = serde_saphyr::from_multiple(&std::fs::read_to_string(path)?)?;
        for document in documents.iter().filter(|document| document["status"].is_object()) {
            seen.insert(health(&script, document)?.0);
        }
    }
    assert!(seen.contains("Healthy") && seen.contains("Suspended"), "{seen:?}");
    Ok(())
}
