//! A DNSClass with `server`: document 002's protocol end to end, from a folder and from a cluster, into the
//! reference server, with signatures and with a ServiceAccount's token.

use anyhow::{Context, Result};
use e2e::{Between, Folder, OPERATOR_NAMESPACE, Options, ProviderServer, Up, dig, wait_for};
use serde_json::{Value, json};

use crate::records::{FLAGS, record_path};
use crate::world::World;

const SECRET: &str = "a-secret-that-both-sides-know";

fn class(url: &str, auth: &Value) -> Value {
    let mut class = json!({"apiVersion": "dns.homelab.mortenolsen.pro/v1alpha1", "kind": "DNSClass",
        "metadata": {"name": "cloud"}, "spec": {"server": url, "timeoutSeconds": 3}});
    if let Some(auth) = auth.as_object() {
        class["spec"].as_object_mut().into_iter().for_each(|spec| spec.extend(auth.clone()));
    }
    class
}

fn hmac(namespace: &str) -> Value {
    json!({"hmacAuth": {"algorithm": "SHA512",
        "secretRef": {"name": "shared", "namespace": namespace, "key": "hmac-secret"}}})
}

fn secret(namespace: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "shared", "namespace": namespace},
        "stringData": {"hmac-secret": value}})
}

fn record(name: &str, kind: &str, values: &[&str]) -> Value {
    let mut record = json!({"apiVersion": "dns.homelab.mortenolsen.pro/v1alpha1", "kind": "DNSRecord",
        "metadata": {"name": name, "namespace": "production"},
        "spec": {"type": kind, "domain": "example.com", "subdomain": name, "dnsClassRef": {"name": "cloud"},
            "values": values, "ttl": 600}});
    if kind == "MX" {
        record["spec"]["metadata"] = json!({"priority": 10});
    }
    record
}

fn server(folder: &Folder, flags: &[&str]) -> Result<ProviderServer> {
    let file = folder.path().join("secret");
    std::fs::write(&file, SECRET)?;
    let file = file.display().to_string();
    let usual = ["--zone", "example.com", "--hmac-secret-file", &file, "--hmac-algorithm", "SHA512"];
    ProviderServer::start(&folder.path().join("state"), &[&usual, flags].concat())
}

fn text(objects: &[Value]) -> String {
    objects.iter().map(|object| format!("{object}\n---\n")).collect()
}

#[test]
fn a_folder_is_delivered_signed_and_what_left_it_while_nobody_looked_is_taken_back() -> Result<()> {
    let (folder, own, state) = (Folder::new()?, Folder::new()?, Folder::new()?);
    let provider = server(&own, &[])?;
    let between = Between::start(provider.authority().parse()?)?;
    let base = [class(&between.url(), &hmac("dns")), secret("dns", SECRET)];
    folder.write("class.yaml", &text(&base))?;
    let all = [
        record("www", "A", &["192.0.2.1", "192.0.2.2"]),
        record("mail", "MX", &["mx.example.net"]),
        record("text", "TXT", &["plain \"text\" with spaces"]),
    ];
    folder.write("records.yaml", &text(&all))?;
    let start =
        || Up::start(Options::folder(folder.path()).state(state.path()).flags(&["--retry-base-delay=200ms"]));
    let up = start()?;
    let answer = |name: &str, kind: &str| -> Result<Vec<String>> {
        Ok(dig(provider.dns(), &format!("{name}.example.com {kind}"))?.data(kind))
    };
    wait_for("the records", || {
        Ok((answer("www", "A")?.len() == 2 && answer("mail", "MX")?.len() == 1).then_some(()))
    })
    .with_context(|| up.output())?;
    wait_for("the text", || {
        Ok((answer("text", "TXT")? == ["\"plain \\\"text\\\" with spaces\""]).then_some(()))
    })?;
    drop(up);
    between.forget();
    folder.write("records.yaml", &text(&all[..1]))?;
    let up = start()?;
    wait_for("what left the folder to go", || {
        Ok((answer("mail", "MX")?.is_empty() && answer("text", "TXT")?.is_empty()).then_some(()))
    })
    .with_context(|| up.output())?;
    assert_eq!(answer("www", "A")?.len(), 2);
    let posts =
        between.calls().iter().filter(|call| call.method == "POST" && call.body.contains("www")).count();
    assert_eq!(posts, 0, "what stands is not written again: {:?}", between.calls());
    assert!(!up.output().contains(SECRET));
    Ok(())
}

