//! One golden set: what `fingerpost plan` prints for a folder is what the operator makes of it in a cluster.

use std::path::Path;
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use e2e::{Alone, Folder, Objects, dig, documents, example, fingerpost, run};
use serde_json::{Value, json};

use crate::world::World;

/// Each folder, and a name that is asked for in it.
const FOLDERS: [(&str, &str); 4] = [
    ("quickstart", "www.example.org"),
    ("zones", "www.shop.example.org"),
    ("regions/weu", "web-ns-p-prod-shop.apps.example.com"),
    ("regions/neu", "web-ns-p-prod-shop.apps.example.com"),
];

#[test]
fn the_cluster_holds_what_the_plan_of_the_folder_prints() -> Result<()> {
    for (folder, name) in FOLDERS {
        let world = World::alone()?;
        let operator = world.operator(&[])?;
        let metrics = operator.place().api();
        apply_by_kubectl(&world, &example(folder)).context(folder)?;
        holds_what_is_planned(&world, &example(folder)).context(folder).context(operator.output())?;
        commands_agree(&world, folder, name, &metrics).context(folder)?;
    }
    Ok(())
}

#[test]
fn what_a_dns_server_answers_is_what_the_folder_explains() -> Result<()> {
    let world = World::alone()?;
    let folder = Folder::copy_of("quickstart")?;
    folder.replace(
        "cluster.yaml",
        "      region: weu\n",
        "      region: weu\n      dnsClassRef: {name: edge}\n",
    )?;
    folder.write("class.yaml", CLASS)?;
    let operator = world.operator(&[])?;
    apply_by_kubectl(&world, folder.path())?;
    let server = world.dns("golden", &[])?;
    holds_what_is_planned(&world, folder.path()).context(operator.output())?;
    let offline = explained(&["www.example.org", &folder.path().display().to_string()])?;
    for url in [operator.place().api(), server.url()] {
        world.expect("the same answers", |_| {
            let online =
                explained(&["www.example.org", "--url", &url]).map_err(|error| format!("{error:#}"))?;
            if online == offline { Ok(()) } else { Err(format!("{url}: {online:?} is not {offline:?}")) }
        })?;
    }
    let asked = dig(server.dns(), "www.example.org A")?;
    assert_eq!(asked.data("A"), ["192.0.2.10"], "{asked:?}");
    plugin_agrees(&world)
}

const CLASS: &str = "{apiVersion: dns.homelab.mortenolsen.pro/v1alpha1, kind: DNSClass, \
    metadata: {name: edge}, spec: {embedded: {}}}\n";

fn explained(arguments: &[&str]) -> Result<Vec<Value>> {
    answers(&run(&[&["explain", "-o", "json"], arguments].concat())?)
}

/// Installed under this name it is a plugin of kubectl, and asks the cluster that kubectl asks.
fn plugin_agrees(world: &World<Alone>) -> Result<()> {
    let folder = Folder::new()?;
    std::os::unix::fs::symlink(fingerpost()?, folder.path().join("kubectl-fingerpost"))?;
    let mut kubectl = world.cluster.kubectl_command("admin")?;
    let output = kubectl.args(["fingerpost", "plan"]).env("PATH", folder.path()).output()?;
    assert_eq!(said(&output), (Some(0), "No changes.\n".to_owned()), "{output:?}");
    Ok(())
}

/// A folder as a user applies it; the cloud's part, the addresses of Services, comes after.
fn apply_by_kubectl(world: &World<Alone>, folder: &Path) -> Result<()> {
    let kubectl = |arguments: &[&str]| world.cluster.kubectl("admin", arguments)?.success();
    kubectl(&["apply", "-f", &folder.display().to_string()])?;
    for service in manifests(folder)?.iter().filter(|manifest| manifest["kind"] == "Service") {
        let text = |key: &str| service["metadata"][key].as_str().unwrap_or_default().to_owned();
        let patch = json!({"status": service["status"]}).to_string();
        let (name, namespace) = (text("name"), text("namespace"));
        let what = ["patch", "service", &name, "--namespace", &namespace];
        kubectl(&[&what[..], &["--subresource=status", "--type=merge", "--patch", &patch]].concat())?;
    }
    Ok(())
}

fn manifests(folder: &Path) -> Result<Vec<Value>> {
    let mut manifests = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "yaml") {
            manifests.extend(documents(&std::fs::read_to_string(path)?)?);
        }
    }
    Ok(manifests)
}

fn holds_what_is_planned(world: &World<Alone>, folder: &Path) -> Result<()> {
    let planned = planned(folder)?;
    ensure!(!planned.0.is_empty(), "the plan is empty");
    world.expect("the cluster to hold the plan", |_| {
        let held = world.cluster.objects().map_err(|error| format!("{error:#}"))?;
        let mut seen = Objects::default();
        held.0.into_values().map(comparable).for_each(|object| seen.add(object));
        match planned.differences(&seen) {
            differences if differences.is_empty() => Ok(()),
            differences => Err(differences.join("\n")),
        }
    })
}

/// The children and statuses that the plan of a folder has.
fn planned(folder: &Path) -> Result<Objects> {
    let output = run(&["plan", &folder.display().to_string(), "-o", "json"])?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let plan: Value = serde_json::from_slice(&output.stdout)?;
    let mut planned = Objects::default();
    for list in ["children", "objects"] {
        let objects = plan[list].as_array().with_context(|| format!("the plan has no {list}"))?;
        objects.iter().map(|one| comparable(one["manifest"].clone())).for_each(|object| planned.add(object));
    }
    Ok(planned)
}

