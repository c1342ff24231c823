//! What both protocols write to: any [`Provider`], one change at a time or many.
//!
//! A change is worked out from what is read just before and holds only for that; where somebody else was
//! faster it is worked out again. Writers take turns.

mod work;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

use backends::webhook::protocol::Code;
use backends::{Batch, Entry, Failure, Provider, SetKey};
use dns::{Name, Rtype};

use self::work::{Judged, Work};
use super::embedded::usual;

/// How often a change is worked out anew when what stands there has moved.
const TRIES: usize = 3;

/// A place for records, and which zones of it may be touched.
pub struct Store {
    provider: Arc<dyn Provider>,
    zones: Vec<Name>,
    owner: Option<String>,
    /// The provider's zone for each of ours, once it has been found.
    opened: Mutex<BTreeMap<Name, Name>>,
    turn: tokio::sync::Mutex<()>,
}

/// What is to stand somewhere.
#[derive(Clone, Debug)]
pub struct Wish {
    /// Where.
    pub key: SetKey,
    /// What; `None` where nothing is.
    pub after: Option<Entry>,
}

/// What stood there before a wish came true.
pub type Outcome = Result<Option<Entry>, Trouble>;

/// Why a wish did not come true, in the protocol's terms.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Trouble {
    /// The code.
    pub code: Code,
    /// For people; nothing of a provider's own text is in it.
    pub message: String,
}

impl Store {
    /// A store that takes names in these zones, where everything is ours.
    pub fn new(provider: Arc<dyn Provider>, zones: Vec<Name>) -> Store {
        Store { provider, zones, owner: None, opened: Mutex::default(), turn: tokio::sync::Mutex::default() }
    }

    /// The same where others write too: what carries this owner's marks is ours.
    pub fn marked(self, owner: Option<String>) -> Store {
        Store { owner, ..self }
    }

    /// The zones that it takes names of.
    pub fn zones(&self) -> &[Name] {
        &self.zones
    }

    /// How the provider is.
    pub async fn health(&self) -> Result<(), Failure> {
        self.provider.health().await
    }

    /// Finds or makes every zone, so that each answers before it has records.
    pub async fn open_zones(&self) -> Result<(), Failure> {
        for zone in &self.zones {
            self.origin(zone).await?;
        }
        Ok(())
    }

    /// What stands at a name.
    pub async fn read(&self, name: &Name, rtype: Rtype) -> Result<Option<Entry>, Trouble> {
        let origin = self.origin_of(name).await?;
        let wish = Wish { key: SetKey { name: name.clone(), rtype }, after: None };
        // What a delete would find is what is ours.
        let wishes = [&wish];
        let work = Work::new(&origin, self.owner.as_deref(), &wishes);
        let read = self.provider.read_sets(&origin, &work.keys()).await?;
        let found = work.judged(&read, 0)?.results.pop();
        Ok(found.unwrap_or(Ok(None))?)
    }

    /// A number for each zone that moves whenever the zone changes, where the provider has such numbers.
    pub async fn revision(&self) -> Result<Option<Vec<u64>>, Failure> {
        let mut revisions = Vec::new();
        for zone in &self.zones {
            let origin = self.origin(zone).await?;
            match self.provider.revision(&origin).await? {
                Some(revision) => revisions.push(revision),
                None => return Ok(None),
            }
        }
        Ok(Some(revisions))
    }

    /// Everything in every zone, the SOAs left out.
    pub async fn list(&self) -> Result<Vec<Entry>, Failure> {
        let mut origins = BTreeSet::new();
        for zone in &self.zones {
            origins.insert(self.origin(zone).await?);
        }
        let mut entries = Vec::new();
        for origin in origins {
            let held = self.provider.read_zone(&origin).await?;
            let is_ours =
                |entry: &Entry| self.zone_of(&entry.set.name).is_some() && entry.set.rtype != Rtype::SOA;
            entries.extend(held.into_iter().filter(is_ours));
        }
        Ok(entries)
    }

