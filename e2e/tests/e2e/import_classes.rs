//! `fingerpost import` for every class that can be read: what it advises is run as it is printed, and afterwards `up`
//! finds nothing to change.

use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use e2e::{
    ExternalDnsProvider, Folder, KEYS, Options, ProviderServer, Up, UpdateProgram, UpdateServer, dig,
    fingerpost, run, wait_for,
};
use serde_json::{Value, json};

/// Two mail servers of different priority are no DNSRecord.
const ZONE_FILE: &str = "$ORIGIN example.com.\n$TTL 300\n@ SOA ns noc 1 3600 600 86400 300\n@ NS ns\n\
    ns A 192.0.2.53\nwww A 192.0.2.1\nwww A 192.0.2.2\ntext TXT \"plain text\"\n@ MX 10 mx1\n@ MX 20 mx2\n\
    *.dev A 192.0.2.3\nwildcard.dev A 192.0.2.4\n";

/// A folder with a class, and the state of the `up` that is to serve it.
struct Scene {
    folder: Folder,
    state: Folder,
}

impl Scene {
    fn of(objects: &[Value]) -> Result<Scene> {
        let scene = Scene { folder: Folder::new()?, state: Folder::new()? };
        let text: String = objects.iter().map(|object| format!("{object}\n---\n")).collect();
        scene.folder.write("class.yaml", &text)?;
        Ok(scene)
    }

    fn import(&self, flags: &[&str]) -> Result<Output> {
        let (folder, state) =
            (self.folder.path().display().to_string(), self.state.path().display().to_string());
        let base = ["import", "--class", "edge", "--zone", "example.com", "--state", &state, &folder];
        run(&[&base[..], flags].concat())
    }

    fn imported(&self, flags: &[&str]) -> Result<String> {
        let output = self.import(flags)?;
        ensure!(output.status.success(), "{flags:?}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    }

    fn up(&self) -> Result<Up> {
        Up::start(
            Options::folder(self.folder.path()).state(self.state.path()).flags(&["--drift-interval=1s"]),
        )
    }
}

fn class(spec: &Value) -> Value {
    json!({"apiVersion": "dns.homelab.mortenolsen.pro/v1alpha1", "kind": "DNSClass", "metadata": {"name": "edge"},
        "spec": spec})
}

/// The command that a text advises, run by a shell.
fn follow(advice: &str) -> Result<()> {
    let line = advice.lines().find_map(|line| line.trim().strip_prefix("fingerpost import "));
    let line = line.with_context(|| format!("no advice in: {advice}"))?;
    let program = fingerpost()?;
    let output =
        Command::new("sh").args(["-c", &format!("'{}' import {line}", program.display())]).output()?;
    ensure!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

/// Imports everything by the printed advice, and sees that `up` writes no record.
fn taken_over(scene: &Scene, kind: &str) -> Result<()> {
    let flags = ["--kind", kind, "--apply"];
    let first = scene.imported(&flags)?;
    ensure!(first.contains("no manifest declares them"), "{first}");
    follow(&first)?;
    let second = scene.imported(&flags)?;
    ensure!(!second.contains("no manifest declares them"), "{second}");
    assert_eq!(scene.imported(&["--kind", kind, "-o", "yaml"])?, "", "nothing is left to declare");
    let table = scene.imported(&["--kind", kind])?;
    ensure!(!table.contains("adopted  ") && !table.contains("changed  "), "{table}");
    let up = scene.up()?;
    wait_for("every record to be ready", || {
        let objects: Value = serde_json::from_str(&up.get("/api/v1/objects")?)?;
        let manifests = objects.as_array().into_iter().flatten().map(|one| &one["manifest"]);
        let mut records =
            manifests.filter(|one| one["kind"] == "DNSRecord" || one["kind"] == "Record").peekable();
        let some = records.peek().is_some();
        let is_ready = |one: &Value| {
            let mut conditions = one["status"]["conditions"].as_array().into_iter().flatten();
            conditions.any(|one| one["type"] == "Ready" && one["status"] == "True")
        };
        Ok((some && records.all(is_ready)).then_some(()))
    })
    .map_err(|error| error.context(up.output()))?;
    ensure!(!up.output().contains("→ DNSClass edge"), "something was written: {}", up.output());
    Ok(())
}

fn zone_files(kind: &str) -> Result<()> {
    let zones = Folder::new()?;
    zones.write("example.com.zone", ZONE_FILE)?;
    let scene = Scene::of(&[class(&json!({"zoneFile": {"directory": zones.path()}}))])?;
    taken_over(&scene, kind)
}

#[test]
fn a_zone_file_becomes_dns_records() -> Result<()> {
    zone_files("DNSRecord")
}

#[test]
fn a_zone_file_becomes_a_zone() -> Result<()> {
    zone_files("Zone")
}

fn transferred(program: UpdateProgram, zone: &str) -> Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join(format!("{zone}.zone")), ZONE_FILE.replace("example.com", zone))?;
    let server = UpdateServer::start_in(program, folder, &[zone])?;
    let (name, algorithm, secret) = KEYS[0];
    let tsig = json!({"name": name, "algorithm": algorithm,
        "secretRef": {"name": "tsig", "namespace": "dns", "key": "tsig-secret"}});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "tsig", "namespace": "dns"},
        "stringData": {"tsig-secret": secret}});
    let spec = json!({"rfc2136": {"server": server.dns().to_string(), "tsig": tsig}});
    taken_over(&Scene::of(&[class(&spec), secret])?, "Zone")
}

