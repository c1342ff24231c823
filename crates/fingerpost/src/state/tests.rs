#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

use super::saved_file::tests::{key, zone};
use super::*;

fn manifests(path: &str, text: &str) -> SavedFile {
    let content = SavedContent::Manifests { text: text.into(), last_valid: Vec::new() };
    SavedFile { key: key(path), content }
}

fn saved_zone(serial: u32) -> SavedZone {
    SavedZone { own: zone(serial), base: None, names: Value::Null }
}

fn damage(path: &Path, octets: &[u8]) {
    for path in [path.to_owned(), sealed::copy_of(path)] {
        fs::write(path, octets).unwrap();
    }
}

/// A zone that is a change over a zone file.
fn over_a_file(serial: u32) -> SavedZone {
    SavedZone { base: Some(zone(serial)), names: serde_json::json!([1]), ..saved_zone(serial + 1) }
}

fn zone_file(path: &str, serial: u32) -> SavedFile {
    let texts = ZoneTexts { text: "ab".into(), ..ZoneTexts::default() };
    let content = SavedContent::Zone(SavedZoneFile { zone: zone(serial), texts, notes: Vec::new() });
    SavedFile { key: key(path), content }
}

fn serials(serial: u32) -> BTreeMap<Name, SavedSerial> {
    BTreeMap::from([(Name::parse("example.org").unwrap(), SavedSerial { serial, hash: 7 })])
}

fn files_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn stored_file(state: &StateDir) -> PathBuf {
    state.saved_files().into_iter().next().unwrap()
}

#[test]
fn a_second_process_is_told_that_the_directory_is_in_use() {
    let folder = tempfile::tempdir().unwrap();
    let first = StateDir::open(folder.path()).unwrap();
    let error = StateDir::open(folder.path()).unwrap_err();
    assert!(matches!(error, StateError::InUse(_)));
    assert!(error.to_string().contains("--state DIR"), "{error}");
    drop(first);
    StateDir::open(folder.path()).unwrap();
}

#[test]
fn a_directory_that_cannot_be_made_is_an_error_that_names_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("file"), "").unwrap();
    let error = StateDir::open(&folder.path().join("file/below")).unwrap_err();
    assert!(error.to_string().contains("--state DIR"), "{error}");
}

#[test]
fn what_was_saved_is_there_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let zones: SavedZones = vec![("weu".into(), vec![saved_zone(1), over_a_file(5)]), ("neu".into(), vec![])];
    let state = StateDir::open(folder.path()).unwrap();
    state.save_file(manifests("a.yaml", "a: 1"));
    state.save_file(zone_file("example.org.zone", 5));
    state.save_serials(&serials(2026111601));
    state.save_zones(zones.clone());
    drop(state);

    let state = StateDir::open(folder.path()).unwrap();
    assert_eq!(state.load_file(&key("a.yaml")).unwrap(), manifests("a.yaml", "a: 1"));
    assert_eq!(state.load_file(&key("example.org.zone")).unwrap(), zone_file("example.org.zone", 5));
    assert_eq!(state.load_file(&key("b.yaml")), None);
    assert_eq!(state.load_serials(), serials(2026111601));
    assert_eq!(state.load_zones(), zones);
    assert_eq!(state.take_problems(), Vec::<String>::new());
}

#[test]
fn an_empty_directory_has_nothing_and_no_problem() {
    let folder = tempfile::tempdir().unwrap();
    let state = StateDir::open(folder.path()).unwrap();
    assert!(state.load_serials().is_empty());
    assert!(state.load_zones().is_empty());
    assert!(state.load_folder("default", "/etc/dns").is_empty());
    assert!(state.take_problems().is_empty());
}

