//! Keys in a folder survive what happens to files.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::os::unix::fs::PermissionsExt;

use ring::rand::SystemRandom;
use rstest::rstest;
use server::dnssec::{Role, ZoneKeys};

use super::*;

fn make(zone: &Name) -> Result<ZoneKeys, KeysError> {
    Ok(ZoneKeys::create(zone.clone(), Algorithm::Ed25519, 1000, &SystemRandom::new())?)
}

#[test]
fn keys_are_made_once_and_only_their_owner_reads_them() {
    let folder = tempfile::tempdir().unwrap();
    let keys = KeyFolder::new(folder.path().join("keys"));
    let zone: Name = "e.org.".parse().unwrap();
    assert!(keys.load("vault", &zone).unwrap().is_none());
    let made = keys.edit("vault", &zone, |_| make(&zone)).unwrap();
    let file = keys.path().join("vault/e.org.json");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let again = keys.edit("vault", &zone, |before| Ok(before.unwrap())).unwrap();
    assert_eq!(made.to_stored(), again.to_stored());
    assert_eq!(keys.all().len(), 1);
}

#[test]
fn a_change_that_is_refused_leaves_the_keys_as_they_were() {
    let folder = tempfile::tempdir().unwrap();
    let keys = KeyFolder::new(folder.path().to_owned());
    let zone: Name = "e.org.".parse().unwrap();
    keys.edit("vault", &zone, |_| make(&zone)).unwrap();
    let before = keys.load("vault", &zone).unwrap().unwrap().to_stored();
    let refused = keys.edit("vault", &zone, |before| {
        let mut before = before.unwrap();
        before.roll(Role::ZoneSigning, 1000, &SystemRandom::new())?;
        before.roll(Role::ZoneSigning, 1000, &SystemRandom::new())?;
        Ok(before)
    });
    assert_eq!(
        refused.unwrap_err().to_string(),
        "a rollover of the ZSK is under way: `fingerpost keys list` shows its next step"
    );
    assert_eq!(keys.load("vault", &zone).unwrap().unwrap().to_stored(), before);
}

#[test]
fn a_damaged_file_is_an_error_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let keys = KeyFolder::new(folder.path().to_owned());
    let zone: Name = "e.org.".parse().unwrap();
    std::fs::create_dir_all(folder.path().join("vault")).unwrap();
    std::fs::write(folder.path().join("vault/e.org.json"), "{").unwrap();
    assert!(keys.load("vault", &zone).is_err());
    assert!(keys.edit("vault", &zone, |before| before.ok_or(KeysError::None(zone.clone()))).is_err());
    assert_eq!(std::fs::read_to_string(folder.path().join("vault/e.org.json")).unwrap(), "{");
}

#[test]
fn a_changed_bit_in_either_copy_changes_no_key_and_is_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let keys = KeyFolder::new(folder.path().to_owned());
    let zone: Name = "e.org.".parse().unwrap();
    let made = keys.edit("vault", &zone, |_| make(&zone)).unwrap().to_stored();
    let files = ["vault/e.org.json", "vault/e.org.copy"].map(|file| folder.path().join(file));
    let whole = std::fs::read(&files[0]).unwrap();
    for file in &files {
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1 << (at % 8);
            std::fs::write(file, &changed).unwrap();
            let loaded = keys.load("vault", &zone).unwrap().unwrap();
            assert_eq!(loaded.to_stored(), made, "octet {at}");
        }
        keys.edit("vault", &zone, |before| Ok(before.unwrap())).unwrap();
        assert_eq!(std::fs::read(file).unwrap(), whole, "it is written again");
        std::fs::remove_file(file).unwrap();
        assert_eq!(keys.all().len(), 1);
        assert_eq!(keys.load("vault", &zone).unwrap().unwrap().to_stored(), made);
        keys.edit("vault", &zone, |before| Ok(before.unwrap())).unwrap();
    }
}

#[test]
fn keys_that_a_person_puts_there_count() {
    let folder = tempfile::tempdir().unwrap();
    let keys = KeyFolder::new(folder.path().to_owned());
    let zone: Name = "e.org.".parse().unwrap();
    keys.edit("vault", &zone, |_| make(&zone)).unwrap();
    let others = make(&zone).unwrap().to_stored();
    std::fs::write(folder.path().join("vault/e.org.json"), &others).unwrap();
    let taken = keys.edit("vault", &zone, |before| Ok(before.unwrap())).unwrap();
    assert_eq!(taken.to_stored(), others);
    std::fs::remove_file(folder.path().join("vault/e.org.json")).unwrap();
    assert_eq!(keys.load("vault", &zone).unwrap().unwrap().to_stored(), others, "in both copies");
}

#[rstest]
#[case("e.org.", "e.org.json")]
#[case(".", "_root.json")]
fn an_entry_is_called_as_its_zone(#[case] zone: &str, #[case] wanted: &str) {
    assert_eq!(entry(&zone.parse().unwrap()), wanted);
}

#[test]
fn zones_with_odd_names_have_entries_of_their_own() {
    let [one, other] = ["a\\/b.org.", "a\\058b.org."].map(|zone| entry(&zone.parse().unwrap()));
    assert_ne!(one, other);
    assert!(!one.contains('/'), "{one}");
}
