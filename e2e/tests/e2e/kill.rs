//! The kill harness itself, on small shell scripts that play the operator: it lets those pass that
//! recover, and finds those that do not.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;
use e2e::{Cluster, Process, Scenario, Step};

/// The script's only child of its own name.
const CHILD: &str = "{apiVersion: externaldns.k8s.io/v1alpha1, kind: DNSEndpoint, \
    metadata: {namespace: kill, name: NAME}, spec: {endpoints: []}}";

/// A zone, so that there is something to delete.
const ZONE: &str = "{apiVersion: kubi.zone/v1alpha1, kind: Zone, \
    metadata: {namespace: kill, name: z}, spec: {domainName: example.org.}}";

#[test]
fn a_process_that_applies_what_is_missing_recovers_from_every_kill() -> Result<()> {
    let cluster = Cluster::alone()?;
    let script = format!("echo '{}' | kubectl apply --server-side -f -\n{}", child("a"), applies("b"));
    let steps = vec![Step::Apply(ZONE.to_owned()), Step::Delete(ZONE.to_owned())];
    let kills = play(&cluster, &script, steps)?;
    assert_eq!((kills.writes.len(), kills.points, kills.unreached), (2, 4, 0), "{kills:?}");
    assert!(
        kills.writes[0].starts_with("PATCH ") && kills.writes[0].contains("/kill/dnsendpoints/a"),
        "{kills:?}"
    );
    Ok(())
}

#[test]
fn a_process_that_trusts_its_own_mark_is_found_out() -> Result<()> {
    let cluster = Cluster::alone()?;
    let script =
        format!("kubectl get dnsendpoint -n kill mark || {{ {}\n{}; }}", applies("mark"), applies("child"));
    let error = format!("{:#}", play(&cluster, &script, Vec::new()).unwrap_err());
    assert!(error.contains("killed After write 0") && error.contains("kill/child"), "{error}");
    Ok(())
}

fn child(name: &str) -> String {
    CHILD.replace("NAME", name)
}

fn applies(name: &str) -> String {
    format!("echo '{}' | kubectl apply --server-side -f -", child(name))
}

fn play(cluster: &Cluster, script: &str, steps: Vec<Step>) -> Result<e2e::Kills> {
    cluster.ensure_namespace("kill")?;
    let kubectl = cluster.kubectl_command("admin")?.get_program().to_owned();
    let start = |kubeconfig: &Path| {
        let mut command = Command::new("sh");
        let function = format!("kubectl() {{ '{}' \"$@\"; }}", kubectl.display());
        command.args(["-c", &format!("{function}\n{script}\nexec sleep 1000")]);
        command.env("KUBECONFIG", kubeconfig).env("HOME", cluster.folder());
        Process::start("the script", &command)
    };
    let (before, patience) = (String::new(), Duration::from_secs(10));
    let scenario =
        Scenario { name: "script", cluster, user: "admin", before, steps, start: &start, patience };
    scenario.kill_at_every_write()
}
