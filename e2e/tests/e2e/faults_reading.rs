//! An API server that answers wrongly: nothing is deleted for it, and the end is right (PROMISES 2, 3, 19-21).

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::{Alone, Call, Fault, Operator, Rule, fingerpost};
use serde_json::json;

use crate::world::{World, endpoint, example_text, route};

/// More than there are kinds: each of them is hit.
const ALL_KINDS: usize = 40;
/// Long enough for a first plan to be made and carried out.
const QUIET: Duration = Duration::from_secs(2);

/// Whether a call opens a watch that first tells everything.
fn is_streamed_list(call: &Call) -> bool {
    call.is_watch() && call.query.contains("sendInitialEvents=true")
}

fn is_following(call: &Call) -> bool {
    call.is_watch() && !is_streamed_list(call)
}

/// What can be wrong with a streamed list.
fn of_streamed_lists() -> Vec<(&'static str, Fault)> {
    vec![
        ("emptied", Fault::EmptyList),
        ("cut off at once", Fault::Truncate(0)),
        ("cut off after one object", Fault::Truncate(1)),
        ("doubled", Fault::Double),
        ("an error event 410", Fault::WatchError(410)),
        ("an error event 500", Fault::WatchError(500)),
        ("403", Fault::Status(403)),
        ("410", Fault::Status(410)),
        ("429", Fault::Status(429)),
        ("500", Fault::Status(500)),
        ("504", Fault::Status(504)),
        ("dropped", Fault::Drop),
        ("slow", Fault::Delay(Duration::from_secs(1))),
    ]
}

/// What can be wrong with a list of pages.
fn of_pages() -> Vec<(&'static str, Fault)> {
    vec![
        ("emptied page", Fault::EmptyList),
        ("page cut off", Fault::Truncate(0)),
        ("page 403", Fault::Status(403)),
        ("page 410", Fault::Status(410)),
        ("page 500", Fault::Status(500)),
    ]
}

/// A quickstart that stands, and how often it was tried.
struct Standing {
    world: World<Alone>,
    operator: Operator,
    tries: usize,
}

impl Standing {
    fn new() -> Result<Standing> {
        let world = World::alone()?;
        world.apply(&example_text("quickstart")?)?;
        let operator = world.operator(&[])?;
        let mut standing = Standing { world, operator, tries: 0 };
        standing.is_right("undisturbed")?;
        Ok(standing)
    }

    /// A change reaches its child, nothing was deleted, and nothing is left to be done.
    fn is_right(&mut self, fault: &str) -> Result<()> {
        self.tries += 1;
        let name = format!("r{}", self.tries);
        self.world.apply(&route(&name))?;
        let child = endpoint("shop", &format!("{name}-external-dns-weu"));
        self.world
            .expect_there(&child)
            .with_context(|| fault.to_owned())
            .with_context(|| self.operator.output())?;
        self.world.nothing_deleted(fault).with_context(|| self.operator.output())?;
        self.is_at_rest(fault)
    }

    fn is_at_rest(&self, fault: &str) -> Result<()> {
        let kubeconfig = self.world.cluster.kubeconfig("admin")?;
        self.world.expect(&format!("rest after: {fault}"), |_| {
            let mut command = Command::new(fingerpost().map_err(|error| error.to_string())?);
            let output = command.args(["plan", "--kube"]).env("KUBECONFIG", &kubeconfig).output();
            let output = output.map_err(|error| error.to_string())?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            if output.status.code() == Some(0) { Ok(()) } else { Err(text) }
        })
    }

    /// Starts the operator anew, without a wait for its old lease.
    fn restart(&mut self) -> Result<()> {
        self.operator.process().terminate()?;
        self.operator.process().wait_for_end()?;
        self.operator.restart()
    }
}

#[test]
fn a_wrong_list_while_running_deletes_nothing() -> Result<()> {
    let mut standing = Standing::new()?;
    for (name, fault) in of_streamed_lists() {
        let proxy = &standing.world.proxy;
        proxy.add(Rule::new(Fault::WatchError(410), is_following).times(ALL_KINDS));
        proxy.add(Rule::new(fault, is_streamed_list).times(ALL_KINDS));
        proxy.cut();
        proxy.wait_for_quiet(QUIET)?;
        proxy.clear();
        standing.is_right(name)?;
    }
    Ok(())
}

#[test]
fn a_wrong_first_list_deletes_nothing() -> Result<()> {
    let mut standing = Standing::new()?;
    for (name, fault) in of_streamed_lists() {
        let once_each = once_for_each_kind();
        standing.world.proxy.add(Rule::new(fault, move |call| is_streamed_list(call) && once_each(call)));
        standing.restart().with_context(|| name)?;
        standing.world.proxy.wait_for_quiet(QUIET)?;
        standing.world.proxy.clear();
        standing.is_right(name)?;
    }
    for (name, fault) in of_pages() {
        let once_each = once_for_each_kind();
        standing.world.proxy.add(Rule::new(Fault::NoStreaming, is_streamed_list));
        standing.world.proxy.add(Rule::new(fault, move |call| call.is_list() && once_each(call)));
        standing.restart().with_context(|| name)?;
        standing.world.proxy.wait_for_quiet(QUIET)?;
        standing.world.proxy.clear();
        standing.is_right(name)?;
    }
    Ok(())
}

