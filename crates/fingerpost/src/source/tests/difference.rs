use std::os::unix::fs::symlink;
use std::time::Duration;

use rstest::rstest;

use super::*;

#[test]
fn reading_again_without_a_change_says_nothing() {
    let world = World::new(&[("a.yaml", &record("a", "192.0.2.1"))]);
    let mut source = world.source();
    assert_eq!(told(&source.read()), ["put a=192.0.2.1"]);
    assert!(told(&source.read()).is_empty());
    world.replace("a.yaml", &record("a", "192.0.2.1"));
    assert!(told(&source.read()).is_empty(), "the same text in a new file is no change");
}

#[test]
fn only_the_changed_object_of_a_file_is_told() {
    let world = World::new(&[("a.yaml", &(record("a", "192.0.2.1") + &record("b", "192.0.2.2")))]);
    let mut source = world.source();
    source.read();
    world.write("a.yaml", &(record("a", "192.0.2.1") + &record("b", "192.0.2.3")));
    assert_eq!(told(&source.read()), ["put b=192.0.2.3"]);
}

#[test]
fn a_deleted_document_and_a_deleted_file_delete_their_objects() {
    let both = record("a", "192.0.2.1") + &record("b", "192.0.2.2");
    let world = World::new(&[("a.yaml", &both), ("sub/c.yaml", &record("c", "192.0.2.3"))]);
    let mut source = world.source();
    source.read();
    world.write("a.yaml", &record("a", "192.0.2.1"));
    assert_eq!(told(&source.read()), ["delete b"]);
    fs::remove_dir_all(world.root().join("sub")).unwrap();
    assert_eq!(told(&source.read()), ["delete c"]);
}

#[test]
fn an_object_that_moves_to_another_file_does_not_change() {
    let world = World::new(&[("b.yaml", &record("a", "192.0.2.1"))]);
    let mut source = world.source();
    source.read();
    fs::rename(world.root().join("b.yaml"), world.root().join("a.yaml")).unwrap();
    let reading = source.read();
    assert!(told(&reading).is_empty() && reading.problems.is_empty(), "{reading:?}");
}

/// The misspelt one comes first, and second, in the same file and in another one.
#[rstest]
#[case(&[("a.yaml", "WRONG---\nRIGHT")])]
#[case(&[("a.yaml", "RIGHT---\nWRONG")])]
#[case(&[("a.yaml", "WRONG"), ("b.yaml", "RIGHT")])]
#[case(&[("a.yaml", "RIGHT"), ("b.yaml", "WRONG")])]
fn a_misspelt_kind_has_one_error_and_takes_nothing_from_the_object_with_its_name(
    #[case] files: &[(&str, &str)],
) {
    let right = record("x", "192.0.2.1");
    let wrong = record("x", "192.0.2.2").replace("kind: Record", "kind: Recrod");
    let text = |text: &str| text.replace("RIGHT", &right).replace("WRONG", &wrong);
    let files: Vec<(&str, String)> = files.iter().map(|(name, content)| (*name, text(content))).collect();
    let files: Vec<(&str, &str)> = files.iter().map(|(name, content)| (*name, &content[..])).collect();
    let world = World::new(&files);
    let reading = world.source().read();
    assert_eq!(told(&reading), ["put x=192.0.2.1"]);
    let problems = world.problems(&reading);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].contains("there is no Recrod in"), "{problems:?}");
}

#[test]
fn an_object_in_two_files_is_the_first_paths_and_the_other_is_reported() {
    let world = World::new(&[("b.yaml", &record("x", "192.0.2.2")), ("a.yaml", &record("x", "192.0.2.1"))]);
    let mut source = world.source();
    let reading = source.read();
    assert_eq!(told(&reading), ["put x=192.0.2.1"]);
    let problems = world.problems(&reading);
    assert_eq!(problems.len(), 1);
    assert!(
        problems[0].starts_with("b.yaml:2:1: Record default/x is declared already in a.yaml:2"),
        "{problems:?}"
    );
    world.remove("a.yaml");
    let reading = source.read();
    assert_eq!(told(&reading), ["put x=192.0.2.2"], "the other one takes over");
    assert!(reading.problems.is_empty());
}

#[test]
fn an_object_twice_in_one_file_is_the_first_one() {
    let world = World::new(&[("a.yaml", &(record("x", "192.0.2.1") + &record("x", "192.0.2.2")))]);
    let reading = world.source().read();
    assert_eq!(told(&reading), ["put x=192.0.2.1"]);
    assert!(
        world.problems(&reading)[0].starts_with("a.yaml:11:1: Record default/x"),
        "{:?}",
        reading.problems
    );
}

