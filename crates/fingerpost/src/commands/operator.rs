//! `fingerpost operator`: plans a cluster's objects and brings the cluster in line.

use std::time::Duration;

use anyhow::{Context, Result};
use tokio::runtime::Builder;

use super::Ending;
use super::signals::Signals;
use crate::cli::OperatorArguments;
use crate::operator;

/// How long the end waits for what is still under way.
const LAST_WAIT: Duration = Duration::from_secs(1);

pub(super) fn run(arguments: &OperatorArguments) -> Result<Ending> {
    // One thread does all of it: the work is a stream of small things, and handing each of them from
    // thread to thread would cost more than doing it.
    let runtime =
        Builder::new_multi_thread().worker_threads(1).enable_all().build().context("cannot start")?;
    let arguments = arguments.clone();
    let working = async move {
        let mut signals = Signals::new()?;
        operator::run(&arguments, signals.ended()).await
    };
    let ending = runtime
        .block_on(async { tokio::spawn(working).await.context("the operator failed; please report this")? });
    runtime.shutdown_timeout(LAST_WAIT);
    ending.map(|()| Ending::Good)
}
