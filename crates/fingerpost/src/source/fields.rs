//! Where a field of an object is in its file.
//!
//! ```text
//! spec.regions[1].addresses[0] ──► document of the object ──► tree of places ──► line and column
//! ```
//!
//! A field that is not written has the place of the nearest one around it that is. What was parsed is kept, so that
//! many fields of one document cost one reading of it.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use planner::{ClusterId, ObjectRef};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::Source;
use super::claims::FileKey;
use super::cluster::Cluster;
use super::documents::{Document, documents};
use super::yaml;

/// Line and column.
type Place = (u32, u32);

/// Finds the fields of objects in the files of a source.
pub struct Fields<'a> {
    source: &'a Source,
    files: BTreeMap<(ClusterId, FileKey), Option<File>>,
}

/// A file, with the documents that were looked at.
struct File {
    text: Arc<str>,
    documents: Vec<(Part, Option<Option<Node>>)>,
}

/// A document's part of its file.
struct Part {
    lines_before: u32,
    range: Range<usize>,
    aliased: usize,
}

impl<'a> Fields<'a> {
    /// Finds fields in the files as they were read.
    pub fn of(source: &'a Source) -> Fields<'a> {
        Fields { source, files: BTreeMap::new() }
    }

    /// The line and column of a field such as `spec.regions[1].addresses[0]` of an object.
    pub fn locate(&mut self, cluster: ClusterId, object: &ObjectRef, field: &str) -> Option<Place> {
        self.nearest(cluster, object, &steps(field))
    }

    /// The line and column of an annotation of an object.
    pub fn locate_annotation(&mut self, cluster: ClusterId, object: &ObjectRef, key: &str) -> Option<Place> {
        self.nearest(
            cluster,
            object,
            &[Step::Field("metadata"), Step::Field("annotations"), Step::Field(key)],
        )
    }

    fn nearest(&mut self, cluster: ClusterId, object: &ObjectRef, steps: &[Step<'_>]) -> Option<Place> {
        let cluster = self.source.clusters.get(usize::from(cluster.0))?;
        let (key, line, column) = cluster.declaration(object)?;
        let file = self.files.entry((cluster.id(), key.clone())).or_insert_with(|| File::read(cluster, key));
        let root = file.as_mut()?.document(line)?;
        let object = root.item_at((line, column)).unwrap_or(root);
        Some(object.nearest(steps))
    }
}

impl File {
    fn read(cluster: &Cluster, key: &FileKey) -> Option<File> {
        let (_, text) = cluster.folders[key.folder].text(&key.path).ok()?;
        let part = |document: Document<'_>| {
            let start = document.text.as_ptr() as usize - text.as_ptr() as usize;
            let range = start..start + document.text.len();
            (Part { lines_before: document.lines_before, range, aliased: document.aliased }, None)
        };
        let documents = documents(&text).into_iter().map(part).collect();
        Some(File { documents, text: text.into() })
    }

    /// The places of the document that has this line.
    fn document(&mut self, line: u32) -> Option<&Node> {
        let at = self.documents.partition_point(|(part, _)| part.lines_before < line).checked_sub(1)?;
        let (part, tree) = &mut self.documents[at];
        let text = &self.text[part.range.clone()];
        tree.get_or_insert_with(|| {
            parse(Document { lines_before: part.lines_before, text, aliased: part.aliased })
        })
        .as_ref()
    }
}

fn parse(document: Document<'_>) -> Option<Node> {
    let options = yaml::lenient(document);
    let mut root = serde_saphyr::from_str_with_options::<Node>(document.text, options).ok()?;
    root.shift(document.lines_before);
    Some(root)
}

/// A step from a node to one inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step<'a> {
    Field(&'a str),
    Entry(usize),
}

/// The steps of a field such as `spec.regions[1].addresses[0]`.
fn steps(field: &str) -> Vec<Step<'_>> {
    let mut steps = Vec::new();
    for part in field.split('.').filter(|part| !part.is_empty()) {
        let mut words = part.split('[');
        steps.extend(words.next().filter(|name| !name.is_empty()).map(Step::Field));
        let numbers = words.map(|word| word.trim_end_matches(']').parse().ok());
        steps.extend(numbers.map_while(|number| number.map(Step::Entry)));
    }
    steps
}

/// A value of a document, with its place.
struct Node {
    place: Place,
    inside: Inside,
}

enum Inside {
    Scalar,
    Map(Vec<(String, Node)>),
    Sequence(Vec<Node>),
}

impl Node {
    fn child(&self, step: Step<'_>) -> Option<&Node> {
        match (&self.inside, step) {
            (Inside::Map(fields), Step::Field(wanted)) => {
                fields.iter().find(|(name, _)| name == wanted).map(|(_, node)| node)
            }
            (Inside::Sequence(entries), Step::Entry(number)) => entries.get(number),
            _ => None,
        }
    }

