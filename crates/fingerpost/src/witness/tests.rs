//! What a claimant does, step by step.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::{Answer, Call, Claimant, Document, Intent, Terms};

const LEASE: Duration = Duration::from_secs(30);
const NOW: Intent = Intent::Hold(Duration::ZERO);

fn claimant(holder: &str) -> Claimant {
    let terms = Terms { holder: holder.to_owned(), lease: LEASE, renew: Duration::from_secs(10) };
    Claimant::new(terms, 0, 1)
}

fn document(holder: &str, generation: u64) -> Document {
    Document {
        holder: holder.to_owned(),
        generation,
        lease_milliseconds: 30_000,
        writes: generation,
        ..Document::default()
    }
}

/// Makes one call; the answer is what the claimant is told.
fn step(one: &mut Claimant, intent: &Intent, at: Instant, answer: &Answer) -> Option<Call> {
    let call = one.next(intent, at, Timestamp::UNIX_EPOCH)?;
    one.answered(&call, at, at, answer);
    Some(call)
}

fn see(one: &mut Claimant, at: Instant, document: &Document) {
    one.begin(at);
    let found = Answer::Found(Some((document.clone(), document.writes.to_string())));
    assert_eq!(step(one, &Intent::Watch, at, &found), Some(Call::Read));
}

fn written(call: Option<Call>) -> Document {
    let Some(Call::Write(document, _)) = call else { panic!("{call:?} is no write") };
    document
}

#[test]
fn another_s_lease_is_taken_after_its_time_and_with_a_higher_generation() {
    let (mut one, start) = (claimant("b"), Instant::now());
    see(&mut one, start, &document("a", 7));
    assert_eq!(one.next(&NOW, start + LEASE, Timestamp::UNIX_EPOCH), None);
    see(&mut one, start + LEASE / 2, &document("a", 7));
    let late = start + LEASE + Duration::from_millis(1);
    let taken = written(one.next(&NOW, late, Timestamp::UNIX_EPOCH));
    assert_eq!((taken.holder.as_str(), taken.generation), ("b", 8));
    let patient = Intent::Hold(Duration::from_secs(10));
    assert_eq!(one.next(&patient, late, Timestamp::UNIX_EPOCH), None, "who is preferred comes first");
}

#[test]
fn a_witness_that_comes_back_leaves_its_last_holder_a_moment_to_return() {
    let (mut one, start) = (claimant("b"), Instant::now());
    see(&mut one, start, &document("a", 7));
    let back = start + LEASE * 5;
    see(&mut one, back, &document("a", 7));
    assert_eq!(one.next(&NOW, back, Timestamp::UNIX_EPOCH), None);
    let late = back + Duration::from_secs(20) + Duration::from_millis(1);
    see(&mut one, back + Duration::from_secs(10), &document("a", 7));
    assert_eq!(written(one.next(&NOW, late, Timestamp::UNIX_EPOCH)).holder, "b");
}

#[test]
fn who_holds_believes_from_when_it_asked_and_not_from_when_it_was_told() {
    let (mut one, start) = (claimant("a"), Instant::now());
    see(&mut one, start, &document("", 1));
    let sent = start + Duration::from_secs(1);
    let call = one.next(&NOW, sent, Timestamp::UNIX_EPOCH).unwrap();
    one.answered(&call, sent, sent + Duration::from_secs(20), &Answer::Written(Some("9".into())));
    assert_eq!(one.believes_until(), Some(sent + Duration::from_secs(27)));
}

#[test]
fn a_renewal_whose_answer_was_lost_counts_from_when_it_was_sent_once_it_is_seen() {
    for answer in [Answer::Failed(backends::Failure::TimedOut), Answer::Conflict] {
        let (mut one, start) = (claimant("a"), Instant::now());
        see(&mut one, start - Duration::from_millis(1), &document("", 1));
        step(&mut one, &NOW, start, &Answer::Written(Some("2".into())));
        let sent = start + Duration::from_secs(10);
        let lost = written(step(&mut one, &NOW, sent, &answer));
        assert_eq!(one.believes_until(), Some(start + Duration::from_secs(27)), "not before it is seen");
        see(&mut one, sent + Duration::from_secs(5), &lost);
        assert_eq!(one.believes_until(), Some(sent + Duration::from_secs(27)));
    }
}

