//! The serials of implied zones, which the operator publishes in a ConfigMap with one entry a zone,
//! `SERIAL HASH`. Those of Zone objects are in their status.

use std::collections::BTreeMap;

use dns::Name;
use planner::{Change, SavedSerial};
use serde::Deserialize;

/// What the planner is told of the ConfigMap; an entry that is none of ours is left out.
pub fn of_config_map(text: &str) -> Vec<Change> {
    #[derive(Deserialize)]
    struct ConfigMap {
        #[serde(default)]
        data: BTreeMap<String, String>,
    }
    let data = serde_json::from_str::<ConfigMap>(text).map(|map| map.data).unwrap_or_default();
    let entry =
        |(key, value): (&String, &String)| Some(Change::Serial(Name::parse(key).ok()?, parse(value)?));
    data.iter().filter_map(entry).collect()
}

/// The ConfigMap's data for these serials.
pub fn data(serials: &BTreeMap<Name, SavedSerial>) -> BTreeMap<String, String> {
    let entry = |(name, saved): (&Name, &SavedSerial)| {
        (name.undotted(), format!("{} {:016x}", saved.serial, saved.hash))
    };
    serials.iter().map(entry).collect()
}

fn parse(value: &str) -> Option<SavedSerial> {
    let (serial, hash) = value.split_once(' ')?;
    Some(SavedSerial { serial: serial.parse().ok()?, hash: u64::from_str_radix(hash, 16).ok()? })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;

    #[test]
    fn what_is_written_is_what_is_read() {
        let saved = SavedSerial { serial: 2_026_111_603, hash: 0x0123_4567_89ab_cdef };
        let serials = BTreeMap::from([(Name::parse("internal.example.org").unwrap(), saved)]);
        let text = serde_json::json!({ "metadata": {}, "data": data(&serials) }).to_string();
        let read = of_config_map(&text);
        assert!(
            matches!(&read[..], [Change::Serial(name, one)] if serials.get(name) == Some(one)),
            "{read:?}"
        );
        let foreign = r#"{"data":{"note":"hello","example.org":"12"}}"#;
        assert!(of_config_map(foreign).is_empty());
    }
}
