//! An API server that answers wrongly: nothing is deleted for it, and the end is right (PROMISES 2, 3, 19-21).

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::{Alone, Call, Fault, Operator, Proxy, Rule, fingerpost};
use serde_json::json;

use crate::world::{World, endpoint, example_text, route};

/// More than there are kinds: each of them is hit.
pub(crate) const ALL_KINDS: usize = 40;
/// Long enough for a first plan to be made and carried out.
const QUIET: Duration = Duration::from_secs(2);

/// Whether a call opens a watch that first tells everything.
pub(crate) fn is_streamed_list(call: &Call) -> bool {
    call.is_watch() && call.query.contains("sendInitialEvents=true")
}

pub(crate) fn is_following(call: &Call) -> bool {
    call.is_watch() && !is_streamed_list(call)
}

/// Faults that hit one call after the other, and what to call them.
pub(crate) type Group = (&'static str, Vec<Fault>);

/// What can be wrong with a streamed list.
pub(crate) fn of_streamed_lists() -> Vec<Group> {
    vec![
        (
            "emptied, cut off at once, cut off later",
            vec![Fault::EmptyList, Fault::Truncate(0), Fault::Truncate(1)],
        ),
        (
            "error events 410 and 500, and 403",
            vec![Fault::WatchError(410), Fault::WatchError(500), Fault::Status(403)],
        ),
        ("410, 429 and 500", vec![Fault::Status(410), Fault::Status(429), Fault::Status(500)]),
        ("504, dropped and doubled", vec![Fault::Status(504), Fault::Drop, Fault::Double]),
        ("emptied and slow", vec![Fault::EmptyList, Fault::Delay(Duration::from_secs(1))]),
    ]
}

/// What can be wrong with a list of pages.
fn of_pages() -> Vec<Group> {
    vec![
        ("pages emptied and cut off", vec![Fault::EmptyList, Fault::Truncate(0)]),
        ("pages 403, 410 and 500", vec![Fault::Status(403), Fault::Status(410), Fault::Status(500)]),
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

/// The faults of a group for each kind, one call after the other.
pub(crate) fn add(proxy: &Proxy, faults: Vec<Fault>, fits: fn(&Call) -> bool) {
    for fault in faults {
        let once_each = once_for_each_kind();
        proxy.add(Rule::new(fault, move |call| fits(call) && once_each(call)));
    }
}

#[test]
fn a_wrong_list_while_running_deletes_nothing() -> Result<()> {
    let mut standing = Standing::new()?;
    for (name, faults) in of_streamed_lists() {
        let proxy = &standing.world.proxy;
        proxy.add(Rule::new(Fault::WatchError(410), is_following).times(ALL_KINDS));
        add(proxy, faults, is_streamed_list);
        proxy.cut();
        proxy.wait_for_quiet(QUIET)?;
        standing.world.nothing_deleted(name)?;
        standing.world.proxy.clear();
        standing.is_right(name)?;
    }
    Ok(())
}

#[test]
fn a_wrong_first_list_deletes_nothing() -> Result<()> {
    let mut standing = Standing::new()?;
    for (name, faults) in of_streamed_lists() {
        add(&standing.world.proxy, faults, is_streamed_list);
        standing.restart().with_context(|| name)?;
        standing.world.proxy.wait_for_quiet(QUIET)?;
        standing.world.proxy.clear();
        standing.is_right(name)?;
    }
    for (name, faults) in of_pages() {
        standing.world.proxy.add(Rule::new(Fault::NoStreaming, is_streamed_list));
        add(&standing.world.proxy, faults, Call::is_list);
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
    let slow = Fault::Delay(Duration::from_millis(300));
    let groups: [Group; 4] = [
        ("403, 409 and 410", vec![Fault::Status(403), Fault::Status(409), Fault::Status(410)]),
        ("422, 429 and 500", vec![Fault::Status(422), Fault::Status(429), Fault::Status(500)]),
        ("504, never answered and dropped", vec![Fault::Status(504), Fault::Hang, Fault::Drop]),
        ("done with the answer dropped, and slow", vec![Fault::DropAnswer, slow]),
    ];
    for (name, faults) in groups {
        faults
            .into_iter()
            .for_each(|fault| standing.world.proxy.add(Rule::new(fault, Call::is_write).times(3)));
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
