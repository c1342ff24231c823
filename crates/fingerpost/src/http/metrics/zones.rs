//! Serials and signatures of zones. However many zones there are, the list of them stays short.

use dns::{RecordSet, Rtype};
use planner::ZoneInfo;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use server::ViewTable;
use server::dnssec::signed_sets;

use crate::instance::now;

/// The most zones that are listed one by one.
const MOST: usize = 1000;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ZoneLabels {
    zone: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ServedLabels {
    view: String,
    zone: String,
}

pub(super) fn add(registry: &mut Registry, zones: &[ZoneInfo], table: &ViewTable) {
    let serials = Family::<ZoneLabels, Gauge>::default();
    for zone in zones.iter().filter(|zone| zone.soa.is_some()).take(MOST) {
        serials.get_or_create(&ZoneLabels { zone: zone.origin.to_string() }).set(zone.serial.into());
    }
    registry.register("zone_serial", "The serial of a zone, of at most 1,000 zones", serials);
    let (ages, left) = signatures(table);
    registry.register(
        "zone_signature_age_seconds",
        "How old a zone's signatures are, of at most 1,000",
        ages,
    );
    let help = "For how long a zone's signatures are valid, of at most 1,000";
    registry.register("zone_signature_valid_seconds", help, left);
}

/// The age of signatures and how long they are valid, by the one over the SOA; all of a zone are made like it.
fn signatures(table: &ViewTable) -> (Family<ServedLabels, Gauge>, Family<ServedLabels, Gauge>) {
    let (ages, left) = (Family::<ServedLabels, Gauge>::default(), Family::<ServedLabels, Gauge>::default());
    let now = now();
    let zones = table.views.iter().flat_map(|(view, zones)| {
        let signed =
            zones.origins().filter_map(|origin| zones.zone(origin)).filter(|zone| zone.signing().is_some());
        signed.map(move |zone| (view, zone))
    });
    for (view, zone) in zones.take(MOST) {
        let Some(mut sets) = signed_sets(zone, now as u32) else { continue };
        let (Some(soa), Some((inception, expiration))) =
            (sets.next(), sets.next().as_ref().and_then(validity))
        else {
            continue;
        };
        let labels = ServedLabels { view: view.clone(), zone: soa.name.to_string() };
        ages.get_or_create(&labels).set(between(inception, now as u32));
        left.get_or_create(&labels).set(between(now as u32, expiration));
    }
    (ages, left)
}

/// From when until when the first signature of a set is valid (RFC 4034 section 3.1).
fn validity(set: &RecordSet) -> Option<(u32, u32)> {
    let wire = set.data.first().filter(|_| set.rtype == Rtype::RRSIG)?.wire();
    let number = |at: usize| Some(u32::from_be_bytes(wire.get(at..at + 4)?.try_into().ok()?));
    Some((number(12)?, number(8)?))
}

/// The seconds from one moment to another, in serial number arithmetic.
fn between(from: u32, to: u32) -> i64 {
    i64::from(to.wrapping_sub(from).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_compared_past_2106() {
        assert_eq!(between(10, 25), 15);
        assert_eq!(between(25, 10), -15);
        assert_eq!(between(u32::MAX, 4), 5);
    }
}