/// The plan of a folder creates no Istio Gateway and says so; the operator does.
fn created(condition: &mut Value) {
    if condition["reason"] == "GatewayPlanned" {
        condition["reason"] = json!("GatewayCreated");
        condition["message"] = json!("Istio Gateway created successfully");
    }
}

/// What the plan says of an object: all of a child; status, labels and annotations of our own kinds.
fn comparable(mut object: Value) -> Value {
    let is_child = object["kind"] == "DNSEndpoint" || object["apiVersion"] == "networking.istio.io/v1";
    if let Some(fields) = object.as_object_mut() {
        fields.remove(if is_child { "status" } else { "spec" });
    }
    let conditions = object.pointer_mut("/status/conditions").and_then(Value::as_array_mut);
    if let Some(list) = conditions {
        list.sort_by_key(|condition| condition["type"].to_string());
        list.iter_mut().for_each(created);
    }
    let owners = object.pointer_mut("/metadata/ownerReferences").and_then(Value::as_array_mut);
    for owner in owners.into_iter().flatten().filter_map(Value::as_object_mut) {
        owner.retain(|field, _| ["apiVersion", "kind", "name"].contains(&field.as_str()));
    }
    object
}

/// `plan` and `explain` say the same of the folder, the cluster and the running operator.
fn commands_agree(world: &World<Alone>, folder: &str, name: &str, url: &str) -> Result<()> {
    let kube = |arguments: &[&str]| in_cluster(world, arguments);
    let at_rest = kube(&["plan", "--kube"])?;
    ensure!(said(&at_rest) == (Some(0), "No changes.\n".to_owned()), "{at_rest:?}");
    let (directory, changed) = (example(folder).display().to_string(), changed_copy(folder)?);
    let offline = stories(&run(&["explain", name, &directory, "-o", "json"])?)?;
    ensure!(stories(&kube(&["explain", name, "--kube", "-o", "json"])?)? == offline, "{offline}");
    // Without a class nobody here answers, so there is no answer to follow further.
    let running = stories(&run(&["explain", name, "--url", url, "-o", "json"])?)?;
    ensure!(running[0] == offline[0], "{running} {offline}");
    let same = kube(&["plan", &directory, "--kube"])?;
    ensure!(said(&same) == (Some(0), "No changes.\n".to_owned()), "{same:?}");
    let different = kube(&["plan", &changed.path().display().to_string(), "--kube"])?;
    let (code, text) = said(&different);
    ensure!(code == Some(2) && text.contains("added-by-hand"), "{different:?}");
    let running = run(&["plan", "--url", url, "-o", "json"])?;
    let running: Value = serde_json::from_slice(&running.stdout)?;
    let printed = run(&["plan", &directory, "-o", "json"])?;
    let printed: Value = serde_json::from_slice(&printed.stdout)?;
    ensure!(identities(&running["children"]) == identities(&printed["children"]), "{running}");
    Ok(())
}

/// A copy of an example with a record more.
fn changed_copy(folder: &str) -> Result<Folder> {
    let copy = Folder::copy_of(folder)?;
    copy.write(
        "more.yaml",
        "{apiVersion: kubi.zone/v1alpha1, kind: Zone, metadata: {name: added-by-hand, namespace: dns}, \
         spec: {domainName: added-by-hand.example.}}\n",
    )?;
    Ok(copy)
}

fn in_cluster(world: &World<Alone>, arguments: &[&str]) -> Result<Output> {
    let mut command = Command::new(fingerpost()?);
    Ok(command.args(arguments).env("KUBECONFIG", world.cluster.kubeconfig("admin")?).output()?)
}

fn said(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Where the records of a name come from; there must be some.
fn stories(output: &Output) -> Result<Value> {
    let explanation: Value = serde_json::from_slice(&output.stdout).with_context(|| format!("{output:?}"))?;
    ensure!(explanation["stories"][0]["makers"][0].is_object(), "nobody made it: {explanation}");
    let mut stories = explanation["stories"].clone();
    stories.as_array_mut().into_iter().flatten().for_each(|story| drop(story["deliveries"].take()));
    without_locations(&mut stories);
    Ok(stories)
}

/// Only a folder has files, so only there an object has a place in one.
fn without_locations(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("location");
            fields.values_mut().for_each(without_locations);
        }
        Value::Array(items) => items.iter_mut().for_each(without_locations),
        _ => {}
    }
}

/// The answers in each view of an explanation; there must be some.
fn answers(output: &Output) -> Result<Vec<Value>> {
    let explanation: Value = serde_json::from_slice(&output.stdout).with_context(|| format!("{output:?}"))?;
    let views = explanation["views"].as_array().cloned().unwrap_or_default();
    ensure!(!views.is_empty(), "no view: {explanation}");
    Ok(views.iter().map(|view| json!([view["view"], view["rcode"], view["answer"]])).collect())
}

fn identities(objects: &Value) -> Vec<Value> {
    let identity = |object: &Value| {
        let (manifest, metadata) = (&object["manifest"], &object["manifest"]["metadata"]);
        json!([manifest["kind"], metadata["namespace"], metadata["name"], manifest["spec"]])
    };
    let mut all: Vec<Value> = objects.as_array().into_iter().flatten().map(identity).collect();
    all.sort_by_key(Value::to_string);
    all
}
