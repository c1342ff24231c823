//! Signing follows the class, the keys and the time.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::*;
use dns::{Rdata, RecordSet, Rtype};
use planner::Place;
use server::dnssec::Role;

const NOW: u64 = 1_790_000_000;

fn view(dnssec: Option<Dnssec>) -> ViewInfo {
    ViewInfo {
        place: Some(Place::Class("public".into())),
        name: "public".to_owned(),
        listen: Vec::new(),
        clients: Vec::new(),
        numbered: true,
        geo: None,
        dnssec,
    }
}

fn origin() -> Name {
    "e.org.".parse().unwrap()
}

fn zones() -> Zones {
    let mut zones = Zones::new();
    let data = Rdata::parse(Rtype::SOA, "ns admin 1 2 3 4 5", &origin()).unwrap();
    let soa = RecordSet::new(origin(), Rtype::SOA, 60, vec![data]);
    zones.apply(ZoneUpdate::PutZone { origin: origin(), soa, base: None });
    zones
}

fn signing(zones: &Zones) -> Option<Arc<Signing>> {
    zones.zone(&origin()).unwrap().signing().cloned()
}

fn on(folder: &std::path::Path) -> (Signings, KeyFolder) {
    let (signings, keys) = (Signings::default(), KeyFolder::new(folder.to_owned()));
    signings.set_source(KeySource::Folder(keys.clone()));
    (signings, keys)
}

#[test]
fn a_zone_is_signed_while_its_class_says_so_and_with_the_same_keys_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (signings, keys) = on(folder.path());
    let mut zones = zones();
    signings.apply(&view(Some(Dnssec::default())), &mut zones, NOW);
    let first = signing(&zones).unwrap();
    signings.apply(&view(Some(Dnssec::default())), &mut zones, NOW);
    assert!(Arc::ptr_eq(&first, &signing(&zones).unwrap()));
    signings.apply(&view(None), &mut zones, NOW);
    assert!(signing(&zones).is_none());
    on(folder.path()).0.apply(&view(Some(Dnssec::default())), &mut zones, NOW);
    let again = signing(&zones).unwrap();
    assert_eq!(format!("{first:?}"), format!("{again:?}"));
    assert_eq!(keys.all().len(), 1);
}

#[test]
fn a_rollover_by_command_is_noticed_and_its_steps_are_kept_and_served() {
    let folder = tempfile::tempdir().unwrap();
    let (signings, keys) = on(folder.path());
    let (mut zones, view) = (zones(), view(Some(Dnssec::default())));
    signings.apply(&view, &mut zones, NOW);
    let (before, numbers) = (signing(&zones).unwrap(), signings.numbers(NOW));
    assert!(!signings.refresh(|_| Vec::new(), NOW));
    let vault = "fingerpost-dnssec-public";
    let roll = |before: Option<ZoneKeys>| {
        let mut keys = before.unwrap();
        keys.roll(Role::ZoneSigning, NOW, &SystemRandom::new())?;
        Ok(keys)
    };
    keys.edit(vault, &origin(), roll).unwrap();
    assert!(signings.refresh(|_| Vec::new(), NOW));
    signings.apply(&view, &mut zones, NOW);
    assert!(!Arc::ptr_eq(&before, &signing(&zones).unwrap()));
    assert_ne!(signings.numbers(NOW), numbers, "secondaries have to hear of the new key");
    assert_ne!(signings.numbers(NOW), signings.numbers(NOW + WINDOW), "and of new signatures");
    assert!(!signings.refresh(|_| Vec::new(), NOW + 7199));
    assert!(signings.refresh(|_| Vec::new(), NOW + 7200));
    let states: Vec<String> = keys
        .load(vault, &origin())
        .unwrap()
        .unwrap()
        .keys()
        .iter()
        .map(|key| key.state.to_string())
        .collect();
    assert_eq!(states, ["ready", "retired", "active"]);
}

#[test]
fn keys_that_cannot_be_read_leave_the_last_ones_and_are_told_of() {
    let folder = tempfile::tempdir().unwrap();
    let (signings, _) = on(folder.path());
    let (mut zones, view) = (zones(), view(Some(Dnssec::default())));
    signings.apply(&view, &mut zones, NOW);
    for copy in ["e.org.json", "e.org.copy"] {
        std::fs::write(folder.path().join("fingerpost-dnssec-public").join(copy), "broken").unwrap();
    }
    assert!(!signings.refresh(|_| Vec::new(), NOW));
    signings.apply(&view, &mut zones, NOW);
    assert!(signing(&zones).is_some());
    let problem = signings.problems().join("\n");
    assert!(problem.contains("e.org") && problem.contains("the last keys go on signing"), "{problem}");
    // A start with keys that never were readable goes on unsigned, and makes no others.
    on(folder.path()).0.apply(&view, &mut zones, NOW);
    assert!(signing(&zones).is_none());
    let text = std::fs::read_to_string(folder.path().join("fingerpost-dnssec-public/e.org.json")).unwrap();
    assert_eq!(text, "broken");
}

#[test]
fn a_server_that_is_given_its_keys_makes_none() {
    let signings = Signings::default();
    signings.set_source(KeySource::Given);
    let (mut zones, view) = (zones(), view(Some(Dnssec::default())));
    signings.apply(&view, &mut zones, NOW);
    assert!(signing(&zones).is_none() && signings.problems().len() == 1);
    let made =
        ZoneKeys::create(origin(), server::dnssec::Algorithm::Ed25519, NOW, &SystemRandom::new()).unwrap();
    assert!(signings.hear("fingerpost-dnssec-public", &origin(), Ok(made.clone())));
    assert!(!signings.hear("fingerpost-dnssec-public", &origin(), Ok(made)));
    signings.apply(&view, &mut zones, NOW);
    assert!(signing(&zones).is_some() && signings.problems().is_empty());
}