#[test]
fn the_same_object_in_two_clusters_is_two_objects() {
    let (weu, neu) = (
        World::new(&[("a.yaml", &record("x", "192.0.2.1"))]),
        World::new(&[("a.yaml", &record("x", "192.0.2.2"))]),
    );
    let arguments = [format!("weu={}", weu.root().display()), format!("neu={}", neu.root().display())];
    let reading = Source::new(&ClusterFolders::parse(&arguments).unwrap()).read();
    assert_eq!(told(&reading), ["put x=192.0.2.1", "put x=192.0.2.2"]);
    assert!(matches!(reading.changes[1], Change::Put(planner::ClusterId(1), _)));
    assert!(reading.problems.is_empty());
}

#[test]
fn two_folders_of_one_cluster_are_one_world_and_the_first_folder_wins() {
    let (one, two) = (
        World::new(&[("b.yaml", &record("x", "192.0.2.1"))]),
        World::new(&[("a.yaml", &record("x", "192.0.2.2"))]),
    );
    let arguments = [one.root().to_str().unwrap(), two.root().to_str().unwrap()];
    let reading = Source::new(&ClusterFolders::parse(&arguments).unwrap()).read();
    assert_eq!(told(&reading), ["put x=192.0.2.1"]);
    assert_eq!(reading.problems.len(), 1);
    assert!(reading.problems[0].path.starts_with(two.root()));
}

#[test]
fn a_file_that_is_not_yaml_any_more_keeps_its_content() {
    let world = World::new(&[("a.yaml", &record("a", "192.0.2.1"))]);
    let mut source = world.source();
    source.read();
    world.write("a.yaml", "kind: [\n");
    let reading = source.read();
    assert!(told(&reading).is_empty());
    assert_eq!(world.problems(&reading).len(), 1);
    assert_eq!(source.read().problems.len(), 1, "the problem stands until it is mended");
    world.write("a.yaml", &record("a", "192.0.2.2"));
    let reading = source.read();
    assert_eq!(told(&reading), ["put a=192.0.2.2"]);
    assert!(reading.problems.is_empty());
}

#[test]
fn a_broken_object_is_told_once_and_heals() {
    let world = World::new(&[("a.yaml", &record("a", "192.0.2.1"))]);
    let mut source = world.source();
    source.read();
    world.write("a.yaml", &broken_record("a"));
    assert_eq!(told(&source.read()), ["broken a"]);
    world.write("a.yaml", &(broken_record("a") + "# a remark\n"));
    assert!(told(&source.read()).is_empty());
    world.write("a.yaml", &record("a", "192.0.2.1"));
    assert_eq!(told(&source.read()), ["put a=192.0.2.1"]);
}

#[test]
fn a_misspelt_kind_deletes_nothing() {
    let both = record("a", "192.0.2.1") + &record("b", "192.0.2.2");
    let world = World::new(&[("a.yaml", &both)]);
    let mut source = world.source();
    source.read();
    world.write("a.yaml", &both.replacen("kind: Record", "kind: Recrod", 1));
    let reading = source.read();
    assert_eq!(told(&reading), ["broken a"]);
    let problems = world.problems(&reading);
    assert!(problems.len() == 1 && problems[0].contains("there is no Recrod"), "{problems:?}");
    world.write("a.yaml", &record("b", "192.0.2.2"));
    assert_eq!(told(&source.read()), ["delete a"]);
}

#[test]
fn a_folder_that_disappears_changes_nothing_and_is_reported() {
    let world = World::new(&[("dns/a.yaml", &record("a", "192.0.2.1"))]);
    let folder = world.root().join("dns");
    let mut source = Source::new(&ClusterFolders::parse(&[folder.to_str().unwrap()]).unwrap());
    source.read();
    fs::rename(&folder, world.root().join("away")).unwrap();
    let reading = source.read();
    assert!(told(&reading).is_empty());
    assert_eq!(reading.objects, 1);
    assert!(reading.problems[0].to_string().contains("the folder cannot be read"), "{:?}", reading.problems);
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("a.yaml"), record("a", "192.0.2.2")).unwrap();
    let reading = source.read();
    assert_eq!(told(&reading), ["put a=192.0.2.2"]);
    assert!(reading.problems.is_empty());
}

#[test]
fn a_file_that_cannot_be_read_keeps_its_content() {
    let world = World::new(&[("a.yaml", &record("a", "192.0.2.1"))]);
    let mut source = world.source();
    source.read();
    world.remove("a.yaml");
    // A link to itself cannot be opened by anybody, root included.
    symlink("a.yaml", world.root().join("a.yaml")).unwrap();
    let reading = source.read();
    assert!(told(&reading).is_empty());
    assert!(world.problems(&reading)[0].starts_with("a.yaml: it cannot be read"), "{:?}", reading.problems);
}

#[test]
fn an_empty_folder_says_what_to_put_there() {
    let world = World::new(&[("README.md", "nothing")]);
    let reading = world.source().read();
    assert_eq!(reading.problems.len(), 1);
    assert!(reading.problems[0].message.contains(".yaml"), "{:?}", reading.problems);
}

