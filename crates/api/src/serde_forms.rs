//! How values are read where a manifest may write them in more than one way.

use serde::{Deserialize, Deserializer};

/// Reads an optional text; empty is unset.
pub(crate) fn unset_when_empty<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    Ok(text.filter(|text| !text.is_empty()))
}
