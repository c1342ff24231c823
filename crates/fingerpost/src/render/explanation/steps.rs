//! The steps to an answer, in sentences.

use std::net::IpAddr;

use dns::{Name, Rtype};

use super::object;
use crate::explanation::{Choice, ClientPlace, PlaceSource, Step};

/// A step in a sentence; `delivered` says that a provider answers.
pub(super) fn sentence(step: &Step, delivered: bool) -> String {
    match step {
        Step::Zone { name, origin } => format!("{name} is in the zone {origin}"),
        Step::NoZone { name } if delivered => format!("nothing is delivered there in a zone of {name}"),
        Step::NoZone { name } => format!("{name} is in none of the zones of this view"),
        Step::Unavailable { origin, reason } => format!("the zone {origin} cannot be served: {reason}"),
        Step::Wildcard { name, wildcard, declared_by } => {
            format!("{name} matches `{wildcard}`{}", made(declared_by, " of "))
        }
        Step::Cname { name, target } => format!("{name} is an alias of {target}"),
        Step::Dname { owner, name, target: Some(target) } => {
            format!("the DNAME at {owner} turns {name} into {target}")
        }
        Step::Dname { owner, name, target: None } => format!("the DNAME at {owner} makes {name} too long"),
        Step::Loop { name } => format!("the chain of aliases comes back to {name} and ends there"),
        Step::ChainTooLong { name } => format!("the chain of aliases is too long and ends before {name}"),
        Step::Data { name, rtype } => format!("{name} has {rtype} records"),
        Step::Referral { name, cut, servers, declared_by } => {
            let servers = names(servers);
            let by = made(declared_by, ", by ");
            match name == cut {
                true => format!("{cut} is delegated to {servers}{by}"),
                false => format!("{name} is below {cut}, which is delegated to {servers}{by}"),
            }
        }
        Step::NoData { name, rtype: Some(rtype) } => format!("{name} exists and has no {rtype} records"),
        Step::NoData { name, rtype: None } => format!("{name} exists and has no records"),
        Step::NxDomain { name } if delivered => format!("nothing is delivered there for {name}"),
        Step::NxDomain { name } => format!("{name} does not exist"),
        steering => choice(steering),
    }
}

/// A step of steering: the part of a record set that a client gets.
fn choice(step: &Step) -> String {
    match step {
        Step::Client { name, rtype, address, place, source } => {
            about(name, *rtype, &client(*address, place, source))
        }
        Step::Geo { name, rtype, client, choices, matched, taken, default_is } => {
            about(name, *rtype, &geo(client, choices, (*matched, *taken), *default_is))
        }
        Step::Closest { name, rtype, choices, taken } => {
            let all = list(choices, |choice| state(choice, &labelled(choice)));
            about(
                name,
                *rtype,
                &format!("the nearest choice that is up is {} (choices {all})", label(choices, *taken)),
            )
        }
        Step::Draw { name, rtype, choices, taken } => {
            let all = list(choices, weighted);
            let taken = label(choices, *taken);
            about(name, *rtype, &format!("each query draws by weight, here {taken} (choices {all})"))
        }
        Step::Sticky { name, rtype, network, choices, taken } => {
            let all = list(choices, weighted);
            let taken = label(choices, *taken);
            about(name, *rtype, &format!("the network {network} always gets {taken} (choices {all})"))
        }
        Step::Failover { name, rtype, choices, taken } => {
            let all = list(choices, |choice| state(choice, &labelled(choice)));
            about(
                name,
                *rtype,
                &format!("the first choice that is up is {} (in order: {all})", label(choices, *taken)),
            )
        }
        Step::NothingUp { name, rtype, drained, health_checks } => {
            about(name, *rtype, nothing_up(*drained, *health_checks))
        }
        _ => String::new(),
    }
}

fn about(name: &Name, rtype: Rtype, sentence: &str) -> String {
    format!("{name} {rtype}: {sentence}")
}

fn nothing_up(drained: bool, health_checks: bool) -> &'static str {
    match (health_checks, drained) {
        (true, false) => "no choice is up but drained ones",
        (true, true) => "all targets are down, so those that went down last count as up",
        (false, _) => "all choices are drained",
    }
}

fn client(address: Option<IpAddr>, place: &ClientPlace, source: &PlaceSource) -> String {
    let Some(address) = address else {
        return "no client is given; --client IP shows the answer of one".to_owned();
    };
    let source = match source {
        PlaceSource::Network { network } => format!("the network {network} of the class"),
        PlaceSource::Database => "the database of the class".to_owned(),
        PlaceSource::BuiltInTable => "the built-in table".to_owned(),
    };
    let place = match (&place.country, &place.continent) {
        (Some(country), Some(continent)) => format!("in {country}, continent {continent}"),
        (Some(country), None) => format!("in {country}"),
        (None, Some(continent)) => format!("on continent {continent}"),
        (None, None) => "at no known place".to_owned(),
    };
    format!("client {address} is {place}, by {source}")
}

