//! A real PowerDNS with LUA records switched on, and programs offered to it by every path that a user has.
//!
//! Each program would leave a file behind. The file never appears, and PowerDNS holds no record set of a type
//! that it executes but those that come from our typed tree.

use std::path::PathBuf;

use anyhow::Result;
use e2e::{Folder, Options, PowerDns, ProviderServer, Store, Up, dig, powerdns_class, run, wait_for};
use serde_json::{Value, json};

const ZONE: &str = "example.com";
/// Names under which programs are offered.
const NAMES: [&str; 12] = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "www"];

/// A PowerDNS that runs programs, and the file that they would leave behind.
struct Scene {
    powerdns: PowerDns,
    folder: Folder,
    marks: tempfile::TempDir,
}

impl Scene {
    fn new() -> Result<Scene> {
        let powerdns = PowerDns::with(
            Store::Sqlite,
            "enable-lua-records=shared\nlua-health-checks-interval=1\nexpand-alias=yes",
        )?;
        powerdns.make_zone(ZONE)?;
        let (folder, marks) = (Folder::new()?, tempfile::tempdir()?);
        // PowerDNS may run as somebody else.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        std::fs::set_permissions(marks.path(), open)?;
        folder.write("class.yaml", &powerdns_class(&powerdns.url()))?;
        Ok(Scene { powerdns, folder, marks })
    }

    fn mark(&self, name: &str) -> PathBuf {
        self.marks.path().join(name)
    }

    /// A program, as it is written in a zone file of PowerDNS.
    fn program(&self, name: &str) -> String {
        format!(";os.execute('touch {}') return '192.0.2.66'", self.mark(name).display())
    }

    /// The same as the data of a record of type 65402 that answers with addresses (RFC 3597).
    fn generic(&self, name: &str) -> String {
        let program = self.program(name);
        let wire = [&[0, 1, program.len() as u8], program.as_bytes()].concat();
        let digits: String = wire.iter().map(|octet| format!("{octet:02x}")).collect();
        format!("\\# {} {digits}", wire.len())
    }

    /// The record sets at PowerDNS as `name type`.
    fn held(&self) -> Result<Vec<(String, String)>> {
        let zone = self.powerdns.send("GET", &format!("/zones/{ZONE}."), "")?;
        let sets = zone["rrsets"].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        Ok(sets.iter().map(|set| (text(&set["name"]), text(&set["type"]))).collect())
    }

    /// Asks for every name, and looks for what a program would have left behind.
    fn nothing_ran(&self) -> Result<()> {
        for name in NAMES {
            for rtype in ["A", "TXT", "TYPE65402"] {
                dig(self.powerdns.dns(), &format!("{name}.{ZONE} {rtype}"))?;
            }
        }
        let held = self.held()?;
        let is_executed = |(_, rtype): &&(String, String)| {
            ["LUA", "ALIAS"].contains(&rtype.as_str()) || rtype.starts_with("TYPE")
        };
        assert_eq!(held.iter().find(is_executed), None, "{held:?}");
        let left: Vec<_> = std::fs::read_dir(self.marks.path())?.flatten().map(|file| file.path()).collect();
        assert!(left.is_empty(), "a program ran: {left:?}");
        Ok(())
    }

    fn stands(&self, name: &str) -> Result<bool> {
        Ok(!dig(self.powerdns.dns(), &format!("{name}.{ZONE} A"))?.data("A").is_empty())
    }
}

/// Without this the tests below could not fail.
#[test]
fn a_program_that_reaches_powerdns_runs() -> Result<()> {
    let scene = Scene::new()?;
    let content = format!("A \"{}\"", scene.program("control"));
    scene.powerdns.put(ZONE, &format!("control.{ZONE}."), "LUA", &content)?;
    wait_for("the program to run", || {
        dig(scene.powerdns.dns(), &format!("control.{ZONE} A"))?;
        Ok(scene.mark("control").exists().then_some(()))
    })
}

