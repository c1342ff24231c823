//! The kubizone family: zones, the records in them, and who may add which (document 003).

mod record;
mod zone;

pub use record::{Record, RecordSpec, RecordStatus};
pub use zone::{Delegation, RecordDelegation, Zone, ZoneEntry, ZoneRef, ZoneSpec, ZoneStatus};
