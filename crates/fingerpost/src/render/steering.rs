//! The steering of record sets in words: the whole of it, and what differs between two.
//!
//! ```text
//! by weight: 90 blue (192.0.2.1), 10 green (192.0.2.2)
//! weight of blue: 90 → 50
//! ```
//!
//! Two steerings that differ always differ in words: a change of traffic that is not printed would not be reviewed.

use std::collections::{BTreeMap, BTreeSet};

use planner::document::{DocumentCheck, DocumentRule, DocumentSteering, DocumentTarget};

/// What stands for a steering, a weight or a health check that is not there.
const NONE: &str = "none";

/// One thing that a steering says: what of which choice, and its value.
type Facts = Vec<((Vec<String>, &'static str), String)>;
/// The health check of each target, by choice and data.
type Checks<'a> = Vec<((Vec<String>, String), Option<&'a DocumentCheck>)>;

/// A steering in lines: how it chooses, and what it checks.
pub fn lines(steering: Option<&DocumentSteering>) -> Vec<String> {
    let Some(steering) = steering else { return Vec::new() };
    let mut checked: BTreeMap<Option<String>, BTreeSet<String>> = BTreeMap::new();
    let checks = checks(steering);
    for ((_, data), check) in &checks {
        checked.entry(check.map(|check| check_text(check, data))).or_default().insert(data.clone());
    }
    let whole = checked.len() == 1;
    let line = |(check, targets): (Option<String>, BTreeSet<String>)| match check {
        None if whole => None,
        check => Some(check_line(&targets, whole, check.as_deref().unwrap_or(NONE))),
    };
    let checks = checked.into_iter().filter_map(line);
    std::iter::once(format!("steering: {}", whole_text(Some(steering)))).chain(checks).collect()
}

/// What differs between two steerings, one line each; none where they are equal.
pub fn differences(before: Option<&DocumentSteering>, after: Option<&DocumentSteering>) -> Vec<String> {
    if before == after {
        return Vec::new();
    }
    let mut lines = match (before, after) {
        (Some(old), Some(new)) if is_alike(old, new) => facts_that_differ(&facts(old), &facts(new)),
        _ => vec![format!("steering: {} → {}", whole_text(before), whole_text(after))],
    };
    let (old, new) = (before.map(checks).unwrap_or_default(), after.map(checks).unwrap_or_default());
    lines.extend(checks_that_differ(&old, &new));
    lines
}

/// Whether two steerings choose in the same way, so that their choices can be compared one by one.
fn is_alike(one: &DocumentSteering, other: &DocumentSteering) -> bool {
    std::mem::discriminant(&one.rule) == std::mem::discriminant(&other.rule)
}

fn facts_that_differ(before: &Facts, after: &Facts) -> Vec<String> {
    let gone = before.iter().filter(|(key, _)| !after.iter().any(|(own, _)| own == key));
    let keys = after.iter().chain(gone).map(|(key, _)| key);
    let line = |key: &(Vec<String>, &'static str)| {
        let (old, new) = (value_of(before, key), value_of(after, key));
        let text = |value: Option<String>| value.unwrap_or_else(|| NONE.to_owned());
        (old != new).then(|| format!("{}: {} → {}", of(key.1, &key.0), text(old), text(new)))
    };
    keys.filter_map(line).collect()
}

fn value_of(facts: &Facts, key: &(Vec<String>, &'static str)) -> Option<String> {
    facts.iter().find(|(own, _)| own == key).map(|(_, value)| value.clone())
}

fn of(what: &str, path: &[String]) -> String {
    if path.is_empty() { what.to_owned() } else { format!("{what} of {}", path.join(" / ")) }
}

/// All that a steering says but its health checks.
fn facts(steering: &DocumentSteering) -> Facts {
    let mut facts = Facts::new();
    let name = steering.name.iter().map(|name| ((Vec::new(), "choice"), name.clone()));
    facts.extend(name);
    collect(steering, &[], &mut facts);
    facts
}

fn collect(steering: &DocumentSteering, path: &[String], facts: &mut Facts) {
    let own = [
        ("weight", steering.weight.map(|weight| weight.to_string())),
        ("place", steering.place.clone()),
        ("coordinates", steering.coordinates.clone()),
    ];
    facts.extend(own.into_iter().filter_map(|(what, value)| Some(((path.to_vec(), what), value?))));
    let inner = choices(&steering.rule);
    let labels: Vec<&str> = inner.iter().map(|(label, _)| label.as_str()).collect();
    let how = match &steering.rule {
        DocumentRule::All { targets } => ("targets", targets_text(targets)),
        rule => (how_text(rule), format!("{}: {}", rule_text(rule), labels.join(", "))),
    };
    facts.push(((path.to_vec(), how.0), how.1));
    for (label, choice) in inner {
        collect(choice, &[path, &[label]].concat(), facts);
    }
}

/// What the list of a rule's choices is called.
fn how_text(rule: &DocumentRule) -> &'static str {
    match rule {
        DocumentRule::All { .. } => "targets",
        DocumentRule::Order { .. } => "order",
        DocumentRule::Weight { .. } | DocumentRule::Place { .. } | DocumentRule::Distance { .. } => "choices",
    }
}

fn rule_text(rule: &DocumentRule) -> &'static str {
    match rule {
        DocumentRule::All { .. } => "all",
        DocumentRule::Weight { sticky: false, .. } => "by weight",
        DocumentRule::Weight { sticky: true, .. } => "by weight, the same for one client network",
        DocumentRule::Place { .. } => "by place",
        DocumentRule::Order { .. } => "the first that is up",
        DocumentRule::Distance { .. } => "the nearest that is up",
    }
}

