//! Changes that belong together: those of one name, its marks included.
//!
//! A batch has many names, and what must stand besides is mostly about one of them: the mark of a name
//! whose records change, the records of a name that is marked. A provider that cannot make a whole
//! batch at once may part it between units, but within one only with care: a name that changes from one
//! type to another must not be left without an answer.

use std::collections::HashMap;

use dns::{Name, RecordSet, Rtype};

use crate::marks::{corner, mark_name};
use crate::{Batch, SetChange, SetKey};

/// Something that must stand, or must not.
pub(crate) type Claim<'a> = (&'a SetKey, Option<&'a RecordSet>);

/// Some changes that belong together, by their numbers in the batch, and what must stand for them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unit<'a> {
    pub(crate) changes: Vec<(usize, &'a SetChange)>,
    pub(crate) guards: Vec<Claim<'a>>,
}

/// The changes of a batch by what they belong to, in the order in which each begins; and what must stand
/// for all of them.
pub(crate) fn units(batch: &Batch) -> (Vec<Unit<'_>>, Vec<Claim<'_>>) {
    let (mut units, mut places) = (Vec::<Unit<'_>>::new(), HashMap::new());
    for (number, change) in batch.changes.iter().enumerate() {
        let at = *places.entry(subject(&batch.zone, &change.key.name)).or_insert(units.len());
        match units.get_mut(at) {
            Some(unit) => unit.changes.push((number, change)),
            None => units.push(Unit { changes: vec![(number, change)], guards: Vec::new() }),
        }
    }
    let mut common = Vec::new();
    for (key, set) in &batch.guards {
        let place = places.get(&subject(&batch.zone, &key.name)).and_then(|at| units.get_mut(*at));
        place.map_or(&mut common, |unit| &mut unit.guards).push((key, set.as_ref()));
    }
    (units, common)
}

/// What a name belongs to: the place below which all of its marks stand, also for the marks themselves.
fn subject(zone: &Name, name: &Name) -> Name {
    let is_mark = corner(zone).is_some_and(|corner| name.is_below(&corner));
    let mark = if is_mark { Some(name.clone()) } else { mark_name("", name, zone) };
    mark.and_then(|mark| mark.parent()).unwrap_or_else(|| name.clone())
}

/// The numbers of all changes of some units.
pub(crate) fn numbers<'u, 'a: 'u>(units: impl IntoIterator<Item = &'u [Unit<'a>]>) -> Vec<usize> {
    units.into_iter().flatten().flat_map(|unit| unit.changes.iter().map(|(number, _)| *number)).collect()
}

impl Unit<'_> {
    /// Whether its changes can be made one by one: not where a CNAME comes or goes, which stands beside
    /// nothing else.
    pub(crate) fn is_divisible(&self) -> bool {
        self.changes.len() > 1 && self.changes.iter().all(|(_, change)| change.key.rtype != Rtype::CNAME)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use dns::Rdata;

    use super::*;
    use crate::Entry;
    use crate::marks::mark_key;

    fn creation(key: &SetKey) -> SetChange {
        let data = if key.rtype == Rtype::TXT { Rdata::txt("x") } else { Rdata::a([192, 0, 2, 1].into()) };
        let set = RecordSet::new(key.name.clone(), key.rtype, 300, vec![data]);
        SetChange { key: key.clone(), before: None, after: Some(Entry::from(set)) }
    }

    #[test]
    fn a_name_its_marks_and_what_must_stand_for_it_are_one() {
        let zone = Name::parse("example.org").unwrap();
        let address = |text: &str| SetKey { name: Name::parse(text).unwrap(), rtype: Rtype::A };
        let (one, two) = (address("one.example.org"), address("two.example.org"));
        let mark = |key: &SetKey, owner: &str| mark_key(owner, &key.name, &zone).unwrap();
        let elsewhere = address("three.example.org");
        let batch = Batch {
            zone: zone.clone(),
            changes: [&one, &two, &mark(&two, "us"), &mark(&one, "us")].map(creation).to_vec(),
            guards: vec![(mark(&one, "them"), None), (elsewhere.clone(), None)],
            generation: 1,
        };
        let (units, common) = units(&batch);
        let told: Vec<Vec<usize>> = units.iter().map(|unit| numbers([std::slice::from_ref(unit)])).collect();
        assert_eq!(told, [[0, 3], [1, 2]]);
        assert_eq!(units[0].guards, [(&mark(&one, "them"), None)]);
        assert_eq!((&units[1].guards, common), (&Vec::new(), vec![(&elsewhere, None)]));
    }
}
