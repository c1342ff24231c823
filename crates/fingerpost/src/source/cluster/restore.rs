//! What the state directory has of files that are missing, broken or changed since it was saved.

use std::path::Path;
use std::sync::Arc;

use api::Object;
use dns::PackedZone;
use planner::{Change, ObjectRef};
use serde_json::Value;

use super::super::batch::{Batch, Circumstances, Keep};
use super::super::claims::FileKey;
use super::super::manifest::{self, Body, Declared};
use super::super::yaml;
use super::look::Content;
use super::{Cluster, File, Speech};
use crate::state::{SavedContent, SavedFile, SavedKey};

impl Cluster {
    /// Puts the content that the state directory has in the place of what is missing.
    pub(super) fn stand_in(&mut self, key: &FileKey, circumstances: Circumstances<'_>, batch: &mut Batch) {
        if let Some(saved) = self.saved_file(key, circumstances) {
            self.restore(key, saved, batch);
        } else if let Some(previous) = self.previous(key, circumstances) {
            previous.zone.iter().for_each(|zone| self.restore_zone(key, zone.clone(), batch));
            self.restore_content(key, previous.content(), previous.text.clone(), batch);
        }
    }

    /// What the state directory has of a file: under its own path, or under the same path in a folder of an earlier
    /// run that is not named any more. That is saved under its own path from now on.
    pub(super) fn saved_file(&self, key: &FileKey, circumstances: Circumstances<'_>) -> Option<SavedFile> {
        let state = circumstances.state?;
        let own = self.saved_key(key);
        if let Some(saved) = state.load_file(&own) {
            return Some(saved);
        }
        let earlier = |folder: &String| SavedKey { folder: folder.clone(), ..own.clone() };
        let content =
            self.earlier_folders.iter().find_map(|folder| state.load_file(&earlier(folder)))?.content;
        let saved = SavedFile { key: own, content };
        state.save_file(saved.clone());
        Some(saved)
    }

    /// The last good text of a file of manifests.
    pub(super) fn last_text(&self, key: &FileKey, circumstances: Circumstances<'_>) -> Option<Arc<str>> {
        let known = self.files.get(key).and_then(|file| file.text.clone());
        let saved = || match self.saved_file(key, circumstances)?.content {
            SavedContent::Manifests { text, .. } => Some(text.into()),
            SavedContent::Zone(_) => None,
        };
        known.or_else(saved).or_else(|| self.previous(key, circumstances)?.text.clone())
    }

    /// At the first reading, takes from the state directory how objects were before they were edited without being
    /// watched, whichever file they were in: the planner keeps that version in force where the edit points nowhere.
    pub(in super::super) fn recall(&mut self, circumstances: Circumstances<'_>, batch: &mut Batch) {
        let Some(state) = circumstances.state.filter(|_| !std::mem::replace(&mut self.recalled, true)) else {
            return;
        };
        for saved in state.load_manifests(&self.name) {
            let SavedContent::Manifests { text, last_valid } = &saved.content else { continue };
            if !self.is_as_saved(&saved.key, text, batch) {
                self.recall_objects(text, last_valid, batch);
            }
        }
    }

    /// Whether a file has the text that was saved of it.
    fn is_as_saved(&self, saved: &SavedKey, text: &str, batch: &Batch) -> bool {
        let is_own = |folder: &super::Folder| folder.absolute.display().to_string() == saved.folder;
        let Some(folder) = self.folders.iter().position(is_own) else { return false };
        let key = FileKey { folder, path: Arc::from(Path::new(&saved.path)) };
        matches!(batch.keeps.get(&key), Some(Keep::Text(now)) if now == text)
    }

    fn recall_objects(&self, text: &str, last_valid: &[Value], batch: &mut Batch) {
        let declared = manifest::read("", text).map(|saved| saved.declared).unwrap_or_default();
        let valid = declared.into_iter().filter_map(|declared| match declared.body {
            Body::Valid(object) => Some((declared.reference, object)),
            _ => None,
        });
        for (reference, object) in valid.chain(last_versions(last_valid)) {
            batch.restored.entry(reference).or_insert(object);
        }
    }

