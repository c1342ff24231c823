//! What was written to providers, for who prints it: the first sets of a while and how many more there were.

use std::sync::Arc;

use backends::delivery::{Report, SetResult, Written};
use dns::{Name, RecordSet, Rtype};

/// How many sets are kept until somebody takes them.
const MOST: usize = 20;

/// What was done to a record set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// It was made.
    Created,
    /// It was changed.
    Updated,
    /// It was deleted.
    Deleted,
}

/// A record set that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenSet {
    /// The class whose provider it is.
    pub class: Arc<str>,
    /// What was done.
    pub deed: Deed,
    /// Its name.
    pub name: Name,
    /// Its type.
    pub rtype: Rtype,
    /// What the provider has now.
    pub set: Option<RecordSet>,
}

/// The sets that were written since somebody took them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WrittenSets {
    /// The first of them.
    pub sets: Vec<WrittenSet>,
    /// How many more there were.
    pub more: u64,
}

impl WrittenSets {
    pub(super) fn note(&mut self, class: &Arc<str>, reports: &[Report]) {
        for report in reports {
            let Report::Set { key, result, .. } = report else { continue };
            let Some((deed, set)) = deed(result) else { continue };
            if self.sets.len() == MOST {
                self.more += 1;
                continue;
            }
            let (name, rtype) = (key.name.clone(), key.rtype);
            self.sets.push(WrittenSet { class: class.clone(), deed, name, rtype, set: set.cloned() });
        }
    }
}

fn deed(result: &SetResult) -> Option<(Deed, Option<&RecordSet>)> {
    match result {
        SetResult::Stands { set, written: Some(Written::Created), .. } => Some((Deed::Created, Some(set))),
        SetResult::Stands { set, written: Some(Written::Updated), .. } => Some((Deed::Updated, Some(set))),
        SetResult::Absent { deleted: true } => Some((Deed::Deleted, None)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use backends::SetKey;

    use super::*;

    #[test]
    fn a_flood_is_counted_and_what_was_not_written_is_not() {
        let name = Name::parse("www.example.org").unwrap();
        let report = |deleted| Report::Set {
            zone: name.clone(),
            key: SetKey { name: name.clone(), rtype: Rtype::A },
            result: SetResult::Absent { deleted },
        };
        let mut written = WrittenSets::default();
        written.note(&"edge".into(), &[report(false)]);
        assert_eq!(written, WrittenSets::default());
        written.note(&"edge".into(), &vec![report(true); MOST + 5]);
        assert_eq!((written.sets.len(), written.more), (MOST, 5));
        assert_eq!(written.sets[0].deed, Deed::Deleted);
    }
}
