//! The fault proxy itself: every fault does what its name says, with a real API server behind it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use e2e::{Call, Cluster, Fault, Hook, Proxy, Rule, wait_for};
use serde_json::{Value, json};

/// A proxy and a namespace to play in.
struct World {
    cluster: &'static Cluster,
    proxy: Proxy,
    path: String,
}

impl World {
    fn new() -> Result<World> {
        let cluster = Cluster::shared()?;
        let path = format!("/api/v1/namespaces/{}/configmaps", cluster.namespace("proxy")?);
        Ok(World { cluster, proxy: Proxy::start(cluster)?, path })
    }

    fn fault(&self, fault: Fault, fits: impl Fn(&Call) -> bool + Send + 'static) {
        self.proxy.add(Rule::new(fault, fits).times(1));
    }

    fn get(&self, path: &str) -> Result<(u16, String)> {
        let answer = self.proxy.api_as("admin").request_once("GET", path, None)?;
        Ok((answer.code, answer.body))
    }

    fn create(&self, name: &str) -> Result<u16> {
        let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}}).to_string();
        let body = Some(("application/json", body.as_str()));
        Ok(self.proxy.api_as("admin").request_once("POST", &self.path, body)?.code)
    }

    fn exists(&self, name: &str) -> Result<bool> {
        Ok(self.cluster.api().get(&format!("{}/{name}", self.path))?.is_some())
    }

    fn list(&self) -> Result<Value> {
        Ok(serde_json::from_str(&self.get(&self.path)?.1)?)
    }

    /// What a watch says until it ends; the API server ends it after a second.
    fn watch(&self, more: &str) -> Result<(u16, String)> {
        self.get(&format!("{}?watch=true&timeoutSeconds=1{more}", self.path))
    }
}

#[test]
fn without_a_rule_calls_pass_and_are_written_down() -> Result<()> {
    let world = World::new()?;
    assert_eq!(world.create("a")?, 201);
    assert_eq!(world.list()?["items"][0]["metadata"]["name"], "a");
    let writes = world.proxy.writes();
    assert_eq!(
        writes.iter().map(Call::to_string).collect::<Vec<_>>(),
        [format!("POST {} → 201", world.path)]
    );
    assert!(writes[0].body.contains("ConfigMap"), "{}", writes[0].body);
    assert_eq!(world.proxy.calls().len(), 2);
    Ok(())
}

#[test]
fn a_status_is_answered_in_the_words_of_the_api_server() -> Result<()> {
    let world = World::new()?;
    for code in [403, 409, 410, 429, 500, 504] {
        world.fault(Fault::Status(code), Call::is_list);
        let (answered, body) = world.get(&world.path)?;
        assert_eq!(answered, code);
        assert_eq!(serde_json::from_str::<Value>(&body)?["kind"], "Status");
    }
    assert_eq!(world.get(&world.path)?.0, 200, "each rule was for one call");
    Ok(())
}

#[test]
fn a_dropped_call_never_happened_and_a_dropped_answer_did() -> Result<()> {
    let world = World::new()?;
    world.fault(Fault::Drop, Call::is_write);
    assert!(world.create("a").is_err());
    world.fault(Fault::DropAnswer, Call::is_write);
    assert!(world.create("b").is_err());
    assert_eq!((world.exists("a")?, world.exists("b")?), (false, true));
    assert_eq!(world.proxy.writes().iter().map(|call| call.code).collect::<Vec<_>>(), [None, Some(201)]);
    Ok(())
}

#[test]
fn a_hook_runs_before_or_after_the_write() -> Result<()> {
    let world = World::new()?;
    let ran = Arc::new(AtomicUsize::new(0));
    world.fault(Fault::Before(counting(&ran)), Call::is_write);
    assert!(world.create("a").is_err());
    assert_eq!((ran.load(Ordering::SeqCst), world.exists("a")?), (1, false));
    world.fault(Fault::After(counting(&ran)), Call::is_write);
    assert!(world.create("b").is_err());
    assert_eq!((ran.load(Ordering::SeqCst), world.exists("b")?), (2, true));
    Ok(())
}

fn counting(ran: &Arc<AtomicUsize>) -> Hook {
    let ran = ran.clone();
    Arc::new(move || {
        ran.fetch_add(1, Ordering::SeqCst);
    })
}

#[test]
fn rules_can_let_calls_pass_first() -> Result<()> {
    let world = World::new()?;
    world.proxy.add(Rule::new(Fault::Status(500), Call::is_write).skip(2).times(1));
    let codes = ["a", "b", "c", "d"].map(|name| world.create(name).unwrap_or_default());
    assert_eq!(codes, [201, 201, 500, 201]);
    Ok(())
}

#[test]
fn a_list_can_be_emptied_or_broken_off() -> Result<()> {
    let world = World::new()?;
    world.create("a")?;
    world.fault(Fault::EmptyList, Call::is_list);
    let empty = world.list()?;
    assert_eq!(empty["items"], json!([]));
    assert!(empty["metadata"]["resourceVersion"].is_string(), "{empty}");
    world.fault(Fault::Truncate(0), Call::is_list);
    assert!(world.get(&world.path).is_err());
    assert_eq!(world.list()?["items"].as_array().map(Vec::len), Some(1));
    Ok(())
}

#[test]
fn events_of_a_watch_can_come_twice_or_break_off_or_be_an_error() -> Result<()> {
    let world = World::new()?;
    world.create("a")?;
    let added = |text: &str| text.matches(r#""type":"ADDED""#).count();
    assert_eq!(added(&world.watch("")?.1), 1);
    world.fault(Fault::Double, Call::is_watch);
    assert_eq!(added(&world.watch("")?.1), 2);
    world.fault(Fault::Truncate(0), Call::is_watch);
    assert!(world.watch("").is_err());
    world.fault(Fault::WatchError(410), Call::is_watch);
    let (code, text) = world.watch("")?;
    assert!(code == 200 && text.contains("ERROR") && text.contains("Expired"), "{text}");
    Ok(())
}

#[test]
fn a_streamed_list_can_be_emptied() -> Result<()> {
    let world = World::new()?;
    world.create("a")?;
    let streamed = "&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    let added = |text: &str| text.matches(r#""type":"ADDED""#).count();
    assert_eq!(added(&world.watch(streamed)?.1), 1);
    world.fault(Fault::EmptyList, Call::is_watch);
    let text = world.watch(streamed)?.1;
    assert_eq!(added(&text), 0);
    assert!(text.contains("initial-events-end"), "{text}");
    Ok(())
}

#[test]
fn a_call_that_hangs_and_a_watch_end_when_all_connections_are_cut() -> Result<()> {
    let world = World::new()?;
    world.fault(Fault::Hang, Call::is_list);
    std::thread::scope(|scope| {
        let hanging = scope.spawn(|| world.get(&world.path));
        let watching = scope.spawn(|| world.get(&format!("{}?watch=true", world.path)));
        wait_for("both calls", || Ok((world.proxy.calls().len() == 2).then_some(())))?;
        // The watch has to be open, or there is nothing to cut.
        wait_for("the watch", || {
            Ok(world.proxy.calls().iter().any(|call| call.code.is_some()).then_some(()))
        })?;
        world.proxy.cut();
        assert!(hanging.join().ok().context("the call panicked")?.is_err());
        assert!(watching.join().ok().context("the watch panicked")?.is_err());
        Ok(())
    })
}

#[test]
fn roles_are_judged_by_the_api_server_behind_the_proxy() -> Result<()> {
    let world = World::new()?;
    assert_eq!(world.proxy.api_as("nobody").request("GET", &world.path, None)?.code, 403);
    Ok(())
}
