//! What `plan --against` shows of each kind of change, in a world of 100 objects: as text, as Markdown and as data.

use rstest::rstest;

use crate::fingerpost;
use crate::folder::{Folder, ZONE, record};
use crate::golden::matches;

/// How many objects there are.
const OBJECTS: usize = 100;

/// What steers: a Placement of each mode, and a gateway with a policy.
const STEERED: &str = "\
apiVersion: fingerpost.dev/v1alpha1
kind: Placement
metadata: {name: pay, namespace: dns}
spec:
  hostname: pay.example.org
  mode: active-passive-warm
  healthCheck: {protocol: HTTPS, path: /ready, interval: 5s}
  regions: [{name: fsn, addresses: [192.0.2.10]}, {name: nbg, addresses: [192.0.2.11]}]
---
apiVersion: fingerpost.dev/v1alpha1
kind: Placement
metadata: {name: canary, namespace: dns}
spec:
  hostname: canary.example.org
  mode: weighted-canary
  regions: [{name: stable, addresses: [192.0.2.12], weight: 80}, {name: next, addresses: [192.0.2.13], weight: 20}]
---
apiVersion: fingerpost.dev/v1alpha1
kind: Placement
metadata: {name: near, namespace: dns}
spec:
  hostname: near.example.org
  mode: active-active
  routing: closest
  regions: [{name: weu, addresses: [192.0.2.14], geo: NL}, {name: eus, addresses: [192.0.2.15], geo: US}]
---
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: dublin, labels: {kuadrant.io/lb-attribute-GEO-country-code: IE}}
spec: {hubAcceptsClient: true}
---
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: cork, labels: {kuadrant.io/lb-attribute-GEO-country-code: IE}}
spec: {hubAcceptsClient: true}
---
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: iowa, labels: {kuadrant.io/lb-attribute-GEO-continent-code: NA}}
spec: {hubAcceptsClient: true}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: edge, namespace: dns}
spec: {gatewayClassName: multi-cluster, listeners: [{name: shop, hostname: shop.example.org, port: 80, protocol: HTTP}]}
status:
  addresses:
  - {type: kuadrant.io/MultiClusterIPAddress, value: dublin/192.0.2.16}
  - {type: kuadrant.io/MultiClusterIPAddress, value: cork/192.0.2.18}
  - {type: kuadrant.io/MultiClusterIPAddress, value: iowa/192.0.2.17}
---
apiVersion: kuadrant.io/v1alpha1
kind: DNSPolicy
metadata: {name: shop, namespace: dns}
spec: {targetRef: {name: edge}, loadBalancing: {weighted: {default: 10}, GEO: {default: IE}}}
";

/// Classes: one of our own server with a Placement of its clients, one of a provider with a record.
const CLASSES: &str = "\
apiVersion: dns.homelab.mortenolsen.pro/v1alpha1
kind: DNSClass
metadata: {name: inside}
spec: {embedded: {clients: [10.0.0.0/8], geo: {networks: [{cidr: 10.1.0.0/16, geo: IE}]}}}
---
apiVersion: dns.homelab.mortenolsen.pro/v1alpha1
kind: DNSClass
metadata: {name: edge}
spec: {powerdns: {url: 'https://pdns.example.net', apiKeySecretRef: {name: pdns, namespace: dns, key: key}}}
---
apiVersion: dns.homelab.mortenolsen.pro/v1alpha1
kind: DNSRecord
metadata: {name: shop, namespace: dns, annotations: {provider.fingerpost.dev/proxied: 'false'}}
spec: {type: A, domain: example.org, subdomain: shop, dnsClassRef: {name: edge}, values: [192.0.2.40]}
---
apiVersion: fingerpost.dev/v1alpha1
kind: Placement
metadata: {name: standby, namespace: dns}
spec:
  hostname: standby.example.org
  mode: active-hotstandby
  failback: Manual
  regions: [{name: fsn, addresses: [192.0.2.41]}, {name: nbg, addresses: [192.0.2.42]}]
";

fn records() -> String {
    let others = [STEERED, CLASSES].map(|text| text.matches("apiVersion:").count());
    (0..OBJECTS - others[0] - others[1] - 1)
        .map(|number| record(&format!("host-{number:02}"), "192.0.2.1"))
        .collect()
}

fn world() -> Folder {
    Folder::with(&[
        ("zone.yaml", ZONE),
        ("records.yaml", &records()),
        ("steered.yaml", STEERED),
        ("classes.yaml", CLASSES),
    ])
}