/// The choices of a rule, with what they are called; every label is another.
fn choices(rule: &DocumentRule) -> Vec<(String, &DocumentSteering)> {
    let (all, default): (&[DocumentSteering], _) = match rule {
        DocumentRule::All { .. } => (&[], None),
        DocumentRule::Place { choices, default } => (choices, Some(("other clients", &**default))),
        DocumentRule::Weight { choices, .. }
        | DocumentRule::Order { choices }
        | DocumentRule::Distance { choices } => (choices, None),
    };
    let by_place = matches!(rule, DocumentRule::Place { .. });
    let named =
        all.iter().map(|choice| (label(choice, choice.place.as_deref().filter(|_| by_place)), choice));
    let default = default.map(|(text, choice)| (label(choice, Some(text)), choice));
    let mut uses: BTreeMap<String, usize> = BTreeMap::new();
    let unique = |(label, choice): (String, _)| {
        let uses = uses.entry(label.clone()).or_default();
        *uses += 1;
        (if *uses == 1 { label } else { format!("{label} (number {uses})") }, choice)
    };
    named.chain(default).map(unique).collect()
}

fn label(choice: &DocumentSteering, place: Option<&str>) -> String {
    match (place, &choice.name) {
        (Some(place), Some(name)) => format!("{place} → {name}"),
        (Some(place), None) => place.to_owned(),
        (None, Some(name)) => name.clone(),
        (None, None) => targets_of(choice).unwrap_or_else(|| "choice".to_owned()),
    }
}

/// What a choice without a name is called: its targets.
fn targets_of(choice: &DocumentSteering) -> Option<String> {
    match &choice.rule {
        DocumentRule::All { targets } => Some(targets_text(targets)),
        _ => None,
    }
}

fn targets_text(targets: &[DocumentTarget]) -> String {
    match targets {
        [] => NONE.to_owned(),
        targets => targets.iter().map(|target| target.data.clone()).collect::<Vec<_>>().join(", "),
    }
}

/// A whole steering in one line, without its health checks.
fn whole_text(steering: Option<&DocumentSteering>) -> String {
    let Some(steering) = steering else { return NONE.to_owned() };
    let rule = match &steering.rule {
        DocumentRule::All { targets } => targets_text(targets),
        rule => {
            let parts = choices(rule).into_iter().map(|(label, choice)| choice_text(&label, choice));
            format!("{}: {}", rule_text(rule), parts.collect::<Vec<_>>().join(", "))
        }
    };
    steering.name.as_ref().map_or_else(|| rule.clone(), |name| format!("{name} ({rule})"))
}

