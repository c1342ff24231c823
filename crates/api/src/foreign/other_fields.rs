//! The fields of a foreign object that are not read: some of them may be misspelt ones that are.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::de::{Error, IgnoredAny};
use serde::{Deserialize, Deserializer};

use crate::Problem;
use crate::resemblance::resembles;

/// The names of fields that are not read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OtherFields(BTreeSet<String>);

impl<'de> Deserialize<'de> for OtherFields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<OtherFields, D::Error> {
        let fields = BTreeMap::<String, IgnoredAny>::deserialize(deserializer)?;
        Ok(OtherFields(fields.into_keys().collect()))
    }
}

impl OtherFields {
    /// Those that stand for one that is read. Others are not judged: the project of the kind may add fields.
    pub(crate) fn misspelt(&self, meant: &'static str) -> Vec<MisspeltField> {
        let misspelt = self.0.iter().filter(|written| resembles(written, meant));
        misspelt.map(|written| MisspeltField { written: written.clone(), meant }).collect()
    }

    /// Those that are read in another part of the object, and are ignored where they are.
    pub(super) fn misplaced(&self, path: &str, fields: &[&str]) -> Vec<Problem> {
        let found = fields.iter().filter(|field| self.0.contains(**field));
        let place =
            |field: &&str| if path.is_empty() { (*field).to_owned() } else { format!("{path}.{field}") };
        let message = "this field belongs into another part of the object";
        found.map(|field| Problem::new(place(field), "", message)).collect()
    }

    /// The misspelt ones of an object that has no spec or no status.
    pub(super) fn misspelt_parts(&self, has_spec: bool, has_status: bool) -> Vec<Problem> {
        let missing =
            [("spec", has_spec), ("status", has_status)].into_iter().filter(|(_, is_there)| !is_there);
        let misspelt = missing.flat_map(|(part, _)| self.misspelt(part));
        misspelt.map(|field| field.problem("")).collect()
    }
}

/// For a field of the metadata beside them: without it this is another object.
pub(crate) fn belongs_to_metadata<'de, D: Deserializer<'de>>(_: D) -> Result<(), D::Error> {
    Err(D::Error::custom("this field belongs into metadata: indent it"))
}

/// For a field of the spec beside it.
pub(crate) fn belongs_to_spec<'de, D: Deserializer<'de>>(_: D) -> Result<(), D::Error> {
    Err(D::Error::custom("this field belongs into spec: indent it"))
}

/// A field with a misspelt name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MisspeltField {
    /// As it is written.
    pub(super) written: String,
    /// The field that is meant.
    pub(super) meant: &'static str,
}

impl MisspeltField {
    /// What is wrong, in the fields at this path.
    pub(super) fn problem(&self, path: &str) -> Problem {
        let field = if path.is_empty() { self.written.clone() } else { format!("{path}.{}", self.written) };
        Problem::new(field, "", format!("unknown field, {} is meant", self.meant))
    }
}

impl fmt::Display for MisspeltField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "unknown field `{}`, {} is meant", self.written, self.meant)
    }
}
