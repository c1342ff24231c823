//! `fingerpost up` with records that are held elsewhere: PowerDNS behind a proxy that misbehaves.

use std::net::SocketAddr;

use anyhow::{Context, Result};
use e2e::{Between, Folder, Misdeed, Options, PowerDns, RUBBISH, Up, dig, powerdns_class, wait_for};
use serde_json::Value;

/// Short pauses, so that what recovers does so within a test.
const QUICK: [&str; 4] =
    ["--retry-base-delay=200ms", "--retry-max-delay=1s", "--retry-max-attempts=2", "--drift-interval=1s"];

/// Who hangs is not waited for long.
fn class(url: &str) -> String {
    powerdns_class(url).replace("\nspec:\n", "\nspec:\n  timeoutSeconds: 2\n")
}

fn record(name: &str, address: &str) -> String {
    format!(
        "
---
apiVersion: dns.homelab.mortenolsen.pro/v1alpha1
kind: DNSRecord
metadata: {{name: {name}, namespace: production}}
spec: {{type: A, domain: example.com, subdomain: {name}, dnsClassRef: {{name: edge}}, values: [{address}], ttl: 600}}
"
    )
}

/// PowerDNS, the proxy before it, a folder, and `up` on it.
struct Scene {
    powerdns: PowerDns,
    between: Between,
    folder: Folder,
}

impl Scene {
    fn new() -> Result<Scene> {
        let powerdns = PowerDns::start()?;
        let between = Between::start(api(&powerdns)?)?;
        let folder = Folder::new()?;
        folder.write("class.yaml", &class(&between.url()))?;
        folder.write("records.yaml", &(record("www", "192.0.2.1") + &record("api", "192.0.2.2")))?;
        Ok(Scene { powerdns, between, folder })
    }

    fn up(&self) -> Result<Up> {
        // Each start has a state of its own, so the owner has to be named.
        let flags = [&QUICK[..], &["--owner=deliveries"]].concat();
        Up::start(Options::folder(self.folder.path()).flags(&flags))
    }

    fn answers(&self, name: &str) -> Result<Vec<String>> {
        Ok(dig(self.powerdns.dns(), &format!("{name} A"))?.data("A"))
    }

    fn wait_for_answer(&self, name: &str, address: &str) -> Result<()> {
        wait_for(&format!("{name} to be {address}"), || {
            let answers = self.answers(name)?;
            Ok((answers == [address]).then_some(()))
        })
    }

    /// A rectify is no write: PowerDNS only works out the order of names, lest a predecessor died before it.
    fn writes(&self) -> usize {
        self.between
            .calls()
            .iter()
            .filter(|call| call.method != "GET" && !call.path.ends_with("/rectify"))
            .count()
    }
}

fn api(powerdns: &PowerDns) -> Result<SocketAddr> {
    Ok(powerdns.url().trim_start_matches("http://").parse()?)
}

/// Writes a record at PowerDNS behind everybody's back.
fn put(powerdns: &PowerDns, name: &str, address: &str) -> Result<()> {
    let url = format!("{}/api/v1/servers/localhost/zones/example.com.", powerdns.url());
    let body = serde_json::json!({"rrsets": [{"name": format!("{name}."), "type": "A", "ttl": 60,
        "changetype": "REPLACE", "records": [{"content": address, "disabled": false}]}]});
    // While we write too, the database may be locked for a moment.
    wait_for("PowerDNS to take a record", || {
        let request =
            ureq::patch(&url).header("X-API-Key", "test-key").header("Content-Type", "application/json");
        Ok(request.send(body.to_string()).ok().map(drop))
    })
}

/// The status of an object, as the plan's page shows it.
fn status(up: &Up, kind: &str, name: &str) -> Result<Value> {
    let objects: Value = serde_json::from_str(&up.get("/api/v1/objects")?)?;
    let objects = objects.as_array().context("objects are a list")?;
    let found = objects
        .iter()
        .map(|one| &one["manifest"])
        .find(|one| one["kind"] == kind && one["metadata"]["name"] == name);
    Ok(found.with_context(|| format!("no {kind} {name}"))?["status"].clone())
}

fn ready(status: &Value) -> (String, String) {
    let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
    let ready = conditions.into_iter().find(|one| one["type"] == "Ready").unwrap_or_default();
    let text = |key: &str| ready[key].as_str().unwrap_or_default().to_owned();
    (text("status"), text("reason"))
}

fn wait_for_reason(up: &Up, kind: &str, name: &str, reason: &str) -> Result<Value> {
    let mut last = Value::Null;
    let seen = wait_for(&format!("{kind} {name} to be {reason}"), || {
        last = status(up, kind, name)?;
        Ok((ready(&last).1 == reason).then(|| last.clone()))
    });
    seen.with_context(|| format!("the last status was {last:#}\n{}", up.output()))
}

