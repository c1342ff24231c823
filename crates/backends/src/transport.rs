//! How requests leave this process.

pub mod guard;
pub mod http;
