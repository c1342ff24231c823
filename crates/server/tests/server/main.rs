//! The server as its clients see it: scenarios from files, properties, and live sockets.
//!
//! Every response is read by another DNS library than the one that the server is built on.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod client;
mod clock;
mod cold;
mod dnssec;
mod fast;
mod live;
mod lookup;
mod model;
mod properties;
mod scenario;
mod shares;
mod steering;
mod streams;
mod transfers;
mod udp;
mod wire;
mod world;
