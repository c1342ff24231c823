//! Finding and making zones.
//!
//! All zones are listed once; after that one request tells whether a zone has come. A zone that has gone
//! shows in the first request to it, and then all are listed again.

use std::collections::HashMap;

use dns::Name;
use tokio::sync::Mutex;

use super::reading::Listed;
use super::{Memory, Powerdns, request};
use crate::{Failure, NewZone, OpenedZone};

const A_COPY: &str = "the server has this zone from another server: write to its primary";

/// The zones that the server is known to have, once it was asked.
#[derive(Default)]
pub(super) struct Zones(Mutex<Option<HashMap<Name, Listed>>>);

impl Powerdns {
    pub(super) async fn open(&self, zone: &NewZone) -> Result<OpenedZone, Failure> {
        if let Some(found) = self.find(&zone.origin).await? {
            return self.adopt(zone, found).await;
        }
        let body = request::new_zone(zone, self.zone_kind, self.dnssec)?;
        let made = self.api.make_zone(body).await?;
        self.forget_zones().await;
        self.start_over(&zone.origin, !made).await;
        if made && self.dnssec {
            self.api.rectify(&zone.origin).await?;
        }
        Ok(OpenedZone { origin: zone.origin.clone(), made })
    }

    /// Takes a zone that is there as it is, unless its making was cut short.
    async fn adopt(&self, zone: &NewZone, (origin, found): (Name, Listed)) -> Result<OpenedZone, Failure> {
        if found.is_copy() {
            return Err(Failure::Unsupported(A_COPY));
        }
        if origin == zone.origin && found.serial == 0 {
            self.complete(zone).await?;
        }
        self.start_over(&origin, true).await;
        Ok(OpenedZone { origin, made: false })
    }

    /// What was remembered may be of another zone of the same name.
    async fn start_over(&self, origin: &Name, unordered: bool) {
        *self.memory(origin).lock().await = Memory { unordered, inherited: unordered, ..Memory::default() };
    }

    /// PowerDNS makes a zone and fills it in two steps; ended in between it leaves one without an SOA.
    async fn complete(&self, zone: &NewZone) -> Result<(), Failure> {
        let (_, read) = self.api.zone(&zone.origin).await?;
        if read == Default::default() {
            let (settings, records) = request::completion(zone, self.zone_kind, self.dnssec)?;
            self.api.set_zone(&zone.origin, settings).await?;
            self.api.patch(&zone.origin, records).await?;
            self.forget_zones().await;
        }
        Ok(())
    }

    /// The longest zone that holds the name.
    async fn find(&self, origin: &Name) -> Result<Option<(Name, Listed)>, Failure> {
        let mut known = self.zones.0.lock().await;
        let known = match &mut *known {
            Some(known) => known,
            none => none.insert(listed(self.api.zones().await?)),
        };
        if !known.contains_key(origin) {
            known.extend(listed(self.api.find_zone(origin).await?));
        }
        // The root zone holds everything, and is nobody's to write to.
        let mut holders = origin.suffixes().filter(|name| !name.is_root());
        Ok(holders
            .find_map(|name| known.get_key_value(&name))
            .map(|(name, zone)| (name.clone(), zone.clone())))
    }

    /// Lists the zones again next time.
    pub(super) async fn forget_zones(&self) {
        *self.zones.0.lock().await = None;
    }
}

fn listed(zones: impl IntoIterator<Item = Listed>) -> HashMap<Name, Listed> {
    zones.into_iter().filter_map(|zone| Some((zone.name.parse().ok()?, zone))).collect()
}
