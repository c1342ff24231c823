//! Any octets as a compiled zone on disk: it is refused, or it is exactly what would be written.

#![no_main]

use dns::PackedZone;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|octets: &[u8]| {
    let Ok(zone) = PackedZone::from_bytes(octets) else { return };
    assert_eq!(zone.to_bytes(), octets);
    let packed = PackedZone::from_sets(zone.origin().clone(), zone.iter()).expect("its sets are a zone");
    assert_eq!(packed, zone);
});
