//! Files and directories that lose their content.

use std::os::unix::fs::symlink;
use std::time::Duration;

use rstest::rstest;

use super::*;
use crate::source::Severity;

const ZONE: &str = "@ 60 IN SOA ns host 1 2 3 4 5\n@ 60 IN NS ns.example.net.\nwww 60 IN A 192.0.2.1\n";

fn two() -> String {
    record("a", "192.0.2.1") + &record("b", "192.0.2.2")
}

#[rstest]
#[case::zero_octets("")]
#[case::white_space(" \n\t\n")]
#[case::byte_order_mark("\u{feff}")]
#[case::comments("# all gone\n")]
#[case::a_marker("---\n")]
#[case::markers("---\n---\n# nothing\n...\n")]
#[case::null("~\n")]
#[case::null_after_a_marker("--- null\n")]
#[case::empty_mapping("{}\n")]
#[case::empty_list("apiVersion: v1\nkind: List\nitems: []\n")]
#[case::list_without_items("apiVersion: v1\nkind: List\nitems:\n")]
fn a_manifest_that_becomes_empty_keeps_its_objects(#[case] text: &str) {
    let world = World::new(&[("a.yaml", &two()), ("c.yaml", &record("c", "192.0.2.3"))]);
    let mut source = world.source();
    source.read();
    world.write("a.yaml", text);
    let reading = source.read();
    assert!(told(&reading).is_empty(), "{:?}", told(&reading));
    assert_eq!(world.problems(&reading), ["a.yaml: empty; delete the file to remove its 2 objects"]);
    assert_eq!(reading.problems[0].severity, Severity::Refused);
    assert_eq!(world.problems(&source.read()).len(), 1, "it is reported for as long as it is so");
    world.remove("a.yaml");
    let reading = source.read();
    assert_eq!(told(&reading), ["delete a", "delete b"]);
    assert!(reading.problems.is_empty());
}

#[test]
fn an_empty_manifest_keeps_its_objects_over_restarts() {
    let world = World::new(&[("a.yaml", &two()), ("b.yaml", "")]);
    world.source_with_state().read();
    world.write("a.yaml", "");
    for _ in 0..2 {
        let reading = world.source_with_state().read();
        assert_eq!(told(&reading), ["put a=192.0.2.1", "put b=192.0.2.2"]);
        let problems = world.problems(&reading);
        assert_eq!(problems[0], "a.yaml: empty; delete the file to remove its 2 objects");
        assert_eq!(problems[1], "b.yaml: empty: it declares no object");
    }
    world.remove("a.yaml");
    assert!(told(&world.source_with_state().read()).is_empty());
}

#[test]
fn a_manifest_that_was_emptied_while_running_keeps_its_objects_over_a_restart() {
    let world = World::new(&[("a.yaml", &two())]);
    let mut source = world.source_with_state();
    source.read();
    world.write("a.yaml", "# later\n");
    assert!(told(&source.read()).is_empty());
    drop(source);
    assert_eq!(told(&world.source_with_state().read()), ["put a=192.0.2.1", "put b=192.0.2.2"]);
    world.write("a.yaml", &record("a", "192.0.2.9"));
    let reading = world.source_with_state().read();
    assert_eq!(told(&reading), ["was a=192.0.2.1", "put a=192.0.2.9"]);
    assert!(reading.problems.is_empty());
}

#[test]
fn a_manifest_that_is_written_again_is_as_written() {
    let world = World::new(&[("a.yaml", &two())]);
    let mut source = world.source();
    source.read();
    world.write("a.yaml", "");
    source.read();
    world.write("a.yaml", &record("a", "192.0.2.9"));
    let reading = source.read();
    assert_eq!(told(&reading), ["put a=192.0.2.9", "delete b"]);
    assert!(reading.problems.is_empty());
}

