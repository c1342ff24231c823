#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;

use dns::{Rdata, RecordSet, Rtype, Soa};
use rstest::rstest;
use tempfile::TempDir;

use super::*;
use crate::SetChange;

fn name(text: &str) -> Name {
    Name::parse(text).unwrap()
}

fn set(owner: &str, rtype: &str, data: &[&str]) -> RecordSet {
    let rtype = rtype.parse().unwrap();
    let data = data.iter().map(|data| Rdata::parse(rtype, data, &Name::root()).unwrap()).collect();
    RecordSet::new(name(owner), rtype, 300, data)
}

fn new_zone() -> NewZone {
    NewZone {
        origin: name("example.org"),
        soa: set("example.org", "SOA", &["ns.example.org. noc.example.org. 2026111600 3600 600 86400 300"]),
        name_servers: set("example.org", "NS", &["ns.example.org."]),
    }
}

fn change(before: Option<&RecordSet>, after: Option<&RecordSet>) -> SetChange {
    let entry = |set: &RecordSet| Entry::from(set.clone());
    SetChange {
        key: SetKey::of(before.or(after).unwrap()),
        before: before.map(entry),
        after: after.map(entry),
    }
}

struct Fixture {
    folder: TempDir,
    files: ZoneFiles,
}

impl Fixture {
    async fn with_zone() -> Fixture {
        let folder = tempfile::tempdir().unwrap();
        let files = ZoneFiles::new(folder.path().join("zones"));
        assert!(files.open_zone(&new_zone()).await.unwrap().made);
        Fixture { folder, files }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("zones/example.org.zone")
    }

    async fn write(&self, changes: Vec<SetChange>) -> Vec<Result<(), Failure>> {
        let batch = Batch { zone: name("example.org"), changes, guards: Vec::new(), generation: 1 };
        self.files.write(&batch).await
    }

    async fn held(&self) -> Vec<RecordSet> {
        let entries = self.files.read_zone(&name("example.org")).await.unwrap();
        entries.into_iter().map(|entry| entry.set).filter(|set| set.name != name("example.org")).collect()
    }

    async fn serial(&self) -> u32 {
        let entries = self.files.read_zone(&name("example.org")).await.unwrap();
        let soa = entries.iter().find(|entry| entry.set.rtype == Rtype::SOA).unwrap();
        soa.set.data[0].as_soa().unwrap().serial
    }
}

#[tokio::test]
async fn what_is_written_is_read_back_and_moves_the_serial() {
    let fixture = Fixture::with_zone().await;
    assert_eq!(fixture.serial().await, 2_026_111_600);
    let revision = fixture.files.revision(&name("example.org")).await.unwrap();
    let sets = [
        set("www.example.org", "A", &["192.0.2.1", "192.0.2.2"]),
        set("www.example.org", "TXT", &["\"semi;colon \\\"quoted\\\"\" \"second\""]),
        set("*.example.org", "CNAME", &["elsewhere.example.net."]),
    ];
    let results = fixture.write(sets.iter().map(|set| change(None, Some(set))).collect()).await;
    assert_eq!(results, vec![Ok(()); 3]);
    let mut held = fixture.held().await;
    held.sort_by_key(|held| sets.iter().position(|set| set == held));
    assert_eq!(held, sets);
    assert_eq!(fixture.serial().await, 2_026_111_601);
    assert_ne!(fixture.files.revision(&name("example.org")).await.unwrap(), revision);

    let keys =
        [(SetKey::of(&sets[0]), None), (SetKey::of(&set("no.example.org", "A", &["192.0.2.1"])), None)];
    let read = fixture.files.read_sets(&name("example.org"), &keys).await.unwrap();
    assert_eq!(read, [Some(Entry::from(sets[0].clone())), None]);

    let results = fixture.write(sets.iter().map(|set| change(Some(set), None)).collect()).await;
    assert_eq!(results, vec![Ok(()); 3]);
    assert_eq!((fixture.held().await, fixture.serial().await), (Vec::new(), 2_026_111_602));
}