#[test]
fn a_file_torn_at_every_octet_is_replaced_by_its_copy_and_set_aside_where_both_are_torn() {
    let folder = tempfile::tempdir().unwrap();
    let state = StateDir::open(folder.path()).unwrap();
    state.save_file(manifests("a.yaml", "a: 1"));
    state.flush();
    let path = stored_file(&state);
    let whole = fs::read(&path).unwrap();
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        assert_eq!(state.load_file(&key("a.yaml")), Some(manifests("a.yaml", "a: 1")));
        let problems = state.take_problems();
        assert!(problems.len() == 1 && problems[0].contains("its copy is used"), "{problems:?}");
        state.flush();
        assert_eq!(fs::read(&path).unwrap(), whole);
        assert_eq!(fs::read(path.with_extension(format!("bad-{}", length + 1))).unwrap(), whole[..length]);
    }
    for length in 0..whole.len() {
        damage(&path, &whole[..length]);
        assert_eq!(state.load_file(&key("a.yaml")), None, "torn after {length} octets");
        let problems = state.take_problems();
        assert!(problems.len() == 2 && problems[0].contains("set aside"), "{problems:?}");
        assert!(!path.exists());
    }
    fs::write(&path, &whole).unwrap();
    assert_eq!(state.load_file(&key("a.yaml")).unwrap(), manifests("a.yaml", "a: 1"));
}

#[test]
fn a_whole_file_with_senseless_content_is_set_aside_too() {
    let folder = tempfile::tempdir().unwrap();
    let state = StateDir::open(folder.path()).unwrap();
    sealed::write(&folder.path().join(SERIALS), b"[1, 2]").unwrap();
    sealed::write(&folder.path().join(zones::INDEX), b"{}").unwrap();
    assert!(state.load_serials().is_empty());
    assert!(state.load_zones().is_empty());
    assert_eq!(state.take_problems().len(), 4, "both copies of both files");
    assert!(folder.path().join("serials.bad-1").exists());
}

#[test]
fn one_torn_zone_leaves_the_others() {
    let folder = tempfile::tempdir().unwrap();
    let state = StateDir::open(folder.path()).unwrap();
    state.save_zones(vec![("weu".into(), vec![saved_zone(1), saved_zone(2)])]);
    state.flush();
    drop(state);
    let index =
        zones::parse_index(&sealed::read(&folder.path().join(zones::INDEX)).unwrap().unwrap()).unwrap();
    damage(&folder.path().join(zones::BLOBS).join(&index[0].1[0].own), b"torn");
    let state = StateDir::open(folder.path()).unwrap();
    assert_eq!(state.load_zones(), vec![("weu".into(), vec![saved_zone(2)])]);
    assert_eq!(state.take_problems().len(), 2);
}

#[test]
fn a_changed_zone_writes_that_zone_and_removes_the_old_one() {
    let folder = tempfile::tempdir().unwrap();
    let state = StateDir::open(folder.path()).unwrap();
    state.save_zones(vec![("weu".into(), vec![saved_zone(1), saved_zone(2)])]);
    state.flush();
    let before = files_in(&folder.path().join(zones::BLOBS));
    state.save_zones(vec![("weu".into(), vec![saved_zone(1), saved_zone(3)])]);
    state.flush();
    let after = files_in(&folder.path().join(zones::BLOBS));
    assert_eq!(after.len(), 4, "two zones in two copies");
    assert_eq!(after.iter().filter(|name| before.contains(name)).count(), 2);
    assert_eq!(state.load_zones(), vec![("weu".into(), vec![saved_zone(1), saved_zone(3)])]);
}

#[test]
fn a_zone_file_and_the_views_that_serve_it_have_one_packed_zone_on_disk_and_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let state = StateDir::open(folder.path()).unwrap();
    state.save_file(zone_file("example.org.zone", 5));
    state.save_zones(vec![("weu".into(), vec![over_a_file(5)]), ("neu".into(), vec![over_a_file(5)])]);
    drop(state);
    assert_eq!(files_in(&folder.path().join(zones::BLOBS)).len(), 4, "what is over the file, and the file");
    let state = StateDir::open(folder.path()).unwrap();
    let zones = state.load_zones();
    let bases: Vec<_> = zones.iter().map(|(_, zones)| zones[0].base.clone().unwrap()).collect();
    let SavedContent::Zone(file) = state.load_file(&key("example.org.zone")).unwrap().content else {
        panic!("it is a zone file");
    };
    assert!(Arc::ptr_eq(&bases[0], &bases[1]) && Arc::ptr_eq(&bases[0], &file.zone));
}

