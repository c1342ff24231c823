//! Makes changes, and finds out which of them the provider does not take.
//!
//! ```text
//! read everything ──► what is still to be done ──► adjust ──► apply
//!        ▲                                                      │ not taken: in halves
//!        └──────────────────────────────────────────────────────┘
//! ```
//!
//! A provider may have made a part of what it refuses as a whole, so each try begins with reading. Many
//! say 500 about a record that they do not take as well as about a server behind them that is away; it is
//! about the record where others of the batch were taken.

use std::collections::HashMap;

use http::Method;
use serde::Serialize;

use super::endpoint::Endpoint;
use super::held::{Held, Meaning, is_as_told};
use super::{ExternalDnsWebhook, failure, json};
use crate::unit::{Claim, Unit, numbers, units};
use crate::{Batch, Entry, Failure, SetChange, SetKey};

/// After so many server errors without any success the provider itself is taken to have failed.
const PATIENCE: usize = 64;

const REFUSED: Failure = Failure::Refused("PROVIDER_REFUSED");

type Results = Vec<Result<(), Failure>>;

/// Changes as the protocol tells them.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Changes {
    create: Vec<Endpoint>,
    update_old: Vec<Endpoint>,
    update_new: Vec<Endpoint>,
    delete: Vec<Endpoint>,
}

/// A batch on its way.
struct Applying<'a> {
    provider: &'a ExternalDnsWebhook,
    guards: Vec<Claim<'a>>,
    results: Results,
    has_landed: bool,
    errors: usize,
}

impl ExternalDnsWebhook {
    /// Makes changes, and tells how each fared. All of it takes no longer than one request may: whoever
    /// lets us write counts on that.
    pub(super) async fn make(&self, batch: &Batch) -> Results {
        // What nobody comes to has not been made.
        let results = batch.changes.iter().map(|_| Err(Failure::TimedOut)).collect();
        let (units, guards) = units(batch);
        let mut applying = Applying { provider: self, guards, results, has_landed: false, errors: 0 };
        // What is noted until then stays.
        let _ = tokio::time::timeout(self.client.timeout(), applying.run(units)).await;
        let has_landed = applying.has_landed;
        let is_about_it = |failure: &Failure| has_landed && matches!(failure, Failure::Server(_));
        let named = |failure| if is_about_it(&failure) { REFUSED } else { failure };
        applying.results.into_iter().map(|result| result.map_err(named)).collect()
    }
}

impl<'a> Applying<'a> {
    async fn run(&mut self, units: Vec<Unit<'a>>) {
        let filter = match self.provider.negotiate().await {
            Ok(filter) => filter,
            Err(failure) => return self.note(numbers([units.as_slice()]), &Err(failure)),
        };
        let is_for =
            |unit: &Unit<'_>| unit.changes.iter().all(|(_, change)| filter.matches(&change.key.name));
        let (inside, outside): (Vec<_>, Vec<_>) = units.into_iter().partition(is_for);
        self.note(numbers([outside.as_slice()]), &Err(Failure::Refused("OUTSIDE_DOMAIN_FILTER")));
        self.try_all(&inside).await;
    }

