use std::os::unix::fs::symlink;

use super::*;

/// Reads once as a process of its own.
fn run(world: &World) -> Vec<String> {
    told(&world.source_with_state().read())
}

#[test]
fn a_file_that_broke_while_nobody_watched_has_its_last_content() {
    let world = World::new(&[("a.yaml", &(record("a", "192.0.2.1") + &record("b", "192.0.2.2")))]);
    run(&world);
    world.write("a.yaml", "kind: [\n");
    let reading = world.source_with_state().read();
    assert_eq!(told(&reading), ["put a=192.0.2.1", "put b=192.0.2.2"]);
    assert_eq!(reading.problems.len(), 1);
    assert_eq!(run(&world), ["put a=192.0.2.1", "put b=192.0.2.2"], "and after every further restart");
}

#[test]
fn an_object_that_broke_while_nobody_watched_has_its_last_valid_version_first() {
    let world = World::new(&[("a.yaml", &record("a", "192.0.2.1"))]);
    run(&world);
    world.write("a.yaml", &(broken_record("a") + &record("b", "192.0.2.2")));
    assert_eq!(run(&world), ["put a=192.0.2.1", "broken a", "put b=192.0.2.2"]);
    assert_eq!(run(&world), ["put a=192.0.2.1", "broken a", "put b=192.0.2.2"]);
}

#[test]
fn an_object_that_broke_before_the_restart_has_its_last_valid_version() {
    let world = World::new(&[("a.yaml", &record("a", "192.0.2.1"))]);
    let mut source = world.source_with_state();
    source.read();
    world.write("a.yaml", &record("a", "192.0.2.2"));
    source.read();
    world.write("a.yaml", &invalid_record("a"));
    assert_eq!(told(&source.read()), ["put a=not-an-address"]);
    drop(source);
    assert_eq!(run(&world), ["put a=192.0.2.2", "put a=not-an-address"]);
    world.write("a.yaml", "kind: [\n");
    assert_eq!(run(&world), ["put a=192.0.2.2", "put a=not-an-address"]);
}

#[test]
fn a_healed_object_forgets_its_last_valid_version() {
    let world = World::new(&[("a.yaml", &record("a", "192.0.2.1"))]);
    run(&world);
    world.write("a.yaml", &broken_record("a"));
    run(&world);
    world.write("a.yaml", &record("a", "192.0.2.3"));
    assert_eq!(run(&world), ["was a=192.0.2.1", "put a=192.0.2.3"], "the one in force comes first");
    assert_eq!(run(&world), ["put a=192.0.2.3"]);
    world.write("a.yaml", &broken_record("a"));
    assert_eq!(run(&world), ["put a=192.0.2.3", "broken a"]);
}

#[test]
fn a_kind_misspelt_while_nobody_watched_deletes_nothing() {
    let both = record("a", "192.0.2.1") + &record("b", "192.0.2.2");
    let world = World::new(&[("a.yaml", &both)]);
    run(&world);
    world.write("a.yaml", &both.replacen("kind: Record", "kind: Recrod", 1));
    assert_eq!(run(&world), ["put a=192.0.2.1", "broken a", "put b=192.0.2.2"]);
    assert_eq!(run(&world), ["put a=192.0.2.1", "broken a", "put b=192.0.2.2"]);
}

#[test]
fn a_file_deleted_while_nobody_watched_is_gone() {
    let world = World::new(&[("a.yaml", &record("a", "192.0.2.1")), ("b.yaml", &record("b", "192.0.2.2"))]);
    run(&world);
    world.remove("a.yaml");
    assert_eq!(run(&world), ["put b=192.0.2.2"]);
    symlink("a.yaml", world.root().join("a.yaml")).unwrap();
    assert_eq!(run(&world), ["put b=192.0.2.2"], "its state went with it");
}