#[test]
fn a_zone_files_packed_zone_stays_while_only_the_file_has_it() {
    let folder = tempfile::tempdir().unwrap();
    let state = StateDir::open(folder.path()).unwrap();
    state.save_file(zone_file("example.org.zone", 5));
    state.save_zones(vec![("weu".into(), vec![saved_zone(1)])]);
    state.flush();
    assert!(state.load_file(&key("example.org.zone")).is_some());
    assert_eq!(files_in(&folder.path().join(zones::BLOBS)).len(), 4);
    state.forget_file(&key("example.org.zone"));
    state.save_zones(vec![("weu".into(), vec![saved_zone(1)])]);
    state.flush();
    assert_eq!(files_in(&folder.path().join(zones::BLOBS)).len(), 2, "and goes with it");
}

#[test]
fn a_packed_zone_with_any_octet_changed_is_set_aside_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let state = StateDir::open(folder.path()).unwrap();
    state.save_zones(zones(1));
    state.flush();
    let blobs = folder.path().join(zones::BLOBS);
    let path = blobs.join(&files_in(&blobs)[0]);
    let whole = fs::read(&path).unwrap();
    drop(state);
    let state = StateDir::open(folder.path()).unwrap();
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 1 << (at % 8);
        for damaged in [&changed[..], &whole[..at]] {
            fs::write(&path, damaged).unwrap();
            assert_eq!(state.load_zones(), zones(1), "octet {at}: its copy is used");
            assert_eq!(state.take_problems().len(), 1);
            state.flush();
            assert_eq!(fs::read(&path).unwrap(), whole);
            fs::remove_file(path.with_extension("bad-1")).unwrap();
            damage(&path, damaged);
            assert_eq!(state.load_zones(), [("weu".to_owned(), vec![])], "octet {at}");
            assert!(state.take_problems()[0].contains("set aside"), "octet {at}");
            assert!(!path.exists());
            for ending in ["bad-1", "copy.bad-1"] {
                fs::remove_file(path.with_extension(ending)).unwrap();
            }
            damage(&path, &whole);
        }
    }
    assert_eq!(state.load_zones(), zones(1));
}

#[test]
fn a_packed_zone_under_the_name_of_another_is_not_taken_for_it() {
    let folder = tempfile::tempdir().unwrap();
    let state = StateDir::open(folder.path()).unwrap();
    state.save_zones(vec![("weu".into(), vec![saved_zone(1), saved_zone(2)])]);
    state.flush();
    let blobs = folder.path().join(zones::BLOBS);
    let names: Vec<String> = files_in(&blobs).into_iter().filter(|name| !name.contains('.')).collect();
    damage(&blobs.join(&names[1]), &fs::read(blobs.join(&names[0])).unwrap());
    // Who wrote them may still have them in memory, where they are what they were.
    drop(state);
    let state = StateDir::open(folder.path()).unwrap();
    assert_eq!(state.load_zones()[0].1.len(), 1);
    assert_eq!(state.take_problems().len(), 2);
}

#[test]
fn what_a_write_that_was_interrupted_left_is_not_read_and_goes_with_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let state = StateDir::open(folder.path()).unwrap();
    state.save_zones(zones(1));
    state.flush();
    let blobs = folder.path().join(zones::BLOBS);
    fs::write(blobs.join("0123.new"), "fingerpost state 1").unwrap();
    fs::write(folder.path().join("zones.new"), "fingerpost").unwrap();
    drop(state);
    let state = StateDir::open(folder.path()).unwrap();
    assert_eq!(state.load_zones(), zones(1));
    state.save_zones(zones(2));
    state.flush();
    assert_eq!(files_in(&blobs).len(), 2);
    assert_eq!(state.load_zones(), zones(2));
    assert_eq!(state.take_problems(), Vec::<String>::new());
}

