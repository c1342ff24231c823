//! What one file, link or directory may cost.

use std::fmt::Write;
use std::os::unix::fs::symlink;
use std::process::Command;

use rstest::rstest;

use super::*;

/// A document whose aliases stand for ten times as much at each level.
fn bomb(levels: usize) -> String {
    let mut text = "---\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..levels {
        let aliases = vec![format!("*a{}", level - 1); 10].join(", ");
        writeln!(text, "a{level}: &a{level} [{aliases}]").unwrap();
    }
    text
}

/// Many values of one anchor, which is long: each alias costs the whole of it.
fn wide() -> String {
    let values = vec!["x"; 500].join(", ");
    let aliases: String = (0..900).map(|number| format!("k{number}: *a\n")).collect();
    format!("---\na: &a [{values}]\n{aliases}")
}

fn merged() -> String {
    let fields: String = (0..300).map(|number| format!("f{number}: x, ")).collect();
    let merges: String = (0..600).map(|number| format!("k{number}: {{<<: *a}}\n")).collect();
    format!("---\na: &a {{{fields}}}\n{merges}")
}

#[rstest]
#[case::levels(bomb(9))]
#[case::many_documents(bomb(5).repeat(60))]
#[case::wide(wide())]
#[case::merged(merged())]
#[case::deep(format!("a: {}1{}\n", "[".repeat(200), "]".repeat(200)))]
#[case::deep_blocks((0..200).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect())]
fn a_document_that_expands_beyond_its_length_is_refused_with_its_place(#[case] text: String) {
    let world = World::new(&[("a.yaml", &text), ("b.yaml", &record("b", "192.0.2.2"))]);
    let reading = world.source().read();
    assert_eq!(told(&reading), ["put b=192.0.2.2"], "the other file is not affected");
    let problems = world.problems(&reading);
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(problems[0].starts_with("a.yaml:"), "{problems:?}");
    assert!(problems[0].contains("is refused: its aliases expand to too much"), "{problems:?}");
}

#[test]
fn aliases_of_a_usual_size_are_read() {
    let mut text = "apiVersion: v1\nkind: List\nitems:\n".to_owned();
    for number in 0..50 {
        let anchor = if number == 0 { "&meta {namespace: dns, labels: {team: a}}" } else { "*meta" };
        writeln!(
            text,
            "- apiVersion: kubi.zone/v1alpha1\n  kind: Record\n  metadata: {{<<: {anchor}, name: r{number}}}\n  \
             spec: {{domainName: r{number}.example.org, type: A, rdata: 192.0.2.1}}"
        )
        .unwrap();
    }
    let world = World::new(&[("a.yaml", &text)]);
    let reading = world.source().read();
    assert_eq!((reading.objects, world.problems(&reading)), (50, Vec::new()));
}

#[test]
fn a_long_list_with_many_faults_is_refused_and_not_read_again_for_each() {
    let item = |number: usize, spec: &str| {
        format!(
            "- {{apiVersion: kubi.zone/v1alpha1, kind: Record, metadata: {{name: r{number}}}, spec: {{{spec}, \
             domainName: r{number}.example.org., type: TXT, rdata: {}}}}}\n",
            "x".repeat(10_000)
        )
    };
    let list = |faults: usize| -> String {
        let items = (0..900).map(|number| item(number, if number < faults { "bad: 1" } else { "ttl: 60" }));
        "apiVersion: v1\nkind: List\nitems:\n".to_owned() + &items.collect::<String>()
    };
    let world = World::new(&[("a.yaml", &list(1))]);
    let mut source = world.source();
    let reading = source.read();
    assert_eq!((reading.objects, reading.problems.len()), (900, 1));
    world.write("a.yaml", &list(50));
    let reading = source.read();
    assert!(told(&reading).is_empty(), "the list is refused and deletes nothing");
    let problems = world.problems(&reading);
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[1].contains("and 897 more: not found in the file"), "{problems:?}");
}

#[test]
fn links_pipes_and_devices_do_not_keep_other_files_from_being_read() {
    let world = World::new(&[("a.yaml", &record("a", "192.0.2.1"))]);
    let root = world.root();
    symlink("/", root.join("root")).unwrap();
    symlink("/dev/zero", root.join("zero.yaml")).unwrap();
    symlink("loop.yaml", root.join("loop.yaml")).unwrap();
    symlink("..", root.join("up")).unwrap();
    symlink("/etc/hostname", root.join("host.yaml")).unwrap();
    assert!(Command::new("mkfifo").arg(root.join("fifo.zone")).status().unwrap().success());
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket.yaml")).unwrap();
    let large = fs::File::create(root.join("large.yaml")).unwrap();
    large.set_len(1 << 40).unwrap();
    let mut source = world.source();
    let reading = source.read();
    assert_eq!(told(&reading), ["broken file fifo.zone fifo.", "put a=192.0.2.1"]);
    let problems = world.problems(&reading).join("\n");
    for expected in [
        "root: a link that leads out of the folder",
        "up: a link that leads out of the folder",
        "zero.yaml: it cannot be read (its link leads out of the folder",
        "host.yaml: it cannot be read (its link leads out of the folder",
        "loop.yaml: it cannot be read",
        "fifo.zone: it cannot be read (it is not a regular file)",
        "socket.yaml: it cannot be read",
        "large.yaml: it cannot be read (it has more than 64 MiB: divide it into several files)",
    ] {
        assert!(problems.contains(expected), "{expected} in\n{problems}");
    }
    world.write("a.yaml", &record("a", "192.0.2.2"));
    assert_eq!(told(&source.read()), ["put a=192.0.2.2"]);
}

#[test]
fn a_file_that_becomes_a_link_out_of_the_folder_or_a_pipe_keeps_its_content() {
    let world = World::new(&[("a.yaml", &record("a", "192.0.2.1")), ("b.yaml", &record("b", "192.0.2.2"))]);
    let mut source = world.source();
    source.read();
    let paths = ["a.yaml", "b.yaml"].map(|path| world.root().join(path));
    paths.iter().for_each(|path| fs::remove_file(path).unwrap());
    symlink("/etc/hostname", &paths[0]).unwrap();
    assert!(Command::new("mkfifo").arg(&paths[1]).status().unwrap().success());
    let reading = source.read_changed(&paths).unwrap();
    assert!(told(&reading).is_empty());
    assert_eq!(reading.problems.len(), 2, "{:?}", reading.problems);
    assert!(told(&source.read()).is_empty());
}

#[test]
fn what_a_zone_includes_is_bounded_in_all() {
    let soa = "@ 60 IN SOA ns host 1 2 3 4 5\n@ 60 IN NS ns.example.net.\n";
    let world = World::new(&[("example.org.zone", &format!("{soa}{}", "$INCLUDE part.inc\n".repeat(600)))]);
    world.write("part.inc", &(";".repeat(999_999) + "\n"));
    let reading = world.source().read();
    let problems = world.problems(&reading);
    assert!(problems[0].starts_with("example.org.zone:70:"), "67 of them fit: {problems:?}");
    assert!(problems[0].contains("the files that the zone includes have more than 64 MiB"), "{problems:?}");
}
