//! The binary as a library, so that tests can drive every part of it.
//!
//! ```text
//! source ──► planner (pure) ──► server
//!    ▲                            │
//!    └───────── state ◄───────────┘   what the next start needs to answer at once
//!
//! cli ──► commands ──► planned (once) or instance (running, with http) ──► render
//! ```

pub mod build;
pub mod cli;
pub mod cluster;
pub mod commands;
pub mod console;
pub mod deliveries;
pub mod directing;
pub mod explanation;
pub mod files;
#[cfg(test)]
mod flips;
pub mod http;
pub mod import;
pub mod instance;
pub mod keys;
pub mod memory;
pub mod nameserver;
pub mod operator;
pub mod owner;
pub mod planned;
pub mod probes;
pub mod progress;
pub mod provider;
pub mod render;
pub mod secrets;
pub mod source;
pub mod state;
pub mod transferred;
pub mod witness;
