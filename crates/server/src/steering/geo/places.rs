//! From where a client is to the order in which choices are good for it.

use std::collections::HashMap;

use dns::{Geo, Location};

use super::Whereabouts;

/// The choices of a set by where they are. Equal lists share one table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(in crate::steering) enum Places {
    /// By country and continent; the default is the choice after the last.
    Geo(Vec<Geo>),
    /// By nearness.
    Closest(Vec<Location>),
}

/// How far a choice counts as being where coordinates do not say it, in kilometres: in the client's
/// country, on its continent, elsewhere.
const SAME_COUNTRY: f64 = 500.0;
const SAME_CONTINENT: f64 = 3_000.0;
const ELSEWHERE: f64 = 20_000.0;

const EARTH_RADIUS: f64 = 6_371.0;

impl Places {
    /// How many choices there are.
    pub(super) fn count(&self) -> usize {
        match self {
            Places::Geo(places) => places.len() + 1,
            Places::Closest(places) => places.len(),
        }
    }

    /// The country or continent that a choice is for; none for the default.
    pub(super) fn geo(&self, choice: usize) -> Option<Geo> {
        match self {
            Places::Geo(places) => places.get(choice).copied(),
            Places::Closest(places) => places.get(choice).and_then(|place| place.geo),
        }
    }

    /// Every choice, the best for a client first, ties in the order of the list.
    pub(super) fn order(&self, client: &Whereabouts) -> Vec<u16> {
        let mut order: Vec<u16> = (0..self.count() as u16).collect();
        match self {
            Places::Geo(places) => order.sort_by_key(|at| fitness(places, *at, client)),
            Places::Closest(places) => {
                let distances: Vec<f64> = places.iter().map(|place| distance(place, client)).collect();
                let of = |at: u16| distances.get(usize::from(at)).copied().unwrap_or(ELSEWHERE);
                order.sort_by(|one, other| of(*one).total_cmp(&of(*other)));
            }
        }
        order
    }
}

/// The client's country, its continent, the default, the others.
fn fitness(places: &[Geo], at: u16, client: &Whereabouts) -> u8 {
    match places.get(usize::from(at)) {
        Some(Geo::Country(country)) if client.country == Some(*country) => 0,
        Some(Geo::Continent(continent)) if client.continent == Some(*continent) => 1,
        None => 2,
        Some(_) => 3,
    }
}

fn distance(place: &Location, client: &Whereabouts) -> f64 {
    if let (Some(one), Some(other)) = (place.coordinates, client.coordinates) {
        return great_circle(one, other);
    }
    let place = place.geo.map(Whereabouts::from).unwrap_or_default();
    let same = |one: Option<[u8; 2]>, other: Option<[u8; 2]>| one.is_some() && one == other;
    match () {
        () if same(place.country, client.country) => SAME_COUNTRY,
        () if same(place.continent, client.continent) => SAME_CONTINENT,
        () => ELSEWHERE,
    }
}

/// Kilometres between two points given in millionths of a degree (haversine).
fn great_circle(one: (i32, i32), other: (i32, i32)) -> f64 {
    let radians = |millionths: i32| (f64::from(millionths) / 1e6).to_radians();
    let ((latitude, longitude), (other_latitude, other_longitude)) =
        ((radians(one.0), radians(one.1)), (radians(other.0), radians(other.1)));
    let half = |from: f64, to: f64| ((to - from) / 2.0).sin().powi(2);
    let chord = half(latitude, other_latitude)
        + latitude.cos() * other_latitude.cos() * half(longitude, other_longitude);
    2.0 * EARTH_RADIUS * chord.sqrt().min(1.0).asin()
}

/// The distinct orders of a list of places, by number.
#[derive(Debug)]
pub(super) struct Orders<'a> {
    places: &'a Places,
    /// How many there may be before each best choice has only one left.
    most: usize,
    numbers: HashMap<Vec<u16>, u16>,
    all: Vec<u16>,
}

