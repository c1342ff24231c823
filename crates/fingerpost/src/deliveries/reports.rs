//! From what became of orders to what the planner is told.

use std::sync::Arc;

use api::dnsclass::HealthStatus;
use api::{Object, Published, PublishedClass};
use backends::delivery::{HeldDeletes, Report, SetResult, Trouble, Written};
use planner::{Change, ClassHealth, Delivered, DeliveryResult};

/// How a class is, as its attendant found it.
pub(super) struct Health {
    pub(super) result: Result<(), Trouble>,
    pub(super) at: i64,
}

impl Health {
    pub(super) fn change(self, class: &Arc<str>) -> Change {
        let result = self.result.map_err(|trouble| (trouble.reason.into(), trouble.message.into()));
        Change::ClassHealth(class.clone(), ClassHealth { result, at: self.at })
    }
}

/// What the planner is told of a report.
pub(super) fn change(class: &Arc<str>, report: Report, at: i64) -> Change {
    match report {
        Report::Set { zone, key, result } => Change::Delivered(Delivered {
            class: class.clone(),
            zone,
            name: key.name,
            rtype: key.rtype,
            result: delivered(result, at),
        }),
        Report::Held(held) => {
            let held = held.map(|HeldDeletes { count, hash }| (count, hash.into()));
            Change::ClassHeld(class.clone(), held)
        }
        Report::Reached(result) => Health { result, at }.change(class),
    }
}

fn delivered(result: SetResult, at: i64) -> DeliveryResult {
    match result {
        SetResult::Stands { set, written, .. } => DeliveryResult::Stands {
            hash: planner::set_hash(&set),
            written: written.map(|how| (how_written(how), at)),
        },
        SetResult::Absent { .. } => DeliveryResult::Absent,
        SetResult::Failed { trouble, exhausted } => DeliveryResult::Failed(planner::Trouble {
            reason: trouble.reason.into(),
            code: trouble.code.into(),
            message: trouble.message.into(),
            at,
            exhausted,
        }),
        SetResult::Foreign { owner } => DeliveryResult::Foreign { owner: owner.map(Into::into), at },
    }
}

fn how_written(how: Written) -> planner::Written {
    match how {
        Written::Created => planner::Written::Created,
        Written::Updated => planner::Written::Updated,
    }
}

/// When the class was last asked how it is, as its status says.
pub(super) fn last_check(object: &Object) -> Option<jiff::Timestamp> {
    published(object)?.last_health_check
}

/// How the class was then.
pub(super) fn was_healthy(object: &Object) -> Option<bool> {
    match published(object)?.health.as_ref()?.status {
        HealthStatus::Healthy => Some(true),
        HealthStatus::Unhealthy => Some(false),
        HealthStatus::Unknown => None,
    }
}

fn published(object: &Object) -> Option<&PublishedClass> {
    match object.published.as_deref()? {
        Published::Class(class) => Some(class),
        _ => None,
    }
}
