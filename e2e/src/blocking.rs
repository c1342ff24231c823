//! Futures in tests that are plain functions.

use std::future::Future;

use anyhow::Result;

use crate::https::runtime;

/// Waits for a future, on the runtime that all tests share.
pub fn block_on<T>(future: impl Future<Output = T>) -> Result<T> {
    Ok(runtime()?.block_on(future))
}
