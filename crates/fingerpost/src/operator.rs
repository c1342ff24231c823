//! The operator, in a cluster.

pub mod admission;
pub mod certificates;
pub mod lease;