#[test]
fn no_object_annotation_or_zone_file_makes_powerdns_run_a_program() -> Result<()> {
    let scene = Scene::new()?;
    let record = |name: &str, rtype: &str, rdata: &str| {
        json!({"apiVersion": "kubi.zone/v1alpha1", "kind": "Record",
            "metadata": {"name": format!("{name}-{}", rtype.to_lowercase()), "namespace": "team"},
            "spec": {"domainName": format!("{name}.{ZONE}"), "type": rtype, "rdata": rdata}})
    };
    let lua = |name: &str| format!("A \"{}\"", scene.program(name));
    let endpoint = |name: &str, rtype: &str, target: String| {
        json!({"dnsName": format!("{name}.{ZONE}"), "recordType": rtype, "targets": [target],
            "providerSpecific": [{"name": "alias", "value": "true"}]})
    };
    let hidden = json!({"type": "TYPE65402", "domainName": format!("j.{ZONE}"), "rdata": scene.generic("j")});
    let mut annotated = record("j", "A", "192.0.2.300");
    annotated["metadata"]["annotations"] = json!({"fingerpost.dev/last-valid-spec": hidden.to_string()});
    let dns_record = |name: &str, rtype: &str, value: &str| {
        json!({"apiVersion": "dns.homelab.mortenolsen.pro/v1alpha1", "kind": "DNSRecord",
            "metadata": {"name": format!("{name}-{}", rtype.to_lowercase()), "namespace": "team"},
            "spec": {"type": rtype, "domain": ZONE, "subdomain": name, "dnsClassRef": {"name": "edge"},
                "values": [value]}})
    };
    let mut set = dns_record("k", "A", "192.0.2.1");
    set["metadata"]["annotations"] = json!({"provider.fingerpost.dev/type": "LUA"});
    let objects = [
        json!({"apiVersion": "kubi.zone/v1alpha1", "kind": "Zone", "metadata": {"name": "zone", "namespace": "team"},
            "spec": {"domainName": ZONE, "dnsClassRef": {"name": "edge"}}}),
        record("a", "TYPE65402", &scene.generic("a")),
        record("b", "type065402", &scene.generic("b")),
        record("c", "LUA", &lua("c")),
        record("d", "TYPE65401", "\\# 1 00"),
        record("e", "TXT", &format!("\"A \\\"{}\\\"\"", scene.program("e"))),
        record("www", "A", "192.0.2.1"),
        annotated,
        dns_record("f", "TYPE65402", &scene.generic("f")),
        dns_record("g", "TXT", &format!("\" \"\n\"; LUA A \"{}", scene.program("g"))),
        set,
        json!({"apiVersion": "externaldns.k8s.io/v1alpha1", "kind": "DNSEndpoint",
        "metadata": {"name": "users", "namespace": "team"},
        "spec": {"endpoints": [
            endpoint("h", "TYPE65402", scene.generic("h")),
            endpoint("i", "LUA", lua("i")),
            endpoint("i", "ALIAS", "www.example.com".to_owned()),
        ]}}),
    ];
    for (number, object) in objects.iter().enumerate() {
        scene.folder.write(&format!("{number:02}.json"), &object.to_string())?;
    }
    let zone_file = format!(
        "$ORIGIN files.{ZONE}.\n$TTL 300\n@ SOA ns noc 1 3600 600 86400 300\n@ NS ns\nns A 192.0.2.53\na TYPE65402 {}\n",
        scene.generic("file")
    );
    scene.folder.write("files.zone", &zone_file)?;
    let checked = run(&["check", &scene.folder.path().display().to_string()])?;
    let said =
        format!("{}{}", String::from_utf8_lossy(&checked.stdout), String::from_utf8_lossy(&checked.stderr));
    assert!(!checked.status.success(), "{said}");
    assert!(said.contains("files.zone:6:3: error: TYPE65402 is a type for private use"), "{said}");
    assert!(said.matches("private use").count() >= 6, "{said}");
    let up = Up::start(Options::folder(scene.folder.path()).flags(&["--drift-interval=1s"]))?;
    wait_for("the plain record", || Ok(scene.stands("www")?.then_some(())))
        .map_err(|error| error.context(up.output()))?;
    scene.nothing_ran()?;
    // What came from a Placement is a program of ours.
    scene.folder.write("placement.json", &placement().to_string())?;
    wait_for("the program of a Placement", || {
        let wanted = (format!("steered.{ZONE}."), "LUA".to_owned());
        Ok(scene.held()?.contains(&wanted).then_some(()))
    })
    .map_err(|error| error.context(up.output()))
}

