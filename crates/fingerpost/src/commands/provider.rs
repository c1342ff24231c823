//! `fingerpost provider`: takes records over HTTP.

use std::time::Duration;

use anyhow::{Context, Result};
use tokio::runtime::Runtime;

use super::Ending;
use super::signals::Signals;
use crate::cli::ProviderArguments;
use crate::provider;

/// How long the end waits for what is still under way.
const LAST_WAIT: Duration = Duration::from_secs(1);

pub(super) fn run(arguments: &ProviderArguments) -> Result<Ending> {
    let runtime = Runtime::new().context("cannot start")?;
    let ending = runtime.block_on(async {
        let mut signals = Signals::new()?;
        provider::run(arguments, signals.ended()).await
    });
    runtime.shutdown_timeout(LAST_WAIT);
    ending.map(|()| Ending::Good)
}
