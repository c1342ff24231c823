//! Each rule of reading the folders, as a claim.
#![allow(clippy::unwrap_used, clippy::panic)]

mod bounds;
mod broken;
mod decoding;
mod difference;
mod empty;
mod restart;
mod watching;
mod zone_files;

use std::fs;
use std::path::Path;
use std::sync::Arc;

use planner::Change;

use super::{ClusterFolders, Reading, Source};
use crate::state::StateDir;

/// A folder of sources and a place for state.
struct World {
    folder: tempfile::TempDir,
    state: tempfile::TempDir,
}

impl World {
    fn new(files: &[(&str, &str)]) -> World {
        let world = World { folder: tempfile::tempdir().unwrap(), state: tempfile::tempdir().unwrap() };
        files.iter().for_each(|(path, text)| world.write(path, text));
        world
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Replaces a file as careful programs do.
    fn replace(&self, path: &str, text: &str) {
        self.write(".aside", text);
        fs::rename(self.root().join(".aside"), self.root().join(path)).unwrap();
    }

    fn remove(&self, path: &str) {
        fs::remove_file(self.root().join(path)).unwrap();
    }

    fn clusters(&self) -> Vec<ClusterFolders> {
        ClusterFolders::parse(&[self.root().to_str().unwrap()]).unwrap()
    }

    fn source(&self) -> Source {
        Source::new(&self.clusters())
    }

    /// A source as `up` has it; only one at a time can be alive.
    fn source_with_state(&self) -> Source {
        self.source().with_state(Arc::new(StateDir::open(self.state.path()).unwrap()))
    }

    /// The problems without the folder's own path.
    fn problems(&self, reading: &Reading) -> Vec<String> {
        let root = format!("{}/", self.root().display());
        reading.problems.iter().map(|problem| problem.to_string().replace(&root, "")).collect()
    }
}

/// A valid record, in one document.
fn record(name: &str, rdata: &str) -> String {
    format!(
        "---\napiVersion: kubi.zone/v1alpha1\nkind: Record\nmetadata:\n  name: {name}\nspec:\n  \
         domainName: {name}.example.org\n  type: A\n  rdata: {rdata}\n"
    )
}

/// What is wrong by the rules of the kind: an address that is none.
fn invalid_record(name: &str) -> String {
    record(name, "not-an-address")
}

/// What does not decode: a field that is not there.
fn broken_record(name: &str) -> String {
    record(name, "192.0.2.1") + "  colour: blue\n"
}

/// The changes as one word each: `put a=192.0.2.1`, `broken a`, `delete a`, `file z.zone 3`.
fn told(reading: &Reading) -> Vec<String> {
    reading.changes.iter().map(word).collect()
}

fn word(change: &Change) -> String {
    match change {
        Change::Put(_, object) => match &object.spec {
            api::Spec::Record(record) => format!("put {}={}", object.meta.name, record.rdata),
            _ => format!("put {} {}", object.kind().kind(), object.meta.name),
        },
        Change::Broken(_, object, _) => format!("broken {}", object.name),
        Change::LastValid(cluster, object) => {
            word(&Change::Put(*cluster, object.clone())).replacen("put", "was", 1)
        }
        Change::Delete(_, object) => format!("delete {}", object.name),
        Change::PutFile(_, path, zone, _) => format!("file {path} {}", zone.len()),
        Change::BrokenFile(_, path, origin, _) => {
            format!("broken file {path} {}", origin.as_ref().map_or("?".into(), ToString::to_string))
        }
        Change::DeleteFile(_, path) => format!("delete file {path}"),
        other => panic!("a source tells of files alone: {other:?}"),
    }
}
