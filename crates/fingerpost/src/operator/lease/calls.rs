//! The calls of an election to the API server, and what their answers mean.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::api::{Api, ObjectMeta, PostParams};
use kube::{Client, Config};

use super::Settings;
use super::record::{Answer, Call, Record};

/// What came of a call, and what to tell people about it.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) answer: Answer,
    pub(super) problem: Option<String>,
}

impl Outcome {
    /// The call took longer than it may.
    pub(super) fn timed_out() -> Outcome {
        let problem = "the Lease cannot be reached: the API server does not answer in time";
        Outcome { answer: Answer::Unknown, problem: Some(problem.to_owned()) }
    }
}

/// The one Lease of an election, by a client of its own.
#[derive(Clone)]
pub(super) struct Leases {
    api: Api<Lease>,
    name: String,
    namespace: String,
}

impl std::fmt::Debug for Leases {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Leases({}/{})", self.namespace, self.name)
    }
}

impl Leases {
    /// A repeated call would be one that was decided on in another situation, so the client must
    /// not repeat any.
    pub(super) fn new(config: &Config, settings: &Settings) -> kube::Result<Leases> {
        let most = Some(settings.renew_deadline / 2);
        let mut config = config.clone();
        config.default_retry = false;
        config.connect_timeout = most;
        config.write_timeout = most;
        config.read_timeout = Some(settings.lease_duration.max(Duration::from_secs(1)));
        config.reset_reader_on_write = true;
        let client = Client::try_from(config)?;
        let (name, namespace) = (settings.name.clone(), settings.namespace.clone());
        Ok(Leases { api: Api::namespaced(client, &namespace), name, namespace })
    }

    /// Makes the call, once.
    pub(super) async fn send(&self, call: &Call) -> Outcome {
        let parameters = PostParams::default();
        let result = match call {
            Call::Read => self.api.get(&self.name).await,
            Call::Create(record) => self.api.create(&parameters, &self.lease(record)).await,
            Call::Replace(record) => self.api.replace(&self.name, &parameters, &self.lease(record)).await,
        };
        match result {
            Ok(lease) => Outcome { answer: Answer::Stands(record(lease)), problem: None },
            Err(error) => self.failed(call, &error),
        }
    }

    fn failed(&self, call: &Call, error: &kube::Error) -> Outcome {
        let code = if let kube::Error::Api(status) = error { status.code } else { 0 };
        let answer = match code {
            404 if !matches!(call, Call::Create(_)) => {
                return Outcome { answer: Answer::Missing, problem: None };
            }
            409 => return Outcome { answer: Answer::Conflict, problem: None },
            _ => Answer::Unknown,
        };
        Outcome { answer, problem: Some(self.in_words(call, code, error)) }
    }

    fn in_words(&self, call: &Call, code: u16, error: &kube::Error) -> String {
        let verb = match call {
            Call::Read => "get",
            Call::Create(_) => "create",
            Call::Replace(_) => "update",
        };
        let Leases { name, namespace, .. } = self;
        match code {
            403 => format!(
                "forbidden to {verb} leases.coordination.k8s.io `{name}` in namespace `{namespace}`: grant it to the operator"
            ),
            _ => format!("cannot {verb} the Lease `{name}` in namespace `{namespace}`: {}", reason(error)),
        }
    }

    fn lease(&self, record: &Record) -> Lease {
        let version = (!record.version.is_empty()).then(|| record.version.clone());
        let metadata = ObjectMeta {
            name: Some(self.name.clone()),
            namespace: Some(self.namespace.clone()),
            resource_version: version,
            ..ObjectMeta::default()
        };
        Lease { metadata, spec: Some(spec(record)) }
    }
}

/// What the API server says, or else why nothing came from it.
fn reason(error: &kube::Error) -> String {
    if let kube::Error::Api(status) = error { status.message.clone() } else { error.to_string() }
}

fn spec(record: &Record) -> LeaseSpec {
    LeaseSpec {
        holder_identity: Some(record.holder.clone()),
        lease_duration_seconds: record.duration.map(whole_seconds),
        acquire_time: record.acquired.map(MicroTime),
        renew_time: record.renewed.map(MicroTime),
        lease_transitions: Some(record.transitions),
        ..LeaseSpec::default()
    }
}

/// Rounded up: others may wait longer than we count, never shorter.
fn whole_seconds(duration: Duration) -> i32 {
    let seconds = duration.as_secs().saturating_add(u64::from(duration.subsec_nanos() > 0));
    i32::try_from(seconds).unwrap_or(i32::MAX).max(1)
}

fn record(lease: Lease) -> Record {
    let spec = lease.spec.unwrap_or_default();
    let seconds = spec.lease_duration_seconds.and_then(|seconds| u64::try_from(seconds).ok());
    Record {
        holder: spec.holder_identity.unwrap_or_default(),
        duration: seconds.filter(|seconds| *seconds > 0).map(Duration::from_secs),
        acquired: spec.acquire_time.map(|time| time.0),
        renewed: spec.renew_time.map(|time| time.0),
        transitions: spec.lease_transitions.unwrap_or_default(),
        version: lease.metadata.resource_version.unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

    use super::*;

    #[test]
    fn a_duration_is_rounded_up_in_the_lease() {
        let seconds = |millis| whole_seconds(Duration::from_millis(millis));
        assert_eq!([seconds(0), seconds(300), seconds(15_000), seconds(15_001)], [1, 1, 15, 16]);
        assert_eq!(whole_seconds(Duration::MAX), i32::MAX);
    }

    #[test]
    fn a_lease_without_sense_reads_as_nobodys() {
        let nonsense = LeaseSpec { lease_duration_seconds: Some(-5), ..LeaseSpec::default() };
        let read = record(Lease { spec: Some(nonsense), ..Lease::default() });
        assert_eq!((read.holder.as_str(), read.duration), ("", None));
    }
}
