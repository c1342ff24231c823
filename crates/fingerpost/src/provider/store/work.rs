//! What wishes amount to in one zone, and whose record is whose there (pure).
//!
//! Where others write too, a mark says what came through here. What stands there without one is not ours:
//! it cannot be seen, changed or deleted. A mark comes before its record and goes after it, so that a crash
//! in between leaves no record that nobody owns.

use std::collections::{BTreeMap, BTreeSet};

use backends::marks::{Mark, mark_key};
use backends::{Entry, Failure, SetChange, SetKey};
use dns::{Name, Rtype};

use super::Wish;

/// The wishes for one zone, and what has to be read for them.
pub(super) struct Work<'a> {
    zone: &'a Name,
    owner: Option<&'a str>,
    wishes: &'a [&'a Wish],
    /// The names with marks, in the order of their keys.
    marked: Vec<(Name, SetKey)>,
}

/// What is to be written, and how the wishes fared that need no writing.
pub(super) struct Judged {
    /// What stood there before, or why the wish cannot come true.
    pub(super) results: Vec<Result<Option<Entry>, Failure>>,
    /// The changes in their order, each with the wish that it is for.
    pub(super) changes: Vec<(Option<usize>, SetChange)>,
}

impl<'a> Work<'a> {
    pub(super) fn new(zone: &'a Name, owner: Option<&'a str>, wishes: &'a [&'a Wish]) -> Work<'a> {
        let names: BTreeSet<&Name> = wishes.iter().map(|wish| &wish.key.name).collect();
        let key = |name: &Name| Some((name.clone(), mark_key(owner?, name, zone)?));
        Work { zone, owner, wishes, marked: names.into_iter().filter_map(key).collect() }
    }

    /// What has to be read: the sets of the wishes, then the marks.
    pub(super) fn keys(&self) -> Vec<(SetKey, Option<Name>)> {
        let wished = self.wishes.iter().map(|wish| wish.key.clone());
        wished.chain(self.marked.iter().map(|(_, key)| key.clone())).map(|key| (key, None)).collect()
    }

    /// What is to be written, given what was read.
    pub(super) fn judged(&self, read: &[Option<Entry>], generation: u64) -> Result<Judged, Failure> {
        let (before, marks) = read.split_at_checked(self.wishes.len()).ok_or(Failure::Unreadable)?;
        let standing = self.standing(marks)?;
        let mut types = standing.iter().map(|(name, held)| (*name, held.types())).collect::<BTreeMap<_, _>>();
        let mut judged = Judged { results: Vec::new(), changes: Vec::new() };
        for (index, (wish, before)) in self.wishes.iter().zip(before).enumerate() {
            let held = types.get_mut(&wish.key.name);
            let result = judge(wish, before.as_ref(), held, self.owner.is_some());
            if let Ok(true) = result {
                let (key, after) = (wish.key.clone(), wish.after.clone());
                judged.changes.push((Some(index), SetChange { key, before: before.clone(), after }));
            }
            // What is not ours is not there.
            let ours = result.as_ref().is_ok_and(|changed| *changed || wish.after.is_some());
            judged.results.push(result.map(|_| before.clone().filter(|_| ours)));
        }
        self.put_marks(&standing, &types, generation, &mut judged.changes);
        Ok(judged)
    }

    /// The marks as they stand, by name. A mark that cannot be read stops everything at its name.
    fn standing<'r>(
        &'r self,
        read: &'r [Option<Entry>],
    ) -> Result<BTreeMap<&'r Name, Standing<'r>>, Failure> {
        if self.owner.is_some() && (read.len() != self.marked.len() || self.marked.is_empty()) {
            return Err(Failure::Unsupported("the zone's name is too long for marks"));
        }
        let mark = |((name, key), entry): (&'r (Name, SetKey), &'r Option<Entry>)| {
            let mark = entry.as_ref().and_then(|entry| Mark::read(&entry.set, self.zone));
            (name, Standing { key, entry: entry.as_ref(), mark })
        };
        Ok(self.marked.iter().zip(read).map(mark).collect())
    }

    /// Marks that gain a type come first, those that lose one last.
    fn put_marks(
        &self,
        standing: &BTreeMap<&Name, Standing<'_>>,
        types: &BTreeMap<&Name, BTreeSet<Rtype>>,
        generation: u64,
        changes: &mut Vec<(Option<usize>, SetChange)>,
    ) {
        let mut gaining = Vec::new();
        for (name, held) in standing {
            let wanted = &types[name];
            if *wanted == held.types() {
                continue;
            }
            let change = SetChange {
                key: held.key.clone(),
                before: held.entry.cloned(),
                after: self.mark(name, wanted.clone(), generation).map(Entry::from),
            };
            match wanted.is_superset(&held.types()) {
                true => gaining.push((None, change)),
                false => changes.push((None, change)),
            }
        }
        changes.splice(0..0, gaining);
    }

    fn mark(&self, name: &Name, types: BTreeSet<Rtype>, generation: u64) -> Option<dns::RecordSet> {
        let owner = self.owner.filter(|_| !types.is_empty())?.to_owned();
        Mark::new(owner, generation, name.clone(), types).to_set(self.zone)
    }
}

/// What stands where a mark belongs.
struct Standing<'a> {
    key: &'a SetKey,
    entry: Option<&'a Entry>,
    mark: Option<Mark>,
}

impl Standing<'_> {
    fn types(&self) -> BTreeSet<Rtype> {
        self.mark.as_ref().map(|mark| mark.types.clone()).unwrap_or_default()
    }
}

/// Whether a wish needs a change; `held` are the types at its name that are marked as ours.
fn judge(
    wish: &Wish,
    before: Option<&Entry>,
    held: Option<&mut BTreeSet<Rtype>>,
    marks: bool,
) -> Result<bool, Failure> {
    let rtype = wish.key.rtype;
    let ours = !marks || held.as_ref().is_some_and(|held| held.contains(&rtype));
    match (&wish.after, before) {
        (Some(_), Some(_)) if !ours => Err(Failure::Refused("RECORD_NOT_OWNED")),
        (None, Some(_)) if !ours => Ok(false),
        (after, before) => {
            if let Some(held) = held {
                let _ = if after.is_some() { held.insert(rtype) } else { held.remove(&rtype) };
            }
            Ok(!is_same(before, after.as_ref()))
        }
    }
}

/// Whether two entries say the same; the domain is only how it was told.
fn is_same(one: Option<&Entry>, other: Option<&Entry>) -> bool {
    let told = |entry: Option<&Entry>| entry.map(|entry| (entry.set.clone(), entry.properties.clone()));
    told(one) == told(other)
}
