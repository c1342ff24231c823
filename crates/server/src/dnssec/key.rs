//! One key: its pair, its DNSKEY and its DS records (RFC 4034, RFC 6605, RFC 8080).
//!
//! The private half leaves this module only as PKCS#8, for whoever stores it, and never through
//! `Debug`.

use std::fmt;
use std::str::FromStr;

use dns::{Name, Rdata, Rtype};
use ring::digest::{self, SHA256, SHA384};
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _, Signature,
};

/// How many octets a signature of either algorithm has.
pub(crate) const SIGNATURE: usize = 64;

/// Protocol field of every DNSKEY (RFC 4034 section 2.1.2).
const PROTOCOL: u8 = 3;
const ZONE_KEY: u16 = 0x0100;
const SECURE_ENTRY_POINT: u16 = 0x0001;

/// How a key signs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Algorithm {
    /// ECDSA on the curve P-256 with SHA-256, number 13 (RFC 6605).
    #[default]
    EcdsaP256,
    /// Ed25519, number 15 (RFC 8080).
    Ed25519,
}

/// What a key signs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// The keys of the zone; the parent's DS record vouches for it.
    KeySigning,
    /// Everything else in the zone.
    ZoneSigning,
}

/// How the parent's DS record is made from a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DigestType {
    /// Number 2 (RFC 4509).
    Sha256,
    /// Number 4 (RFC 6605).
    Sha384,
}

/// Why a key cannot be made or read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// The random generator failed.
    #[error("no random octets for a new key")]
    NoRandomness,
    /// The stored octets are not a key of the algorithm.
    #[error("the stored octets are not a key of {0}")]
    Malformed(Algorithm),
    /// A word that is none of the algorithms.
    #[error("`{0}` is no algorithm; write ECDSAP256SHA256 or ED25519")]
    UnknownAlgorithm(String),
}

/// A key pair with what is derived from its public half.
pub struct Key {
    algorithm: Algorithm,
    role: Role,
    pair: Pair,
    dnskey: Vec<u8>,
    tag: u16,
    pkcs8: Box<[u8]>,
}

enum Pair {
    EcdsaP256(Box<EcdsaKeyPair>),
    Ed25519(Box<Ed25519KeyPair>),
}

impl Algorithm {
    /// Its registered number.
    pub fn number(self) -> u8 {
        match self {
            Algorithm::EcdsaP256 => 13,
            Algorithm::Ed25519 => 15,
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Algorithm::EcdsaP256 => "ECDSAP256SHA256",
            Algorithm::Ed25519 => "ED25519",
        })
    }
}

impl FromStr for Algorithm {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Algorithm, KeyError> {
        match text.to_ascii_uppercase().as_str() {
            "ECDSAP256SHA256" | "ECDSA-P256" | "13" => Ok(Algorithm::EcdsaP256),
            "ED25519" | "15" => Ok(Algorithm::Ed25519),
            _ => Err(KeyError::UnknownAlgorithm(text.to_owned())),
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Role::KeySigning => "KSK",
            Role::ZoneSigning => "ZSK",
        })
    }
}

impl Key {
    /// Makes a new key from random octets.
    pub fn generate(algorithm: Algorithm, role: Role, random: &dyn SecureRandom) -> Result<Key, KeyError> {
        let pkcs8 = match algorithm {
            Algorithm::EcdsaP256 => EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, random),
            Algorithm::Ed25519 => Ed25519KeyPair::generate_pkcs8(random),
        };
        let pkcs8 = pkcs8.map_err(|_| KeyError::NoRandomness)?;
        Key::from_pkcs8(algorithm, role, pkcs8.as_ref())
    }

    /// Reads a key that was stored.
    pub fn from_pkcs8(algorithm: Algorithm, role: Role, pkcs8: &[u8]) -> Result<Key, KeyError> {
        let pair = Pair::read(algorithm, pkcs8).ok_or(KeyError::Malformed(algorithm))?;
        let dnskey = dnskey(algorithm, role, &pair.public());
        let tag = tag(&dnskey);
        Ok(Key { algorithm, role, pair, dnskey, tag, pkcs8: pkcs8.into() })
    }

    /// The pair as PKCS#8, for storage and nothing else.
    pub fn pkcs8(&self) -> &[u8] {
        &self.pkcs8
    }

    /// How it signs.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// What it signs.
    pub fn role(&self) -> Role {
        self.role
    }

    /// The number that signatures name it by (RFC 4034 appendix B).
    pub fn tag(&self) -> u16 {
        self.tag
    }

    /// The data of its DNSKEY and CDNSKEY records in wire form.
    pub fn dnskey(&self) -> &[u8] {
        &self.dnskey
    }

    /// The data of the DS record that the parent of `zone` should have for it.
    pub fn ds(&self, zone: &Name, digest_type: DigestType) -> Option<Rdata> {
        Rdata::from_wire(Rtype::DS, &self.ds_wire(zone, digest_type)).ok()
    }

    /// The data of a DS or CDS record in wire form (RFC 4034 section 5.1.4).
    pub(crate) fn ds_wire(&self, zone: &Name, digest_type: DigestType) -> Vec<u8> {
        let (number, algorithm) = match digest_type {
            DigestType::Sha256 => (2, &SHA256),
            DigestType::Sha384 => (4, &SHA384),
        };
        let digest = digest::digest(algorithm, &[&zone.to_wire()[..], &self.dnskey].concat());
        [&self.tag.to_be_bytes()[..], &[self.algorithm.number(), number], digest.as_ref()].concat()
    }

    /// Signs octets. `None` only where the machine has no random octets, which ECDSA needs.
    pub(crate) fn sign(&self, octets: &[u8]) -> Option<[u8; SIGNATURE]> {
        let signature: Signature = match &self.pair {
            Pair::EcdsaP256(pair) => pair.sign(&SystemRandom::new(), octets).ok()?,
            Pair::Ed25519(pair) => pair.sign(octets),
        };
        signature.as_ref().try_into().ok()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Key({} {} {}, private half hidden)", self.role, self.algorithm, self.tag)
    }
}