#[test]
fn saving_the_same_again_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let state = StateDir::open(folder.path()).unwrap();
    let save = || {
        state.save_file(manifests("a.yaml", "a: 1"));
        state.save_zones(zones(1));
        state.save_serials(&serials(1));
        state.flush();
        let zone = folder.path().join(zones::BLOBS).join(&files_in(&folder.path().join(zones::BLOBS))[0]);
        let paths =
            [stored_file(&state), folder.path().join(SERIALS), folder.path().join(zones::INDEX), zone];
        paths.map(|path| std::os::unix::fs::MetadataExt::ino(&fs::metadata(path).unwrap()))
    };
    assert_eq!(save(), save());
}

#[test]
fn a_folder_gives_back_its_own_files_only() {
    let folder = tempfile::tempdir().unwrap();
    let state = StateDir::open(folder.path()).unwrap();
    let mut other = manifests("c.yaml", "c: 1");
    other.key.folder = "/etc/other".into();
    for saved in [&manifests("b.yaml", "b: 1"), &manifests("a.yaml", "a: 1"), &other] {
        state.save_file(saved.clone());
    }
    state.flush();
    let found = state.load_folder("default", "/etc/dns");
    assert_eq!(found, [manifests("a.yaml", "a: 1"), manifests("b.yaml", "b: 1")]);
}

#[test]
fn a_forgotten_file_is_gone_and_the_others_stay() {
    let folder = tempfile::tempdir().unwrap();
    let state = StateDir::open(folder.path()).unwrap();
    for path in ["a.yaml", "b.yaml", "c.yaml"] {
        state.save_file(manifests(path, "x: 1"));
    }
    state.forget_file(&key("a.yaml"));
    state.flush();
    assert_eq!(state.load_file(&key("a.yaml")), None);
    state.keep_only(&[key("c.yaml")]);
    state.flush();
    assert_eq!(state.saved_files().len(), 1);
    assert!(state.load_file(&key("c.yaml")).is_some());
}

#[test]
fn a_disk_that_refuses_is_reported_once_and_is_not_fatal() {
    let folder = tempfile::tempdir().unwrap();
    let state = StateDir::open(folder.path()).unwrap();
    // A folder in the place of the file aside refuses the write, for root too.
    fs::create_dir(folder.path().join("serials.new")).unwrap();
    state.save_serials(&serials(1));
    state.flush();
    state.save_serials(&serials(2));
    state.flush();
    let problems = state.take_problems();
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].contains("cannot be saved"), "{problems:?}");
    assert!(state.is_refused());
    fs::remove_dir(folder.path().join("serials.new")).unwrap();
    state.save_directions(&[]);
    state.flush();
    assert_eq!(state.load_serials(), serials(2), "what was refused is saved too");
    assert!(state.take_problems()[0].contains("is saved again"));
    assert!(!state.is_refused());
}

