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
    assert!(run.stdout.contains("i.yaml:4:37: error: ClusterIdentity cluster-identity: "), "{}", run.stdout);
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
        run.stdout.contains("a\\u{1b}[31m\\n.yaml:4:53: error: Record n\\u{1b}[31m/a\\u{1b}[31m: "),
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
    assert_eq!(findings[0]["line"], 5);
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
        "n.yaml:3:66: warning: Namespace payments: InvalidDomain: annotation fingerpost.dev/domains: `*.bad`";
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

const CLASS: &str = "\
apiVersion: dns.homelab.mortenolsen.pro/v1alpha1
kind: DNSClass
metadata: {name: edge}
spec:
  powerdns:
    url: http://127.0.0.1:8081
    apiKeySecretRef: {name: pdns, key: api-key}
";

const SECRET: &str = "\
apiVersion: v1
kind: Secret
metadata: {name: pdns, namespace: dns}
stringData: {api-key: s3cret}
";

#[test]
fn a_class_on_loopback_is_judged_as_up_judges_it() {
    let folder = Folder::with(&[("class.yaml", CLASS), ("secret.yaml", SECRET)]);
    let run = fingerpost(&["check", folder.argument()]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "good: 1 object, 0 errors, 0 warnings\n"));
    let run = fingerpost(&["check", "--dns", "0.0.0.0:53", folder.argument()]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    let refused = "class.yaml:6:10: error: DNSClass edge: spec.powerdns.url: `http://127.0.0.1:8081` leads to 127.0.0.1";
    assert!(run.stdout.contains(refused), "{}", run.stdout);
    let allowed = ["check", "--dns", "0.0.0.0:53", "--allow-target", "127.0.0.0/8", folder.argument()];
    assert_eq!(fingerpost(&allowed).code, 0);
    let run = fingerpost(&[
        "check",
        Folder::with(&[("c.yaml", &CLASS.replace("127.0.0.1", "169.254.169.254"))]).argument(),
    ]);
    assert_eq!(run.code, 1, "only loopback is allowed: {}", run.stdout);
}

#[test]
fn a_missing_secret_and_a_missing_key_are_warnings() {
    let folder = Folder::with(&[("class.yaml", CLASS)]);
    let run = fingerpost(&["check", folder.argument()]);
    let warning = "class.yaml:7:22: warning: DNSClass edge: SecretNotFound: spec.powerdns.apiKeySecretRef: the Secret pdns is \
                   not there: declare it in the folders, put it into --secrets DIR, or apply it to the cluster first";
    assert!(run.code == 0 && run.stdout.contains(warning), "{}", run.stdout);
    folder.write("secret.yaml", &SECRET.replace("api-key", "apikey"));
    let run = fingerpost(&["check", folder.argument()]);
    let warning = "spec.powerdns.apiKeySecretRef: the Secret pdns has no key api-key; its keys are: apikey";
    assert!(run.code == 0 && run.stdout.contains(warning), "{}", run.stdout);
    assert!(!run.stdout.contains("s3cret"), "{}", run.stdout);
    let of_another = "namespace: dns, annotations: {fingerpost.dev/allow-dnsclass: other}";
    folder.write("secret.yaml", &SECRET.replace("namespace: dns", of_another));
    let run = fingerpost(&["check", folder.argument()]);
    assert!(run.stdout.contains("annotate it with fingerpost.dev/allow-dnsclass: edge"), "{}", run.stdout);
    let files = Folder::with(&[]);
    std::fs::create_dir(files.path().join("pdns")).unwrap();
    std::fs::write(files.path().join("pdns/api-key"), "s3cret").unwrap();
    std::fs::remove_file(folder.path().join("secret.yaml")).unwrap();
    let run = fingerpost(&["check", "--secrets", files.argument(), folder.argument()]);
    assert!(run.stdout.contains("0 warnings"), "{}", run.stdout);
}

