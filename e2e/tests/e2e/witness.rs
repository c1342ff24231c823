//! Regions that share a lease in a real witness: each is an `up` of its own with its own folder.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use e2e::{
    BACKEND_PORT, Backend, Cluster, DocumentServer, Etcd, Folder, Options, Process, Start, Up, call, dig,
    fingerpost, own_address, run, wait_for, wait_for_within,
};
use serde_json::{Value, json};

use crate::world::World;

/// The lease runs out only after a stall that even a busy machine does not have.
const TIMES: &str = "lease: 12s\n    renew: 1s";
/// Two leases, and then some.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A region: its folder and its `up`.
pub(crate) struct Region {
    pub(crate) folder: Folder,
    pub(crate) up: Up,
}

impl Region {
    pub(crate) fn start(name: &str, witness: &str) -> Result<Region> {
        Region::start_beside(name, witness, "")
    }

    /// Beside other manifests, in `other.yaml`.
    pub(crate) fn start_beside(name: &str, witness: &str, other: &str) -> Result<Region> {
        let folder = Folder::new()?;
        folder.write("other.yaml", other)?;
        folder.write("web.yaml", &placement(name, witness))?;
        let up = Up::start(Options::folder(folder.path()))?;
        Ok(Region { folder, up })
    }

    pub(crate) fn lease(&self) -> Result<Value> {
        Ok(serde_json::from_str(&self.up.get("/api/v1/leases/apps/web")?)?)
    }

    pub(crate) fn answer(&self) -> Result<Vec<String>> {
        Ok(dig(self.up.dns(0), "app.example.org A")?.data("A"))
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}:8053", self.up.address())
    }

    /// Waits until the lease is as wanted.
    pub(crate) fn wait(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Result<Value> {
        let mut last = Value::Null;
        wait_for_within(PATIENCE, what, || {
            last = self.lease()?;
            Ok(holds(&last).then(|| last.clone()))
        })
        .with_context(|| format!("{last:#}"))
    }

    pub(crate) fn wait_for_answer(&self, address: &str) -> Result<()> {
        wait_for_within(PATIENCE, address, || Ok((self.answer()? == [address]).then_some(())))
    }
}

pub(crate) fn placement(region: &str, witness: &str) -> String {
    format!(
        "apiVersion: fingerpost.dev/v1alpha1
kind: Placement
metadata: {{name: web, namespace: apps}}
spec:
  hostname: app.example.org
  mode: active-hotstandby
  regions:
  - name: weu
    addresses: [192.0.2.1]
  - name: neu
    addresses: [192.0.2.2]
  witness:
    {witness}
    region: {region}
    {TIMES}
"
    )
}

pub(crate) fn two(witness: &str) -> Result<(Region, Region)> {
    let weu = Region::start("weu", witness)?;
    weu.wait("weu to hold the lease", |lease| lease["held"] == true)?;
    let neu = Region::start("neu", witness)?;
    neu.wait("neu to see the holder", |lease| lease["active"] == "weu")?;
    Ok((weu, neu))
}

pub(crate) fn etcd_witness(members: &[Etcd]) -> String {
    let urls: Vec<String> = members.iter().map(Etcd::url).collect();
    format!("etcd: {{endpoints: ['{}']}}", urls.join("', '"))
}