/// The world with one text in the place of another, which is there once.
fn changed(file: &str, from: &str, to: &str) -> Folder {
    let folder = world();
    let text = std::fs::read_to_string(folder.path().join(file)).unwrap();
    assert_eq!(text.matches(from).count(), 1, "{from}");
    folder.write(file, &text.replace(from, to));
    folder
}

/// Runs `plan` on files below the folder, so that paths in the output are the same everywhere.
fn plan(after: &Folder, before: &Folder, more: &[&str]) -> crate::Run {
    let arguments = [&["plan", after.argument(), "--against", before.argument()], DATE, more].concat();
    let mut run = fingerpost(&arguments);
    run.stdout = run.stdout.replace(after.argument(), "new");
    run
}

const DATE: &[&str] = &["--date", "2026-01-02"];
const HOST: &str = "domainName: host-07, zoneRef: {name: example-org}, type: A, rdata: 192.0.2.1}";

#[rstest]
#[case::data("data", "records.yaml", HOST, &HOST.replace("192.0.2.1}", "192.0.2.2}"), "192.0.2.1 → 192.0.2.2")]
#[case::ttl("ttl", "records.yaml", HOST, &HOST.replace("type: A", "ttl: 60, type: A"), "360 → 60")]
#[case::kind("type", "records.yaml", HOST, &HOST.replace("type: A, rdata: 192.0.2.1", "type: AAAA, rdata: '2001:db8::1'"), "AAAA")]
#[case::owner(
    "owner",
    "records.yaml",
    "{name: host-07, namespace: dns}",
    "{name: other, namespace: dns}",
    "Record dns/host-07 → Record dns/other"
)]
#[case::weight("weight", "steered.yaml", "weight: 80}", "weight: 50}", "weight of stable: 80 → 50")]
#[case::drained("drained", "steered.yaml", "weight: 20}", "weight: 0}", "weight of next: 20 → 0")]
#[case::policy_weight(
    "policy-weight",
    "steered.yaml",
    "weighted: {default: 10}",
    "weighted: {default: 30}",
    "10 → 30"
)]
#[case::place("place", "steered.yaml", "geo: US", "geo: CA", "place of eus: US → CA")]
#[case::country(
    "country",
    "steered.yaml",
    "{name: dublin, labels: {kuadrant.io/lb-attribute-GEO-country-code: IE}}",
    "{name: dublin, labels: {kuadrant.io/lb-attribute-GEO-country-code: GB}}",
    "GB"
)]
#[case::routing("routing", "steered.yaml", "  routing: closest\n", "", "the nearest that is up")]
#[case::mode(
    "mode",
    "steered.yaml",
    "mode: active-passive-warm",
    "mode: active-active",
    "the first that is up"
)]
#[case::order(
    "order",
    "steered.yaml",
    "[{name: fsn, addresses: [192.0.2.10]}, {name: nbg, addresses: [192.0.2.11]}]",
    "[{name: nbg, addresses: [192.0.2.11]}, {name: fsn, addresses: [192.0.2.10]}]",
    "fsn, nbg → the first that is up: nbg, fsn"
)]
#[case::region(
    "region",
    "steered.yaml",
    "addresses: [192.0.2.11]",
    "addresses: [192.0.2.91]",
    "targets of nbg: 192.0.2.11 → 192.0.2.91"
)]
#[case::check(
    "check",
    "steered.yaml",
    "path: /ready, interval: 5s",
    "path: /live, interval: 10s",
    "path /ready → /live, interval 5s → 10s"
)]
#[case::no_check(
    "no-check",
    "steered.yaml",
    "  healthCheck: {protocol: HTTPS, path: /ready, interval: 5s}\n",
    "",
    "→ none"
)]
#[case::soa(
    "soa",
    "zone.yaml",
    "domainName: example.org.",
    "domainName: example.org., refresh: 1234",
    "SOA: "
)]
#[case::class_url(
    "class-url",
    "classes.yaml",
    "pdns.example.net",
    "other.example.net",
    "spec.powerdns.url: https://pdns.example.net → https://other.example.net"
)]
#[case::class_geo("class-geo", "classes.yaml", "geo: IE", "geo: US", "networks[10.1.0.0/16].geo: IE → US")]
#[case::class_clients(
    "class-clients",
    "classes.yaml",
    "clients: [10.0.0.0/8]",
    "clients: [172.16.0.0/12]",
    "10.0.0.0/8 → 172.16.0.0/12"
)]
#[case::provider_setting(
    "provider-setting",
    "classes.yaml",
    "proxied: 'false'",
    "proxied: 'true'",
    "false → true"
)]
#[case::failback("failback", "classes.yaml", "failback: Manual", "failback: Automatic", "Manual → Automatic")]
fn each_kind_of_change_is_shown_with_its_old_and_new_value(
    #[case] name: &str,
    #[case] file: &str,
    #[case] from: &str,
    #[case] to: &str,
    #[case] shown: &str,
) {
    let (before, after) = (world(), changed(file, from, to));
    let text = plan(&after, &before, &[]);
    assert_eq!(text.code, 2, "{}{}", text.stdout, text.stderr);
    assert!(text.stdout.contains(shown), "{}", text.stdout);
    assert!(text.stdout.lines().count() <= 24, "{}", text.stdout);
    matches(&format!("change.{name}.text"), &text.stdout);
    matches(&format!("change.{name}.markdown"), &plan(&after, &before, &["-o", "markdown"]).stdout);
    let data = plan(&after, &before, &["-o", "json"]).stdout;
    let data: serde_json::Value = serde_json::from_str(&data).unwrap();
    let is_status = |one: &serde_json::Value| one.get("object").is_some();
    assert!(!data.as_array().unwrap().iter().any(is_status));
    matches(&format!("change.{name}.json"), &format!("{data:#}\n"));
}

