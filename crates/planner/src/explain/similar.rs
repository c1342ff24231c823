//! "Did you mean": known names that differ from one by a few letters. The search looks at a bounded number of
//! names, so that it costs the same however large a zone is.

use dns::Name;

use crate::planner::Planner;

/// How many names are looked at.
const MOST_COMPARED: usize = 100_000;
/// How many names are given.
const MOST_GIVEN: usize = 3;

impl Planner {
    /// Known names that differ from a name by a few letters, the most similar first.
    pub(super) fn similar(&self, name: &Name) -> Vec<Name> {
        let text = name.to_string();
        let mut found: Vec<(usize, Name)> = Vec::new();
        for known in self.known_near(name).take(MOST_COMPARED) {
            let limit = limit(name, &known);
            if let Some(edits) = edits(text.as_bytes(), known.to_string().as_bytes(), limit)
                && edits > 0
            {
                found.push((edits, known));
            }
        }
        found.sort();
        found.dedup();
        found.into_iter().map(|(_, known)| known).take(MOST_GIVEN).collect()
    }

    /// The names that are worth comparing: those of the zone that holds the name, its siblings first; where no zone
    /// holds it, the origins and the name below each origin that is similar to a suffix of it.
    fn known_near<'a>(&'a self, name: &'a Name) -> Box<dyn Iterator<Item = Name> + 'a> {
        let Some(holder) = name.suffix_keys().find_map(|key| self.table.holder_by_key(key)) else {
            return Box::new(self.zones.iter().filter_map(|zone| self.below_origin(name, &zone.origin)));
        };
        let zone = self.zone_state(&holder.zone.origin);
        let nodes = move |below: Name| {
            let known = zone.into_iter().flat_map(move |zone| {
                let end = below.clone();
                zone.nodes.range(below.clone()..).take_while(move |(known, _)| known.is_in(&end))
            });
            known.filter(|(_, node)| !node.sets.is_empty()).map(|(known, _)| known.clone())
        };
        let siblings = name.parent().filter(|parent| parent.is_in(&holder.zone.origin));
        let siblings = siblings.into_iter().flat_map(move |parent| nodes(parent).take(MOST_COMPARED / 2));
        let in_file = holder.base.iter().flat_map(|base| base.nodes().map(|node| node.name()));
        Box::new(siblings.chain(nodes(holder.zone.origin.clone())).take(MOST_COMPARED / 2).chain(in_file))
    }

    /// A name moved below an origin that is similar to its own suffix, where that name exists; else the origin.
    fn below_origin(&self, name: &Name, origin: &Name) -> Option<Name> {
        let suffix = name.suffixes().find(|suffix| suffix.labels().count() == origin.labels().count())?;
        let limit = limit(&suffix, origin);
        edits(suffix.to_string().as_bytes(), origin.to_string().as_bytes(), limit)?;
        let moved = name.rebase(&suffix, origin)?;
        let is_known = !self.sets(origin, &moved).is_empty()
            || self.zone(origin)?.base.is_some_and(|base| !base.sets_at(moved.key()).is_empty());
        Some(if is_known { moved } else { origin.clone() })
    }
}

/// How many edits two names may differ by: fewer for short labels, where every name is similar to every other.
fn limit(name: &Name, known: &Name) -> usize {
    let shared = name.suffixes().take_while(|suffix| !suffix.is_root());
    let shared = shared.filter(|suffix| known.is_in(suffix)).map(|suffix| suffix.to_string().len()).max();
    match name.to_string().len().saturating_sub(shared.unwrap_or_default()) {
        0..=5 => 1,
        6..=11 => 2,
        _ => 3,
    }
}

/// How many letters have to be inserted, removed, changed or swapped with the next to turn one text into the other;
/// nothing where there are more than `limit`.
fn edits(one: &[u8], other: &[u8], limit: usize) -> Option<usize> {
    if one.len().abs_diff(other.len()) > limit {
        return None;
    }
    let (mut before_last, mut last): (Vec<usize>, Vec<usize>) = (Vec::new(), (0..=other.len()).collect());
    for (row, letter) in one.iter().enumerate() {
        let mut now = vec![row + 1];
        for (column, against) in other.iter().enumerate() {
            let change = last[column] + usize::from(letter != against);
            let mut least = change.min(last[column + 1] + 1).min(now[column] + 1);
            let is_swapped =
                row > 0 && column > 0 && *letter == other[column - 1] && one[row - 1] == *against;
            if is_swapped {
                least = least.min(before_last[column - 1] + 1);
            }
            now.push(least);
        }
        if now.iter().min().is_none_or(|least| *least > limit) {
            return None;
        }
        (before_last, last) = (last, now);
    }
    last.last().copied().filter(|edits| *edits <= limit)
}

#[cfg(test)]
mod tests {
    use super::edits;

    #[test]
    fn edits_are_counted_up_to_a_limit() {
        let count = |one: &str, other: &str| edits(one.as_bytes(), other.as_bytes(), 2);
        assert_eq!(count("www", "www"), Some(0));
        assert_eq!(count("wwww", "www"), Some(1));
        assert_eq!(count("form", "from"), Some(1), "two letters are swapped");
        assert_eq!(count("shop", "chat"), None);
        assert_eq!(count("a", "abcd"), None);
    }
}
