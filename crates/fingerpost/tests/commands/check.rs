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
#[case(&["examples/quickstart"], "good: 13 objects, 0 errors, 0 warnings\n")]
#[case(&["weu=examples/regions/weu", "neu=examples/regions/neu"], "good: 22 objects, 0 errors, ")]
#[case(&["examples/kuadrant"], "good: 7 objects, 0 errors, 0 warnings\n")]
#[case(&["examples/zones"], "good: 15 objects, 0 errors, 1 warning\n")]
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
    let named = "apiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: {name: \"a\\e[31m\", namespace: \"n\\e[31m\"}\n\
                 spec: {domainName: www.example.org, type: A, rdata: nowhere}\n";
    let run = fingerpost(&["check", Folder::with(&[("a\u{1b}[31m\n.yaml", named)]).argument()]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    assert!(!run.stdout.contains('\u{1b}'), "{:?}", run.stdout);
    assert!(
        run.stdout.contains("a\\u{1b}[31m\\n.yaml:1:1: error: Record n\\u{1b}[31m/a\\u{1b}[31m: "),
        "{}",
        run.stdout
    );
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

#[test]
fn an_empty_file_is_a_warning() {
    let folder = Folder::with(&[("a.yaml", ""), ("b.yaml", "# later\n"), ("zone.yaml", ZONE)]);
    let run = fingerpost(&["check", folder.argument()]);
    assert_eq!(run.code, 0, "{}", run.stdout);
    assert!(run.stdout.contains("a.yaml: warning: empty: it declares no object"), "{}", run.stdout);
    assert!(run.stdout.contains("b.yaml: warning: empty: it declares no object"), "{}", run.stdout);
}

#[test]
fn an_empty_zone_file_is_an_error() {
    let run = fingerpost(&["check", Folder::with(&[("example.org.zone", "; nothing\n")]).argument()]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    assert!(run.stdout.contains("example.org.zone:1:1: error: empty: it holds no zone"), "{}", run.stdout);
}

#[test]
fn a_hostile_folder_is_checked_within_bounds() {
    let bomb: String = (1..9)
        .map(|level| format!("a{level}: &a{level} [{}]\n", vec![format!("*a{}", level - 1); 10].join(", ")))
        .collect();
    let bomb = format!("---\na0: &a0 [x, x, x, x]\n{bomb}").repeat(20);
    let folder = Folder::with(&[("bomb.yaml", &bomb), ("zone.yaml", ZONE)]);
    std::os::unix::fs::symlink("/", folder.path().join("root")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("zero.yaml")).unwrap();
    let run = fingerpost(&["check", folder.argument()]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    for expected in [
        "bomb.yaml:5:",
        "error: the document is refused: its aliases expand to too much",
        "root: warning: a link that leads out of the folder",
        "zero.yaml: error: it cannot be read (its link leads out of the folder",
        "refused: 1 object, 2 errors, 1 warning",
    ] {
        assert!(run.stdout.contains(expected), "{expected} in\n{}", run.stdout);
    }
}

#[rstest]
#[case::server("server: 'https://admin:s3cret@dns.example.org'")]
#[case::at_sign("server: 'https://admin:pa@s3cret@dns.example.org'")]
#[case::blank("server: 'https://admin:pa s3cret@dns.example.org'")]
#[case::no_scheme("server: 'admin:s3cret@dns.example.org'")]
#[case::wrong_type("server: ['https://admin:s3cret@dns.example.org']")]
#[case::powerdns("powerdns: {url: 'http://admin:s3cret@pdns:8081'}")]
#[case::external_dns("externalDNSWebhook: {url: 'http://admin:s3cret@hook:8888'}")]
#[case::rfc2136("rfc2136: {server: 'admin:s3cret@ns1.example.org:53'}")]
#[case::unknown_field("sever: 'https://admin:s3cret@dns.example.org'")]
fn a_password_in_a_url_is_not_repeated(#[case] spec: &str) {
    let class = format!(
        "apiVersion: dns.homelab.mortenolsen.pro/v1alpha1\nkind: DNSClass\nmetadata: {{name: c}}\nspec: {{{spec}}}\n"
    );
    let folder = Folder::with(&[("class.yaml", &class)]);
    for arguments in [&["check", folder.argument()][..], &["plan", folder.argument()]] {
        let run = fingerpost(arguments);
        let all = format!("{}{}", run.stdout, run.stderr);
        assert!(all.contains("class.yaml") || all.contains("DNSClass"), "{all}");
        assert!(!all.contains("s3cret"), "{all}");
    }
    let run = fingerpost(&["check", folder.argument()]);
    assert_eq!(run.code, 1, "{}", run.stdout);
}

#[rstest]
#[case::http("http: {url: 'https://admin:s3cret@w.example.org/doc'}")]
#[case::etcd("etcd: {endpoints: ['https://admin:s3cret@e.example.org:2379']}")]
fn a_password_in_the_url_of_a_witness_is_not_repeated(#[case] witness: &str) {
    let placement = format!(
        "apiVersion: fingerpost.dev/v1alpha1\nkind: Placement\nmetadata: {{name: p, namespace: shop}}\n\
         spec: {{host: www.example.org, witness: {{{witness}}}}}\n"
    );
    let run = fingerpost(&["check", Folder::with(&[("p.yaml", &placement)]).argument()]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    assert!(!run.stdout.contains("s3cret"), "{}", run.stdout);
}

#[rstest]
#[case(&["plan", "--url", "http://admin:s3cret@127.0.0.1:1"])]
#[case(&["plan", "--url", "https://admin:s3cret@127.0.0.1:1"])]
#[case(&["plan", "examples/quickstart", "--against", "http://admin:s3cret@127.0.0.1:1"])]
#[case(&["plan", "http://admin:s3cret@127.0.0.1:1"])]
#[case(&["explain", "www.example.org", "--url", "http://admin:s3cret@127.0.0.1:1"])]
#[case(&["up", "examples/quickstart", "--resolver", "http://admin:s3cret@127.0.0.1:1"])]
#[case(&["up", "examples/quickstart", "--lookup-resolver", "http://admin:s3cret@127.0.0.1:1"])]
#[case(&["up", "examples/quickstart", "--dns", "http://admin:s3cret@127.0.0.1:1"])]
#[case(&["switchover", "shop/p", "--to", "a", "--url", "http://admin:s3cret@127.0.0.1:1"])]
fn a_password_in_an_argument_is_not_repeated(#[case] arguments: &[&str]) {
    let run = fingerpost(arguments);
    assert_ne!(run.code, 0, "{}", run.stdout);
    assert!(!run.stderr.contains("s3cret") && !run.stdout.contains("s3cret"), "{}{}", run.stdout, run.stderr);
}

#[test]
fn a_password_in_the_environment_is_not_shown_by_help() {
    let mut command = crate::command(&["provider", "--help"]);
    let output = command.env("FINGERPOST_PROVIDER_POWERDNS_URL", "http://admin:s3cret@h").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("FINGERPOST_PROVIDER_POWERDNS_URL=http://***@h"), "{text}");
}

const GRANT: &str = "\
apiVersion: v1
kind: Namespace
metadata: {name: payments, annotations: {fingerpost.dev/domains: 'shop.example, *.bad'}}
";

const UNGRANTED: &str = "\
apiVersion: fingerpost.dev/v1alpha1
kind: Placement
metadata: {name: www, namespace: other}
spec: {hostname: www.shop.example, mode: single-region, regions: [{name: weu, addresses: [192.0.2.1]}]}
";

#[test]
fn a_name_in_a_domain_of_another_namespace_is_refused_and_names_the_annotation() {
    let run = fingerpost(&["check", Folder::with(&[("n.yaml", GRANT), ("p.yaml", UNGRANTED)]).argument()]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    let refused = "p.yaml:1:1: error: Placement other/www: DomainNotGranted: www.shop.example lies in shop.example, which \
                   the annotation fingerpost.dev/domains grants to namespace payments and not to other";
    assert!(run.stdout.contains(refused), "{}", run.stdout);
    let warning =
        "n.yaml:1:1: warning: Namespace payments: InvalidDomain: annotation fingerpost.dev/domains: `*.bad`";
    assert!(run.stdout.contains(warning), "{}", run.stdout);
}

#[test]
fn every_name_needs_a_grant_where_grants_are_required() {
    let folder = Folder::with(&[("p.yaml", UNGRANTED)]);
    assert_eq!(fingerpost(&["check", folder.argument()]).code, 0);
    let refused = "DomainNotGranted: no domain grant and no delegation covers www.shop.example";
    for command in [&["check"][..], &["explain", "www.shop.example"]] {
        let run = fingerpost(&[command, &[folder.argument(), "--require-domain-grants"]].concat());
        let said = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(run.code != 0 && said.contains("no domain grant and no delegation covers"), "{}", run.stdout);
        assert!(command[0] != "check" || run.stdout.contains(refused), "{}", run.stdout);
    }
    let planned = fingerpost(&["plan", folder.argument(), "--require-domain-grants"]);
    assert!(planned.stdout.contains("DomainNotGranted"), "{}", planned.stdout);
    let granted = GRANT.replace("payments", "other");
    let run = fingerpost(&[
        "check",
        Folder::with(&[("n.yaml", &granted), ("p.yaml", UNGRANTED)]).argument(),
        "--require-domain-grants",
    ]);
    assert_eq!(run.code, 0, "{}", run.stdout);
}
