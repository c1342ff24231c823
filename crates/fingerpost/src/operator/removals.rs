//! When a child that the plan does not have may be removed.
//!
//! The watches of different kinds are not in step. A child that another replica has just made may arrive before the
//! objects that it is made from, and then it only seems to be left over. So a child that the plan had and has no more
//! is removed at once, and any other child only when it has been without a place in the plan for some seconds.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use planner::ChildRef;

/// How much later the objects of a child may arrive than the child itself.
const SETTLING: Duration = Duration::from_secs(5);

/// The children that the plan does not have, each with the time from which it may be removed.
#[derive(Debug, Default)]
pub struct Removals {
    due: HashMap<ChildRef, Instant>,
}

impl Removals {
    /// The plan had this child and has it no more: the proof that it is to be removed.
    pub fn prove(&mut self, child: &ChildRef, now: Instant) {
        self.due.insert(child.clone(), now);
    }

    /// When a child that the plan does not have may be removed.
    pub fn due(&mut self, child: &ChildRef, now: Instant) -> Instant {
        *self.due.entry(child.clone()).or_insert(now + SETTLING)
    }

    /// The plan has the child, or the child is gone.
    pub fn forget(&mut self, child: &ChildRef) {
        self.due.remove(child);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use planner::{ChildKind, ClusterId};

    use super::*;

    fn child() -> ChildRef {
        let (cluster, kind) = (ClusterId(0), ChildKind::DNSEndpoint);
        ChildRef { cluster, kind, namespace: "shop".into(), name: "web".into() }
    }

    #[test]
    fn a_child_that_the_plan_never_had_waits_once() {
        let (mut removals, now) = (Removals::default(), Instant::now());
        assert_eq!(removals.due(&child(), now), now + SETTLING);
        assert_eq!(removals.due(&child(), now + SETTLING), now + SETTLING, "a second look does not delay it");
    }

    #[test]
    fn a_child_that_the_plan_had_is_removed_at_once() {
        let (mut removals, now) = (Removals::default(), Instant::now());
        removals.prove(&child(), now);
        assert_eq!(removals.due(&child(), now), now);
        removals.forget(&child());
        assert_eq!(removals.due(&child(), now), now + SETTLING, "it came back, and the proof is old");
    }
}
