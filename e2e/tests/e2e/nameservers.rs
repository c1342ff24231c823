//! `fingerpost dns` in a cluster: it answers when it can, goes on when the API server does not, and agrees
//! with its siblings.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::{Alone, Cluster, DnsServer, Expectation, Fault, Rule, Server, Start, Watcher, dig};
use serde_json::json;

use crate::faults_reading::{ALL_KINDS, add, is_following, is_streamed_list, of_streamed_lists};
use crate::world::{World, endpoint, example_text, kubizone, route};

/// What all servers answer from: the quickstart, its controller's records in a class of ours.
fn quickstart() -> Result<String> {
    let text = example_text("quickstart")?;
    let with_class =
        text.replace("      region: weu\n", "      region: weu\n      dnsClassRef: {name: edge}\n");
    ensure!(with_class != text, "the quickstart's controller is not where it was");
    Ok(format!("{}\n---\n{with_class}", class("edge", &json!({}))))
}

pub(crate) fn class(name: &str, embedded: &serde_json::Value) -> String {
    let (version, metadata) = ("dns.homelab.mortenolsen.pro/v1alpha1", json!({"name": name}));
    json!({"apiVersion": version, "kind": "DNSClass", "metadata": metadata, "spec": {"embedded": embedded}})
        .to_string()
}

pub(crate) fn record(zone: &str, name: &str, address: &str) -> String {
    let spec = json!({"domainName": name, "zoneRef": {"name": zone}, "type": "A", "rdata": address});
    let metadata = json!({"name": format!("{zone}-{name}"), "namespace": "dns"});
    json!({"apiVersion": "kubi.zone/v1alpha1", "kind": "Record", "metadata": metadata, "spec": spec})
        .to_string()
}

pub(crate) fn zone(name: &str, origin: &str, class: &str) -> String {
    let spec = json!({"domainName": origin, "dnsClassRef": {"name": class}});
    let metadata = json!({"name": name, "namespace": "dns"});
    json!({"apiVersion": "kubi.zone/v1alpha1", "kind": "Zone", "metadata": metadata, "spec": spec})
        .to_string()
}

/// Waits until a question is answered so: a status, or the data of an A record.
pub(crate) fn expect_answer(server: SocketAddr, question: &str, wanted: &str) -> Result<()> {
    let mut last = String::new();
    let answered = e2e::wait_for_within(crate::world::SOON, "the answer", || {
        let told = dig(server, question)?;
        let data = told.data("A").join(" ");
        last = format!("{} {data}", told.status);
        Ok((told.status == wanted || data == wanted).then_some(()))
    });
    answered.with_context(|| format!("{question}: {last}, not {wanted}"))
}

pub(crate) fn serial(server: SocketAddr) -> Result<u64> {
    let soa = dig(server, "example.org SOA")?.data("SOA").join("");
    soa.split(' ').nth(2).context("no serial")?.parse().with_context(|| soa.clone())
}

#[test]
fn it_is_ready_when_it_can_answer_and_says_servfail_before() -> Result<()> {
    let world = World::alone()?;
    world.proxy.add(Rule::new(Fault::Status(503), |_| true));
    let mut server = DnsServer::spawn(world.site("cold", &["--drain=3s"])?)?;
    expect_answer(server.dns(), "www.example.org A", "SERVFAIL").with_context(|| server.output())?;
    ensure!(server.get("/readyz").is_err() && server.get("/healthz").is_ok(), "{}", server.output());
    world.proxy.clear();
    world.expect("the reason to be a missing class", |_| match server.get("/readyz") {
        Err(error) if error.to_string().contains("no embedded DNSClass") => Ok(()),
        other => Err(format!("{other:?}")),
    })?;
    assert_eq!(dig(server.dns(), "www.example.org A")?.status, "SERVFAIL", "no class is known yet");
    let _operator = world.operator(&[])?;
    world.apply(&quickstart()?)?;
    server.wait_until_ready()?;
    expect_answer(server.dns(), "www.example.org A", "192.0.2.10").with_context(|| server.output())?;
    assert_eq!(dig(server.dns(), "nobody.example.org A")?.status, "NXDOMAIN");
    assert_eq!(dig(server.dns(), "www.example.net A")?.status, "REFUSED", "outside of all zones");
    drains(&mut server)
}

/// After SIGTERM it is not ready, and answers until it ends.
fn drains(server: &mut DnsServer) -> Result<()> {
    server.process().terminate()?;
    let draining =
        |server: &DnsServer| server.get("/readyz").is_err_and(|error| error.to_string().contains("stopping"));
    e2e::eventually(|| draining(server)).with_context(|| server.output())?;
    assert_eq!(dig(server.dns(), "www.example.org A")?.data("A"), ["192.0.2.10"]);
    assert_eq!(server.process().wait_for_end()?, Some(0), "{}", server.output());
    Ok(())
}