    /// Makes wishes come true, and tells how each fared, in their order.
    pub async fn apply(&self, wishes: Vec<Wish>, generation: u64) -> Vec<Outcome> {
        let _turn = self.turn.lock().await;
        let mut outcomes: Vec<Option<Outcome>> = wishes.iter().map(|_| None).collect();
        for run in runs(&wishes) {
            let mut zones: BTreeMap<Name, Vec<usize>> = BTreeMap::new();
            for index in run {
                match self.origin_of(&wishes[index].key.name).await {
                    Ok(origin) => zones.entry(origin).or_default().push(index),
                    Err(trouble) => outcomes[index] = Some(Err(trouble)),
                }
            }
            for (origin, indexes) in zones {
                let wanted: Vec<&Wish> = indexes.iter().map(|index| &wishes[*index]).collect();
                let fared = self.apply_to_zone(&origin, &wanted, generation).await;
                for (index, outcome) in indexes.into_iter().zip(fared) {
                    outcomes[index] = Some(outcome);
                }
            }
        }
        outcomes.into_iter().map(|outcome| outcome.unwrap_or(Err(Failure::Server(500).into()))).collect()
    }

    async fn apply_to_zone(&self, origin: &Name, wishes: &[&Wish], generation: u64) -> Vec<Outcome> {
        let mut outcomes: Vec<Outcome> = wishes.iter().map(|_| Err(Failure::Changed.into())).collect();
        let mut open: Vec<usize> = (0..wishes.len()).collect();
        for _ in 0..TRIES {
            let wanted: Vec<&Wish> = open.iter().map(|index| wishes[*index]).collect();
            let fared = match self.try_once(origin, &wanted, generation).await {
                Ok(fared) => fared,
                Err(failure) => wanted.iter().map(|_| Err(failure.clone())).collect(),
            };
            self.unmark(origin, &wanted, &fared).await;
            let mut again = Vec::new();
            for (index, result) in open.into_iter().zip(fared) {
                if result == Err(Failure::Changed) {
                    again.push(index);
                }
                outcomes[index] = result.map_err(Trouble::from);
            }
            open = again;
            if open.is_empty() {
                break;
            }
        }
        outcomes
    }

    /// Reads what stands there, and writes what differs from it.
    async fn try_once(
        &self,
        origin: &Name,
        wishes: &[&Wish],
        generation: u64,
    ) -> Result<Vec<Result<Option<Entry>, Failure>>, Failure> {
        let work = Work::new(origin, self.owner.as_deref(), wishes);
        let read = self.provider.read_sets(origin, &work.keys()).await?;
        let Judged { mut results, changes } = work.judged(&read, generation)?;
        for part in changes.chunks(self.provider.batch_size().max(1)) {
            let changes = part.iter().map(|(_, change)| change.clone()).collect();
            let batch = Batch { zone: origin.clone(), changes, guards: Vec::new(), generation };
            for ((index, _), written) in part.iter().zip(self.provider.write(&batch).await) {
                match (index, written) {
                    (_, Ok(())) => {}
                    (Some(index), Err(failure)) => results[*index] = Err(failure),
                    // A mark that was not written: nothing that it stands for may count as done.
                    (None, Err(failure)) => return Err(failure),
                }
            }
        }
        if !changes.is_empty() {
            self.provider.settle(origin).await?;
        }
        Ok(results)
    }

    /// Takes marks back whose records were refused, or they would claim what somebody else puts there later.
    async fn unmark(&self, origin: &Name, wishes: &[&Wish], outcomes: &[Result<Option<Entry>, Failure>]) {
        let refused = |outcome: &Result<Option<Entry>, Failure>| matches!(outcome, Err(failure) if failure.is_about_the_record() && *failure != Failure::Changed);
        let wishes =
            wishes.iter().zip(outcomes).filter(|(wish, outcome)| wish.after.is_some() && refused(outcome));
        let keys: Vec<SetKey> = wishes.map(|(wish, _)| wish.key.clone()).collect();
        if self.owner.is_none() || keys.is_empty() {
            return;
        }
        if let Err(failure) = self.unmark_absent(origin, keys).await {
            tracing::warn!("a mark stays without its record: {failure}");
        }
    }

