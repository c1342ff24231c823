//! Changes of the plan while `up` runs, one line each.

use dns::{RecordSet, visible};
use planner::{RecordChange, Scope};

use super::Palette;
use super::numbers::grouped;

/// How many lines one change of the plan may take; more are summed up.
const MOST_LINES: usize = 20;

/// One line for each changed record set, those past the limit as one line.
pub fn lines(changes: &[RecordChange], palette: Palette) -> Vec<String> {
    let mut lines: Vec<String> =
        changes.iter().take(MOST_LINES).map(|change| line(change, palette)).collect();
    let more = changes.len().saturating_sub(MOST_LINES);
    if more > 0 {
        lines.push(palette.faint(&format!("… and {} more", grouped(more as u64))));
    }
    lines
}

fn line(change: &RecordChange, palette: Palette) -> String {
    let (sign, what) = match (&change.before, &change.after) {
        (Some(before), Some(after)) => ('~', moved(before, after)),
        (Some(before), None) => ('-', told(before)),
        (None, Some(after)) => ('+', told(after)),
        (None, None) => (' ', String::new()),
    };
    let place = match &change.scope {
        Scope::Everywhere => String::new(),
        Scope::At(place) => format!(" in {place}"),
    };
    palette.signed(sign, &visible(&format!("{sign} {what}{place}"))) + &palette.faint(&origin(change))
}

pub(super) fn told(set: &RecordSet) -> String {
    format!("{} {} {} {}", set.name, set.ttl, set.rtype, data(set))
}

/// What it was and what it is; the TTL only where that is what moved.
fn moved(before: &RecordSet, after: &RecordSet) -> String {
    let (name, rtype) = (&after.name, after.rtype);
    if before.data == after.data {
        return format!("{name} {} → {} {rtype} {}", before.ttl, after.ttl, data(after));
    }
    format!("{name} {} {rtype} {} → {}", after.ttl, data(before), data(after))
}

fn data(set: &RecordSet) -> String {
    set.data.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn origin(change: &RecordChange) -> String {
    let Some((_, object)) = &change.origin else { return String::new() };
    format!("  ({})", super::object(object))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use dns::{Name, Rdata, Rtype};
    use planner::Place;
    use rstest::rstest;

    fn set(ttl: u32, address: &str) -> RecordSet {
        let name = Name::parse("www.example.org").unwrap();
        RecordSet::new(name, Rtype::A, ttl, vec![Rdata::a(address.parse().unwrap())])
    }

    fn change(before: Option<RecordSet>, after: Option<RecordSet>) -> RecordChange {
        let zone = Name::parse("example.org").unwrap();
        let scope = Scope::At(Place::Region("weu".into()));
        RecordChange { zone, scope, before, after, origin: None }
    }

    #[rstest]
    #[case(None, Some(set(60, "192.0.2.1")), "+ www.example.org. 60 A 192.0.2.1 in weu")]
    #[case(Some(set(60, "192.0.2.1")), None, "- www.example.org. 60 A 192.0.2.1 in weu")]
    #[case(
        Some(set(60, "192.0.2.1")),
        Some(set(30, "192.0.2.2")),
        "~ www.example.org. 30 A 192.0.2.1 → 192.0.2.2 in weu"
    )]
    #[case(
        Some(set(60, "192.0.2.1")),
        Some(set(30, "192.0.2.1")),
        "~ www.example.org. 60 → 30 A 192.0.2.1 in weu"
    )]
    fn a_change_is_one_line(
        #[case] before: Option<RecordSet>,
        #[case] after: Option<RecordSet>,
        #[case] expected: &str,
    ) {
        assert_eq!(lines(&[change(before, after)], Palette::plain()), [expected]);
    }

    #[test]
    fn a_flood_is_summed_up() {
        let flood: Vec<RecordChange> =
            (0..10_000).map(|_| change(None, Some(set(60, "192.0.2.1")))).collect();
        let lines = lines(&flood, Palette::plain());
        assert_eq!(lines.len(), MOST_LINES + 1);
        assert_eq!(lines[MOST_LINES], "… and 9,980 more");
    }
}
