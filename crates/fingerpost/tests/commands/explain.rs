//! `explain`: answers, reasons and exit codes.

use rstest::rstest;

use crate::fingerpost;
use crate::folder::{Folder, ZONE, record};
use crate::running::{Running, eventually};

const QUICKSTART: &[&str] = &["examples/quickstart"];
const REGIONS: &[&str] = &["weu=examples/regions/weu", "neu=examples/regions/neu"];
const ZONES: &[&str] = &["examples/zones"];

#[rstest]
#[case(&["www.example.org"], QUICKSTART, "www.example.org. is an alias of web-ns-p-prod-shop.example.org.")]
#[case(&["www.example.org", "--type", "AAAA"], QUICKSTART, "2001:db8::10")]
#[case(&["example.org"], ZONES, "10 mail.example.net.")]
#[case(&["anything.shop.example.org"], ZONES, "anything.shop.example.org. matches `*.shop.example.org.` of Record shop/")]
#[case(&["web-ns-p-prod-shop.apps.example.com", "--view", "neu"], REGIONS, "198.51.100.10")]
#[case(&["web-ns-p-prod-shop.apps.example.com", "--client", "192.0.2.1"], REGIONS, "192.0.2.10")]
#[case(
    &["web-ns-p-prod-shop.apps.example.com", "--client", "192.0.2.1", "--view", "neu"],
    REGIONS,
    "in view neu: resolves"
)]
fn a_name_that_resolves_is_0_with_its_way(
    #[case] question: &[&str],
    #[case] folders: &[&str],
    #[case] part: &str,
) {
    let run = fingerpost(&[&["explain"], question, folders].concat());
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains(part), "{}", run.stdout);
}

#[rstest]
#[case(&["missing.example.org"], QUICKSTART, "missing.example.org. does not exist")]
#[case(&["www.example.com"], QUICKSTART, "www.example.com. is in none of the zones of this view")]
#[case(&["ns1.example.org", "--type", "MX"], QUICKSTART, "ns1.example.org. exists and has no MX records")]
#[case(&["host.partner.example.org"], ZONES, "host.partner.example.org. is below partner.example.org., which is delegated to ")]
fn a_name_that_does_not_resolve_is_2_with_the_reason(
    #[case] question: &[&str],
    #[case] folders: &[&str],
    #[case] part: &str,
) {
    let run = fingerpost(&[&["explain"], question, folders].concat());
    assert_eq!(run.code, 2, "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains(part), "{}", run.stdout);
}

/// Without a state directory and without `--owner` nothing is delivered.
#[test]
fn a_name_that_its_provider_is_known_not_to_have_is_2_and_its_head_has_no_good_word() {
    let class = "apiVersion: dns.homelab.mortenolsen.pro/v1alpha1\nkind: DNSClass\nmetadata: {name: edge}\n\
        spec: {powerdns: {url: 'https://pdns.example.net', apiKeySecretRef: {name: pdns, namespace: dns, key: key}}}\n";
    let www = "apiVersion: dns.homelab.mortenolsen.pro/v1alpha1\nkind: DNSRecord\nmetadata: {name: www, namespace: a}\n\
        spec: {type: A, domain: example.org, subdomain: www, values: [192.0.2.1], dnsClassRef: {name: edge}}\n";
    let folder = Folder::with(&[("class.yaml", class), ("www.yaml", www)]);
    let up = Running::start(&[folder.argument()]);
    up.wait_for("! DNSRecord a/www: InvalidConfiguration");
    let explain = |flags: &[&str]| {
        let url = up.url();
        fingerpost(&[&["explain", "www.example.org", "--url", &url], flags].concat())
    };
    let text = explain(&[]);
    let head = text.stdout.lines().next().unwrap();
    assert!(head.ends_with(": these records, which are not published there"), "{head}");
    let json: serde_json::Value = serde_json::from_str(&explain(&["-o", "json"]).stdout).unwrap();
    assert_eq!((&json["resolves"], &json["views"][0]["resolves"]), (&false.into(), &false.into()), "{json}");
    assert_eq!(json["views"][0]["outcome"], "notPublished");
    assert_eq!(text.code, 2, "{}", text.stdout);
    // Files do not say what the provider has.
    assert_eq!(fingerpost(&["explain", "www.example.org", folder.argument()]).code, 0);
}

#[rstest]
#[case("www.example.org", QUICKSTART, "made by Record dns/www")]
#[case("www.example.org", QUICKSTART, "made by ServiceRoute shop/web")]
#[case("www.example.org", QUICKSTART, "made by Gateway istio-system/default-gateway")]
#[case(
    "web-ns-p-prod-shop.apps.example.com",
    REGIONS,
    "made by ServiceRoute shop/web of cluster neu (examples/regions/neu/apps.yaml:"
)]
#[case(
    "console-ns-p-prod-admin.apps.example.com",
    REGIONS,
    "wanted by ServiceRoute admin/console of cluster neu"
)]
#[case("verification.example.org", ZONES, "wanted by Record web/not-allowed (examples/zones/web.yaml:")]
#[case("host-7.example.net", ZONES, "in the zone example.net., written in example.net.zone")]
#[case("missing.example.org", QUICKSTART, "nothing declares it: add a Record")]
#[case("www.example.museum", QUICKSTART, "no zone holds it: add a Zone")]
#[case("www.example.com", QUICKSTART, "did you mean www.example.org.?")]
fn the_objects_behind_a_name_are_shown(#[case] name: &str, #[case] folders: &[&str], #[case] part: &str) {
    let run = fingerpost(&[&["explain", name], folders].concat());
    assert!(run.stdout.contains(part), "{}", run.stdout);
}

