//! Tests that look inside: the incremental plan against the whole one.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod adoption;
mod answers;
mod dump;
mod edits;
mod explain;
mod gateway;
mod grants;
mod groups;
mod incremental;
mod last_valid;
mod limits;
mod placement;
mod signed;
mod world;
