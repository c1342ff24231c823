//! The harness that kills a process before and after every write that it makes.
//!
//! A scenario is run once undisturbed, through the proxy, to count the writes and to learn the objects
//! after each step. Then, for each write and for each of its two moments, the scenario runs on an emptied
//! cluster and the process is killed there and started again. After every step the objects must become
//! those of the undisturbed run, and at the end they must stay so once the process has looked at
//! everything again.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use crate::patience::wait_for_within;
use crate::{Call, Cluster, Fault, Hook, Objects, Process, Proxy, Rule};

/// How long nothing may be written before the undisturbed run counts as settled.
const SETTLED: Duration = Duration::from_secs(3);

/// How long no call may come before a restarted process counts as done with its first look.
const CALM: Duration = Duration::from_millis(700);

/// A change that a user makes.
pub enum Step {
    /// Applies these manifests.
    Apply(String),
    /// Deletes the objects of these manifests.
    Delete(String),
}

/// What is done to a cluster, and by which process it is answered.
pub struct Scenario<'a> {
    /// What reports call it.
    pub name: &'a str,
    /// The cluster, with no other test in it.
    pub cluster: &'a Cluster,
    /// As whom the process speaks.
    pub user: &'a str,
    /// What is there before the process starts.
    pub before: String,
    /// What is changed while it runs, one settled step after the other.
    pub steps: Vec<Step>,
    /// Starts the process with a kubeconfig.
    pub start: &'a dyn Fn(&Path) -> Result<Process>,
    /// How long each step may take.
    pub patience: Duration,
}

/// What came of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kills {
    /// The writes of the undisturbed run.
    pub writes: Vec<String>,
    /// How often the process was killed at a write and everything came out right.
    pub points: usize,
    /// How often a disturbed run ended before the write that was meant.
    pub unreached: usize,
}

#[derive(Clone, Copy, Debug)]
enum Moment {
    Before,
    After,
}

/// The objects after the start and after each step, and the writes on the way.
struct Undisturbed {
    stages: Vec<Objects>,
    writes: Vec<String>,
    /// How many writes there were after each stage.
    ends: Vec<usize>,
}

impl Scenario<'_> {
    /// Kills the process at every write, one run for each; an error says where it did not recover.
    pub fn kill_at_every_write(&self) -> Result<Kills> {
        self.kill_at_every(1)
    }

    /// Kills the process at every so many-eth write, one run for each.
    pub fn kill_at_every(&self, stride: usize) -> Result<Kills> {
        let proxy = Proxy::start(self.cluster)?;
        let undisturbed = self.undisturbed(&proxy)?;
        let mut kills = Kills { writes: undisturbed.writes.clone(), points: 0, unreached: 0 };
        for (number, write) in undisturbed.writes.iter().enumerate().step_by(stride) {
            for moment in [Moment::Before, Moment::After] {
                let place = || format!("{}: killed {moment:?} write {number}, {write}", self.name);
                match self.disturbed(&proxy, &undisturbed, number, moment).with_context(place)? {
                    true => kills.points += 1,
                    false => {
                        println!("{}: it ended before write {number}, {write}", self.name);
                        kills.unreached += 1;
                    }
                }
            }
        }
        let Kills { points, unreached, .. } = kills;
        println!("{}: {points} kill points, all converge; {unreached} not reached", self.name);
        Ok(kills)
    }

    fn undisturbed(&self, proxy: &Proxy) -> Result<Undisturbed> {
        let run = self.begin(proxy)?;
        let (mut stages, mut ends) = (Vec::new(), Vec::new());
        for stage in 0..=self.steps.len() {
            self.change(stage)?;
            proxy.wait_for_quiet(SETTLED)?;
            ensure!(run.is_running(), "{} ended by itself: {}", self.name, run.output());
            stages.push(self.cluster.objects()?);
            ends.push(proxy.writes().len());
        }
        let writes: Vec<String> = proxy.writes().iter().map(Call::to_string).collect();
        ensure!(!writes.is_empty(), "{} writes nothing: {}", self.name, run.output());
        Ok(Undisturbed { stages, writes, ends })
    }

    /// Kills the process at every write in one run, before one and after the next, life after life.
    ///
    /// Says how often it was killed.
    pub fn kill_at_all_writes_in_turn(&self) -> Result<usize> {
        let proxy = Proxy::start(self.cluster)?;
        let undisturbed = self.undisturbed(&proxy)?;
        let run = self.begin(&proxy)?;
        let after = AtomicBool::new(false);
        let is_before = move |call: &Call| call.is_write() && !after.fetch_xor(true, Ordering::SeqCst);
        proxy.add(Rule::new(Fault::Before(run.hook()), is_before));
        proxy.add(Rule::new(Fault::After(run.hook()), Call::is_write));
        for (stage, expected) in undisturbed.stages.iter().enumerate() {
            self.change(stage)?;
            self.converge(&run, expected).with_context(|| format!("killed in turn, after step {stage}"))?;
        }
        proxy.wait_for_quiet(SETTLED)?;
        let last = undisturbed.stages.last().context("there is no stage")?;
        self.converge(&run, last).context("killed in turn, at the end")?;
        Ok(run.kills())
    }

    /// One run with a kill; says whether the write was reached.
    fn disturbed(&self, proxy: &Proxy, expected: &Undisturbed, write: usize, moment: Moment) -> Result<bool> {
        let run = self.begin_with(proxy, Some((write, moment)))?;
        // What comes after the stage of the kill would be an undisturbed run once more.
        let last = expected.ends.iter().position(|end| write < *end).context("there is no such write")?;
        for (stage, expected) in expected.stages.iter().enumerate().take(last + 1) {
            self.change(stage)?;
            self.converge(&run, expected).with_context(|| format!("after step {stage}"))?;
        }
        proxy.wait_for_calm(CALM)?;
        let restarted = run.ensure_running()?;
        let reached = run.was_killed();
        if restarted {
            proxy.wait_for_calm(CALM)?;
        }
        self.converge(&run, &expected.stages[last]).context("at the end")?;
        Ok(reached)
    }

    fn begin<'a>(&'a self, proxy: &'a Proxy) -> Result<Run<'a>> {
        self.begin_with(proxy, None)
    }

    /// Empties the cluster, sets the trap and starts the process.
    fn begin_with<'a>(&'a self, proxy: &'a Proxy, kill: Option<(usize, Moment)>) -> Result<Run<'a>> {
        // First: the trap of the run before holds its process, which would go on working.
        proxy.clear();
        self.cluster.remove_objects()?;
        self.cluster.api().apply_text(&self.before)?;
        proxy.forget();
        let slot = Arc::new(Mutex::new(Slot::default()));
        if let Some((write, moment)) = kill {
            proxy.add(trap(&slot, moment).skip(write).times(1));
        }
        let run = Run { scenario: self, proxy, slot };
        run.ensure_running()?;
        Ok(run)
    }

    fn change(&self, stage: usize) -> Result<()> {
        match stage.checked_sub(1).and_then(|step| self.steps.get(step)) {
            Some(Step::Apply(manifests)) => self.cluster.api().apply_text(manifests),
            Some(Step::Delete(manifests)) => self.cluster.api().delete_text(manifests),
            None => Ok(()),
        }
    }

    /// Waits until the objects are as expected, starting the process again where it has been killed.
    fn converge(&self, run: &Run<'_>, expected: &Objects) -> Result<()> {
        let mut differences = Vec::new();
        let converged = wait_for_within(self.patience, "the objects to be as undisturbed", || {
            run.ensure_running()?;
            differences = expected.differences(&self.cluster.objects()?);
            Ok(differences.is_empty().then_some(()))
        });
        if let Err(error) = converged {
            bail!("{error:#}:\n{}\n{}", differences.join("\n"), run.output());
        }
        Ok(())
    }
}

