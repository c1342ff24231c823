//! What the API server itself has counted: the requests that it answered.

use std::collections::BTreeMap;

use anyhow::Result;

use super::Cluster;

/// How often each kind of request was answered, by everybody together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    counts: BTreeMap<String, u64>,
}

impl Cluster {
    /// The API server's own count of the requests that it answered since it started.
    pub fn requests(&self) -> Result<Requests> {
        Ok(Requests::read(&self.api().request("GET", "/metrics", None)?.body))
    }
}

impl Requests {
    fn read(metrics: &str) -> Requests {
        let lines = metrics.lines().filter_map(|line| line.strip_prefix("apiserver_request_total{"));
        let pairs = lines.filter_map(|line| line.split_once("} "));
        let numbers = pairs.map(|(labels, number)| (labels, number.parse::<f64>().unwrap_or_default()));
        let mut counts = BTreeMap::new();
        for (labels, number) in numbers.filter(|(labels, _)| label(labels, "dry_run").is_empty()) {
            *counts.entry(name(labels)).or_default() += number as u64;
        }
        Requests { counts }
    }

    /// What came on top of an earlier count, without what did not change.
    pub fn since(&self, earlier: &Requests) -> Requests {
        let before = |name| earlier.counts.get(name).copied().unwrap_or_default();
        let differences = self.counts.iter().map(|(name, count)| (name.clone(), count - before(name)));
        Requests { counts: differences.filter(|(_, count)| *count > 0).collect() }
    }

    /// Those that are writes: every change, but those of leases, events and access reviews.
    pub fn writes(&self) -> Requests {
        let writes = self.counts.iter().filter(|(name, _)| is_write(name));
        Requests { counts: writes.map(|(name, count)| (name.clone(), *count)).collect() }
    }

    /// How many they are.
    pub fn total(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Each as `VERB resource.group/subresource code`, with its number.
    pub fn by_name(&self) -> &BTreeMap<String, u64> {
        &self.counts
    }
}

fn name(labels: &str) -> String {
    let (group, subresource) = (label(labels, "group"), label(labels, "subresource"));
    let group = if group.is_empty() { String::new() } else { format!(".{group}") };
    let part = if subresource.is_empty() { String::new() } else { format!("/{subresource}") };
    format!("{} {}{group}{part} {}", label(labels, "verb"), label(labels, "resource"), label(labels, "code"))
}

fn is_write(name: &str) -> bool {
    let reads = ["GET ", "LIST ", "WATCH ", "CONNECT "].iter().any(|verb| name.starts_with(verb));
    let exempt = [" leases.", " events", "reviews."].iter().any(|part| name.contains(part));
    !reads && !exempt
}

fn label<'a>(labels: &'a str, name: &str) -> &'a str {
    let mut pairs = labels.split("\",").filter_map(|pair| pair.split_once("=\""));
    pairs.find(|(key, _)| *key == name).map_or("", |(_, value)| value.trim_end_matches('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    const METRICS: &str = "# TYPE apiserver_request_total counter
apiserver_request_total{code=\"200\",dry_run=\"\",group=\"coordination.k8s.io\",resource=\"leases\",subresource=\"\",verb=\"PUT\"} 12
apiserver_request_total{code=\"200\",dry_run=\"\",group=\"kubi.zone\",resource=\"zones\",subresource=\"status\",verb=\"APPLY\"} 2
apiserver_request_total{code=\"200\",dry_run=\"All\",group=\"kubi.zone\",resource=\"zones\",subresource=\"\",verb=\"APPLY\"} 5
apiserver_request_total{code=\"200\",dry_run=\"\",group=\"\",resource=\"services\",subresource=\"\",verb=\"LIST\"} 7
";

    #[test]
    fn writes_are_what_changes_something_but_leases_and_dry_runs() {
        let writes = Requests::read(METRICS).writes();
        assert_eq!(writes.counts, BTreeMap::from([("APPLY zones.kubi.zone/status 200".to_owned(), 2)]));
    }

    #[test]
    fn a_difference_names_only_what_changed() {
        let later = Requests::read(&METRICS.replace("} 7", "} 9"));
        let difference = later.since(&Requests::read(METRICS));
        assert_eq!(difference.counts, BTreeMap::from([("LIST services 200".to_owned(), 2)]));
    }
}
