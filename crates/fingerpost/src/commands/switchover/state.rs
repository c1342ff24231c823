//! How things are, read out of what the board tells.

use serde_json::Value;

use crate::directing::{Delivery, DeliveryState};

/// How a Placement is, as `/api/v1/leases/NAME` tells it.
#[derive(Clone, Debug)]
pub(super) struct State(pub(super) Value);

impl State {
    pub(super) fn regions(&self) -> Vec<&str> {
        let regions = self.0["regions"].as_array().into_iter().flatten();
        regions.filter_map(|region| region["name"].as_str()).collect()
    }

    pub(super) fn health(&self, region: &str) -> &str {
        let mut regions = self.0["regions"].as_array().into_iter().flatten();
        regions.find(|one| one["name"] == region).and_then(|one| one["health"].as_str()).unwrap_or("Unknown")
    }

    /// Whether a health check says which regions are up. An older `up` does not say, and then its health counts.
    pub(super) fn is_checked(&self) -> bool {
        self.0["healthChecked"] != false
    }

    /// The region that clients are sent to.
    pub(super) fn current(&self) -> Option<&str> {
        let answering = || self.0["answering"].get(0).and_then(Value::as_str);
        self.0["active"].as_str().or_else(answering)
    }

    pub(super) fn has_witness(&self) -> bool {
        self.0["witness"] == true
    }

    pub(super) fn generation(&self) -> u64 {
        self.0["generation"].as_u64().unwrap_or_default()
    }

    /// Why the witness cannot be asked, where it cannot.
    pub(super) fn trouble(&self) -> Option<&str> {
        self.0["trouble"].as_str()
    }

    /// Whether the lease, where there is one, is a region's as far as the witness was asked just now.
    pub(super) fn is_held_by(&self, region: &str) -> bool {
        !self.has_witness() || self.0["holder"] == region && self.trouble().is_none()
    }

    pub(super) fn is_sent_to(&self, region: &str) -> bool {
        self.0["active"] == region
    }

    /// Whether the plan answers with nothing but a region.
    pub(super) fn answers_only(&self, region: &str) -> bool {
        self.0["answering"].as_array().is_some_and(|all| all.len() == 1 && all[0] == region)
    }

    /// Whether that stands where it is delivered; what says nothing of it is not believed.
    pub(super) fn delivery(&self) -> Delivery {
        serde_json::from_value(self.0["delivery"].clone()).unwrap_or_else(|_| Delivery {
            state: DeliveryState::Awaited,
            message: "it does not say whether its answers stand: it is of an older version".to_owned(),
        })
    }

    pub(super) fn is_switching(&self) -> bool {
        !self.0["switchingTo"].is_null()
    }

    /// Whether something happened that was not before.
    pub(super) fn has_moved_since(&self, before: &State) -> bool {
        self.0["history"] != before.0["history"]
    }

    /// What happened last.
    pub(super) fn latest(&self) -> Option<&str> {
        self.0["history"][0]["message"].as_str()
    }
}
