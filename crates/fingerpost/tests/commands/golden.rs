//! The plan of every example, in every form that people and tools read, as files.

use rstest::rstest;

use crate::{fingerpost, root};

const QUICKSTART: &[&str] = &["examples/quickstart"];
const REGIONS: &[&str] = &["weu=examples/regions/weu", "neu=examples/regions/neu"];
const ZONES: &[&str] = &["examples/zones"];

#[rstest]
#[case("quickstart", QUICKSTART, "text")]
#[case("quickstart", QUICKSTART, "yaml")]
#[case("quickstart", QUICKSTART, "zone")]
#[case("regions", REGIONS, "text")]
#[case("regions", REGIONS, "yaml")]
#[case("regions", REGIONS, "zone")]
#[case("zones", ZONES, "text")]
#[case("zones", ZONES, "yaml")]
#[case("zones", ZONES, "zone")]
fn the_plan_of_an_example_is_as_recorded(#[case] name: &str, #[case] folders: &[&str], #[case] form: &str) {
    let arguments = [&["plan", "--date", "2026-01-02", "-o", form], folders].concat();
    let run = fingerpost(&arguments);
    assert_eq!((run.code, run.stderr.as_str()), (0, ""));
    matches(&format!("{name}.plan.{form}"), &run.stdout);
}

/// Compares with a recorded file; `UPDATE=1` records it.
pub(crate) fn matches(file: &str, actual: &str) {
    let path = root().join("testdata/golden").join(file);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, actual).unwrap();
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        expected == actual,
        "{} is not what is printed now; where the change is meant, record it with\n\
         UPDATE=1 cargo test -p fingerpost --test commands\n--- printed now\n{actual}",
        path.display()
    );
}