fn choice_text(label: &str, choice: &DocumentSteering) -> String {
    let inner = whole_text(Some(&DocumentSteering { name: None, ..choice.clone() }));
    let weight = choice.weight.map(|weight| format!("{weight} ")).unwrap_or_default();
    let place = choice.place.iter().filter(|place| !label.starts_with(place.as_str()));
    let at: Vec<String> = place.chain(&choice.coordinates).cloned().collect();
    let at = if at.is_empty() { String::new() } else { format!(" at {}", at.join(" ")) };
    match label == inner {
        true => format!("{weight}{label}{at}"),
        false => format!("{weight}{label}{at} ({inner})"),
    }
}

/// The health checks of all targets.
fn checks(steering: &DocumentSteering) -> Checks<'_> {
    let mut all = Checks::new();
    collect_checks(steering, &[], &mut all);
    all
}

fn collect_checks<'a>(steering: &'a DocumentSteering, path: &[String], all: &mut Checks<'a>) {
    if let DocumentRule::All { targets } = &steering.rule {
        let checked =
            |target: &'a DocumentTarget| ((path.to_vec(), target.data.clone()), target.health_check.as_ref());
        all.extend(targets.iter().map(checked));
    }
    for (label, choice) in choices(&steering.rule) {
        collect_checks(choice, &[path, &[label]].concat(), all);
    }
}

/// One line for each change of a check, with the targets that it is about. A target that is new has its check in a line,
/// one that is gone has none.
fn checks_that_differ(before: &Checks<'_>, after: &Checks<'_>) -> Vec<String> {
    let earlier = |key: &(Vec<String>, String)| {
        let same = before.iter().find(|(own, _)| own == key);
        // A target that moved to another choice is the same target.
        same.or_else(|| before.iter().find(|((_, data), _)| *data == key.1)).map(|(_, check)| *check)
    };
    let mut changes: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (key, new) in after {
        let change = match earlier(key) {
            Some(old) if old == *new => continue,
            Some(old) => change_text(old, *new, &key.1),
            None if new.is_none() && before.iter().all(|(_, check)| check.is_none()) => continue,
            None => new.map_or_else(|| NONE.to_owned(), |check| check_text(check, &key.1)),
        };
        changes.entry(change).or_default().insert(key.1.clone());
    }
    let targets: BTreeSet<&String> = after.iter().map(|((_, data), _)| data).collect();
    let line = |(change, about): (String, BTreeSet<String>)| {
        check_line(&about, about.len() == targets.len(), &change)
    };
    changes.into_iter().map(line).collect()
}

fn check_line(targets: &BTreeSet<String>, whole: bool, text: &str) -> String {
    match whole {
        true => format!("health check: {text}"),
        false => {
            let targets: Vec<&str> = targets.iter().map(String::as_str).collect();
            format!("health check of {}: {text}", targets.join(", "))
        }
    }
}

fn change_text(old: Option<&DocumentCheck>, new: Option<&DocumentCheck>, data: &str) -> String {
    let whole = |check: Option<&DocumentCheck>| {
        check.map_or_else(|| NONE.to_owned(), |check| check_text(check, data))
    };
    let (Some(old), Some(new)) = (old, new) else { return format!("{} → {}", whole(old), whole(new)) };
    let differ = fields(old, data).into_iter().zip(fields(new, data)).filter(|(old, new)| old != new);
    let parts = differ.map(|((what, old), (_, new))| format!("{what} {old} → {new}"));
    parts.collect::<Vec<_>>().join(", ")
}

/// A health check in one line.
fn check_text(check: &DocumentCheck, data: &str) -> String {
    let parts = fields(check, data).into_iter().filter(|(_, value)| value != NONE);
    parts.map(|(what, value)| format!("{what} {value}")).collect::<Vec<_>>().join(", ")
}

