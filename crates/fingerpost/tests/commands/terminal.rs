//! What users write in manifests and in names of files has no control characters on a terminal.

use rstest::rstest;

use crate::fingerpost;
use crate::folder::{Folder, ZONE};
use crate::running::Running;

/// A name that turns the terminal red, and one that begins a new line; in YAML's escapes.
const RED: &str = r"red\e[31m";
const LINE: &str = r"line\nwww 60 IN A 192.0.2.66";

/// Objects in force whose names and texts have control characters: in a folder a name may hold anything.
fn world() -> Folder {
    let class = |name: &str| {
        format!(
            "---\napiVersion: dns.homelab.mortenolsen.pro/v1alpha1\nkind: DNSClass\nmetadata: {{name: \"{name}\"}}\n\
             spec: {{embedded: {{}}}}\n"
        )
    };
    let record = |name: &str, domain: &str, target: &str| {
        format!(
            "---\napiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {{name: \"{name}\", namespace: dns}}\n\
             spec: {{domainName: {domain}, zoneRef: {{name: example-org}}, type: TXT, rdata: '\"{target}\"'}}\n"
        )
    };
    let records = record(RED, "red", RED) + &record(LINE, "line", "plain") + &record(RED, "lost", RED);
    let classes = class(RED) + &class(LINE);
    let steered = format!(
        "apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {{name: edge, namespace: dns}}\n\
         spec: {{gatewayClassName: multi-cluster, listeners: [{{name: shop, hostname: shop.example.org, port: 80, \
         protocol: HTTP}}]}}\nstatus: {{addresses: [{{type: kuadrant.io/MultiClusterIPAddress, value: \"{RED}/192.0.2.16\"}}, \
         {{type: kuadrant.io/MultiClusterIPAddress, value: \"b/192.0.2.17\"}}]}}\n---\n\
         apiVersion: kuadrant.io/v1alpha1\nkind: DNSPolicy\nmetadata: {{name: \"{RED}\", namespace: dns}}\n\
         spec: {{targetRef: {{name: edge}}, loadBalancing: {{weighted: {{default: 10}}}}}}\n"
    );
    Folder::with(&[
        ("zone.yaml", ZONE),
        ("records.yaml", &records),
        ("classes.yaml", &classes),
        ("steered.yaml", &steered),
        ("broken\u{1b}[31m.yaml", "kind: [Zone\n"),
        ("example.net\u{1b}[31m.zone", "@ 60 IN SOA ns host 1 2 3 4 5\n@ 60 IN NS\n"),
    ])
}

#[rstest]
#[case::plan(&["plan", "NEW"])]
#[case::differences(&["plan", "NEW", "--against", "OLD", "--show", "status"])]
#[case::gone(&["plan", "OLD", "--against", "OLD", "--show", "status"])]
#[case::markdown(&["plan", "NEW", "--against", "OLD", "--show", "status", "-o", "markdown"])]
#[case::yaml(&["plan", "NEW", "-o", "yaml"])]
#[case::json(&["plan", "NEW", "-o", "json"])]
#[case::zone(&["plan", "NEW", "-o", "zone"])]
#[case::check(&["check", "NEW"])]
#[case::record(&["explain", "red.example.org", "NEW"])]
#[case::steered(&["explain", "shop.example.org", "NEW"])]
#[case::nothing(&["explain", "nothing.example.org", "NEW"])]
#[case::no_view(&["explain", "red.example.org", "--view", "\u{1b}[31m", "NEW"])]
fn what_users_write_does_not_steer_the_terminal(#[case] arguments: &[&str]) {
    let (old, new) = (Folder::with(&[("zone.yaml", ZONE)]), world());
    let path = |argument: &&str| match *argument {
        "NEW" => new.argument().to_owned(),
        "OLD" => old.argument().to_owned(),
        other => other.to_owned(),
    };
    let arguments: Vec<String> = arguments.iter().map(path).collect();
    let run = fingerpost(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
    for text in [&run.stdout, &run.stderr] {
        is_inert(text);
    }
    assert!(!run.stdout.is_empty() || !run.stderr.is_empty());
}

fn is_inert(text: &str) {
    let steers = |line: &&str| line.contains(char::is_control);
    assert_eq!(text.lines().find(steers), None);
    assert!(!text.lines().any(|line| line.starts_with("www 60 IN A")), "{text}");
}

#[test]
fn nor_does_it_where_it_changes_while_up_runs() {
    let (folder, rest) = (Folder::with(&[("zone.yaml", ZONE)]), world());
    let up = Running::start(&[folder.argument()]);
    for file in ["records.yaml", "classes.yaml", "steered.yaml"] {
        folder.write(file, &std::fs::read_to_string(rest.path().join(file)).unwrap());
    }
    up.wait_for("www 60 IN A 192.0.2.66 is answered on");
    up.wait_for("+ red.example.org.");
    for file in ["records.yaml", "classes.yaml"] {
        std::fs::remove_file(folder.path().join(file)).unwrap();
    }
    up.wait_for("www 60 IN A 192.0.2.66 is gone");
    up.wait_for("- red.example.org.");
    is_inert(&up.output());
}
