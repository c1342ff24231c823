//! The versions of one zone: the newest, and the steps that led to it.
//!
//! The steps are bounded in number and never take more octets than the zone itself: past that a
//! whole transfer is the cheaper answer.

use std::collections::VecDeque;
use std::sync::Arc;

use super::content::content;
use super::step::{Step, octets, serial};
use crate::Zone;

/// The most steps that are kept of a zone.
const MOST_STEPS: usize = 1024;
/// The most octets that the steps of a zone take, however large it is.
const MOST_OCTETS: usize = 16 << 20;

/// The newest version of a zone and how it came about.
#[derive(Debug)]
pub(super) struct History {
    version: Arc<Zone>,
    serial: u32,
    /// About how many octets the newest version takes.
    octets: usize,
    steps: VecDeque<(Arc<Step>, usize)>,
    steps_octets: usize,
}

impl History {
    /// A zone that is seen for the first time; none while its content is not known.
    pub(super) fn new(zone: &Arc<Zone>) -> Option<History> {
        let (version, serial) = (Arc::clone(zone), serial(zone)?);
        let octets = content(Arc::clone(zone)).map(|set| octets(&set)).sum();
        Some(History { version, serial, octets, steps: VecDeque::new(), steps_octets: 0 })
    }

    pub(super) fn version(&self) -> &Arc<Zone> {
        &self.version
    }

    pub(super) fn serial(&self) -> u32 {
        self.serial
    }

    /// Takes in what the zone is now; says whether its serial moved.
    ///
    /// Content that differs under the same serial waits for the next one: whoever has this serial
    /// has the content that first came with it, and the next step must start from that.
    pub(super) fn advance(&mut self, zone: &Arc<Zone>) -> bool {
        let Some(next) = serial(zone).filter(|_| !Arc::ptr_eq(zone, &self.version)) else { return false };
        let Some(step) = Step::between(&self.version, zone) else { return false };
        if next == self.serial {
            if step.is_empty() && step.from == step.to {
                self.version = Arc::clone(zone);
            }
            return false;
        }
        self.octets = self.octets.saturating_add_signed(step.growth());
        match is_later(next, self.serial) {
            true => self.push(step),
            // A serial that went back starts anew: no step leads there.
            false => self.forget_steps(),
        }
        (self.version, self.serial) = (Arc::clone(zone), next);
        self.bound();
        true
    }

    fn push(&mut self, step: Step) {
        let octets = step.octets();
        self.steps.push_back((Arc::new(step), octets));
        self.steps_octets += octets;
    }

    fn bound(&mut self) {
        let most = self.octets.min(MOST_OCTETS);
        while self.steps.len() > MOST_STEPS || self.steps_octets > most {
            let Some((_, octets)) = self.steps.pop_front() else { return };
            self.steps_octets -= octets;
        }
    }

    fn forget_steps(&mut self) {
        self.steps.clear();
        self.steps_octets = 0;
    }

    /// The steps from a version to the newest; none where the way is not known any more.
    pub(super) fn since(&self, serial: u32) -> Option<Vec<Arc<Step>>> {
        let is_start = |(step, _): &(Arc<Step>, usize)| serial_of(step) == Some(serial);
        let start = self.steps.iter().position(is_start)?;
        Some(self.steps.iter().skip(start).map(|(step, _)| Arc::clone(step)).collect())
    }
}

fn serial_of(step: &Step) -> Option<u32> {
    step.from.data.first()?.as_soa().map(|soa| soa.serial)
}

/// Whether one serial comes after another (RFC 1982).
pub(super) fn is_later(one: u32, other: u32) -> bool {
    (one.wrapping_sub(other) as i32) > 0
}
