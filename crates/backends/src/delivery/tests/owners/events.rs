//! What happens in a history: time, wishes, crashes and deaths.

use std::time::Duration;

use super::super::super::Order;
use super::super::super::task::Task;
use super::owner::Owner;
use super::{ALONE, BRIEF, Phase, SHARED, Simulation, TIMEOUT};
use crate::Failure;

impl Simulation {
    /// Time passes; what is on its way for too long is cut off.
    pub(super) fn pass(&mut self, time: Duration) {
        for number in (0..self.owners.len()).filter(|number| self.is_up(*number)).collect::<Vec<_>>() {
            self.owners[number].awake += time;
        }
        self.now += time;
        for number in 0..self.owners.len() {
            let is_late = |(_, _, sent): &(Task, Phase, Duration)| self.now - *sent > TIMEOUT;
            if !self.owners[number].request.as_ref().is_some_and(is_late) {
                continue;
            }
            if let Some((task, phase, sent)) = self.owners[number].request.take() {
                let answer = match phase {
                    Phase::Answered(outcome) => Phase::Answered(outcome),
                    _ => Phase::Answered(task.failed(Failure::TimedOut)),
                };
                self.owners[number].request = Some((task, answer, sent));
            }
        }
    }

    /// To the next moment at which anybody has something to do, within `most`.
    fn pass_to_next(&mut self, most: Duration) {
        let wake = |owner: &Owner| {
            let wake =
                owner.book.as_ref()?.wake().map(|wake| wake.div_f64(owner.speed) + Duration::from_millis(1));
            let soon = owner.request.as_ref().map(|_| self.now + Duration::from_millis(100));
            Some(soon.or(wake)?.max(owner.stalled))
        };
        let up = self.owners.iter().filter(|owner| !owner.is_dead);
        let next = up.filter_map(wake).min().unwrap_or(self.now + most);
        let time = next.saturating_sub(self.now).clamp(Duration::from_millis(1), most);
        self.pass(time);
    }

    pub(super) fn step(&mut self) {
        if let Some(number) = self.is_doomed() {
            return self.die(number);
        }
        let number = self.chance.below(self.owners.len());
        match self.chance.below(60) {
            0 => self.change(number),
            1 if self.chance.one_in(3) => self.crash(number),
            2 if self.chance.one_in(3) => self.stall(number),
            3 if self.chance.one_in(8) => self.die(number),
            4 if self.owners[number].book.is_none() => self.come_back(number),
            5 => self.hand_over(number),
            6..=9 => {
                let time = Duration::from_millis(self.chance.below(3000) as u64);
                self.pass(time);
            }
            _ if !self.advance(number) && self.chance.one_in(4) => self.pass_to_next(Duration::from_secs(20)),
            _ => {}
        }
    }

    /// An owner took over what another had alone. Now and then it dies soon after.
    pub(super) fn follows(&mut self, number: usize) {
        if self.has_faults && self.chance.one_in(3) {
            self.doomed = Some((number, self.chance.below(100)));
        }
    }

    fn is_doomed(&mut self) -> Option<usize> {
        let (number, steps) = self.doomed.take()?;
        self.doomed = steps.checked_sub(1).map(|steps| (number, steps));
        self.doomed.is_none().then_some(number)
    }

    /// An owner does nothing for a while; if that is long, the others may take it for dead.
    fn stall(&mut self, number: usize) {
        let time = Duration::from_secs(self.chance.below(400) as u64);
        self.owners[number].stalled = self.now + time;
        if time > BRIEF {
            self.owners[number].established.clear();
        }
    }

    /// An owner wants something else.
    fn change(&mut self, number: usize) {
        let at = self.chance.of(&[SHARED, ALONE]);
        let last = self.chance.below(4) as u8;
        let owner = &mut self.owners[number];
        match last {
            0 => {
                owner.established.remove(at);
                owner.wants.remove(at);
            }
            last => drop(owner.wants.insert(at, last)),
        }
        self.tell(number, at);
    }

    fn hand_over(&mut self, number: usize) {
        let to = self.chance.below(self.owners.len());
        let heir = self.owners[to].id.clone();
        self.owners[number].heir = Some(heir).filter(|_| to != number);
        self.tell(number, ALONE);
    }

    pub(super) fn tell(&mut self, number: usize, at: &'static str) {
        let (owner, now) = (&mut self.owners[number], self.now);
        let (node, local) = (owner.node(number, at), owner.clock(now));
        if let Some(book) = owner.book.as_mut().filter(|_| !owner.is_dead) {
            book.order(Order::Nodes(vec![node]), local);
        }
        owner.hear();
    }

    fn crash(&mut self, number: usize) {
        if !self.owners[number].is_dead {
            self.cut(number);
            self.owners[number].start(number, self.now);
        }
    }

    pub(super) fn die(&mut self, number: usize) {
        self.cut(number);
        let owner = &mut self.owners[number];
        (owner.is_dead, owner.book) = (true, None);
        owner.established.clear();
    }

    pub(super) fn come_back(&mut self, number: usize) {
        self.owners[number].stalled = Duration::ZERO;
        self.owners[number].start(number, self.now);
    }

    /// No more faults: whoever lives must come to rest with everything in place.
    pub(super) fn finish(&mut self) {
        self.has_faults = false;
        for owner in &mut self.owners {
            (owner.stalled, owner.heir) = (Duration::ZERO, None);
        }
        (0..self.owners.len()).for_each(|number| self.tell(number, ALONE));
        self.go_on(Duration::from_secs(600), |_| false);
        self.trace();
        self.check_shared();
        self.check_alone();
    }

    /// Everybody does what there is to do, until something has come about or the time is over; says whether it has.
    pub(super) fn go_on(&mut self, time: Duration, has_come: impl Fn(&Simulation) -> bool) -> bool {
        let end = self.now + time;
        for _ in 0..1_000_000 {
            if has_come(self) || self.now > end {
                return has_come(self);
            }
            let (count, first) = (self.owners.len(), self.chance.below(self.owners.len()));
            if (0..count).all(|other| !self.advance((first + other) % count)) {
                self.pass_to_next(Duration::from_secs(30));
            }
        }
        panic!("it never ends");
    }
}
