use rstest::rstest;

use super::*;
use api::Kind;

fn read(text: &str) -> (World, Reading) {
    let world = World::new(&[("a.yaml", text)]);
    let reading = world.source().read();
    (world, reading)
}

#[test]
fn every_document_of_a_file_is_an_object() {
    let (world, reading) = read(&(record("a", "192.0.2.1") + &record("b", "192.0.2.2")));
    assert_eq!(told(&reading), ["put a=192.0.2.1", "put b=192.0.2.2"]);
    assert_eq!((reading.objects, reading.files, reading.records), (2, 1, 0));
    assert!(world.problems(&reading).is_empty());
}

#[rstest]
#[case::spaces(" ")]
#[case::tabs("\t")]
fn json_is_read_however_it_is_indented(#[case] indent: &str) {
    let text = r#"{"apiVersion": "kubi.zone/v1alpha1", "kind": "Record", "metadata": {"name": "a"},
        "spec": {"domainName": "a.example.org", "type": "A", "rdata": "192.0.2.1"}}"#;
    let world = World::new(&[("a.json", &text.replace("        ", indent))]);
    assert_eq!(told(&world.source().read()), ["put a=192.0.2.1"]);
}

#[rstest]
#[case::unknown_field("  colour: blue", "a.yaml:10:3: spec.colour: unknown field `colour`")]
#[case::wrong_type("  ttl: soon", "a.yaml:10:8: spec.ttl: `soon` is not a whole number from 0 to 4294967295")]
#[case::key_twice("  type: AAAA", "a.yaml:10:3: ")]
#[case::not_a_string("  zoneRef: [a]", "a.yaml:10:")]
fn what_does_not_decode_has_field_line_and_column(#[case] line: &str, #[case] problem: &str) {
    let text = record("a", "192.0.2.1") + line + "\n" + &record("b", "192.0.2.2");
    let (world, reading) = read(&text);
    assert_eq!(told(&reading), ["broken a", "put b=192.0.2.2"], "the other document stands");
    let problems = world.problems(&reading);
    assert!(problems.len() == 1 && problems[0].starts_with(problem), "{problems:?}");
    assert_eq!(reading.problems[0].object.as_ref().unwrap().name.as_ref(), "a");
}

#[test]
fn a_position_is_absolute_in_a_file_of_several_documents() {
    let (world, reading) = read(&(record("a", "192.0.2.1") + "# remark\n" + &broken_record("b")));
    assert!(world.problems(&reading)[0].starts_with("a.yaml:20:3: spec.colour"), "{:?}", reading.problems);
    let Change::Broken(_, _, problems) = &reading.changes[1] else { panic!("{:?}", reading.changes) };
    assert_eq!(problems[0].field, "spec.colour");
    assert!(problems[0].message.ends_with("(a.yaml:20:3)"), "{}", problems[0].message);
}

#[rstest]
#[case::indentation("a: 1\n b: 2\n", "a.yaml:2:")]
#[case::open_bracket("kind: [b\nspec:\n", "a.yaml:")]
#[case::template("{{ .Values.name }}\n", "a.yaml:1:")]
#[case::second_document("kind: x\napiVersion: y\n---\na: 'open\n", "a.yaml:5:1: invalid indentation")]
fn text_that_is_not_yaml_refuses_the_file_with_its_line(#[case] text: &str, #[case] place: &str) {
    let (world, reading) = read(&format!("{text}{}", record("a", "192.0.2.1")));
    assert!(told(&reading).is_empty(), "{:?}", told(&reading));
    let problems = world.problems(&reading);
    assert!(problems.len() == 1 && problems[0].starts_with(place), "{problems:?}");
}

#[rstest]
#[case("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\ndata: {a: b}\n")]
#[case("apiVersion: apps/v1\nkind: Deployment\nspec: {replicas: 1e3}\n")]
fn foreign_kinds_are_passed_over(#[case] text: &str) {
    let (world, reading) = read(text);
    assert!(told(&reading).is_empty() && reading.problems.is_empty(), "{:?}", world.problems(&reading));
}

#[rstest]
#[case("# nothing but a remark\n")]
#[case("---\n---\n")]
fn a_file_that_never_held_anything_is_remarked(#[case] text: &str) {
    let (world, reading) = read(text);
    assert!(told(&reading).is_empty());
    assert_eq!(world.problems(&reading), ["a.yaml: empty: it declares no object"]);
    assert_eq!(reading.problems[0].severity, crate::source::Severity::Remark);
}

#[rstest]
#[case(
    "apiVersion: kubi.zone/v1alpha1\nkind: Recrod\n",
    "there is no Recrod in kubi.zone/v1alpha1: use one of"
)]
#[case("apiVersion: kubi.zone/v1\nkind: Record\n", "there is no Record in kubi.zone/v1:")]
#[case("kind: Record\nmetadata: {name: a}\n", "Record has no apiVersion")]
#[case("apiVersion: kubi.zone/v1alpha1\n", "has no kind")]
#[case("apiVersion: kubi.zone/v1alpha1\nkind: Record\nspec: {}\n", "without metadata.name")]
#[case("apiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata: [a]\n", "without metadata.name")]
#[case("replicas: 3\n", "neither apiVersion nor kind")]
#[case("- a\n- b\n", "neither apiVersion nor kind")]
fn what_cannot_be_told_is_reported(#[case] text: &str, #[case] message: &str) {
    let (world, reading) = read(text);
    assert!(told(&reading).is_empty());
    let problems = world.problems(&reading);
    assert!(problems.len() == 1 && problems[0].contains(message), "{problems:?}");
}

