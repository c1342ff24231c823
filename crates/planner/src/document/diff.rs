//! What differs between two plans.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use dns::{Name, Rtype};
use serde::Serialize;

use super::{
    Document, DocumentObject, DocumentRecordSet, DocumentView, DocumentZone, STEERED, settings, status,
};
use crate::query::IMPLIED;

/// Something before and after: at least one of the two is there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair<T> {
    /// As it was; `None` for what is added.
    pub before: Option<T>,
    /// As it will be; `None` for what is removed.
    pub after: Option<T>,
}

impl<T> Pair<T> {
    /// What is there: as it will be, else as it was.
    pub fn either(&self) -> Option<&T> {
        self.after.as_ref().or(self.before.as_ref())
    }
}

/// One difference between two plans.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Difference {
    /// What an object sets that is on no record set, such as where a class delivers to.
    Setting(Pair<DocumentObject>),
    /// A view.
    View(Pair<DocumentView>),
    /// A zone, its SOA included.
    Zone(Box<Pair<DocumentZone>>),
    /// A record set.
    RecordSet(Box<Pair<DocumentRecordSet>>),
    /// A child object.
    Child(Pair<DocumentObject>),
    /// What is applied to a declared object, its status above all.
    Object(Pair<DocumentObject>),
}

/// All differences: settings, views, zones, record sets, children, then objects, each in the documents' order.
///
/// The settings of objects, and the steering and the owners of record sets, are compared where both plans have them.
pub fn diff(before: &Document, after: &Document) -> Vec<Difference> {
    let steered = before.has_steering() && after.has_steering();
    let (old_sets, new_sets) = (compared_sets(before, steered), compared_sets(after, steered));
    let settings = settings::changed(before, after).filter(|_| steered).map(Difference::Setting);
    let views = pairs(&before.views, &after.views, |view| &view.name).map(Difference::View);
    let zones = pairs(&before.zones, &after.zones, |zone| (&zone.origin, &zone.scope));
    let zones = zones
        .map(|pair| compared_zone(pair, steered).without_new_owner())
        .filter(|pair| pair.before != pair.after);
    let zones = zones.map(|pair| Difference::Zone(Box::new(pair)));
    let sets = pairs(&old_sets, &new_sets, DocumentRecordSet::key);
    let implied = implied(before, after);
    let sets = sets.map(|pair| pair.without_new_owner(&implied)).filter(|pair| pair.before != pair.after);
    let sets = sets.map(|pair| Difference::RecordSet(Box::new(pair)));
    let children = pairs(&before.children, &after.children, DocumentObject::key).map(Difference::Child);
    let objects = pairs(&before.objects, &after.objects, DocumentObject::key);
    let objects = objects.filter_map(status::compared).map(Difference::Object);
    settings.chain(views).chain(zones).chain(sets).chain(children).chain(objects).collect()
}

impl Document {
    /// Whether its record sets carry their steering and owners, as those of older versions do not.
    pub fn has_steering(&self) -> bool {
        self.version >= STEERED
    }
}

/// The zones that objects in them imply in both plans. Of several such objects one is the owner of the zone's own record
/// sets; that another one takes its place is no difference.
fn implied<'a>(before: &'a Document, after: &'a Document) -> BTreeSet<&'a Name> {
    let of = |document: &'a Document| document.zones.iter().filter(|zone| zone.is_implied());
    let old: BTreeSet<&Name> = of(before).map(|zone| &zone.origin).collect();
    of(after).map(|zone| &zone.origin).filter(|origin| old.contains(origin)).collect()
}

impl DocumentZone {
    fn is_implied(&self) -> bool {
        self.source == IMPLIED
    }
}

impl Pair<DocumentZone> {
    fn without_new_owner(mut self) -> Self {
        if let (Some(before), Some(after)) = (&mut self.before, &self.after)
            && before.is_implied()
            && after.is_implied()
            && let (Some(before), Some(after)) = (&mut before.soa, &after.soa)
        {
            before.owners.clone_from(&after.owners);
        }
        self
    }
}

impl Pair<DocumentRecordSet> {
    fn without_new_owner(mut self, implied: &BTreeSet<&Name>) -> Self {
        if let (Some(before), Some(after)) = (&mut self.before, &self.after)
            && (before.rtype, &before.name) == (Rtype::NS, &before.zone)
            && implied.contains(&before.zone)
        {
            before.owners.clone_from(&after.owners);
        }
        self
    }
}

impl DocumentRecordSet {
    fn unsteered(&self) -> DocumentRecordSet {
        DocumentRecordSet { steering: None, owners: Vec::new(), ..self.clone() }
    }
}

fn compared_sets(document: &Document, steered: bool) -> Cow<'_, [DocumentRecordSet]> {
    match steered {
        true => Cow::Borrowed(&document.record_sets),
        false => document.record_sets.iter().map(DocumentRecordSet::unsteered).collect(),
    }
}

fn compared_zone(pair: Pair<DocumentZone>, steered: bool) -> Pair<DocumentZone> {
    let compared = |zone: DocumentZone| match steered {
        true => zone,
        false => DocumentZone { soa: zone.soa.as_ref().map(DocumentRecordSet::unsteered), ..zone },
    };
    Pair { before: pair.before.map(compared), after: pair.after.map(compared) }
}

/// The items that are not the same on both sides, by key.
pub(super) fn pairs<'a, T: Clone + PartialEq, K: Ord + 'a>(
    before: &'a [T],
    after: &'a [T],
    key: impl Fn(&'a T) -> K,
) -> impl Iterator<Item = Pair<T>> {
    let mut sides: BTreeMap<K, (Option<&T>, Option<&T>)> = BTreeMap::new();
    for item in before {
        sides.entry(key(item)).or_default().0 = Some(item);
    }
    for item in after {
        sides.entry(key(item)).or_default().1 = Some(item);
    }
    let differ = sides.into_values().filter(|(before, after)| before != after);
    differ.map(|(before, after)| Pair { before: before.cloned(), after: after.cloned() })
}