#[test]
fn a_zone_is_transferred_from_bind() -> Result<()> {
    transferred(UpdateProgram::Bind, "example.com")
}

#[test]
fn a_zone_is_transferred_from_knot() -> Result<()> {
    transferred(UpdateProgram::Knot, "example.com")
}

#[test]
fn a_webhook_provider_of_external_dns_is_read() -> Result<()> {
    let provider = ExternalDnsProvider::in_memory(&["example.com"])?;
    let endpoint = |name: &str, kind: &str, targets: &[&str]| json!({"dnsName": name, "recordType": kind, "recordTTL": 300, "targets": targets});
    let create = [
        endpoint("www.example.com", "A", &["192.0.2.1", "192.0.2.2"]),
        endpoint("alias.example.com", "CNAME", &["www.example.com"]),
    ];
    ureq::post(&format!("{}/records", provider.url()))
        .header("content-type", "application/external.dns.webhook+json;version=1")
        .send(json!({"create": create}).to_string())?;
    let scene = Scene::of(&[class(&json!({"externalDNSWebhook": {"url": provider.url()}}))])?;
    taken_over(&scene, "DNSRecord")
}

#[test]
fn a_webhook_server_is_read_record_by_record() -> Result<()> {
    let store = Folder::new()?;
    let provider = ProviderServer::start(store.path(), &["--zone", "example.com"])?;
    for (subdomain, address) in [("www", "192.0.2.1"), ("api", "192.0.2.2")] {
        let record = json!({"type": "A", "domain": "example.com", "subdomain": subdomain, "values": [address], "ttl": 300});
        let (status, body) =
            provider.send("POST", "/records", &json!({"record": record, "operation": "upsert"}))?;
        ensure!(status == 200, "{status} {body}");
    }
    let scene = Scene::of(&[class(&json!({"server": provider.url()}))])?;
    let nothing = scene.import(&[])?;
    let told = String::from_utf8_lossy(&nothing.stderr).into_owned();
    ensure!(!nothing.status.success() && told.contains("--name NAME"), "{told}");
    let names = ["--name", "www.example.com", "--name", "api.example.com"];
    let table = scene.imported(&names)?;
    ensure!(table.contains("2 record sets adopted") && table.contains("owner unknown"), "{table}");
    scene.folder.write("imported.yaml", &scene.imported(&[&names[..], &["-o", "yaml"]].concat())?)?;
    assert_eq!(scene.imported(&[&names[..], &["-o", "yaml"]].concat())?, "");
    let refused = scene.import(&["--apply"])?;
    ensure!(!refused.status.success(), "there are no ownership records to write");
    let up = scene.up()?;
    wait_for("both records", || {
        let objects = up.get("/api/v1/objects")?;
        Ok((objects.matches("\"RecordCreated\"").count() >= 2).then_some(()))
    })
    .map_err(|error| error.context(up.output()))?;
    ensure!(!up.output().contains("→ DNSClass edge"), "something was written: {}", up.output());
    assert_eq!(dig(provider.dns(), "www.example.com A")?.data("A"), ["192.0.2.1"]);
    Ok(())
}
