//! The binary as a library, so that tests can drive every part of it.
//!
//! ```text
//! source ──► planner (pure) ──► server
//!    ▲                            │
//!    └───────── state ◄───────────┘   what the next start needs to answer at once
//! ```

pub mod source;
pub mod state;
