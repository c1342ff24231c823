//! How long keys wait, from the TTLs that a zone has.

use std::sync::Arc;

use server::Zone;
use server::dnssec::{ClockReading, KeyState, Role, Timing, ZoneKeys};

/// The waiting times of a zone's keys, given the zone as each view has it.
///
/// The zone is gone through only where its longest TTL decides something. A TTL that was shortened
/// a moment ago may still be in caches, so the usual day is the least.
pub(crate) fn of(keys: &ZoneKeys, zones: &[&Arc<Zone>]) -> Timing {
    let usual = Timing::default();
    let longest = if has_retired(keys) { zones.iter().map(|zone| longest_ttl(zone)).max() } else { None };
    Timing { zone_ttl: usual.zone_ttl.max(longest.unwrap_or(0)), ..usual }
}

/// Whether a step falls due; whoever waits for less than the least possible time is not asked for
/// more.
pub(super) fn is_due(keys: &ZoneKeys, zones: &[&Arc<Zone>], clock: ClockReading) -> bool {
    keys.is_due(Timing::default(), clock) && keys.is_due(of(keys, zones), clock)
}

fn has_retired(keys: &ZoneKeys) -> bool {
    keys.keys().iter().any(|key| key.key.role() == Role::ZoneSigning && key.state == KeyState::Retired)
}

fn longest_ttl(zone: &Zone) -> u64 {
    zone.sets().map(|set| u64::from(set.ttl)).max().unwrap_or(0)
}