impl Pair {
    fn read(algorithm: Algorithm, pkcs8: &[u8]) -> Option<Pair> {
        Some(match algorithm {
            Algorithm::EcdsaP256 => {
                let random = SystemRandom::new();
                let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8, &random);
                Pair::EcdsaP256(Box::new(pair.ok()?))
            }
            Algorithm::Ed25519 => Pair::Ed25519(Box::new(Ed25519KeyPair::from_pkcs8(pkcs8).ok()?)),
        })
    }

    /// The public half as a DNSKEY has it.
    fn public(&self) -> Vec<u8> {
        match self {
            // Without the octet that says that the point is not compressed (RFC 6605 section 4).
            Pair::EcdsaP256(pair) => pair.public_key().as_ref().iter().skip(1).copied().collect(),
            Pair::Ed25519(pair) => pair.public_key().as_ref().to_vec(),
        }
    }
}

fn dnskey(algorithm: Algorithm, role: Role, public: &[u8]) -> Vec<u8> {
    let flags = match role {
        Role::KeySigning => ZONE_KEY | SECURE_ENTRY_POINT,
        Role::ZoneSigning => ZONE_KEY,
    };
    [&flags.to_be_bytes()[..], &[PROTOCOL, algorithm.number()], public].concat()
}

/// The key tag of a DNSKEY's data (RFC 4034 appendix B).
fn tag(dnskey: &[u8]) -> u16 {
    let (pairs, rest) = dnskey.as_chunks::<2>();
    let odd = rest.first().map_or(0, |octet| u32::from(*octet) << 8);
    let sum = pairs.iter().fold(odd, |sum, pair| sum + u32::from(u16::from_be_bytes(*pair)));
    (sum + (sum >> 16)) as u16
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use super::*;
    use rstest::rstest;

    /// DNSKEY and DS of the examples in RFC 6605 section 6.1 and RFC 8080 section 6.1.
    #[rstest]
    #[case(
        "257 3 13 GojIhhXUN/u4v54ZQqGSnyhWJwaubCvTmeexv7bR6edbkrSqQpF64cYbcB7wNcP+e+MAnLr+Wi9xMWyQLc8NAA==",
        "55648 13 2 b4c8c1fe2e7477127b27115656ad6256f424625bf5c1e2770ce6d6e37df61d17",
        "example.net."
    )]
    #[case(
        "257 3 15 l02Woi0iS8Aa25FQkUd9RMzZHJpBoRQwAQEX1SxZJA4=",
        "3613 15 2 3aa5ab37efce57f737fc1627013fee07bdf241bd10f3b1964ab55c78e79a304b",
        "example.com."
    )]
    #[case(
        "257 3 15 zPnZ/QwEe7S8C5SPz2OfS5RR40ATk2/rYnE9xHIEijs=",
        "35217 15 2 401781b934e392de492ec77ae2e15d70f6575a1c0bc59c5275c04ebe80c6614c",
        "example.com."
    )]
    fn tag_and_ds_are_those_of_the_rfcs(#[case] dnskey: &str, #[case] ds: &str, #[case] zone: &str) {
        let dnskey = Rdata::parse(Rtype::DNSKEY, dnskey, &Name::root()).unwrap();
        let wanted = Rdata::parse(Rtype::DS, ds, &Name::root()).unwrap();
        let role = Role::KeySigning;
        let mut key = Key::generate(Algorithm::Ed25519, role, &SystemRandom::new()).unwrap();
        let number = dnskey.wire()[3];
        key.algorithm = if number == 13 { Algorithm::EcdsaP256 } else { Algorithm::Ed25519 };
        (key.tag, key.dnskey) = (tag(dnskey.wire()), dnskey.wire().to_vec());
        assert_eq!(key.ds(&zone.parse().unwrap(), DigestType::Sha256).unwrap(), wanted);
        let longer = key.ds(&zone.parse().unwrap(), DigestType::Sha384).unwrap();
        assert_eq!((longer.wire()[3], longer.wire().len()), (4, 4 + 48));
    }

    #[rstest]
    fn a_stored_key_comes_back_as_the_same_key(
        #[values(Algorithm::EcdsaP256, Algorithm::Ed25519)] algorithm: Algorithm,
        #[values(Role::KeySigning, Role::ZoneSigning)] role: Role,
    ) {
        let key = Key::generate(algorithm, role, &SystemRandom::new()).unwrap();
        let again = Key::from_pkcs8(algorithm, role, key.pkcs8()).unwrap();
        assert_eq!((key.tag(), key.dnskey()), (again.tag(), again.dnskey()));
        assert!(Key::from_pkcs8(algorithm, role, &key.pkcs8()[1..]).is_err());
        assert!(Rdata::from_wire(Rtype::DNSKEY, key.dnskey()).is_ok());
    }

    #[test]
    fn a_private_half_is_never_printed() {
        let key = Key::generate(Algorithm::Ed25519, Role::ZoneSigning, &SystemRandom::new()).unwrap();
        assert_eq!(format!("{key:?}"), format!("Key(ZSK ED25519 {}, private half hidden)", key.tag()));
    }
}
