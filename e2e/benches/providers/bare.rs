//! A client that knows what to send, sends it, and asks nothing.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use e2e::PowerDns;
use serde_json::{Value, json};

use crate::world::ZONE;

/// Sends RRsets in batches of this size to a server that has nothing yet; how long that took.
pub(crate) fn send(server: &PowerDns, rrsets: &[Value], size: usize) -> Result<Duration> {
    let bodies: Vec<String> =
        rrsets.chunks(size).map(|rrsets| json!({ "rrsets": rrsets }).to_string()).collect();
    let start = Instant::now();
    server.make_zone(ZONE)?;
    for body in &bodies {
        server.send("PATCH", &format!("/zones/{ZONE}."), body)?;
    }
    Ok(start.elapsed())
}

/// What a server's zone holds, as changes that bring another there.
pub(crate) fn rrsets(server: &PowerDns) -> Result<Vec<Value>> {
    let zone = server.send("GET", &format!("/zones/{ZONE}."), "")?;
    let mut rrsets = zone["rrsets"].as_array().context("a zone has RRsets")?.clone();
    rrsets.retain(|rrset| rrset["name"] != format!("{ZONE}."));
    for rrset in &mut rrsets {
        rrset["changetype"] = "REPLACE".into();
        rrset["comments"] = Value::Null;
    }
    Ok(rrsets)
}
