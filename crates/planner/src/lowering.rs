//! Lowering: what of a steering a provider is given that cannot do all of it by itself.
//!
//! ```text
//! steering ─ expressed as it is, probes and all ─────────────► the provider steers and probes
//!     └─ pruned to what is alive ─ expressed without probes ─► the provider steers, we probe
//!            └─ flattened ───────────────────────────────────► a plain set of its members
//! ```
//!
//! Pure: what is alive comes in. A lowered set is never empty.

mod abilities;
mod expressing;
mod nearness;
#[cfg(test)]
mod tests;

use dns::{Member, Steering};

pub use abilities::{Abilities, CheckInterval, Checks, Probes, Room};
pub(crate) use expressing::expresses;
pub(crate) use nearness::by_places;

/// The tree with what is alive, and without probes; `None` where nothing is.
pub(crate) fn pruned(steering: &Steering, is_alive: &dyn Fn(Member) -> bool) -> Option<Steering> {
    let inner = |choice: &Steering| pruned(choice, is_alive);
    match steering {
        Steering::All(members) => {
            let alive = members.iter().filter(|member| is_alive(**member));
            let alive: Vec<Member> = alive.map(|member| Member { probe: None, ..*member }).collect();
            (!alive.is_empty()).then_some(Steering::All(alive))
        }
        Steering::Weighted { sticky, choices } => weighted(*sticky, choices, &inner),
        Steering::Geo { choices, default } => {
            let choices: Vec<_> =
                choices.iter().filter_map(|(geo, choice)| Some((*geo, inner(choice)?))).collect();
            let default = inner(default).or_else(|| everything(choices.iter().map(|(_, choice)| choice)))?;
            Some(Steering::Geo { choices, default: Box::new(default) })
        }
        Steering::Failover(groups) => groups.iter().find_map(inner),
        Steering::Closest(choices) => {
            let alive: Vec<_> =
                choices.iter().filter_map(|(at, choice)| Some((*at, inner(choice)?))).collect();
            (!alive.is_empty()).then_some(Steering::Closest(alive))
        }
        Steering::Named(name, choice) => Some(Steering::Named(name.clone(), Box::new(inner(choice)?))),
    }
}

/// The live choices; drained ones only where all else is down.
fn weighted(
    sticky: bool,
    choices: &[(u32, Steering)],
    inner: &dyn Fn(&Steering) -> Option<Steering>,
) -> Option<Steering> {
    let mut alive: Vec<_> =
        choices.iter().filter_map(|(weight, choice)| Some((*weight, inner(choice)?))).collect();
    if alive.iter().any(|(weight, _)| *weight > 0) {
        alive.retain(|(weight, _)| *weight > 0);
    } else {
        alive.iter_mut().for_each(|(weight, _)| *weight = 1);
    }
    (!alive.is_empty()).then_some(Steering::Weighted { sticky, choices: alive })
}

/// All choices as one: a draw among all where each is a draw.
fn everything<'a>(choices: impl Iterator<Item = &'a Steering> + Clone) -> Option<Steering> {
    let draws = choices.clone().map(|choice| match choice {
        Steering::Weighted { sticky, choices } => Some((*sticky, choices)),
        _ => None,
    });
    if let Some(draws) = draws.collect::<Option<Vec<_>>>()
        && let Some((sticky, _)) = draws.first()
    {
        let choices = draws.iter().flat_map(|(_, choices)| choices.iter().cloned()).collect();
        return Some(Steering::Weighted { sticky: *sticky, choices });
    }
    let members: Vec<Member> = choices.flat_map(Steering::members).collect();
    (!members.is_empty()).then_some(Steering::All(members))
}

/// The positions that stand for a pruned tree where nobody steers, in the order of the tree: of weighted
/// and near choices all, of places the default.
pub(crate) fn flat(tree: &Steering) -> Vec<u16> {
    match tree {
        Steering::Geo { default, .. } => flat(default),
        Steering::Named(_, choice) => flat(choice),
        Steering::Weighted { choices, .. } => {
            // Who may answer with one only takes the first: the heaviest.
            let mut choices: Vec<_> = choices.iter().collect();
            choices.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
            choices.into_iter().flat_map(|(_, choice)| flat(choice)).collect()
        }
        Steering::Closest(choices) => choices.iter().flat_map(|(_, choice)| flat(choice)).collect(),
        Steering::All(_) | Steering::Failover(_) => tree.members().iter().map(|member| member.data).collect(),
    }
}