#[test]
fn nothing_but_its_owner_reads_the_state() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("state");
    // As an earlier version left it.
    fs::create_dir_all(root.join(FILES)).unwrap();
    fs::write(root.join(FILES).join("0123"), "a Secret").unwrap();
    for path in [root.clone(), root.join(FILES), root.join(FILES).join("0123")] {
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    let state = StateDir::open(&root).unwrap();
    state.save_file(manifests("secret.yaml", "kind: Secret"));
    state.save_serials(&serials(1));
    state.save_zones(zones(1));
    state.save_change("one".into());
    state.flush();
    let mut paths = vec![root];
    let mut files = 0;
    while let Some(path) = paths.pop() {
        let metadata = fs::metadata(&path).unwrap();
        let is_directory = metadata.is_dir();
        let expected = if is_directory { 0o700 } else { 0o600 };
        assert_eq!(metadata.mode() & 0o777, expected, "{}", path.display());
        files += usize::from(!is_directory);
        if is_directory {
            paths.extend(fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    assert_eq!(files, 12, "the lock, an old file, and five files in two copies");
}

fn text(octets: &[u8]) -> Option<String> {
    String::from_utf8(octets.to_vec()).ok()
}

fn zones(serial: u32) -> SavedZones {
    vec![("weu".into(), vec![saved_zone(serial)])]
}

#[test]
fn changes_of_the_zones_are_there_after_a_restart_until_the_zones_are_written_again() {
    let folder = tempfile::tempdir().unwrap();
    let state = StateDir::open(folder.path()).unwrap();
    assert!(state.wants_zones());
    state.save_zones(zones(1));
    assert!(!state.wants_zones());
    for change in ["one", "two"] {
        state.save_change(change.into());
        state.flush();
    }
    drop(state);
    let state = StateDir::open(folder.path()).unwrap();
    assert_eq!(state.load_changes(text), ["one", "two"]);
    assert!(state.wants_zones(), "a journal of an earlier process is not gone on with");
    state.save_zones(zones(1));
    state.save_change("three".into());
    state.flush();
    assert_eq!(state.load_changes(text), ["three"]);
    assert_eq!(state.take_problems(), Vec::<String>::new());
}

#[test]
fn a_change_that_makes_no_sense_ends_the_journal_there_and_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let state = StateDir::open(folder.path()).unwrap();
    state.save_zones(zones(1));
    for change in [b"one".to_vec(), vec![0xff], b"three".to_vec()] {
        state.save_change(change);
    }
    state.flush();
    assert_eq!(state.load_changes(text), ["one"]);
    assert!(state.take_problems()[0].contains("the 1 changes before"));
}

#[test]
fn a_crash_between_the_zones_and_their_journal_replays_nothing_over_them() {
    let folder = tempfile::tempdir().unwrap();
    let state = StateDir::open(folder.path()).unwrap();
    let journal = folder.path().join(journal::JOURNAL);
    state.save_zones(zones(1));
    state.save_change("old".into());
    state.flush();
    let old = fs::read(&journal).unwrap();
    let first = sealed::read(&folder.path().join(zones::INDEX)).unwrap().unwrap();
    state.save_zones(zones(2));
    state.flush();
    damage(&journal, &old);
    assert_eq!(state.load_changes(text), Vec::<String>::new());
    assert_eq!(state.take_problems(), Vec::<String>::new(), "it is no damage");

    // The zones become what they were, and again there is a crash before the journal begins anew.
    zones::write_index(folder.path(), &first).unwrap();
    assert_eq!(state.load_changes(text), Vec::<String>::new());
    damage(&journal, &old);
    assert_eq!(state.load_changes(text), ["old"], "which it would have replayed");
}

#[test]
fn a_journal_that_cannot_be_written_is_reported_and_the_zones_are_wanted_again() {
    let folder = tempfile::tempdir().unwrap();
    let state = StateDir::open(folder.path()).unwrap();
    fs::create_dir(folder.path().join("journal.new")).unwrap();
    state.save_zones(zones(1));
    state.save_change("lost".into());
    state.flush();
    assert!(state.wants_zones());
    assert_eq!(state.take_problems().len(), 1);
    assert_eq!(state.load_zones(), zones(1));
    fs::remove_dir(folder.path().join("journal.new")).unwrap();
    state.save_zones(zones(2));
    state.save_change("kept".into());
    state.flush();
    assert!(!state.wants_zones());
    assert_eq!(state.load_changes(text), ["kept"]);
}

#[test]
fn other_files_do_not_end_the_journal() {
    for round in 0..50 {
        let folder = tempfile::tempdir().unwrap();
        let state = StateDir::open(folder.path()).unwrap();
        state.save_serials(&serials(1));
        // The writer may be at the serials still, or not have begun.
        if round % 2 == 0 {
            std::thread::yield_now();
        }
        state.save_zones(zones(1));
        state.flush();
        assert!(!state.wants_zones());
        state.save_serials(&serials(2));
        state.flush();
        assert!(!state.wants_zones());
    }
}

#[test]
fn a_journal_with_a_changed_bit_anywhere_is_read_from_its_copy() {
    let folder = tempfile::tempdir().unwrap();
    let state = StateDir::open(folder.path()).unwrap();
    state.save_zones(zones(1));
    for change in ["one", "two"] {
        state.save_change(change.into());
    }
    state.flush();
    for path in journal::paths(folder.path()) {
        let whole = fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1 << (at % 8);
            fs::write(&path, &changed).unwrap();
            assert_eq!(state.load_changes(text), ["one", "two"], "octet {at}");
        }
        fs::write(&path, &whole).unwrap();
    }
}
