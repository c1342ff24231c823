//! `fingerpost import` on a real PowerDNS: what is there becomes manifests that plan to no change.

use anyhow::{Result, ensure};
use e2e::{Between, Folder, Options, PowerDns, Up, dig, powerdns_class, run, wait_for};
use serde_json::{Value, json};

const RECORDS: [(&str, &str, &[&str]); 7] = [
    ("www", "A", &["192.0.2.1", "192.0.2.2"]),
    ("www", "AAAA", &["2001:db8::1"]),
    ("*.dev", "A", &["192.0.2.3"]),
    ("alias", "CNAME", &["www.example.com."]),
    ("text", "TXT", &["\"v=spf1 \\\"quoted\\\" -all\""]),
    ("@", "MX", &["10 mail.example.com."]),
    ("_sip._tcp", "SRV", &["1 2 5060 sip.example.com."]),
];

struct Scene {
    powerdns: PowerDns,
    between: Between,
    folder: Folder,
    state: Folder,
}

impl Scene {
    fn new() -> Result<Scene> {
        let powerdns = PowerDns::start()?;
        powerdns.make_zone("example.com")?;
        let between = Between::start(powerdns.url().trim_start_matches("http://").parse()?)?;
        let folder = Folder::new()?;
        folder.write("class.yaml", &powerdns_class(&between.url()))?;
        let scene = Scene { powerdns, between, folder, state: Folder::new()? };
        for (name, kind, values) in RECORDS {
            scene.put(name, kind, values)?;
        }
        Ok(scene)
    }

    fn put(&self, name: &str, kind: &str, values: &[&str]) -> Result<()> {
        let url = format!("{}/api/v1/servers/localhost/zones/example.com.", self.powerdns.url());
        let name = if name == "@" { "example.com.".to_owned() } else { format!("{name}.example.com.") };
        let records: Vec<Value> =
            values.iter().map(|value| json!({"content": value, "disabled": false})).collect();
        let body = json!({"rrsets": [{"name": name, "type": kind, "ttl": 300, "changetype": "REPLACE",
            "records": records}]});
        let request =
            ureq::patch(&url).header("X-API-Key", "test-key").header("Content-Type", "application/json");
        request.send(body.to_string())?;
        Ok(())
    }

    /// The zone's content, the SOA and our marks left out. PowerDNS has the records of a set in any order.
    fn content(&self) -> Result<Vec<String>> {
        let url = format!("{}/api/v1/servers/localhost/zones/example.com.", self.powerdns.url());
        let zone: Value = serde_json::from_str(
            &ureq::get(&url).header("X-API-Key", "test-key").call()?.body_mut().read_to_string()?,
        )?;
        let mut sets = zone["rrsets"].as_array().cloned().unwrap_or_default();
        for records in sets.iter_mut().filter_map(|set| set["records"].as_array_mut()) {
            records.sort_by_key(ToString::to_string);
        }
        let is_content = |set: &&Value| {
            set["type"] != "SOA" && !set["name"].as_str().is_some_and(|name| name.contains("_fingerpost"))
        };
        let mut content: Vec<String> = sets.iter().filter(is_content).map(ToString::to_string).collect();
        content.sort();
        Ok(content)
    }

    fn import(&self, flags: &[&str]) -> Result<String> {
        let folder = self.folder.path().display().to_string();
        let state = self.state.path().display().to_string();
        let base = ["import", "--class", "edge", "--zone", "example.com", "--state", &state, &folder];
        let arguments = [&base[..], flags].concat();
        let output = run(&arguments)?;
        ensure!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8(output.stdout)?)
    }

    /// `up` with the owner ID of the import.
    fn up(&self, flags: &[&str]) -> Result<Up> {
        Up::start(Options::folder(self.folder.path()).state(self.state.path()).flags(flags))
    }

    /// The names of records that were written, marks and the rest.
    fn written(&self) -> Vec<String> {
        let patches = self.between.calls().into_iter().filter(|call| call.method == "PATCH");
        let bodies = patches.filter_map(|call| serde_json::from_str::<Value>(&call.body).ok());
        let sets = bodies.flat_map(|body| body["rrsets"].as_array().cloned().unwrap_or_default());
        sets.map(|set| format!("{} {} {}", set["changetype"], set["name"], set["type"])).collect()
    }
}

