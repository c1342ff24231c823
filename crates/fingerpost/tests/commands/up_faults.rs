//! `up` when files break, move or are cut off, and over restarts in between.

use rstest::rstest;

use crate::folder::{Folder, IDENTITY, ZONE, record};
use crate::running::{Running, ask};
use crate::up::{class, dns_record};

fn started(arguments: &[&str]) -> Running {
    let up = Running::spawn(arguments);
    up.wait_for("ready: every change");
    up
}

const HEAD: &str = "apiVersion: kubi.zone/v1alpha1\nkind: Zone\n";
const NAMED: &str =
    "apiVersion: kubi.zone/v1alpha1\nkind: Zone\nmetadata: {name: example-net, namespace: dns}\n";

#[rstest]
#[case::no_yaml_after_the_name(format!("{NAMED}spec:\n  domainName: example.net\n  ttl: [\n"))]
#[case::no_yaml_in_another_document(format!("{NAMED}spec: {{domainName: example.net}}\n---\nkind: [\n"))]
#[case::misspelt_spec(format!("{NAMED}sepc: {{domainName: example.net}}\n"))]
#[case::without_a_name(format!("{HEAD}metadata: {{namespace: dns}}\nspec: {{domainName: example.net}}\n"))]
#[case::with_an_empty_name(format!("{HEAD}metadata: {{name: ''}}\nspec: {{domainName: example.net}}\n"))]
#[case::without_metadata(format!("{HEAD}spec: {{domainName: example.net}}\n"))]
#[case::without_an_api_version(NAMED.replace("apiVersion: kubi.zone/v1alpha1\n", "") + "spec: {domainName: example.net}\n")]
#[case::of_another_version(NAMED.replace("v1alpha1", "v1") + "spec: {domainName: example.net}\n")]
#[case::of_a_misspelt_group(NAMED.replace("kubi.zone", "kubi.zoen") + "spec: {domainName: example.net}\n")]
#[case::of_a_misspelt_kind(NAMED.replace("kind: Zone", "kind: Zoen") + "spec: {domainName: example.net}\n")]
#[case::without_a_kind(NAMED.replace("kind: Zone\n", "knid: Zone\n") + "spec: {domainName: example.net}\n")]
#[case::misspelt_name(format!("{NAMED}spec: {{domianName: example.net}}\n"))]
#[case::name_in_a_list(format!("{NAMED}spec:\n- domainName: example.net\n"))]
#[case::metadata_of_another_form(format!("{HEAD}metadata: [name]\nspec: {{domainName: example.net}}\n"))]
#[case::in_a_broken_list(format!("apiVersion: v1\nkind: List\nitems:\n- {}  spec: {{domainName: example.net}}\n- [\n", NAMED.replace('\n', "\n  ").trim_end_matches(' ')))]
#[case::beside_a_list_item_of_no_kind(format!("apiVersion: v1\nkind: List\nitems:\n- {}  spec: {{domainName: example.net, x: 1}}\n- 7\n", NAMED.replace('\n', "\n  ").trim_end_matches(' ')))]
#[case::absolute_with_a_reference(format!("{NAMED}spec: {{domainName: example.net., zoneRef: {{name: nowhere}}}}\n"))]
#[case::of_a_class_that_is_not_there(format!("{NAMED}spec: {{domainName: example.net, tll: 1, dnsClassRef: {{name: x}}}}\n"))]
fn a_broken_zone_at_a_cold_start_is_told_by_its_text(#[case] text: String) {
    let files =
        [("class.yaml", class("edge")), ("shop.yaml", dns_record("edge", "192.0.2.1")), ("zone.yaml", text)];
    let folder = Folder::with(&files.each_ref().map(|(name, text)| (*name, &text[..])));
    let up = Running::start(&[folder.argument()]);
    for name in ["shop.example.net", "example.net", "no-such-name.example.net"] {
        assert_eq!(ask(up.dns("edge"), name), ["ServFail"], "{name}: {}", up.output());
    }
}

#[test]
fn a_zone_that_loses_its_name_is_served_as_before() {
    let zone =
        |metadata: &str| format!("{HEAD}metadata: {{{metadata}}}\nspec: {{domainName: example.org.}}\n");
    let folder = Folder::with(&[
        ("zone.yaml", &zone("name: example-org, namespace: dns")),
        ("www.yaml", &record("www", "192.0.2.1")),
    ]);
    let state = Folder::with(&[]);
    let arguments = [folder.argument(), "--state", state.argument()];
    let up = started(&arguments);
    folder.write("zone.yaml", &zone("namespace: dns"));
    up.wait_for("metadata.name");
    assert_eq!(ask(up.dns("default"), "www.example.org"), ["NoError", "192.0.2.1"]);
    assert_eq!(up.terminate(), Some(0));
    let up = started(&arguments);
    assert_eq!(ask(up.dns("default"), "www.example.org"), ["NoError", "192.0.2.1"], "{}", up.output());
}