#[test]
fn records_are_made_changed_renamed_and_deleted_and_others_left_alone() -> Result<()> {
    let scene = Scene::new()?;
    scene.powerdns.make_zone("example.com")?;
    put(&scene.powerdns, "theirs.example.com", "192.0.2.77")?;
    let up = scene.up()?;
    scene.wait_for_answer("www.example.com", "192.0.2.1")?;
    scene.wait_for_answer("api.example.com", "192.0.2.2")?;
    let made = wait_for_reason(&up, "DNSRecord", "www", "RecordCreated")?;
    assert_eq!(ready(&made).0, "True");
    assert_eq!(made["state"], "Created");
    assert_eq!(made["fqdn"], "www.example.com");
    assert!(made["lastSyncTime"].is_string(), "{made:#}");
    wait_for_reason(&up, "DNSClass", "edge", "ServerHealthy")?;
    scene.folder.write("records.yaml", &(record("www", "192.0.2.9") + &record("store", "192.0.2.2")))?;
    scene.wait_for_answer("www.example.com", "192.0.2.9")?;
    scene.wait_for_answer("store.example.com", "192.0.2.2")?;
    wait_for_reason(&up, "DNSRecord", "www", "RecordUpdated")?;
    wait_for("the old name to go", || Ok(scene.answers("api.example.com")?.is_empty().then_some(())))?;
    assert_eq!(scene.answers("theirs.example.com")?, ["192.0.2.77"]);
    std::fs::remove_file(scene.folder.path().join("records.yaml"))?;
    wait_for("the records to go", || Ok(scene.answers("www.example.com")?.is_empty().then_some(())))?;
    assert_eq!(scene.answers("theirs.example.com")?, ["192.0.2.77"]);
    Ok(())
}

#[test]
fn a_record_of_somebody_else_is_never_touched() -> Result<()> {
    let scene = Scene::new()?;
    scene.powerdns.make_zone("example.com")?;
    put(&scene.powerdns, "www.example.com", "192.0.2.77")?;
    let up = scene.up()?;
    scene.wait_for_answer("api.example.com", "192.0.2.2")?;
    let status = wait_for_reason(&up, "DNSRecord", "www", "NameConflict")?;
    assert_eq!(status["state"], "Error", "{status:#}");
    assert_eq!(scene.answers("www.example.com")?, ["192.0.2.77"]);
    std::fs::remove_file(scene.folder.path().join("records.yaml"))?;
    wait_for("our own to go", || Ok(scene.answers("api.example.com")?.is_empty().then_some(())))?;
    assert_eq!(scene.answers("www.example.com")?, ["192.0.2.77"]);
    Ok(())
}

#[test]
fn a_restart_with_nothing_changed_writes_nothing() -> Result<()> {
    let scene = Scene::new()?;
    let up = scene.up()?;
    wait_for_reason(&up, "DNSRecord", "api", "RecordCreated")?;
    wait_for_reason(&up, "DNSRecord", "www", "RecordCreated")?;
    drop(up);
    scene.between.forget();
    let up = scene.up()?;
    wait_for("the records to be known", || {
        Ok((ready(&status(&up, "DNSRecord", "www")?).0 == "True").then_some(()))
    })?;
    wait_for("some looks", || Ok((scene.between.calls().len() > 4).then_some(())))?;
    assert_eq!(scene.writes(), 0, "{:?}", scene.between.calls());
    Ok(())
}

#[test]
fn drift_is_found_and_repaired_and_a_provider_that_lost_everything_is_refilled() -> Result<()> {
    let mut scene = Scene::new()?;
    let up = scene.up()?;
    wait_for_reason(&up, "DNSRecord", "www", "RecordCreated")?;
    put(&scene.powerdns, "www.example.com", "192.0.2.66")?;
    scene.wait_for_answer("www.example.com", "192.0.2.1")?;
    let empty = PowerDns::start()?;
    scene.between.lead_to(api(&empty)?);
    scene.powerdns = empty;
    scene.wait_for_answer("www.example.com", "192.0.2.1")?;
    scene.wait_for_answer("api.example.com", "192.0.2.2")
}

