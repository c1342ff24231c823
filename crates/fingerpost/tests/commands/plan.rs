//! `plan`: what differs, and the exit codes.

use rstest::rstest;

use crate::folder::{Folder, ZONE, record};
use crate::{fingerpost, root};

const DATE: &[&str] = &["--date", "2026-01-02"];

fn world(address: &str) -> Folder {
    Folder::with(&[("zone.yaml", ZONE), ("www.yaml", &record("www", address))])
}

#[test]
fn nothing_changed_is_0_and_something_changed_is_2() {
    let (before, after) = (world("192.0.2.1"), world("192.0.2.2"));
    let same = fingerpost(&[&["plan", after.argument(), "--against", after.argument()], DATE].concat());
    assert_eq!((same.code, same.stdout.as_str()), (0, "No changes.\n"));
    let changed = fingerpost(&[&["plan", after.argument(), "--against", before.argument()], DATE].concat());
    assert_eq!(changed.code, 2);
    let row = "  ~ *  www.example.org.  360  A  192.0.2.1 → 192.0.2.2  Record dns/www\n";
    assert!(changed.stdout.contains(row), "{}", changed.stdout);
    assert!(changed.stdout.ends_with("\nPlan: 0 to add, 1 to change, 0 to remove.\n"), "{}", changed.stdout);
}

#[test]
fn a_saved_plan_is_as_good_as_its_folder_on_any_later_day() {
    let folder = world("192.0.2.1");
    let saved = fingerpost(&[&["plan", folder.argument(), "-o", "json"], DATE].concat());
    let store = Folder::with(&[("plan.json", &saved.stdout)]);
    let file = store.path().join("plan.json");
    let later = ["--date", "2026-03-04", "--against", file.to_str().unwrap()];
    let same = fingerpost(&[&["plan", folder.argument()], &later[..]].concat());
    assert_eq!((same.code, same.stdout.as_str()), (0, "No changes.\n"));
    folder.write("mail.yaml", &record("mail", "192.0.2.25"));
    let changed = fingerpost(&[&["plan", folder.argument()], &later[..]].concat());
    assert_eq!(changed.code, 2);
    assert!(changed.stdout.contains("serial 2026010200 → serial 2026030400"), "{}", changed.stdout);
}

#[test]
fn differences_are_data_too() {
    let (before, after) = (world("192.0.2.1"), world("192.0.2.2"));
    let run = fingerpost(
        &[&["plan", after.argument(), "--against", before.argument(), "-o", "json"], DATE].concat(),
    );
    let differences: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let sets: Vec<_> =
        differences.as_array().unwrap().iter().filter_map(|one| one.get("recordSet")).collect();
    assert_eq!(sets.len(), 1);
    assert_eq!(sets[0]["after"]["data"], serde_json::json!(["192.0.2.2"]));
}

#[test]
fn several_clusters_are_compared_by_name() {
    let run = fingerpost(
        &[
            &["plan", "weu=examples/regions/weu", "neu=examples/regions/neu"],
            &["--against", "weu=examples/regions/weu", "--against", "neu=examples/regions/neu"][..],
            DATE,
        ]
        .concat(),
    );
    assert_eq!((run.code, run.stdout.as_str()), (0, "No changes.\n"));
}

/// `kubectl apply` creates the objects of a folder in the order of its files, and one second later is younger.
#[rstest]
#[case("quickstart")]
#[case("kuadrant")]
#[case("zones")]
#[case("records")]
#[case("placement")]
fn an_example_whose_files_are_applied_one_after_the_other_has_no_conflict(#[case] example: &str) {
    let folder = Folder::with(&[]);
    let mut paths: Vec<_> = std::fs::read_dir(root().join("examples").join(example))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    for (second, path) in paths.iter().enumerate() {
        let text = std::fs::read_to_string(path).unwrap();
        let created = format!("\nmetadata:\n  creationTimestamp: 2026-01-01T00:00:{second:02}Z\n");
        folder.write(path.file_name().unwrap().to_str().unwrap(), &text.replace("\nmetadata:\n", &created));
    }
    let run = fingerpost(&[&["plan", folder.argument()], DATE].concat());
    assert!(!run.stdout.contains("NameConflict") && !run.stdout.contains("ZoneNotFound"), "{}", run.stdout);
    let reference = fingerpost(&[&["plan", &format!("examples/{example}")], DATE].concat());
    let ready = |text: &str| text.matches(" Ready").count() + text.matches(" Active").count();
    assert_eq!(ready(&run.stdout), ready(&reference.stdout), "{}", run.stdout);
}

