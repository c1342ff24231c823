//! `explain` on one name of each kind, as text and as JSON, and the schema of the JSON.

use std::path::PathBuf;

use rstest::rstest;
use serde_json::Value;

use crate::{fingerpost, root, schema};

const WORLD: &str = "testdata/explain/world";
/// Apart, since a table of countries is made for its names, which takes seconds in a debug build.
const STEERED: &str = "testdata/explain/steered";

#[rstest]
// Served by our own server.
#[case("served", &["www.example.org"], 0)]
#[case("served-one-type", &["www.example.org", "--type", "TXT"], 0)]
#[case("served-type-missing", &["www.example.org", "--type", "MX"], 2)]
#[case("served-other-type", &["mail.example.org"], 0)]
#[case("served-from-file", &["host-1.example.net"], 0)]
#[case("served-route", &["web-ns-p-prod-shop.apps.example.com"], 0)]
#[case("served-gateway", &["aks01-weu-pub.apps.example.com", "--type", "AAAA"], 0)]
#[case("alias", &["store.example.org"], 0)]
#[case("alias-elsewhere", &["cdn.example.org"], 0)]
#[case("alias-to-nothing", &["dangling.example.org"], 2)]
#[case("alias-loop", &["ping.example.org"], 2)]
#[case("empty-non-terminal", &["deep.example.org"], 2)]
#[case("one-view", &["www.example.org", "--view", "weu", "--client", "192.0.2.77"], 0)]
// Wildcards.
#[case("wildcard", &["anything.apps.example.org"], 0)]
#[case("wildcard-alias", &["me.users.example.org"], 0)]
#[case("wildcard-from-file", &["x.dyn.example.net"], 0)]
#[case("wildcard-beaten", &["fixed.apps.example.org"], 0)]
#[case("wildcard-steered", &["a.tenants.geo.example", "--client", "193.1.2.3"], 0)]
// Delegated names.
#[case("delegated", &["partner.example.org"], 2)]
#[case("below-delegation", &["host.partner.example.org"], 2)]
#[case("below-delegation-one-type", &["host.partner.example.org", "--type", "TXT"], 2)]
#[case("below-delegation-from-file", &["a.lab.example.net"], 2)]
// Conflicts, and objects that wait.
#[case("conflicting", &["api.example.org"], 0)]
#[case("conflicting-other-type", &["api.example.org", "--type", "AAAA"], 2)]
#[case("not-permitted", &["stranger.example.org"], 2)]
#[case("route-without-gateway", &["lost-ns-p-prod-shop.apps.example.com"], 2)]
#[case("route-with-inactive-policy", &["blog-ns-p-prod-blog.apps.example.com"], 2)]
#[case("class-missing", &["classless.example.edu"], 2)]
// Steered names.
#[case("steered-by-place", &["shop.geo.example", "--client", "4.4.4.4"], 0)]
#[case("steered-by-default", &["shop.geo.example", "--client", "10.0.0.1"], 0)]
#[case("steered-no-client", &["shop.geo.example"], 0)]
#[case("steered-closest", &["near.geo.example", "--client", "193.1.2.3"], 0)]
#[case("steered-sticky", &["canary.geo.example", "--client", "193.1.2.3"], 0)]
#[case("steered-failover", &["standby.geo.example"], 0)]
// Delivered to providers.
#[case("powerdns", &["www.example.edu"], 0)]
#[case("powerdns-alias", &["alias.example.edu"], 0)]
#[case("powerdns-wildcard", &["x.any.example.edu"], 0)]
#[case("powerdns-delegated", &["a.child.example.edu"], 2)]
#[case("powerdns-type-missing", &["www.example.edu", "--type", "TXT"], 2)]
#[case("powerdns-nothing", &["nothing.example.edu"], 2)]
#[case("powerdns-steered", &["cloud.geo.example"], 0)]
#[case("powerdns-and-ours", &["split.example.org"], 0)]
#[case("powerdns-view", &["www.example.edu", "--view", "cloud"], 0)]
#[case("external-dns", &["www.example.aws"], 0)]
#[case("webhook", &["note.example.hook"], 0)]
// Not declared, and misspelt.
#[case("not-declared", &["nothing-like-it.example.org"], 2)]
#[case("no-zone", &["www.example.museum"], 2)]
#[case("misspelt", &["wwww.example.org"], 2)]
#[case("misspelt-route", &["web-ns-p-prod-shpo.apps.example.com"], 2)]
#[case("misspelt-zone", &["www.exmaple.org"], 2)]
#[case("misspelt-file", &["hots-1.example.net"], 2)]
fn a_name_is_explained_as_recorded(#[case] case: &str, #[case] question: &[&str], #[case] code: i32) {
    let folder = if question[0].ends_with("geo.example") { STEERED } else { WORLD };
    let text = fingerpost(&[&["explain"], question, &[folder]].concat());
    matches(&format!("{case}.txt"), &text.stdout);
    assert_eq!(text.code, code, "{}", text.stdout);
    let json = fingerpost(&[&["explain", "-o", "json"], question, &[folder]].concat());
    matches(&format!("{case}.json"), &json.stdout);
    assert_eq!(json.code, code);
    let value: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(schema::faults(&published_schema(), &value), Vec::<String>::new());
}

#[test]
fn the_schema_of_the_json_is_published() {
    let schema = serde_json::to_string_pretty(&fingerpost::explanation::schema()).unwrap() + "\n";
    compare(&schema_file(), &schema);
}

fn published_schema() -> Value {
    serde_json::from_str(&std::fs::read_to_string(schema_file()).unwrap()).unwrap()
}

fn schema_file() -> PathBuf {
    root().join("docs/schema/explain.json")
}

fn matches(file: &str, actual: &str) {
    compare(&root().join("testdata/explain").join(file), actual);
}

/// Compares with a recorded file; `UPDATE=1` records it.
fn compare(path: &std::path::Path, actual: &str) {
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(path, actual).unwrap();
    }
    let expected = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        expected == actual,
        "{} is not what is printed now; where the change is meant, record it with\n\
         UPDATE=1 cargo test -p fingerpost --test commands\n--- printed now\n{actual}",
        path.display()
    );
}
