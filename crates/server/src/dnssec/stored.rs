//! Keys as they are stored: JSON with a version, the pairs as PKCS#8 in base64.
//!
//! The text is secret as a whole. Errors never quote it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use dns::Name;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

use super::key::{Algorithm, Key, Role};
use super::keys::{KeyState, ZoneKey, ZoneKeys};

const VERSION: u32 = 1;

/// Why a stored text is not the keys of a zone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoredKeysError {
    /// Not the JSON that we write.
    #[error("not a file of keys, at line {line} column {column}")]
    Malformed {
        /// Where.
        line: usize,
        /// Where.
        column: usize,
    },
    /// Written by a later version of this program.
    #[error("a file of keys of version {0}, which this program does not know")]
    Version(u32),
    /// A key that does not read.
    #[error("the key with tag {0} cannot be read")]
    Key(u16),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Stored {
    version: u32,
    zone: Name,
    algorithm: StoredAlgorithm,
    keys: Vec<StoredKey>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct StoredKey {
    role: StoredRole,
    tag: u16,
    state: StoredState,
    since: u64,
    pkcs8: String,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum StoredAlgorithm {
    EcdsaP256Sha256,
    Ed25519,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
enum StoredRole {
    Ksk,
    Zsk,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum StoredState {
    Published,
    Ready,
    Active,
    Retired,
}

/// Turns each pair of values into both conversions.
macro_rules! same {
    ($stored:ident = $ours:ident: $($theirs:ident = $own:ident),*) => {
        impl From<$stored> for $ours {
            fn from(stored: $stored) -> $ours {
                match stored { $($stored::$theirs => $ours::$own,)* }
            }
        }
        impl From<$ours> for $stored {
            fn from(ours: $ours) -> $stored {
                match ours { $($ours::$own => $stored::$theirs,)* }
            }
        }
    };
}

same!(StoredAlgorithm = Algorithm: EcdsaP256Sha256 = EcdsaP256, Ed25519 = Ed25519);
same!(StoredRole = Role: Ksk = KeySigning, Zsk = ZoneSigning);
same!(StoredState = KeyState: Published = Published, Ready = Ready, Active = Active, Retired = Retired);

impl ZoneKeys {
    /// The text to store, private halves included.
    pub fn to_stored(&self) -> String {
        let keys = self.keys.iter().map(|key| StoredKey {
            role: key.key.role().into(),
            tag: key.key.tag(),
            state: key.state.into(),
            since: key.since,
            pkcs8: BASE64.encode(key.key.pkcs8()),
        });
        let (zone, algorithm) = (self.zone.clone(), self.algorithm.into());
        let stored = Stored { version: VERSION, zone, algorithm, keys: keys.collect() };
        // Numbers, words and base64 always have a JSON form.
        serde_json::to_string_pretty(&stored).unwrap_or_default() + "\n"
    }

    /// Reads a stored text.
    pub fn from_stored(text: &str) -> Result<ZoneKeys, StoredKeysError> {
        let malformed = |error: serde_json::Error| StoredKeysError::Malformed {
            line: error.line(),
            column: error.column(),
        };
        let Version { version } = serde_json::from_str(text).map_err(malformed)?;
        if version != VERSION {
            return Err(StoredKeysError::Version(version));
        }
        let stored: Stored = serde_json::from_str(text).map_err(malformed)?;
        let algorithm = stored.algorithm.into();
        let keys = stored.keys.into_iter().map(|key| key.read(algorithm)).collect::<Result<_, _>>()?;
        Ok(ZoneKeys { zone: stored.zone, algorithm, keys })
    }
}

/// What is read first, because a later version may have another form.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

impl StoredKey {
    fn read(self, algorithm: Algorithm) -> Result<ZoneKey, StoredKeysError> {
        let unreadable = StoredKeysError::Key(self.tag);
        let pkcs8 = BASE64.decode(self.pkcs8).map_err(|_| unreadable.clone())?;
        let key = Key::from_pkcs8(algorithm, self.role.into(), &pkcs8).map_err(|_| unreadable)?;
        Ok(ZoneKey { key: Arc::new(key), state: self.state.into(), since: self.since })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use ring::rand::SystemRandom;

    fn keys() -> ZoneKeys {
        let random = SystemRandom::new();
        let mut keys =
            ZoneKeys::create("e.org.".parse().unwrap(), Algorithm::EcdsaP256, 1000, &random).unwrap();
        keys.roll(Role::ZoneSigning, 2000, &random).unwrap();
        keys
    }

    #[test]
    fn stored_keys_come_back_with_their_states() {
        let keys = keys();
        let again = ZoneKeys::from_stored(&keys.to_stored()).unwrap();
        let show = |keys: &ZoneKeys| {
            keys.keys.iter().map(|key| (key.key.tag(), key.state, key.since)).collect::<Vec<_>>()
        };
        assert_eq!((show(&keys), &keys.zone), (show(&again), &again.zone));
        assert_eq!(keys.to_stored(), again.to_stored());
    }

    #[test]
    fn a_later_version_and_damage_are_named_without_quoting_a_key() {
        let text = keys().to_stored();
        let later = text.replacen("\"version\": 1", "\"version\": 2", 1);
        assert_eq!(ZoneKeys::from_stored(&later).unwrap_err(), StoredKeysError::Version(2));
        let cut = ZoneKeys::from_stored(&text[..text.len() / 2]).unwrap_err();
        assert!(matches!(cut, StoredKeysError::Malformed { .. }), "{cut}");
        let damaged =
            ZoneKeys::from_stored(&text.replacen("\"pkcs8\": \"MI", "\"pkcs8\": \"NI", 1)).unwrap_err();
        assert_eq!(damaged.to_string(), format!("the key with tag {} cannot be read", keys_tag(&text)));
    }

    fn keys_tag(text: &str) -> u16 {
        ZoneKeys::from_stored(text).unwrap().keys[0].key.tag()
    }
}
