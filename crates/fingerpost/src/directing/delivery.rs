//! Whether what the plan answers stands where clients ask: what a Placement's own conditions say of it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How the answers of a Placement fare where they are delivered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// How far they are known to be.
    pub state: DeliveryState,
    /// Why, in a sentence.
    pub message: String,
}

/// How far answers are known to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DeliveryState {
    /// They were read back, or our own servers give them.
    Stands,
    /// They were handed to a controller that has not said what became of them.
    HandedOver,
    /// They are not known to stand.
    Awaited,
}

impl Delivery {
    /// Reads it from the conditions of a status.
    pub fn of(conditions: &Value) -> Delivery {
        let find = |kind: &str| conditions.as_array()?.iter().find(|condition| condition["type"] == kind);
        let ready = find("Ready");
        let is_handed = find("Published").is_some_and(|published| published["reason"] == "HandedOver");
        let state = match ready.and_then(|ready| ready["status"].as_str()) {
            Some("True") => DeliveryState::Stands,
            Some("Unknown") if is_handed => DeliveryState::HandedOver,
            _ => DeliveryState::Awaited,
        };
        let message =
            ready.and_then(|ready| ready["message"].as_str()).unwrap_or("nothing is known of it yet");
        Delivery { state, message: message.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use DeliveryState::{Awaited, HandedOver, Stands};
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(json!([{"type": "Ready", "status": "True", "message": "m"}]), Stands, "m")]
    #[case(json!([{"type": "Ready", "status": "Unknown", "message": "m"}]), Awaited, "m")]
    #[case(json!([{"type": "Ready", "status": "False", "message": "m"}]), Awaited, "m")]
    #[case(json!([{"type": "Ready", "status": "Unknown", "message": "m"},
                  {"type": "Published", "status": "Unknown", "reason": "HandedOver"}]), HandedOver, "m")]
    #[case(Value::Null, Awaited, "nothing is known of it yet")]
    fn only_what_is_ready_stands(
        #[case] conditions: Value,
        #[case] state: DeliveryState,
        #[case] message: &str,
    ) {
        assert_eq!(Delivery::of(&conditions), Delivery { state, message: message.to_owned() });
    }
}