#[tokio::test]
async fn a_batch_without_effect_writes_nothing() {
    let fixture = Fixture::with_zone().await;
    let before = fs::metadata(fixture.path()).unwrap().modified().unwrap();
    assert_eq!(fixture.write(Vec::new()).await, Vec::new());
    assert!(!fixture.files.open_zone(&new_zone()).await.unwrap().made);
    assert_eq!(fs::metadata(fixture.path()).unwrap().modified().unwrap(), before);
}

#[tokio::test]
async fn what_changed_behind_our_back_is_left_and_the_rest_lands() {
    let fixture = Fixture::with_zone().await;
    let www = set("www.example.org", "A", &["192.0.2.1"]);
    let other = set("www.example.org", "A", &["192.0.2.9"]);
    let mail = set("mail.example.org", "A", &["192.0.2.2"]);
    fixture.write(vec![change(None, Some(&www))]).await;
    let results = fixture.write(vec![change(Some(&other), None), change(None, Some(&mail))]).await;
    assert_eq!(results, [Err(Failure::Changed), Ok(())]);
    assert_eq!(fixture.held().await, [mail, www]);
}

#[tokio::test]
async fn a_guard_that_does_not_hold_keeps_everything_back() {
    let fixture = Fixture::with_zone().await;
    let www = set("www.example.org", "A", &["192.0.2.1"]);
    let batch = Batch {
        zone: name("example.org"),
        changes: vec![change(None, Some(&www))],
        guards: vec![(SetKey::of(&set("mark.example.org", "TXT", &["\"x\""])), Some(www.clone()))],
        generation: 1,
    };
    assert_eq!(fixture.files.write(&batch).await, [Err(Failure::Changed)]);
    assert_eq!(fixture.held().await, []);
}

#[tokio::test]
async fn a_cname_beside_other_data_is_refused_and_the_rest_lands() {
    let fixture = Fixture::with_zone().await;
    let www = set("www.example.org", "A", &["192.0.2.1"]);
    let alias = set("www.example.org", "CNAME", &["elsewhere.example.net."]);
    let mail = set("mail.example.org", "A", &["192.0.2.2"]);
    fixture.write(vec![change(None, Some(&www))]).await;
    let results = fixture.write(vec![change(None, Some(&alias)), change(None, Some(&mail))]).await;
    assert_eq!(results, [Err(Failure::Refused("CNAME_BESIDE_OTHER_DATA")), Ok(())]);
    // In one batch it may take the place of what stood there.
    let results = fixture.write(vec![change(None, Some(&alias)), change(Some(&www), None)]).await;
    assert_eq!(results, [Ok(()), Ok(())]);
    assert_eq!(fixture.held().await, [mail, alias]);
}

#[tokio::test]
async fn a_file_that_cannot_be_read_is_never_written_over() {
    let fixture = Fixture::with_zone().await;
    let left_out = format!("{}a.example.net. 60 A 192.0.2.1\n", fs::read_to_string(fixture.path()).unwrap());
    for (broken, line) in [
        ("www A", Some(1)),
        ("$ORIGIN example.org.\n$INCLUDE other\n", Some(2)),
        ("\u{fffd}", Some(1)),
        ("", Some(1)),
        (left_out.as_str(), None),
    ] {
        let failure = Failure::BrokenFile(line);
        fs::write(fixture.path(), broken).unwrap();
        let www = set("www.example.org", "A", &["192.0.2.1"]);
        assert_eq!(fixture.write(vec![change(None, Some(&www))]).await, [Err(failure.clone())]);
        assert_eq!(fixture.files.open_zone(&new_zone()).await, Err(failure.clone()));
        assert_eq!(fixture.files.read_zone(&name("example.org")).await, Err(failure.clone()));
        assert_eq!(fs::read_to_string(fixture.path()).unwrap(), broken);
    }
}

