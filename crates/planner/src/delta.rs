//! What bringing the plan up to date moved.

use std::sync::Arc;

use dns::{Name, ProbeId, RecordSet};

use crate::children::ChildRef;
use crate::holders::Holders;
use crate::input::{ClusterId, ObjectRef};
use crate::place::Scope;
use crate::probe::ProbeSpec;

/// The difference that one run made.
#[derive(Clone, Debug, Default)]
pub struct Delta {
    /// The list of views is another.
    pub views: bool,
    /// Zones that came, went, have another SOA, or whose serial began or ceased to stand for their content,
    /// by origin.
    pub zones: Vec<Name>,
    /// Zones whose file is another, or has other content, by origin; its records are not in `records`.
    pub files: Vec<Name>,
    /// Nodes with other content: the zone's origin and the name.
    pub nodes: Vec<(Name, Name)>,
    /// The record sets that moved.
    pub records: Vec<RecordChange>,
    /// Child objects that moved, in the order in which their owners came.
    pub children: Vec<(ChildRef, ChangeKind)>,
    /// Provider classes that came, went, or have another spec or other annotations.
    pub classes: Vec<Arc<str>>,
    /// Names whose delivery changed although their content did not: the zone's origin and the name.
    pub deliveries: Vec<(Name, Name)>,
    /// Probes that came, and those that nobody needs any more, by what they are known by.
    pub probes: Vec<(ProbeId, Option<ProbeSpec>)>,
    /// Zones that secondaries have and whose steered answers moved with the health of a target. The number is
    /// of milliseconds: by then everybody else who probes the target has seen the same.
    pub answers: Vec<(Name, u64)>,
    /// What is remembered of holders and is another than before: everything of the names, origins and lists that it
    /// is about. A first run says nothing here: then everything is new.
    pub holders: Holders,
    /// Objects whose status may have moved, in the order in which they came.
    pub statuses: Vec<(ClusterId, ObjectRef)>,
    /// An object whose newest version is not in force came, went or changed: what a restart has to know of it
    /// is to be saved.
    pub versions: bool,
}

impl Delta {
    /// Whether nothing moved that anybody is told of.
    pub fn is_empty(&self) -> bool {
        let nothing_to_deliver = self.classes.is_empty() && self.deliveries.is_empty();
        let nothing_to_answer = !self.views && self.zones.is_empty() && self.nodes.is_empty();
        nothing_to_answer && nothing_to_deliver && self.children.is_empty() && self.probes.is_empty()
    }
}

/// One record set that moved.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordChange {
    /// The zone's origin.
    pub zone: Name,
    /// Where it is seen.
    pub scope: Scope,
    /// What stood there.
    pub before: Option<RecordSet>,
    /// What stands there now.
    pub after: Option<RecordSet>,
    /// The object that wants it now, where there is one.
    pub origin: Option<(ClusterId, ObjectRef)>,
}

/// What happened to a child object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// It is new.
    Added,
    /// It says something else.
    Changed,
    /// It goes.
    Removed,
}
