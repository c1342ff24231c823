//! What a source tells the planner: objects and zone files as they now stand.
//!
//! A source reports what it has positively seen. A folder that cannot be read is not a deletion,
//! so it is simply not reported.

use std::sync::Arc;

use api::{Kind, Object, Problem};
use dns::{Name, PackedZone, ProbeId};

use crate::children::ChildRef;
use crate::delivery::{ClassHealth, Delivered, LookedUp};
use crate::direction::Direction;
use crate::holders::Holders;
use crate::lowering::Abilities;
use crate::memory::Memory;
use crate::probe::TargetHealth;

/// A cluster by its place on the command line, which is also its rank in conflicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ClusterId(pub u16);

/// Which object, within one cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectRef {
    /// Its kind.
    pub kind: Kind,
    /// Its namespace; empty for cluster-scoped kinds.
    pub namespace: Arc<str>,
    /// Its name.
    pub name: Arc<str>,
}

/// One change in the world, as a source saw it.
#[derive(Clone, Debug)]
pub enum Change {
    /// The object as it now stands. The planner validates it: if it is invalid, the last valid
    /// version that the planner was given stays in force.
    Put(ClusterId, Arc<Object>),
    /// What was valid of an object, as somebody wrote it down before the version that is told of next.
    /// It counts only where the planner was given no valid version itself.
    LastValid(ClusterId, Arc<Object>),
    /// The object is there but cannot be decoded. Its last valid version stays in force.
    Broken(ClusterId, ObjectRef, Vec<Problem>),
    /// The Zone is there but cannot be decoded, and this is what can be told of it: its name, `domainName`, `zoneRef`
    /// and `dnsClassRef`. Its last valid version stays in force; where there is none, the zone is unavailable rather
    /// than missing.
    BrokenZone(ClusterId, Arc<Object>, Vec<Problem>),
    /// The object is gone.
    Delete(ClusterId, ObjectRef),
    /// A zone file as it now stands; the path is relative to the source's folder.
    PutFile(ClusterId, Arc<str>, Arc<PackedZone>, Vec<FileNote>),
    /// The file is there but cannot be read as a zone. Its last good content stays in force; where
    /// there is none, the zone (if its origin is known) is unavailable rather than empty.
    BrokenFile(ClusterId, Arc<str>, Option<Name>, FileNote),
    /// The file is gone.
    DeleteFile(ClusterId, Arc<str>),
    /// The serial that an origin had when this state was last saved or published, with the hash of
    /// the content that carried it.
    Serial(Name, SavedSerial),
    /// Who held what when an earlier process ended, or in the plan to compare with. It counts in the batch that
    /// it is told in, and is told before the objects and files that it is about. In a cluster it means nothing.
    Holders(Box<Holders>),
    /// An actuator could not apply this child object, and why; or, with `None`, it can again. A child
    /// that is not planned, or is no longer, has no outcome.
    ChildOutcome(ChildRef, Option<String>),
    /// How a record set fares at the provider of a class.
    Delivered(Delivered),
    /// What the world sees of a record set that stands there.
    LookedUp(LookedUp),
    /// How the provider of a class is.
    ClassHealth(Arc<str>, ClassHealth),
    /// The deletions of a class that wait for consent: how many, and the hash of their set.
    ClassHeld(Arc<str>, Option<(usize, Box<str>)>),
    /// How much of the steering the provider of a class can do by itself.
    ClassAbilities(Arc<str>, Abilities),
    /// What an earlier process remembered of an object. It counts only where the planner knows nothing of the
    /// object yet.
    Remembered(ClusterId, ObjectRef, Memory),
    /// Whether this operator holds the lease, as it does until it is told otherwise: one that does
    /// not follows the serials that the other publishes.
    Leading(bool),
    /// Today, as `YYYYMMDD`: what serials start with.
    Today(u32),
    /// How a target is, by its probe; what nobody probes has no health.
    Health(ProbeId, TargetHealth),
    /// What directs a Placement; whoever directs it says so before it first counts.
    Direction(ClusterId, ObjectRef, Direction),
    /// A number that is another whenever the signatures of a zone by the keys of a vault are. Where a
    /// class signs the zone with these, it counts as content: secondaries follow the serial, and their
    /// signatures end.
    Signed(String, Name, u64),
    /// The health of targets moved what a zone is transferred with, as [`Delta::answers`] told of it: whoever
    /// moves serials gives the zone the next one, so that secondaries fetch it. The hash stays, since that is
    /// of what objects and files say; a server need not agree with us on health to serve the serial.
    ///
    /// [`Delta::answers`]: crate::Delta::answers
    Answers(Name),
}

/// An origin's serial and the hash of the content that carries it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SavedSerial {
    /// The serial.
    pub serial: u32,
    /// The hash of the content.
    pub hash: u64,
}

/// A remark about a place in a zone file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileNote {
    /// The file, relative to the source's folder (an included file may differ from the zone's).
    pub path: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// What is wrong and what to do.
    pub message: String,
}
