//! What is counted, in the text form that Prometheus reads.

use axum::response::Response;
use backends::webhook::protocol::Code;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::embedded::Condition;
use crate::http::metrics::{process, response};

/// What is counted.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    requests: Family<RequestLabels, Counter>,
    refusals: Family<RefusalLabels, Counter>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    endpoint: String,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RefusalLabels {
    code: String,
}

impl Metrics {
    /// Counts a request that was answered.
    pub fn count(&self, endpoint: &str, status: u16, code: Option<Code>) {
        self.requests.get_or_create(&RequestLabels { endpoint: endpoint.to_owned(), status }).inc();
        if let Some(code) = code {
            self.refusals.get_or_create(&RefusalLabels { code: code.as_str().to_owned() }).inc();
        }
    }

    /// The page.
    pub fn page(&self, nonces: Option<usize>, store: Option<Condition>) -> Response {
        let mut all = Registry::default();
        process::add(&mut all);
        let registry = all.sub_registry_with_prefix("fingerpost_provider");
        registry.register("requests", "Requests by endpoint and status", self.requests.clone());
        registry.register("refusals", "Requests that were refused, by code", self.refusals.clone());
        if let Some(nonces) = nonces {
            add(registry, "nonces", "Nonces that are remembered", nonces);
        }
        if let Some(Condition { damaged_zones, is_writable }) = store {
            let help = "Zones that are not served because their records are damaged on the disk";
            add(registry, "damaged_zones", help, damaged_zones);
            let help = "1 while the disk takes writes to the embedded store";
            add(registry, "store_writable", help, usize::from(is_writable));
        }
        response(&all)
    }
}

fn add(registry: &mut Registry, name: &str, help: &str, value: usize) {
    let gauge = Gauge::<i64>::default();
    gauge.set(i64::try_from(value).unwrap_or(i64::MAX));
    registry.register(name, help, gauge);
}
