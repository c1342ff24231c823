//! `fingerpost provider` on stores that others keep: PowerDNS, BIND by dynamic update, and zone files.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::Result;
use e2e::{KEYS, PowerDns, ProviderServer, UpdateProgram, UpdateServer, call, dig};
use serde_json::{Value, json};

const ZONE: &str = "example.org";

fn put(server: &ProviderServer, name: &str, value: &str) -> Result<(u16, Value)> {
    let record = json!({"type": "A", "domain": ZONE, "subdomain": name, "values": [value], "ttl": 60});
    server.send("POST", "/records", &json!({"record": record, "operation": "upsert"}))
}

fn get(server: &ProviderServer, name: &str) -> Result<u16> {
    Ok(server.send("GET", &format!("/records/A/{ZONE}/{name}"), &Value::Null)?.0)
}

fn delete(server: &ProviderServer, name: &str) -> Result<u16> {
    Ok(server.send("DELETE", &format!("/records/A/{ZONE}/{name}"), &Value::Null)?.0)
}

fn file(folder: &Path, name: &str, text: &str) -> Result<String> {
    let path = folder.join(name);
    fs::write(&path, text)?;
    Ok(path.display().to_string())
}

/// A record comes, changes and goes; one that somebody else made is neither seen, nor changed, nor deleted.
fn lives_beside_others(server: &mut ProviderServer, dns: SocketAddr, others: &str) -> Result<()> {
    let answer = |name: &str| -> Result<Vec<String>> { Ok(dig(dns, &format!("{name}.{ZONE} A"))?.data("A")) };
    assert_eq!(put(server, "www", "192.0.2.1")?.0, 200);
    assert_eq!(answer("www")?, ["192.0.2.1"]);
    assert_eq!((put(server, "www", "192.0.2.2")?.0, get(server, "www")?), (200, 200));
    assert_eq!(answer("www")?, ["192.0.2.2"]);
    let (status, body) = put(server, "others", "192.0.2.3")?;
    assert_eq!((status, &body["error"]["code"]), (409, &json!("RECORD_NOT_OWNED")));
    assert_eq!((get(server, "others")?, delete(server, "others")?), (404, 404));
    assert_eq!(answer("others")?, [others]);
    // What is ours is known by its mark, not by memory.
    server.restart()?;
    assert_eq!((get(server, "www")?, delete(server, "www")?, delete(server, "www")?), (200, 200, 404));
    assert_eq!((answer("www")?, answer("others")?), (vec![], vec![others.to_owned()]));
    Ok(())
}

#[test]
fn powerdns_keeps_our_records_and_everybody_elses() -> Result<()> {
    let (power, folder) = (PowerDns::start()?, tempfile::tempdir()?);
    power.make_zone(ZONE)?;
    power.put(ZONE, &format!("others.{ZONE}."), "A", "192.0.2.99")?;
    let (url, key) = (power.url(), file(folder.path(), "key", "test-key\n")?);
    let flags =
        ["--zone", ZONE, "--store", "powerdns", "--powerdns-url", &url, "--powerdns-api-key-file", &key];
    let mut server = ProviderServer::start(&folder.path().join("state"), &flags)?;
    lives_beside_others(&mut server, power.dns(), "192.0.2.99")
}

#[test]
fn a_server_that_takes_updates_keeps_our_records_and_everybody_elses() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let zones = tempfile::tempdir()?;
    let text = format!(
        "$ORIGIN {ZONE}.\n$TTL 3600\n@ SOA ns noc 1 3600 600 86400 300\n@ NS ns\nns A 192.0.2.53\nothers A 192.0.2.99\n"
    );
    fs::write(zones.path().join(format!("{ZONE}.zone")), text)?;
    let bind = UpdateServer::start_in(UpdateProgram::Bind, zones, &[ZONE])?;
    let (name, algorithm, secret) = KEYS[0];
    let (address, secret) = (bind.dns().to_string(), file(folder.path(), "secret", secret)?);
    let flags = [
        "--zone",
        ZONE,
        "--store",
        "rfc2136",
        "--rfc2136-server",
        &address,
        "--tsig-name",
        name,
        "--tsig-algorithm",
        algorithm,
        "--tsig-secret-file",
        &secret,
    ];
    let mut server = ProviderServer::start(&folder.path().join("state"), &flags)?;
    lives_beside_others(&mut server, bind.dns(), "192.0.2.99")
}

#[test]
fn zone_files_hold_what_was_told_and_load() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let zones = folder.path().join("zones");
    let directory = zones.display().to_string();
    let flags = ["--zone", ZONE, "--store", "zone-file", "--zone-directory", &directory];
    let server = ProviderServer::start(&folder.path().join("state"), &flags)?;
    // The zone's own name server needs an address for others to load the zone.
    assert_eq!(put(&server, "ns", "192.0.2.53")?.0, 200);
    for number in 1..=5 {
        assert_eq!(put(&server, &format!("n{number}"), &format!("192.0.2.{number}"))?.0, 200);
    }
    assert_eq!((delete(&server, "n3")?, get(&server, "n3")?, get(&server, "n4")?), (200, 404, 200));
    let written = fs::read_dir(&zones)?.next().transpose()?.expect("a zone file").path();
    let checked = call("named-checkzone", "bind9-utils", &["-D", ZONE, &written.display().to_string()])?;
    let said = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(
        checked.status.success()
            && said.contains("192.0.2.53")
            && said.contains("n5.example.org")
            && !said.contains("n3.example.org"),
        "{said}"
    );
    Ok(())
}
