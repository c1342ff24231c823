//! A file of manifests: which objects it declares.
//!
//! ```text
//! text ──documents──► each: whose kind? ──decode──► good, invalid, or broken with its place
//! ```
//!
//! Text that is not YAML refuses the file. A document that is YAML but no object of its kind is
//! that object's trouble alone.

mod zones;

use std::sync::Arc;

use api::{Kind, Lookup, Object, Problem};
use planner::ObjectRef;
use serde_json::Value;

use super::documents::{Document, documents};
use super::list;
use super::problem::Trouble;
use super::yaml::{self, Fault};
use crate::secrets::Secret;

/// What a file of manifests declares.
#[derive(Debug, Default)]
pub(super) struct Manifests {
    pub(super) declared: Vec<Declared>,
    pub(super) troubles: Vec<Trouble>,
    /// The Secrets among its documents; they are not planned, so they are kept apart.
    pub(super) secrets: Vec<((String, String), Secret)>,
    /// How many documents and items of lists there are, of whatever kind.
    pub(super) contents: usize,
    /// Whether some document may stand for an object that cannot be told: then nothing that the
    /// file had before is proved gone.
    pub(super) unclear: bool,
}

/// One object where it is declared.
#[derive(Clone, Debug)]
pub(super) struct Declared {
    pub(super) reference: ObjectRef,
    pub(super) line: u32,
    pub(super) column: u32,
    pub(super) body: Body,
    /// Whether the file no longer mentions it, and its absence proves no deletion.
    pub(super) kept: bool,
    /// Whether its `apiVersion` or `kind` is misspelt, so that another object may be meant.
    pub(super) misspelt: bool,
}

impl Declared {
    /// The same, of a file that no longer mentions it.
    pub(super) fn kept(self) -> Declared {
        Declared { kept: true, ..self }
    }
}

/// What is declared.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Body {
    /// An object that is right in itself.
    Valid(Arc<Object>),
    /// An object that decodes but breaks a rule of its kind; the planner says which.
    Invalid(Arc<Object>),
    /// It does not decode; of a Zone, what can be told of it.
    Broken(Vec<Problem>, Option<Arc<Object>>),
}

/// Reads a file's text; an error refuses it as a whole. The label is the file's name in messages.
pub(super) fn read(label: &str, text: &str) -> Result<Manifests, Box<Refused>> {
    let mut manifests = Manifests::default();
    for document in documents(text) {
        if let Err(trouble) = read_document(label, document, &mut manifests) {
            return Err(Box::new(Refused { zones: zones::told(label, text, &trouble), trouble }));
        }
    }
    Ok(manifests)
}

/// A text that is not YAML.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) trouble: Trouble,
    /// The Zones that can be told all the same, each as broken.
    pub(super) zones: Vec<Declared>,
}

impl Manifests {
    /// Refuses a document; a Zone that it stands for is broken.
    fn refuse_object(&mut self, label: &str, head: &Head, trouble: Trouble) {
        let zone = head.sketch.as_ref().and_then(|sketch| zones::broken(label, &trouble, sketch));
        self.declared.extend(zone);
        self.refuse(trouble);
    }

    fn refuse(&mut self, trouble: Trouble) {
        self.troubles.push(trouble);
        self.unclear = true;
    }

    fn declare(&mut self, label: &str, object: Object, line: u32, column: u32) {
        let reference = reference(&object);
        if reference.name.is_empty() {
            let trouble = Trouble::refused(line, column, "metadata.name is empty: give the object a name");
            let zone = (reference.kind == Kind::Zone).then(|| Arc::new(object));
            self.declared.extend(zone.and_then(|zone| zones::broken(label, &trouble, &zone)));
            return self.refuse(trouble);
        }
        let valid = api::validate(&object).is_empty();
        let body = if valid { Body::Valid(Arc::new(object)) } else { Body::Invalid(Arc::new(object)) };
        self.declared.push(Declared { reference, line, column, body, kept: false, misspelt: false });
    }

    /// Keeps a Secret; of one that does not read nothing is shown but its place.
    fn keep_secret(&mut self, head: &Head, value: &Value, (line, column): (u32, u32)) {
        let namespace = if head.namespace.is_empty() { "default" } else { &head.namespace };
        let key = (namespace.to_owned(), head.name.clone());
        match serde_json::from_value(value.clone()) {
            Ok(object) if !head.name.is_empty() => self.secrets.push((key, Secret::of(object))),
            Ok(_) => {
                self.refuse(Trouble::refused(line, column, "a Secret without metadata.name: give it a name"))
            }
            Err(_) => {
                let message = format!(
                    "the Secret {} does not read: values in data are base64, plain text goes into stringData",
                    head.name
                );
                self.refuse(Trouble::refused(line, column, message));
            }
        }
    }

