//! An object's status in one line.

use serde_json::Value;

/// How an object fares: its phase, and why it is not ready where it is not.
///
/// An object of another project has no condition `Ready` of ours: whether it is ready is not ours to say.
pub fn summary(status: &Value) -> String {
    let first = status["conditions"].as_array().and_then(|conditions| conditions.first());
    match (trouble(status), status["phase"].as_str(), ready(status), first) {
        (Some(trouble), ..) => trouble,
        (None, Some(phase), ..) => phase.to_owned(),
        (None, None, None, Some(first)) => told(first),
        _ => "Ready".to_owned(),
    }
}

/// Why an object is not ready, with its phase; nothing where it is.
pub fn trouble(status: &Value) -> Option<String> {
    let trouble = ready(status).filter(|condition| condition["status"] != "True").map(told)?;
    Some(format!("{}: {trouble}", status["phase"].as_str().unwrap_or("not ready")))
}

fn ready(status: &Value) -> Option<&Value> {
    status["conditions"].as_array()?.iter().find(|condition| condition["type"] == "Ready")
}

fn told(condition: &Value) -> String {
    let text = |key: &str| condition[key].as_str().unwrap_or_default().to_owned();
    match text("message") {
        message if message.is_empty() => text("reason"),
        message => format!("{}, {message}", text("reason")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::json;

    #[rstest]
    #[case(json!({}), "Ready")]
    #[case(json!({"phase": "Active"}), "Active")]
    #[case(json!({"conditions": [{"type": "Ready", "status": "True", "reason": "Good"}]}), "Ready")]
    #[case(json!({"conditions": [{"type": "PolicyAffected", "status": "True", "reason": "Applied"}]}), "Applied")]
    #[case(
        json!({"phase": "Failed", "conditions": [{"type": "Ready", "status": "False", "reason": "Lost", "message": "by a hair"}]}),
        "Failed: Lost, by a hair"
    )]
    #[case(json!({"conditions": [{"type": "Ready", "status": "Unknown", "reason": "Pending"}]}), "not ready: Pending")]
    fn a_status_is_told_in_a_line(#[case] status: Value, #[case] line: &str) {
        assert_eq!(summary(&status), line);
    }
}
