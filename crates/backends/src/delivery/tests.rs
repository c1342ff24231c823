#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod fake;
mod owners;
mod promises;
mod running;
mod simulation;
mod world;
