//! Tests that look inside: the incremental plan against the whole one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod dump;
mod explain;
mod gateway;
mod incremental;
mod last_valid;
mod limits;
mod placement;
mod signed;
mod world;
