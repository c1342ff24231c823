//! `fingerpost dns`: answers from a cluster's objects.

use std::time::Duration;

use anyhow::{Context, Result};
use tokio::runtime::Runtime;

use super::Ending;
use super::signals::Signals;
use crate::cli::DnsArguments;
use crate::nameserver;

/// How long the end waits for what is still under way.
const LAST_WAIT: Duration = Duration::from_secs(1);

pub(super) fn run(arguments: &DnsArguments) -> Result<Ending> {
    let runtime = Runtime::new().context("cannot start")?;
    let ending = runtime.block_on(async {
        let mut signals = Signals::new()?;
        nameserver::run(arguments, signals.ended()).await
    });
    runtime.shutdown_timeout(LAST_WAIT);
    ending.map(|()| Ending::Good)
}
