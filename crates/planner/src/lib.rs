//! From declared objects to record sets, child objects and notes.
//!
//! ```text
//! Change ─► Snapshot ─► Claim ─► record set ─► Delta
//! ```
//!
//! Nothing in here does IO or reads a clock, randomness or the environment.

mod actuating;
mod admitting;
mod backing;
mod causes;
mod children;
mod delivering;
mod delivery;
mod delta;
mod direction;
pub mod document;
mod explain;
mod facts;
mod front;
mod held_names;
mod holders;
mod hosts;
mod identity;
mod input;
mod last_valid;
mod lowering;
pub mod marks;
mod memory;
mod namespace_rule;
mod note;
mod notes;
mod output;
mod place;
mod placed;
mod planner;
mod probe;
mod probing;
mod query;
mod rank;
mod record_tree;
mod references;
mod region_health;
mod resolve;
mod serial;
mod setting;
mod snapshot;
mod status;
mod steered_delivery;
mod tenancy;
mod terms;
mod view;
mod views;
mod wanted_names;
mod zone_state;
mod zone_table;

#[cfg(test)]
mod tests;

pub use actuating::{is_child_annotation, is_child_label, is_own_condition, is_own_metadata};
pub use causes::Cause;
pub use children::{ChildKind, ChildRef};
pub use delivery::{
    ClassHealth, Delivered, DeliveryResult, LookedUp, Sight, Trouble, WantedSet, Written, set_hash,
};
pub use delta::{ChangeKind, Delta, RecordChange};
pub use direction::{Direction, LeaseFact, Move};
pub use explain::{
    Actor, ActorRecord, BackendKind, BackendName, DeliveredSet, Delivery, DeliveryState, Destination,
    Location, NotInForce, ObjectName, RegionHealth, Seen, Story, WayStep, ZoneStory, deciding_names,
};
pub use front::dns_endpoint::{is_child_owner, is_own_child};
pub use front::kuadrant_policy::is_default_policy;
pub use holders::{Holders, Holding, Owner, SavedChange, SavedHolder, Tenure};
pub use input::{Change, ClusterId, FileNote, ObjectRef, SavedSerial};
pub use last_valid::from_last_valid;
pub use lowering::{Abilities, CheckInterval, Checks, Probes, Room};
pub use memory::Memory;
pub use note::{ConditionStatus, Note, Severity};
pub use place::{Place, Scope};
pub use planner::Planner;
pub use probe::{Certificate, ProbeQuestion, ProbeSpec, ProbeTarget, TargetHealth, TargetState};
pub use query::ZoneInfo;
pub use rank::Rank;
pub use region_health::RegionState;
pub use setting::Setting;
pub use tenancy::{GATEWAY_SERVICE_NAMESPACES, Rules};
pub use views::{Signer, ViewInfo};