    fn nearest(&self, steps: &[Step<'_>]) -> Place {
        let inner = steps.split_first().and_then(|(first, rest)| Some((self.child(*first)?, rest)));
        inner.map_or(self.place, |(child, rest)| child.nearest(rest))
    }

    /// The item of a list that is declared at a place.
    fn item_at(&self, place: Place) -> Option<&Node> {
        match &self.child(Step::Field("items"))?.inside {
            Inside::Sequence(items) => items.iter().find(|item| item.place == place),
            _ => None,
        }
    }

    fn shift(&mut self, lines: u32) {
        self.place.0 += lines;
        match &mut self.inside {
            Inside::Scalar => {}
            Inside::Map(fields) => fields.iter_mut().for_each(|(_, node)| node.shift(lines)),
            Inside::Sequence(entries) => entries.iter_mut().for_each(|node| node.shift(lines)),
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Node, D::Error> {
        let Spanned { value, referenced, .. } = Spanned::<Inside>::deserialize(deserializer)?;
        Ok(Node { place: (referenced.line() as u32, referenced.column() as u32), inside: value })
    }
}

impl<'de> Deserialize<'de> for Inside {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Inside, D::Error> {
        deserializer.deserialize_any(InsideVisitor)
    }
}

struct InsideVisitor;

impl<'de> Visitor<'de> for InsideVisitor {
    type Value = Inside;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Inside, A::Error> {
        let mut fields = Vec::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            let mut node: Node = map.next_value()?;
            // A block below its key is found by the key.
            if node.place.0 > key.referenced.line() as u32 {
                node.place = (key.referenced.line() as u32, key.referenced.column() as u32);
            }
            fields.push((key.value, node));
        }
        Ok(Inside::Map(fields))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut sequence: A) -> Result<Inside, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = sequence.next_element()? {
            entries.push(entry);
        }
        Ok(Inside::Sequence(entries))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Inside, E> {
        Ok(Inside::Scalar)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Inside, E> {
        Ok(Inside::Scalar)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Inside, E> {
        Ok(Inside::Scalar)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Inside, E> {
        Ok(Inside::Scalar)
    }

    fn visit_str<E>(self, _: &str) -> Result<Inside, E> {
        Ok(Inside::Scalar)
    }

    fn visit_unit<E>(self) -> Result<Inside, E> {
        Ok(Inside::Scalar)
    }

    fn visit_none<E>(self) -> Result<Inside, E> {
        Ok(Inside::Scalar)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Inside, D::Error> {
        Inside::deserialize(deserializer)
    }

    fn visit_bytes<E>(self, _: &[u8]) -> Result<Inside, E> {
        Ok(Inside::Scalar)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Inside, D::Error> {
        deserializer.deserialize_any(self)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use rstest::rstest;

    use super::*;

    const BLOCK: &str = "\
kind: Placement
spec:
  hostname: app.example.org
  regions:
    - name: weu
      addresses: [192.0.2.1]
    - name: neu
      addresses:
        - 192.0.2.2
        - nowhere   # here
  healthCheck: {path: \"x\", expectedCodes: [200, many]}
";

    fn place(text: &str, field: &str) -> Place {
        let document = documents(text)[0];
        parse(document).unwrap().nearest(&steps(field))
    }

    #[rstest]
    #[case("spec.hostname", (3, 13))]
    #[case("spec.regions", (4, 3))]
    #[case("spec.regions[0].addresses[0]", (6, 19))]
    #[case("spec.regions[1].addresses[1]", (10, 11))]
    #[case("spec.regions[1].name", (7, 13))]
    #[case("spec.regions[1].weight", (7, 7))]
    #[case("spec.healthCheck.expectedCodes[1]", (11, 49))]
    #[case("spec.witness.region", (2, 1))]
    #[case("metadata.annotations", (1, 1))]
    #[case("", (1, 1))]
    fn a_field_has_a_place_and_a_missing_one_that_of_what_is_around_it(
        #[case] field: &str,
        #[case] expected: Place,
    ) {
        assert_eq!(place(BLOCK, field), expected);
    }

    #[test]
    fn json_and_later_documents_have_places_too() {
        assert_eq!(place("{\"spec\": {\"ttl\": -1}}", "spec.ttl"), (1, 18));
        let documents = documents("a: 1\n---\nspec:\n  ttl: -1\n");
        assert_eq!(parse(documents[1]).unwrap().nearest(&steps("spec.ttl")), (4, 8));
    }

    #[test]
    fn an_alias_has_the_place_where_it_is_used() {
        assert_eq!(place("a: &a [1, 2]\nspec:\n  ttl: *a\n", "spec.ttl"), (3, 8));
    }
}
