//! The items of a `kind: List`, each decoded on its own.
//!
//! A decoder stops at the first fault, so the list is read again without the item at fault, until
//! the others are through. A key given twice cannot be passed over in this way: it refuses the list.

use std::cell::Cell;
use std::fmt;

use api::{Kind, Object};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::documents::Document;
use super::yaml::{self, Fault, ObjectSeed};

/// More faults in one list than this are not looked at one by one.
const MOST_FAULTS: usize = 100;
/// How many octets may be read again because of faults. A longer list with many of them is refused, since
/// every fault means to read all of it again.
const MOST_REREAD: usize = 16 << 20;

/// How many faults of a list are looked at.
fn most_faults(document: Document<'_>) -> usize {
    (MOST_REREAD / document.text.len().max(1)).clamp(1, MOST_FAULTS)
}

/// Decodes the items whose kinds are known; `None` for those that are not ours to read.
pub(super) fn objects(document: Document<'_>, kinds: &[Option<Kind>]) -> Result<Vec<Decoded>, Fault> {
    let mut wanted = kinds.to_vec();
    let mut faults: Vec<Option<Fault>> = vec![None; kinds.len()];
    loop {
        let at = Cell::new(0);
        match yaml::seeded(document, yaml::strict(document), ListSeed { kinds: &wanted, at: &at }) {
            Ok(objects) => return Ok(objects.into_iter().zip(faults).map(decoded).collect()),
            Err(fault) => skip(at.get(), fault, &mut wanted, &mut faults, most_faults(document))?,
        }
    }
}

/// An item as it was decoded.
pub(super) type Decoded = Option<Result<Object, Fault>>;

fn decoded((object, fault): (Option<Object>, Option<Fault>)) -> Decoded {
    fault.map(Err).or_else(|| object.map(Ok))
}

/// Leaves the item at fault out of the next round.
fn skip(
    index: usize,
    fault: Fault,
    wanted: &mut [Option<Kind>],
    faults: &mut [Option<Fault>],
    most: usize,
) -> Result<(), Fault> {
    let count = faults.iter().flatten().count();
    match (wanted.get_mut(index), faults.get_mut(index)) {
        (Some(kind), Some(slot)) if slot.is_none() && count < most => {
            *kind = None;
            *slot = Some(below_item(fault, index));
            Ok(())
        }
        _ => Err(fault),
    }
}

/// The field as the item has it, not the list.
fn below_item(fault: Fault, index: usize) -> Fault {
    let field = fault.field.trim_start_matches(&format!("items[{index}]")).trim_start_matches('.').to_owned();
    Fault { field, ..fault }
}

/// Line and column of each item.
pub(super) fn places(document: Document<'_>) -> Result<Vec<(u32, u32)>, Fault> {
    #[derive(Deserialize)]
    struct Places {
        items: Vec<Spanned<IgnoredAny>>,
    }
    let options = yaml::lenient(document);
    let found = serde_saphyr::from_str_with_options::<Places>(document.text, options);
    let found = found.map_err(|error| yaml::fault(&error, "items", document))?.items;
    let place = |item: Spanned<IgnoredAny>| {
        (item.referenced.line() as u32 + document.lines_before, item.referenced.column() as u32)
    };
    Ok(found.into_iter().map(place).collect())
}

/// The list: a map of which only `items` is read.
struct ListSeed<'a> {
    kinds: &'a [Option<Kind>],
    /// Which item is being decoded.
    at: &'a Cell<usize>,
}

impl<'de> DeserializeSeed<'de> for ListSeed<'_> {
    type Value = Vec<Option<Object>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for ListSeed<'_> {
    type Value = Vec<Option<Object>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of manifests")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut objects = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            if key == "items" {
                objects = map.next_value_seed(ItemsSeed { kinds: self.kinds, at: self.at })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(objects)
    }
}

struct ItemsSeed<'a> {
    kinds: &'a [Option<Kind>],
    at: &'a Cell<usize>,
}

impl<'de> DeserializeSeed<'de> for ItemsSeed<'_> {
    type Value = Vec<Option<Object>>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for ItemsSeed<'_> {
    type Value = Vec<Option<Object>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence of manifests")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Self::Value, A::Error> {
        let mut objects = Vec::new();
        for (index, kind) in self.kinds.iter().enumerate() {
            self.at.set(index);
            let object = match kind {
                Some(kind) => sequence.next_element_seed(ObjectSeed(*kind))?,
                None => sequence.next_element::<IgnoredAny>()?.and(None),
            };
            objects.push(object);
        }
        Ok(objects)
    }
}