#[test]
fn classes_are_told_apart_by_their_clients() -> Result<()> {
    let world = World::alone()?;
    let inside = class("inside", &json!({"clients": ["127.77.0.0/16"]}));
    let zones = [zone("in", "in.example.", "inside"), zone("out", "out.example.", "edge")];
    let records = [record("in", "www", "192.0.2.1"), record("out", "www", "192.0.2.2")];
    let edge = class("edge", &json!({}));
    world.apply(&[[inside, edge], zones, records].concat().join("\n---\n"))?;
    let _operator = world.operator(&[])?;
    let (both, only) = (world.dns("both", &[])?, world.dns("only", &["--class=inside"])?);
    let (here, there) = ("", "-b 127.77.0.1 ");
    for (server, from, name, wanted) in [
        (&both, here, "www.out.example", "192.0.2.2"),
        (&both, here, "www.in.example", "REFUSED"),
        (&both, there, "www.in.example", "192.0.2.1"),
        (&both, there, "www.out.example", "REFUSED"),
        (&only, there, "www.in.example", "192.0.2.1"),
        (&only, here, "www.out.example", "REFUSED"),
    ] {
        expect_answer(server.dns(), &format!("{from}{name} A"), wanted).with_context(|| server.output())?;
    }
    Ok(())
}

#[test]
fn a_zone_without_a_grant_is_not_served_where_grants_are_required() -> Result<()> {
    let world = World::alone()?;
    let annotations = json!({"fingerpost.dev/domains": "granted.example"});
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "granted", "annotations": annotations}});
    let zones = [zone("yes", "granted.example.", "edge"), zone("no", "ungranted.example.", "edge")];
    let records = [record("yes", "www", "192.0.2.1"), record("no", "www", "192.0.2.2")];
    let owned =
        [zones, records].concat().join("\n---\n").replace(r#""namespace":"dns""#, r#""namespace":"granted""#);
    world.apply(&format!("{namespace}\n---\n{}\n---\n{owned}", class("edge", &json!({}))))?;
    let _operator = world.operator(&["--require-domain-grants"])?;
    let server = world.dns("granted", &["--require-domain-grants"])?;
    expect_answer(server.dns(), "www.granted.example A", "192.0.2.1").with_context(|| server.output())?;
    expect_answer(server.dns(), "www.ungranted.example A", "REFUSED").with_context(|| server.output())?;
    world.expect_condition(&kubizone("zones", "granted", "yes"), "Ready", "True", "Served")?;
    world.expect_condition(&kubizone("zones", "granted", "no"), "Ready", "False", "DomainNotGranted")
}

#[test]
fn replicas_answer_new_content_at_once_and_one_serial() -> Result<()> {
    let world = World::alone()?;
    world.apply(&quickstart()?)?;
    let mut operator = world.operator(&[])?;
    let replicas = [world.dns("one", &[])?, world.dns("two", &[])?];
    let agreed = |what: &str| {
        world.expect(what, |api| {
            let zone =
                api.get(&kubizone("zones", "dns", "example-org")).map_err(|error| error.to_string())?;
            let published = zone.unwrap_or_default()["status"]["serial"].as_u64();
            let served: Vec<Option<u64>> = replicas.iter().map(|one| serial(one.dns()).ok()).collect();
            let agreed = published.is_some() && served.iter().all(|serial| *serial == published);
            if agreed { Ok(()) } else { Err(format!("published {published:?}, served {served:?}")) }
        })
    };
    agreed("one serial at the start").with_context(|| operator.output())?;
    world.proxy.wait_for_quiet(Duration::from_secs(2))?;
    let before = serial(replicas[0].dns())?;
    // Nobody publishes a serial now, and still the content is new.
    operator.process().suspend()?;
    world.apply(&record("example-org", "new", "192.0.2.77"))?;
    for replica in &replicas {
        expect_answer(replica.dns(), "new.example.org A", "192.0.2.77").with_context(|| replica.output())?;
        assert_eq!(serial(replica.dns())?, before, "under the last published serial");
    }
    operator.process().resume()?;
    world.expect("a new serial", |_| match serial(replicas[0].dns()) {
        Ok(now) if now > before => Ok(()),
        other => Err(format!("{other:?} after {before}")),
    })?;
    agreed("one serial afterwards").with_context(|| operator.output())?;
    tells_events(&world)
}

