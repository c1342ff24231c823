//! Where clients are: the class's networks, then a database, then the built-in table of countries.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use dns::Geo;

use crate::Network;

mod built_in;
mod database;
mod ipv4_ranges;
mod ipv6_ranges;
mod places;
mod steps;
mod table;

pub use database::{Database, DatabaseError};
pub(super) use places::Places;
pub(crate) use table::Table;

/// Where a client is, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Whereabouts {
    /// The country by its letters.
    pub country: Option<[u8; 2]>,
    /// The continent by its letters.
    pub continent: Option<[u8; 2]>,
    /// Latitude and longitude in millionths of a degree.
    pub coordinates: Option<(i32, i32)>,
}

/// Who says where a client is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// A network that the class lists.
    Network(Network),
    /// The class's database.
    Database,
    /// The built-in table.
    BuiltIn,
}

impl Whereabouts {
    /// In a country, and so on its continent.
    pub fn in_country(country: [u8; 2]) -> Whereabouts {
        let continent = dns::continent_of(country);
        Whereabouts { country: Some(country), continent, coordinates: None }
    }
}

impl From<Geo> for Whereabouts {
    fn from(geo: Geo) -> Whereabouts {
        match geo {
            Geo::Country(country) => Whereabouts::in_country(country),
            Geo::Continent(continent) => Whereabouts { continent: Some(continent), ..Whereabouts::default() },
        }
    }
}

/// What is known of where addresses are; clones share it.
///
/// Nothing is built before a steered set needs it, and equal lists of places share one table.
#[derive(Clone, Debug)]
pub struct GeoSource(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Sorted, so that a network comes after those that hold it.
    networks: Vec<(Network, Geo)>,
    database: Option<Database>,
    tables: Mutex<HashMap<Places, Weak<Table>>>,
}

impl Default for GeoSource {
    fn default() -> GeoSource {
        GeoSource::built_in()
    }
}

impl GeoSource {
    /// The built-in table alone.
    pub fn built_in() -> GeoSource {
        GeoSource::new(Vec::new(), None)
    }

    /// Networks of which it is known where they are, and a database, before the built-in table. Of
    /// two equal networks the first counts.
    pub fn new(mut networks: Vec<(Network, Geo)>, database: Option<Database>) -> GeoSource {
        networks.sort_by_key(|(network, _)| *network);
        networks.dedup_by_key(|(network, _)| *network);
        GeoSource(Arc::new(Inner { networks, database, tables: Mutex::default() }))
    }

    /// Where an address is, and who says so.
    pub fn place(&self, address: IpAddr) -> (Whereabouts, Origin) {
        let address = address.to_canonical();
        let holding = self.0.networks.iter().filter(|(network, _)| network.contains(address));
        if let Some((network, geo)) = holding.max_by_key(|(network, _)| network.prefix()) {
            return (Whereabouts::from(*geo), Origin::Network(*network));
        }
        if let Some(place) = self.0.database.as_ref().and_then(|database| database.place(address)) {
            return (place, Origin::Database);
        }
        let country = built_in::letters(built_in::country(address));
        (country.map(Whereabouts::in_country).unwrap_or_default(), Origin::BuiltIn)
    }

    /// Whether the two are one and the same.
    pub fn is(&self, other: &GeoSource) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// The table of a list of places.
    pub(super) fn table(&self, places: Places) -> Arc<Table> {
        let mut tables = self.0.tables.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = tables.get(&places).and_then(Weak::upgrade) {
            return table;
        }
        tables.retain(|_, table| table.strong_count() > 0);
        let table = Arc::new(Table::new(&self.0, places.clone()));
        tables.insert(places, Arc::downgrade(&table));
        table
    }
}

#[cfg(test)]
mod tests;