    fn declare_broken(
        &mut self,
        label: &str,
        fault: Fault,
        head: &Head,
        kind: Kind,
        (line, column): (u32, u32),
    ) {
        let Some(reference) = head.reference(kind) else {
            let (line, column) = (fault.line, fault.column);
            let message = format!("a {} without metadata.name: give the object a name", kind.kind());
            return self.refuse_object(label, head, Trouble::refused(line, column, message));
        };
        // With a fault in its metadata it may be another object that is meant.
        self.unclear |= fault.field.starts_with("metadata");
        let problem = Problem::new(fault.field, fault.value, fault.message);
        let trouble = Trouble::refused(fault.line, fault.column, sentence(&problem));
        self.troubles.push(trouble.about(reference.clone()));
        let message = format!("{} ({label}:{}:{})", problem.message, fault.line, fault.column);
        let body = Body::Broken(vec![Problem { message, ..problem }], head.sketch.clone());
        self.declared.push(Declared { reference, line, column, body, kept: false, misspelt: false });
    }

    /// Declares an object as broken whose `apiVersion` or `kind` is misspelt.
    fn declare_misspelt(
        &mut self,
        label: &str,
        reference: ObjectRef,
        head: &Head,
        message: String,
        (line, column): (u32, u32),
    ) {
        let field = if head.kind == reference.kind.kind() { "apiVersion" } else { "kind" };
        let problem = Problem::new(field, "", format!("{message} ({label}:{line}:{column})"));
        self.troubles.push(Trouble::refused(line, column, message).about(reference.clone()));
        let body = Body::Broken(vec![problem], head.sketch.clone());
        self.declared.push(Declared { reference, line, column, body, kept: false, misspelt: true });
    }
}

pub(super) fn reference(object: &Object) -> ObjectRef {
    let meta = &object.meta;
    ObjectRef { kind: object.kind(), namespace: meta.namespace.clone(), name: meta.name.clone() }
}

fn sentence(problem: &Problem) -> String {
    if problem.field.is_empty() { problem.message.clone() } else { problem.to_string() }
}

/// The common case is read once: the kind stands at the left margin and the object decodes.
fn read_document(label: &str, document: Document<'_>, manifests: &mut Manifests) -> Result<(), Trouble> {
    if let Some(kind) = kind_at_a_glance(document.text)
        && let Ok(object) = yaml::object(document, kind)
    {
        let (line, column) = place(document);
        manifests.contents += 1;
        manifests.declare(label, object, line, column);
        return Ok(());
    }
    let refused = |fault: Fault| Trouble::refused(fault.line, fault.column, sentence_of(fault));
    let value = yaml::value(document).map_err(refused)?;
    let head = Head::of(&value);
    manifests.contents += contents(&value, &head);
    match value.get("items") {
        Some(Value::Array(items)) if head.kind.ends_with("List") => {
            if let Err(fault) = read_list(label, document, items, manifests) {
                manifests.refuse(refused(fault));
            }
        }
        _ if contents(&value, &head) == 0 => {}
        _ if head.is_secret() => manifests.keep_secret(&head, &value, place(document)),
        _ => read_one(label, document, &head, manifests),
    }
    Ok(())
}

/// How many objects the document may declare: a list without items and a document without a value declare
/// none.
fn contents(value: &Value, head: &Head) -> usize {
    match (value, value.get("items")) {
        (Value::Null, _) => 0,
        (Value::Object(fields), _) if fields.is_empty() => 0,
        (_, Some(Value::Array(items))) if head.kind.ends_with("List") => items.len(),
        (_, Some(Value::Null)) if head.kind.ends_with("List") => 0,
        _ => 1,
    }
}

fn sentence_of(fault: Fault) -> String {
    sentence(&Problem::new(fault.field, fault.value, fault.message))
}

fn read_one(label: &str, document: Document<'_>, head: &Head, manifests: &mut Manifests) {
    let place = place(document);
    let Some(kind) = known_kind(label, head, place, manifests) else { return };
    match yaml::object(document, kind) {
        Ok(object) => manifests.declare(label, object, place.0, place.1),
        Err(fault) => manifests.declare_broken(label, fault, head, kind, place),
    }
}

fn read_list(
    label: &str,
    document: Document<'_>,
    items: &[Value],
    manifests: &mut Manifests,
) -> Result<(), Fault> {
    let heads: Vec<Head> = items.iter().map(Head::of).collect();
    let places = list::places(document)?;
    for ((head, item), place) in
        heads.iter().zip(items).zip(&places).filter(|((head, _), _)| head.is_secret())
    {
        manifests.keep_secret(head, item, *place);
    }
    let mut kind = |head, place: &(u32, u32)| known_kind(label, head, *place, manifests);
    let kinds: Vec<Option<Kind>> = heads.iter().zip(&places).map(|(head, place)| kind(head, place)).collect();
    let decoded = list::objects(document, &kinds)?;
    for (((decoded, head), kind), place) in decoded.into_iter().zip(&heads).zip(kinds).zip(places) {
        match (decoded, kind) {
            (Some(Ok(object)), _) => manifests.declare(label, object, place.0, place.1),
            (Some(Err(fault)), Some(kind)) => manifests.declare_broken(label, fault, head, kind, place),
            _ => {}
        }
    }
    Ok(())
}