#[tokio::test]
async fn doubtful_data_of_others_is_kept_and_stops_nothing() {
    let fixture = Fixture::with_zone().await;
    let before = fs::read_to_string(fixture.path()).unwrap();
    let doubtful = "text 60 IN TXT two words\nalias 60 IN CNAME lb.example.net\n";
    fs::write(fixture.path(), before + doubtful).unwrap();
    let www = set("www.example.org", "A", &["192.0.2.1"]);
    assert_eq!(fixture.write(vec![change(None, Some(&www))]).await, [Ok(())]);
    let held = fixture.held().await;
    for name in ["text.example.org.", "alias.example.org.", "www.example.org."] {
        assert!(held.iter().any(|set| set.name.to_string() == name), "{name}: {held:?}");
    }
}

#[tokio::test]
async fn an_edited_file_keeps_its_records_and_is_kept_itself() {
    let fixture = Fixture::with_zone().await;
    let edited = fs::read_to_string(fixture.path()).unwrap() + "; by hand\nhand A 192.0.2.7\n";
    fs::write(fixture.path(), &edited).unwrap();
    let www = set("www.example.org", "A", &["192.0.2.1"]);
    assert_eq!(fixture.write(vec![change(None, Some(&www))]).await, [Ok(())]);
    let hand = RecordSet { ttl: 300, ..set("hand.example.org", "A", &["192.0.2.7"]) };
    assert_eq!(fixture.held().await, [hand, www]);
    let kept = fixture.path().with_file_name(".example.org.zone.edited");
    assert_eq!(fs::read_to_string(kept).unwrap(), edited);
}

#[tokio::test]
async fn the_soa_of_a_file_of_ours_follows_the_plan_and_a_foreign_one_stays() {
    let fixture = Fixture::with_zone().await;
    let soa = "ns.example.org. new.example.org. 7 3600 600 86400 300";
    let changed = NewZone { soa: set("example.org", "SOA", &[soa]), ..new_zone() };
    let read = || async {
        let entries = fixture.files.read_zone(&name("example.org")).await.unwrap();
        entries.iter().find_map(|entry| entry.set.data[0].as_soa()).unwrap()
    };
    fixture.files.open_zone(&changed).await.unwrap();
    let Soa { rname, serial, .. } = read().await;
    assert_eq!((rname, serial), (name("new.example.org"), 2_026_111_601));

    let foreign = fs::read_to_string(fixture.path()).unwrap().lines().skip(1).collect::<Vec<_>>().join("\n");
    fs::write(fixture.path(), &foreign).unwrap();
    fixture.files.open_zone(&new_zone()).await.unwrap();
    assert_eq!(fs::read_to_string(fixture.path()).unwrap(), foreign);
}

#[tokio::test]
async fn a_missing_directory_is_made_but_not_the_disk_that_it_is_on() {
    let folder = tempfile::tempdir().unwrap();
    let files = ZoneFiles::new(folder.path().join("disk/zones"));
    assert!(matches!(files.health().await, Err(Failure::Unsupported(_))));
    assert!(matches!(files.open_zone(&new_zone()).await, Err(Failure::Unsupported(_))));
    fs::create_dir(folder.path().join("disk")).unwrap();
    files.health().await.unwrap();
    assert_eq!(files.read_zone(&name("example.org")).await, Err(Failure::NoZone));
    assert!(files.open_zone(&new_zone()).await.unwrap().made);
}

#[rstest]
#[case(".", "root.zone")]
#[case("example.org", "example.org.zone")]
#[case("0/25.2.0.192.in-addr.arpa", "0%2f25.2.0.192.in-addr.arpa.zone")]
#[case("*.example.org", "%2a.example.org.zone")]
fn every_zone_has_a_file_name_that_stays_in_the_directory(#[case] zone: &str, #[case] expected: &str) {
    assert_eq!(file_name(&name(zone)), expected);
}