#[test]
fn a_folder_that_is_gone_at_the_start_has_its_last_content() {
    let zone = "@ 60 IN SOA ns host 1 2 3 4 5\n@ 60 IN NS ns.example.net.\n";
    let world = World::new(&[("dns/a.yaml", &record("a", "192.0.2.1")), ("dns/example.org.zone", zone)]);
    let folder = world.root().join("dns");
    let clusters = ClusterFolders::parse(&[folder.to_str().unwrap()]).unwrap();
    let source = || Source::new(&clusters).with_state(Arc::new(StateDir::open(world.state.path()).unwrap()));
    source().read();
    fs::rename(&folder, world.root().join("away")).unwrap();
    let mut later = source();
    let reading = later.read();
    assert_eq!(told(&reading), ["file example.org.zone 2", "put a=192.0.2.1"]);
    assert!(reading.problems[0].message.contains("the folder cannot be read"));
    fs::rename(world.root().join("away"), &folder).unwrap();
    fs::write(folder.join("a.yaml"), record("a", "192.0.2.9")).unwrap();
    let reading = later.read();
    assert!(
        told(&reading).contains(&"put a=192.0.2.9".to_owned()) && reading.problems.is_empty(),
        "{reading:?}"
    );
}

#[test]
fn a_zone_file_that_broke_while_nobody_watched_has_its_last_content_first() {
    let zone = "@ 60 IN SOA ns host 1 2 3 4 5\n@ 60 IN NS ns.example.net.\n$INCLUDE more.inc\n";
    let world = World::new(&[("example.org.zone", zone), ("more.inc", "www 60 IN A 192.0.2.1\n")]);
    assert_eq!(run(&world), ["file example.org.zone 3"]);
    world.remove("more.inc");
    assert_eq!(run(&world), ["file example.org.zone 3", "broken file example.org.zone example.org."]);
}

/// Reads once as a process of its own; says what is told, and whether records were read.
fn run_and_count(world: &World) -> (Vec<String>, bool) {
    let mut any = false;
    let reading = world.source_with_state().read_with_progress(&mut |progress| any |= progress.records > 0);
    (told(&reading), any)
}

#[test]
fn a_zone_file_with_the_same_text_is_not_read_again() {
    let zone = "@ 60 IN SOA ns host 1 2 3 4 5\n@ 60 IN NS ns.example.net.\nx.net. 60 IN A 192.0.2.1\n";
    let world = World::new(&[("example.org.zone", &format!("{zone}$INCLUDE more.inc\n"))]);
    world.write("more.inc", "www 60 IN A 192.0.2.1\n");
    let expected = vec!["file example.org.zone 3".to_owned()];
    assert_eq!(run_and_count(&world), (expected.clone(), true));
    // Another file with the same text is the same.
    world.write("example.org.zone", &format!("{zone}$INCLUDE more.inc\n"));
    assert_eq!(run_and_count(&world), (expected.clone(), false));
    let mut source = world.source_with_state();
    let reading = source.read();
    assert!(reading.problems[0].message.contains("x.net. does not lie in the zone"), "{reading:?}");

    world.write("more.inc", "www 60 IN A 192.0.2.1\nw 60 IN A 192.0.2.1\n");
    assert_eq!(told(&source.read()), ["file example.org.zone 4"], "what it includes is watched");
    world.write("more.inc", "www 60 IN A 192.0.2.2\n");
    drop(source);
    assert_eq!(run_and_count(&world), (expected.clone(), true), "another text that it includes");
    world.write("example.org.zone", zone);
    assert_eq!(run_and_count(&world), (vec!["file example.org.zone 2".to_owned()], true), "another text");
}

#[test]
fn a_zone_file_whose_packed_zone_is_gone_from_the_state_is_read() {
    let zone = "@ 60 IN SOA ns host 1 2 3 4 5\n@ 60 IN NS ns.example.net.\n";
    let world = World::new(&[("example.org.zone", zone)]);
    let expected = vec!["file example.org.zone 2".to_owned()];
    assert_eq!(run_and_count(&world), (expected.clone(), true));
    for entry in fs::read_dir(world.state.path().join("zone")).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    assert_eq!(run_and_count(&world), (expected.clone(), true));
    assert_eq!(run_and_count(&world), (expected, false), "and is there again");
}

