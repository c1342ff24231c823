//! What to write next for some work, if anything: the plan against what the cluster holds.

use std::time::Instant;

use api::{Kind, Lookup};
use planner::marks::FINALIZER;
use planner::{ChildKind, ChildRef, ObjectRef, Planner};
use serde_json::Value;

use super::{Engine, Purpose};
use crate::cluster::board::Standing;
use crate::cluster::child::ChildSeen;
use crate::cluster::feed::HERE;
use crate::cluster::{Subject, serials};
use crate::operator::compose;
use crate::operator::events::telling;
use crate::operator::live::{LiveObject, Part, own_metadata, wanted_status, with_times};
use crate::operator::queue::Work;
use crate::operator::send::Write;

/// The kinds that decide which children the router's objects have, and which those of a class's have.
const ROUTER: [Kind; 5] =
    [Kind::ClusterIdentity, Kind::DNSConfiguration, Kind::Gateway, Kind::DNSPolicy, Kind::ServiceRoute];
const RECORD: [Kind; 2] = [Kind::DNSRecord, Kind::DNSClass];
const ZONE: [Kind; 3] = [Kind::Record, Kind::Zone, Kind::DNSClass];
const LISTENERS: [Kind; 3] = [Kind::ListenerGateway, Kind::Zone, Kind::DNSClass];

type Next = Option<(Purpose, Write)>;

impl Engine {
    /// The next write for some work; nothing where the cluster holds what is planned.
    pub(super) fn next_write(&mut self, work: &Work) -> Next {
        match work {
            Work::Object(object) => self.next_of_object(object),
            Work::Child(child) => self.next_of_child(child),
            Work::Serials => self.next_of_serials(),
        }
    }

    /// Children first, so that a status never speaks of what is not there.
    fn next_of_object(&mut self, object: &ObjectRef) -> Next {
        // What is being deleted is of interest only while we hold it back.
        let live = self.live.object(object).filter(|live| !live.deleting || live.is_held_back()).cloned()?;
        let instance = self.parts.instance.clone();
        let planner = instance.planner();
        for (child, fingerprint) in planner.children_of_object(HERE, object) {
            if child.kind == ChildKind::IstioGateway {
                self.leave_to_itself(child, fingerprint);
            } else if let Some(write) = self.apply_child(&planner, &child, fingerprint) {
                return Some(write);
            }
        }
        let mut document = planner.document_of(HERE, object)?;
        let status = self.parts.outdated.known_part(object.kind, document["status"].take());
        self.next_of_metadata(object, &live, &document)
            .or_else(|| self.next_of_status(&planner, object, &live, status))
    }

    /// An Istio Gateway holds the hosts of many routes, so it is written in its own time.
    fn leave_to_itself(&mut self, child: ChildRef, fingerprint: u64) {
        if self.live.child(&child).is_none_or(|live| live.stands_for != Some(fingerprint)) {
            self.queue.push(Work::Child(child), Instant::now());
        }
    }

    fn next_of_metadata(&self, object: &ObjectRef, live: &LiveObject, document: &Value) -> Next {
        let strings =
            |key: &str| serde_json::from_value(document["metadata"][key].clone()).unwrap_or_default();
        let finalizers: Vec<String> =
            serde_json::from_value(document["metadata"]["finalizers"].clone()).unwrap_or_default();
        if live.is_held_back() && !finalizers.iter().any(|one| one == FINALIZER) {
            let write = compose::release(object, live)?;
            return Some((Purpose::Part(object.clone(), Part::Finalizers, 0, None), write));
        }
        let wanted = own_metadata(&strings("labels"), &strings("annotations"), &finalizers);
        if live.metadata.is(wanted) {
            return None;
        }
        let write = compose::apply_metadata(object, live, document)?;
        Some((Purpose::Part(object.clone(), Part::Metadata, wanted, None), write))
    }

    fn next_of_status(
        &self,
        planner: &Planner,
        object: &ObjectRef,
        live: &LiveObject,
        status: Value,
    ) -> Next {
        let wanted = wanted_status(&status);
        if live.status.is(wanted) {
            return None;
        }
        let ready = self.live.words.find(&live.conditions, "Ready");
        let telling =
            telling(ready.map(|(status, reason, _)| (status, reason)), &planner.notes(HERE, object));
        let now = jiff::Timestamp::now().as_second();
        let status = with_times(status, &self.live.words, &live.conditions, now);
        let write = compose::apply_status(object, live, status)?;
        Some((Purpose::Part(object.clone(), Part::Status, wanted, telling), write))
    }

