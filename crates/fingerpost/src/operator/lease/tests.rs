//! Elections against an API server of a few lines, through the real client.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::extract::State;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::record::{Answer, Call, Candidate, Record};
use super::*;

/// A Lease, how the next calls go wrong, and what was called.
#[derive(Default)]
struct Fake {
    lease: Option<Value>,
    version: u64,
    silent: bool,
    forbidden: bool,
    calls: Vec<Method>,
}

type Shared = Arc<Mutex<Fake>>;

async fn handle(State(fake): State<Shared>, method: Method, body: axum::body::Bytes) -> Response {
    let silent = fake.lock().unwrap().silent;
    if silent {
        std::future::pending::<()>().await;
    }
    let mut fake = fake.lock().unwrap();
    fake.calls.push(method.clone());
    if fake.forbidden {
        return failure(StatusCode::FORBIDDEN);
    }
    match (method, &fake.lease) {
        (Method::GET, Some(lease)) => Json(lease.clone()).into_response(),
        (Method::GET | Method::PUT, None) => failure(StatusCode::NOT_FOUND),
        (Method::POST, Some(_)) => failure(StatusCode::CONFLICT),
        (_, lease) => {
            let mut written: Value = serde_json::from_slice(&body).unwrap();
            let given = &written["metadata"]["resourceVersion"];
            if lease.as_ref().is_some_and(|lease| lease["metadata"]["resourceVersion"] != *given) {
                return failure(StatusCode::CONFLICT);
            }
            fake.version += 1;
            written["metadata"]["resourceVersion"] = json!(fake.version.to_string());
            fake.lease = Some(written.clone());
            Json(written).into_response()
        }
    }
}

fn failure(code: StatusCode) -> Response {
    let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure",
        "message": "no", "reason": code.canonical_reason().unwrap().replace(' ', ""), "code": code.as_u16()});
    (code, Json(status)).into_response()
}

/// The API server and where it is.
async fn serve() -> (Shared, kube::Config) {
    let fake = Shared::default();
    let router = Router::new().fallback(handle).with_state(fake.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, router).await });
    (fake, kube::Config::new(format!("http://{address}").parse().unwrap()))
}

fn settings(identity: &str) -> Settings {
    Settings {
        name: "fingerpost-operator".into(),
        namespace: "fingerpost".into(),
        identity: identity.into(),
        lease_duration: Duration::from_secs(1),
        renew_deadline: Duration::from_millis(600),
        retry_period: Duration::from_millis(50),
    }
}

