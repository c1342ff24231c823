//! DNSSEC in a cluster: the operator makes the keys in a Secret with the chart's rights, the servers only
//! read them, and `delv` judges what comes of it.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use e2e::{Alone, DnsServer, Fault, OPERATOR_NAMESPACE, Rule, Said, chart, dig, run, wait_for_within};
use serde_json::{Value, json};

use crate::dnssec::{anchors_of, delv_at, text};
use crate::nameservers::{class, record, zone};
use crate::world::World;

/// Who looks after keys does so every 10 seconds, and who reads them as well.
const LONG: Duration = Duration::from_secs(120);

/// A cluster whose class signs with the keys of a Secret, which the chart's values name.
struct Signed {
    world: World<Alone>,
    vault: &'static str,
}

impl Signed {
    /// A vault of its own for every test: what an earlier one left would be keys.
    fn new(vault: &'static str, algorithm: &str, denial: &str) -> Result<Signed> {
        let world = World::alone()?;
        let rights = chart::roles_with(OPERATOR_NAMESPACE, &format!("dnssec: {{keysSecrets: [{vault}]}}"))?;
        world.api().apply_text(&rights)?;
        let dnssec = json!({"algorithm": algorithm, "denial": denial, "keysSecretRef": {"name": vault}});
        let objects = [
            class("edge", &json!({"dnssec": dnssec})),
            zone("example-org", "example.org", "edge"),
            record("example-org", "www", "192.0.2.1"),
        ];
        world.apply(&objects.join("\n---\n"))?;
        Ok(Signed { world, vault })
    }

    fn path(&self) -> String {
        format!("/api/v1/namespaces/{OPERATOR_NAMESPACE}/secrets/{}", self.vault)
    }

    fn secret(&self) -> Result<Value> {
        self.world.api().get(&self.path())?.context("there is no such Secret")
    }

    /// Waits until the operator has put keys of the zone into the Secret.
    fn wait_for_keys(&self) -> Result<Value> {
        wait_for_within(LONG, "keys in the Secret", || {
            let secret = self.secret()?;
            Ok(secret["data"]["example.org.json"].is_string().then_some(secret))
        })
    }

    fn keys(&self, arguments: &[&str]) -> Result<Said> {
        keys(&self.world, arguments)
    }

    /// The keys of the zone as `keys list` has them, each as role and state.
    fn states(&self) -> Result<Vec<String>> {
        let listed: Value = serde_json::from_str(&self.keys(&["list", "-o", "json"])?.success()?)?;
        let zones = listed.as_array().context("no list")?;
        let own = zones.iter().find(|zone| zone["vault"] == self.vault).context("no keys of ours")?;
        let keys = own["keys"].as_array().context("no keys")?;
        Ok(keys.iter().map(|key| format!("{} {}", text(&key["role"]), text(&key["state"]))).collect())
    }

    /// Waits until the keys are in these states and every server has this many.
    fn reaches(&self, servers: &[DnsServer], states: &[&str]) -> Result<()> {
        wait_for_within(LONG, &format!("{states:?}"), || {
            let now = self.states()?;
            ensure!(now == states, "{now:?}");
            for server in servers {
                let served = dnskeys(server.dns())?.len();
                ensure!(served == states.len(), "{served} keys at {}", server.dns());
            }
            Ok(Some(()))
        })
    }

    /// Lets time pass, by making the keys older than they are.
    fn pass(&self, seconds: u64) -> Result<()> {
        let arguments = ["get", "secret", self.vault, "--namespace", OPERATOR_NAMESPACE];
        let template = ["-o", "go-template={{index .data \"example.org.json\" | base64decode}}"];
        let stored = self.world.cluster.kubectl("admin", &[&arguments[..], &template].concat())?.success()?;
        let mut keys: Value = serde_json::from_str(&stored)?;
        for key in keys["keys"].as_array_mut().context("no keys")? {
            key["since"] = (key["since"].as_u64().context("no time")? - seconds).into();
        }
        let older = json!({"stringData": {"example.org.json": serde_json::to_string_pretty(&keys)?}});
        self.world.api().merge(&self.path(), &older).map(drop)
    }

    fn anchors(&self) -> Result<PathBuf> {
        anchors(&self.world, self.vault)
    }

    /// The writes of Secrets that the operator has tried since the log was last cleared.
    fn writes(&self) -> Vec<String> {
        let writes = self.world.proxy.writes();
        writes.iter().filter(|call| call.is_about("secrets")).map(ToString::to_string).collect()
    }