    async fn try_all(&mut self, units: &[Unit<'a>]) {
        let mut work = vec![units];
        while let Some(units) = work.pop() {
            if units.is_empty() {
                continue;
            }
            let Err(failure) = self.attempt(units, Part::Whole).await else { continue };
            self.errors += usize::from(matches!(failure, Failure::Server(_)));
            if !is_divided(&failure) || (self.errors > PATIENCE && !self.has_landed) {
                return self.note(numbers(work.into_iter().chain([units])), &Err(failure));
            }
            match units {
                [unit] if unit.is_divisible() => self.make_apart(unit).await,
                [unit] if unit.changes.len() > 1 => self.exchange(unit).await,
                [_] => self.note(numbers([units]), &Err(failure)),
                units => {
                    let (first, second) = units.split_at(units.len() / 2);
                    work.extend([second, first]);
                }
            }
        }
    }

    /// The changes of a unit one after another, in their order.
    async fn make_apart(&mut self, unit: &Unit<'a>) {
        for change in &unit.changes {
            let alone = [Unit { changes: vec![*change], guards: unit.guards.clone() }];
            if let Err(failure) = self.attempt(&alone, Part::Whole).await {
                self.note([change.0], &Err(failure));
            }
        }
    }

    /// A name that changes between CNAME and other types, at a provider that cannot take both at once:
    /// the old goes first, and comes back where the new is not taken.
    async fn exchange(&mut self, unit: &Unit<'a>) {
        let parts = std::slice::from_ref(unit);
        let mut made = self.attempt(parts, Part::Deletions).await;
        if made.is_ok() {
            made = self.attempt(parts, Part::Whole).await;
            if made.is_err() {
                // What it comes back with is all that can be said; the next reading tells the rest.
                let _ = self.put_back(unit).await;
            }
        }
        if let Err(failure) = made {
            self.note(numbers([parts]), &Err(failure));
        }
    }

    async fn put_back(&self, unit: &Unit<'a>) -> Result<(), Failure> {
        let held = self.provider.records().await?;
        let gone = unit.changes.iter().filter_map(|(_, change)| change.before.as_ref());
        let is_missing = |entry: &&Entry| held.endpoints(&SetKey::of(&entry.set)).is_empty();
        let create: Vec<Endpoint> = gone.filter(is_missing).map(Endpoint::of).collect();
        self.provider.apply(&Changes { create, ..Changes::default() }).await
    }

    /// One try at some units. What is done, or cannot be, is noted; an error is about all the rest.
    async fn attempt(&mut self, units: &[Unit<'a>], part: Part) -> Result<(), Failure> {
        let held = self.provider.records().await?;
        let (sound, unsound): (Vec<&Unit<'a>>, Vec<&Unit<'a>>) =
            units.iter().partition(|unit| self.stand(&self.guards, &held) && self.stand(&unit.guards, &held));
        for unit in unsound {
            self.note(numbers([std::slice::from_ref(unit)]), &Err(Failure::Changed));
        }
        let changes: Vec<(usize, &SetChange)> = sound.iter().flat_map(|unit| unit.changes.clone()).collect();
        let wanted = changes.iter().filter_map(|(_, change)| change.after.as_ref());
        let meanings = self.provider.adjusted(wanted).await?;
        let mut open = Vec::new();
        let mut told = Changes::default();
        for (number, change) in changes {
            match self.judge(change, &held, &meanings) {
                Judged::Open => {
                    told.add(change, &held, &meanings, part);
                    open.push(number);
                }
                Judged::Done => self.note([number], &Ok(())),
                Judged::Not(failure) => self.note([number], &Err(failure)),
            }
        }
        if !told.is_empty() {
            self.provider.apply(&told).await?;
            self.has_landed = true;
        }
        self.note(open, &Ok(()));
        self.provider.meanings().extend(meanings);
        Ok(())
    }

    fn stand(&self, guards: &[Claim<'_>], held: &Held) -> bool {
        let known = self.provider.meanings();
        let stands = |key: &SetKey| held.entry(key, &known).map(|entry| entry.set);
        guards.iter().all(|(key, set)| stands(key).as_ref() == *set)
    }

    fn judge(&self, change: &SetChange, held: &Held, meanings: &HashMap<SetKey, Meaning>) -> Judged {
        let endpoints = held.endpoints(&change.key);
        match (&change.after, endpoints) {
            (None, []) => return Judged::Done,
            (Some(_), _) => match meanings.get(&change.key) {
                None => return Judged::Not(Failure::Refused("PROVIDER_DOES_NOT_TAKE_IT")),
                Some(meaning) if endpoints.len() == 1 && is_as_told(&endpoints[0], &meaning.adjusted) => {
                    return Judged::Done;
                }
                Some(_) => (),
            },
            _ => (),
        }
        let known = self.provider.meanings();
        let stands = held.entry(&change.key, &known);
        let is_untold = stands.is_none() && !endpoints.is_empty();
        let is_routed = endpoints.iter().any(|endpoint| !endpoint.set_identifier.is_empty());
        let before = change.before.as_ref().map(|entry| &entry.set);
        match is_untold || is_routed || stands.as_ref().map(|entry| &entry.set) != before {
            true => Judged::Not(Failure::Changed),
            false => Judged::Open,
        }
    }

    fn note(&mut self, numbers: impl IntoIterator<Item = usize>, result: &Result<(), Failure>) {
        for number in numbers {
            self.results[number] = result.clone();
        }
    }
}

/// Which of the changes a try is about.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Whole,
    Deletions,
}

/// What is to be done about a change.
enum Judged {
    Open,
    Done,
    Not(Failure),
}

impl Changes {
    fn add(&mut self, change: &SetChange, held: &Held, meanings: &HashMap<SetKey, Meaning>, part: Part) {
        let old = held.endpoints(&change.key).to_vec();
        let new = meanings
            .get(&change.key)
            .filter(|_| change.after.is_some())
            .map(|meaning| meaning.adjusted.clone());
        match new {
            None => self.delete.extend(old),
            Some(_) if part == Part::Deletions => (),
            Some(new) if old.is_empty() => self.create.push(new),
            Some(new) => {
                self.update_old.extend(old);
                self.update_new.push(new);
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.create.is_empty() && self.update_new.is_empty() && self.delete.is_empty()
    }
}

impl ExternalDnsWebhook {
    async fn apply(&self, changes: &Changes) -> Result<(), Failure> {
        let answer = self.send(Method::POST, "/records", json(changes)?).await?;
        match answer.status.as_u16() {
            204 => Ok(()),
            _ => Err(failure(&answer)),
        }
    }

    /// What the provider makes of each wanted set; those that it drops are not there.
    async fn adjusted<'e>(
        &self,
        wanted: impl Iterator<Item = &'e Entry>,
    ) -> Result<HashMap<SetKey, Meaning>, Failure> {
        let wanted: Vec<&Entry> = wanted.collect();
        if wanted.is_empty() {
            return Ok(HashMap::new());
        }
        let sent: Vec<Endpoint> = wanted.iter().copied().map(Endpoint::of).collect();
        let adjusted = self.adjust(&sent).await?;
        let of_key: HashMap<SetKey, Endpoint> =
            adjusted.into_iter().filter_map(|endpoint| Some((endpoint.key()?, endpoint))).collect();
        let meaning = |entry: &Entry| {
            let key = SetKey::of(&entry.set);
            let adjusted = of_key.get(&key)?.clone();
            Some((key, Meaning { wanted: entry.clone(), adjusted }))
        };
        Ok(wanted.into_iter().filter_map(meaning).collect())
    }
}

/// Whether a part of what was not taken may be taken.
fn is_divided(failure: &Failure) -> bool {
    matches!(failure, Failure::Refused(_) | Failure::Server(_) | Failure::TooLarge)
}
