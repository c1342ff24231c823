//! The help as it is printed, and slips in the arguments.

use rstest::rstest;

use crate::fingerpost;
use crate::golden::matches;

#[rstest]
#[case("fingerpost", &["--help"])]
#[case("up", &["up", "--help"])]
#[case("plan", &["plan", "--help"])]
#[case("explain", &["explain", "--help"])]
#[case("check", &["check", "--help"])]
#[case("crds", &["crds", "--help"])]
#[case("import", &["import", "--help"])]
#[case("provider", &["provider", "--help"])]
fn help_is_as_recorded(#[case] name: &str, #[case] arguments: &[&str]) {
    let run = fingerpost(arguments);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    matches(&format!("help.{name}.txt"), &run.stdout);
}

#[rstest]
#[case(&["plan", "--bogus"], "unexpected argument '--bogus'")]
#[case(&["plan", "--date", "tomorrow", "examples/quickstart"], "invalid value 'tomorrow' for '--date")]
#[case(&["plan"], "no folder was given: name one as DIR")]
#[case(&["up", "--dns", "somewhere", "examples/quickstart"], "invalid value 'somewhere' for '--dns")]
#[case(&["explain", "a..b", "examples/quickstart"], "invalid value 'a..b' for '<NAME>'")]
#[case(&["explain", "www.example.org", "--type", "AAAAA", "examples/quickstart"], "`AAAAA` is not a record type")]
fn a_slip_in_the_arguments_is_an_error_and_never_a_change(#[case] arguments: &[&str], #[case] message: &str) {
    let run = fingerpost(arguments);
    assert_eq!(run.code, 1);
    assert!(run.stderr.contains(message), "{}", run.stderr);
}

#[test]
fn crds_are_printed_for_every_kind() {
    let run = fingerpost(&["crds"]);
    assert_eq!(run.code, 0);
    let count = run.stdout.matches("kind: CustomResourceDefinition").count();
    assert_eq!(count, api::Kind::ALL.iter().filter(|kind| kind.is_ours()).count());
}