fn imported(kind: &str) -> Result<()> {
    let scene = Scene::new()?;
    let before = scene.content()?;
    let table = scene.import(&["--kind", kind])?;
    // A zone's own name servers are the Zone's.
    let expected = RECORDS.len() + usize::from(kind == "Zone");
    let adopted = table.lines().filter(|line| line.starts_with("adopted")).count();
    assert_eq!(adopted, expected, "{table}");
    assert!(scene.written().is_empty(), "looking writes nothing: {:?}", scene.written());
    let manifests = scene.import(&["--kind", kind, "-o", "yaml"])?;
    let told = scene.import(&["--kind", kind, "--apply"])?;
    assert!(told.contains("left alone, because no manifest declares them"), "{told}");
    assert!(scene.written().is_empty(), "what no manifest has would be deleted: {:?}", scene.written());
    scene.folder.write("imported.yaml", &manifests)?;
    scene.import(&["--kind", kind, "--apply"])?;
    assert_eq!(scene.content()?, before);
    let again = scene.import(&["--kind", kind])?;
    assert!(!again.contains("changed  ") && !again.contains("adopted  "), "{again}");
    assert_eq!(scene.import(&["--kind", kind, "-o", "yaml"])?, "", "everything is declared");
    scene.between.forget();
    let up = scene.up(&["--drift-interval=1s"])?;
    wait_for("every record to be ready", || {
        let objects: Value = serde_json::from_str(&up.get("/api/v1/objects")?)?;
        let manifests = objects.as_array().into_iter().flatten().map(|one| &one["manifest"]);
        let mut records =
            manifests.filter(|one| one["kind"] == "DNSRecord" || one["kind"] == "Record").peekable();
        let some = records.peek().is_some();
        let all = records.all(|one| {
            let conditions = one["status"]["conditions"].as_array().into_iter().flatten();
            conditions.into_iter().any(|one| one["type"] == "Ready" && one["status"] == "True")
        });
        Ok((some && all).then_some(()))
    })
    .map_err(|error| error.context(up.output()))?;
    assert_eq!(scene.content()?, before);
    // Our own counter comes with the first mark; nothing else does.
    let written: Vec<String> =
        scene.written().into_iter().filter(|one| !one.contains("._alive._fingerpost.")).collect();
    assert_eq!(written, [""; 0], "what was imported plans to no change");
    Ok(())
}

#[test]
fn a_zone_becomes_dns_records_that_change_nothing() -> Result<()> {
    imported("DNSRecord")
}

#[test]
fn a_zone_becomes_a_zone_and_records_that_change_nothing() -> Result<()> {
    imported("Zone")
}

#[test]
fn what_an_external_dns_owns_is_taken_over_by_its_owner_id_without_a_delete() -> Result<()> {
    let scene = Scene::new()?;
    let mark = |owner: &str| {
        format!("\"heritage=external-dns,external-dns/owner={owner},external-dns/resource=crd/a/b\"")
    };
    scene.put("a-www", "TXT", &[&mark("prod")])?;
    scene.put("cname-alias", "TXT", &[&mark("other")])?;
    let before = scene.content()?;
    let table = scene.import(&["--adopt-owner", "prod"])?;
    let adopted: Vec<&str> = table.lines().filter(|line| line.starts_with("adopted")).collect();
    assert_eq!(adopted.len(), 1, "{table}");
    assert!(adopted[0].contains("www.example.com.") && adopted[0].contains("of ExternalDNS prod"), "{table}");
    let manifests = scene.import(&["--adopt-owner", "prod", "-o", "yaml"])?;
    scene.folder.write("imported.yaml", &manifests)?;
    scene.import(&["--adopt-owner", "prod", "--apply"])?;
    assert_eq!(scene.content()?, before);
    let written = scene.written();
    assert!(
        !written.is_empty()
            && written.iter().all(|one| one.contains("_fingerpost") && one.contains("REPLACE"))
    );
    scene.folder.write("imported.yaml", &manifests.replace("192.0.2.1", "192.0.2.9"))?;
    let up = scene.up(&[])?;
    wait_for("the record to be ours", || {
        let answer = dig(scene.powerdns.dns(), "www.example.com A")?.data("A");
        Ok(answer.contains(&"192.0.2.9".to_owned()).then_some(()))
    })
    .map_err(|error| error.context(up.output()))?;
    assert!(!scene.written().iter().any(|one| one.contains("DELETE")), "{:?}", scene.written());
    Ok(())
}