#[test]
fn strict_makes_warnings_errors() {
    let folder = Folder::with(&[("class.yaml", CLASS)]);
    assert_eq!(fingerpost(&["check", folder.argument()]).code, 0);
    let run = fingerpost(&["check", "--strict", folder.argument()]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    assert!(run.stdout.ends_with("refused: 1 object, 0 errors, 1 warning\n"), "{}", run.stdout);
    folder.write("secret.yaml", SECRET);
    assert_eq!(fingerpost(&["check", "--strict", folder.argument()]).code, 0);
}

/// Runs `check` with a text on standard input.
fn check_input(arguments: &[&str], text: &str) -> (i32, String) {
    use std::io::Write;
    use std::process::Stdio;
    let mut command = crate::command(&[&["check"], arguments].concat());
    let mut child =
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(text).unwrap())
}

#[test]
fn standard_input_is_checked_with_line_and_column() {
    let text = format!("{ZONE}{}", record("www", "nowhere"));
    let (code, said) = check_input(&["-"], &text);
    assert_eq!(code, 1, "{said}");
    assert!(
        said.contains("<stdin>:9:71: error: Record dns/www: spec.rdata: `nowhere` is not A data"),
        "{said}"
    );
    assert_eq!(check_input(&["-"], ZONE), (0, "good: 1 object, 0 errors, 0 warnings\n".to_owned()));
    let (code, said) = check_input(&["-"], "kind: [\n");
    assert!(code == 1 && said.contains("<stdin>:") && said.contains("error"), "{said}");
    let (code, said) = check_input(&["-"], "");
    assert!(code == 0 && said.contains("<stdin>: warning: empty"), "{said}");
    // What is piped in stands beside folders.
    let folder = Folder::with(&[("zone.yaml", ZONE)]);
    let (code, said) = check_input(&["-", folder.argument()], &record("www", "192.0.2.1"));
    assert!(code == 0 && said.contains("good: 2 objects, 0 errors, 0 warnings"), "{said}");
}

#[test]
fn single_files_are_checked() {
    let other = record("other", "nowhere");
    let folder = Folder::with(&[
        ("zone.yaml", ZONE),
        ("www.yaml", &record("www", "192.0.2.1")),
        ("other.yaml", &other),
    ]);
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let run = fingerpost(&["check", &file("zone.yaml"), &file("www.yaml")]);
    assert_eq!(
        (run.code, run.stdout.as_str()),
        (0, "good: 2 objects, 0 errors, 0 warnings\n"),
        "the third is not read"
    );
    let run = fingerpost(&["check", &file("other.yaml")]);
    assert!(run.code == 1 && run.stdout.contains(&format!("{}:5:", file("other.yaml"))), "{}", run.stdout);
    folder.write("example.net.zone", "@ 300 IN SOA ns noc 1 1 1 1 1\n@ 300 IN NS ns\nwww 300 IN A nowhere\n");
    let run = fingerpost(&["check", &file("example.net.zone")]);
    assert!(run.code == 1 && run.stdout.contains("example.net.zone:3:14: error"), "{}", run.stdout);
    let run = fingerpost(&["check", &file("missing.yaml")]);
    assert!(run.code == 1 && run.stderr.contains("there is no folder or file"), "{}", run.stderr);
}

