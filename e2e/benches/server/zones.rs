//! The zones of the rows as zone files.

use std::fmt::Write;

use crate::rows::{NAMES, Row, STEERED, STEERED_TTL, TTL, address, label};

/// The zones with steered names.
pub(crate) const STEERED_ROWS: [Row; 3] = [Row::Weighted, Row::Geo, Row::Failover];

/// The beginning of every zone: SOA, NS and the name server's address.
fn apex(zone: &str) -> String {
    format!(
        "$TTL {TTL}\n$ORIGIN {zone}.\n@ SOA ns.{zone}. admin.{zone}. 1 7200 3600 1209600 {TTL}\n\
         @ NS ns.{zone}.\nns A 192.0.2.53\n"
    )
}

/// The zone of a row with so many names of one address each.
pub(crate) fn plain(row: Row, names: usize) -> String {
    let mut text = apex(row.zone());
    for number in 0..names {
        let _ = writeln!(text, "{} A {}", label(number), address(0, number));
    }
    text
}

/// The static zone of the table.
pub(crate) fn fixed() -> String {
    plain(Row::Static, NAMES)
}

/// A zone of steered names, with what each has in the server's own words.
pub(crate) fn steered(row: Row, data: impl Fn(usize) -> String) -> String {
    let mut text = apex(row.zone());
    for number in 0..STEERED {
        let _ = writeln!(text, "{} {STEERED_TTL} {}", label(number), data(number));
    }
    text
}