/// What turns bad is an event, and what recovers is another.
fn tells_events(world: &World<Alone>) -> Result<()> {
    let events = |kind: &str, reason: &str| {
        world.expect(&format!("an event {kind} {reason}"), |_| {
            let arguments =
                ["get", "events", "--namespace", "dns", "--field-selector", "involvedObject.name=www"];
            let said = world.cluster.kubectl("admin", &arguments).map_err(|error| error.to_string())?;
            let is_told =
                |line: &str| line.contains(kind) && line.contains(reason) && line.contains("record/www");
            if said.output.lines().any(is_told) { Ok(()) } else { Err(format!("{said:?}")) }
        })
    };
    let path = kubizone("records", "dns", "www");
    world.api().merge(&path, &json!({"spec": {"zoneRef": {"name": "nowhere"}}}))?;
    world.expect("the record to be not ready", |api| {
        let record = api.get(&path).map_err(|error| error.to_string())?.unwrap_or_default();
        let ready = crate::world::condition(&record, "Ready").unwrap_or_default();
        if ready["status"] == "False" { Ok(()) } else { Err(record["status"].to_string()) }
    })?;
    events("Warning", "")?;
    world.api().merge(&path, &json!({"spec": {"zoneRef": {"name": "example-org"}}}))?;
    events("Normal", "Adopted")
}

/// A client that asks all the time for what must stand.
fn watching(server: &DnsServer) -> Watcher {
    let chain =
        ["A 192.0.2.10", "CNAME aks01-weu-public.example.org.", "CNAME web-ns-p-prod-shop.example.org."];
    let names = [("ns1.example.org", &["A 192.0.2.53"][..]), ("www.example.org", &chain)];
    Watcher::start(server.dns(), names.map(|(name, records)| Expectation::new(name, &[records])).into())
}

#[test]
fn lists_that_are_wrong_take_no_answer_away() -> Result<()> {
    let world = World::alone()?;
    world.apply(&quickstart()?)?;
    let _operator = world.operator(&[])?;
    let mut server = world.dns("watched", &[])?;
    expect_answer(server.dns(), "www.example.org A", "192.0.2.10")?;
    for (number, (name, faults)) in of_streamed_lists().into_iter().enumerate() {
        let watcher = watching(&server);
        world.proxy.add(Rule::new(Fault::WatchError(410), is_following).times(ALL_KINDS));
        add(&world.proxy, faults.clone(), is_streamed_list);
        world.proxy.cut();
        std::thread::sleep(Duration::from_secs(2));
        world.proxy.clear();
        right(&world, &server, watcher, &format!("n{number}"), name)?;
        add(&world.proxy, faults, is_streamed_list);
        server.restart()?;
        server.wait_until_ready()?;
        let watcher = watching(&server);
        std::thread::sleep(Duration::from_secs(2));
        world.proxy.clear();
        right(&world, &server, watcher, &format!("s{number}"), name)?;
    }
    Ok(())
}

/// A change arrives, and no answer was wrong on the way.
fn right(world: &World<Alone>, server: &DnsServer, watcher: Watcher, new: &str, fault: &str) -> Result<()> {
    world.apply(&record("example-org", new, "192.0.2.99"))?;
    expect_answer(server.dns(), &format!("{new}.example.org A"), "192.0.2.99")
        .with_context(|| server.output())?;
    let report = watcher.stop()?;
    ensure!(report.queries > 0 && report.bad.is_empty(), "{fault}: {:?}\n{}", report.bad, server.output());
    Ok(())
}

#[test]
fn answers_go_on_without_the_api_server() -> Result<()> {
    let world = World::of(Cluster::own(Start::AllKinds)?)?;
    let cluster = world.cluster();
    world.apply(&quickstart()?)?;
    let mut operator = world.operator(&[])?;
    let mut server = world.dns("kept", &[])?;
    let address = server.dns();
    expect_answer(address, "www.example.org A", "192.0.2.10").with_context(|| server.output())?;
    world.proxy.wait_for_quiet(Duration::from_secs(2))?;
    let before = serial(address)?;
    cluster.kill(Server::Api)?;
    world.proxy.cut();
    assert_eq!(dig(address, "www.example.org A")?.data("A"), ["192.0.2.10"]);
    server.restart()?;
    server.wait_until_ready().context("from disk alone")?;
    assert_eq!(dig(address, "www.example.org A")?.data("A"), ["192.0.2.10"]);
    assert_eq!(serial(address)?, before);
    // What is not there may have come since: no proof, no NXDOMAIN.
    assert_eq!(dig(address, "nobody.example.org A")?.status, "SERVFAIL");
    cluster.start(Server::Api)?;
    world.apply(&format!("{}\n---\n{}", route("back"), record("example-org", "back", "192.0.2.78")))?;
    expect_answer(address, "back.example.org A", "192.0.2.78").with_context(|| server.output())?;
    world.expect_there(&endpoint("shop", "back-external-dns-weu")).with_context(|| operator.output())?;

    cluster.restart(Server::Etcd)?;
    world.apply(&format!("{}\n---\n{}", route("again"), record("example-org", "again", "192.0.2.79")))?;
    expect_answer(address, "again.example.org A", "192.0.2.79").with_context(|| server.output())?;
    world.expect_there(&endpoint("shop", "again-external-dns-weu")).with_context(|| operator.output())?;
    ensure!(operator.process().is_running() && server.process().is_running(), "{}", operator.output());
    world.nothing_deleted("an API server that went and came back")
}
