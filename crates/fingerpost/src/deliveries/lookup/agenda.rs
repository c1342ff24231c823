//! What is to be looked up, and when. No clock of its own: the time is an argument.

use std::collections::{BTreeSet, HashMap};

use dns::RecordSet;
use planner::Sight;
use tokio::time::Instant;

use super::{FAST, Key, pause};

/// How many sets are on an agenda; what stands beyond them is not looked up.
const MOST: usize = 100_000;

/// One look that is due.
#[derive(Debug, PartialEq)]
pub(super) struct Look {
    pub(super) key: Key,
    pub(super) set: RecordSet,
    number: u64,
}

/// What is to be looked up.
#[derive(Default)]
pub(super) struct Agenda {
    items: HashMap<Key, Item>,
    due: BTreeSet<(Instant, u64, Key)>,
    last_number: u64,
}

struct Item {
    set: RecordSet,
    /// Which version it is: what was seen of an earlier one does not count.
    number: u64,
    due: Instant,
    looks: u32,
    told: Option<Sight>,
}

impl Agenda {
    /// Puts a set on the agenda, instead of an earlier version of it.
    pub(super) fn put(&mut self, key: Key, set: RecordSet, now: Instant) {
        self.remove(&key);
        if self.items.len() >= MOST {
            return;
        }
        self.last_number += 1;
        let item = Item { set, number: self.last_number, due: now, looks: 0, told: None };
        self.due.insert((now, item.number, key.clone()));
        self.items.insert(key, item);
    }

    /// Takes a set off the agenda.
    pub(super) fn remove(&mut self, key: &Key) {
        if let Some(item) = self.items.remove(key) {
            self.due.remove(&(item.due, item.number, key.clone()));
        }
    }

    /// When the next look is due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due.first().map(|(due, ..)| *due)
    }

    /// The next look, if it is due.
    pub(super) fn take(&mut self, now: Instant) -> Option<Look> {
        if self.due()? > now {
            return None;
        }
        let (_, number, key) = self.due.pop_first()?;
        let set = self.items.get(&key)?.set.clone();
        Some(Look { key, set, number })
    }

    /// Takes what a look saw; says what is to be told of it. What is as it should be is done with; what is
    /// not is told once the fast looks are over, or at once where waiting does not help.
    pub(super) fn saw(&mut self, look: Look, sight: Sight, now: Instant) -> Option<Sight> {
        let item = self.items.get_mut(&look.key).filter(|item| item.number == look.number)?;
        if sight == Sight::Visible {
            self.items.remove(&look.key);
            return Some(sight);
        }
        let is_settled = matches!(sight, Sight::NotDelegated | Sight::DelegatedElsewhere);
        let wait = pause(if is_settled { FAST } else { item.looks });
        item.looks = item.looks.saturating_add(1);
        item.due = now + wait;
        self.due.insert((item.due, item.number, look.key));
        let is_news = (is_settled || item.looks >= FAST) && item.told.as_ref() != Some(&sight);
        is_news.then(|| item.told.insert(sight).clone())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use std::time::Duration;

    use backends::SetKey;
    use dns::{Name, Rdata, Rtype};

    use super::*;

    fn set(name: &str, last: u8) -> (Key, RecordSet) {
        let zone = Name::parse("example.com").unwrap();
        let name = Name::parse_relative(name, &zone).unwrap();
        let set = RecordSet::new(name, Rtype::A, 300, vec![Rdata::a([192, 0, 2, last].into())]);
        ((zone, SetKey::of(&set)), set)
    }

    fn not_visible() -> Sight {
        Sight::NotVisible("ns.example.com".into())
    }

    /// The seconds between looks that see the same again and again, and at which of them it is told.
    fn pauses(sight: &Sight, looks: usize) -> (Vec<u64>, Vec<usize>) {
        let (mut agenda, start) = (Agenda::default(), Instant::now());
        let ((key, set), mut now) = (set("www", 1), start);
        agenda.put(key, set, now);
        let (mut pauses, mut told) = (Vec::new(), Vec::new());
        for number in 0..looks {
            let look = agenda.take(now).unwrap();
            assert_eq!(agenda.due(), None, "it is under way");
            if agenda.saw(look, sight.clone(), now).is_some() {
                told.push(number + 1);
            }
            let due = agenda.due().unwrap();
            assert_eq!(agenda.take(due - Duration::from_millis(1)), None);
            pauses.push((due - now).as_secs());
            now = due;
        }
        (pauses, told)
    }

    #[test]
    fn what_is_not_visible_is_looked_for_ever_slower_and_told_once() {
        let (pauses, told) = pauses(&not_visible(), 10);
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 60, 60, 600, 600]);
        assert_eq!(told, [8]);
    }

    #[test]
    fn a_missing_delegation_is_told_at_once_and_looked_for_now_and_then() {
        for sight in [Sight::NotDelegated, Sight::DelegatedElsewhere] {
            assert_eq!(pauses(&sight, 3), (vec![600, 600, 600], vec![1]));
        }
    }

    #[test]
    fn what_is_visible_is_told_and_done_with() {
        let (mut agenda, now) = (Agenda::default(), Instant::now());
        let (key, set) = set("www", 1);
        agenda.put(key, set, now);
        let look = agenda.take(now).unwrap();
        assert_eq!(agenda.saw(look, Sight::Visible, now), Some(Sight::Visible));
        assert_eq!((agenda.due(), agenda.items.len()), (None, 0));
    }

    #[test]
    fn a_newer_version_takes_the_place_of_an_older_one() {
        let (mut agenda, now) = (Agenda::default(), Instant::now());
        let ((key, old), (_, new)) = (set("www", 1), set("www", 2));
        agenda.put(key.clone(), old.clone(), now);
        let under_way = agenda.take(now).unwrap();
        agenda.put(key.clone(), new.clone(), now);
        assert_eq!(agenda.saw(under_way, Sight::Visible, now), None, "that was the old one");
        agenda.put(key.clone(), old, now);
        agenda.put(key, new.clone(), now);
        assert_eq!(agenda.take(now).unwrap().set, new);
        assert_eq!(agenda.take(now), None);
    }

    #[test]
    fn what_is_gone_is_not_looked_for() {
        let (mut agenda, now) = (Agenda::default(), Instant::now());
        let ((one, first), (two, second)) = (set("one", 1), set("two", 2));
        agenda.put(one.clone(), first, now);
        agenda.put(two.clone(), second, now);
        let under_way = agenda.take(now).unwrap();
        assert_eq!(under_way.key, one, "what came first is first");
        agenda.remove(&one);
        agenda.remove(&two);
        assert_eq!(agenda.saw(under_way, not_visible(), now), None);
        assert_eq!((agenda.due(), agenda.items.len()), (None, 0));
    }

    #[test]
    fn an_agenda_does_not_grow_for_ever() {
        let (mut agenda, now) = (Agenda::default(), Instant::now());
        for number in 0..MOST + 10 {
            let (key, set) = set(&format!("n{number}"), 1);
            agenda.put(key, set, now);
        }
        assert_eq!((agenda.items.len(), agenda.due.len()), (MOST, MOST));
    }
}
