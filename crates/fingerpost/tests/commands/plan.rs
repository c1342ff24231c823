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
    assert!(changed.stdout.contains("Record sets: 0 added, 1 changed, 0 removed"), "{}", changed.stdout);
    assert!(changed.stdout.contains("  - *  www.example.org.  360  A  192.0.2.1\n"), "{}", changed.stdout);
    assert!(changed.stdout.contains("  + *  www.example.org.  360  A  192.0.2.2\n"), "{}", changed.stdout);
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
    assert!(changed.stdout.contains("serial 2026030400"), "{}", changed.stdout);
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

#[test]
fn equal_folders_give_equal_bytes_in_every_form() {
    for form in ["text", "json", "yaml", "zone"] {
        let arguments = [&["plan", "examples/zones", "-o", form], DATE].concat();
        assert_eq!(fingerpost(&arguments).stdout, fingerpost(&arguments).stdout, "{form}");
    }
}

#[rstest]
#[case("not json", "this is not a plan as `fingerpost plan -o json` prints it")]
#[case(r#"{"version": 99}"#, "the plan has version 99 and this fingerpost reads up to 1")]
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
