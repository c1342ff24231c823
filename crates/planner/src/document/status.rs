//! How the statuses of two plans are compared: what one of them cannot know is no difference.
//!
//! A plan of folders knows neither health nor what providers report, so there both are `Unknown`. A time alone is no
//! difference either.

use serde_json::Value;

use super::{DocumentObject, Pair};

/// Fields of a status that hold a time.
const TIMES: [&str; 6] =
    ["since", "expires", "time", "lastTransitionTime", "lastHealthCheck", "lastSyncTime"];
/// What a region's status says of its health.
const HEALTH: [&str; 2] = ["health", "message"];

/// A pair without what one side cannot know; nothing where no difference is left.
pub(super) fn compared(pair: Pair<DocumentObject>) -> Option<Pair<DocumentObject>> {
    let Pair { before: Some(mut before), after: Some(mut after) } = pair else { return Some(pair) };
    if let (Some(old), Some(new)) = (before.manifest.get_mut("status"), after.manifest.get_mut("status")) {
        drop_times(old);
        drop_times(new);
        drop_unknown(old, new);
    }
    (before != after).then_some(Pair { before: Some(before), after: Some(after) })
}

fn drop_times(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|key, _| !TIMES.contains(&key.as_str()));
            fields.values_mut().for_each(drop_times);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_times),
        _ => {}
    }
}

fn drop_unknown(before: &mut Value, after: &mut Value) {
    let conditions = unknown(before, after, "conditions", "type", "status");
    let regions = unknown(before, after, "regions", "name", "health");
    for status in [before, after] {
        if let Some(Value::Array(items)) = status.get_mut("conditions") {
            items.retain(|one| !conditions.contains(&one["type"]));
        }
        if let Some(Value::Array(items)) = status.get_mut("regions") {
            items.iter_mut().filter(|one| regions.contains(&one["name"])).for_each(drop_health);
        }
    }
}

fn drop_health(region: &mut Value) {
    if let Some(fields) = region.as_object_mut() {
        fields.retain(|key, _| !HEALTH.contains(&key.as_str()));
    }
}

/// The names of the items of a list that are unknown on one side.
fn unknown(before: &Value, after: &Value, items: &str, name: &str, field: &str) -> Vec<Value> {
    let both = [before, after].into_iter().filter_map(|status| status.get(items)?.as_array()).flatten();
    let unknown = both.filter(|one| one.get(field).is_some_and(|value| value == "Unknown"));
    unknown.filter_map(|one| one.get(name).cloned()).collect()
}
