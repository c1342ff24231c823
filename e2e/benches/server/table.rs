//! What was measured, as tables in Markdown that can be pasted.

use std::fmt::Write;

use crate::echo_server::NAME as FLOOR;
use crate::measure::{Column, Measured, UNSIGNED};
use crate::ours;
use crate::rows::Row;
use crate::statistics::{Estimate, quantile};

/// The columns in their order.
const SERVERS: [&str; 7] = [FLOOR, "ours", "gdnsd", "Knot", "NSD", "PowerDNS", "BIND"];

/// Microseconds per query: medians over the rounds.
pub(crate) fn costs(rows: &[Measured]) -> String {
    let mut text =
        format!("| µs of processor per query | {} |\n|---|{}\n", SERVERS.join(" | "), "---|".repeat(7));
    for row in rows {
        let cell = |name: &&str| {
            row.column(name).map_or("–".to_owned(), |column| format!("{:.2}", median(column)))
        };
        let cells: Vec<String> = SERVERS.iter().map(cell).collect();
        let _ = writeln!(text, "| {} | {} |", row.row.title(), cells.join(" | "));
    }
    text
}

/// Signed answers in terms of unsigned ones.
pub(crate) fn signed(rows: &[Measured]) -> Option<String> {
    let row = rows.iter().find(|row| row.row == Row::Signed)?;
    Some(format!(
        "DNSSEC from the signature cache: {} times the unsigned answer (at most 1.3), {:.2} and {:.2} µs\n",
        interval(row.ratio(ours::NAME, UNSIGNED)?),
        median(row.column(ours::NAME)?),
        median(row.column(UNSIGNED)?)
    ))
}

/// Ours in terms of the others, with intervals.
pub(crate) fn ratios(rows: &[Measured]) -> String {
    let mut text =
        "| ours, times | floor | gdnsd | Knot | answer, octets | verdict |\n|---|---|---|---|---|---|\n"
            .to_owned();
    for row in rows {
        let ratio = |to| row.ratio("ours", to);
        let cell = |to| ratio(to).map_or("–".to_owned(), interval);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} |",
            row.row.title(),
            cell(FLOOR),
            cell("gdnsd"),
            cell("Knot"),
            row.length,
            verdict(row)
        );
    }
    text
}

/// How near to saturated each server was, and how much it answered.
pub(crate) fn loads(rows: &[Measured]) -> String {
    let mut text =
        format!("| busy, thousand answers a second | {} |\n|---|{}\n", SERVERS.join(" | "), "---|".repeat(7));
    for row in rows {
        let load = |column: &Column| format!("{:.0} %, {:.0}", column.busy * 100.0, column.rate / 1e3);
        let cells: Vec<String> =
            SERVERS.iter().map(|name| row.column(name).map_or("–".to_owned(), load)).collect();
        let _ = writeln!(text, "| {} | {} |", row.row.title(), cells.join(" | "));
    }
    text
}

fn median(column: &Column) -> f64 {
    let mut costs = column.costs.clone();
    costs.sort_by(f64::total_cmp);
    quantile(&costs, 0.5)
}

/// A ratio with its interval.
pub(crate) fn interval(estimate: Estimate) -> String {
    format!("{:.2} ({:.2}–{:.2})", estimate.median, estimate.low, estimate.high)
}

/// Whether the row keeps its bar: signed answers beside unsigned ones, all others beside floor and gdnsd.
fn verdict(row: &Measured) -> &'static str {
    let holds =
        |to, most: f64| row.ratio(ours::NAME, to).is_none_or(|estimate: Estimate| estimate.median <= most);
    match (row.row, holds(UNSIGNED, 1.3), holds(FLOOR, 1.10), holds("gdnsd", 1.0)) {
        (Row::Signed, false, ..) => "**above 1.3 times unsigned**",
        (Row::Signed, true, ..) | (_, _, true, true) => "holds",
        (_, _, true, false) => "**above gdnsd**",
        (_, _, false, true) => "**above 1.10 times the floor**",
        (_, _, false, false) => "**above both**",
    }
}
