//! Makes a batch of changes, and finds out which of them the server does not take.
//!
//! A message that is not taken as a whole is halved until what is wrong stands alone; the rest lands.
//! Before that an update that changes nothing tells whether it is about the records at all: a key that
//! may not write, a zone that is gone or a guard that does not hold would fail every half.

use dns::{Name, Rtype};
use tokio::time::Instant;

use super::connection::Connection;
use super::message::{self, Line, Request};
use super::update::{self, after, before, claims_size, prerequisites};
use super::{Rfc2136, rcode};
use crate::unit::{Claim, Unit, numbers, units};
use crate::{Batch, Failure};

/// So many messages are tried while not one of them lands, as with a key that may write nothing.
const PATIENCE: usize = 256;

type Results = Vec<Result<(), Failure>>;

/// A batch on its way.
struct Writing<'a> {
    connection: Connection<'a>,
    zone: &'a Name,
    guards: Vec<Claim<'a>>,
    results: Results,
}

impl Rfc2136 {
    /// Makes changes, and tells how each fared. All of it takes no longer than one answer may: whoever
    /// lets us write counts on that.
    pub(super) async fn make(&self, batch: &Batch) -> Results {
        let end = Instant::now() + self.timeout;
        let fail = |failure: Failure| batch.changes.iter().map(|_| Err(failure.clone())).collect();
        let connection = match self.connect().await {
            Ok(connection) => connection,
            Err(failure) => return fail(failure),
        };
        let (units, guards) = units(batch);
        // What nobody comes to has not been made.
        let results = fail(Failure::TimedOut);
        let mut writing = Writing { connection, zone: &batch.zone, guards, results };
        match tokio::time::timeout_at(end, writing.run(&units)).await {
            Ok(Ok(())) | Err(_) => writing.results,
            Ok(Err((failure, left))) => self.failed(batch, writing.results, failure, left).await,
        }
    }

    /// Gives what is left the failure of the whole; of a refusal it finds out what it is about.
    async fn failed(
        &self,
        batch: &Batch,
        mut results: Results,
        failure: Failure,
        left: Vec<usize>,
    ) -> Results {
        let failure = match failure {
            Failure::Authentication => self.why_not(&batch.zone).await,
            failure => failure,
        };
        for number in left.into_iter().filter(|number| results[*number].is_err()).collect::<Vec<_>>() {
            results[number] = Err(failure.clone());
        }
        results
    }
}

/// Why nothing more can be done, and what is left.
type Stopped = (Failure, Vec<usize>);

impl<'a> Writing<'a> {
    async fn run(&mut self, units: &[Unit<'a>]) -> Result<(), Stopped> {
        let messages = update::messages(units, claims_size(&self.guards));
        let all = messages.len();
        let mut work = self.send_together(messages).await.map_err(|failure| (failure, numbers([units])))?;
        let (mut is_about_records, mut has_landed, mut tries) = (false, work.len() < all, 0);
        while let Some(units) = work.pop() {
            let Err(failure) = self.send(units).await else {
                self.note(units, &Ok(()));
                has_landed = true;
                continue;
            };
            tries += 1;
            let stop = |failure| (failure, numbers(work.iter().copied().chain([units])));
            if !rcode::is_an_answer(&failure) || (tries > PATIENCE && !has_landed) {
                return Err(stop(failure));
            }
            if !is_about_records {
                self.send(&[]).await.map_err(stop)?;
                is_about_records = true;
            }
            match units {
                [unit] => self.settle(unit, failure).await.map_err(stop)?,
                units => {
                    let (first, second) = units.split_at(units.len() / 2);
                    work.extend([second, first]);
                }
            }
        }
        Ok(())
    }

    /// Sends messages at once, which a server may make as one; gives those that were not taken, the last
    /// first.
    ///
    /// They are about different names, so that none depends on the one before.
    async fn send_together<'u>(
        &mut self,
        messages: Vec<&'u [Unit<'a>]>,
    ) -> Result<Vec<&'u [Unit<'a>]>, Failure> {
        let guards = self.guards.clone();
        let requests: Result<Vec<Request>, Failure> =
            messages.iter().map(|units| self.request(units, &guards)).collect();
        // What cannot be spelled is found out one by one.
        let Ok(requests) = requests else { return Ok(messages.into_iter().rev().collect()) };
        let mut taken = vec![false; messages.len()];
        let asked =
            self.connection.ask_each(requests, |at, answer| taken[at] = answer.rcode == rcode::NOERROR);
        let asked = asked.await;
        let (landed, left): (Vec<_>, Vec<_>) = messages.into_iter().zip(taken).partition(|(_, taken)| *taken);
        landed.into_iter().for_each(|(units, _)| self.note(units, &Ok(())));
        asked.map(|()| left.into_iter().rev().map(|(units, _)| units).collect())
    }

    /// One unit that is not taken: what can stand alone is tried alone.
    async fn settle(&mut self, unit: &Unit<'a>, failure: Failure) -> Result<(), Failure> {
        match rcode::about_the_record(failure) {
            Failure::Refused(_) if unit.is_divisible() => self.make_apart(unit).await,
            failure => {
                self.note(std::slice::from_ref(unit), &Err(failure));
                Ok(())
            }
        }
    }

    /// Makes the changes of a unit one by one, each only while the others stand as they should.
    async fn make_apart(&mut self, unit: &Unit<'a>) -> Result<(), Failure> {
        for (at, &(number, change)) in unit.changes.iter().enumerate() {
            let others = unit.changes.iter().enumerate().filter(|(other, _)| *other != at);
            let others = others.filter(|(_, (_, change))| change.key.rtype != Rtype::SOA);
            let claims = others.map(|(_, (other, change))| {
                let is_made = self.results[*other].is_ok();
                (&change.key, if is_made { after(change) } else { before(change) })
            });
            let all = self.guards.iter().copied().chain(claims).collect::<Vec<_>>();
            let alone = Unit { changes: vec![(number, change)], guards: unit.guards.clone() };
            let result = self.send_with(std::slice::from_ref(&alone), &all).await;
            if let Some(failure) = result.as_ref().err().filter(|failure| !rcode::is_an_answer(failure)) {
                return Err(failure.clone());
            }
            self.results[number] = result.map_err(rcode::about_the_record);
        }
        Ok(())
    }

    async fn send(&mut self, units: &[Unit<'a>]) -> Result<(), Failure> {
        let guards = self.guards.clone();
        self.send_with(units, &guards).await
    }

    async fn send_with(&mut self, units: &[Unit<'a>], guards: &[Claim<'_>]) -> Result<(), Failure> {
        let request = self.request(units, guards)?;
        match self.connection.ask(request).await?.rcode {
            rcode::NOERROR => Ok(()),
            code => Err(rcode::failure(code)),
        }
    }

    fn request(&mut self, units: &[Unit<'a>], guards: &[Claim<'_>]) -> Result<Request, Failure> {
        let claims = guards.iter().copied().chain(units.iter().flat_map(Unit::claims));
        let lines: Vec<Line<'_>> = claims.flat_map(prerequisites).collect();
        let mut operations = Vec::new();
        for unit in units {
            operations.extend(unit.operations(self.zone)?);
        }
        message::update(self.connection.next_id(), self.zone, &lines, &operations)
    }

    fn note(&mut self, units: &[Unit<'a>], result: &Result<(), Failure>) {
        numbers([units]).into_iter().for_each(|number| self.results[number] = result.clone());
    }
}
