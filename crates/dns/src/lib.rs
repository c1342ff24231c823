//! The vocabulary of Fingerpost: names, record data, record sets, steering and zone files.
//!
//! Nothing in here does IO or reads a clock.

mod content_hash;
mod continents;
mod name;
mod packed_zone;
mod pattern;
mod rdata;
mod record_set;
mod reserved;
mod rtype;
mod steering;
mod token;
mod ttl;
mod visible;
mod zone_file;

pub use content_hash::{entry_hash, stable_hash, steering_hash};
pub use continents::continent_of;
pub use name::{MAX_LABEL, MAX_WIRE, Name, NameError, parent_key};
pub use packed_zone::{PackedNode, PackedSet, PackedZone, PackedZoneError};
pub use pattern::{Pattern, PatternError};
pub use rdata::{Ambiguity, Rdata, RdataError, Soa};
pub use record_set::RecordSet;
pub use reserved::{OWNERSHIP_LABEL, Reserved, reserved_data, reserved_name};
pub use rtype::{Rtype, RtypeError, TypeRefusal};
pub use steering::{Geo, GeoError, Location, Member, ProbeId, Steering};
pub use ttl::{MAX_TTL, parse_seconds};
pub use visible::{value_without_password, visible, without_passwords};
pub use zone_file::{
    Include, Included, ReadZone, Remark, ZoneFileError, ZoneForm, ZoneReader, origin_of_path, read_zone,
    write_zone,
};
