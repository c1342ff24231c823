//! Whether the world sees what `fingerpost up` delivers: a Knot that delegates, and the PowerDNS that it
//! delegates to.

use std::fs;
use std::net::IpAddr;
use std::sync::Arc;

use anyhow::{Context, Result};
use backends::lookup::{Delegation, Lookup, Resolver, Server};
use backends::transport::guard::Guard;
use dns::{Name, Rdata, RecordSet, Rtype};
use e2e::{Folder, Options, PowerDns, Up, UpdateProgram, UpdateServer, block_on, powerdns_class, wait_for};
use serde_json::{Value, json};

fn record(name: &str, domain: &str, address: &str) -> String {
    format!(
        "
---
apiVersion: dns.homelab.mortenolsen.pro/v1alpha1
kind: DNSRecord
metadata: {{name: {name}, namespace: production}}
spec: {{type: A, domain: {domain}, subdomain: www, dnsClassRef: {{name: edge}}, values: [{address}], ttl: 600}}
"
    )
}

/// A server of `com` that delegates two zones to this address, and one to somebody else.
fn parent(address: IpAddr) -> Result<UpdateServer> {
    let folder = tempfile::tempdir()?;
    let text = format!(
        "$ORIGIN com.\n$TTL 60\n@ SOA ns noc 1 3600 600 86400 60\n@ NS ns\nns A 192.0.2.53\n\
         example NS ns.example\nns.example A {address}\n\
         above NS ns.above\nns.above A {address}\n\
         elsewhere NS ns.other\nns.other A {address}\n"
    );
    fs::write(folder.path().join("com.zone"), text)?;
    UpdateServer::start_in(UpdateProgram::Knot, folder, &["com"])
}

fn powerdns() -> Result<PowerDns> {
    let powerdns = PowerDns::start()?;
    for zone in ["example.com", "above.com", "elsewhere.com", "missing.com"] {
        powerdns.make_zone(zone)?;
    }
    Ok(powerdns)
}

fn records(address: &str) -> String {
    record("seen", "example.com", address)
        + &record("below", "team.above.com", address)
        + &record("elsewhere", "elsewhere.com", address)
        + &record("missing", "missing.com", address)
}

/// A condition of a DNSRecord: status, reason and message.
fn condition(up: &Up, name: &str, kind: &str) -> Result<Option<(String, String, String)>> {
    let objects: Value = serde_json::from_str(&up.get("/api/v1/objects")?)?;
    let objects = objects.as_array().context("objects are a list")?;
    let found = objects
        .iter()
        .map(|one| &one["manifest"])
        .find(|one| one["kind"] == "DNSRecord" && one["metadata"]["name"] == name);
    let conditions = found.and_then(|one| one["status"]["conditions"].as_array());
    let said = conditions.into_iter().flatten().find(|one| one["type"] == kind);
    let text = |said: &Value, key: &str| said[key].as_str().unwrap_or_default().to_owned();
    Ok(said.map(|said| (text(said, "status"), text(said, "reason"), text(said, "message"))))
}

fn wait_for_published(up: &Up, name: &str, status: &str, reason: &str) -> Result<()> {
    let mut last = None;
    let seen = wait_for(&format!("DNSRecord {name} to be published as {reason}"), || {
        last = condition(up, name, "Published")?;
        Ok(last.as_ref().filter(|last| (&*last.0, &*last.1) == (status, reason)).map(drop))
    });
    seen.with_context(|| format!("the last was {last:?}\n{}", up.output()))
}

