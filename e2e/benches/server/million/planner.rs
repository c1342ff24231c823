//! From a changed DNSRecord at the planner to its answer, in this process: what is left of a change when nobody
//! watches files and no datagram travels.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use api::Kind;
use backends::embedded;
use dns::read_zone;
use planner::{Change, ClusterId, Planner};
use serde_json::{Value, json};
use server::{Circumstances, Endpoint, EndpointId, Views, Zones, respond, respond_fast};

use super::{FILE, REST};
use crate::rows::query;
use crate::statistics::quantile;

/// How often the record changes.
const CHANGES: u8 = 100;
/// The most that a change may take, in milliseconds.
const MOST: f64 = 5.0;
const CLUSTER: ClusterId = ClusterId(0);
const ENDPOINT: EndpointId = EndpointId(0);
const CLIENT: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Changes the record again and again, and says when each change was answered.
pub(super) fn measure(text: &str) -> Result<String> {
    let mut world = World::new(text)?;
    // The table for fast answers is made by a thread of its own.
    std::thread::sleep(REST);
    let took = (1..=CHANGES).map(|turn| world.change(turn)).collect::<Result<Vec<_>>>()?;
    let mut milliseconds: Vec<f64> = took.iter().map(|took| took.as_secs_f64() * 1e3).collect();
    milliseconds.sort_by(f64::total_cmp);
    let [median, late, most] = [0.5, 0.99, 1.0].map(|share| quantile(&milliseconds, share));
    let verdict = if late <= MOST { "holds" } else { "**above the bar**" };
    Ok(format!(
        "A DNSRecord changed in the zone of 1M names, from the planner to the answer, in one process: {median:.3} ms \
         (99th percentile {late:.3} ms, longest {most:.3} ms of {CHANGES}; at most {MOST} ms): {verdict}\n"
    ))
}

/// A plan and what is served from it.
struct World {
    planner: Planner,
    views: Views,
    question: Vec<u8>,
}

impl World {
    fn new(text: &str) -> Result<World> {
        let read = read_zone(FILE, text, &mut |_, name| Err(format!("no file {name}")))?;
        let class = put(Kind::DNSClass, json!({"metadata": {"name": "bench"}, "spec": {"embedded": {}}}))?;
        let file = Change::PutFile(CLUSTER, FILE.into(), Arc::new(read.zone), Vec::new());
        let mut planner = Planner::new(vec!["bench".to_owned()]);
        planner.apply(vec![Change::Today(20_260_101), file, class, record(0)?]);
        let views = Views::new();
        views.publish(|table| {
            let zones = planner.views().into_iter();
            let zones =
                zones.map(|view| (view.name.clone(), embedded::fill(&planner, &view, Zones::default())));
            table.views = zones.collect();
            let first = table.views.keys().next().cloned();
            table.endpoints = BTreeMap::from([(ENDPOINT, Endpoint { view: first, clients: Vec::new() })]);
            table.synced = true;
        });
        let world = World { planner, views, question: query(1, "record", "static.example", 0, &[]) };
        world.ensure_answered(0)?;
        Ok(world)
    }

    /// How long a change took until it was answered.
    fn change(&mut self, turn: u8) -> Result<Duration> {
        let change = record(turn)?;
        let start = Instant::now();
        let delta = self.planner.apply(vec![change]);
        let planner = &self.planner;
        self.views.publish(|table| {
            for view in planner.views() {
                let zones = table.views.entry(view.name.clone()).or_default();
                embedded::update(planner, &view, &delta, zones);
            }
        });
        self.ensure_answered(turn)?;
        Ok(start.elapsed())
    }

    fn ensure_answered(&self, turn: u8) -> Result<()> {
        let table = self.views.load();
        let (around, mut out) = (Circumstances::plain(table.sight(ENDPOINT, CLIENT)), Vec::new());
        let reply = respond_fast(&self.question, around, &mut out);
        reply.or_else(|| respond(&self.question, around, &mut out)).context("no answer")?;
        let address = [192, 0, 2, turn];
        ensure!(out.windows(4).any(|octets| octets == address), "{address:?} is not in {out:?}");
        Ok(())
    }
}

fn record(turn: u8) -> Result<Change> {
    let spec = json!({
        "type": "A", "domain": "static.example", "subdomain": "record", "dnsClassRef": {"name": "bench"},
        "values": [format!("192.0.2.{turn}")], "ttl": 60
    });
    put(Kind::DNSRecord, json!({"metadata": {"name": "record", "namespace": "default"}, "spec": spec}))
}

fn put(kind: Kind, mut manifest: Value) -> Result<Change> {
    manifest["apiVersion"] = kind.api_version().into();
    manifest["kind"] = kind.kind().into();
    Ok(Change::Put(CLUSTER, Arc::new(api::decode(kind, manifest)?)))
}
