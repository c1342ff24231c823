//! The golden cases: `testdata/plan/<case>` holds what goes in, and as text what must come out.
//!
//! ```text
//! in.yaml, *.zone            the world, where there is one cluster
//! <cluster>/*.yaml, *.zone   the world, where there are several; `clusters` lists them in order
//! setting                    `operator`, or `server` and classes, where it is not a folder's plan
//! steps/01-…                 what changes then: a YAML file, or a folder laid out like the case
//! plan.txt, notes.txt        what must come out; plan-01.txt, notes-01.txt after the first step
//! ```
//!
//! Besides manifests, a YAML file may have directives, each on a line of its own:
//! `# with: FILE` takes in another file below `testdata`, `# delete: KIND NAMESPACE/NAME` and
//! `# delete file: PATH` remove, `# failed: NAMESPACE/NAME: WHY` and `# applied: NAMESPACE/NAME` are what
//! became of a DNSEndpoint, `# today: YYYYMMDD` is the date, what providers say is in `plan/provider.rs`, what
//! steers in `plan/steering.rs`, and
//! `# serial: ORIGIN SERIAL HASH` is what an earlier run had saved or another process published.
//!
//! `UPDATE=1 cargo test -p planner --test plan` records what comes out now.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "plan/case.rs"]
mod case;
#[path = "plan/documents.rs"]
mod documents;
#[path = "plan/feed.rs"]
mod feed;
#[path = "plan/hijack.rs"]
mod hijack;
#[path = "plan/print.rs"]
mod print;
#[path = "plan/provider.rs"]
mod provider;
#[path = "plan/steering.rs"]
mod steering;

use case::Case;
use planner::Holders;
use planner::document::{Document, DocumentWriter, Part};

/// Runs a check over every case and reports all that fail at once.
fn for_every_case(check: impl Fn(&Case) -> Vec<String>) {
    let cases = Case::all();
    assert!(cases.len() > 50, "the cases are not where they should be");
    let failures: Vec<String> = cases
        .iter()
        .flat_map(|case| check(case).into_iter().map(|failure| format!("== {} ==\n{failure}", case.name)))
        .collect();
    assert!(failures.is_empty(), "{}\n{} failures", failures.join("\n"), failures.len());
}

#[test]
fn every_case_is_written_in_pieces_as_it_is_written_whole() {
    for_every_case(|case| {
        let (planner, mut writer, mut text) = (case.planner(), DocumentWriter::new(Part::Plan), Vec::new());
        let mut piece = Vec::new();
        while writer.write(&planner, &mut piece, 500) {
            text.append(&mut piece);
        }
        text.append(&mut piece);
        let (mut read, whole) =
            (Document::parse(&String::from_utf8(text).unwrap()).unwrap(), Document::of(&planner));
        // An owner that holds several names may be written for each of them.
        read.holders = Holders::from_saved(&read.holders, &read.clusters).to_saved(&read.clusters);
        (read != whole).then(|| "the pieces differ from the whole".to_owned()).into_iter().collect()
    });
}

#[test]
fn every_case_plans_as_recorded() {
    for_every_case(|case| {
        let mut planner = case.knowing_nothing();
        let mut failures = Vec::new();
        for (number, step) in case.steps.iter().enumerate() {
            planner.apply(step.clone());
            failures.extend(case.compare(number, "plan", &print::plan(&planner)));
            failures.extend(case.compare(number, "notes", &print::notes(&planner, &case.endpoints())));
        }
        failures
    });
}

#[test]
fn every_attempt_to_take_a_name_of_another_namespace_is_refused() {
    hijack::every_attempt_is_refused();
}

#[test]
fn every_manifest_of_document_000_is_in_a_case() {
    assert_eq!(case::unused("admission/accept/document-000"), Vec::<String>::new());
}

#[test]
fn every_manifest_of_document_001_is_in_a_case() {
    assert_eq!(case::unused("admission/accept/document-001"), Vec::<String>::new());
    assert_eq!(case::unused("foreign/document-001"), Vec::<String>::new());
}

#[test]
fn every_manifest_of_document_002_is_in_a_case() {
    assert_eq!(case::unused("admission/accept/document-002"), Vec::<String>::new());
}

#[test]
fn every_part_of_documents_001_and_004_has_its_case() {
    assert_eq!(documents::without_a_case(), Vec::<String>::new());
}

#[test]
fn every_delta_tells_what_moved() {
    for_every_case(feed::false_deltas);
}

#[test]
fn every_case_plans_the_same_in_any_order() {
    for_every_case(feed::order_matters);
}

#[test]
fn every_status_has_the_conditions_that_its_notes_say() {
    for_every_case(|case| {
        let planner = case.planner();
        let objects = planner.objects().into_iter();
        objects.filter_map(|(cluster, object)| print::untold(&planner, cluster, &object)).collect()
    });
}
