//! How long the tests wait: until something holds, and never for ever.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// How long anything may take before a test gives up on it. What holds is seen at once, so this is only for
/// machines that have much else to do.
pub const PATIENCE: Duration = Duration::from_secs(120);

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// Waits until something holds, within the patience of all tests.
pub fn eventually(mut holds: impl FnMut() -> bool) -> Result<()> {
    wait_for("it to hold", || Ok(holds().then_some(())))
}

/// Waits until there is a value; the error has what the last look complained about.
pub fn wait_for<T>(what: &str, look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    wait_for_within(PATIENCE, what, look)
}

/// Waits until there is a value, with a patience of one's own.
pub fn wait_for_within<T>(
    patience: Duration,
    what: &str,
    mut look: impl FnMut() -> Result<Option<T>>,
) -> Result<T> {
    let start = Instant::now();
    loop {
        let last = match look() {
            Ok(Some(value)) => return Ok(value),
            Ok(None) => None,
            Err(error) => Some(error),
        };
        if start.elapsed() > patience {
            let reason = last.map(|error| format!(": {error:#}")).unwrap_or_default();
            bail!("gave up waiting for {what} after {} s{reason}", patience.as_secs());
        }
        std::thread::sleep(PAUSE);
    }
}