fn placement() -> Value {
    json!({"apiVersion": "fingerpost.dev/v1alpha1", "kind": "Placement",
        "metadata": {"name": "steered", "namespace": "team"},
        "spec": {"hostname": format!("steered.{ZONE}"), "mode": "active-hotstandby", "dnsClassRef": {"name": "edge"},
            "healthCheck": {"protocol": "HTTP", "port": 8080, "path": "/", "host": "app.test",
                "expectedCodes": ["200"], "interval": "1s", "timeout": "1s", "failures": 1, "successes": 1}, "regions": [
                {"name": "one", "addresses": ["127.0.0.1"]}, {"name": "two", "addresses": ["127.0.0.2"]}]}})
}

#[test]
fn no_protocol_of_the_provider_makes_powerdns_run_a_program() -> Result<()> {
    let scene = Scene::new()?;
    let state = tempfile::tempdir()?;
    let key = state.path().join("key");
    std::fs::write(&key, "test-key\n")?;
    let (url, key) = (scene.powerdns.url(), key.display().to_string());
    let store =
        ["--zone", ZONE, "--store", "powerdns", "--powerdns-url", &url, "--powerdns-api-key-file", &key];
    let webhook = ProviderServer::start(&state.path().join("webhook"), &store)?;
    for (rtype, value) in [
        ("TYPE65402", scene.generic("a")),
        ("type65402", scene.generic("b")),
        ("TYPE65401", "\\# 1 00".to_owned()),
    ] {
        let record = json!({"type": rtype, "domain": ZONE, "subdomain": "a", "values": [value], "ttl": 60,
            "format": "presentation"});
        let change = json!({"record": record, "operation": "upsert"});
        let (status, body) = webhook.send("POST", "/records", &change)?;
        assert!(status == 400 && body.to_string().contains("private use"), "{status} {body}");
        let (_, body) = webhook.send("POST", "/records/batch", &json!({ "changes": [change] }))?;
        assert!(body.to_string().contains("private use"), "{body}");
    }
    let reserved =
        json!({"type": "TXT", "domain": ZONE, "subdomain": "x._fingerpost", "values": ["t"], "ttl": 60});
    let (status, body) =
        webhook.send("POST", "/records", &json!({"record": reserved, "operation": "upsert"}))?;
    assert!(status == 400 && body.to_string().contains("is reserved"), "{status} {body}");
    scene.nothing_ran()?;
    drop(webhook);

    let flags = [&store[..], &["--protocol", "external-dns"]].concat();
    let external = ProviderServer::start(&state.path().join("external"), &flags)?;
    let media = [("Content-Type", "application/external.dns.webhook+json;version=1")];
    let lua = format!("A \"{}\"", scene.program("h"));
    let offered = [
        json!({"dnsName": "h.example.com", "recordType": "TYPE65402", "targets": [scene.generic("h")]}),
        json!({"dnsName": "i.example.com", "recordType": "LUA", "targets": [lua]}),
        json!({"dnsName": "j.example.com", "recordType": "ALIAS", "targets": ["www.example.com"]}),
        json!({"dnsName": "x._fingerpost.example.com", "recordType": "TXT", "targets": ["text"]}),
    ];
    for endpoint in &offered {
        let (status, body) = external.send_with("POST", "/adjustendpoints", &json!([endpoint]), &media)?;
        assert_eq!((status, body), (200, json!([])), "{endpoint}");
        let (status, _) = external.send_with("POST", "/records", &json!({ "create": [endpoint] }), &media)?;
        assert!(status >= 400, "{endpoint}");
    }
    // ExternalDNS's own ownership records are its own.
    let own = json!({"dnsName": "a-www.example.com", "recordType": "TXT",
        "targets": ["\"heritage=external-dns,external-dns/owner=default\""]});
    let address = json!({"dnsName": "www.example.com", "recordType": "A", "targets": ["192.0.2.1"]});
    let (status, body) =
        external.send_with("POST", "/records", &json!({"create": [own, address]}), &media)?;
    assert_eq!(status, 204, "{body}");
    let (_, listed) = external.send_with("GET", "/records", &Value::Null, &media)?;
    assert!(listed.to_string().contains("heritage=external-dns"), "{listed}");
    assert!(!listed.to_string().contains("_fingerpost"), "{listed}");
    assert!(scene.stands("www")?);
    scene.nothing_ran()
}
