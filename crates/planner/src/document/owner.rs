//! The owners of record sets: the objects and zone files that they are there for.

use api::Kind;
use dns::{Name, Rtype};
use serde::{Deserialize, Serialize};

use crate::Planner;
use crate::input::ObjectRef;
use crate::place::Scope;
use crate::snapshot::Id;
use crate::zone_state::ZoneState;
use crate::zone_table::Source;

/// What a record set is there for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DocumentOwner {
    /// The cluster's name.
    pub cluster: String,
    /// The object's `apiVersion`; empty for a zone file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// The object's kind; empty for a zone file.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The object's namespace; empty for cluster-scoped kinds.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The object's name, or the path of the zone file.
    pub name: String,
}

impl DocumentOwner {
    /// The object; nothing for a zone file.
    pub fn reference(&self) -> Option<ObjectRef> {
        let is_it = |kind: &&Kind| kind.api_version() == self.api_version && kind.kind() == self.kind;
        let kind = *Kind::ALL.iter().find(is_it)?;
        Some(ObjectRef { kind, namespace: self.namespace.as_str().into(), name: self.name.as_str().into() })
    }

    /// A zone file.
    pub fn file(cluster: &str, path: &str) -> DocumentOwner {
        DocumentOwner {
            cluster: cluster.to_owned(),
            api_version: String::new(),
            kind: String::new(),
            namespace: String::new(),
            name: path.to_owned(),
        }
    }

    /// An object.
    pub fn new(cluster: &str, object: &ObjectRef) -> DocumentOwner {
        DocumentOwner {
            cluster: cluster.to_owned(),
            api_version: object.kind.api_version().to_owned(),
            kind: object.kind.kind().to_owned(),
            namespace: object.namespace.to_string(),
            name: object.name.to_string(),
        }
    }
}

impl Planner {
    /// The owners of a record set: the objects whose claims it holds. What no object claims is the zone's own.
    pub(super) fn owners(
        &self,
        origin: &Name,
        name: &Name,
        scope: &Scope,
        rtype: Rtype,
    ) -> Vec<DocumentOwner> {
        let Some(zone) = self.zone_state(origin) else { return Vec::new() };
        let node = zone.nodes.get(name);
        let claims = node.iter().flat_map(|node| &node.claims);
        let of_claims = claims.filter(|(id, claim)| self.holds(*id, *claim, scope, rtype));
        let mut owners: Vec<DocumentOwner> = of_claims.filter_map(|(id, _)| self.object_owner(*id)).collect();
        let copied = node.iter().flat_map(|node| node.copied_types());
        for (child, _) in copied.filter(|(_, copy)| *copy == rtype) {
            owners.extend(self.zone_state(child).and_then(|child| self.zone_owner(child)));
        }
        if owners.is_empty() {
            owners.extend(self.zone_owner(zone));
        }
        owners.sort();
        owners.dedup();
        owners
    }

    /// The owner of what a zone has by itself.
    pub(super) fn owners_of_zone(&self, origin: &Name) -> Vec<DocumentOwner> {
        self.zone_state(origin).and_then(|zone| self.zone_owner(zone)).into_iter().collect()
    }

    /// Whether a claim is part of what is answered for a type in a scope.
    fn holds(&self, id: Id, number: u16, scope: &Scope, rtype: Rtype) -> bool {
        let claim = self.evaluated(id).and_then(|one| one.output.claims.get(usize::from(number)));
        let is_about = claim
            .is_some_and(|claim| claim.rtype == rtype && claim.scope.meets(scope) && !claim.is_reservation());
        let is_lost = self.lost(id).iter().any(|lost| {
            lost.claim == number && lost.place.as_ref().is_none_or(|place| *scope == Scope::At(place.clone()))
        });
        is_about && !is_lost && !self.turned_away.contains(&id)
    }

    fn object_owner(&self, id: Id) -> Option<DocumentOwner> {
        let key = &self.snapshot.entry(id)?.key;
        Some(DocumentOwner::new(self.cluster_name(key.cluster), &key.reference))
    }

    fn zone_owner(&self, zone: &ZoneState) -> Option<DocumentOwner> {
        match &zone.holder.as_ref()?.zone.source {
            Source::Object(id) => self.object_owner(*id),
            Source::File(cluster, path) => Some(DocumentOwner::file(self.cluster_name(*cluster), path)),
            Source::Identity(cluster) => {
                let (kind, name) = (Kind::ClusterIdentity, "cluster-identity".into());
                let identity = ObjectRef { kind, namespace: "".into(), name };
                Some(DocumentOwner::new(self.cluster_name(*cluster), &identity))
            }
            Source::Domain(domain) => self.object_owner(self.implied_by(domain)?),
        }
    }
}