#[test]
fn one_added_record_is_a_few_lines_and_one_summary() {
    let (before, after) = (world(), world());
    after.write("new.yaml", &record("new", "192.0.2.99"));
    let text = plan(&after, &before, &[]);
    assert_eq!(text.code, 2);
    assert!(text.stdout.lines().count() <= 12, "{}", text.stdout);
    assert!(text.stdout.ends_with("Plan: 1 to add, 0 to change, 0 to remove.\n"), "{}", text.stdout);
    matches("change.added.text", &text.stdout);
    matches("change.added.markdown", &plan(&after, &before, &["-o", "markdown"]).stdout);
    let status = plan(&after, &before, &["--show", "status"]).stdout;
    assert!(status.contains("Statuses:") && status.contains("+ Record dns/new"), "{status}");
    assert!(status.lines().count() < 30, "{status}");
    let removed = plan(&before, &after, &[]).stdout;
    assert!(removed.ends_with("Plan: 0 to add, 0 to change, 1 to remove.\n"), "{removed}");
    assert!(removed.contains("  - *  new.example.org.  360  A  192.0.2.99  Record dns/new\n"), "{removed}");
}

#[test]
fn json_and_yaml_carry_the_steering_and_the_owner_of_every_record_set() {
    let folder = world();
    let json = fingerpost(&[&["plan", folder.argument(), "-o", "json"], DATE].concat()).stdout;
    let plan: serde_json::Value = serde_json::from_str(&json).unwrap();
    let sets = plan["recordSets"].as_array().unwrap();
    assert!(sets.iter().all(|set| set["owners"][0]["name"].is_string()), "{json}");
    let pay = sets.iter().find(|set| set["name"] == "pay.example.org.").unwrap();
    assert_eq!(pay["owners"][0]["kind"], "Placement");
    assert_eq!(pay["steering"]["by"], "order");
    assert_eq!(pay["steering"]["choices"][0]["name"], "fsn");
    assert_eq!(pay["steering"]["choices"][0]["targets"][0]["healthCheck"]["path"], "/ready");
    let yaml = fingerpost(&[&["plan", folder.argument(), "-o", "yaml"], DATE].concat()).stdout;
    let comments: Vec<&str> = yaml.lines().filter_map(|line| line.strip_prefix("# ")).collect();
    let start = comments.iter().position(|line| *line == "recordSets:").unwrap();
    let read: serde_json::Value = serde_saphyr::from_str(&comments[start..].join("\n")).unwrap();
    assert_eq!(read["recordSets"], plan["recordSets"]);
}

/// Of 95 record sets some go.
#[rstest]
#[case("2", 2, 2)]
#[case("2", 3, 3)]
#[case("0", 1, 3)]
#[case("2%", 1, 2)]
#[case("2%", 2, 3)]
#[case("100%", 3, 2)]
fn more_deletions_than_permitted_have_an_exit_code_of_their_own(
    #[case] most: &str,
    #[case] removed: usize,
    #[case] code: i32,
) {
    let (before, after) = (world(), world());
    let kept = records();
    let kept = kept.split_inclusive("---\n").skip(1 + removed).collect::<String>();
    after.write("records.yaml", &kept);
    let run = plan(&after, &before, &["--max-deletes", most]);
    assert_eq!(run.code, code, "{}{}", run.stdout, run.stderr);
    assert!(
        run.stdout.ends_with(&format!("Plan: 0 to add, 0 to change, {removed} to remove.\n")),
        "{}",
        run.stdout
    );
    let refused = run.stderr.contains(&format!("would be removed, and --max-deletes permits {most}"));
    assert_eq!(refused, code == 3, "{}", run.stderr);
}