#[test]
fn without_a_state_directory_a_broken_file_has_nothing() {
    let world = World::new(&[("a.yaml", "kind: [\n")]);
    assert!(told(&world.source().read()).is_empty());
}

#[test]
fn a_torn_state_is_reported_and_the_folder_is_read_all_the_same() {
    let world = World::new(&[("a.yaml", &record("a", "192.0.2.1"))]);
    run(&world);
    for entry in fs::read_dir(world.state.path().join("file")).unwrap() {
        fs::write(entry.unwrap().path(), "torn").unwrap();
    }
    world.write("a.yaml", &(broken_record("a") + &record("b", "192.0.2.2")));
    let state = Arc::new(StateDir::open(world.state.path()).unwrap());
    let reading = world.source().with_state(state.clone()).read();
    assert_eq!(told(&reading), ["broken a", "put b=192.0.2.2"]);
    assert_eq!(state.take_problems().len(), 2, "both copies");
}

#[test]
fn an_object_that_was_edited_while_nobody_watched_has_its_version_before_first() {
    let both = |address: &str| record("a", address) + &record("b", "192.0.2.2");
    let world = World::new(&[("a.yaml", &both("192.0.2.1"))]);
    run(&world);
    world.write("a.yaml", &both("192.0.2.9"));
    assert_eq!(run(&world), ["was a=192.0.2.1", "put a=192.0.2.9", "put b=192.0.2.2"]);
    assert_eq!(run(&world), ["put a=192.0.2.9", "put b=192.0.2.2"], "the text is the one that was kept");
    world.remove("a.yaml");
    world.write("b.yaml", &record("c", "192.0.2.3"));
    assert_eq!(run(&world), ["put c=192.0.2.3"]);
}

#[test]
fn an_object_that_moved_to_another_file_while_nobody_watched_has_its_version_before_first() {
    let world = World::new(&[("a.yaml", &record("a", "192.0.2.1")), ("b.yaml", &record("b", "192.0.2.2"))]);
    run(&world);
    world.remove("a.yaml");
    world.write("z.yaml", &record("a", "192.0.2.9"));
    assert_eq!(run(&world), ["was a=192.0.2.1", "put a=192.0.2.9", "put b=192.0.2.2"]);
    world.write("b.yaml", &record("c", "192.0.2.3"));
    world.write("z.yaml", &(record("a", "192.0.2.9") + &broken_record("b")));
    assert_eq!(run(&world), ["put a=192.0.2.9", "put b=192.0.2.2", "broken b", "put c=192.0.2.3"]);
}

#[test]
fn a_folder_that_moved_while_nobody_watched_has_its_last_content() {
    let zone = "@ 60 IN SOA ns host 1 2 3 4 5\n@ 60 IN NS ns.example.net.\n";
    let world =
        World::new(&[("dns/a.yaml", &record("a", "192.0.2.1")), ("dns/b.yaml", &record("b", "192.0.2.2"))]);
    world.write("dns/example.org.zone", zone);
    let run = |folder: &str| {
        let clusters = ClusterFolders::parse(&[world.root().join(folder).to_str().unwrap()]).unwrap();
        let state = Arc::new(StateDir::open(world.state.path()).unwrap());
        told(&Source::new(&clusters).with_state(state).read())
    };
    run("dns");
    fs::rename(world.root().join("dns"), world.root().join("moved")).unwrap();
    world.write("moved/a.yaml", "kind: [\n");
    world.write("moved/b.yaml", &record("b", "192.0.2.9"));
    world.write("moved/example.org.zone", "");
    let zone = ["file example.org.zone 2", "broken file example.org.zone example.org."];
    let first = [&zone[..], &["put a=192.0.2.1", "was b=192.0.2.2", "put b=192.0.2.9"]].concat();
    assert_eq!(run("moved"), first);
    assert_eq!(run("moved"), [&zone[..], &["put a=192.0.2.1", "put b=192.0.2.9"]].concat());
}
