//! What the developer commands and the end-to-end tests both know: the real servers and where they lie.

pub mod tools;
