//! The vocabulary of Fingerpost: names, record data, record sets and zone files.
//!
//! Nothing in here does IO or reads a clock.

mod name;
mod rdata;
mod record_set;
mod rtype;

pub use name::{MAX_LABEL, MAX_WIRE, Name, NameError, parent_key};
pub use rdata::{Rdata, RdataError};
pub use record_set::RecordSet;
pub use rtype::{Rtype, RtypeError};
