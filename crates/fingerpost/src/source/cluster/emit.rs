//! From what was read to what is told: changes, problems, and what is kept on disk.

use std::sync::Arc;

use planner::{Change, ObjectRef};

use super::super::batch::{Batch, Circumstances, Keep};
use super::super::claims::{Claim, FileKey};
use super::super::manifest::Body;
use super::super::problem::{Severity, SourceProblem, Trouble};
use super::{Cluster, File};
use crate::state::{SavedContent, SavedFile, StateDir};

impl Cluster {
    /// The changes of a reading: zone files as they were read, objects by their difference.
    pub(in super::super) fn finish(
        &mut self,
        mut batch: Batch,
        circumstances: Circumstances<'_>,
    ) -> Vec<Change> {
        self.keep_mentioned(circumstances, &mut batch);
        let mut changes = std::mem::take(&mut batch.changes);
        for (object, before) in std::mem::take(&mut batch.before) {
            let after = self.body(&object).cloned();
            if before != after {
                self.tell(object, before, after, &mut batch, &mut changes);
            }
        }
        if let Some(state) = circumstances.state {
            batch.keeps.iter().for_each(|(key, keep)| self.keep(state, key, keep));
        }
        changes
    }

    fn tell(
        &mut self,
        object: ObjectRef,
        before: Option<Body>,
        after: Option<Body>,
        batch: &mut Batch,
        changes: &mut Vec<Change>,
    ) {
        let Some(after) = after else {
            self.last_valid.remove(&object);
            return changes.push(Change::Delete(self.id, object));
        };
        match (before, &after) {
            (before, Body::Valid(now)) => {
                self.last_valid.remove(&object);
                let saved = batch.restored.remove(&object).filter(|_| before.is_none());
                let edited = saved.filter(|saved| saved != now);
                changes.extend(edited.map(|saved| Change::LastValid(self.id, saved)));
            }
            (Some(Body::Valid(valid)), _) => drop(self.last_valid.insert(object.clone(), valid)),
            (None, _) => {
                if let Some(valid) = batch.restored.remove(&object) {
                    changes.push(Change::Put(self.id, valid.clone()));
                    self.last_valid.insert(object.clone(), valid);
                }
            }
            _ => {}
        }
        changes.push(match after {
            Body::Valid(now) | Body::Invalid(now) => Change::Put(self.id, now),
            Body::Broken(problems, Some(sketch)) => Change::BrokenZone(self.id, sketch, problems),
            Body::Broken(problems, None) => Change::Broken(self.id, object, problems),
        });
    }

    fn keep(&self, state: &StateDir, key: &FileKey, keep: &Keep) {
        let content = match keep {
            Keep::Nothing => return state.forget_file(&self.saved_key(key)),
            Keep::Zone(zone) => SavedContent::Zone(zone.clone()),
            Keep::Text(text) => {
                SavedContent::Manifests { text: text.clone(), last_valid: self.last_valid_of(key) }
            }
        };
        state.save_file(SavedFile { key: self.saved_key(key), content });
    }

    /// The versions in force that the text of a file does not have.
    fn last_valid_of(&self, key: &FileKey) -> Vec<serde_json::Value> {
        let declared = self.files.get(key).map(|file| &file.declared[..]).unwrap_or_default();
        let in_force = declared.iter().filter_map(|declared| match &declared.body {
            Body::Valid(object) if declared.kept => Some(object),
            _ => self.last_valid.get(&declared.reference),
        });
        in_force.map(|object| api::manifest(object)).collect()
    }

