//! Clusters that tests use one at a time.
//!
//! A test that runs an operator needs a cluster without another test in it. A cluster takes ten seconds to start,
//! so a cluster goes back to the pool after its test, and the next test removes what the test left in it.

use std::ops::Deref;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use anyhow::Result;

use super::{Cluster, Start};

/// The most clusters that run at once: each takes about 0.5 GiB of memory.
const LIMIT: usize = 4;

static POOL: Pool =
    Pool { clusters: Mutex::new(Clusters { idle: Vec::new(), started: 0 }), returned: Condvar::new() };

struct Pool {
    clusters: Mutex<Clusters>,
    /// Signalled when there may be a cluster for a test that waits.
    returned: Condvar,
}

struct Clusters {
    idle: Vec<&'static Cluster>,
    /// All that are running or starting, idle or in use.
    started: usize,
}

/// A cluster that one test uses alone; it goes back to the pool with this value.
pub struct Alone {
    cluster: &'static Cluster,
}

/// Takes an idle cluster, starts one, or waits for one where the limit is reached.
pub(super) fn take() -> Result<Alone> {
    let alone = match POOL.idle_or_permit() {
        Some(cluster) => Alone { cluster },
        None => start()?,
    };
    alone.remove_objects()?;
    Ok(alone)
}

fn start() -> Result<Alone> {
    match Cluster::own(Start::AllKinds) {
        Ok(cluster) => Ok(Alone { cluster: Box::leak(Box::new(cluster)) }),
        Err(error) => {
            POOL.lock().started -= 1;
            POOL.returned.notify_one();
            Err(error)
        }
    }
}

impl Pool {
    fn lock(&self) -> MutexGuard<'_, Clusters> {
        self.clusters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An idle cluster; `None` where the caller is to start one, which is counted already.
    fn idle_or_permit(&self) -> Option<&'static Cluster> {
        let is_empty = |clusters: &mut Clusters| clusters.idle.is_empty() && clusters.started == LIMIT;
        let waited = self.returned.wait_while(self.lock(), is_empty);
        let mut clusters = waited.unwrap_or_else(PoisonError::into_inner);
        let idle = clusters.idle.pop();
        clusters.started += usize::from(idle.is_none());
        idle
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        POOL.lock().idle.push(self.cluster);
        POOL.returned.notify_one();
    }
}

impl Deref for Alone {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        self.cluster
    }
}

impl AsRef<Cluster> for Alone {
    fn as_ref(&self) -> &Cluster {
        self.cluster
    }
}
