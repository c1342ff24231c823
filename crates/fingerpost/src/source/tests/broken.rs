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
    let kept = "default/b: not found in the file, but in force while a document in it is broken";
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

/// What is left of an object of others decodes, so that nothing but the cut tells that something is missing.
#[rstest]
#[case::before_the_spec("spec:")]
#[case::before_the_endpoints("  endpoints:")]
#[case::before_the_items("  - dnsName:")]
fn an_endpoint_of_which_the_end_is_missing_stays(#[case] from: &str) {
    let whole = "apiVersion: externaldns.k8s.io/v1alpha1\nkind: DNSEndpoint\nmetadata:\n  name: a\nspec:\n  \
                 endpoints:\n  - dnsName: a.example.org\n    recordType: A\n    targets: [192.0.2.1]\n";
    let world = World::new(&[("a.yaml", whole)]);
    let mut source = world.source_with_state();
    assert_eq!(told(&source.read()), ["put DNSEndpoint a"]);
    world.write("a.yaml", &whole[..whole.find(from).unwrap()]);
    let reading = source.read();
    assert!(told(&reading).is_empty(), "{:?}", told(&reading));
    assert!(world.problems(&reading)[0].contains("as when a write is cut off"), "{:?}", reading.problems);
    drop(source);
    assert_eq!(told(&world.source_with_state().read()), ["put DNSEndpoint a"], "over a restart too");
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

#[rstest]
#[case::group(
    "kubi.zone/v1alpha1",
    "kubi.zoen/v1alpha1",
    "there is no Record in kubi.zoen/v1alpha1: write apiVersion"
)]
#[case::version("kubi.zone/v1alpha1", "kubi.zone/v1", "there is no Record in kubi.zone/v1: use one of")]
#[case::kind("kind: Record", "kind: Recrod", "there is no Recrod in kubi.zone/v1alpha1: use one of")]
fn an_object_whose_kind_is_misspelt_stays_in_another_file_too(
    #[case] from: &str,
    #[case] to: &str,
    #[case] message: &str,
) {
    let world = World::new(&[("a.yaml", &record("a", "192.0.2.1"))]);
    let mut source = world.source_with_state();
    source.read();
    let misspelt = record("a", "192.0.2.1").replace(from, to);
    world.write("a.yaml", &misspelt);
    let reading = source.read();
    assert_eq!(told(&reading), ["broken a"]);
    assert!(world.problems(&reading)[0].contains(message), "{:?}", world.problems(&reading));
    world.write("a.yaml", &record("a", "192.0.2.1"));
    assert_eq!(told(&source.read()), ["put a=192.0.2.1"]);
    drop(source);
    world.remove("a.yaml");
    world.write("b.yaml", &misspelt);
    for _ in 0..2 {
        assert_eq!(told(&world.source_with_state().read()), ["put a=192.0.2.1", "broken a"]);
    }
}

#[test]
fn an_object_of_another_kind_with_the_same_name_keeps_nothing() {
    let other = "---\napiVersion: networking.istio.io/v1\nkind: Record\nmetadata:\n  name: a\n";
    let world = World::new(&[("a.yaml", &two())]);
    let mut source = world.source();
    source.read();
    world.write("a.yaml", &(other.to_owned() + &record("b", "192.0.2.2")));
    let reading = source.read();
    assert_eq!(told(&reading), ["delete a"]);
    assert!(reading.problems.is_empty());
}

#[rstest]
#[case::no_yaml("metadata:\n  name: a", "metadata: [\n  name: a")]
#[case::without_a_name("name: a", "nmae: a")]
#[case::without_metadata("metadata:", "metdata:")]
fn an_object_that_moves_to_a_broken_file_is_kept(#[case] from: &str, #[case] to: &str) {
    let moved = record("a", "192.0.2.1").replace(from, to);
    let world = World::new(&[("a.yaml", &record("a", "192.0.2.1")), ("c.yaml", &record("c", "192.0.2.3"))]);
    let mut source = world.source_with_state();
    source.read();
    world.remove("a.yaml");
    world.remove("c.yaml");
    world.write("b.yaml", &moved);
    let reading = source.read();
    assert_eq!(told(&reading), ["delete c"], "the broken file does not mention it");
    assert!(world.problems(&reading).iter().any(|one| one.contains("Record default/a: ")), "{reading:?}");
    drop(source);
    for _ in 0..2 {
        assert_eq!(told(&world.source_with_state().read()), ["put a=192.0.2.1"]);
    }
    let mut source = world.source_with_state();
    source.read();
    world.write("b.yaml", &record("b", "192.0.2.2"));
    assert_eq!(told(&source.read()), ["delete a", "put b=192.0.2.2"], "the file can be read again");
}

#[test]
fn an_object_that_moved_to_a_broken_file_while_nobody_watched_is_kept() {
    let world = World::new(&[("a.yaml", &record("a", "192.0.2.1"))]);
    world.source_with_state().read();
    world.remove("a.yaml");
    world.write("b.yaml", &record("a", "192.0.2.1").replace("metadata:", "metadata: ["));
    for _ in 0..2 {
        assert_eq!(told(&world.source_with_state().read()), ["put a=192.0.2.1"]);
    }
    world.remove("b.yaml");
    assert!(told(&world.source_with_state().read()).is_empty());
}

#[test]
fn an_object_that_moves_with_a_misspelt_namespace_is_kept() {
    let good = record("a", "192.0.2.1").replace("  name: a", "  name: a\n  namespace: dns");
    let world = World::new(&[("a.yaml", &good)]);
    world.source_with_state().read();
    world.remove("a.yaml");
    world.write("b.yaml", &good.replace("namespace: dns", "namespcae: dns"));
    for _ in 0..2 {
        let changes = told(&world.source_with_state().read());
        assert!(changes.contains(&"put a=192.0.2.1".to_owned()), "{changes:?}");
    }
}
