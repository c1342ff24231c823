//! What health checks have seen of targets, as data.

use std::time::Duration;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::probes::{Outcome, Run, Sighting};

/// A target of a steered name, and what its health check has seen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProbeReport {
    /// The address or host name.
    pub target: String,
    /// The protocol: TCP, HTTP or HTTPS.
    pub protocol: String,
    /// The port.
    pub port: u16,
    /// Its state: up, down or unknown.
    pub state: String,
    /// Since when, in RFC 3339.
    pub since: String,
    /// Why it is down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The last check; none where it was not checked yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<RunReport>,
}

/// One health check of a target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunReport {
    /// How long ago it began, in seconds.
    pub seconds_ago: f64,
    /// How long it took, in milliseconds.
    pub milliseconds: f64,
    /// What came of it: success, failure, or skipped where no time, file or port was left here.
    pub result: String,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl ProbeReport {
    pub(super) fn of(sighting: &Sighting, now: Timestamp) -> ProbeReport {
        let since = Timestamp::from_second(sighting.health.since).unwrap_or(now);
        ProbeReport {
            target: sighting.target(),
            protocol: sighting.protocol().name().to_owned(),
            port: sighting.spec.port,
            state: Sighting::word(sighting.health.state).to_owned(),
            since: since.to_string(),
            reason: (!sighting.health.reason.is_empty()).then(|| sighting.health.reason.to_string()),
            last: sighting.last.as_ref().map(|run| RunReport::of(run, now)),
        }
    }
}

impl RunReport {
    fn of(run: &Run, now: Timestamp) -> RunReport {
        let ago = Duration::from_millis(now.as_millisecond().abs_diff(run.at));
        let (result, error) = match &run.outcome {
            Outcome::Success => ("success", None),
            Outcome::Failure(trouble) => ("failure", Some(trouble.to_string())),
            Outcome::Skipped => ("skipped", None),
        };
        RunReport {
            seconds_ago: ago.as_secs_f64(),
            milliseconds: run.took.as_secs_f64() * 1000.0,
            result: result.to_owned(),
            error,
        }
    }
}