struct Running {
    leadership: Leadership,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Running {
    fn start(config: &kube::Config, identity: &str) -> Running {
        let election = Election::new(config, settings(identity)).unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let leadership = election.leadership();
        let task = tokio::spawn(election.run(async move { drop(stopped.await) }));
        Running { leadership, stop, task }
    }

    async fn stop(self) {
        drop(self.stop);
        self.task.await.unwrap();
    }

    async fn leads(&self, leads: bool) {
        let mut told = self.leadership.subscribe();
        let _ = timeout(Duration::from_secs(20), told.wait_for(|now| *now == leads)).await.expect("in time");
    }
}

#[tokio::test]
async fn the_second_takes_over_at_once_when_the_first_leaves() {
    let (fake, config) = serve().await;
    let first = Running::start(&config, "first");
    first.leads(true).await;
    assert!(first.leadership.may_send(Duration::from_millis(100)));
    assert!(!first.leadership.may_send(Duration::from_secs(1)));
    let second = Running::start(&config, "second");
    sleep(Duration::from_millis(200)).await;
    assert!(!second.leadership.is_leader());
    let handle = first.leadership.clone();
    first.stop().await;
    assert_eq!(handle.remaining(), Duration::ZERO);
    second.leads(true).await;
    let spec = fake.lock().unwrap().lease.clone().unwrap()["spec"].clone();
    assert_eq!((&spec["holderIdentity"], &spec["leaseTransitions"]), (&json!("second"), &json!(1)), "{spec}");
    second.stop().await;
    let spec = fake.lock().unwrap().lease.clone().unwrap()["spec"].clone();
    assert_eq!((&spec["holderIdentity"], &spec["leaseDurationSeconds"]), (&json!(""), &json!(1)));
}

#[tokio::test]
async fn a_leader_that_is_not_answered_steps_down_and_leads_again_later() {
    let (fake, config) = serve().await;
    let replica = Running::start(&config, "first");
    replica.leads(true).await;
    fake.lock().unwrap().silent = true;
    replica.leads(false).await;
    assert_eq!(replica.leadership.remaining(), Duration::ZERO);
    assert!(replica.leadership.problem().unwrap().contains("does not answer in time"));
    fake.lock().unwrap().silent = false;
    replica.leads(true).await;
    assert_eq!(replica.leadership.problem(), None);
    replica.stop().await;
}

#[tokio::test]
async fn a_denial_names_the_verb_and_the_lease() {
    let (fake, config) = serve().await;
    fake.lock().unwrap().forbidden = true;
    let replica = Running::start(&config, "first");
    let mut problems = 0;
    while replica.leadership.problem().is_none() && problems < 200 {
        problems += 1;
        sleep(Duration::from_millis(20)).await;
    }
    let problem = replica.leadership.problem().unwrap();
    assert!(
        problem.starts_with("forbidden to get leases.coordination.k8s.io `fingerpost-operator`"),
        "{problem}"
    );
    replica.stop().await;
}

#[tokio::test]
async fn a_lease_that_somebody_deleted_is_made_anew_by_its_leader() {
    let (fake, config) = serve().await;
    let replica = Running::start(&config, "first");
    replica.leads(true).await;
    fake.lock().unwrap().lease = None;
    let started = Instant::now();
    while fake.lock().unwrap().lease.is_none() && started.elapsed() < Duration::from_secs(20) {
        sleep(Duration::from_millis(10)).await;
    }
    assert!(fake.lock().unwrap().calls.iter().filter(|method| **method == Method::POST).count() >= 2);
    assert!(replica.leadership.is_leader());
    replica.stop().await;
}

#[test]
fn a_replica_without_an_election_always_leads() {
    let leadership = Leadership::always();
    assert!(leadership.is_leader() && leadership.may_send(Duration::from_secs(3600)));
}

#[test]
fn a_stalled_leader_sends_nothing_after_waking() {
    let leadership = Leadership::follower();
    let now = Instant::now();
    leadership.set(Some(now + Duration::from_secs(15)), 1);
    assert!(leadership.is_leader());
    // Nobody told it anything in the meantime: the clock does.
    assert_eq!(leadership.remaining_at(now + Duration::from_secs(16)), Duration::ZERO);
    leadership.set(Some(now), 1);
    assert!(!leadership.is_leader() && !leadership.may_send(Duration::ZERO));
}

#[test]
fn identities_are_unique_and_begin_with_the_name() {
    let (one, other) = (unique_identity("pod-a").unwrap(), unique_identity("pod-a").unwrap());
    assert!(one.starts_with("pod-a_") && one != other, "{one} {other}");
}

#[test]
fn times_that_do_not_fit_are_refused() {
    let wrong = Settings { renew_deadline: Duration::from_secs(1), ..settings("x") };
    assert!(wrong.check().unwrap_err().to_string().contains("must be longer than the renew deadline"));
    assert!(Settings { retry_period: Duration::ZERO, ..settings("x") }.check().is_err());
}

fn held_by_another(version: &str) -> Record {
    Record {
        holder: "other".into(),
        duration: Some(Duration::from_secs(15)),
        acquired: None,
        renewed: None,
        transitions: 3,
        version: version.into(),
    }
}

/// What a candidate does after it has read the record and so much time has passed.
fn after(record: Record, waited: Duration) -> Option<Call> {
    let mut candidate = Candidate::new(settings("me"));
    let now = Instant::now();
    candidate.answered(&Call::Read, now, now, Answer::Stands(record.clone()));
    candidate.begin();
    let later = now + waited;
    candidate.answered(&Call::Read, later, later, Answer::Stands(record));
    candidate.next(later, Timestamp::UNIX_EPOCH)
}

#[test]
fn the_holders_own_duration_is_waited_out() {
    assert_eq!(after(held_by_another("1"), Duration::from_secs(15)), None);
    let call = after(held_by_another("1"), Duration::from_millis(15_001));
    let Some(Call::Replace(record)) = call else { panic!("{call:?}") };
    assert_eq!((record.holder.as_str(), record.transitions, record.version.as_str()), ("me", 4, "1"));
}

#[test]
fn a_lease_that_was_given_back_is_taken_at_once() {
    let free = Record { holder: String::new(), ..held_by_another("1") };
    assert!(matches!(after(free, Duration::ZERO), Some(Call::Replace(_))));
}

#[test]
fn a_deleted_lease_is_not_taken_before_its_holders_time_is_over() {
    let mut candidate = Candidate::new(settings("me"));
    let now = Instant::now();
    candidate.answered(&Call::Read, now, now, Answer::Stands(held_by_another("1")));
    candidate.begin();
    let at = |seconds| now + Duration::from_secs(seconds);
    assert!(candidate.answered(&Call::Read, at(1), at(1), Answer::Missing), "the round is over");
    assert_eq!(candidate.next(at(1), Timestamp::UNIX_EPOCH), Some(Call::Read));
    assert!(!candidate.answered(&Call::Read, at(16), at(16), Answer::Missing));
    assert!(matches!(candidate.next(at(16), Timestamp::UNIX_EPOCH), Some(Call::Create(_))));
}
