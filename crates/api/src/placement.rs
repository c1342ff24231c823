//! The placement family: in which regions an application is and how clients are sent there
//! (document 004).

#[expect(clippy::module_inception, reason = "the family has one kind, and every kind has a file")]
mod placement;
mod region;
mod witness;

pub use placement::{Failback, Placement, PlacementMode, PlacementSpec, Routing};
pub use region::{Location, Region, RegionRef};
pub use status::{HistoryEntry, PlacementLease, PlacementStatus, RegionHealth, RegionStatus};
pub use witness::{EtcdWitness, HttpWitness, KubernetesWitness, Witness};

mod status;
