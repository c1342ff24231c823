//! What steers, as directives of a case, and how it is printed:
//!
//! ```text
//! # target: ADDRESS Up|Down|Never|Unknown[ REASON]      what came of its probes; Never: down, and never seen up
//! # direction: NAMESPACE/NAME ACTIVE|-[ HOLDER GENERATION[ TROUBLE]]
//! # abilities: CLASS[ chooses][ places][ connections][ codes][ failures][ cramped] every|steps MILLISECONDS
//! ```

use dns::{ProbeId, RecordSet, Steering};
use planner::{
    Abilities, Certificate, Change, CheckInterval, Checks, ClusterId, Direction, LeaseFact, Planner,
    ProbeQuestion, ProbeSpec, ProbeTarget, Room, TargetHealth, TargetState,
};

use crate::case::reference;

/// When everything happens.
const TIME: i64 = 1_767_225_600;
/// Of a provider that is told of two addresses at most.
const CRAMPED: Room = Room(|set, _| set.data.len() <= 2);
/// Stands for the probes of a target, which are known once it is planned.
const SOME: ProbeId = ProbeId(0);

pub(crate) fn target(rest: &str) -> Change {
    let words: Vec<&str> = rest.splitn(3, ' ').collect();
    let state = match words[1] {
        "Up" => TargetState::Up,
        "Down" | "Never" => TargetState::Down,
        _ => TargetState::Unknown,
    };
    let seen_up = matches!(words[1], "Up" | "Down");
    let reason = format!("{}|{}", words[0], words.get(2).copied().unwrap_or_default());
    Change::Health(SOME, TargetHealth { state, since: TIME, reason: reason.into(), seen_up })
}

/// Puts the probes of a target in its place, as they are planned after the other changes.
pub(crate) fn with_probes(planner: &mut Planner, step: Vec<Change>) -> Vec<Change> {
    let (told, mut changes): (Vec<_>, Vec<_>) =
        step.into_iter().partition(|change| matches!(change, Change::Health(SOME, _)));
    planner.apply(changes.clone());
    for change in told {
        let Change::Health(_, health) = change else { continue };
        let (wanted, reason) = health.reason.split_once('|').unwrap();
        let probes = planner.probes().filter(|(_, spec)| target_text(&spec.target) == wanted);
        let probes: Vec<ProbeId> = probes.map(|(probe, _)| probe).collect();
        assert!(!probes.is_empty(), "nobody probes {wanted}");
        let health = TargetHealth { reason: reason.into(), ..health.clone() };
        changes.extend(probes.into_iter().map(|probe| Change::Health(probe, health.clone())));
    }
    changes
}

pub(crate) fn direction(cluster: ClusterId, rest: &str) -> Change {
    let words: Vec<&str> = rest.splitn(5, ' ').collect();
    let named = |word: Option<&&str>| word.filter(|word| **word != "-").map(|word| (*word).into());
    let lease = words.get(3).map(|generation| LeaseFact {
        holder: named(words.get(2)),
        generation: generation.parse().unwrap(),
        expires: Some(TIME + 30),
    });
    let witness_trouble = words.get(4).map(|trouble| (*trouble).into());
    let direction = Direction { active: named(words.get(1)), lease, witness_trouble, moves: Vec::new() };
    Change::Direction(cluster, reference(&format!("Placement {}", words[0])), direction)
}

pub(crate) fn abilities(rest: &str) -> Change {
    let words: Vec<&str> = rest.split(' ').collect();
    let has = |word: &str| words.contains(&word);
    let interval = words[words.len() - 1].parse().unwrap();
    let checks = Checks {
        orders_connections: has("connections"),
        is_told_codes: has("codes"),
        is_told_failures: has("failures"),
        interval: if has("steps") {
            CheckInterval::StepsOf(interval)
        } else {
            CheckInterval::Fixed(interval)
        },
    };
    let room = if has("cramped") { CRAMPED } else { Room::ENDLESS };
    let abilities = Abilities { chooses: has("chooses"), knows_places: has("places"), checks, room };
    Change::ClassAbilities(words[0].into(), abilities)
}

/// Which part of a set a client gets.
pub(crate) fn steered(set: &RecordSet) -> Option<String> {
    Some(tree(set.steering.as_deref()?, set))
}

fn tree(steering: &Steering, set: &RecordSet) -> String {
    let list = |parts: Vec<String>| parts.join(", ");
    let inner = |choice: &Steering| tree(choice, set);
    match steering {
        Steering::All(members) => {
            let data = |member: &dns::Member| set.data[usize::from(member.data)].to_string();
            format!("all({})", list(members.iter().map(data).collect()))
        }
        Steering::Weighted { sticky, choices } => {
            let choices = choices.iter().map(|(weight, choice)| format!("{weight}: {}", inner(choice)));
            let how = if *sticky { "sticky" } else { "drawn" };
            format!("{how}({})", list(choices.collect()))
        }
        Steering::Geo { choices, default } => {
            let choices = choices.iter().map(|(geo, choice)| format!("{geo}: {}", inner(choice)));
            format!("geo({}, else {})", list(choices.collect()), inner(default))
        }
        Steering::Failover(groups) => format!("first({})", list(groups.iter().map(inner).collect())),
        Steering::Closest(choices) => {
            let at = |at: &dns::Location| match (at.geo, at.coordinates) {
                (_, Some((latitude, longitude))) => format!("{latitude}/{longitude}"),
                (Some(geo), None) => geo.to_string(),
                (None, None) => "anywhere".to_owned(),
            };
            let choices = choices.iter().map(|(place, choice)| format!("{}: {}", at(place), inner(choice)));
            format!("closest({})", list(choices.collect()))
        }
        Steering::Named(name, choice) => format!("{name} {}", inner(choice)),
    }
}

fn target_text(target: &ProbeTarget) -> String {
    match target {
        ProbeTarget::Address(address) => address.to_string(),
        ProbeTarget::Host(name) => name.undotted(),
    }
}

/// The probes, one a line.
pub(crate) fn probes(planner: &Planner) -> String {
    let line = |spec: &ProbeSpec| {
        let ProbeSpec { target, port, question, interval, timeout, failures, successes } = spec;
        let question = match question {
            ProbeQuestion::Connect => "connect".to_owned(),
            ProbeQuestion::Page { tls, host, path, codes } => {
                let scheme = match tls {
                    None => "http",
                    Some(Certificate::Verified) => "https",
                    Some(Certificate::Any) => "https, any certificate,",
                };
                format!("{scheme} {host}{path} for {codes:?}")
            }
        };
        let target = target_text(target);
        format!(
            "probe {target} port {port}: {question}, every {interval} ms, within {timeout} ms, \
             down after {failures}, up after {successes}\n"
        )
    };
    let mut lines: Vec<String> = planner.probes().map(|(_, spec)| line(spec)).collect();
    lines.sort();
    lines.concat()
}
