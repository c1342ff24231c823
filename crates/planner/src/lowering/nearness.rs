//! The closest, for a provider that knows places and not where regions are: as places.
//!
//! ```text
//! closest(ash in US, hel in FI) ─► US: ash, hel; FI: hel, ash; GEO-NA: ash, hel; GEO-EU: hel, ash; else: ash, hel
//! ```
//!
//! By country, then by continent, then as listed, and the first that is up: what our own server does where
//! coordinates are not known.

use std::collections::BTreeSet;

use dns::{Geo, Location, Steering, continent_of};

/// A region and where it is.
type Choice = (Location, Steering);

/// The same choice by places; `None` where it is another one, or regions are known by their coordinates or not
/// at all.
pub(crate) fn by_places(steering: &Steering) -> Option<Steering> {
    let Steering::Closest(choices) = steering else { return None };
    if choices.iter().any(|(at, _)| at.coordinates.is_some()) {
        return None;
    }
    let countries = choices.iter().filter_map(|(at, _)| at.geo);
    let places: BTreeSet<Geo> = countries.flat_map(|geo| [Some(geo), continent(geo)]).flatten().collect();
    let nearest = |geo: Geo| (geo, ordered(choices, Some(geo)));
    (!places.is_empty()).then(|| Steering::Geo {
        choices: places.into_iter().map(nearest).collect(),
        default: Box::new(ordered(choices, None)),
    })
}

/// All choices, the nearest to clients of a place first; of such as are not checked the first is always up.
fn ordered(choices: &[Choice], client: Option<Geo>) -> Steering {
    let mut near: Vec<&Choice> = choices.iter().collect();
    near.sort_by_key(|(at, _)| distance(at.geo, client));
    let is_checked = |choice: &Steering| choice.members().iter().any(|member| member.probe.is_some());
    match near.as_slice() {
        [(_, first), ..] if !is_checked(first) => first.clone(),
        near => Steering::Failover(near.iter().map(|(_, choice)| choice.clone()).collect()),
    }
}

/// The same country, the same continent, elsewhere.
fn distance(region: Option<Geo>, client: Option<Geo>) -> u8 {
    let (Some(region), Some(client)) = (region, client) else { return 2 };
    match () {
        () if region == client && matches!(region, Geo::Country(_)) => 0,
        () if continent(region).is_some() && continent(region) == continent(client) => 1,
        () => 2,
    }
}

/// The continent that a place is on, or is.
fn continent(geo: Geo) -> Option<Geo> {
    match geo {
        Geo::Country(country) => continent_of(country).map(Geo::Continent),
        Geo::Continent(_) => Some(geo),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use dns::{Member, ProbeId};

    /// A region by its number, in a place.
    fn region(number: u16, geo: Option<&str>, probe: Option<ProbeId>) -> Choice {
        let at = Location { geo: geo.map(|geo| geo.parse().unwrap()), coordinates: None };
        (at, Steering::All(vec![Member { data: number, probe }]))
    }

    fn order(steering: &Steering) -> Vec<u16> {
        steering.members().iter().map(|member| member.data).collect()
    }

    fn orders(choices: Vec<Choice>) -> Vec<(String, Vec<u16>)> {
        let Some(Steering::Geo { choices, default }) = by_places(&Steering::Closest(choices)) else {
            panic!("these are places")
        };
        let places = choices.iter().map(|(geo, choice)| (geo.to_string(), order(choice)));
        places.chain([("else".to_owned(), order(&default))]).collect()
    }

    #[test]
    fn the_country_goes_first_then_the_continent_then_the_list() {
        let probe = Some(ProbeId(1));
        let places = [Some("US"), Some("FI"), Some("GEO-EU"), None, Some("DE")];
        let choices = (0..).zip(places).map(|(number, geo)| region(number, geo, probe)).collect();
        let expected: [(&str, &[u16]); 6] = [
            ("DE", &[4, 1, 2, 0, 3]),
            ("FI", &[1, 2, 4, 0, 3]),
            ("US", &[0, 1, 2, 3, 4]),
            ("GEO-EU", &[1, 2, 4, 0, 3]),
            ("GEO-NA", &[0, 1, 2, 3, 4]),
            ("else", &[0, 1, 2, 3, 4]),
        ];
        let expected = expected.map(|(place, order)| (place.to_owned(), order.to_vec()));
        assert_eq!(orders(choices), expected);
    }

    #[test]
    fn what_is_not_checked_needs_no_other_behind_it() {
        let choices = vec![region(0, Some("US"), None), region(1, Some("FI"), None)];
        let expected: [(&str, &[u16]); 5] =
            [("FI", &[1]), ("US", &[0]), ("GEO-EU", &[1]), ("GEO-NA", &[0]), ("else", &[0])];
        assert_eq!(orders(choices), expected.map(|(place, order)| (place.to_owned(), order.to_vec())));
    }

    #[test]
    fn coordinates_and_regions_nowhere_are_no_places() {
        let somewhere = Location { coordinates: Some((1, 1)), geo: Some(Geo::Country(*b"IE")) };
        let leaf = region(0, None, None).1;
        assert_eq!(by_places(&Steering::Closest(vec![(somewhere, leaf.clone())])), None);
        assert_eq!(by_places(&Steering::Closest(vec![(Location::default(), leaf.clone())])), None);
        assert_eq!(by_places(&leaf), None);
    }
}