#[test]
fn every_misdeed_of_a_server_has_its_words_and_ends_when_the_server_behaves() -> Result<()> {
    let cases = [
        (Misdeed::Hang, "ServerUnreachable"),
        (Misdeed::Trickle, "ServerUnreachable"),
        (Misdeed::Html, "ServerError"),
        (Misdeed::Status(401), "AuthenticationFailed"),
        (Misdeed::Status(404), "ServerError"),
        (Misdeed::Status(409), "ServerError"),
        (Misdeed::Status(413), "ServerError"),
        (Misdeed::Status(422), "ValidationFailed"),
        (Misdeed::Wait(1), "ServerError"),
        (Misdeed::Status(500), "ServerError"),
        (Misdeed::Status(503), "ServerUnreachable"),
        (Misdeed::CutShort, "ServerUnreachable"),
        (Misdeed::Endless, "ServerError"),
        (Misdeed::Redirect, "InvalidConfiguration"),
    ];
    let scene = Scene::new()?;
    let up = scene.up()?;
    wait_for_reason(&up, "DNSRecord", "www", "RecordCreated")?;
    for (number, (misdeed, reason)) in (10..).zip(cases) {
        scene.between.misbehave(Some(misdeed));
        let address = format!("192.0.2.{number}");
        scene.folder.write("records.yaml", &(record("www", &address) + &record("api", "192.0.2.2")))?;
        let mut last = Value::Null;
        wait_for(&format!("{misdeed:?} to be reported as {reason}"), || {
            last = status(&up, "DNSRecord", "www")?;
            Ok((ready(&last) == ("False".to_owned(), reason.to_owned())).then_some(()))
        })
        .with_context(|| format!("{last:#}"))?;
        assert!(last["error"]["code"].is_string() && last["error"]["message"].is_string(), "{last:#}");
        for page in ["/api/v1/objects", "/api/v1/notes", "/metrics"] {
            assert!(!up.get(page)?.contains("confidential"), "{misdeed:?} is repeated in {page}: {RUBBISH}");
        }
        scene.between.misbehave(None);
        scene.wait_for_answer("www.example.com", &address).with_context(|| format!("after {misdeed:?}"))?;
        // What is said next must be about the next misdeed.
        wait_for("the record to stand", || {
            Ok((ready(&status(&up, "DNSRecord", "www")?).0 == "True").then_some(()))
        })?;
    }
    assert!(!up.output().contains("confidential") && !up.output().contains("test-key"), "{}", up.output());
    Ok(())
}

#[test]
fn a_secret_may_be_missing_empty_wrong_and_rotated() -> Result<()> {
    let scene = Scene::new()?;
    let with_key = |key: &str| class(&scene.between.url()).replace("api-key: test-key", key);
    scene.folder.write("class.yaml", &with_key("other: x"))?;
    let up = scene.up()?;
    let missing = wait_for_reason(&up, "DNSRecord", "www", "SecretNotFound")?;
    assert!(missing["error"]["message"].as_str().is_some_and(|text| text.contains("api-key")), "{missing:#}");
    scene.folder.write("class.yaml", &with_key("api-key: ''"))?;
    wait_for_reason(&up, "DNSRecord", "www", "SecretNotFound")?;
    scene.folder.write("class.yaml", &with_key("api-key: wrong"))?;
    wait_for_reason(&up, "DNSRecord", "www", "AuthenticationFailed")?;
    scene.folder.write("class.yaml", &with_key("api-key: test-key"))?;
    wait_for_reason(&up, "DNSRecord", "www", "RecordCreated")?;
    assert!(!up.output().contains("wrong"), "{}", up.output());
    Ok(())
}

#[test]
fn more_deletions_than_the_guard_lets_pass_wait_for_consent() -> Result<()> {
    let scene = Scene::new()?;
    let many: String =
        (1..=20).map(|number| record(&format!("h{number}"), &format!("192.0.2.{number}"))).collect();
    scene.folder.write("records.yaml", &many)?;
    let up = scene.up()?;
    wait_for_reason(&up, "DNSRecord", "h20", "RecordCreated")?;
    wait_for_reason(&up, "DNSRecord", "h1", "RecordCreated")?;
    scene.folder.write("records.yaml", &record("h1", "192.0.2.1"))?;
    let held = |up: &Up| -> Result<Option<String>> {
        let status = status(up, "DNSClass", "edge")?;
        let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
        let held =
            conditions.into_iter().find(|one| one["type"] == "MassDeleteHeld" && one["status"] == "True");
        Ok(held.map(|one| one["message"].as_str().unwrap_or_default().to_owned()))
    };
    let message = wait_for("the deletions to be held", || held(&up))?;
    assert!(message.contains("19"), "{message}");
    scene.wait_for_answer("h7.example.com", "192.0.2.7")?;
    let hash =
        message.split(|c: char| !c.is_ascii_hexdigit()).max_by_key(|word| word.len()).unwrap_or_default();
    let consent =
        format!("metadata: {{name: edge, annotations: {{fingerpost.dev/allow-mass-delete: '{hash}'}}}}");
    let class = class(&scene.between.url()).replace("metadata: {name: edge}", &consent);
    scene.folder.write("class.yaml", &class)?;
    wait_for("the names to go", || Ok(scene.answers("h7.example.com")?.is_empty().then_some(())))?;
    scene.wait_for_answer("h1.example.com", "192.0.2.1")
}