/// What a health check says, always in this order. Its target is the data itself, where nothing else is said.
fn fields(check: &DocumentCheck, data: &str) -> Vec<(&'static str, String)> {
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| NONE.to_owned());
    let target = if check.target == data { NONE.to_owned() } else { check.target.clone() };
    let codes = match &check.expected_codes[..] {
        [] => NONE.to_owned(),
        codes => codes.join(" "),
    };
    vec![
        ("protocol", check.protocol.clone()),
        ("target", target),
        ("port", check.port.to_string()),
        ("host", text(&check.host)),
        ("path", text(&check.path)),
        ("expectedCodes", codes),
        ("interval", check.interval.clone()),
        ("timeout", check.timeout.clone()),
        ("failures", check.failures.to_string()),
        ("successes", check.successes.to_string()),
        ("insecureSkipVerify", if check.insecure_skip_verify { "true".to_owned() } else { NONE.to_owned() }),
    ]
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use proptest::collection::{btree_map, vec};
    use proptest::option;
    use proptest::prelude::*;

    use super::*;

    fn check() -> impl Strategy<Value = DocumentCheck> {
        (0u16..3, "TCP|HTTPS", 0u8..2, 0u32..2, any::<bool>()).prop_map(
            |(port, protocol, path, failures, insecure_skip_verify)| DocumentCheck {
                protocol,
                target: "192.0.2.1".to_owned(),
                port,
                host: None,
                path: (path > 0).then(|| "/healthz".to_owned()),
                expected_codes: Vec::new(),
                interval: "5s".to_owned(),
                timeout: "2s".to_owned(),
                failures,
                successes: 2,
                insecure_skip_verify,
            },
        )
    }

    fn leaf() -> impl Strategy<Value = DocumentRule> {
        btree_map("192\\.0\\.2\\.[1-3]", option::of(check()), 1..3).prop_map(|targets| DocumentRule::All {
            targets: targets
                .into_iter()
                .map(|(data, health_check)| DocumentTarget { data, health_check })
                .collect(),
        })
    }

    fn bare(name: Option<String>, rule: DocumentRule) -> DocumentSteering {
        DocumentSteering { name, weight: None, place: None, coordinates: None, rule }
    }

    /// Trees as the planner makes them: what has a weight is in a choice by weight, and so on.
    fn steering() -> impl Strategy<Value = DocumentSteering> {
        let name = || option::of("[a-c]");
        let leaf = (name(), leaf()).prop_map(|(name, rule)| bare(name, rule));
        leaf.prop_recursive(2, 8, 3, move |inner| {
            let weighted = (inner.clone(), 0u32..3)
                .prop_map(|(one, weight)| DocumentSteering { weight: Some(weight), ..one });
            let placed = (inner.clone(), "IE|GEO-EU|US")
                .prop_map(|(one, place)| DocumentSteering { place: Some(place), ..one });
            let located = (inner.clone(), option::of("NL|US"), option::of("1,2|1,3"))
                .prop_map(|(one, place, coordinates)| DocumentSteering { place, coordinates, ..one });
            let rule = prop_oneof![
                (any::<bool>(), vec(weighted, 1..3))
                    .prop_map(|(sticky, choices)| DocumentRule::Weight { sticky, choices }),
                (vec(placed, 1..3), inner.clone()).prop_map(|(choices, default)| DocumentRule::Place {
                    choices,
                    default: Box::new(default)
                }),
                vec(inner, 1..3).prop_map(|choices| DocumentRule::Order { choices }),
                vec(located, 1..3).prop_map(|choices| DocumentRule::Distance { choices }),
            ];
            (option::of("[a-c]"), rule).prop_map(|(name, rule)| bare(name, rule))
        })
    }

    proptest! {
        /// Promise 38: every change of what a client may get is shown.
        #[test]
        fn steerings_that_differ_differ_in_words(
            before in option::of(steering()),
            after in option::of(steering()),
        ) {
            let lines = differences(before.as_ref(), after.as_ref());
            prop_assert_eq!(lines.is_empty(), before == after, "{:?}", lines);
        }

        /// The same for trees that are nearly equal: of two with one choice replaced.
        #[test]
        fn a_small_change_is_shown(
            choices in vec(steering(), 1..4),
            other in steering(),
            at in any::<prop::sample::Index>(),
        ) {
            let mut changed = choices.clone();
            *at.get_mut(&mut changed) = other;
            let [before, after] = [choices, changed].map(|choices| bare(None, DocumentRule::Order { choices }));
            let lines = differences(Some(&before), Some(&after));
            prop_assert_eq!(lines.is_empty(), before == after, "{:?}", lines);
        }
    }
}