    /// Everything that is wrong as it now stands, in the order of folders and files.
    pub(in super::super) fn problems(&self, out: &mut Vec<SourceProblem>) {
        self.folder_problems(out);
        for (key, file) in &self.files {
            out.extend(file.all_troubles().map(|trouble| self.problem(key, trouble)));
            let kept =
                if file.empty { Some(self.empty_trouble(key, file)) } else { self.kept_trouble(key, file) };
            out.extend(kept.map(|trouble| self.problem(key, &trouble)));
        }
        for (object, claims) in self.claims.repeated() {
            // A file that looks gone may have been renamed: it is no second declaration until it is known to be there.
            let mut certain = claims.iter().filter(|claim| !self.is_doubted(&claim.file));
            let Some(first) = certain.next() else { continue };
            // What a file keeps in force without mentioning it, or under a misspelt kind, gives way to any declaration,
            // and its own report is enough.
            let others = certain.filter(|other| !other.gives_way);
            out.extend(others.filter_map(|other| self.repeated(object, first, other)));
        }
    }

    fn folder_problems(&self, out: &mut Vec<SourceProblem>) {
        for folder in &self.folders {
            let mut add = |path, message, severity| {
                let (cluster, object) = (self.id, None);
                out.push(SourceProblem { cluster, path, line: 0, column: 0, message, object, severity });
            };
            if let Some(why) = &folder.trouble {
                let message = format!("the folder cannot be read ({why}): what it last held stays in force");
                add(folder.path.clone(), message, Severity::Refused);
            } else if folder.empty {
                add(folder.path.clone(), EMPTY.to_owned(), Severity::Remark);
            }
            for (path, why) in &folder.unread {
                let message =
                    format!("the directory cannot be read ({why}): what it last held stays in force");
                add(folder.path.join(path), message, Severity::Refused);
            }
            for path in &folder.outside {
                add(super::super::joined(&folder.path, path), OUTSIDE.to_owned(), Severity::Remark);
            }
            for path in &folder.replaced {
                add(super::super::joined(&folder.path, path), REPLACED.to_owned(), Severity::Refused);
            }
        }
    }

    fn problem(&self, key: &FileKey, trouble: &Trouble) -> SourceProblem {
        let folder = &self.folders[key.folder];
        let path = match &trouble.label {
            Some(label) => folder.path.join(label.strip_prefix(&folder.prefix[..]).unwrap_or(label)),
            None => self.shown(key),
        };
        SourceProblem {
            cluster: self.id,
            path,
            line: trouble.line,
            column: trouble.column,
            message: trouble.message.clone(),
            object: trouble.object.clone(),
            severity: trouble.severity,
        }
    }

    fn is_doubted(&self, file: &FileKey) -> bool {
        self.files.get(file).is_some_and(|file| file.doubt.is_some())
    }

    fn repeated(&self, object: &ObjectRef, first: &Claim, other: &Claim) -> Option<SourceProblem> {
        let line = |claim: &Claim| {
            let declared = self.files.get(&claim.file)?.declared.get(claim.index as usize)?;
            Some((declared.line, declared.column))
        };
        let (first_line, (line, column)) = (line(first)?.0, line(other)?);
        let message = format!(
            "{} is declared already in {}:{first_line}; that one stands, remove one of the two",
            named(object),
            self.shown(&first.file).display(),
        );
        // It is not about the object as it stands, so what is wrong with that one is reported beside it.
        Some(self.problem(&other.file, &Trouble::refused(line, column, message)))
    }
}

const EMPTY: &str =
    "the folder has nothing to serve: put manifests (.yaml, .yml, .json) or zone files (.zone) there";

const OUTSIDE: &str = "a link that leads out of the folder: nothing behind it is read; put a copy inside, or name the \
                       other folder too";
const REPLACED: &str = "the directory was replaced by an empty one, as when a mount is lost: what it last held stays in \
                        force; to remove that, put a manifest with nothing but a comment there";

impl File {
    fn all_troubles(&self) -> impl Iterator<Item = &Trouble> {
        self.unread.iter().chain(&self.troubles)
    }
}

/// `ServiceRoute shop/web`, or `ClusterIdentity cluster-identity` without a namespace.
pub(super) fn named(object: &ObjectRef) -> Arc<str> {
    match &object.namespace[..] {
        "" => format!("{} {}", object.kind.kind(), object.name).into(),
        namespace => format!("{} {namespace}/{}", object.kind.kind(), object.name).into(),
    }
}