/// `client in US: matches continent NA (choices IE, NL, NA; default NL)`
fn geo(
    client: &ClientPlace,
    choices: &[Choice],
    (matched, taken): (usize, usize),
    default_is: Option<usize>,
) -> String {
    let client = match (&client.country, &client.continent) {
        (Some(country), _) => format!("client in {country}"),
        (None, Some(continent)) => format!("client on continent {continent}"),
        (None, None) => "client at no known place".to_owned(),
    };
    let (default, places) = choices.split_last().map_or((None, choices), |(last, rest)| (Some(last), rest));
    let default_name = match (default_is.and_then(|at| places.get(at)), default) {
        (Some(same), _) => same.place().or(same.name.as_deref()).unwrap_or("one of them").to_owned(),
        (None, Some(Choice { name: Some(name), .. })) => name.clone(),
        (None, _) => "a group of its own".to_owned(),
    };
    let matches = match choices.get(matched).map(|one| (&one.country, &one.continent)) {
        Some((Some(country), _)) => format!("matches country {country}"),
        Some((None, Some(continent))) => format!("matches continent {continent}"),
        _ => "matches none, so it gets the default".to_owned(),
    };
    let gets = match choices.get(taken) {
        Some(one) if matched == taken => {
            let name = one.name.as_ref().filter(|_| one.place().is_some());
            name.map(|name| format!(", so it gets {name}")).unwrap_or_default()
        }
        Some(one) if taken + 1 == choices.len() && one.place().is_none() => {
            ", which is down, so it gets the default".to_owned()
        }
        _ => format!(", which is down, so it gets {}", label(choices, taken)),
    };
    let all = list(places, |choice| state(choice, &by_place(choice)));
    let default = default.map_or(default_name.clone(), |choice| state(choice, &default_name));
    format!("{client}: {matches}{gets} (choices {all}; default {default})")
}

/// What a choice is called: by its name, else by its place.
fn label(choices: &[Choice], at: usize) -> &str {
    let Some(choice) = choices.get(at) else { return "none" };
    choice.name.as_deref().or(choice.place()).unwrap_or("the default")
}

/// A choice by its name, with its place where it has one.
fn labelled(choice: &Choice) -> String {
    match (&choice.name, choice.place()) {
        (Some(name), Some(place)) => format!("{name} in {place}"),
        (Some(name), None) => name.clone(),
        (None, place) => place.unwrap_or("the default").to_owned(),
    }
}

/// A choice by its place, with its name where it has one.
fn by_place(choice: &Choice) -> String {
    match (choice.place(), &choice.name) {
        (Some(place), Some(name)) => format!("{place}: {name}"),
        (Some(place), None) => place.to_owned(),
        (None, name) => name.clone().unwrap_or_default(),
    }
}

fn weighted(choice: &Choice) -> String {
    let name = labelled(choice);
    match choice.up {
        true => format!("{name} weight {}", choice.weight),
        false => format!("{name} weight {}, down", choice.weight),
    }
}

fn state(choice: &Choice, label: &str) -> String {
    if choice.up { label.to_owned() } else { format!("{label} (down)") }
}

fn list(choices: &[Choice], show: impl Fn(&Choice) -> String) -> String {
    choices.iter().map(show).collect::<Vec<_>>().join(", ")
}

/// The objects that made something, after a word.
fn made(by: &[planner::ObjectName], word: &str) -> String {
    let objects: Vec<String> = by.iter().map(object).collect();
    if objects.is_empty() { String::new() } else { format!("{word}{}", objects.join(", ")) }
}

/// Names, separated by commas.
pub(super) fn names(names: &[Name]) -> String {
    names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

/// Names, the last after `or`.
pub(super) fn alternatives(all: &[Name]) -> String {
    match all.split_last() {
        Some((last, [])) => last.to_string(),
        Some((last, others)) => format!("{} or {last}", names(others)),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    fn at(country: Option<&str>, continent: Option<&str>, up: bool) -> Choice {
        let text = |text: Option<&str>| text.map(str::to_owned);
        Choice { name: None, country: text(country), continent: text(continent), weight: 1, up }
    }

    fn client(country: &str, continent: &str) -> ClientPlace {
        let (country, continent) = (Some(country.to_owned()), Some(continent.to_owned()));
        ClientPlace { country, continent, ..ClientPlace::default() }
    }

    #[test]
    fn a_choice_by_place_names_the_match_the_choices_and_the_default() {
        let mut choices = vec![
            at(Some("IE"), None, true),
            at(Some("NL"), None, true),
            at(None, Some("NA"), true),
            at(None, None, true),
        ];
        let american = client("US", "NA");
        assert_eq!(
            geo(&american, &choices, (2, 2), Some(1)),
            "client in US: matches continent NA (choices IE, NL, NA; default NL)"
        );
        assert_eq!(
            geo(&ClientPlace::default(), &choices, (3, 3), Some(1)),
            "client at no known place: matches none, so it gets the default (choices IE, NL, NA; default NL)"
        );
        choices[2].up = false;
        assert_eq!(
            geo(&american, &choices, (2, 3), Some(1)),
            "client in US: matches continent NA, which is down, so it gets the default (choices IE, NL, NA (down); \
             default NL)"
        );
        choices[0].name = Some("weu".to_owned());
        assert_eq!(
            geo(&client("IE", "EU"), &choices, (0, 0), None),
            "client in IE: matches country IE, so it gets weu (choices IE: weu, NL, NA (down); default a group of its own)"
        );
    }
}