#[test]
fn objects_that_move_out_of_an_emptied_file_are_the_other_files() {
    let world = World::new(&[("a.yaml", &two())]);
    let mut source = world.source();
    source.read();
    world.write("a.yaml", "");
    world.write("z.yaml", &record("a", "192.0.2.9"));
    let reading = source.read();
    assert_eq!(told(&reading), ["put a=192.0.2.9"]);
    assert_eq!(world.problems(&reading), ["a.yaml: empty; delete the file to remove its 1 object"]);
    world.write("z.yaml", &(record("a", "192.0.2.9") + &record("b", "192.0.2.8")));
    assert_eq!(told(&source.read()), ["put b=192.0.2.8"]);
    assert_eq!(world.problems(&source.read()), ["a.yaml: empty: it declares no object"]);
    world.remove("a.yaml");
    assert!(told(&source.read()).is_empty());
}

#[test]
fn a_file_of_a_foreign_kind_is_not_empty() {
    let world = World::new(&[("a.yaml", &two())]);
    let mut source = world.source();
    source.read();
    world.write("a.yaml", "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\n");
    assert_eq!(told(&source.read()), ["delete a", "delete b"]);
}

#[test]
fn an_emptied_file_keeps_its_secrets() {
    let secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: dns}\nstringData: {key: k}\n";
    let world = World::new(&[("a.yaml", secret)]);
    let mut source = world.source();
    assert_eq!(source.read().secrets.len(), 1);
    world.write("a.yaml", "");
    let reading = source.read();
    assert_eq!(reading.secrets.len(), 1);
    assert_eq!(world.problems(&reading), ["a.yaml: empty; delete the file to remove its 1 object"]);
}

#[test]
fn an_editor_that_truncates_and_then_writes_is_not_reported() {
    let world = World::new(&[("a.yaml", &two())]);
    let mut source = world.source().with_patience(Duration::from_secs(60));
    source.read();
    world.write("a.yaml", "");
    let reading = source.read();
    assert!(reading.unsettled && reading.problems.is_empty() && told(&reading).is_empty());
    world.write("a.yaml", &two().replace("192.0.2.2", "192.0.2.7"));
    assert_eq!(told(&source.read()), ["put b=192.0.2.7"]);
}

#[rstest]
#[case::zero_octets("")]
#[case::white_space("\n \n")]
#[case::comments("; gone\n  ; all of it\n")]
fn a_zone_file_that_becomes_empty_keeps_its_records(#[case] text: &str) {
    let world = World::new(&[("example.org.zone", ZONE)]);
    let mut source = world.source_with_state();
    source.read();
    world.write("example.org.zone", text);
    let expected = "example.org.zone:1:1: empty; delete the file to remove its 3 records";
    let reading = source.read();
    assert_eq!(told(&reading), ["broken file example.org.zone example.org."]);
    assert_eq!((world.problems(&reading), reading.records), (vec![expected.to_owned()], 3));
    drop(source);
    let mut source = world.source_with_state();
    let reading = source.read();
    let expected_changes = ["file example.org.zone 3", "broken file example.org.zone example.org."];
    assert_eq!(told(&reading), expected_changes);
    assert_eq!(world.problems(&reading), [expected]);
    world.remove("example.org.zone");
    assert_eq!(told(&source.read()), ["delete file example.org.zone"]);
}

#[test]
fn a_zone_file_that_is_cut_off_inside_a_line_keeps_its_records() {
    let whole = ZONE.replace("192.0.2.1", "192.0.2.111");
    let world = World::new(&[("example.org.zone", &whole)]);
    let mut source = world.source_with_state();
    source.read();
    world.write("example.org.zone", &whole[..whole.len() - 2]);
    let reading = source.read();
    assert_eq!(told(&reading), ["broken file example.org.zone example.org."]);
    assert!(reading.problems[0].message.contains("as when a write is cut off"), "{:?}", reading.problems);
    drop(source);
    let mut source = world.source_with_state();
    let expected = ["file example.org.zone 3", "broken file example.org.zone example.org."];
    assert_eq!(told(&source.read()), expected);
    world.write("example.org.zone", &whole[..whole.len() - 3]);
    assert_eq!(told(&source.read()), expected[1..], "and after another cut");
    let shorter = &ZONE[..ZONE.find("www").unwrap()];
    world.write("example.org.zone", shorter);
    let reading = source.read();
    assert_eq!((told(&reading), reading.problems), (vec!["file example.org.zone 2".to_owned()], Vec::new()));
    world.write("example.org.zone", &(shorter.to_owned() + "a 60 IN A 192.0.2.1"));
    assert_eq!(told(&source.read()), ["file example.org.zone 3"], "a longer text was not cut off");
    world.write("example.org.zone", shorter.trim_end());
    assert_eq!(
        told(&source.read()),
        ["file example.org.zone 2"],
        "the one before had no whole last line either"
    );
}

