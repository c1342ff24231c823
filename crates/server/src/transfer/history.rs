//! The versions of one zone: the newest, and the steps that led to it.
//!
//! The steps are bounded in number and never take more octets than the zone itself: past that a
//! whole transfer is the cheaper answer.

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use dns::Name;

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
    /// The zone as it is answered.
    source: Arc<Zone>,
    /// The zone as it is transferred: every steered name with the answer that it had when the
    /// serial came.
    version: Arc<Zone>,
    steered: BTreeSet<Name>,
    serial: u32,
    /// About how many octets the newest version takes.
    octets: usize,
    steps: VecDeque<(Arc<Step>, usize)>,
    steps_octets: usize,
}

impl History {
    /// A zone that is seen for the first time; none while its content is not known.
    pub(super) fn new(zone: &Arc<Zone>) -> Option<History> {
        let (source, serial) = (Arc::clone(zone), serial(zone)?);
        let steered: BTreeSet<Name> = zone.steered_names().cloned().collect();
        let version = flattened(zone, &steered);
        let octets = content(Arc::clone(&version)).map(|set| octets(&set)).sum();
        Some(History { source, version, steered, serial, octets, steps: VecDeque::new(), steps_octets: 0 })
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
        let Some(next) = serial(zone).filter(|_| !Arc::ptr_eq(zone, &self.source)) else { return false };
        let mut names = self.source.changed_names(zone);
        let steered = self.steered_in(zone, &names);
        let version = flattened(zone, &steered);
        // A steered name may have another answer although nobody changed it.
        names.extend(self.steered.union(&steered).cloned());
        let Some(step) = Step::between(&self.version, &version, &names) else { return false };
        if next == self.serial && !step.is_idle() {
            return false;
        }
        let moved = next != self.serial;
        if moved {
            self.take(step, is_later(next, self.serial));
        }
        (self.source, self.version, self.steered) = (Arc::clone(zone), version, steered);
        self.serial = next;
        self.bound();
        moved
    }

    /// The steered names of the next version.
    fn steered_in(&self, zone: &Zone, changed: &BTreeSet<Name>) -> BTreeSet<Name> {
        let before = self.steered.difference(changed);
        before.chain(changed.iter().filter(|name| zone.is_steered_at(name.key()))).cloned().collect()
    }

    fn take(&mut self, step: Step, is_forward: bool) {
        self.octets = self.octets.saturating_add_signed(step.growth());
        match is_forward {
            true => self.push(step),
            // A serial that went back starts anew: no step leads there.
            false => self.forget_steps(),
        }
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

/// A zone whose steered names have their present answers.
fn flattened(zone: &Arc<Zone>, steered: &BTreeSet<Name>) -> Arc<Zone> {
    if steered.is_empty() {
        return Arc::clone(zone);
    }
    let mut flat = Zone::clone(zone);
    steered.iter().for_each(|name| flat.flatten(name));
    Arc::new(flat)
}

/// Whether one serial comes after another (RFC 1982).
pub(super) fn is_later(one: u32, other: u32) -> bool {
    (one.wrapping_sub(other) as i32) > 0
}
