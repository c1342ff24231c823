//! The kinds from the outside: manifests in, problems and definitions out.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "api/admission.rs"]
mod admission;
#[path = "api/decoding.rs"]
mod decoding;
#[path = "api/definitions.rs"]
mod definitions;
