//! Our definitions on a real API server: what it takes, what it refuses by itself, and what it shows.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use e2e::{Api, Cluster};
use serde_json::Value;

/// The plural and the group of every kind of ours.
const KINDS: [&str; 11] = [
    "clusteridentities.cluster.router.io",
    "dnsconfigurations.cluster.router.io",
    "gateways.routing.router.io",
    "dnspolicies.routing.router.io",
    "serviceroutes.routing.router.io",
    "dnspolicies.kuadrant.io",
    "dnsclasses.dns.homelab.mortenolsen.pro",
    "dnsrecords.dns.homelab.mortenolsen.pro",
    "zones.kubi.zone",
    "records.kubi.zone",
    "placements.fingerpost.dev",
];

#[test]
fn every_definition_is_established_with_a_structural_schema() -> Result<()> {
    let api = Cluster::shared()?.api();
    for name in KINDS {
        let path = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{name}");
        let definition = api.get(&path)?.with_context(|| format!("{name} is missing"))?;
        let conditions = definition["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let holds = |kind: &str| conditions.iter().any(|c| c["type"] == kind && c["status"] == "True");
        assert!(holds("Established") && holds("NamesAccepted"), "{name}: {conditions:?}");
        assert!(!holds("NonStructuralSchema"), "{name}: {conditions:?}");
    }
    Ok(())
}

#[test]
fn every_accepted_manifest_is_accepted_by_the_api_server() -> Result<()> {
    let cluster = Cluster::alone()?;
    let mut kinds = BTreeSet::new();
    for path in files(&testdata("admission/accept"))? {
        // Foreign kinds have rules of their own, which are not ours to test.
        if path.ends_with("foreign.yaml") {
            continue;
        }
        for manifest in manifests(&cluster, &std::fs::read_to_string(&path)?)? {
            let answer = cluster.api().try_create(&manifest)?;
            assert!(answer.code == 201, "{}: {}", path.display(), answer.body);
            kinds.insert(format!("{}", manifest["kind"]));
        }
    }
    assert!(kinds.len() >= 9, "only {kinds:?}");
    Ok(())
}

/// The list of what is left is kept, so that a rule that gets lost in a definition is noticed.
#[test]
fn what_the_api_server_refuses_without_the_webhook_is_known_and_names_the_field() -> Result<()> {
    let cluster = Cluster::alone()?;
    let (mut left, mut vague) = (Vec::new(), Vec::new());
    for path in files(&testdata("admission/reject"))? {
        let text = std::fs::read_to_string(&path)?;
        let expected = text.lines().next().and_then(|line| line.strip_prefix("# expect: "));
        let expected = expected.with_context(|| format!("{} expects nothing", path.display()))?;
        match refusals(&cluster, &text)?.as_slice() {
            [] => left.push(path.file_name().unwrap_or_default().display().to_string()),
            said if names_the_field(expected, said) => {}
            said => vague.push(format!("{}: {expected}\n  {said:?}", path.display())),
        }
    }
    assert!(vague.is_empty(), "{}", vague.join("\n"));
    golden("admission.left-to-the-webhook.txt", &(left.join("\n") + "\n"))
}

#[test]
fn kubectl_shows_the_columns_that_one_looks_for() -> Result<()> {
    let cluster = Cluster::alone()?;
    cluster.ensure_namespace("columns")?;
    cluster.apply(ONE_OF_EACH)?;
    let mut shown = String::new();
    for kind in KINDS {
        let table = cluster.kubectl("admin", &["get", kind, "--namespace", "columns"])?.success()?;
        let header = table.lines().next().context("no header")?;
        ensure!(table.lines().count() == 2, "{kind} shows {table}");
        shown += &format!("{kind}: {}\n", header.split_whitespace().collect::<Vec<_>>().join(" "));
    }
    golden("kubectl.columns.txt", &shown)
}

#[test]
fn first_sight_is_the_default_status_of_the_definition() -> Result<()> {
    let cluster = Cluster::alone()?;
    cluster.ensure_namespace("columns")?;
    cluster.apply(ONE_OF_EACH)?;
    let objects = cluster.objects()?;
    assert_eq!(objects.0.len(), KINDS.len());
    for (key, object) in &objects.0 {
        let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let ready = conditions.iter().find(|condition| condition["type"] == "Ready");
        assert_eq!(ready.map(|ready| &ready["status"]), Some(&Value::from("Unknown")), "{key}: {object}");
    }
    Ok(())
}

#[test]
fn kubectl_explains_every_field_of_every_kind() -> Result<()> {
    let cluster = Cluster::shared()?;
    for kind in KINDS {
        let (plural, group) = kind.split_once('.').context("no group")?;
        let version = format!("--api-version={group}/v1alpha1");
        let text =
            cluster.kubectl("admin", &["explain", plural, &version, "--recursive=false"])?.success()?;
        assert!(text.contains("DESCRIPTION") && !text.contains("<empty>"), "{kind}: {text}");
        let field = format!("{plural}.spec");
        let text = cluster.kubectl("admin", &["explain", &field, &version])?.success()?;
        let undescribed = text.lines().filter(|line| line.trim() == "<no description>").count();
        assert!(text.contains("FIELDS:") && undescribed == 0, "{kind}: {text}");
    }
    Ok(())
}

#[test]
fn short_names_and_the_category_find_our_kinds() -> Result<()> {
    let cluster = Cluster::alone()?;
    cluster.ensure_namespace("columns")?;
    cluster.apply(ONE_OF_EACH)?;
    for (short, name) in
        [("ci", "cluster-identity"), ("dnsc", "dns-config"), ("rgw", "g"), ("sr", "s"), ("plc", "p")]
    {
        let found =
            cluster.kubectl("admin", &["get", short, "--namespace", "columns", "-o", "name"])?.success()?;
        assert!(found.trim().ends_with(&format!("/{name}")), "{short}: {found}");
    }
    let all = cluster
        .kubectl("admin", &["get", "fingerpost", "--namespace", "columns", "-o", "name"])?
        .success()?;
    assert_eq!(all.lines().count(), KINDS.len(), "{all}");
    Ok(())
}

#[test]
fn examples_apply_as_they_are() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    for (example, objects) in [("quickstart", 9), ("regions/weu", 6), ("regions/neu", 6), ("zones", 9)] {
        let cluster = Cluster::alone()?;
        let folder = root.join(example).display().to_string();
        let said = cluster.kubectl("admin", &["apply", "-f", &folder])?.success()?;
        let ours = cluster.objects()?.0.len();
        assert!(ours >= objects, "{example} made {ours} objects: {said}");
    }
    Ok(())
}

