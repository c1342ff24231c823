//! DNSSEC keys at rest: a folder for `up`, a Secret in a cluster.
//!
//! ```text
//! keys/lock                       held while a file is read, changed and written
//! keys/VAULT/ZONE.json            the keys of one zone, readable by the owner alone
//! ```
//!
//! A vault is what a class's `keysSecretRef` names, so that classes which name the same one share
//! their keys. A file is written aside, synced and renamed: whoever is killed leaves the old keys
//! or the new ones. Nothing here ever deletes a key file.

mod cluster;
mod folder;

use std::path::PathBuf;

use api::dnsclass::{Dnssec, DnssecAlgorithm};
use dns::Name;
use server::dnssec::{Algorithm, Denial, StoredKeysError};

pub use cluster::SecretVaults;
pub use folder::{KeyFolder, Stamp};

/// Why keys cannot be read, made or kept.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// The file system refused.
    #[error("the keys of {zone} in {path} cannot be used")]
    Io {
        /// Whose.
        zone: Name,
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not what was written.
    #[error("the keys of {zone} in {path} cannot be used")]
    Stored {
        /// Whose.
        zone: Name,
        /// Where.
        path: PathBuf,
        /// What is wrong.
        source: StoredKeysError,
    },
    /// There are none.
    #[error("there are no keys of {0}: they are made when a class with `dnssec` first serves the zone")]
    None(Name),
    /// Several classes sign the zone with keys of their own.
    #[error("{zone} has keys in {vaults}: name one with --vault")]
    Several {
        /// Whose.
        zone: Name,
        /// Where.
        vaults: String,
    },
    /// A step that the keys do not allow.
    #[error(transparent)]
    Rollover(#[from] server::dnssec::RolloverError),
    /// No key could be made.
    #[error(transparent)]
    Key(#[from] server::dnssec::KeyError),
    /// The cluster refused.
    #[error("the Secret {name} cannot be used: {reason}")]
    Secret {
        /// Which.
        name: String,
        /// Why.
        reason: String,
    },
}

/// What new keys of a class sign with.
pub fn algorithm(spec: &Dnssec) -> Algorithm {
    match spec.algorithm {
        DnssecAlgorithm::EcdsaP256Sha256 => Algorithm::EcdsaP256,
        DnssecAlgorithm::Ed25519 => Algorithm::Ed25519,
    }
}

/// How a class denies.
pub fn denial(spec: &Dnssec) -> Denial {
    match spec.denial {
        api::dnsclass::Denial::Compact => Denial::Compact,
        api::dnsclass::Denial::Nsec => Denial::Nsec,
    }
}

/// What the keys of a zone are called in their vault.
pub fn entry(zone: &Name) -> String {
    let text = zone.undotted();
    let plain = |character: char| character.is_ascii_alphanumeric() || "._-".contains(character);
    let name: String = match text.as_str() {
        "." => "_root".to_owned(),
        text => text.chars().map(|character| if plain(character) { character } else { '_' }).collect(),
    };
    // What had to be replaced would make two zones one.
    match name == text || zone.is_root() {
        true => format!("{name}.json"),
        false => format!("{name}-{}.json", short_hash(zone.key())),
    }
}

fn short_hash(octets: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, octets);
    digest.as_ref().iter().take(4).map(|octet| format!("{octet:02x}")).collect()
}

#[cfg(test)]
mod tests;