    fn next_of_child(&mut self, child: &ChildRef) -> Next {
        let instance = self.parts.instance.clone();
        let planner = instance.planner();
        match planner.child_fingerprint(child) {
            Some(fingerprint) => self.apply_child(&planner, child, fingerprint),
            None => self.remove_child(&planner, child),
        }
    }

    /// Applies a child unless the cluster holds it already.
    fn apply_child(&mut self, planner: &Planner, child: &ChildRef, fingerprint: u64) -> Next {
        self.removals.forget(child);
        if self.flying.contains(child) || self.obstacle(child) {
            return None;
        }
        let held = self.live.child(child);
        if held.is_some_and(|held| held.stands_for == Some(fingerprint)) {
            return None;
        }
        let manifest = planner.child(child)?;
        if self.is_orphaned(&manifest, &child.namespace) {
            return None;
        }
        let write = compose::apply_child(child, &manifest)?;
        let content = ChildSeen::planned(child.kind, manifest);
        if held.is_some_and(|held| Some(held.content) == content) {
            self.live.settle_child(child, fingerprint);
            self.tell_planner(child, None);
            return None;
        }
        Some((Purpose::Child(child.clone(), fingerprint), write))
    }

    /// Whether something that only others can change is in the way; the planner is told.
    fn obstacle(&mut self, child: &ChildRef) -> bool {
        let subject = Subject::of_children(child.kind);
        let reason = match self.live.child(child) {
            Some(held) if !held.ours => "an object of this name is there that Fingerpost did not make; \
                 rename or delete it"
                .to_owned(),
            None if self.parts.board.standing(subject) == Some(Standing::Missing) => {
                format!("the CRD {} is not installed", subject.qualified())
            }
            _ => return false,
        };
        self.tell_planner(child, Some(reason));
        true
    }

    /// Whether all owners are being deleted: then the garbage collector has the last word.
    fn is_orphaned(&self, manifest: &Value, namespace: &str) -> bool {
        let owners =
            manifest["metadata"]["ownerReferences"].as_array().map(Vec::as_slice).unwrap_or_default();
        let deleting = |owner: &Value| {
            let text = |key: &str| owner[key].as_str().unwrap_or_default();
            let Lookup::Known(kind) = Kind::lookup(text("apiVersion"), text("kind")) else { return false };
            let name = text("name");
            let object = ObjectRef { kind, namespace: namespace.into(), name: name.into() };
            self.live.object(&object).is_none_or(|live| live.deleting)
        };
        !owners.is_empty() && owners.iter().all(deleting)
    }

    /// Removes a child that we made and the plan no longer has.
    fn remove_child(&mut self, planner: &Planner, child: &ChildRef) -> Next {
        self.outcomes.remove(child);
        let held = self.live.child(child).filter(|held| held.ours)?.clone();
        let write = compose::delete_child(child, &held)?;
        if self.flying.contains(child) || planner.is_frozen(HERE, &child.namespace) {
            return None;
        }
        if self.lacks_makers(child.kind, &held.owners) {
            self.withheld.insert(child.clone());
            return None;
        }
        let now = Instant::now();
        let due = self.removals.due(child, now);
        if due > now {
            self.queue.postpone(Work::Child(child.clone()), due);
            return None;
        }
        Some((Purpose::Removal(child.clone()), write))
    }

    /// Whether a kind that children come from is not served: its absence proves no deletion, and the
    /// garbage collector takes the children of objects that went with their kind.
    fn lacks_makers(&self, child: ChildKind, owners: &[Kind]) -> bool {
        let missing =
            |kind: &Kind| self.parts.board.standing(Subject::Kind(*kind)) == Some(Standing::Missing);
        if child == ChildKind::DefaultPolicy || owners.contains(&Kind::ListenerGateway) {
            return LISTENERS.iter().any(missing);
        }
        let of_router = owners.is_empty() || owners.iter().any(|kind| ROUTER.contains(kind));
        of_router && ROUTER.iter().any(missing)
            || owners.contains(&Kind::DNSRecord) && RECORD.iter().any(missing)
            || owners.contains(&Kind::Record) && ZONE.iter().any(missing)
    }

    fn next_of_serials(&mut self) -> Next {
        let wanted = serials::data(&self.parts.instance.planner().implied_serials());
        let held = self.live.serials().map(|held| &held.data);
        if held.map_or(wanted.is_empty(), |held| *held == wanted) {
            return None;
        }
        let write = compose::apply_serials(&self.parts.namespace, &wanted)?;
        Some((Purpose::Serials, write))
    }
}