#[test]
fn an_included_file_that_becomes_empty_keeps_the_zone() {
    let zone = format!("{ZONE}$INCLUDE hosts.inc\n$INCLUDE never.inc\n");
    let world = World::new(&[("example.org.zone", &zone), ("hosts.inc", "ftp 60 IN A 192.0.2.2\n")]);
    world.write("never.inc", "; nothing yet\n");
    let mut source = world.source_with_state();
    assert_eq!(told(&source.read()), ["file example.org.zone 4"]);
    world.write("hosts.inc", "; cut off\n");
    let reading = source.read();
    assert_eq!(told(&reading), ["broken file example.org.zone example.org."]);
    let expected = "`hosts.inc` is empty; remove its $INCLUDE to remove the records that it had";
    assert!(reading.problems[0].message.contains(expected), "{:?}", reading.problems);
    assert_eq!(source.read().problems.len(), 1);
    world.write("example.org.zone", &format!("{zone}; another line\n"));
    assert_eq!(told(&source.read()), ["broken file example.org.zone example.org."], "a second look too");
    drop(source);
    let changes = told(&world.source_with_state().read());
    assert_eq!(changes, ["file example.org.zone 4", "broken file example.org.zone example.org."]);
    world.write("example.org.zone", ZONE);
    assert_eq!(told(&world.source_with_state().read()), ["file example.org.zone 3"]);
}

#[test]
fn an_included_file_that_is_cut_off_inside_a_line_keeps_the_zone() {
    let hosts = "ftp 60 IN A 192.0.2.222\nmail 60 IN A 192.0.2.33\n";
    let world =
        World::new(&[("example.org.zone", &format!("{ZONE}$INCLUDE hosts.inc\n")), ("hosts.inc", hosts)]);
    let mut source = world.source_with_state();
    assert_eq!(told(&source.read()), ["file example.org.zone 5"]);
    for cut in [hosts.len() - 1, hosts.len() - 2, "ftp 60 IN A 192.0.2.22".len()] {
        world.write("hosts.inc", &hosts[..cut]);
        let reading = source.read();
        assert_eq!(told(&reading), ["broken file example.org.zone example.org."], "{:?}", &hosts[..cut]);
        let message = &reading.problems[0].message;
        assert!(message.contains("`hosts.inc` is shorter than its last good content"), "{message}");
    }
    drop(source);
    let mut source = world.source_with_state();
    let expected = ["file example.org.zone 5", "broken file example.org.zone example.org."];
    assert_eq!(told(&source.read()), expected, "after a restart too");
    let shorter = &hosts[..hosts.find("mail").unwrap()];
    world.write("hosts.inc", shorter);
    assert_eq!(told(&source.read()), ["file example.org.zone 4"], "a line that ends is an edit");
    world.write("hosts.inc", &(shorter.to_owned() + "a 60 IN A 192.0.2.1"));
    assert_eq!(told(&source.read()), ["file example.org.zone 5"], "a longer text was not cut off");
}

/// A folder behind a link, so that it can be replaced in one step, as a mount is.
fn mounted(world: &World, content: &str) -> Vec<ClusterFolders> {
    let link = world.root().join("mount");
    drop(fs::remove_file(&link));
    symlink(content, &link).unwrap();
    ClusterFolders::parse(&[link.to_str().unwrap()]).unwrap()
}

