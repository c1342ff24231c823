//! The serials that a start goes on from.

use std::collections::BTreeMap;

use dns::{Name, Rdata};
use planner::{Change, SavedSerial};
use server::Zones;

/// The highest serial of every zone that was served before this start.
pub(super) fn served(views: &BTreeMap<String, Zones>) -> BTreeMap<Name, u32> {
    let mut served = BTreeMap::new();
    for zones in views.values() {
        for zone in zones.origins().filter_map(|origin| zones.zone(origin)) {
            let soa = zone.soa().and_then(|set| set.data.first()).and_then(Rdata::as_soa);
            let Some(soa) = soa else { continue };
            let highest = served.entry(zone.origin().clone()).or_insert(soa.serial);
            if is_newer(soa.serial, *highest) {
                *highest = soa.serial;
            }
        }
    }
    served
}

/// The serials as they were saved, never behind one that was served: a saved file that was lost, or is older
/// than the zones, must not move a serial back.
pub(super) fn changes(
    mut saved: BTreeMap<Name, SavedSerial>,
    served: &BTreeMap<Name, u32>,
) -> impl Iterator<Item = Change> {
    for (zone, serial) in served {
        let is_behind = saved.get(zone).is_none_or(|saved| is_newer(*serial, saved.serial));
        if is_behind {
            // The hash is of no content, so the serial moves with the first plan.
            saved.insert(zone.clone(), SavedSerial { serial: *serial, hash: 0 });
        }
    }
    saved.into_iter().map(|(name, saved)| Change::Serial(name, saved))
}

/// Whether a serial comes after another one (RFC 1982, section 3.2).
fn is_newer(serial: u32, other: u32) -> bool {
    serial != other && serial.wrapping_sub(other) < 1 << 31
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn moved(saved: Option<u32>, served: Option<u32>) -> Option<(u32, u64)> {
        let name = Name::parse("example.org").unwrap();
        let saved = saved.map(|serial| (name.clone(), SavedSerial { serial, hash: 7 })).into_iter().collect();
        let served = served.map(|serial| (name.clone(), serial)).into_iter().collect();
        let mut changes = changes(saved, &served);
        match changes.next() {
            Some(Change::Serial(_, saved)) => Some((saved.serial, saved.hash)),
            _ => None,
        }
    }

    #[test]
    fn a_serial_is_never_behind_one_that_was_served() {
        assert_eq!(moved(Some(5), None), Some((5, 7)));
        assert_eq!(moved(Some(5), Some(5)), Some((5, 7)), "nothing was lost");
        assert_eq!(moved(Some(6), Some(5)), Some((6, 7)), "the zones are written later");
        assert_eq!(moved(Some(4), Some(5)), Some((5, 0)));
        assert_eq!(moved(None, Some(5)), Some((5, 0)));
        assert_eq!(moved(Some(u32::MAX), Some(1)), Some((1, 0)), "a serial wraps");
        assert_eq!(moved(None, None), None);
    }
}