    /// Waits until somebody has read the Secret so many times more.
    fn wait_for_looks(&self, looks: usize) -> Result<()> {
        let path = self.path();
        let count = || self.world.proxy.calls().iter().filter(|call| call.path == path).count();
        let before = count();
        wait_for_within(LONG, "looks at the Secret", || Ok((count() >= before + looks).then_some(())))
    }
}

impl Drop for Signed {
    fn drop(&mut self) {
        // Nothing of ours deletes keys, and the next test in this cluster would find them.
        let _ = self.world.api().delete(&self.path());
    }
}

/// `fingerpost keys … --kube`, as an administrator calls it.
fn keys(world: &World<Alone>, arguments: &[&str]) -> Result<Said> {
    let kubeconfig = world.cluster.kubeconfig("admin")?.display().to_string();
    let place = ["--kube", "--namespace", OPERATOR_NAMESPACE, "--kubeconfig", &kubeconfig];
    let output = run(&[&["keys"], arguments, &place].concat())?;
    let text = |octets: &[u8]| String::from_utf8_lossy(octets).into_owned();
    let (command, well) = (format!("keys {}", arguments.join(" ")), output.status.success());
    Ok(Said { command, well, output: text(&output.stdout), complaint: text(&output.stderr) })
}

/// A file of the DS records that the parent of `example.org` would have.
pub(crate) fn anchors(world: &World<Alone>, vault: &str) -> Result<PathBuf> {
    let records = keys(world, &["ds", "example.org", "--vault", vault])?.success()?;
    let path = world.cluster.folder().join(format!("{vault}.anchors"));
    fs::write(&path, anchors_of(&records))?;
    Ok(path)
}

fn dnskeys(server: SocketAddr) -> Result<Vec<String>> {
    Ok(dig(server, "example.org DNSKEY +tcp")?.data("DNSKEY"))
}

/// Waits until a server signs.
fn signs(server: &DnsServer) -> Result<()> {
    let signed =
        wait_for_within(LONG, "a signed zone", || Ok((dnskeys(server.dns())?.len() == 2).then_some(())));
    signed.with_context(|| server.output())
}

/// Everything that there is, and everything that is not, validates at a server.
fn validates(server: &DnsServer, anchors: &Path) -> Result<()> {
    for question in ["www.example.org A", "example.org SOA", "example.org DNSKEY"] {
        let said = delv_at(server.dns(), "example.org", anchors, question)?;
        ensure!(said.contains("; fully validated"), "{question}: {said}\n{}", server.output());
    }
    for question in ["nothing.example.org A", "www.example.org TXT"] {
        let said = delv_at(server.dns(), "example.org", anchors, question)?;
        ensure!(
            said.contains("; negative response, fully validated"),
            "{question}: {said}\n{}",
            server.output()
        );
    }
    Ok(())
}

#[test]
fn keys_are_made_once_with_the_charts_rights_and_all_servers_sign_with_them() -> Result<()> {
    let signed = Signed::new("edge-keys-once", "ECDSAP256SHA256", "NSEC")?;
    let mut operators = [signed.world.operator(&[])?, signed.world.operator(&[])?];
    let made = signed.wait_for_keys().with_context(|| operators[0].output() + &operators[1].output())?;
    ensure!(made["metadata"]["labels"]["fingerpost.dev/dnssec-keys"] == "true", "{}", made["metadata"]);
    let (anchors, path) = (signed.anchors()?, signed.path());
    // A hiccup at the first look must not leave a server unsigned until the next.
    signed.world.proxy.add(Rule::new(Fault::Status(503), move |call| call.path == path).times(2));
    let servers = [signed.world.dns("one", &[])?, signed.world.dns("two", &[])?];
    signed.world.proxy.clear();
    for server in &servers {
        assert_eq!(dnskeys(server.dns())?.len(), 2, "signed from the start: {}", server.output());
        validates(server, &anchors)?;
    }
    assert_eq!(dnskeys(servers[0].dns())?, dnskeys(servers[1].dns())?);
    assert_eq!(signed.states()?, ["KSK ready", "ZSK active"]);
    let listed = signed.keys(&["list"])?.success()?;
    ensure!(listed.contains("For the parent:\nexample.org. IN DS "), "{listed}");

    // Neither a restart nor another leader has anything to write; four servers and operators look.
    signed.world.proxy.forget();
    for operator in &mut operators {
        operator.restart()?;
        signed.wait_for_looks(8)?;
    }
    assert_eq!(signed.writes(), Vec::<String>::new());
    assert_eq!(signed.secret()?["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"]);
    validates(&servers[1], &anchors)
}