#[test]
fn a_document_that_another_process_wrote_for_us_renews_nothing() {
    let (mut one, start) = (claimant("a"), Instant::now());
    see(&mut one, start - Duration::from_millis(1), &document("", 1));
    let lost = written(step(&mut one, &NOW, start, &Answer::Failed(backends::Failure::TimedOut)));
    see(&mut one, start + Duration::from_secs(1), &Document { process: 2, ..lost });
    assert_eq!(one.believes_until(), None);
}

#[test]
fn an_unreachable_witness_promotes_nobody_and_demotes_only_by_time() {
    let (mut one, start) = (claimant("a"), Instant::now());
    see(&mut one, start, &document("", 1));
    let later = start + Duration::from_millis(1);
    step(&mut one, &NOW, later, &Answer::Written(Some("2".into())));
    let failed = Answer::Failed(backends::Failure::Unreachable(backends::Obstacle::Refused));
    step(&mut one, &NOW, later + Duration::from_secs(10), &failed);
    assert!(one.believes(later + Duration::from_secs(26)));
    assert!(!one.believes(later + Duration::from_secs(27)));
    let mut other = claimant("b");
    for second in 0..200 {
        let at = start + Duration::from_secs(second);
        other.begin(at);
        assert_eq!(step(&mut other, &NOW, at, &failed), Some(Call::Read), "nothing is written blindly");
    }
}

#[test]
fn a_lease_that_is_handed_over_goes_to_its_successor_and_nobody_else() {
    let start = Instant::now();
    let mut holder = claimant("a");
    see(&mut holder, start, &document("", 1));
    step(&mut holder, &NOW, start + Duration::from_millis(1), &Answer::Written(Some("2".into())));
    let to_b = Intent::Yield(Some("b".into()), true);
    let released = written(holder.next(&to_b, start + Duration::from_secs(1), Timestamp::UNIX_EPOCH));
    assert!(!holder.believes(start + Duration::from_secs(1)), "it stops believing before it tells");
    assert_eq!((released.holder.as_str(), released.successor.as_deref()), ("", Some("b")));
    let (mut next, mut third) = (claimant("b"), claimant("c"));
    see(&mut next, start, &released);
    see(&mut third, start, &released);
    let at = start + Duration::from_secs(1);
    assert_eq!(third.next(&NOW, at, Timestamp::UNIX_EPOCH), None);
    let taken = written(next.next(&NOW, at, Timestamp::UNIX_EPOCH));
    assert_eq!((taken.holder.as_str(), taken.successor, taken.planned), ("b", None, true));
    let late = start + LEASE + Duration::from_millis(1);
    assert!(
        third.next(&NOW, late, Timestamp::UNIX_EPOCH).is_some(),
        "a successor that is dead is not waited for"
    );
}

#[test]
fn a_request_reaches_the_holder_through_the_document() {
    let (mut one, start) = (claimant("b"), Instant::now());
    see(&mut one, start, &document("a", 3));
    let asked = written(one.next(&Intent::HandOver("b".into()), start, Timestamp::UNIX_EPOCH));
    assert_eq!((asked.holder.as_str(), asked.generation), ("a", 3), "the holder stays");
    assert_eq!(asked.successor.as_deref(), Some("b"));
}