#[test]
fn a_class_or_a_zone_that_is_not_there_is_an_error_with_its_name() -> Result<()> {
    let scene = Scene::new()?;
    let folder = scene.folder.path().display().to_string();
    for (class, zone, words) in
        [("none", "example.com", "DNSClass none"), ("edge", "example.net", "example.net")]
    {
        let output = run(&["import", "--class", class, "--zone", zone, &folder])?;
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && told.contains(words), "{told}");
    }
    Ok(())
}

#[test]
fn a_program_is_shown_and_replaced_in_one_step_and_no_manifest_is_made_of_it() -> Result<()> {
    let scene = Scene::new()?;
    scene.put("lua", "LUA", &["A \"ifportup(443, {'192.0.2.1'})\""])?;
    scene.put("other", "LUA", &["A \"'192.0.2.9'\""])?;
    let table = scene.import(&[])?;
    let row = table.lines().find(|line| line.contains(" lua.example.com. ")).unwrap_or_default();
    assert!(
        row.starts_with("left alone") && row.ends_with("LUA A \"ifportup(443, {'192.0.2.1'})\""),
        "{table}"
    );
    for kind in ["DNSRecord", "Zone"] {
        let manifests = scene.import(&["--kind", kind, "-o", "yaml"])?;
        assert!(!manifests.contains("ifportup") && !manifests.contains("65402"), "{manifests}");
    }
    // Where the plan has addresses of the name, they replace it.
    scene.folder.write(
        "lua.json",
        &json!({"apiVersion": "dns.homelab.mortenolsen.pro/v1alpha1",
        "kind": "DNSRecord", "metadata": {"name": "lua", "namespace": "production"},
        "spec": {"type": "A", "domain": "example.com", "subdomain": "lua", "dnsClassRef": {"name": "edge"},
            "values": ["192.0.2.7"]}})
        .to_string(),
    )?;
    let table = scene.import(&["--apply"])?;
    let row = table.lines().find(|line| line.contains(" lua.example.com. ")).unwrap_or_default();
    assert!(row.starts_with("changed"), "{table}");
    scene.between.forget();
    let up = scene.up(&[])?;
    wait_for("the addresses", || {
        Ok((dig(scene.powerdns.dns(), "lua.example.com A")?.data("A") == ["192.0.2.7"]).then_some(()))
    })
    .map_err(|error| error.context(up.output()))?;
    let bodies =
        scene.between.calls().into_iter().filter(|call| call.method == "PATCH").map(|call| call.body);
    let swap = bodies.filter_map(|body| serde_json::from_str::<Value>(&body).ok()).find(|body| {
        let sets = body["rrsets"].as_array().cloned().unwrap_or_default();
        let has = |kind: &str, change: &str| {
            sets.iter().any(|set| {
                set["name"] == "lua.example.com." && set["type"] == kind && set["changetype"] == change
            })
        };
        has("LUA", "DELETE") && has("A", "REPLACE")
    });
    assert!(swap.is_some(), "{:?}", scene.written());
    let content = scene.content()?.join("\n");
    assert!(!content.contains("ifportup") && content.contains("'192.0.2.9'"), "{content}");
    Ok(())
}
