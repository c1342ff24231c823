//! Steering: which part of a record set a client is answered with.
//!
//! A record set has all of its data; the leaves of its steering tree name parts of it by their
//! positions. Whoever does not steer sees the whole set, which is a right answer too.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// How a part of a record set is chosen for a client.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Steering {
    /// All live members together.
    All(Vec<Member>),
    /// One of the choices that have a live member, by their weights.
    Weighted {
        /// Whether one client network is always given the same choice, instead of a fresh draw.
        sticky: bool,
        /// The choices with their weights; a weight of 0 is drained.
        choices: Vec<(u32, Steering)>,
    },
    /// The choice for where the client is, most specific first; else the default.
    Geo {
        /// The choices by place.
        choices: Vec<(Geo, Steering)>,
        /// For everybody else.
        default: Box<Steering>,
    },
    /// The first group that has a live member.
    Failover(Vec<Steering>),
    /// The choice nearest to the client that has a live member.
    Closest(Vec<(Location, Steering)>),
    /// A choice with a name, such as its region's. The name is what is said of it, and what a sticky
    /// choice knows it by, whatever is put before it in the list or taken from there.
    Named(Arc<str>, Box<Steering>),
}

/// One item of a record set's data, and the probe that says whether it is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Member {
    /// The position in the set's data.
    pub data: u16,
    /// Who watches it; without a probe it is alive.
    pub probe: Option<ProbeId>,
}

/// A probe of one target by one specification, however many names share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProbeId(pub u64);

/// A country or a continent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Geo {
    /// A country by its two letters (ISO 3166), in upper case.
    Country([u8; 2]),
    /// A continent by its two letters, in upper case; written `GEO-EU`.
    Continent([u8; 2]),
}

/// Where a choice is, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Location {
    /// The country or continent.
    pub geo: Option<Geo>,
    /// Latitude and longitude in millionths of a degree.
    pub coordinates: Option<(i32, i32)>,
}

/// Why a text is neither a country nor a continent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is neither a country code such as IE nor a continent such as GEO-EU")]
pub struct GeoError(String);

impl FromStr for Geo {
    type Err = GeoError;

    fn from_str(text: &str) -> Result<Geo, GeoError> {
        let (letters, continent) = text.strip_prefix("GEO-").map_or((text, false), |rest| (rest, true));
        match *letters.as_bytes() {
            [first @ b'A'..=b'Z', second @ b'A'..=b'Z'] if continent => Ok(Geo::Continent([first, second])),
            [first @ b'A'..=b'Z', second @ b'A'..=b'Z'] => Ok(Geo::Country([first, second])),
            _ => Err(GeoError(text.to_owned())),
        }
    }
}

impl fmt::Display for Geo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (prefix, [first, second]) = match self {
            Geo::Country(letters) => ("", letters),
            Geo::Continent(letters) => ("GEO-", letters),
        };
        write!(f, "{prefix}{}{}", char::from(*first), char::from(*second))
    }
}

impl Steering {
    /// Every member of the tree, in its order.
    pub fn members(&self) -> Vec<Member> {
        match self {
            Steering::All(members) => members.clone(),
            Steering::Weighted { choices, .. } => choices.iter().flat_map(|(_, one)| one.members()).collect(),
            Steering::Geo { choices, default } => {
                choices.iter().flat_map(|(_, one)| one.members()).chain(default.members()).collect()
            }
            Steering::Failover(groups) => groups.iter().flat_map(Steering::members).collect(),
            Steering::Closest(choices) => choices.iter().flat_map(|(_, one)| one.members()).collect(),
            Steering::Named(_, choice) => choice.members(),
        }
    }

    /// The same tree with other positions: what was at `n` is at `moved[n]`. A position that is not
    /// in `moved` loses its member.
    pub(crate) fn moved(self, moved: &[u16]) -> Steering {
        let inner = |choice: Steering| choice.moved(moved);
        match self {
            Steering::All(members) => {
                Steering::All(members.iter().filter_map(|one| one.moved(moved)).collect())
            }
            Steering::Weighted { sticky, choices } => Steering::Weighted {
                sticky,
                choices: choices.into_iter().map(|(weight, choice)| (weight, inner(choice))).collect(),
            },
            Steering::Geo { choices, default } => Steering::Geo {
                choices: choices.into_iter().map(|(geo, choice)| (geo, inner(choice))).collect(),
                default: Box::new(inner(*default)),
            },
            Steering::Failover(groups) => Steering::Failover(groups.into_iter().map(inner).collect()),
            Steering::Closest(choices) => {
                Steering::Closest(choices.into_iter().map(|(at, choice)| (at, inner(choice))).collect())
            }
            Steering::Named(name, choice) => Steering::Named(name, Box::new(inner(*choice))),
        }
    }
}

impl Member {
    fn moved(self, moved: &[u16]) -> Option<Member> {
        let data = *moved.get(usize::from(self.data))?;
        Some(Member { data, ..self })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("IE", Some(Geo::Country(*b"IE")))]
    #[case("GEO-EU", Some(Geo::Continent(*b"EU")))]
    #[case("ie", None)]
    #[case("GEO-", None)]
    #[case("IRL", None)]
    #[case("", None)]
    fn a_place_is_a_country_or_a_continent(#[case] text: &str, #[case] geo: Option<Geo>) {
        assert_eq!(text.parse::<Geo>().ok(), geo);
        assert_eq!(geo.map(|geo| geo.to_string()), geo.map(|_| text.to_owned()));
    }

    #[test]
    fn a_tree_lists_its_members_in_order() {
        let all = |data: &[u16]| {
            Steering::All(data.iter().map(|data| Member { data: *data, probe: None }).collect())
        };
        let tree = Steering::Geo {
            choices: vec![(
                Geo::Country(*b"IE"),
                Steering::Weighted { sticky: true, choices: vec![(1, all(&[2])), (0, all(&[0]))] },
            )],
            default: Box::new(Steering::Failover(vec![
                all(&[1]),
                Steering::Closest(vec![(Location::default(), all(&[3, 4]))]),
            ])),
        };
        let data: Vec<u16> = tree.members().iter().map(|member| member.data).collect();
        assert_eq!(data, [2, 0, 1, 3, 4]);
    }
}
