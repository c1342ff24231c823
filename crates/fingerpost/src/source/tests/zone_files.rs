use std::os::unix::fs::symlink;

use rstest::rstest;

use super::*;

const SOA: &str =
    "@ 3600 IN SOA ns hostmaster 1 7200 3600 1209600 300\n@ 3600 IN NS ns\nns 3600 IN A 192.0.2.53\n";

fn zone(more: &str) -> String {
    format!("{SOA}{more}")
}

#[test]
fn a_zone_file_is_one_change_with_its_records() {
    let world = World::new(&[("zones/example.org.zone", &zone("www 60 IN A 192.0.2.1\n"))]);
    let reading = world.source().read();
    assert_eq!(told(&reading), ["file zones/example.org.zone 4"]);
    assert_eq!((reading.objects, reading.files, reading.records), (0, 1, 4));
}

#[test]
fn a_zone_file_that_goes_is_deleted() {
    let world = World::new(&[("example.org.zone", SOA)]);
    let mut source = world.source();
    source.read();
    world.remove("example.org.zone");
    assert_eq!(told(&source.read()), ["delete file example.org.zone"]);
}

#[test]
fn an_error_in_a_zone_file_refuses_it_with_its_line_and_keeps_the_last_content() {
    let world = World::new(&[("example.org.zone", SOA)]);
    let mut source = world.source();
    source.read();
    world.write("example.org.zone", &zone("www 60 IN A not-an-address\n"));
    let reading = source.read();
    assert_eq!(told(&reading), ["broken file example.org.zone example.org."]);
    assert!(world.problems(&reading)[0].starts_with("example.org.zone:4:"), "{:?}", reading.problems);
    assert_eq!(reading.records, 3, "the last good content still counts");
}

#[test]
fn remarks_of_a_zone_file_do_not_refuse_it() {
    let world = World::new(&[("example.org.zone", &zone("www.example.net. 60 IN A 192.0.2.1\n"))]);
    let reading = world.source().read();
    assert_eq!(told(&reading), ["file example.org.zone 3"]);
    assert_eq!(reading.problems.len(), 1);
    assert_eq!(reading.problems[0].severity, crate::source::Severity::Remark);
}

#[test]
fn an_included_file_is_relative_to_the_including_one_and_a_change_of_it_is_seen() {
    let world = World::new(&[
        ("zones/example.org.zone", &zone("$INCLUDE parts/hosts.inc\n")),
        ("zones/parts/hosts.inc", "www 60 IN A 192.0.2.1\n$INCLUDE ../more.inc\n"),
        ("zones/more.inc", "ftp 60 IN A 192.0.2.2\n"),
    ]);
    let mut source = world.source();
    assert_eq!(told(&source.read()), ["file zones/example.org.zone 5"]);
    world.write("zones/more.inc", "ftp 60 IN A 192.0.2.2\nsip 60 IN A 192.0.2.3\n");
    let reading = source.read_changed(&[world.root().join("zones/more.inc")]).unwrap();
    assert_eq!(told(&reading), ["file zones/example.org.zone 6"]);
    assert!(told(&source.read()).is_empty());
    world.write("zones/parts/hosts.inc", "www 60 IN A 192.0.2.1\n");
    assert_eq!(told(&source.read()), ["file zones/example.org.zone 4"]);
}

#[test]
fn an_error_in_an_included_file_names_that_file() {
    let world =
        World::new(&[("example.org.zone", &zone("$INCLUDE hosts.inc\n")), ("hosts.inc", "www 60 IN A x\n")]);
    let reading = world.source().read();
    assert!(world.problems(&reading)[0].starts_with("hosts.inc:1:"), "{:?}", reading.problems);
}

#[test]
fn an_included_file_that_comes_later_mends_the_zone() {
    let world = World::new(&[("example.org.zone", &zone("$INCLUDE hosts.inc\n"))]);
    let mut source = world.source();
    assert_eq!(told(&source.read()), ["broken file example.org.zone example.org."]);
    world.write("hosts.inc", "www 60 IN A 192.0.2.1\n");
    assert_eq!(told(&source.read()), ["file example.org.zone 4"]);
}

#[rstest]
#[case::upwards("../secret.inc")]
#[case::absolute("/etc/hostname")]
#[case::through_a_link("link.inc")]
#[case::through_a_linked_directory("linked/secret.inc")]
fn an_include_never_leaves_the_folder(#[case] written: &str) {
    let outside = World::new(&[("secret.inc", "www 60 IN A 192.0.2.1\n")]);
    let world =
        World::new(&[("dns/example.org.zone", &zone(&format!("$INCLUDE {written}\n"))), ("secret.inc", "")]);
    let folder = world.root().join("dns");
    symlink(outside.root().join("secret.inc"), folder.join("link.inc")).unwrap();
    symlink(outside.root(), folder.join("linked")).unwrap();
    let reading = Source::new(&ClusterFolders::parse(&[folder.to_str().unwrap()]).unwrap()).read();
    assert_eq!(told(&reading), ["broken file example.org.zone example.org."]);
    let leaves = reading.problems.iter().any(|problem| problem.message.contains("leaves the folder"));
    assert!(leaves, "{:?}", reading.problems);
}

#[test]
fn an_included_zone_file_is_a_zone_of_its_own_too() {
    let world =
        World::new(&[("a.example.zone", &zone("$INCLUDE b.example.zone b\n")), ("b.example.zone", SOA)]);
    let reading = world.source().read();
    assert_eq!(told(&reading).len(), 2, "{:?}", told(&reading));
    assert!(told(&reading)[1].starts_with("file b.example.zone"));
}

#[test]
fn a_zone_file_that_was_never_readable_makes_its_zone_unavailable() {
    let world = World::new(&[]);
    symlink("example.org.zone", world.root().join("example.org.zone")).unwrap();
    assert_eq!(told(&world.source().read()), ["broken file example.org.zone example.org."]);
}

#[test]
fn files_of_several_folders_are_told_apart_by_their_folder() {
    let (one, two) = (World::new(&[("example.org.zone", SOA)]), World::new(&[("example.org.zone", SOA)]));
    let arguments = [one.root().to_str().unwrap(), two.root().to_str().unwrap()];
    let reading = Source::new(&ClusterFolders::parse(&arguments).unwrap()).read();
    let expected = arguments.map(|folder| format!("file {folder}/example.org.zone 3"));
    assert_eq!(told(&reading), expected);
}
