//! The table of bad input: each is told with what, where and what to do.

use rstest::rstest;

use crate::fingerpost;
use crate::folder::{Folder, IDENTITY, ZONE, record};

const TWO: &str = "apiVersion: kubi.zone/v1alpha1\nkind: Zone\nmetadata: {name: other, namespace: web}\nspec: {domainName: example.org.}\n";
const CYCLE: &str = "apiVersion: kubi.zone/v1alpha1\nkind: Zone\nmetadata: {name: a, namespace: dns}\nspec: {domainName: a, zoneRef: {name: b}}\n---\n\
                     apiVersion: kubi.zone/v1alpha1\nkind: Zone\nmetadata: {name: b, namespace: dns}\nspec: {domainName: b, zoneRef: {name: a}}\n";

#[rstest]
#[case::unknown_field(&[("i.yaml", &IDENTITY.replace("domain:", "domian:")[..])], 1, "i.yaml:4:", "domian")]
#[case::wrong_type(&[("z.yaml", &ZONE.replace("example.org.", "example.org., ttl: soon")[..])], 1, "z.yaml:4:", "ttl")]
#[case::rule_broken(&[("i.yaml", &IDENTITY.replace("example.org", "Example_org")[..])], 1, "i.yaml:4:", "Example_org")]
#[case::unknown_kind(&[("z.yaml", &ZONE.replace("kind: Zone", "kind: Zones")[..])], 1, "z.yaml:", "Zones")]
#[case::not_yaml(&[("z.yaml", "kind: [Zone\n")], 1, "z.yaml:", "")]
#[case::name_too_long(&[("z.yaml", ZONE), ("r.yaml", &record(&"x".repeat(64), "192.0.2.1")[..])], 1, "r.yaml:5:", "63")]
#[case::cycle(&[("z.yaml", CYCLE)], 0, "z.yaml:1:", "warning")]
#[case::two_claimants(&[("a.yaml", ZONE), ("b.yaml", TWO)], 0, "b.yaml:1:", "dns/example-org")]
#[case::declared_twice(&[("a.yaml", ZONE), ("b.yaml", ZONE)], 1, "b.yaml:1:", "a.yaml:1")]
#[case::bad_zone_file(&[("example.net.zone", "@ SOA ns1 h 1 1d 2h 4w 5m\n@ NS ns1\nns1 A here\n")], 1, "example.net.zone:3:", "IPv4")]
#[case::empty_folder(&[], 0, "", "put manifests")]
fn check_says_what_and_where(
    #[case] files: &[(&str, &str)],
    #[case] code: i32,
    #[case] place: &str,
    #[case] part: &str,
) {
    let folder = Folder::with(files);
    let run = fingerpost(&["check", folder.argument()]);
    assert_eq!(run.code, code, "{}{}", run.stdout, run.stderr);
    let place = if place.is_empty() {
        folder.argument().to_owned()
    } else {
        folder.path().join(place).display().to_string()
    };
    let told = run.stdout.lines().any(|line| line.starts_with(&place) && line.contains(part));
    assert!(told, "no line starts with `{place}` and holds `{part}`:\n{}", run.stdout);
}

#[rstest]
#[case(&["plan"])]
#[case(&["check"])]
#[case(&["explain", "www.example.org"])]
#[case(&["up", "--no-state", "--dns", "127.0.0.1:0", "--http", "127.0.0.1:0"])]
fn a_folder_that_is_not_there_is_an_error_that_names_it(#[case] arguments: &[&str]) {
    let run = fingerpost(&[arguments, &["no/such/folder"]].concat());
    assert_eq!(run.code, 1);
    let named =
        run.stderr.contains("there is no folder") && run.stderr.contains(" no/such/folder: check the path");
    assert!(named, "{}", run.stderr);
}

#[rstest]
#[case::field(
    "mode: bogus",
    "p.yaml:6:9: error: Placement a/p: spec.mode: `bogus` is not an allowed value: use one of \
    single-region, active-active, active-hotstandby, active-passive-warm, weighted-canary"
)]
#[case::inside(
    "mode: single-region\n  healthCheck: {protocol: http}",
    "p.yaml:7:27: error: Placement a/p: \
    spec.healthCheck.protocol: `http` is not an allowed value: use one of HTTP, HTTPS, TCP"
)]
fn a_value_that_is_not_allowed_is_an_error_with_those_that_are(#[case] field: &str, #[case] message: &str) {
    let placement = format!(
        "apiVersion: fingerpost.dev/v1alpha1\nkind: Placement\nmetadata: {{name: p, namespace: a}}\nspec:\n  \
         hostname: p.example.org\n  {field}\n  regions: [{{name: weu, addresses: [192.0.2.1]}}]\n"
    );
    let run = fingerpost(&["check", Folder::with(&[("p.yaml", &placement)]).argument()]);
    assert_eq!(run.code, 1);
    assert!(run.stdout.contains(message), "{}", run.stdout);
}

#[test]
fn a_flag_with_a_value_that_is_not_allowed_is_an_error_with_those_that_are() {
    let run = fingerpost(&["provider", "--zone", "example.org", "--tsig-algorithm", "md5"]);
    let allowed = "`md5` is not an allowed value: use one of hmac-sha256, hmac-sha384, hmac-sha512";
    assert!(run.code != 0 && run.stderr.contains(allowed), "{}", run.stderr);
}

#[test]
fn a_kubeconfig_that_cannot_be_read_is_an_error_that_says_why_once() {
    let run = fingerpost(&["plan", "--kube", "--kubeconfig", "no/such/file"]);
    assert_eq!(run.code, 1);
    let expected = "cannot read the kubeconfig no/such/file: No such file or directory (os error 2)\n";
    assert!(run.stderr.ends_with(expected), "{}", run.stderr);
    assert_eq!(run.stderr.matches("os error 2").count(), 1, "{}", run.stderr);
    let broken = Folder::with(&[("config", "clusters: [\n")]);
    let path = broken.path().join("config");
    let run = fingerpost(&["plan", "--kube", "--kubeconfig", path.to_str().unwrap()]);
    assert!(run.stderr.contains("failed to parse kubeconfig"), "{}", run.stderr);
}

#[test]
fn nothing_listens_at_a_url_is_an_error_that_says_so() {
    let run = fingerpost(&["plan", "--url", "http://127.0.0.1:1"]);
    assert_eq!(run.code, 1);
    for part in ["http://127.0.0.1:1/", "is `fingerpost up` running there?", "the connection is refused"] {
        assert!(run.stderr.contains(part), "{part} in {}", run.stderr);
    }
}
