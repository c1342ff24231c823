//! One request to a provider, and how it went.

use std::sync::Arc;

use dns::Name;

use super::agenda::Place;
use crate::{Batch, Entry, Failure, NewZone, OpenedZone, Provider, SetKey};

/// Something to do for a place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Task {
    pub(super) place: Place,
    pub(super) job: Job,
}

/// What to do.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Job {
    Open(NewZone),
    /// Finds the zone that holds an origin, and makes none.
    Seek,
    ReadZone,
    /// Some sets, which are those of these names and their marks.
    ReadSets {
        keys: Vec<(SetKey, Option<Name>)>,
        names: Vec<Name>,
    },
    Revision(Purpose),
    Write(Arc<Writing>),
    Settle,
}

/// Why a revision is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To know it after our own writes.
    Remember,
    /// To know which state a reading of the zone shows at least.
    BeforeReading,
    /// To know before writing whether somebody else wrote meanwhile.
    BeforeWriting,
    /// To know whether somebody else wrote meanwhile.
    Drift,
}

/// A batch, and for each of its changes the name that it is for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Writing {
    pub(super) what: What,
    pub(super) batch: Batch,
    pub(super) names: Vec<Name>,
}

/// What a batch is made of; never both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Marks,
    Sets,
    /// That we live.
    Liveness,
}

/// How it went.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    Opened(Result<OpenedZone, Failure>),
    Zone(Result<Vec<Entry>, Failure>),
    Sets(Result<Vec<Option<Entry>>, Failure>),
    Revision(Result<Option<u64>, Failure>),
    Written(Vec<Result<(), Failure>>),
    Settled(Result<(), Failure>),
}

impl Task {
    /// Does it.
    pub(super) async fn perform(&self, provider: &dyn Provider) -> Outcome {
        let (Place::Origin(zone) | Place::Zone(zone)) = &self.place;
        match &self.job {
            Job::Open(zone) => Outcome::Opened(provider.open_zone(zone).await),
            Job::Seek => Outcome::Opened(seek(provider, zone).await),
            Job::ReadZone => Outcome::Zone(provider.read_zone(zone).await),
            Job::ReadSets { keys, .. } => Outcome::Sets(read_sets(provider, zone, keys).await),
            Job::Revision(_) => Outcome::Revision(provider.revision(zone).await),
            Job::Write(writing) => Outcome::Written(provider.write(&writing.batch).await),
            Job::Settle => Outcome::Settled(provider.settle(zone).await),
        }
    }

    /// The outcome where there is none but a failure.
    pub(super) fn failed(&self, failure: Failure) -> Outcome {
        match &self.job {
            Job::Open(_) | Job::Seek => Outcome::Opened(Err(failure)),
            Job::ReadZone => Outcome::Zone(Err(failure)),
            Job::ReadSets { .. } => Outcome::Sets(Err(failure)),
            Job::Revision(_) => Outcome::Revision(Err(failure)),
            Job::Write(writing) => Outcome::Written(vec![Err(failure); writing.batch.changes.len()]),
            Job::Settle => Outcome::Settled(Err(failure)),
        }
    }
}

/// An answer for fewer keys than were asked for says nothing about the others.
async fn read_sets(
    provider: &dyn Provider,
    zone: &Name,
    keys: &[(SetKey, Option<Name>)],
) -> Result<Vec<Option<Entry>>, Failure> {
    let sets = provider.read_sets(zone, keys).await?;
    if sets.len() == keys.len() { Ok(sets) } else { Err(Failure::Unreadable) }
}

/// The zone of a provider that holds an origin, found by asking for each that could.
async fn seek(provider: &dyn Provider, origin: &Name) -> Result<OpenedZone, Failure> {
    for zone in origin.suffixes().filter(|zone| !zone.is_root()) {
        match provider.revision(&zone).await {
            Ok(_) => return Ok(OpenedZone { origin: zone, made: false }),
            Err(Failure::NoZone) => {}
            Err(failure) => return Err(failure),
        }
    }
    Err(Failure::NoZone)
}