impl<'a> Orders<'a> {
    pub(super) fn new(places: &'a Places) -> Orders<'a> {
        let most = usize::from(u16::MAX - 1).saturating_sub(places.count());
        Orders { places, most, numbers: HashMap::new(), all: Vec::new() }
    }

    /// The number of the order that is right for a client.
    pub(super) fn number(&mut self, client: &Whereabouts) -> u16 {
        let mut order = self.places.order(client);
        // Numbers end at 65,534. The last ones have the best choice first and the others as listed.
        if self.numbers.len() >= self.most && !self.numbers.contains_key(&order) {
            order[1..].sort_unstable();
        }
        let next = self.numbers.len() as u16;
        *self.numbers.entry(order).or_insert_with_key(|order| {
            self.all.extend_from_slice(order);
            next
        })
    }

    /// All orders, one after the other.
    pub(super) fn finish(self) -> Box<[u16]> {
        self.all.into()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use rstest::rstest;

    fn degrees(latitude: i32, longitude: i32) -> Option<(i32, i32)> {
        Some((latitude * 1_000_000, longitude * 1_000_000))
    }

    #[rstest]
    #[case(Some(*b"IE"), &[2, 0, 1, 5, 3, 4])]
    #[case(Some(*b"DE"), &[0, 1, 5, 2, 3, 4])]
    #[case(Some(*b"US"), &[3, 4, 5, 0, 1, 2])]
    #[case(None, &[5, 0, 1, 2, 3, 4])]
    fn geo_takes_the_country_then_the_continent_then_the_default(
        #[case] country: Option<[u8; 2]>,
        #[case] order: &[u16],
    ) {
        let places = ["GEO-EU", "GEO-EU", "IE", "US", "GEO-NA"].map(|text| text.parse().unwrap()).to_vec();
        let client = country.map(Whereabouts::in_country).unwrap_or_default();
        assert_eq!(Places::Geo(places).order(&client), order);
    }

    #[test]
    fn the_closest_is_by_coordinates_then_country_then_continent_then_as_listed() {
        let place = |geo: &str, coordinates| Location { geo: geo.parse().ok(), coordinates };
        let places = Places::Closest(vec![
            place("US", None),
            place("GEO-EU", None),
            place("DE", None),
            place("", degrees(53, -6)),
            place("", None),
        ]);
        let berlin = Whereabouts { coordinates: degrees(52, 13), ..Whereabouts::in_country(*b"DE") };
        assert_eq!(places.order(&berlin), [2, 3, 1, 0, 4], "Dublin is 1,300 km away");
        assert_eq!(places.order(&Whereabouts::in_country(*b"DE")), [2, 1, 0, 3, 4]);
        assert_eq!(places.order(&Whereabouts::default()), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_distance_is_along_the_earth() {
        let (london, new_york) = ((51_507_400, -127_800), (40_712_800, -74_006_000));
        let distance = great_circle(london, new_york);
        assert!((5_560.0..5_580.0).contains(&distance), "{distance}");
        let across = great_circle((0, 0), (0, 180_000_000));
        assert!((20_000.0..20_020.0).contains(&across), "{across}");
    }

    #[test]
    fn orders_that_would_be_too_many_keep_the_best_first() {
        let places: Vec<Location> = (0..30)
            .map(|at| Location {
                geo: None,
                coordinates: degrees((at * 37) % 120 - 60, (at * 101) % 340 - 170),
            })
            .collect();
        let places = Places::Closest(places);
        let mut orders = Orders { most: 50, ..Orders::new(&places) };
        for latitude in (-80..80).step_by(8) {
            for longitude in (-180..180).step_by(8) {
                let client =
                    Whereabouts { coordinates: degrees(latitude, longitude), ..Whereabouts::default() };
                let number = usize::from(orders.number(&client));
                assert_eq!(orders.all[number * 30], places.order(&client)[0]);
            }
        }
        let count = orders.numbers.len();
        assert!(count > 50 && count <= 50 + 30, "{count}");
    }
}
