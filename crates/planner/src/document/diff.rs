//! What differs between two plans.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{Document, DocumentObject, DocumentRecordSet, DocumentView, DocumentZone};

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
    /// A view.
    View(Pair<DocumentView>),
    /// A zone, its SOA included.
    Zone(Box<Pair<DocumentZone>>),
    /// A record set.
    RecordSet(Pair<DocumentRecordSet>),
    /// A child object.
    Child(Pair<DocumentObject>),
    /// What is applied to a declared object, its status above all.
    Object(Pair<DocumentObject>),
}

/// All differences: views, zones, record sets, children, then objects, each in the documents' order.
pub fn diff(before: &Document, after: &Document) -> Vec<Difference> {
    let views = pairs(&before.views, &after.views, |view| &view.name).map(Difference::View);
    let zones = pairs(&before.zones, &after.zones, |zone| (&zone.origin, &zone.scope));
    let zones = zones.map(|pair| Difference::Zone(Box::new(pair)));
    let sets =
        pairs(&before.record_sets, &after.record_sets, DocumentRecordSet::key).map(Difference::RecordSet);
    let children = pairs(&before.children, &after.children, DocumentObject::key).map(Difference::Child);
    let objects = pairs(&before.objects, &after.objects, DocumentObject::key).map(Difference::Object);
    views.chain(zones).chain(sets).chain(children).chain(objects).collect()
}

/// The items that are not the same on both sides, by key.
fn pairs<'a, T: Clone + PartialEq, K: Ord + 'a>(
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