    /// Deletes nothing but marks: the keys are of sets that are not there.
    async fn unmark_absent(&self, origin: &Name, keys: Vec<SetKey>) -> Result<(), Failure> {
        let asked: Vec<(SetKey, Option<Name>)> = keys.iter().map(|key| (key.clone(), None)).collect();
        let read = self.provider.read_sets(origin, &asked).await?;
        let absent = keys.into_iter().zip(read).filter(|(_, entry)| entry.is_none());
        let wishes: Vec<Wish> = absent.map(|(key, _)| Wish { key, after: None }).collect();
        let wishes: Vec<&Wish> = wishes.iter().collect();
        self.try_once(origin, &wishes, 0).await.map(drop)
    }

    /// The provider's zone that holds a name.
    async fn origin_of(&self, name: &Name) -> Result<Name, Trouble> {
        let outside = || Trouble {
            code: Code::InvalidDomain,
            message: format!("this server takes no records at {}", name.undotted()),
        };
        Ok(self.origin(self.zone_of(name).ok_or_else(outside)?).await?)
    }

    /// The longest of our zones that holds a name.
    pub fn zone_of(&self, name: &Name) -> Option<&Name> {
        self.zones.iter().filter(|zone| name.is_in(zone)).max_by_key(|zone| zone.key().len())
    }

    async fn origin(&self, zone: &Name) -> Result<Name, Failure> {
        let known = self.opened.lock().unwrap_or_else(PoisonError::into_inner).get(zone).cloned();
        if let Some(origin) = known {
            return Ok(origin);
        }
        let origin = self.provider.open_zone(&usual(zone)).await?.origin;
        self.opened.lock().unwrap_or_else(PoisonError::into_inner).insert(zone.clone(), origin.clone());
        Ok(origin)
    }
}