/// The process of a run, as the trap sees it too.
#[derive(Default)]
struct Slot {
    process: Option<Process>,
    /// Whether the trap has killed it, and nobody has started it again yet.
    gone: bool,
    /// How often the trap has killed it.
    kills: usize,
}

/// One run of a scenario; its process goes with it.
struct Run<'a> {
    scenario: &'a Scenario<'a>,
    proxy: &'a Proxy,
    slot: Arc<Mutex<Slot>>,
}

impl Run<'_> {
    /// Starts the process where it is not running; says whether it had to.
    fn ensure_running(&self) -> Result<bool> {
        let mut slot = locked(&self.slot);
        if slot.process.as_mut().is_some_and(Process::is_running) {
            return Ok(false);
        }
        let gone = std::mem::take(&mut slot.gone);
        if let Some(process) = slot.process.as_ref().filter(|_| !gone) {
            bail!("it ended by itself: {}", process.output());
        }
        let Scenario { cluster, user, start, .. } = self.scenario;
        slot.process = Some(start(&cluster.kubeconfig_at(&self.proxy.url(), user)?)?);
        Ok(true)
    }

    fn is_running(&self) -> bool {
        locked(&self.slot).process.as_mut().is_some_and(Process::is_running)
    }

    fn was_killed(&self) -> bool {
        self.kills() > 0
    }

    fn kills(&self) -> usize {
        locked(&self.slot).kills
    }

    fn hook(&self) -> Hook {
        hook(&self.slot)
    }

    fn output(&self) -> String {
        locked(&self.slot).process.as_ref().map(Process::output).unwrap_or_default()
    }
}

/// The rule that kills the process of a slot at a moment of a write.
fn trap(slot: &Arc<Mutex<Slot>>, moment: Moment) -> Rule {
    let hook = hook(slot);
    match moment {
        Moment::Before => Rule::new(Fault::Before(hook), Call::is_write),
        Moment::After => Rule::new(Fault::After(hook), Call::is_write),
    }
}

/// Kills the process of a slot.
fn hook(slot: &Arc<Mutex<Slot>>) -> Hook {
    let slot = slot.clone();
    Arc::new(move || {
        let mut slot = locked(&slot);
        slot.gone = true;
        slot.kills += 1;
        if let Some(process) = &mut slot.process {
            // A process that has ended by itself is found by whoever looks next.
            let _ = process.kill();
        }
    })
}

fn locked(slot: &Mutex<Slot>) -> MutexGuard<'_, Slot> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}
