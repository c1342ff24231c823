//! The real binary, and real clients to ask it: what the end-to-end tests are written with.
//!
//! Every [`Up`] listens on a loopback address of its own, so tests run side by side without a race for
//! ports. What is missing (the binary, `dig`) is an error that names the command to run.

mod client;
mod dig;
mod folder;
mod program;
mod up;
mod watcher;

pub use client::{Reply, ask};
pub use dig::{Dig, dig};
pub use folder::{Folder, example};
pub use program::{call, fingerpost, run};
pub use up::{Options, Up};
pub use watcher::{Expectation, Report, Watcher};