#[test]
fn a_broken_object_is_shown_as_broken_and_not_as_a_removal() {
    let (before, after) =
        (world(), changed("records.yaml", HOST, &HOST.replace("192.0.2.1}", "192.0.2.300}")));
    let text = plan(&after, &before, &[]);
    assert_eq!(text.code, 1, "{}{}", text.stdout, text.stderr);
    assert!(text.stdout.contains("! Record dns/host-07 (new/records.yaml:"), "{}", text.stdout);
    assert!(text.stdout.contains("still served: host-07.example.org. A 192.0.2.1"), "{}", text.stdout);
    assert!(text.stdout.ends_with("Plan: 0 to add, 0 to change, 0 to remove.\n"), "{}", text.stdout);
    matches("change.broken.text", &text.stdout);
    matches("change.broken.markdown", &plan(&after, &before, &["-o", "markdown"]).stdout);
    let data = plan(&after, &before, &["-o", "json"]).stdout;
    assert!(data.contains("\"broken\"") && data.contains("\"stillServed\""), "{data}");
    after.write("unreadable.yaml", "kind: [Zone\n");
    let text = plan(&after, &before, &[]);
    assert_eq!(text.code, 1);
    assert!(text.stdout.contains("! new/unreadable.yaml (new/unreadable.yaml:1:7)"), "{}", text.stdout);
    assert!(text.stdout.ends_with("Plan: 0 to add, 0 to change, 0 to remove.\n"), "{}", text.stdout);
}

#[test]
fn users_text_is_inert_in_markdown() {
    let (before, after) = (world(), world());
    let text = "'\"`|<img src=x>| [x](http://example.test) @admin\"'";
    after.write("new.yaml", &record("new", text).replace("type: A", "type: TXT"));
    let run = plan(&after, &before, &["-o", "markdown"]);
    assert_eq!(run.code, 2, "{}", run.stderr);
    assert!(!run.stdout.contains("<img") && !run.stdout.contains("@admin"), "{}", run.stdout);
    matches("change.inert.markdown", &run.stdout);
}

#[rstest]
#[case(&["-o", "markdown"])]
#[case(&["--max-deletes", "3"])]
#[case(&["--show", "status"])]
fn what_is_about_differences_needs_something_to_compare_with(#[case] arguments: &[&str]) {
    let run = fingerpost(&[&["plan", "examples/quickstart"], arguments].concat());
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("give --against or --kube with it"), "{}", run.stderr);
}

#[test]
fn a_cluster_that_is_gone_is_named_with_each_of_its_objects() {
    let (weu, neu) = ("weu=examples/regions/weu", "neu=examples/regions/neu");
    let run = fingerpost(&[&["plan", weu, "--against", weu, "--against", neu], DATE].concat());
    assert!(run.stdout.contains("  - neu Gateway istio-system/default-gateway\n"), "{}", run.stdout);
    assert!(!run.stdout.contains("- Gateway"), "{}", run.stdout);
}

#[test]
fn every_line_of_a_change_says_what_changes() {
    let (before, after) = ("a=examples/zones", "b=examples/zones");
    let run = fingerpost(&[&["plan", after, "--against", before], DATE].concat());
    let lines: Vec<&str> = run.stdout.lines().collect();
    let is_silent = |pair: &[&str]| {
        let has_details = pair.get(1).is_some_and(|next| next.starts_with("      "));
        pair[0].starts_with("  ~ ") && !pair[0].contains('→') && !has_details
    };
    assert_eq!(lines.windows(2).find(|pair| is_silent(pair)), None, "{}", run.stdout);
    assert!(run.stdout.contains("a Record") && run.stdout.contains("→ b Record"), "{}", run.stdout);
}

#[test]
fn a_comment_on_a_pull_request_is_no_longer_than_github_takes() {
    let (before, after) = (world(), world());
    let text = "x".repeat(200);
    let many: String = (0..600)
        .map(|number| record(&format!("n-{number}"), &text).replace("type: A", "type: TXT"))
        .collect();
    after.write("many.yaml", &many);
    let comment = plan(&after, &before, &["-o", "markdown", "--show", "status"]).stdout;
    assert!(comment.len() < 65_536, "{}", comment.len());
    assert!(
        comment.contains("**Plan: 600 to add") && comment.contains("more: `-o text` has all of them."),
        "{comment}"
    );
    assert!(comment.contains("#### Statuses"), "{comment}");
}
