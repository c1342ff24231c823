//! The guard against mass deletion: a large share of what is ours in a zone goes only with consent.

use std::collections::BTreeSet;
use std::time::Duration;

use super::super::backoff::Moment;
use super::held::Held;
use super::situation::Stage;
use super::{At, Zone};
use crate::SetKey;

/// Up to so many deletions are never held.
const FEW: usize = 10;
/// More than this share of our sets in a zone, in per cent, is held.
const SHARE: usize = 30;
/// So long deletions gather before they are judged, so that many told one by one are seen as many.
const GATHER: Duration = Duration::from_secs(1);

/// What the guard has found.
#[derive(Debug, Default)]
pub(in super::super) struct Guard {
    /// From when on deletions may be judged.
    gathering: Option<Moment>,
    /// Whether all deletions that wait were judged and may go.
    passed: bool,
    /// Deletions that wait for consent.
    pub(in super::super) held: BTreeSet<SetKey>,
    /// Deletions that have it.
    consented: BTreeSet<SetKey>,
}

impl Guard {
    /// A deletion came up.
    pub(super) fn gather(&mut self, now: Moment) {
        self.passed = false;
        self.gathering.get_or_insert(now + GATHER);
    }

    /// When deletions may be judged; `None`: they wait for consent.
    pub(super) fn due(&self) -> Option<Moment> {
        self.gathering.or_else(|| self.held.is_empty().then_some(Moment::ZERO))
    }

    /// All that is held now may go.
    pub(in super::super) fn consent(&mut self, now: Moment) {
        self.consented = std::mem::take(&mut self.held);
        self.gathering = Some(now);
        self.passed = false;
    }
}

impl Zone {
    /// Whether the deletions that wait may go.
    pub(super) fn may_delete(&mut self, at: At<'_>) -> bool {
        if self.guard.gathering.is_some_and(|moment| moment > at.now) {
            return false;
        }
        if !self.guard.passed {
            self.judge(at);
        }
        self.guard.passed
    }

    /// Judges all deletions that wait, together.
    fn judge(&mut self, at: At<'_>) {
        let names: Vec<_> = self.queued(Stage::Delete).cloned().collect();
        let keys = names.iter().flat_map(|name| {
            let deletes = self.situation(name, at).deletes;
            deletes.into_iter().map(|rtype| SetKey { name: name.clone(), rtype })
        });
        let keys: BTreeSet<SetKey> = keys.collect();
        let count = keys.difference(&self.guard.consented).count();
        let ours =
            self.marks.keys().filter(|key| matches!(self.held.get(key), Some(Held::Content(_)))).count();
        let is_many = at.class.is_shared && count > FEW && count * 100 > ours * SHARE;
        self.guard.gathering = None;
        self.guard.passed = !is_many;
        self.guard.held = if is_many { keys } else { BTreeSet::new() };
    }

    /// Whether deletions wait for consent; none does where none is due any more.
    pub(in super::super) fn holds_deletions(&mut self) -> bool {
        if !self.is_queued(Stage::Delete) {
            self.guard.held.clear();
        }
        !self.guard.held.is_empty()
    }
}