    /// The same file of the folders that these follow.
    pub(super) fn previous<'a>(&self, key: &FileKey, circumstances: Circumstances<'a>) -> Option<&'a File> {
        let cluster = circumstances.previous.iter().find(|cluster| cluster.name == self.name)?;
        cluster.files.get(key)
    }

    /// What the state directory, or the folders that these follow, have of the files of a folder that are wanted and
    /// not there.
    pub(super) fn restore_folder(
        &mut self,
        folder: usize,
        wanted: &dyn Fn(&Path) -> bool,
        circumstances: Circumstances<'_>,
        batch: &mut Batch,
    ) -> bool {
        let absolute = self.folders[folder].absolute.display().to_string();
        let saved =
            circumstances.state.map(|state| state.load_folder(&self.name, &absolute)).unwrap_or_default();
        let any = !saved.is_empty();
        for saved in saved.into_iter().filter(|saved| wanted(Path::new(&saved.key.path))) {
            let key = FileKey { folder, path: Arc::from(Path::new(&saved.key.path)) };
            if self.files.contains_key(&key) {
                continue;
            }
            self.files.entry(key.clone()).or_default();
            self.restore(&key, saved, batch);
        }
        self.restore_previous(folder, wanted, circumstances, batch) || any
    }

    /// The same of the folders that these follow.
    fn restore_previous(
        &mut self,
        folder: usize,
        wanted: &dyn Fn(&Path) -> bool,
        circumstances: Circumstances<'_>,
        batch: &mut Batch,
    ) -> bool {
        let previous = circumstances.previous.iter().find(|cluster| cluster.name == self.name);
        let files = previous.into_iter().flat_map(|cluster| cluster.files.keys());
        let is_lost =
            |key: &&FileKey| key.folder == folder && wanted(&key.path) && !self.files.contains_key(key);
        let lost: Vec<FileKey> = files.filter(is_lost).cloned().collect();
        for key in &lost {
            self.files.entry(key.clone()).or_default();
            self.stand_in(key, circumstances, batch);
        }
        !lost.is_empty()
    }

    fn restore(&mut self, key: &FileKey, saved: SavedFile, batch: &mut Batch) {
        match saved.content {
            SavedContent::Zone(saved) => self.restore_zone(key, saved.zone, batch),
            SavedContent::Manifests { text, last_valid } => {
                batch.restored.extend(last_versions(&last_valid));
                if let Ok(saved) = manifest::read(&self.label(key), &text) {
                    self.restore_content(key, saved.into(), Some(text.into()), batch);
                }
            }
        }
    }

    /// The saved content stands in for a file that has none. Where the file has some, the valid versions of what is
    /// not valid in it are taken, and the objects that it does not mention.
    fn restore_content(&mut self, key: &FileKey, before: Content, text: Option<Arc<str>>, batch: &mut Batch) {
        for declared in &before.declared {
            if let Body::Valid(object) = &declared.body {
                batch.restored.insert(declared.reference.clone(), object.clone());
            }
        }
        let file = self.files.entry(key.clone()).or_default();
        match file.speech {
            Speech::Clear => {}
            // What such a file keeps are objects that it mentions.
            Speech::Nothing if before.declared.is_empty() && before.secrets.is_empty() => {}
            Speech::Unclear => {
                let now = file.content();
                if self.declare_beside(key, now, before, batch) {
                    batch.keeps.remove(key);
                    self.files.entry(key.clone()).or_default().text = text;
                }
            }
            Speech::Nothing => {
                file.text = text;
                file.secrets = before.secrets;
                let keep = if file.empty { Declared::kept } else { std::convert::identity };
                self.declare(key, before.declared.into_iter().map(keep).collect(), batch);
            }
        }
    }

    /// The last good zone comes before the change that says it is broken.
    fn restore_zone(&mut self, key: &FileKey, zone: Arc<PackedZone>, batch: &mut Batch) {
        let label = self.label(key);
        let file = self.files.entry(key.clone()).or_default();
        file.zone = Some(zone.clone());
        let broken = |change: &Change| matches!(change, Change::BrokenFile(_, path, _, _) if *path == label);
        let at = batch.changes.iter().position(broken).unwrap_or(batch.changes.len());
        batch.changes.insert(at, Change::PutFile(self.id, label, zone, Vec::new()));
    }
}

/// The objects that are saved as manifests.
fn last_versions(manifests: &[Value]) -> impl Iterator<Item = (ObjectRef, Arc<Object>)> {
    let objects = manifests.iter().filter_map(yaml::object_from_value).map(Arc::new);
    objects.map(|object| (manifest::reference(&object), object))
}