#[test]
fn a_namespaced_object_without_namespace_is_in_default() {
    let (_, reading) = read(&(record("a", "192.0.2.1") + &broken_record("b")));
    let Change::Put(_, object) = &reading.changes[0] else { panic!("{:?}", reading.changes) };
    assert_eq!(&*object.meta.namespace, "default");
    let Change::Broken(_, reference, _) = &reading.changes[1] else { panic!("{:?}", reading.changes) };
    assert_eq!(&*reference.namespace, "default");
}

#[test]
fn the_namespace_of_a_cluster_scoped_kind_is_ignored() {
    let identity = "apiVersion: cluster.router.io/v1alpha1\nkind: ClusterIdentity\n\
        metadata: {name: cluster-identity, namespace: oops}\nspec: {colour: blue}\n";
    let (_, reading) = read(identity);
    let Change::Broken(_, reference, _) = &reading.changes[0] else { panic!("{:?}", reading.changes) };
    assert_eq!((reference.kind, &*reference.namespace), (Kind::ClusterIdentity, ""));
}

/// A list of records; the one called `broken` has a field that is not there.
fn list(names: &[&str]) -> String {
    let item = |name: &&str| {
        let text = if *name == "broken" { broken_record(name) } else { record(name, "192.0.2.1") };
        let body: Vec<String> = text.lines().skip(1).map(|line| format!("  {line}\n")).collect();
        format!("-{}", &body.concat()[1..])
    };
    format!("apiVersion: v1\nkind: List\nitems:\n{}", names.iter().map(item).collect::<String>())
}

#[test]
fn the_items_of_a_list_are_objects() {
    let (world, reading) = read(&list(&["a", "b"]));
    assert_eq!(told(&reading), ["put a=192.0.2.1", "put b=192.0.2.1"], "{:?}", world.problems(&reading));
}

#[test]
fn a_broken_item_of_a_list_leaves_the_others() {
    let (world, reading) = read(&list(&["a", "broken", "c"]));
    assert_eq!(told(&reading), ["put a=192.0.2.1", "broken broken", "put c=192.0.2.1"]);
    let problems = world.problems(&reading);
    assert!(problems[0].starts_with("a.yaml:20:5: spec.colour: unknown field"), "{problems:?}");
}

#[test]
fn a_key_twice_in_a_list_refuses_the_list_and_deletes_nothing() {
    let good = list(&["a", "b"]);
    let world = World::new(&[("a.yaml", &good)]);
    let mut source = world.source();
    source.read();
    world.write("a.yaml", &good.replacen("    type: A\n", "    type: A\n    type: A\n", 1));
    let reading = source.read();
    assert!(told(&reading).is_empty(), "{:?}", told(&reading));
    assert!(world.problems(&reading)[0].starts_with("a.yaml:11:5: "), "{:?}", reading.problems);
}

#[test]
fn an_unknown_kind_in_a_list_is_reported_at_its_item() {
    let (world, reading) = read(&list(&["a", "b"]).replacen("kind: Record", "kind: Recrod", 1));
    assert_eq!(told(&reading), ["broken a", "put b=192.0.2.1"]);
    assert!(
        world.problems(&reading)[0].starts_with("a.yaml:4:3: there is no Recrod"),
        "{:?}",
        reading.problems
    );
}

#[test]
fn foreign_items_of_a_list_are_passed_over() {
    let text = list(&["a"]) + "- apiVersion: v1\n  kind: ConfigMap\n  data: {a: b}\n";
    let (world, reading) = read(&text);
    assert_eq!(told(&reading), ["put a=192.0.2.1"]);
    assert!(world.problems(&reading).is_empty());
}

#[test]
fn secrets_are_kept_apart_from_what_is_planned() {
    let secret =
        "- apiVersion: v1\n  kind: Secret\n  metadata: {name: s, namespace: dns}\n  stringData: {k: v}\n";
    let (world, reading) = read(&(list(&["a"]) + secret));
    assert_eq!(told(&reading), ["put a=192.0.2.1"]);
    assert!(world.problems(&reading).is_empty(), "{:?}", reading.problems);
    assert_eq!(reading.secrets[&("dns".to_owned(), "s".to_owned())].data["k"], b"v");
}

#[test]
fn of_a_secret_that_does_not_read_only_its_place_is_told() {
    let text = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {k: 'not/base64/but*hidden'}\n";
    let (world, reading) = read(&(record("a", "192.0.2.1") + "---\n" + text));
    let problems = world.problems(&reading);
    assert!(problems[0].contains("the Secret s does not read"), "{problems:?}");
    assert!(!format!("{reading:?}").contains("hidden"), "{problems:?}");
    assert_eq!(told(&reading), ["put a=192.0.2.1"]);
}

#[rstest]
#[case("apiVersion: 'kubi.zone/v1alpha1'", "apiVersion: kubi.zone/v1alpha1")]
#[case("apiVersion: kubi.zone/v1alpha1 # ours", "apiVersion: kubi.zone/v1alpha1")]
#[case("\"apiVersion\": kubi.zone/v1alpha1", "apiVersion: kubi.zone/v1alpha1")]
fn the_kind_is_found_however_it_is_written(#[case] written: &str, #[case] plain: &str) {
    let (_, reading) = read(&record("a", "192.0.2.1").replace(plain, written));
    assert_eq!(told(&reading), ["put a=192.0.2.1"]);
}

#[test]
fn an_object_is_located_where_it_is_declared() {
    let world = World::new(&[("a.yaml", &(record("a", "192.0.2.1") + &record("b", "192.0.2.2")))]);
    let mut source = world.source();
    let reading = source.read();
    let Change::Put(cluster, object) = &reading.changes[1] else { panic!("{:?}", reading.changes) };
    let place = source.locate(*cluster, &crate::source::manifest::reference(object)).unwrap();
    assert_eq!(place, (world.root().join("a.yaml"), 11, 1));
}
