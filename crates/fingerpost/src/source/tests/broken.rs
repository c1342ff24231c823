//! Files with a broken document, and files that were cut off.

use rstest::rstest;

use super::*;

fn two() -> String {
    record("a", "192.0.2.1") + &record("b", "192.0.2.2")
}

#[rstest]
#[case::does_not_decode(broken_record("a"))]
#[case::breaks_a_rule(invalid_record("a"))]
#[case::lost_its_spec("apiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata:\n  name: a\n".to_owned())]
#[case::lost_its_name("apiVersion: kubi.zone/v1alpha1\nkind: Record\n".to_owned())]
fn a_broken_document_deletes_no_object_that_the_file_does_not_mention(#[case] text: String) {
    let world = World::new(&[("a.yaml", &two())]);
    let mut source = world.source_with_state();
    source.read();
    world.write("a.yaml", &text);
    let reading = source.read();
    assert!(!told(&reading).iter().any(|change| change.starts_with("delete")), "{:?}", told(&reading));
    let problems = world.problems(&reading);
    let kept = "default/b: no longer in the file, but in force while a document in it is broken";
    assert!(problems.last().unwrap().contains(kept), "{problems:?}");
    drop(source);
    for _ in 0..2 {
        let changes = told(&world.source_with_state().read());
        assert!(changes.contains(&"put b=192.0.2.2".to_owned()), "over restarts too: {changes:?}");
        assert_eq!(changes[0], "put a=192.0.2.1");
    }
    world.write("a.yaml", &record("a", "192.0.2.9"));
    let mut source = world.source_with_state();
    let reading = source.read();
    assert_eq!(told(&reading), ["was a=192.0.2.1", "put a=192.0.2.9"], "a valid file is proof");
    assert!(reading.problems.is_empty());
}

#[test]
fn a_kept_object_goes_with_its_file_and_when_the_file_is_valid() {
    let world = World::new(&[("a.yaml", &two())]);
    let mut source = world.source();
    source.read();
    world.write("a.yaml", &broken_record("a"));
    assert_eq!(told(&source.read()), ["broken a"]);
    world.write("a.yaml", &record("a", "192.0.2.1"));
    assert_eq!(told(&source.read()), ["put a=192.0.2.1", "delete b"]);
    world.write("a.yaml", &two());
    source.read();
    world.write("a.yaml", &broken_record("a"));
    source.read();
    world.remove("a.yaml");
    assert_eq!(told(&source.read()), ["delete a", "delete b"]);
}

#[test]
fn a_kept_object_gives_way_to_another_file() {
    let world = World::new(&[("a.yaml", &two())]);
    let mut source = world.source();
    source.read();
    world.write("a.yaml", &broken_record("a"));
    world.write("z.yaml", &record("b", "192.0.2.9"));
    let reading = source.read();
    assert_eq!(told(&reading), ["broken a", "put b=192.0.2.9"]);
    assert_eq!(reading.problems.len(), 1, "{:?}", reading.problems);
}

#[test]
fn a_secret_beside_a_broken_document_is_kept() {
    let secret =
        "---\napiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: dns}\nstringData: {key: k}\n";
    let world = World::new(&[("a.yaml", &(record("a", "192.0.2.1") + secret))]);
    let mut source = world.source_with_state();
    source.read();
    world.write("a.yaml", &broken_record("a"));
    assert_eq!(source.read().secrets.len(), 1);
    drop(source);
    assert_eq!(world.source_with_state().read().secrets.len(), 1);
}

#[test]
fn a_file_that_is_cut_off_inside_a_line_keeps_its_content() {
    let long = record("a", "192.0.2.1") + &record("b", "192.0.2.222");
    let world = World::new(&[("a.yaml", &long)]);
    let mut source = world.source_with_state();
    source.read();
    for length in (long.len() - 12..long.len() - 1).filter(|length| !long[*length..].starts_with('\n')) {
        world.write("a.yaml", &long[..length]);
        let reading = source.read();
        assert!(told(&reading).is_empty(), "{:?}: {:?}", &long[..length], told(&reading));
        let problems = world.problems(&reading);
        assert!(problems[0].contains("the beginning of its last good content"), "{problems:?}");
    }
    drop(source);
    let restarted = told(&world.source_with_state().read());
    assert_eq!(restarted, ["put a=192.0.2.1", "put b=192.0.2.222"]);
    world.write("a.yaml", &(long[..long.len() - 3].to_owned() + "\n"));
    let reading = world.source_with_state().read();
    assert_eq!(told(&reading)[1..], ["was b=192.0.2.222", "put b=192.0.2.2"], "a line that ends is an edit");
}

/// Only a text that ends with a whole document cannot be told from an edit.
#[test]
fn no_cut_inside_a_line_or_document_deletes_an_object() {
    let text = two();
    for length in 1..text.len() {
        let world = World::new(&[("a.yaml", &text)]);
        let mut source = world.source();
        source.read();
        world.write("a.yaml", &text[..length]);
        let deleted: Vec<String> =
            told(&source.read()).into_iter().filter(|change| change.starts_with("delete")).collect();
        let between = text[..length].trim_end().ends_with("192.0.2.1");
        assert!(deleted.is_empty() || between, "{length}: {deleted:?} after {:?}", &text[..length]);
    }
}