#[test]
fn without_a_view_every_view_is_shown() {
    let run = fingerpost(&[&["explain", "web-ns-p-prod-shop.apps.example.com"], REGIONS].concat());
    for view in ["weu", "neu", "frc"] {
        assert!(run.stdout.contains(&format!("in view {view}: resolves")), "{}", run.stdout);
    }
}

#[test]
fn an_unknown_view_is_an_error_that_lists_the_views() {
    let run = fingerpost(&[&["explain", "www.example.org", "--view", "mars"], REGIONS].concat());
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains("there is no view `mars`; there are weu, neu, frc"), "{}", run.stderr);
}

#[test]
fn an_explanation_is_data_too() {
    let run = fingerpost(&[&["explain", "www.example.org", "-o", "json"], QUICKSTART].concat());
    let data: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    assert_eq!(data["views"][0]["resolves"], true);
    assert_eq!(data["views"][0]["answer"][2]["data"][0], "192.0.2.10");
}

#[test]
fn a_running_instance_says_where_its_objects_are_declared() {
    let up = Running::start(QUICKSTART);
    let url = up.url();
    let running = || fingerpost(&["explain", "www.example.org", "--url", &url]).stdout;
    let line = "made by Record dns/www (examples/quickstart/zone.yaml:";
    eventually(|| running().contains(line), running);
    assert_eq!(running(), fingerpost(&[&["explain", "www.example.org"], QUICKSTART].concat()).stdout);
}

#[rstest]
#[case::object("zone.yaml", "www.example.org", "correct Zone dns/example-org (")]
#[case::file("example.net.zone", "www.example.net", "correct zone file example.net.zone")]
fn nothing_is_said_of_the_names_of_a_zone_that_cannot_be_served(
    #[case] broken: &str,
    #[case] name: &str,
    #[case] advice: &str,
) {
    let zone_file = "@ 60 IN SOA ns host 1 2 3 4 5\n@ 60 IN NS ns\nwww 60 IN A 192.0.2.1\n";
    let folder = Folder::with(&[
        ("zone.yaml", ZONE),
        ("www.yaml", &record("www", "192.0.2.1")),
        ("example.net.zone", zone_file),
    ]);
    let text = std::fs::read_to_string(folder.path().join(broken)).unwrap();
    folder.write(broken, &text.replace("spec: {", "spec: {domianName: x, ").replace("NS ns", "NS"));
    let run = fingerpost(&["explain", name, folder.argument()]);
    assert_eq!(run.code, 2, "{}", run.stdout);
    assert!(run.stdout.contains("does not resolve (SERVFAIL)"), "{}", run.stdout);
    assert!(run.stdout.contains(advice) && !run.stdout.contains("nothing declares it"), "{}", run.stdout);
}
