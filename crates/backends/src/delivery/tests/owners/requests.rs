//! Requests, taken apart into the steps between which others go on.

use super::super::super::task::{Job, Outcome, Task, What};
use super::{Phase, Simulation};
use crate::{Failure, Obstacle};

impl Simulation {
    /// One step of one owner's request; says whether there was any.
    pub(super) fn advance(&mut self, number: usize) -> bool {
        if !self.is_up(number) {
            return false;
        }
        let (owner, now) = (&mut self.owners[number], self.now);
        let local = owner.clock(now);
        let Some((task, phase, sent)) = owner.request.take() else { return self.send(number) };
        let next = match phase {
            Phase::Answered(outcome) => {
                if matches!(outcome, Outcome::Zone(Ok(_))) {
                    owner.has_read = owner.was_served;
                }
                let jitter = self.chance.below(100) as f64 / 100.0;
                if let Some(book) = &mut owner.book {
                    book.done(&task, outcome, local, jitter);
                    book.use_time(local);
                }
                owner.hear();
                return true;
            }
            _ if self.has_faults && self.chance.one_in(25) => self.fail(number, &task, phase),
            Phase::Sent => self.serve(number, &task),
            Phase::Judged(sound) => self.made(number, &task, &sound),
        };
        self.owners[number].request = Some((task, next, sent));
        true
    }

    fn send(&mut self, number: usize) -> bool {
        let (owner, now) = (&mut self.owners[number], self.now);
        let (local, generation) = (owner.clock(now), owner.generation);
        let Some(book) = &mut owner.book else { return false };
        let task = book.next(local, generation, &|| true);
        book.use_time(local);
        assert_eq!(book.misplaced(local), [], "not everything that is needed is on its way");
        owner.hear();
        let is_some = task.is_some();
        owner.request = task.map(|task| (task, Phase::Sent, now));
        is_some
    }

    fn serve(&mut self, number: usize, task: &Task) -> Phase {
        let Job::Write(writing) = &task.job else {
            self.owners[number].was_served = self.now;
            return Phase::Answered(self.store.read(&task.job));
        };
        let sound = self.store.judge(&writing.batch);
        match self.store.compares {
            true => self.made(number, task, &sound),
            false => Phase::Judged(sound),
        }
    }

    fn made(&mut self, number: usize, task: &Task, sound: &[bool]) -> Phase {
        self.make(number, task, sound, usize::MAX);
        let result = |sound: &bool| if *sound { Ok(()) } else { Err(Failure::Changed) };
        Phase::Answered(Outcome::Written(sound.iter().map(result).collect()))
    }

    /// The answer is lost, and all, some or nothing was done.
    fn fail(&mut self, number: usize, task: &Task, phase: Phase) -> Phase {
        if let Job::Write(writing) = &task.job {
            let sound = match phase {
                Phase::Judged(sound) => sound,
                _ => self.store.judge(&writing.batch),
            };
            let most = self.chance.below(sound.len() + 1);
            self.make(number, task, &sound, most);
        }
        Phase::Answered(
            task.failed(self.chance.of(&[Failure::TimedOut, Failure::Unreachable(Obstacle::Closed)])),
        )
    }

    fn make(&mut self, number: usize, task: &Task, sound: &[bool], most: usize) {
        let Job::Write(writing) = &task.job else { return };
        let sound = writing.batch.changes.iter().zip(sound).filter(|(_, sound)| **sound).take(most);
        for (change, _) in sound {
            if std::env::var_os("FINGERPOST_TRACE").is_some() {
                eprintln!(
                    "{:?} {} {:?} -> {:?}",
                    self.now,
                    self.owners[number].id,
                    change.key,
                    change.after.as_ref().map(|entry| &entry.set.data)
                );
            }
            self.check_change(number, writing.what, &change.key, change.after.as_ref());
            self.store.revision += 1;
            match &change.after {
                Some(after) => drop(self.store.sets.insert(change.key.clone(), after.clone())),
                None => drop(self.store.sets.remove(&change.key)),
            }
        }
        if writing.what == What::Marks {
            self.note_waiting();
        }
        self.check();
        self.check_losses();
    }

    /// The process ends, and what it had sent is made or not.
    pub(super) fn cut(&mut self, number: usize) {
        if let Some((task, phase, _)) = self.owners[number].request.take()
            && !matches!(phase, Phase::Answered(_))
        {
            self.fail(number, &task, phase);
        }
    }
}