#[test]
fn a_file_that_is_cut_off_in_a_document_loses_none_of_its_names() {
    let whole = ZONE.to_owned() + &record("a", "192.0.2.1") + &record("b", "192.0.2.2");
    let (folder, state) = (Folder::with(&[("all.yaml", &whole)]), Folder::with(&[]));
    let arguments = [folder.argument(), "--state", state.argument()];
    let up = started(&arguments);
    let edited = ZONE.to_owned() + &record("a", "192.0.2.x");
    folder.write("all.yaml", &edited);
    up.wait_for("Record dns/b: not found in the file, but in force while a document in it is broken");
    for _ in 0..2 {
        assert_eq!(ask(up.dns("default"), "a.example.org"), ["NoError", "192.0.2.1"]);
        assert_eq!(ask(up.dns("default"), "b.example.org"), ["NoError", "192.0.2.2"]);
    }
    assert_eq!(up.terminate(), Some(0));
    let up = started(&arguments);
    assert_eq!(ask(up.dns("default"), "b.example.org"), ["NoError", "192.0.2.2"], "{}", up.output());
    folder.write("all.yaml", &whole);
    up.wait_for("no longer: ");
    folder.write("all.yaml", &whole[..whole.len() - 4]);
    up.wait_for("as when a write is cut off");
    assert_eq!(ask(up.dns("default"), "b.example.org"), ["NoError", "192.0.2.2"], "{}", up.output());
}

#[test]
fn an_object_that_moves_to_another_file_and_points_nowhere_is_served_as_before_after_a_restart() {
    let (folder, state) = (
        Folder::with(&[("class.yaml", &class("edge")), ("a.yaml", &dns_record("edge", "192.0.2.1"))]),
        Folder::with(&[]),
    );
    let arguments = [folder.argument(), "--state", state.argument()];
    assert_eq!(started(&arguments).terminate(), Some(0));
    std::fs::remove_file(folder.path().join("a.yaml")).unwrap();
    folder.write("z.yaml", &dns_record("egde", "192.0.2.2"));
    for _ in 0..2 {
        let up = started(&arguments);
        assert_eq!(ask(up.dns("edge"), "shop.example.net"), ["NoError", "192.0.2.1"], "{}", up.output());
        assert!(up.output().contains("DNSClassNotFound"), "{}", up.output());
        assert_eq!(up.terminate(), Some(0));
    }
}

#[test]
fn what_is_wrong_with_an_object_is_told_while_an_older_file_declares_it_too() {
    let folder =
        Folder::with(&[("class.yaml", &class("edge")), ("z.yaml", &dns_record("edge", "192.0.2.1"))]);
    let up = Running::start(&[folder.argument()]);
    folder.write("a.yaml", &dns_record("egde", "192.0.2.2"));
    up.wait_for("is declared already in");
    up.wait_for("! DNSRecord dns/shop: DNSClassNotFound");
    std::fs::remove_file(folder.path().join("z.yaml")).unwrap();
    up.wait_for("✓ no longer: ");
    assert_eq!(ask(up.dns("edge"), "shop.example.net"), ["NoError", "192.0.2.1"]);
}

#[test]
fn a_class_that_sorts_first_takes_no_port_over_a_restart() {
    let (folder, state) = (
        Folder::with(&[("class.yaml", &class("edge")), ("a.yaml", &dns_record("edge", "192.0.2.1"))]),
        Folder::with(&[]),
    );
    let arguments = [folder.argument(), "--state", state.argument()];
    assert_eq!(started(&arguments).terminate(), Some(0));
    folder.write("aaa.yaml", &class("aaa"));
    for _ in 0..2 {
        let up = started(&arguments);
        let output = up.output();
        let place = |view: &str| output.find(&format!("  view {view} ")).unwrap();
        assert!(place("edge") < place("aaa"), "the first address is that of edge: {output}");
        assert_eq!(up.terminate(), Some(0));
    }
}

const FILE: &str = "@ 60 IN SOA ns host 1 2 3 4 5\n@ 60 IN NS ns.example.net.\nwww 60 IN A 192.0.2.1\n";

#[test]
fn changes_of_zone_files_are_told_beside_those_of_records() {
    let folder =
        Folder::with(&[("zone.yaml", ZONE), ("identity.yaml", IDENTITY), ("example.com.zone", FILE)]);
    let up = Running::start(&[folder.argument()]);
    folder.write("www.yaml", &record("www", "192.0.2.1"));
    folder.write("example.com.zone", &FILE.replace("192.0.2.1", "192.0.2.2"));
    up.wait_for("+ www.example.org. 360 A 192.0.2.1");
    up.wait_for("~ 1 zone: example.com.");
    folder.write("other.zone", &("$ORIGIN example.com.\n".to_owned() + FILE));
    up.wait_for("! other.zone:1:1: not used: ");
    std::fs::remove_file(folder.path().join("other.zone")).unwrap();
    up.wait_for("✓ no longer: other.zone:1:1: not used: ");
}
