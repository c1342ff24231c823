//! Manifests as files: those in `accept` are taken, those in `reject` are refused with the words
//! that their first line expects.

use std::fs;
use std::path::{Path, PathBuf};

use api::{Kind, Lookup, Object, decode, manifest, validate};
use serde_json::Value;

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/admission").join(name)
}

/// Every file below a folder, in order.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

/// The documents of a YAML stream that hold something.
fn documents(text: &str) -> Vec<String> {
    let mut documents = vec![String::new()];
    for line in text.lines() {
        match line.trim_end() {
            "---" => documents.push(String::new()),
            line => *documents.last_mut().unwrap() += &format!("{line}\n"),
        }
    }
    let holds = |document: &String| document.lines().any(|line| !line.is_empty() && !line.starts_with('#'));
    documents.into_iter().filter(holds).collect()
}

fn kind(document: &str) -> Result<Kind, String> {
    let value: Value = serde_saphyr::from_str(document).map_err(|error| error.to_string())?;
    let text = |field: &str| value[field].as_str().unwrap_or_default().to_owned();
    match Kind::lookup(&text("apiVersion"), &text("kind")) {
        Lookup::Known(kind) => Ok(kind),
        Lookup::Foreign => Err("foreign".into()),
        Lookup::UnknownInOurGroup { known } => {
            Err(format!("there is no such kind; known are {}", known.join(", ")))
        }
    }
}

fn read(document: &str) -> Result<Object, String> {
    let kind = kind(document)?;
    let object = serde_saphyr::with_deserializer_from_str(document, |yaml| decode(kind, yaml));
    object.map_err(|error| error.to_string())
}

/// Everything that is wrong with a document, in words.
fn complaints(document: &str) -> Vec<String> {
    match read(document) {
        Ok(object) => validate(&object).iter().map(ToString::to_string).collect(),
        Err(error) => vec![error],
    }
}

#[test]
fn every_manifest_in_accept_is_taken() {
    for path in files(&folder("accept")) {
        for document in documents(&fs::read_to_string(&path).unwrap()) {
            assert_eq!(complaints(&document), Vec::<String>::new(), "{}", path.display());
        }
    }
}

#[test]
fn every_manifest_in_reject_is_refused_with_the_expected_words() {
    let mut wrong = Vec::new();
    for path in files(&folder("reject")) {
        let text = fs::read_to_string(&path).unwrap();
        let expected = text.lines().next().and_then(|line| line.strip_prefix("# expect: "));
        let expected = expected.unwrap_or_else(|| panic!("{} expects nothing", path.display()));
        let complaints: Vec<String> = documents(&text).iter().flat_map(|text| complaints(text)).collect();
        if !complaints.iter().any(|complaint| complaint.contains(expected)) {
            wrong.push(format!("{} expects `{expected}` and says {complaints:#?}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_manifest_is_what_it_was_after_a_round_trip() {
    for path in files(&folder("accept")) {
        for document in documents(&fs::read_to_string(&path).unwrap()) {
            let object = read(&document).unwrap();
            let again = decode(object.kind(), manifest(&object)).unwrap();
            assert_eq!(Object { published: None, ..object }, again, "{}", path.display());
        }
    }
}

#[test]
fn document_000_is_there_with_every_kind_of_its_family() {
    let paths = files(&folder("accept/document-000"));
    let texts = paths.iter().flat_map(|path| documents(&fs::read_to_string(path).unwrap()));
    let kinds: Vec<Kind> = texts.map(|text| read(&text).unwrap().kind()).collect();
    for kind in
        [Kind::ClusterIdentity, Kind::DNSConfiguration, Kind::Gateway, Kind::DNSPolicy, Kind::ServiceRoute]
    {
        assert!(kinds.contains(&kind), "{kind:?} is missing");
    }
}
