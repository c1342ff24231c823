//! `/api/v1/health`: every probe, what it asks, and what it has seen.

use axum::extract::State;
use axum::response::Response;
use dns::ProbeId;
use jiff::Timestamp;
use planner::{Certificate, ProbeQuestion};
use serde_json::{Value, json};

use super::api::{as_json, element};
use super::{Shared, stream};
use crate::probes::{Outcome, Run, Sighting};

/// How many probes are looked up at once.
const PAGE: usize = 256;

pub(super) async fn health(State(instance): Shared) -> Response {
    as_json(stream::body(|mut pieces| async move {
        let (mut after, mut begun) = (None, false);
        pieces.text.push(b'[');
        loop {
            let page = instance.sightings.after(after, PAGE);
            for (probe, seen) in &page {
                element(&mut pieces.text, &mut begun, &entry(*probe, seen));
                pieces.flow().await?;
            }
            match page.last() {
                Some((probe, _)) => after = Some(*probe),
                None => break,
            }
        }
        pieces.text.push(b']');
        pieces.send().await
    }))
}

fn entry(probe: ProbeId, seen: &Sighting) -> Value {
    let (spec, health) = (&seen.spec, &seen.health);
    json!({
        "probe": format!("{:016x}", probe.0),
        "target": seen.target(),
        "port": spec.port,
        "protocol": seen.protocol().name(),
        "page": question(&spec.question),
        "intervalSeconds": seconds(spec.interval),
        "timeoutSeconds": seconds(spec.timeout),
        "failures": spec.failures,
        "successes": spec.successes,
        "state": Sighting::word(health.state),
        "since": Timestamp::from_second(health.since).ok(),
        "reason": health.reason,
        "seenUp": health.seen_up,
        "lastRun": seen.last.as_ref().map(run),
    })
}

fn question(question: &ProbeQuestion) -> Value {
    let ProbeQuestion::Page { tls, host, path, codes } = question else { return Value::Null };
    let codes: Vec<String> = codes.iter().map(|(first, last)| format!("{first}-{last}")).collect();
    let insecure = *tls == Some(Certificate::Any);
    json!({ "host": host, "path": path, "expectedCodes": codes, "insecureSkipVerify": insecure })
}

fn run(run: &Run) -> Value {
    let result = match &run.outcome {
        Outcome::Success => "success".to_owned(),
        Outcome::Failure(trouble) => trouble.to_string(),
        Outcome::Skipped => "skipped: this machine had no time, file or port left".to_owned(),
    };
    json!({
        "at": Timestamp::from_millisecond(run.at).ok(),
        "tookSeconds": run.took.as_secs_f64(),
        "result": result,
    })
}

fn seconds(milliseconds: u64) -> f64 {
    milliseconds as f64 / 1000.0
}