#[test]
fn a_lost_mount_leaves_its_objects_in_force() {
    let files = [("disk/a.yaml", two()), ("disk/sub/c.yaml", record("c", "192.0.2.3"))];
    let world = World::new(&files.each_ref().map(|(path, text)| (*path, &text[..])));
    fs::create_dir(world.root().join("below")).unwrap();
    let clusters = mounted(&world, "disk");
    let source = || Source::new(&clusters).with_state(Arc::new(StateDir::open(world.state.path()).unwrap()));
    let mut running = source();
    assert_eq!(told(&running.read()).len(), 3);
    mounted(&world, "below");
    let reading = running.read();
    assert!(told(&reading).is_empty(), "{:?}", told(&reading));
    assert!(reading.problems[0].message.contains("replaced by an empty one"), "{:?}", reading.problems);
    assert!(told(&running.read()).is_empty(), "and at every later look");
    drop(running);
    for _ in 0..2 {
        let reading = source().read();
        assert_eq!(told(&reading).len(), 3, "after a restart too");
        assert!(reading.problems[0].message.contains("replaced by an empty one"), "{:?}", reading.problems);
    }
    mounted(&world, "disk");
    let reading = source().read();
    assert_eq!(told(&reading).len(), 3);
    assert!(reading.problems.is_empty());
    mounted(&world, "below");
    world.write("below/empty.yaml", "# nothing is to be served\n");
    assert!(told(&source().read()).is_empty());
}

#[test]
fn a_directory_that_is_replaced_by_an_empty_one_leaves_its_objects_in_force() {
    let world = World::new(&[("a.yaml", &two()), ("sub/c.yaml", &record("c", "192.0.2.3"))]);
    let mut source = world.source();
    source.read();
    fs::rename(world.root().join("sub"), world.root().join(".away")).unwrap();
    fs::create_dir(world.root().join("sub")).unwrap();
    let reading = source.read();
    assert!(told(&reading).is_empty());
    assert!(world.problems(&reading)[0].starts_with("sub: the directory was replaced"));
    fs::remove_dir(world.root().join("sub")).unwrap();
    assert_eq!(told(&source.read()), ["delete c"], "a directory that is gone is proof");
}

#[test]
fn every_file_deleted_from_the_same_folder_is_proof() {
    let world = World::new(&[("a.yaml", &two())]);
    world.source_with_state().read();
    world.remove("a.yaml");
    let reading = world.source_with_state().read();
    assert!(told(&reading).is_empty());
    assert!(reading.problems[0].message.contains("nothing to serve"), "{:?}", reading.problems);
}

#[test]
fn what_a_file_lost_is_that_of_the_folders_before() {
    let before = World::new(&[("a.yaml", &two()), ("b.yaml", &record("c", "192.0.2.3"))]);
    before.write("example.org.zone", ZONE);
    let after = World::new(&[("a.yaml", ""), ("example.org.zone", "")]);
    let mut previous = before.source();
    previous.read();
    let reading = after.source().following(previous).read();
    let zone = ["file example.org.zone 3", "broken file example.org.zone example.org."];
    assert_eq!(told(&reading), [&zone[..], &["put a=192.0.2.1", "put b=192.0.2.2"]].concat());
    let problems = after.problems(&reading);
    assert_eq!(problems[0], "a.yaml: empty; delete the file to remove its 2 objects");
    assert_eq!(problems[1], "example.org.zone:1:1: empty; delete the file to remove its 3 records");
}

#[test]
fn a_directory_that_proves_nothing_has_the_files_of_the_folders_before() {
    let before = World::new(&[("sub/a.yaml", &two()), ("c.yaml", &record("c", "192.0.2.3"))]);
    before.write("sub/example.org.zone", ZONE);
    let (after, elsewhere) = (World::new(&[("c.yaml", &record("c", "192.0.2.3"))]), World::new(&[]));
    std::os::unix::fs::symlink(elsewhere.root(), after.root().join("sub")).unwrap();
    let mut previous = before.source();
    previous.read();
    let reading = after.source().following(previous).read();
    let objects = ["put a=192.0.2.1", "put b=192.0.2.2", "put c=192.0.2.3"];
    assert_eq!(told(&reading), [&["file sub/example.org.zone 3"], &objects[..]].concat());
}
