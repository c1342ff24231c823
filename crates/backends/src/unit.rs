//! Changes that belong together: those of one name, its mark included.
//!
//! A provider that cannot make a whole batch at once may part it between units, but within one only
//! with care: a name that changes from one type to another must not be left without an answer.

use std::collections::HashMap;

use dns::{Name, Rtype};

use crate::{Batch, SetChange};

/// Some changes that belong together, by their numbers in the batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Unit<'a> {
    pub(crate) changes: Vec<(usize, &'a SetChange)>,
}

/// The changes of a batch by what they belong to, in the order in which each begins.
pub(crate) fn units(batch: &Batch) -> Vec<Unit<'_>> {
    let mut units: Vec<Unit<'_>> = Vec::new();
    let mut places = HashMap::new();
    for (number, change) in batch.changes.iter().enumerate() {
        let at = *places.entry(subject(&batch.zone, &change.key.name)).or_insert(units.len());
        match units.get_mut(at) {
            Some(unit) => unit.changes.push((number, change)),
            None => units.push(Unit { changes: vec![(number, change)] }),
        }
    }
    units
}

/// What a change belongs to.
fn subject(_zone: &Name, name: &Name) -> Name {
    name.clone()
}

/// The numbers of all changes of some units.
pub(crate) fn numbers<'u, 'a: 'u>(units: impl IntoIterator<Item = &'u [Unit<'a>]>) -> Vec<usize> {
    units.into_iter().flatten().flat_map(|unit| unit.changes.iter().map(|(number, _)| *number)).collect()
}

impl Unit<'_> {
    /// Whether a CNAME comes or goes, which stands beside nothing else: then its changes are one.
    pub(crate) fn is_divisible(&self) -> bool {
        self.changes.len() > 1 && self.changes.iter().all(|(_, change)| change.key.rtype != Rtype::CNAME)
    }
}