#[test]
fn a_zsk_rolls_by_command_and_every_server_follows() -> Result<()> {
    let signed = Signed::new("edge-keys-roll", "ED25519", "Compact")?;
    let operator = signed.world.operator(&[])?;
    signed.wait_for_keys().with_context(|| operator.output())?;
    let servers = [signed.world.dns("one", &[])?, signed.world.dns("two", &[])?];
    servers.iter().try_for_each(signs)?;
    let anchors = signed.anchors()?;
    let old = dnskeys(servers[0].dns())?;
    signed.keys(&["ds-published", "example.org", "--vault", signed.vault])?.success()?;
    signed.reaches(&servers, &["KSK active", "ZSK active"])?;
    let roll = ["roll", "example.org", "--zsk", "--vault", signed.vault];
    signed.keys(&roll)?.success()?;
    let said = signed.keys(&roll)?.failure()?;
    ensure!(said.contains("a rollover of the ZSK is under way"), "{said}");
    let all_validate = || servers.iter().try_for_each(|server| validates(server, &anchors));
    signed.reaches(&servers, &["KSK active", "ZSK active", "ZSK published"])?;
    all_validate()?;
    signed.pass(2 * 3600)?;
    signed.reaches(&servers, &["KSK active", "ZSK retired", "ZSK active"])?;
    all_validate()?;
    signed.pass(2 * 86_400)?;
    signed.reaches(&servers, &["KSK active", "ZSK active"])?;
    all_validate()?;
    let new = dnskeys(servers[1].dns())?;
    assert_eq!(new.iter().filter(|key| old.contains(key)).count(), 1, "the KSK stays: {old:?} {new:?}");
    Ok(())
}

#[test]
fn an_emptied_secret_changes_no_answer_and_is_filled_again() -> Result<()> {
    let signed = Signed::new("edge-keys-emptied", "ED25519", "NSEC")?;
    let mut operator = signed.world.operator(&[])?;
    let made = signed.wait_for_keys().with_context(|| operator.output())?;
    let mut server = signed.world.dns("kept", &[])?;
    signs(&server)?;
    let (anchors, keys) = (signed.anchors()?, dnskeys(server.dns())?);
    let goes_on = |server: &DnsServer| {
        assert_eq!(dnskeys(server.dns())?, keys);
        validates(server, &anchors)
    };
    // With nobody there to fill it: emptied, then gone, then a server that starts from its disk.
    operator.process().suspend()?;
    signed.world.api().merge(&signed.path(), &json!({"data": null}))?;
    signed.wait_for_looks(2)?;
    goes_on(&server)?;
    signed.world.api().delete(&signed.path())?;
    signed.wait_for_looks(2)?;
    goes_on(&server)?;
    server.restart()?;
    server.wait_until_ready()?;
    goes_on(&server)?;
    operator.process().resume()?;
    let again = signed.wait_for_keys().with_context(|| operator.output())?;
    assert_eq!(again["data"], made["data"], "the same keys: {}", operator.output());
    signed.wait_for_looks(4)?;
    goes_on(&server)
}

#[test]
fn a_damaged_entry_stops_nobody_else() -> Result<()> {
    let signed = Signed::new("edge-keys-damaged", "ED25519", "NSEC")?;
    let operator = signed.world.operator(&[])?;
    signed.wait_for_keys().with_context(|| operator.output())?;
    let server = signed.world.dns("kept", &[])?;
    signs(&server)?;
    let anchors = signed.anchors()?;
    signed.world.api().merge(&signed.path(), &json!({"stringData": {"example.org.json": "{"}}))?;
    signed.world.apply(&zone("later", "later.example.", "edge"))?;
    let made = wait_for_within(LONG, "keys of the other zone", || {
        Ok(signed.secret()?["data"]["later.example.json"].is_string().then_some(()))
    });
    made.with_context(|| operator.output())?;
    validates(&server, &anchors)?;
    let said = signed.keys(&["list"])?.failure()?;
    ensure!(said.contains("example.org.json"), "{said}");
    Ok(())
}