const ONE_OF_EACH: &str = "
apiVersion: cluster.router.io/v1alpha1
kind: ClusterIdentity
metadata: {name: cluster-identity}
spec: {region: weu, cluster: aks01, domain: example.org, environmentLetter: p}
---
apiVersion: cluster.router.io/v1alpha1
kind: DNSConfiguration
metadata: {name: dns-config}
spec: {externalDNSControllers: [{name: external-dns-weu, region: weu}]}
---
apiVersion: routing.router.io/v1alpha1
kind: Gateway
metadata: {name: g, namespace: columns}
spec: {controller: istio, targetPostfix: public}
---
apiVersion: routing.router.io/v1alpha1
kind: DNSPolicy
metadata: {name: p, namespace: columns}
spec: {mode: Active}
---
apiVersion: routing.router.io/v1alpha1
kind: ServiceRoute
metadata: {name: s, namespace: columns}
spec: {serviceName: web, gatewayName: g, gatewayNamespace: columns, environment: prod, application: shop}
---
apiVersion: kuadrant.io/v1alpha1
kind: DNSPolicy
metadata: {name: k, namespace: columns}
spec:
  targetRef: {group: gateway.networking.k8s.io, kind: Gateway, name: edge}
  loadBalancing: {weighted: {default: 10}}
---
apiVersion: dns.homelab.mortenolsen.pro/v1alpha1
kind: DNSClass
metadata: {name: c}
spec: {embedded: {}}
---
apiVersion: dns.homelab.mortenolsen.pro/v1alpha1
kind: DNSRecord
metadata: {name: r, namespace: columns}
spec: {type: A, domain: example.org, subdomain: www, values: [192.0.2.1], dnsClassRef: {name: c}}
---
apiVersion: kubi.zone/v1alpha1
kind: Zone
metadata: {name: z, namespace: columns}
spec: {domainName: example.org.}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: r, namespace: columns}
spec: {domainName: www.example.org., type: A, rdata: 192.0.2.1}
---
apiVersion: fingerpost.dev/v1alpha1
kind: Placement
metadata: {name: p, namespace: columns}
spec: {hostname: app.example.org, mode: single-region, regions: [{name: weu, addresses: [192.0.2.1]}]}
";

/// What the API server says against the documents of a text.
fn refusals(cluster: &Cluster, text: &str) -> Result<Vec<String>> {
    let mut said = Vec::new();
    for manifest in manifests(cluster, text)? {
        match refusal(&cluster.api(), &manifest) {
            Ok(None) => {}
            Ok(Some(message)) => said.push(message),
            // A kind that is not there has no path; kubectl would say as much.
            Err(error) => said.push(format!("{error:#}")),
        }
    }
    Ok(said)
}

fn refusal(api: &Api, manifest: &Value) -> Result<Option<String>> {
    let answer = api.try_create(manifest)?;
    let told: Value = serde_json::from_str(&answer.body)?;
    Ok((answer.code >= 400).then(|| told["message"].as_str().unwrap_or_default().to_owned()))
}

/// Whether a refusal says which field is wrong, as our own message does before its colon.
///
/// A rule over a list cannot say which item, and one over an object names itself by the object's path.
fn names_the_field(expected: &str, said: &[String]) -> bool {
    let path = expected.split(": ").next().unwrap_or_default();
    if !path.starts_with("spec") {
        return true;
    }
    let words: Vec<&str> = path.split(['.', '[']).filter(|word| !word.ends_with(']')).collect();
    let near = words.iter().rev().take(2);
    said.iter().any(|message| near.clone().any(|word| message.contains(word)))
}

/// The documents of a text, with the namespaces there that they lie in.
fn manifests(cluster: &Cluster, text: &str) -> Result<Vec<Value>> {
    let manifests = e2e::documents(text)?;
    for manifest in &manifests {
        if let Some(namespace) = manifest["metadata"]["namespace"].as_str() {
            cluster.ensure_namespace(namespace)?;
        }
    }
    Ok(manifests)
}

fn testdata(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata").join(path)
}

/// Every file below a folder, in order.
fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    found.sort();
    Ok(found)
}

/// Compares with a file in testdata/golden, or writes it where `UPDATE` is set.
fn golden(name: &str, text: &str) -> Result<()> {
    let path = testdata("golden").join(name);
    if std::env::var_os("UPDATE").is_some() {
        return Ok(std::fs::write(path, text)?);
    }
    assert_eq!(std::fs::read_to_string(&path).unwrap_or_default(), text, "{}", path.display());
    Ok(())
}
