//! `check`: what is refused, what is only a warning, and where.

use rstest::rstest;

use crate::fingerpost;
use crate::folder::{Folder, IDENTITY, ZONE, record};

const CONFIGURATION: &str = "\
apiVersion: cluster.router.io/v1alpha1
kind: DNSConfiguration
metadata: {name: dns-config}
spec: {externalDNSControllers: [{name: external-dns-weu, region: weu}]}
";

#[rstest]
#[case(&["examples/quickstart"], "good: 10 objects, 0 errors, 0 warnings\n")]
#[case(&["weu=examples/regions/weu", "neu=examples/regions/neu"], "good: 16 objects, 0 errors, ")]
#[case(&["examples/kuadrant"], "good: 6 objects, 0 errors, 0 warnings\n")]
#[case(&["examples/zones"], "good: 12 objects, 0 errors, 1 warning\n")]
fn good_examples_are_good(#[case] folders: &[&str], #[case] summary: &str) {
    let run = fingerpost(&[&["check"], folders].concat());
    assert_eq!(run.code, 0, "{}", run.stdout);
    assert!(run.stdout.contains(summary), "{}", run.stdout);
}

#[test]
fn a_missing_reference_is_a_warning() {
    let policy = "apiVersion: routing.router.io/v1alpha1\nkind: DNSPolicy\nmetadata: {name: p, namespace: shop}\nspec: {mode: Active}\n";
    let route = "apiVersion: routing.router.io/v1alpha1\nkind: ServiceRoute\nmetadata: {name: web, namespace: shop}\n\
                 spec: {serviceName: web, gatewayName: missing, environment: prod, application: shop}\n";
    let files = [("c.yaml", CONFIGURATION), ("i.yaml", IDENTITY), ("p.yaml", policy), ("r.yaml", route)];
    let run = fingerpost(&["check", Folder::with(&files).argument()]);
    assert_eq!(run.code, 0, "{}", run.stdout);
    assert!(run.stdout.contains("r.yaml:1:1: warning: ServiceRoute shop/web: "), "{}", run.stdout);
    assert!(run.stdout.contains("missing"), "{}", run.stdout);
}

#[test]
fn an_adopted_region_that_nobody_serves_is_refused_where_the_configuration_is_there() {
    let identity = IDENTITY.replace("region: weu", "region: weu, adoptsRegions: [frc]");
    let alone = fingerpost(&["check", Folder::with(&[("i.yaml", &identity)]).argument()]);
    assert_eq!(alone.code, 0, "{}", alone.stdout);
    let both = Folder::with(&[("i.yaml", &identity), ("c.yaml", CONFIGURATION)]);
    let run = fingerpost(&["check", both.argument()]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    assert!(run.stdout.contains("i.yaml:1:1: error: ClusterIdentity cluster-identity: "), "{}", run.stdout);
}

#[test]
fn names_that_look_like_booleans_are_names() {
    let zone =
        "apiVersion: kubi.zone/v1alpha1\nkind: Zone\nmetadata: {name: y, namespace: n}\nspec: {surplus: 1}\n";
    let run = fingerpost(&["check", Folder::with(&[("zone.yaml", zone)]).argument()]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    assert!(run.stdout.contains("error: Zone n/y: spec.surplus: unknown field"), "{}", run.stdout);
}

#[test]
fn control_characters_do_not_reach_the_terminal() {
    let zone = "apiVersion: kubi.zone/v1alpha1\nkind: Zone\nmetadata: {name: z, namespace: dns}\n\
                spec: {domainName: \"exa\\e[31mmple.org\"}\n";
    let run = fingerpost(&["check", Folder::with(&[("zone.yaml", zone)]).argument()]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    assert!(!run.stdout.contains('\u{1b}'), "{:?}", run.stdout);
    assert!(run.stdout.contains("`exa\\u{1b}[31mmple.org` is not a domain name"), "{}", run.stdout);
}

#[test]
fn findings_are_data_too() {
    let folder = Folder::with(&[("zone.yaml", ZONE), ("www.yaml", &record("www", "nowhere"))]);
    let run = fingerpost(&["check", "-o", "json", folder.argument()]);
    assert_eq!(run.code, 1);
    let findings: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(findings[0]["severity"], "error");
    assert_eq!(findings[0]["object"], "Record dns/www");
    assert_eq!(findings[0]["line"], 2);
}
