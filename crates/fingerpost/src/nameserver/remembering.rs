//! What a restart is to know although no status says it: what Gateways answered, and the versions in force of
//! objects whose newest version is not.
//!
//! A Gateway that has lost its addresses, or whose policy cannot be followed, goes on answering what it
//! answered. Placements and DNSRecords have that in their statuses, which the operator writes.

use api::Kind;
use planner::{Change, Delta, Memory};

use super::Nameserver;

impl Nameserver {
    /// What was kept before this start.
    pub(super) fn remembered(&self) -> Vec<Change> {
        let all = self.state.iter().flat_map(|state| state.load_remembered());
        let is_kept = |change: &Change| matches!(change, Change::Remembered(_, object, memory) if is_kept(object.kind, memory));
        all.filter(is_kept).collect()
    }

    /// Notes that there may be something to keep.
    pub(super) fn note_answers(&mut self, delta: &Delta) {
        self.unsaved |= !delta.is_empty() || delta.versions;
        if delta.versions {
            self.save_remembered();
        }
    }

    /// Keeps what is to be known. It is written whole, so it is done now and then.
    pub(super) fn save_remembered(&mut self) {
        let Some(state) = self.state.as_ref().filter(|_| std::mem::take(&mut self.unsaved)) else { return };
        let mut all = self.instance.planner().remembered();
        all.retain(|(_, object, memory)| is_kept(object.kind, memory));
        state.save_remembered(&all);
    }
}

fn is_kept(kind: Kind, memory: &Memory) -> bool {
    kind == Kind::ListenerGateway || memory.is_version()
}