/// What every kind of witness must do: one holder, take-over after its death, a higher generation.
fn is_taken_over(witness: &str) -> Result<()> {
    let (mut weu, neu) = two(witness)?;
    assert_eq!((weu.answer()?, neu.answer()?), (vec!["192.0.2.1".to_owned()], vec!["192.0.2.1".to_owned()]));
    let before = neu.lease()?;
    assert_eq!((&before["holder"], &before["held"]), (&Value::from("weu"), &Value::from(false)));
    weu.up.kill()?;
    let after = neu.wait("neu to take the lease", |lease| lease["held"] == true)?;
    assert!(after["generation"].as_u64() > before["generation"].as_u64(), "{after}");
    neu.wait_for_answer("192.0.2.2")?;
    let message = neu.lease()?["history"][0]["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.starts_with("neu took the lease (generation"), "{message}");
    Ok(())
}

#[test]
fn the_lease_in_etcd_is_taken_over_after_the_holder_s_death() -> Result<()> {
    is_taken_over(&etcd_witness(&[Etcd::alone()?]))
}

#[test]
fn the_lease_at_a_url_is_taken_over_after_the_holder_s_death() -> Result<()> {
    let server = DocumentServer::start()?;
    is_taken_over(&format!("http: {{url: '{}'}}", server.url()))
}

#[test]
fn the_lease_in_another_cluster_is_taken_over_after_the_holder_s_death() -> Result<()> {
    let cluster = Cluster::own(Start::Empty)?;
    let folder = tempfile::tempdir()?;
    let authority =
        call("base64", "coreutils", &["-w0", &cluster.folder().join("ca.crt").display().to_string()])?;
    let authority = String::from_utf8(authority.stdout)?;
    let kubeconfig = std::fs::read_to_string(cluster.kubeconfig("admin")?)?;
    let path = format!("certificate-authority: '{}'", cluster.folder().join("ca.crt").display());
    let data = format!("certificate-authority-data: {}", authority);
    ensure!(kubeconfig.contains(&path), "{kubeconfig}");
    std::fs::create_dir_all(folder.path().join("witness"))?;
    std::fs::write(folder.path().join("witness/kubeconfig"), kubeconfig.replace(&path, &data))?;
    let witness = "kubernetes: {kubeconfigSecretRef: {name: witness}}";
    let start = |name: &str| -> Result<Region> {
        let manifests = Folder::new()?;
        manifests.write("web.yaml", &placement(name, witness))?;
        let secrets = folder.path().display().to_string();
        let up = Up::start(Options::folder(manifests.path()).flags(&["--secrets", &secrets]))?;
        Ok(Region { folder: manifests, up })
    };
    let mut weu = start("weu")?;
    weu.wait("weu to hold the lease", |lease| lease["held"] == true)?;
    let neu = start("neu")?;
    neu.wait("neu to see the holder", |lease| lease["active"] == "weu")?;
    let lease = cluster.kubectl(
        "admin",
        &["get", "lease", "fingerpost-app.example.org", "-o", "jsonpath={.spec.holderIdentity}"],
    )?;
    assert_eq!(lease.success()?, "weu");
    weu.up.kill()?;
    neu.wait("neu to take the lease", |lease| lease["held"] == true && lease["active"] == "neu")?;
    neu.wait_for_answer("192.0.2.2")
}

#[test]
fn a_member_of_three_may_die_and_the_lease_stays() -> Result<()> {
    let mut members = Etcd::members(3)?;
    let (weu, neu) = two(&etcd_witness(&members))?;
    let before = weu.lease()?;
    members[0].kill()?;
    // Longer than the lease: without renewals it would be somebody else's.
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(20) {
        let (one, other) = (weu.lease()?, neu.lease()?);
        ensure!(one["generation"] == before["generation"], "{one:#}");
        ensure!(other["held"] == false && other["active"] == "weu", "{other:#}");
        std::thread::sleep(Duration::from_millis(500));
    }
    let after = weu.wait("weu to hold the lease still", |lease| lease["held"] == true)?;
    ensure!(after["generation"] == before["generation"], "{after:#}");
    Ok(())
}

#[test]
fn losing_the_witness_freezes_the_answers() -> Result<()> {
    let mut members = vec![Etcd::alone()?];
    let (weu, neu) = two(&etcd_witness(&members))?;
    let before = weu.lease()?;
    members[0].kill()?;
    for region in [&weu, &neu] {
        region.wait("trouble to be told", |lease| lease["trouble"].is_string())?;
    }
    weu.wait("weu to stop believing", |lease| lease["held"] == false)?;
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(15) {
        for region in [&weu, &neu] {
            assert_eq!(region.answer()?, ["192.0.2.1"], "answers stay as they were");
            assert_eq!(region.lease()?["held"], false, "nobody is promoted");
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    members[0].restart()?;
    let after = weu.wait("weu to hold the lease again", |lease| lease["held"] == true)?;
    assert_eq!((&after["generation"], &after["trouble"]), (&before["generation"], &Value::Null));
    Ok(())
}

#[test]
fn a_url_that_loses_races_and_hangs_never_has_two_holders() -> Result<()> {
    let server = DocumentServer::start()?;
    let (weu, neu) = two(&format!("http: {{url: '{}'}}", server.url()))?;
    server.race(5);
    wait_for("races to be lost", || Ok((server.conflicts() >= 5).then_some(())))?;
    let start = Instant::now();
    server.hang(true);
    while start.elapsed() < Duration::from_secs(40) {
        // Asked in this order: the first may lose it in between, but the second must not have it before.
        let (one, other) = (weu.lease()?["held"] == true, neu.lease()?["held"] == true);
        ensure!(!(one && other && weu.lease()?["held"] == true), "both hold the lease");
        assert_eq!((weu.answer()?.len(), neu.answer()?.len()), (1, 1));
        if start.elapsed() > Duration::from_secs(20) {
            server.hang(false);
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    wait_for_within(PATIENCE, "a holder", || {
        Ok((weu.lease()?["held"] == true || neu.lease()?["held"] == true).then_some(()))
    })
}

#[test]
fn a_url_that_ignores_if_match_is_no_witness() -> Result<()> {
    let server = DocumentServer::start()?;
    server.ignore_versions(true);
    let weu = Region::start("weu", &format!("http: {{url: '{}'}}", server.url()))?;
    let lease = weu.wait("the trouble to be told", |lease| lease["trouble"].is_string())?;
    let trouble = lease["trouble"].as_str().unwrap_or_default().to_owned();
    assert!(trouble.contains("does not honour If-Match"), "{trouble}");
    assert_eq!(weu.answer()?, ["192.0.2.1"]);
    Ok(())
}

#[test]
fn a_drained_region_gives_the_lease_up() -> Result<()> {
    let etcd = [Etcd::alone()?];
    let (weu, neu) = two(&etcd_witness(&etcd))?;
    for region in [&weu, &neu] {
        region.folder.replace(
            "web.yaml",
            "addresses: [192.0.2.1]",
            "addresses: [192.0.2.1]\n    weight: 0",
        )?;
    }
    neu.wait("neu to take the lease", |lease| lease["held"] == true)?;
    neu.wait_for_answer("192.0.2.2")?;
    weu.wait_for_answer("192.0.2.2")
}

#[test]
fn after_a_restart_answers_go_on_from_where_they_were() -> Result<()> {
    let mut etcd = vec![Etcd::alone()?];
    let state = tempfile::tempdir()?;
    let (weu, neu) = two(&etcd_witness(&etcd))?;
    run(&["switchover", "apps/web", "--to", "neu", "--force", "--url", &neu.url()])?;
    neu.wait_for_answer("192.0.2.2")?;
    let again = || Up::start(Options::folder(weu.folder.path()).state(state.path()));
    let mut up = again()?;
    wait_for("the holder to be seen", || {
        Ok((dig(up.dns(0), "app.example.org A")?.data("A") == ["192.0.2.2"]).then_some(()))
    })?;
    // The state is written behind the answers; a process that is asked to end writes it first.
    up.terminate()?;
    etcd[0].kill()?;
    let up = again()?;
    assert_eq!(
        dig(up.dns(0), "app.example.org A")?.data("A"),
        ["192.0.2.2"],
        "from disk, without the witness"
    );
    Ok(())
}

/// A `fingerpost lease` in etcd.
fn lease(etcd: &Etcd, holder: &str, command: &[&str]) -> Result<Process> {
    let mut lease = Command::new(fingerpost()?);
    lease.args(["lease", "ledger", "--etcd", &etcd.url(), "--as", holder]);
    lease.args(["--lease", "12s", "--renew", "1s", "--"]).args(command);
    Process::start("`fingerpost lease`", &lease)
}

#[test]
fn a_command_runs_only_while_the_lease_is_held() -> Result<()> {
    let mut etcd = Etcd::alone()?;
    let mut one = lease(&etcd, "one", &["sh", "-c", "echo runs $FINGERPOST_LEASE_GENERATION; sleep 1000"])?;
    one.wait_for_output("runs 1")?;
    let mut two = lease(&etcd, "two", &["sh", "-c", "echo runs $FINGERPOST_LEASE_GENERATION; sleep 1000"])?;
    two.wait_for_output("it is held by one")?;
    assert!(!two.output().contains("runs"), "{}", two.output());
    one.terminate()?;
    assert_eq!(one.wait_for_end()?, Some(143), "{}", one.output());
    two.wait_for_output("runs 2")?;
    etcd.kill()?;
    assert_eq!(two.wait_for_end()?, Some(75), "{}", two.output());
    Ok(())
}

#[test]
fn a_command_s_exit_code_is_the_lease_s() -> Result<()> {
    let etcd = Etcd::alone()?;
    let mut one = lease(&etcd, "one", &["sh", "-c", "exit 7"])?;
    assert_eq!(one.wait_for_end()?, Some(7), "{}", one.output());
    Ok(())
}

#[test]
fn a_command_is_gated_by_the_region_s_own_lease() -> Result<()> {
    let etcd = [Etcd::alone()?];
    let (weu, neu) = two(&etcd_witness(&etcd))?;
    let start = |region: &Region| -> Result<Process> {
        let mut lease = Command::new(fingerpost()?);
        lease.args(["lease", "apps/web", "--url", &region.url(), "--renew", "1s", "--lease", "12s", "--"]);
        lease.args(["sh", "-c", "echo runs $FINGERPOST_LEASE_GENERATION; sleep 1000"]);
        Process::start("`fingerpost lease`", &lease)
    };
    let (mut one, other) = (start(&weu)?, start(&neu)?);
    one.wait_for_output("runs 1")?;
    other.wait_for_output("it is held by weu")?;
    let moved = run(&["switchover", "apps/web", "--to", "neu", "--force", "--url", &weu.url()])?;
    assert!(moved.status.success(), "{}", String::from_utf8_lossy(&moved.stdout));
    assert_eq!(one.wait_for_end()?, Some(75), "{}", one.output());
    other.wait_for_output("runs 2")
}

#[test]
fn an_operator_follows_an_annotation_and_takes_it_away_and_dns_follows_the_status() -> Result<()> {
    const PATH: &str = "/apis/fingerpost.dev/v1alpha1/namespaces/apps/placements/web";
    const CLASS: &str = "{apiVersion: dns.homelab.mortenolsen.pro/v1alpha1, kind: DNSClass, \
        metadata: {name: edge}, spec: {embedded: {}}}";
    let (world, etcd) = (World::alone()?, [Etcd::alone()?]);
    let witness = etcd_witness(&etcd);
    world.apply(CLASS)?;
    world.apply(&placement("weu", &witness))?;
    let operator = world.operator(&["--allow-target=127.0.0.0/8"])?;
    world.expect_field(PATH, "/status/lease/holder", &json!("weu")).with_context(|| operator.output())?;
    let lease: Value = serde_json::from_str(&operator.get("/api/v1/leases/apps/web")?)?;
    assert_eq!((&lease["held"], &lease["generation"]), (&json!(true), &json!(1)), "{lease:#}");
    // It has no part in the lease, and cannot reach the witness.
    let server = world.dns("follower", &[])?;
    let serves = |address: &str| {
        let answer = || Ok((dig(server.dns(), "app.example.org A")?.data("A") == [address]).then_some(()));
        wait_for_within(PATIENCE, address, answer).with_context(|| server.output())
    };
    serves("192.0.2.1")?;
    let neu = Region::start("neu", &witness)?;
    neu.wait("neu to see the holder", |lease| lease["active"] == "weu")?;
    let kubeconfig = world.cluster().kubeconfig("admin")?.display().to_string();
    let moved =
        run(&["switchover", "apps/web", "--to", "neu", "--force", "--kube", "--kubeconfig", &kubeconfig])?;
    let text = String::from_utf8_lossy(&moved.stdout).into_owned();
    assert!(moved.status.success(), "{text}{}", String::from_utf8_lossy(&moved.stderr));
    assert!(text.contains("DNS answers with neu"), "{text}");
    neu.wait_for_answer("192.0.2.2")?;
    serves("192.0.2.2")?;
    world.expect_field(PATH, "/status/active", &json!("neu"))?;
    world.expect("the annotation to go", |api| {
        let object = api.get(PATH).ok().flatten().unwrap_or_default();
        let annotation = &object["metadata"]["annotations"]["fingerpost.dev/switchover-to"];
        if annotation.is_null() { Ok(()) } else { Err(object.to_string()) }
    })?;
    let status = world.api().get(PATH)?.context("the Placement is gone")?["status"].clone();
    let latest = status.pointer("/history/0").cloned().unwrap_or_default();
    assert_eq!((&latest["from"], &latest["to"]), (&json!("weu"), &json!("neu")), "{status:#}");
    assert_eq!(latest["message"], "the lease was handed to neu (generation 2)");
    assert!(latest["time"].as_str().is_some_and(|time| time.ends_with('Z')), "{latest}");
    Ok(())
}

#[test]
fn a_cluster_speaks_for_the_region_of_its_identity() -> Result<()> {
    const IDENTITY: &str = "{apiVersion: cluster.router.io/v1alpha1, kind: ClusterIdentity, \
        metadata: {name: cluster-identity}, \
        spec: {region: neu, cluster: aks02, domain: example.net, environmentLetter: p}}";
    let etcd = [Etcd::alone()?];
    let folder = Folder::new()?;
    folder.write("identity.yaml", IDENTITY)?;
    let unnamed = placement("neu", &etcd_witness(&etcd)).replace("    region: neu\n", "");
    ensure!(!unnamed.contains("region: neu"), "{unnamed}");
    folder.write("web.yaml", &unnamed)?;
    let up = Up::start(Options::folder(folder.path()))?;
    let region = Region { folder, up };
    region.wait("neu to hold the lease", |lease| lease["held"] == true && lease["holder"] == "neu")?;
    region.wait_for_answer("192.0.2.2")?;
    // The identity moves, and with it whom the cluster speaks for: it holds nothing in the old name.
    region.folder.replace("identity.yaml", "region: neu", "region: weu")?;
    region.wait("the cluster to speak for weu", |lease| lease["region"] == "weu")?;
    region.wait("weu to hold the lease", |lease| lease["held"] == true && lease["holder"] == "weu")?;
    region.wait_for_answer("192.0.2.1")
}

#[test]
fn with_automatic_failback_the_lease_goes_back_to_the_preferred_region() -> Result<()> {
    let etcd = [Etcd::alone()?];
    let addresses = [own_address(), own_address()];
    let (first, _second) = (Backend::silent(addresses[0])?, Backend::silent(addresses[1])?);
    let check = format!(
        "  failback: Automatic\n  healthCheck: {{protocol: TCP, port: {BACKEND_PORT}, interval: 500ms, \
         timeout: 400ms, failures: 2, successes: 1}}\n"
    );
    let start = |name: &str| -> Result<Region> {
        let folder = Folder::new()?;
        let manifest = placement(name, &etcd_witness(&etcd)) + &check;
        let manifest = manifest.replace("192.0.2.1", &addresses[0].to_string());
        folder.write("web.yaml", &manifest.replace("192.0.2.2", &addresses[1].to_string()))?;
        let up = Up::start(Options::folder(folder.path()))?;
        Ok(Region { folder, up })
    };
    let [weu_s, neu_s] = addresses.map(|address| address.to_string());
    let weu = start("weu")?;
    weu.wait("weu to hold the lease", |lease| lease["held"] == true)?;
    let neu = start("neu")?;
    neu.wait_for_answer(&weu_s)?;
    first.kill();
    neu.wait("neu to take the lease", |lease| lease["held"] == true)?;
    [&weu, &neu].iter().try_for_each(|region| region.wait_for_answer(&neu_s))?;
    let _first = Backend::silent(addresses[0])?;
    weu.wait("the lease to go back", |lease| lease["held"] == true)?;
    [&weu, &neu].iter().try_for_each(|region| region.wait_for_answer(&weu_s))?;
    let lease = weu.lease()?;
    assert_eq!(lease["generation"], 3, "one for each holder: {lease:#}");
    Ok(())
}