#[test]
fn a_validation_error_points_at_its_field() {
    let placement = "\
# a comment
---
apiVersion: fingerpost.dev/v1alpha1
kind: Placement
metadata:
  name: app
  namespace: shop
spec:
  hostname: app.example.org
  mode: active-active
  regions:
    - name: weu
      addresses: [192.0.2.1]
    - name: neu
      addresses:
        - 192.0.2.2
        - nowhere
  healthCheck: {expectedCodes: [many]}
";
    let run = fingerpost(&["check", Folder::with(&[("p.yaml", placement)]).argument()]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    for expected in [
        "p.yaml:17:11: error: Placement shop/app: spec.regions[1].addresses[1]: `nowhere` is not an address",
        "p.yaml:18:33: error: Placement shop/app: spec.healthCheck.expectedCodes[0]: `many`",
    ] {
        assert!(run.stdout.contains(expected), "{expected} in\n{}", run.stdout);
    }
    let list = format!(
        "apiVersion: v1\nkind: List\nitems:\n- {}",
        ZONE.replace('\n', "\n  ").replace("example.org.", "a..b")
    );
    let run = fingerpost(&["check", Folder::with(&[("list.yaml", &list)]).argument()]);
    assert!(
        run.stdout.contains("list.yaml:7:22: error: Zone dns/example-org: spec.domainName: "),
        "{}",
        run.stdout
    );
}

/// A manifest with one mistake, on a line of its own.
#[rstest]
#[case::identity(
    "cluster.router.io/v1alpha1",
    "ClusterIdentity",
    "region: weu\n  cluster: a\n  domain: -bad-\n  environmentLetter: p",
    "7:11: error: ClusterIdentity x: spec.domain: "
)]
#[case::configuration(
    "cluster.router.io/v1alpha1",
    "DNSConfiguration",
    "externalDNSControllers:\n  - name: Ext\n    region: weu",
    "6:11: error: DNSConfiguration x: spec.externalDNSControllers[0].name: "
)]
#[case::gateway(
    "routing.router.io/v1alpha1",
    "Gateway",
    "controller: ingress\n  credentialName: tls\n  targetPostfix: a b",
    "7:18: error: Gateway ns/x: spec.targetPostfix: "
)]
#[case::policy(
    "routing.router.io/v1alpha1",
    "DNSPolicy",
    "mode: RegionBound",
    "4:1: error: DNSPolicy ns/x: spec.sourceRegion: "
)]
#[case::route(
    "routing.router.io/v1alpha1",
    "ServiceRoute",
    "serviceName: x y\n  gatewayName: g\n  gatewayNamespace: a\n  environment: prod\n  application: shop",
    "5:16: error: ServiceRoute ns/x: spec.serviceName: "
)]
#[case::gateway_policy(
    "kuadrant.io/v1alpha1",
    "DNSPolicy",
    "targetRef: {name: edge}\n  loadBalancing:\n    weighted:\n      default: -1",
    "8:16: error: DNSPolicy ns/x: spec.loadBalancing.weighted.default: "
)]
#[case::class(
    "dns.homelab.mortenolsen.pro/v1alpha1",
    "DNSClass",
    "embedded:\n    listen:\n    - 127.0.0.1:99999",
    "7:7: error: DNSClass x: spec.embedded.listen[0]: "
)]
#[case::record(
    "dns.homelab.mortenolsen.pro/v1alpha1",
    "DNSRecord",
    "type: A\n  domain: example.org\n  dnsClassRef: {name: c}\n  subdomain: d\n  values:\n  - 10.0.0.300",
    "10:5: error: DNSRecord ns/x: spec.values[0]: "
)]
#[case::zone(
    "kubi.zone/v1alpha1",
    "Zone",
    "domainName: example.org.\n  delegations:\n  - namespaces: [a]\n    records:\n    - pattern: '*'\n      types: [A, FOO]",
    "10:18: error: Zone ns/x: spec.delegations[0].records[0].types[1]: "
)]
#[case::zone_record(
    "kubi.zone/v1alpha1",
    "Record",
    "domainName: r\n  zoneRef: {name: z}\n  type: MX\n  rdata: mail",
    "8:10: error: Record ns/x: spec.rdata: "
)]
#[case::placement(
    "fingerpost.dev/v1alpha1",
    "Placement",
    "hostname: p.example.org\n  mode: single-region\n  regions:\n  - name: weu\n    addresses: [192.0.2.1]\n  healthCheck:\n    interval: 5x",
    "11:15: error: Placement ns/x: spec.healthCheck.interval: "
)]
#[case::endpoint_data(
    "externaldns.k8s.io/v1alpha1",
    "DNSEndpoint",
    "endpoints:\n  - dnsName: x.example.org\n    recordType: A\n    targets:\n    - 192.0.2.1\n    - nope",
    "10:7: error: DNSEndpoint ns/x: InvalidEndpoint: spec.endpoints[0].targets[1]: "
)]
#[case::endpoint_ttl_below(
    "externaldns.k8s.io/v1alpha1",
    "DNSEndpoint",
    "endpoints:\n  - dnsName: x.example.org\n    recordType: A\n    recordTTL: -1\n    targets: [192.0.2.1]",
    "8:16: error: DNSEndpoint ns/x: InvalidEndpoint: spec.endpoints[0].recordTTL: "
)]
#[case::endpoint_ttl_above(
    "externaldns.k8s.io/v1alpha1",
    "DNSEndpoint",
    "endpoints:\n  - dnsName: x.example.org\n    recordType: A\n    recordTTL: 2147483648\n    targets: [192.0.2.1]",
    "8:16: error: DNSEndpoint ns/x: InvalidEndpoint: spec.endpoints[0].recordTTL: "
)]
#[case::endpoint_name(
    "externaldns.k8s.io/v1alpha1",
    "DNSEndpoint",
    "endpoints:\n  - recordType: A\n    dnsName: a..b\n    targets: [192.0.2.1]",
    "7:14: error: DNSEndpoint ns/x: InvalidEndpoint: spec.endpoints[0].dnsName: "
)]
fn a_mistake_of_every_kind_has_its_line_and_column(
    #[case] version: &str,
    #[case] kind: &str,
    #[case] spec: &str,
    #[case] expected: &str,
) {
    let namespace = if expected.contains(" ns/x: ") { ", namespace: ns" } else { "" };
    let manifest =
        format!("apiVersion: {version}\nkind: {kind}\nmetadata: {{name: x{namespace}}}\nspec:\n  {spec}\n");
    let run = fingerpost(&["check", Folder::with(&[("x.yaml", &manifest)]).argument()]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    assert!(run.stdout.contains(&format!("x.yaml:{expected}")), "{}", run.stdout);
}

#[test]
fn a_warning_about_an_annotation_points_at_it() {
    let namespace = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: a\n  annotations:\n    fingerpost.dev/domains: a b\n";
    let run = fingerpost(&["check", Folder::with(&[("n.yaml", namespace)]).argument()]);
    assert!(run.stdout.contains("n.yaml:6:29: warning: Namespace a: InvalidDomain: "), "{}", run.stdout);
}

#[test]
fn the_cause_comes_first_and_names_what_waits_for_it() {
    let records: String = (0..17).map(|number| record(&format!("a{number:02}"), "192.0.2.1")).collect();
    let broken = ZONE.replace("example.org.", "exa mple..org.");
    let folder = Folder::with(&[("a-records.yaml", &records), ("zone.yaml", &broken)]);
    let run = fingerpost(&["check", folder.argument()]);
    assert_eq!(run.code, 1, "{}", run.stdout);
    let lines: Vec<&str> = run.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{}", run.stdout);
    assert!(
        lines[0].contains("zone.yaml:4:20: error: Zone dns/example-org: spec.domainName: "),
        "{}",
        lines[0]
    );
    let waiting = "(17 objects wait for it: Record dns/a00, Record dns/a01, Record dns/a02 and 14 more)";
    assert!(lines[0].ends_with(waiting), "{}", lines[0]);
    assert_eq!(lines[1], "refused: 18 objects, 1 error, 0 warnings");

    let data = fingerpost(&["check", "-o", "json", folder.argument()]);
    let findings: serde_json::Value = serde_json::from_str(&data.stdout).unwrap();
    assert_eq!(findings[0]["waiting"].as_array().unwrap().len(), 17, "{findings}");

    // A text that is not YAML is the cause too.
    folder.write("zone.yaml", &format!("{ZONE}   x: [\n"));
    let run = fingerpost(&["check", folder.argument()]);
    assert!(run.stdout.lines().next().unwrap().contains("(17 objects wait for it"), "{}", run.stdout);

    // A cause that is in no folder is told once.
    std::fs::remove_file(folder.path().join("zone.yaml")).unwrap();
    let run = fingerpost(&["check", folder.argument()]);
    assert_eq!(run.stdout.lines().count(), 2, "{}", run.stdout);
    let first = "warning: Record dns/a00: ZoneNotFound: there is no Zone dns/example-org, to which spec.zoneRef refers; \
                 create it (16 objects wait for it: ";
    assert!(run.code == 0 && run.stdout.contains(first), "{}", run.stdout);
}

#[test]
fn objects_that_wait_for_each_other_are_listed_with_the_first_cause() {
    let child = "---\napiVersion: kubi.zone/v1alpha1\nkind: Zone\nmetadata: {name: sub, namespace: dns}\n\
                 spec: {domainName: sub, zoneRef: {name: example-org}}\n---\napiVersion: kubi.zone/v1alpha1\n\
                 kind: Record\nmetadata: {name: deep, namespace: dns}\n\
                 spec: {domainName: deep, zoneRef: {name: sub}, type: A, rdata: 192.0.2.1}\n";
    let broken = ZONE.replace("domainName: example.org.", "domainName: example.org., ttl: -1");
    let run = fingerpost(&["check", Folder::with(&[("a.yaml", child), ("zone.yaml", &broken)]).argument()]);
    let first = run.stdout.lines().next().unwrap();
    assert!(
        first.contains("zone.yaml:4:")
            && first.contains("spec.ttl: `-1` is not a whole number from 0 to 4294967295"),
        "{}",
        run.stdout
    );
    assert!(first.ends_with("(2 objects wait for it: Zone dns/sub, Record dns/deep)"), "{}", run.stdout);
}

#[test]
fn data_that_means_something_else_is_a_warning_at_its_field() {
    let records = "\
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: spf, namespace: dns}
spec:
  {domainName: '@', zoneRef: {name: example-org}, type: TXT, rdata: v=spf1 include:a.example -all}
---
apiVersion: kubi.zone/v1alpha1
kind: Record
metadata: {name: www, namespace: dns}
spec:
  domainName: www
  zoneRef: {name: example-org}
  type: CNAME
  rdata: lb.example.net
";
    let run = fingerpost(&["check", Folder::with(&[("zone.yaml", ZONE), ("r.yaml", records)]).argument()]);
    assert_eq!(run.code, 0, "{}", run.stdout);
    for expected in [
        "r.yaml:6:69: warning: Record dns/spf: TextSplit: spec.rdata: the text is not quoted, so it is served as 3 strings, \
         which clients join without spaces: `v=spf1include:a.example-all`; put the whole text into quotation marks",
        "r.yaml:15:10: warning: Record dns/www: RelativeTarget: spec.rdata: `lb.example.net` is a relative name with a dot, \
         so it stands for `lb.example.net.example.org.`: add the final dot (`lb.example.net.`)",
    ] {
        assert!(run.stdout.contains(expected), "{expected} in\n{}", run.stdout);
    }
}

#[test]
fn equal_objects_of_two_clusters_are_one() {
    let records: String = (0..20).map(|number| record(&format!("a{number:02}"), "192.0.2.1")).collect();
    let files = [("zone.yaml", ZONE), ("records.yaml", records.as_str())];
    let (weu, neu) = (Folder::with(&files), Folder::with(&files));
    let folders = [format!("weu={}", weu.argument()), format!("neu={}", neu.argument())];
    let run = fingerpost(&["check", &folders[0], &folders[1]]);
    assert_eq!((run.code, run.stdout.as_str()), (0, "good: 42 objects, 0 errors, 0 warnings\n"));
    neu.write("zone.yaml", &ZONE.replace("example.org.", "example.org., ttl: 5"));
    let run = fingerpost(&["check", &folders[0], &folders[1]]);
    assert!(
        run.stdout.contains("NameConflict") && run.stdout.contains("(20 objects wait for it"),
        "{}",
        run.stdout
    );
}