#[test]
fn a_holder_writes_over_a_request_only_when_nobody_decided_to_follow_it() {
    let (mut one, start) = (claimant("a"), Instant::now());
    see(&mut one, start, &document("", 1));
    let held = start + Duration::from_millis(1);
    let mut asked = written(step(&mut one, &NOW, held, &Answer::Written(Some("2".into()))));
    asked.successor = Some("b".into());
    asked.writes += 1;
    let later = held + Duration::from_secs(10);
    step(&mut one, &NOW, later, &Answer::Conflict);
    let found = Answer::Found(Some((asked, "3".into())));
    assert_eq!(step(&mut one, &NOW, later, &found), Some(Call::Read));
    assert_eq!(one.next(&NOW, later, Timestamp::UNIX_EPOCH), None, "it is to be heard of first");
    let refused = written(one.next(&NOW, later + Duration::from_secs(10), Timestamp::UNIX_EPOCH));
    assert_eq!((refused.holder.as_str(), refused.successor), ("a", None));
    let to_b = Intent::Yield(Some("b".into()), true);
    let followed = written(one.next(&to_b, later, Timestamp::UNIX_EPOCH));
    assert_eq!((followed.holder.as_str(), followed.successor.as_deref()), ("", Some("b")));
}

#[test]
fn a_missing_document_is_waited_for_as_if_somebody_held_it() {
    let (mut one, start) = (claimant("a"), Instant::now());
    one.begin(start);
    assert_eq!(step(&mut one, &NOW, start, &Answer::Found(None)), Some(Call::Read));
    let soon = start + LEASE;
    one.begin(soon);
    assert_eq!(step(&mut one, &NOW, soon, &Answer::Found(None)), Some(Call::Read));
    let late = soon + Duration::from_millis(1);
    step(&mut one, &NOW, late, &Answer::Found(None));
    let call = one.next(&NOW, late, Timestamp::UNIX_EPOCH);
    assert!(matches!(&call, Some(Call::Write(document, None)) if document.generation == 1), "{call:?}");
}

#[test]
fn a_generation_that_was_heard_of_is_not_used_again_though_the_document_is_gone() {
    let terms = Terms { holder: "a".into(), lease: LEASE, renew: Duration::from_secs(10) };
    let (mut one, start) = (Claimant::new(terms, 41, 1), Instant::now());
    step(&mut one, &NOW, start, &Answer::Found(None));
    let late = start + LEASE + Duration::from_millis(1);
    step(&mut one, &NOW, late, &Answer::Found(None));
    assert_eq!(written(one.next(&NOW, late, Timestamp::UNIX_EPOCH)).generation, 42);
}

#[test]
fn a_restarted_process_goes_on_with_its_region_s_lease_but_gives_it_up_only_after_its_twin_s_time() {
    let (mut one, start) = (claimant("a"), Instant::now());
    see(&mut one, start, &document("a", 5));
    let give_up = Intent::Yield(None, false);
    assert_eq!(one.next(&give_up, start + LEASE, Timestamp::UNIX_EPOCH), None);
    let renewed = written(one.next(&NOW, start, Timestamp::UNIX_EPOCH));
    assert_eq!((renewed.holder.as_str(), renewed.generation), ("a", 5));
    let late = start + LEASE + Duration::from_millis(1);
    assert_eq!(written(one.next(&give_up, late, Timestamp::UNIX_EPOCH)).holder, "");
}

#[test]
fn what_a_witness_says_of_the_time_changes_nothing() {
    for wrong in [Timestamp::MIN, Timestamp::UNIX_EPOCH, Timestamp::MAX] {
        let document = Document { written: Some(wrong), ..document("a", 7) };
        assert_eq!(taken_after(&document, wrong), LEASE, "{wrong}");
    }
    let endless = Document { lease_milliseconds: u64::MAX, ..document("a", 7) };
    let day = Duration::from_secs(86_400);
    assert_eq!(taken_after(&endless, Timestamp::MAX), day, "nobody is waited for for ever");
}

/// How long a document of another's is looked at, every few seconds, before the lease is taken.
fn taken_after(document: &Document, wall: Timestamp) -> Duration {
    let (mut one, start) = (claimant("b"), Instant::now());
    let mut passed = Duration::ZERO;
    loop {
        see(&mut one, start + passed, document);
        let late = start + passed + Duration::from_millis(1);
        assert_eq!(one.next(&NOW, start + passed, wall), None);
        if let Some(call) = one.next(&NOW, late, wall) {
            assert_eq!(written(Some(call)).holder, "b");
            return passed;
        }
        passed += Duration::from_secs(10);
    }
}