#[test]
fn progress_counts_every_file() {
    let world = World::new(&[("a.yaml", ""), ("b/c.yaml", ""), ("d.json", "")]);
    let mut seen = Vec::new();
    world.source().read_with_progress(&mut |progress| seen.push((progress.files, progress.all_files)));
    assert_eq!(seen, [(1, 3), (2, 3), (3, 3)]);
}

#[test]
fn progress_counts_every_octet_and_the_records_of_zone_files() {
    let zone = "@ 60 IN SOA ns host 1 2 3 4 5\nwww 60 IN A 192.0.2.1\n";
    let world = World::new(&[("a.yaml", &record("a", "192.0.2.1")), ("example.org.zone", zone)]);
    let mut seen = Vec::new();
    world.source().read_with_progress(&mut |progress| seen.push(*progress));
    let last = seen.last().unwrap();
    assert_eq!((last.octets, last.files, last.records), (last.all_octets, 2, 0), "{seen:?}");
    assert!(seen.iter().any(|progress| progress.records == 2), "{seen:?}");
    assert!(seen.is_sorted_by_key(|progress| progress.octets), "{seen:?}");
}

#[test]
fn a_file_that_is_gone_or_empty_for_a_moment_changes_nothing() {
    let world = World::new(&[("a.yaml", &record("a", "192.0.2.1")), ("b.yaml", &record("b", "192.0.2.2"))]);
    let mut source = world.source().with_patience(Duration::from_secs(60));
    source.read();
    world.remove("a.yaml");
    world.write("b.yaml", "");
    let reading = source.read();
    assert!(told(&reading).is_empty() && reading.unsettled);
    world.write("a.yaml", &record("a", "192.0.2.1"));
    world.write("b.yaml", &record("b", "192.0.2.3"));
    let reading = source.read();
    assert_eq!(told(&reading), ["put b=192.0.2.3"]);
    assert!(!reading.unsettled);
}

#[test]
fn a_renamed_file_is_no_second_declaration_while_the_old_name_is_doubted() {
    for (from, to) in [("a.yaml", "b.yaml"), ("b.yaml", "a.yaml")] {
        let world = World::new(&[(from, &record("a", "192.0.2.1"))]);
        let mut source = world.source().with_patience(Duration::from_secs(60));
        source.read();
        fs::rename(world.root().join(from), world.root().join(to)).unwrap();
        let reading = source.read();
        assert!(reading.unsettled && told(&reading).is_empty(), "{reading:?}");
        assert!(reading.problems.is_empty(), "{reading:?}");
    }
}

#[test]
fn a_file_that_stays_gone_is_believed() {
    let world = World::new(&[("a.yaml", &record("a", "192.0.2.1")), ("b.yaml", &record("b", "192.0.2.2"))]);
    let mut source = world.source().with_patience(Duration::from_millis(20));
    source.read();
    world.remove("a.yaml");
    assert!(told(&source.read()).is_empty());
    std::thread::sleep(Duration::from_millis(25));
    let reading = source.read();
    assert_eq!(told(&reading), ["delete a"]);
    assert!(!reading.unsettled);
}

#[test]
fn a_config_map_is_swapped_in_one_reading() {
    let world =
        World::new(&[("..1/a.yaml", &record("a", "192.0.2.1")), ("..2/a.yaml", &record("a", "192.0.2.2"))]);
    symlink("..1", world.root().join("..data")).unwrap();
    symlink("..data/a.yaml", world.root().join("a.yaml")).unwrap();
    let mut source = world.source();
    assert_eq!(told(&source.read()), ["put a=192.0.2.1"]);
    symlink("..2", world.root().join("..data_tmp")).unwrap();
    fs::rename(world.root().join("..data_tmp"), world.root().join("..data")).unwrap();
    let reading = source.read_changed(&[world.root().join("..data")]).unwrap();
    assert_eq!(told(&reading), ["put a=192.0.2.2"]);
}

#[test]
fn an_event_costs_the_file_that_it_names() {
    let world = World::new(&[("a.yaml", &record("a", "192.0.2.1")), ("b.yaml", &record("b", "192.0.2.1"))]);
    let mut source = world.source();
    source.read();
    world.write("a.yaml", &record("a", "192.0.2.2"));
    world.write("b.yaml", &record("b", "192.0.2.2"));
    let reading = source.read_changed(&[world.root().join("a.yaml")]).unwrap();
    assert_eq!(told(&reading), ["put a=192.0.2.2"], "b was not looked at");
    assert_eq!(told(&source.read()), ["put b=192.0.2.2"]);
}

#[test]
fn events_of_other_files_are_no_concern() {
    let world = World::new(&[("a.yaml", &record("a", "192.0.2.1")), ("notes.txt", ""), (".git/x", "")]);
    let mut source = world.source();
    source.read();
    let paths = ["notes.txt", ".git/x", ".a.yaml.swp", "4913"].map(|path| world.root().join(path));
    assert!(source.read_changed(&paths).is_none());
    assert!(source.read_changed(&["/elsewhere/a.yaml".into()]).is_none());
}
