//! Back-ends: how a plan reaches the places that hold records.
//!
//! One module per provider. A plan leaves a back-end nothing to choose.

pub mod embedded;
