//! A user's database in MaxMind's format: where each network is.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;

use maxminddb::{Reader, WithinOptions};
use serde::Deserialize;

use super::Whereabouts;
use super::steps::{self, Steps};
use crate::Network;

/// More networks than any database has.
const MAX_NETWORKS: usize = 1 << 26;

/// A database, kept as the octets that it was read from.
pub struct Database(Reader<Vec<u8>>);

/// Why octets are not a database.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a database in MaxMind's format: {0}")]
pub struct DatabaseError(String);

/// What we read of a record, in the form of GeoIP2, GeoLite2 and DB-IP.
#[derive(Deserialize)]
struct Record<'a> {
    #[serde(borrow, default)]
    country: Coded<'a>,
    #[serde(borrow, default)]
    registered_country: Coded<'a>,
    #[serde(borrow, default)]
    continent: Coded<'a>,
    #[serde(default)]
    location: Location,
}

#[derive(Default, Deserialize)]
struct Coded<'a> {
    #[serde(alias = "code", default)]
    iso_code: Option<&'a str>,
}

#[derive(Default, Deserialize)]
struct Location {
    latitude: Option<f64>,
    longitude: Option<f64>,
}

impl Database {
    /// Reads a database. Its records are only looked at as they are needed.
    pub fn read(octets: Vec<u8>) -> Result<Database, DatabaseError> {
        Reader::from_source(octets).map(Database).map_err(|error| DatabaseError(error.to_string()))
    }

    /// Where an address is; an unreadable record is none.
    pub(super) fn place(&self, address: IpAddr) -> Option<Whereabouts> {
        let found = self.0.lookup(address).ok()?;
        found.decode::<Record<'_>>().ok().flatten()?.place()
    }

    /// The value of every IPv4 and every IPv6 network; one of which nothing is known has none.
    pub(super) fn steps(&self, mut value: impl FnMut(&Whereabouts) -> u16) -> (Steps, Steps) {
        let (mut ipv4, mut ipv6) = (Steps::default(), Steps::default());
        // Networks share records, and there are far fewer of those.
        let mut known: HashMap<usize, Option<u16>> = HashMap::new();
        let networks = self.0.networks(WithinOptions::default()).into_iter().flatten();
        // What comes after a broken part cannot be trusted, nor can a tree that does not end.
        for found in networks.map_while(Result::ok).take(MAX_NETWORKS) {
            let (Ok(network), Some(offset)) = (found.network(), found.offset()) else { continue };
            let value = *known.entry(offset).or_insert_with(|| {
                let record = found.decode::<Record<'_>>().ok().flatten();
                record.and_then(|record| record.place()).map(|place| value(&place))
            });
            let network = Network::new(network.ip(), network.prefix());
            let steps = if network.address().is_ipv4() { &mut ipv4 } else { &mut ipv6 };
            steps.push_range(steps::range(&network), value);
        }
        (ipv4, ipv6)
    }
}

impl Record<'_> {
    fn place(&self) -> Option<Whereabouts> {
        let country = self.country.letters().or(self.registered_country.letters());
        let coordinates = self.location.latitude.zip(self.location.longitude);
        let mut place = country.map(Whereabouts::in_country).unwrap_or_default();
        place.continent = self.continent.letters().or(place.continent);
        place.coordinates =
            coordinates.map(|(latitude, longitude)| (millionths(latitude), millionths(longitude)));
        (place != Whereabouts::default()).then_some(place)
    }
}

impl Coded<'_> {
    fn letters(&self) -> Option<[u8; 2]> {
        let letters: [u8; 2] = self.iso_code?.as_bytes().try_into().ok()?;
        letters.iter().all(u8::is_ascii_uppercase).then_some(letters)
    }
}

fn millionths(degrees: f64) -> i32 {
    (degrees * 1e6).round() as i32
}

impl fmt::Debug for Database {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Database({})", self.0.metadata().database_type)
    }
}