#[test]
fn what_the_world_sees_of_a_record_is_told() -> Result<()> {
    let powerdns = powerdns()?;
    let parent = parent(powerdns.dns().ip())?;
    let folder = Folder::new()?;
    folder.write("class.yaml", &powerdns_class(&powerdns.url()))?;
    folder.write("records.yaml", &records("192.0.2.1"))?;
    let resolver = format!("--lookup-resolver={}", parent.dns().ip());
    let up = Up::start(Options::folder(folder.path()).flags(&[&resolver]))?;
    wait_for_published(&up, "seen", "True", "Resolved")?;
    // The provider's zone is the one above the record's domain.
    wait_for_published(&up, "below", "True", "Resolved")?;
    wait_for_published(&up, "elsewhere", "Unknown", "DelegatedElsewhere")?;
    wait_for_published(&up, "missing", "Unknown", "NotDelegated")?;
    for name in ["seen", "below", "elsewhere", "missing"] {
        let (status, ..) = condition(&up, name, "Ready")?.context("no Ready")?;
        assert_eq!(status, "True", "{name}: Ready waits for nobody");
    }
    folder.write("records.yaml", &records("192.0.2.2"))?;
    wait_for("the change to be read back", || {
        let ready = condition(&up, "seen", "Ready")?;
        Ok(ready.filter(|(_, reason, _)| reason == "RecordUpdated").map(drop))
    })?;
    wait_for_published(&up, "seen", "True", "Resolved")
}

#[test]
fn without_a_resolver_nothing_is_looked_up() -> Result<()> {
    let powerdns = powerdns()?;
    let folder = Folder::new()?;
    folder.write("class.yaml", &powerdns_class(&powerdns.url()))?;
    folder.write("records.yaml", &record("seen", "example.com", "192.0.2.1"))?;
    let up = Up::start(Options::folder(folder.path()))?;
    wait_for("the record to be read back", || {
        let ready = condition(&up, "seen", "Ready")?;
        Ok(ready.filter(|(status, ..)| status == "True").map(drop))
    })?;
    assert_eq!(condition(&up, "seen", "Published")?, None);
    Ok(())
}

/// Texts that do not fit into a packet, put into PowerDNS behind everybody's back.
fn put_texts(powerdns: &PowerDns, name: &Name) -> Result<RecordSet> {
    let texts: Vec<String> = (0..20).map(|number| format!("{number:0>200}")).collect();
    let records: Vec<Value> = texts.iter().map(|text| json!({"content": format!("\"{text}\"")})).collect();
    let body = json!({"rrsets": [{"name": name.to_string(), "type": "TXT", "ttl": 60, "changetype": "REPLACE",
        "records": records}]});
    powerdns.send("PATCH", "/zones/example.com", &body.to_string())?;
    let data = texts.iter().map(|text| Rdata::txt(text)).collect();
    Ok(RecordSet::new(name.clone(), Rtype::TXT, 300, data))
}

#[test]
fn the_first_server_without_a_set_is_named_and_large_answers_are_seen_whole() -> Result<()> {
    let powerdns = powerdns()?;
    let parent = parent(powerdns.dns().ip())?;
    let texts = put_texts(&powerdns, &Name::parse("texts.example.com")?)?;
    let guard = Arc::new(Guard::allowing(["127.0.0.0/8".parse()?]));
    let resolver = Resolver::parse(&parent.dns().to_string()).context("no resolver")?;
    let lookup = Lookup { resolver: resolver.clone(), guard };
    let provider = powerdns.provider()?;
    let delegation = block_on(lookup.delegation(&provider, &Name::parse("example.com")?))??;
    let own = Server { name: Name::parse("ns.example.com")?, addresses: vec![powerdns.dns().ip()] };
    assert_eq!(delegation, Delegation::To(vec![own.clone()]));
    let mut servers = vec![own];
    assert_eq!(block_on(lookup.first_without(&servers, &texts))?, None);
    // The parent's server refers to the other one, which is not to have it.
    let lame = Server { name: Name::parse("lame.example.com")?, addresses: vec![parent.dns().ip()] };
    servers.push(lame.clone());
    assert_eq!(block_on(lookup.first_without(&servers, &texts))?, Some(lame.name));
    // What the guard does not allow is not asked, even where it would have the set.
    let strict = Lookup { resolver, guard: Arc::default() };
    assert_eq!(block_on(strict.first_without(&servers, &texts))?, Some(servers[0].name.clone()));
    Ok(())
}
