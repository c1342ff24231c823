//! A delivery that is told what is wanted and watched until it stands.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use backends::SetKey;
use backends::delivery::{Fence, Node, Order, Report, Retry, SetResult, Settings, start};
use e2e::block_on;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::recorder::Recorder;
use crate::world::zone;

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(120);

/// A running delivery.
pub(crate) struct Delivering {
    recorder: Arc<Recorder>,
    orders: UnboundedSender<Order>,
    reports: UnboundedReceiver<Vec<Report>>,
}

/// How long a delivery took.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// Until the last write was acknowledged.
    pub(crate) written: Duration,
    /// Until all was read back.
    pub(crate) read_back: Duration,
}

struct Always;

impl Fence for Always {
    fn may_send(&self, _: Duration) -> bool {
        true
    }

    fn generation(&self) -> u64 {
        1
    }
}

impl Delivering {
    /// Starts to deliver to a provider.
    pub(crate) fn start(recorder: Arc<Recorder>) -> Result<Delivering> {
        let settings = Settings {
            owner: "bench".to_owned(),
            retry: Retry { base: Duration::from_secs(1), cap: Duration::from_secs(60), attempts: 5 },
            concurrency: 4,
            drift: Duration::from_secs(3600),
            allow_mass_delete: None,
            timeout: Duration::from_secs(30),
        };
        let (sender, reports) = unbounded_channel();
        let (orders, _) = block_on(async { start(settings, Arc::new(Always), sender) })?;
        orders.send(Order::Provider(Ok(recorder.clone())))?;
        orders.send(Order::Zone(zone()?))?;
        Ok(Delivering { recorder, orders, reports })
    }

    /// Says what is wanted and waits until all of it was read back; how long that took, and how long until
    /// the last write was acknowledged.
    pub(crate) fn deliver(&mut self, nodes: Vec<Node>) -> Result<Times> {
        let mut missing: HashSet<SetKey> =
            nodes.iter().flat_map(|node| &node.sets).map(|entry| SetKey::of(&entry.set)).collect();
        let start = Instant::now();
        self.orders.send(Order::Nodes(nodes))?;
        self.orders.send(Order::Complete)?;
        while !missing.is_empty() {
            let reports = block_on(async { tokio::time::timeout(PATIENCE, self.reports.recv()).await })?;
            for report in reports.context("it took too long")?.context("the delivery has ended")? {
                strike(&mut missing, report)?;
            }
        }
        let read_back = start.elapsed();
        let written = self.recorder.seen().last_write.context("nothing was written")?;
        Ok(Times { written: written.duration_since(start), read_back })
    }
}

fn strike(missing: &mut HashSet<SetKey>, report: Report) -> Result<()> {
    match report {
        Report::Set { key, result: SetResult::Stands { .. }, .. } => drop(missing.remove(&key)),
        Report::Set { key, result, .. } => bail!("{} {}: {result:?}", key.name, key.rtype),
        Report::Reached(Err(trouble)) => bail!("{}", trouble.message),
        Report::Reached(Ok(())) | Report::Held(_) => {}
    }
    Ok(())
}