/// The kind, where it is one that we read; what should be one of ours and is not is reported.
fn known_kind(
    label: &str,
    head: &Head,
    (line, column): (u32, u32),
    manifests: &mut Manifests,
) -> Option<Kind> {
    let missing = match (head.api_version.is_empty(), head.kind.is_empty()) {
        (true, true) => {
            let message = "not a manifest: it has neither apiVersion nor kind, so it is passed over";
            manifests.troubles.push(Trouble::remark(line, column, message));
            manifests.unclear = true;
            return None;
        }
        (true, false) => Some(format!("{} has no apiVersion: add it", head.kind)),
        (false, true) => Some(format!("a document of {} has no kind: add it", head.api_version)),
        (false, false) => None,
    };
    if let Some(message) = missing {
        manifests.refuse_object(label, head, Trouble::refused(line, column, message));
        return None;
    }
    let (api_version, kind) = (&head.api_version, &head.kind);
    let meant = Kind::misspelt(api_version, kind);
    let message = match (Kind::lookup(api_version, kind), meant) {
        (Lookup::Known(kind), _) => return Some(kind),
        (Lookup::UnknownInOurGroup { known }, _) => {
            format!("there is no {kind} in {api_version}: use one of {}", known.join(", "))
        }
        (Lookup::Foreign, Some(meant)) => format!(
            "there is no {kind} in {api_version}: write apiVersion {} and kind {}",
            meant.api_version(),
            meant.kind()
        ),
        (Lookup::Foreign, None) => return None,
    };
    match meant.and_then(|kind| head.reference(kind)) {
        Some(reference) => manifests.declare_misspelt(label, reference, head, message, (line, column)),
        None => manifests.refuse_object(label, head, Trouble::refused(line, column, message)),
    }
    None
}

/// The first line with content.
fn place(document: Document<'_>) -> (u32, u32) {
    let begins = |line: &str| {
        let line = line.trim_start_matches('\u{feff}').trim();
        !line.is_empty() && line != "---" && !line.starts_with(['#', '%']) && !line.starts_with("--- #")
    };
    let number = document.text.lines().position(begins).unwrap_or_default();
    (document.lines_before + number as u32 + 1, 1)
}

/// The kind of a document in block style. A line at the left margin of a block mapping is a key
/// of it, so what is found here is what a parser would find; whatever is written in another way
/// is left to the parser.
fn kind_at_a_glance(text: &str) -> Option<Kind> {
    let plain = |key: &str| {
        let mut values = text.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix(": "));
        let value = values.next()?.trim();
        (values.next().is_none() && !value.contains(['"', '\'', '#', '&', '*', '!', ' '])).then_some(value)
    };
    match Kind::lookup(plain("apiVersion")?, plain("kind")?) {
        Lookup::Known(kind) => Some(kind),
        _ => None,
    }
}

/// What tells an object, as far as the document has it.
struct Head {
    api_version: String,
    kind: String,
    namespace: String,
    name: String,
    /// What can be told of a Zone, should it not decode.
    sketch: Option<Arc<Object>>,
}

impl Head {
    fn of(value: &Value) -> Head {
        let metadata = value.get("metadata");
        let (api_version, kind) = (scalar(value.get("apiVersion")), scalar(value.get("kind")));
        let is_zone = is_zone(value, &api_version, &kind);
        Head {
            sketch: is_zone.then(|| api::zone_sketch(value)).flatten().map(Arc::new),
            api_version,
            kind,
            namespace: scalar(metadata.and_then(|metadata| metadata.get("namespace"))),
            name: scalar(metadata.and_then(|metadata| metadata.get("name"))),
        }
    }

    fn is_secret(&self) -> bool {
        self.api_version == "v1" && self.kind == "Secret"
    }

    fn reference(&self, kind: Kind) -> Option<ObjectRef> {
        let namespace = match (kind.namespaced(), &self.namespace[..]) {
            (false, _) => "",
            (true, "") => "default",
            (true, namespace) => namespace,
        };
        let name = (!self.name.is_empty()).then(|| Arc::from(&self.name[..]))?;
        Some(ObjectRef { kind, namespace: Arc::from(namespace), name })
    }
}

/// Whether a document is a Zone or would be one with its kind written right.
fn is_zone(value: &Value, api_version: &str, kind: &str) -> bool {
    let has_no_data = || value.get("spec").and_then(|spec| spec.get("rdata")).is_none();
    let has_lost_its_kind = || kind.is_empty() && api_version == Kind::Zone.api_version() && has_no_data();
    kind == Kind::Zone.kind() || Kind::misspelt(api_version, kind) == Some(Kind::Zone) || has_lost_its_kind()
}

/// A name may look like a number, as in `name: 2026`.
fn scalar(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::Bool(truth)) => truth.to_string(),
        _ => String::new(),
    }
}
