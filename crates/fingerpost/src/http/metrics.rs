//! Counters in the text form that Prometheus reads.

mod placements;
mod probes;
pub mod process;
mod zones;

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{EncodeLabelSet, EncodeLabelValue};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use server::ViewTable;
use server::transfer::{Archive, TransferEvent};

use super::Shared;
use crate::deliveries::ClassCounts;
use crate::instance::listeners::Counted;
use crate::instance::{Facts, Instance};

const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

pub(super) async fn metrics(State(instance): Shared) -> Response {
    let mut registry = Registry::default();
    tokio::task::block_in_place(|| register(&mut registry, &instance));
    response(&registry)
}

/// Everything in a registry, as a page.
pub fn response(registry: &Registry) -> Response {
    let mut text = String::new();
    match encode(&mut text, registry) {
        Ok(()) => ([(header::CONTENT_TYPE, CONTENT_TYPE)], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}

/// What an instance has to count.
pub fn register(registry: &mut Registry, instance: &Instance) {
    process::add(registry);
    let registry = registry.sub_registry_with_prefix("fingerpost");
    let facts = instance.facts().clone();
    add_answers(registry, &facts.listeners, &instance.views.load());
    add_transfers(registry, instance.views.archive());
    add_plan(registry, instance);
    add_facts(registry, &facts, instance.is_ready());
    add_deliveries(registry, &instance.deliveries.snapshot());
    let help = "How long requests to the provider of a class took";
    registry.register("provider_request_duration_seconds", help, instance.deliveries.times());
    probes::add(registry, &instance.sightings);
    placements::add(registry, &instance.planner(), &instance.directions);
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ClassLabels {
    class: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DeliveryLabels {
    class: String,
    result: String,
}

fn add_deliveries(registry: &mut Registry, classes: &BTreeMap<Arc<str>, ClassCounts>) {
    let results = Family::<DeliveryLabels, Counter>::default();
    let healthy = Family::<ClassLabels, Gauge>::default();
    let held = Family::<ClassLabels, Gauge>::default();
    let names = Family::<ClassLabels, Gauge>::default();
    for (class, counts) in classes {
        let labels = ClassLabels { class: class.to_string() };
        for (result, count) in &counts.results {
            let labels = DeliveryLabels { class: class.to_string(), result: (*result).to_owned() };
            results.get_or_create(&labels).inc_by(*count);
        }
        if let Some(is_healthy) = counts.healthy {
            healthy.get_or_create(&labels).set(i64::from(is_healthy));
        }
        held.get_or_create(&labels).set(i64::try_from(counts.held).unwrap_or(i64::MAX));
        names.get_or_create(&labels).set(i64::try_from(counts.names).unwrap_or(i64::MAX));
    }
    registry.register("deliveries", "What became of record sets at providers", results);
    registry.register("class_healthy", "Whether the provider of a class answered when last asked", healthy);
    registry.register("class_deletions_held", "Deletions that wait for consent", held);
    registry.register("class_names", "Names that a class is to hold", names);
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct QueryLabels {
    view: String,
    address: String,
    transport: Transport,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
enum Transport {
    #[allow(non_camel_case_types, reason = "it is printed as written")]
    udp,
    #[allow(non_camel_case_types, reason = "it is printed as written")]
    tcp,
    #[allow(non_camel_case_types, reason = "it is printed as written")]
    tls,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResponseLabels {
    view: String,
    address: String,
    rcode: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ListenerLabels {
    view: String,
    address: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LimitLabels {
    view: String,
    address: String,
    verdict: Verdict,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
enum Verdict {
    #[allow(non_camel_case_types, reason = "it is printed as written")]
    dropped,
    #[allow(non_camel_case_types, reason = "it is printed as written")]
    slipped,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EvictionLabels {
    view: String,
    address: String,
    transport: Transport,
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CookieLabels {
    view: String,
    address: String,
    cookie: Cookie,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelValue)]
enum Cookie {
    #[allow(non_camel_case_types, reason = "it is printed as written")]
    good,
    #[allow(non_camel_case_types, reason = "it is printed as written")]
    bad,
}

/// What the listeners counted. A listener's view is the one of clients without a view of their own.
fn add_answers(registry: &mut Registry, listeners: &[Counted], table: &ViewTable) {
    let queries = Family::<QueryLabels, Counter>::default();
    let responses = Family::<ResponseLabels, Counter>::default();
    let truncated = Family::<ListenerLabels, Counter>::default();
    let dropped = Family::<ListenerLabels, Counter>::default();
    let limited = Family::<LimitLabels, Counter>::default();
    let cookies = Family::<CookieLabels, Counter>::default();
    let fast = Family::<ListenerLabels, Counter>::default();
    let open = Family::<QueryLabels, Gauge>::default();
    let refused = Family::<QueryLabels, Counter>::default();
    let evicted = Family::<EvictionLabels, Counter>::default();
    let octets_limited = Family::<ListenerLabels, Counter>::default();
    for listener in listeners {
        let (counts, address) = (listener.counters.snapshot(), listener.address.to_string());
        let endpoint = table.endpoints.get(&listener.endpoint);
        let view = endpoint.and_then(|endpoint| endpoint.view.clone()).unwrap_or_default();
        let streams = if listener.encrypted { Transport::tls } else { Transport::tcp };
        let labels = QueryLabels { view: view.clone(), address: address.clone(), transport: streams.clone() };
        open.get_or_create(&labels).set(i64::try_from(counts.open_connections).unwrap_or(i64::MAX));
        refused.get_or_create(&labels).inc_by(counts.refused_connections);
        for (reason, count) in [
            ("not_reading", counts.evicted_not_reading),
            ("idle", counts.evicted_idle),
            ("busy", counts.evicted_busy),
        ] {
            let (view, address, transport) = (view.clone(), address.clone(), streams.clone());
            evicted.get_or_create(&EvictionLabels { view, address, transport, reason }).inc_by(count);
        }
        let datagrams = (!listener.encrypted).then_some((Transport::udp, counts.udp_queries));
        for (transport, count) in datagrams.into_iter().chain([(streams, counts.tcp_queries)]) {
            let labels = QueryLabels { view: view.clone(), address: address.clone(), transport };
            queries.get_or_create(&labels).inc_by(count);
        }
        for (rcode, count) in counts.responses {
            let labels =
                ResponseLabels { view: view.clone(), address: address.clone(), rcode: rcode.to_string() };
            responses.get_or_create(&labels).inc_by(count);
        }
        for (verdict, count) in [(Verdict::dropped, counts.rate_limited), (Verdict::slipped, counts.slipped)]
        {
            let labels = LimitLabels { view: view.clone(), address: address.clone(), verdict };
            limited.get_or_create(&labels).inc_by(count);
        }
        for (cookie, count) in [(Cookie::good, counts.cookies_good), (Cookie::bad, counts.cookies_bad)] {
            let labels = CookieLabels { view: view.clone(), address: address.clone(), cookie };
            cookies.get_or_create(&labels).inc_by(count);
        }
        let labels = ListenerLabels { view, address };
        fast.get_or_create(&labels).inc_by(counts.fast);
        octets_limited.get_or_create(&labels).inc_by(counts.octets_limited);
        truncated.get_or_create(&labels).inc_by(counts.truncated);
        dropped.get_or_create(&labels).inc_by(counts.dropped);
    }
    registry.register("dns_queries", "Messages that arrived", queries);
    registry.register("dns_responses", "Responses by code", responses);
    registry.register("dns_truncated", "Responses with the TC bit", truncated);
    registry.register("dns_dropped", "Messages that got no response", dropped);
    registry.register("dns_rate_limited", "Responses held back by rate limiting", limited);
    registry.register(
        "dns_octets_limited",
        "Responses held back by the limit on octets; they are among dns_rate_limited",
        octets_limited,
    );
    registry.register("dns_cookies", "Queries with a server cookie", cookies);
    registry.register("dns_open_connections", "TCP and TLS connections that are open", open);
    registry.register("dns_refused_connections", "Connections closed at once: all places busy", refused);
    registry.register("dns_evicted_connections", "Connections closed to make room for another", evicted);
    registry.register("dns_fast", "Queries answered on the fast path", fast);
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    result: &'static str,
}

fn add_transfers(registry: &mut Registry, archive: &Archive) {
    let transfers = Family::<ResultLabels, Counter>::default();
    let notifies = Family::<ResultLabels, Counter>::default();
    for (event, count) in archive.counts() {
        let (family, result) = match event {
            TransferEvent::Whole => (&transfers, "whole"),
            TransferEvent::Steps => (&transfers, "steps"),
            TransferEvent::WholeInsteadOfSteps => (&transfers, "whole_instead_of_steps"),
            TransferEvent::UpToDate => (&transfers, "up_to_date"),
            TransferEvent::Refused => (&transfers, "refused"),
            TransferEvent::BadSignature => (&transfers, "bad_signature"),
            TransferEvent::NotifySent => (&notifies, "sent"),
            TransferEvent::NotifyAnswered => (&notifies, "answered"),
            TransferEvent::NotifyRefused => (&notifies, "refused"),
            TransferEvent::NotifyUnanswered => (&notifies, "unanswered"),
        };
        family.get_or_create(&ResultLabels { result }).inc_by(count);
    }
    registry.register("transfers", "Zone transfers that were asked for, by what became of them", transfers);
    registry.register("notifies", "Messages to secondaries, by what became of them", notifies);
}

fn add_plan(registry: &mut Registry, instance: &Instance) {
    let zones = instance.planner().zones();
    let records = zones.iter().map(|zone| zone.entry_count).sum();
    zones::add(registry, &zones, &instance.views.load());
    gauge(registry, "zones", "Zones in the plan", zones.len() as u64);
    gauge(registry, "records", "Records in the plan, those of zone files included", records);
    registry.register("plan_duration_seconds", "How long planning took", instance.plan_seconds.clone());
    let by_kind = Family::<KindLabels, Gauge>::default();
    for (kind, count) in objects_by_kind(instance) {
        by_kind.get_or_create(&KindLabels { kind: kind.to_owned() }).set(count);
    }
    registry.register("objects", "Objects in the plan", by_kind);
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabels {
    kind: String,
}

fn objects_by_kind(instance: &Instance) -> BTreeMap<&'static str, i64> {
    let mut counts = BTreeMap::new();
    for (_, object) in instance.planner().objects() {
        *counts.entry(object.kind.kind()).or_default() += 1;
    }
    counts
}

fn add_facts(registry: &mut Registry, facts: &Facts, ready: bool) {
    gauge(registry, "ready", "Whether the first plan is served", u64::from(ready));
    gauge(registry, "source_problems", "What is wrong in the folders", facts.problems.len() as u64);
    let last = facts.last_change.map_or(0, |time| u64::try_from(time.as_second()).unwrap_or(0));
    gauge(registry, "last_change_timestamp_seconds", "When the plan last changed", last);
    let panics = Counter::<u64>::default();
    panics.inc_by(facts.panics);
    registry.register("planning_panics", "How often planning failed; the last answers stayed", panics);
}

fn gauge(registry: &mut Registry, name: &str, help: &str, value: u64) {
    let gauge = Gauge::<i64>::default();
    gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
    registry.register(name, help, gauge);
}