/// Cuts wishes into runs in which each key stands once, so that a later wish sees what an earlier one did.
fn runs(wishes: &[Wish]) -> Vec<Vec<usize>> {
    let mut runs: Vec<Vec<usize>> = Vec::new();
    let mut seen = BTreeSet::new();
    for (index, wish) in wishes.iter().enumerate() {
        if !seen.insert(&wish.key) || runs.is_empty() {
            seen = BTreeSet::from([&wish.key]);
            runs.push(Vec::new());
        }
        if let Some(run) = runs.last_mut() {
            run.push(index);
        }
    }
    runs
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Trouble {
        let code = match &failure {
            Failure::Refused(code) => Code::parse(code).unwrap_or(Code::InvalidRecord),
            Failure::Unsupported(_) => Code::InvalidRecord,
            Failure::NoZone => Code::InvalidDomain,
            Failure::Limited(_) => Code::RateLimited,
            Failure::Fenced => Code::StaleGeneration,
            Failure::TooLarge => Code::TooLarge,
            Failure::Unreachable(_)
            | Failure::TimedOut
            | Failure::Untrusted(_)
            | Failure::Forbidden
            | Failure::Storage(_) => Code::Unavailable,
            _ => Code::ServerError,
        };
        Trouble { code, message: failure.to_string() }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use dns::{Rdata, RecordSet};

    use super::super::embedded::Embedded;
    use super::*;

    fn name(text: &str) -> Name {
        Name::parse(text).unwrap()
    }

    fn wish(owner: &str, address: Option<&str>) -> Wish {
        let key = SetKey { name: name(owner), rtype: Rtype::A };
        let set = |address: &str| {
            RecordSet::new(name(owner), Rtype::A, 60, vec![Rdata::a(address.parse().unwrap())])
        };
        Wish { key, after: address.map(|address| set(address).into()) }
    }

    fn store() -> Store {
        let (embedded, _) = Embedded::open(None).unwrap();
        Store::new(Arc::new(embedded), vec![name("sub.example.org"), name("example.org")])
    }

    #[tokio::test]
    async fn each_name_goes_to_the_longest_zone_and_none_elsewhere() {
        let store = store();
        store.open_zones().await.unwrap();
        let wishes = vec![
            wish("a.example.org", Some("192.0.2.1")),
            wish("a.sub.example.org", Some("192.0.2.2")),
            wish("a.example.net", Some("192.0.2.3")),
        ];
        let fared = store.apply(wishes, 1).await;
        assert_eq!(fared[..2], [Ok(None), Ok(None)]);
        assert_eq!(fared[2].as_ref().unwrap_err().code, Code::InvalidDomain);
        assert_eq!(store.provider.read_zone(&name("sub.example.org")).await.unwrap().len(), 2);
        assert_eq!(store.list().await.unwrap().len(), 2);
    }

    #[tokio::test]
    async fn a_later_wish_of_one_batch_sees_what_an_earlier_one_did() {
        let store = store();
        let wishes = vec![
            wish("a.example.org", Some("192.0.2.1")),
            wish("a.example.org", Some("192.0.2.2")),
            wish("a.example.org", None),
            wish("a.example.org", None),
        ];
        let fared: Vec<bool> =
            store.apply(wishes, 1).await.into_iter().map(|o| o.unwrap().is_some()).collect();
        assert_eq!(fared, [false, true, true, false]);
        assert_eq!(store.read(&name("a.example.org"), Rtype::A).await, Ok(None));
    }

    #[tokio::test]
    async fn what_is_as_wished_is_not_written() {
        let store = store();
        store.apply(vec![wish("a.example.org", Some("192.0.2.1"))], 1).await;
        let serial = store.provider.revision(&name("example.org")).await.unwrap();
        store.apply(vec![wish("a.example.org", Some("192.0.2.1"))], 1).await;
        assert_eq!(store.provider.revision(&name("example.org")).await.unwrap(), serial);
    }

    #[tokio::test]
    async fn what_carries_no_mark_of_ours_is_not_seen_changed_or_deleted() {
        let provider: Arc<dyn Provider> = Arc::new(Embedded::open(None).unwrap().0);
        let others = Store::new(provider.clone(), vec![name("example.org")]);
        let ours = Store::new(provider.clone(), vec![name("example.org")]).marked(Some("us".to_owned()));
        let (www, mail) = (name("www.example.org"), name("mail.example.org"));
        others.apply(vec![wish("www.example.org", Some("192.0.2.1"))], 1).await;
        let fared = ours
            .apply(
                vec![wish("www.example.org", Some("192.0.2.2")), wish("mail.example.org", Some("192.0.2.3"))],
                1,
            )
            .await;
        assert_eq!(fared[0].as_ref().unwrap_err().code, Code::RecordNotOwned);
        assert_eq!(fared[1], Ok(None));
        assert_eq!(ours.apply(vec![wish("www.example.org", None)], 1).await, [Ok(None)]);
        assert_eq!(ours.read(&www, Rtype::A).await, Ok(None));
        assert_eq!(
            others.read(&www, Rtype::A).await.unwrap(),
            wish("www.example.org", Some("192.0.2.1")).after
        );
        assert!(ours.read(&mail, Rtype::A).await.unwrap().is_some());
        assert_eq!(others.list().await.unwrap().len(), 3, "two records and one mark");
        assert!(ours.apply(vec![wish("mail.example.org", None)], 1).await[0].as_ref().unwrap().is_some());
        assert_eq!(others.list().await.unwrap().len(), 1, "the mark goes with its record");
    }

    #[tokio::test]
    async fn a_record_that_is_refused_leaves_no_mark() {
        let provider: Arc<dyn Provider> = Arc::new(Embedded::open(None).unwrap().0);
        let ours = Store::new(provider.clone(), vec![name("example.org")]).marked(Some("us".to_owned()));
        ours.apply(vec![wish("www.example.org", Some("192.0.2.1"))], 1).await;
        let alias = Rdata::name(Rtype::CNAME, &name("example.net"));
        let set = RecordSet::new(name("www.example.org"), Rtype::CNAME, 60, vec![alias]);
        let refused = ours.apply(vec![Wish { key: SetKey::of(&set), after: Some(set.into()) }], 1).await;
        assert_eq!(refused[0].as_ref().unwrap_err().code, Code::InvalidRecord);
        let held = provider.read_zone(&name("example.org")).await.unwrap();
        let mark = held.iter().find(|entry| entry.set.rtype == Rtype::TXT).unwrap().set.data[0].to_string();
        assert!(mark.contains("types=A\""), "{mark}");
    }
}
