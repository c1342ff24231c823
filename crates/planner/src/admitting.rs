//! What an object would be refused for, were it applied: what admission asks before it is.
//!
//! Only what the platform team decides by domain grants is refused there. A delegation that is missing, or a name that
//! another object still holds, may come or go with what is applied next.

use api::{Object, Spec};
use dns::Name;

use crate::facts::Ledger;
use crate::facts::ObjectKey;
use crate::front;
use crate::front::dns_record::DnsRecordState;
use crate::front::placement::PlacementState;
use crate::front::record::RecordState;
use crate::input::ClusterId;
use crate::notes::not_granted;
use crate::output::Outcome;
use crate::planner::Planner;
use crate::snapshot::Id;
use crate::tenancy::NotGranted;
use crate::view::View;
use crate::zone_table::{Standing, ZoneRefusal};

impl Planner {
    /// Why no domain grant lets the namespace of an object claim what the object claims, if none does.
    pub fn missing_grant(&self, cluster: ClusterId, object: &Object) -> Option<String> {
        let (name, reason) = self.ungranted(cluster, object)?;
        Some(not_granted(&name.undotted(), &reason))
    }

    fn ungranted(&self, cluster: ClusterId, object: &Object) -> Option<(Name, NotGranted)> {
        let mut ledger = Ledger::default();
        let view = View::new(cluster, &self.snapshot, &self.table, &mut ledger);
        let id = self.snapshot.id(&ObjectKey::of(cluster, object)).unwrap_or(Id(u32::MAX));
        if let Spec::Zone(spec) = &object.spec {
            let Standing::At(origin) = front::zone::standing(&view, object, spec) else { return None };
            return match front::zone::refusal(&view, id, object, &origin)? {
                ZoneRefusal::NotGranted(reason) => Some((origin, reason)),
                _ => None,
            };
        }
        match front::evaluate(&view, id, object).outcome {
            Outcome::Record(outcome) => match (outcome.fqdn, outcome.state) {
                (Some(name), RecordState::NotGranted(reason)) => Some((name, reason)),
                _ => None,
            },
            Outcome::DnsRecord(outcome) => match (outcome.fqdn, outcome.state) {
                (Some(name), DnsRecordState::NotGranted(reason)) => Some((name, reason)),
                _ => None,
            },
            Outcome::Placement(outcome) => match (outcome.name, outcome.state) {
                (Some(name), PlacementState::NotGranted(reason)) => Some((name, reason)),
                _ => None,
            },
            _ => None,
        }
    }
}