/// Whether a kind has not been asked for before.
fn once_for_each_kind() -> impl Fn(&Call) -> bool {
    let seen = std::sync::Mutex::new(std::collections::BTreeSet::new());
    move |call| seen.lock().is_ok_and(|mut seen| seen.insert(call.path.clone()))
}

#[test]
fn watches_that_break_lose_nothing() -> Result<()> {
    let mut standing = Standing::new()?;
    let faults = [
        ("doubled events", Fault::Double),
        ("events cut off", Fault::Truncate(0)),
        ("a version that is too old", Fault::WatchError(410)),
        ("a watch that is refused", Fault::Status(500)),
        ("a watch that is never answered", Fault::Hang),
        ("a watch that is dropped", Fault::Drop),
    ];
    for (name, fault) in faults {
        let hangs = matches!(fault, Fault::Hang);
        standing.world.proxy.add(Rule::new(fault, is_following).times(ALL_KINDS));
        standing.world.proxy.cut();
        standing.world.apply(&route(&format!("during-{}", standing.tries)))?;
        standing.world.api().delete(&crate::world::router("serviceroutes", "shop", "r1"))?;
        std::thread::sleep(QUIET);
        standing.world.proxy.clear();
        if hangs {
            standing.world.proxy.cut();
        }
        let child = endpoint("shop", &format!("during-{}-external-dns-weu", standing.tries));
        standing.world.expect_there(&child).context(name).with_context(|| standing.operator.output())?;
        // It was deleted by a user; that and nothing else went.
        let own = |call: &String| call.contains("/r1-external-dns-weu") || call.contains("/r1 ");
        let others: Vec<String> = standing.world.deletions().into_iter().filter(|call| !own(call)).collect();
        ensure!(others.is_empty(), "{name}: {others:?}");
        standing.world.expect_gone(&endpoint("shop", "r1-external-dns-weu"))?;
        standing.world.apply(&route("r1"))?;
        standing.world.expect_there(&endpoint("shop", "r1-external-dns-weu"))?;
        standing.tries += 1;
        standing.is_at_rest(name)?;
    }
    Ok(())
}

#[test]
fn writes_that_fail_are_made_good() -> Result<()> {
    let mut standing = Standing::new()?;
    let faults = [
        ("403", Fault::Status(403)),
        ("409", Fault::Status(409)),
        ("410", Fault::Status(410)),
        ("422", Fault::Status(422)),
        ("429", Fault::Status(429)),
        ("500", Fault::Status(500)),
        ("504", Fault::Status(504)),
        ("never answered", Fault::Hang),
        ("dropped", Fault::Drop),
        ("done, and the answer dropped", Fault::DropAnswer),
        ("slow", Fault::Delay(Duration::from_millis(300))),
    ];
    for (name, fault) in faults {
        standing.world.proxy.add(Rule::new(fault, Call::is_write).times(6));
        standing.is_right(name)?;
        standing.world.proxy.clear();
        standing.world.proxy.cut();
    }
    Ok(())
}

#[test]
fn an_object_that_is_edited_while_a_write_is_on_its_way_wins() -> Result<()> {
    let mut standing = Standing::new()?;
    let (world, slow) = (&standing.world, || Fault::Delay(Duration::from_millis(700)));
    world.proxy.add(Rule::new(slow(), |call| call.is_write() && call.is_about("dnsendpoints")).times(4));
    world.apply(&route("edited"))?;
    std::thread::sleep(Duration::from_millis(300));
    let path = crate::world::router("serviceroutes", "shop", "edited");
    world.api().merge(&path, &json!({"spec": {"application": "store"}}))?;
    let child = endpoint("shop", "edited-external-dns-weu");
    let name = json!("edited-ns-p-prod-store.example.org");
    world.expect_field(&child, "/spec/endpoints/0/dnsName", &name)?;
    world.nothing_deleted("an edit")?;
    // The child is changed by hand while its deletion is on its way; it goes all the same.
    world.proxy.add(Rule::new(slow(), |call| call.method == "DELETE").times(2));
    world.api().merge(
        &crate::world::router("dnspolicies", "shop", "shop-dns"),
        &json!({"spec": {"mode": "RegionBound", "sourceRegion": "neu"}}),
    )?;
    std::thread::sleep(Duration::from_millis(300));
    world.api().merge(&child, &json!({"metadata": {"labels": {"team": "blue"}}}))?;
    world.expect_gone(&child).with_context(|| standing.operator.output())?;
    // And a child that is on its way while its route goes does not stay behind.
    world.api().merge(
        &crate::world::router("dnspolicies", "shop", "shop-dns"),
        &json!({"spec": {"mode": "Active", "sourceRegion": null}}),
    )?;
    world.expect_there(&child)?;
    world.proxy.add(Rule::new(slow(), |call| call.body.contains("\"late\"")).times(4));
    world.apply(&route("late"))?;
    std::thread::sleep(Duration::from_millis(300));
    world.api().delete(&crate::world::router("serviceroutes", "shop", "late"))?;
    std::thread::sleep(Duration::from_secs(1));
    world.expect_gone(&endpoint("shop", "late-external-dns-weu"))?;
    world.proxy.forget();
    standing.is_right("edits")
}