#[test]
fn a_record_that_somebody_else_put_there_is_left_until_it_is_adopted() -> Result<()> {
    let (folder, own) = (Folder::new()?, Folder::new()?);
    let provider = ProviderServer::start(&own.path().join("state"), &["--zone", "example.com"])?;
    let theirs = json!({"operation": "upsert", "record": {"type": "A", "domain": "example.com", "subdomain": "www",
        "values": ["192.0.2.77"], "ttl": 60}});
    assert_eq!(provider.send("POST", "/records", &theirs)?.0, 200);
    folder.write("class.yaml", &text(&[class(&provider.url(), &Value::Null)]))?;
    folder.write(
        "records.yaml",
        &text(&[record("www", "A", &["192.0.2.1"]), record("api", "A", &["192.0.2.2"])]),
    )?;
    let up = Up::start(
        Options::folder(folder.path()).flags(&["--retry-base-delay=200ms", "--drift-interval=2s"]),
    )?;
    let answer = |name: &str| -> Result<Vec<String>> {
        Ok(dig(provider.dns(), &format!("{name}.example.com A"))?.data("A"))
    };
    wait_for("our record", || Ok((answer("api")? == ["192.0.2.2"]).then_some(())))
        .with_context(|| up.output())?;
    wait_for("the conflict to be told", || {
        Ok(up.get("/api/v1/notes")?.contains("NameConflict").then_some(()))
    })
    .with_context(|| up.output())?;
    assert_eq!(answer("www")?, ["192.0.2.77"]);
    let mut adopting = record("www", "A", &["192.0.2.1"]);
    adopting["metadata"]["annotations"] = json!({"fingerpost.dev/adopt": "true"});
    folder.write("records.yaml", &text(&[adopting, record("api", "A", &["192.0.2.2"])]))?;
    wait_for("the record to be ours", || Ok((answer("www")? == ["192.0.2.1"]).then_some(())))
        .with_context(|| up.output())
}

#[test]
fn in_a_cluster_the_status_remembers_what_may_stand_at_the_server() -> Result<()> {
    let world = World::alone()?;
    let own = Folder::new()?;
    let provider = server(&own, &[])?;
    world.cluster.ensure_namespace("production")?;
    world.api().apply(&secret(OPERATOR_NAMESPACE, SECRET))?;
    let between = Between::start(provider.authority().parse()?)?;
    world.api().apply(&class(&between.url(), &hmac(OPERATOR_NAMESPACE)))?;
    let operator = world.operator(&FLAGS)?;
    world.api().apply(&record("www", "A", &["192.0.2.1"]))?;
    let path = record_path("www");
    world
        .expect_condition(&path, "Ready", "True", "RecordCreated")
        .with_context(|| format!("{:?}\n{}", between.calls(), operator.output()))?;
    world.expect_field(&path, "/status/applied/class", &json!("cloud"))?;
    drop(operator);
    world.api().apply(&record("www", "A", &["192.0.2.9"]))?;
    let operator = world.operator(&FLAGS)?;
    world.expect_condition(&path, "Ready", "True", "RecordUpdated").with_context(|| operator.output())?;
    let answer = || -> Result<Vec<String>> { Ok(dig(provider.dns(), "www.example.com A")?.data("A")) };
    assert_eq!(answer()?, ["192.0.2.9"]);
    world.api().delete(&path)?;
    world.expect_gone(&path).with_context(|| operator.output())?;
    assert!(answer()?.is_empty());
    Ok(())
}