#[test]
fn equal_folders_give_equal_bytes_in_every_form() {
    for form in ["text", "json", "yaml", "zone"] {
        let arguments = [&["plan", "examples/zones", "-o", form], DATE].concat();
        assert_eq!(fingerpost(&arguments).stdout, fingerpost(&arguments).stdout, "{form}");
    }
}

#[rstest]
#[case("not json", "this is not a plan as `fingerpost plan -o json` prints it")]
#[case(r#"{"version": 99}"#, "the plan has version 99 and this fingerpost reads up to 2")]
fn a_file_that_is_no_plan_is_an_error(#[case] text: &str, #[case] message: &str) {
    let store = Folder::with(&[("plan.json", text)]);
    let file = store.path().join("plan.json");
    let run = fingerpost(&["plan", "examples/quickstart", "--against", file.to_str().unwrap()]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains(message) && run.stderr.contains("plan.json"), "{}", run.stderr);
}

#[test]
fn a_file_that_does_not_parse_makes_the_plan_an_error_but_shows_the_rest() {
    let folder = world("192.0.2.1");
    folder.write("broken.yaml", "kind: [Zone\n");
    let run = fingerpost(&["plan", folder.argument()]);
    assert_eq!(run.code, 1);
    assert!(run.stdout.contains("www.example.org."), "{}", run.stdout);
    assert!(run.stderr.contains("broken.yaml:"), "{}", run.stderr);
}

#[test]
fn colours_are_there_only_when_asked_for() {
    let plain = fingerpost(&["plan", "examples/quickstart"]);
    let painted = fingerpost(&["plan", "examples/quickstart", "--color", "always"]);
    assert!(!plain.stdout.contains('\u{1b}') && painted.stdout.contains('\u{1b}'));
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let script =
        format!("{} plan examples/zones | head -n 1", assert_cmd::cargo::cargo_bin!("fingerpost").display());
    let output = std::process::Command::new("sh").args(["-c", &script]).current_dir(root()).output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn a_file_that_became_empty_keeps_its_records_in_a_comparison() {
    let zone_file = "@ 60 IN SOA ns host 1 2 3 4 5\n@ 60 IN NS ns.example.net.\n";
    let records = record("a", "192.0.2.1") + &record("b", "192.0.2.2");
    let before = Folder::with(&[("zone.yaml", ZONE), ("r.yaml", &records), ("example.net.zone", zone_file)]);
    let after = Folder::with(&[("zone.yaml", ZONE), ("r.yaml", ""), ("example.net.zone", "")]);
    let run = fingerpost(&["plan", after.argument(), "--against", before.argument()]);
    assert!(run.stdout.ends_with("Plan: 0 to add, 0 to change, 0 to remove.\n"), "{}", run.stdout);
    assert!(run.stderr.contains("r.yaml: empty; delete the file to remove its 2 objects"), "{}", run.stderr);
    assert!(run.stderr.contains("empty; delete the file to remove its 2 records"), "{}", run.stderr);
    std::fs::remove_file(after.path().join("r.yaml")).unwrap();
    let run = fingerpost(&["plan", after.argument(), "--against", before.argument()]);
    assert!(run.stdout.contains("a.example.org."), "{}{}", run.stdout, run.stderr);
}

#[rstest]
#[case::invalid("192.0.2.1", "not-an-address", "ValidationFailed")]
#[case::broken("rdata: 192.0.2.1", "rdtaa: 192.0.2.1", "ValidationFailed")]
#[case::points_nowhere("name: example-org}, type", "name: exmaple-org}, type", "ZoneNotFound")]
fn an_edit_that_is_not_in_force_changes_no_record_set(
    #[case] from: &str,
    #[case] to: &str,
    #[case] reason: &str,
) {
    let before = world("192.0.2.1");
    let after =
        Folder::with(&[("zone.yaml", ZONE), ("www.yaml", &record("www", "192.0.2.1").replace(from, to))]);
    let run = fingerpost(&[&["plan", after.argument(), "--against", before.argument()], DATE].concat());
    assert!(!run.stdout.contains("Record sets:"), "{}", run.stdout);
    assert_eq!(run.code, 1, "{}", run.stdout);
    assert!(run.stdout.contains("still served: www.example.org. A 192.0.2.1\n"), "{}", run.stdout);
    assert!(run.stdout.contains("Record dns/www") && run.stdout.contains(reason), "{}", run.stdout);
}
