//! Looking at one file: its text, what it gives, and what stands in for it when it gives nothing.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use dns::PackedZone;
use planner::{Change, FileNote, ObjectRef};
use ring::digest::{SHA256, digest};

use super::super::batch::{Batch, Circumstances, Keep};
use super::super::claims::FileKey;
use super::super::manifest::{self, Body, Declared};
use super::super::problem::Trouble;
use super::super::settled::{self, Unread};
use super::super::walk::{FileKind, Stamp};
use super::super::yaml;
use super::super::zone::{self, Digest, Glance, Include, ZoneReading};
use super::{Cluster, File, Speech};
use crate::state::{SavedContent, SavedFile, SavedZoneFile};

impl Cluster {
    /// Reads a file and takes what it says. Whatever cannot be read or makes no sense leaves its
    /// last good content in force: the one in memory, or at first sight the one on disk.
    pub(in super::super) fn look(
        &mut self,
        key: &FileKey,
        circumstances: Circumstances<'_>,
        batch: &mut Batch,
    ) {
        let first = !self.files.contains_key(key);
        let path = self.folders[key.folder].absolute.join(&key.path);
        let taken = match FileKind::of(&key.path) {
            Some(FileKind::Zone) => self.look_at_zone(key, &path, circumstances, batch),
            _ => settled::read(&path)
                .map(|(stamp, text)| self.take_text(key, stamp, text, circumstances, batch)),
        };
        let good = taken.unwrap_or_else(|unread| self.take_nothing(key, unread, circumstances, batch));
        if first && !good {
            self.stand_in(key, circumstances, batch);
        }
    }

    /// Says whether the file's content is as the file has it.
    fn take_text(
        &mut self,
        key: &FileKey,
        stamp: Stamp,
        text: String,
        circumstances: Circumstances<'_>,
        batch: &mut Batch,
    ) -> bool {
        let file = self.files.entry(key.clone()).or_default();
        if text.trim().is_empty() && file.holds_something() && circumstances.doubts(&mut file.doubt) {
            return true;
        }
        let digest = Some(digest_of(&text));
        let same = file.digest == digest;
        file.settle(stamp, digest);
        same || self.take_manifests(key, text, batch)
    }

    /// As [`Cluster::take_text`]. A large zone is worth a look at its text before it is read: it may
    /// be the one that is known, or the one that the state directory has.
    fn look_at_zone(
        &mut self,
        key: &FileKey,
        path: &Path,
        circumstances: Circumstances<'_>,
        batch: &mut Batch,
    ) -> Result<bool, Unread> {
        let saved = self.saved_zone(key, circumstances);
        let file = self.files.entry(key.clone()).or_default();
        if saved.is_some() || file.digest.is_some() || file.holds_something() {
            let glance = zone::glance(path)?;
            if self.is_known(key, &glance, circumstances) {
                return Ok(true);
            }
            let includes = saved.and_then(|saved| {
                zone::unchanged_includes(self.place(key), &glance, &saved.texts).map(|found| (saved, found))
            });
            if let Some((saved, includes)) = includes {
                self.take_saved_zone(key, &glance, saved, includes, batch);
                return Ok(true);
            }
        }
        let label = self.label(key);
        let reading = zone::read(self.place(key), &label, path, circumstances.meter)?;
        Ok(self.take_zone(key, reading, batch))
    }

    /// What the state directory has of a zone file that is seen for the first time.
    fn saved_zone(&self, key: &FileKey, circumstances: Circumstances<'_>) -> Option<SavedZoneFile> {
        let state = circumstances.state.filter(|_| !self.files.contains_key(key))?;
        match state.load_file(&self.saved_key(key))?.content {
            SavedContent::Zone(saved) => Some(saved),
            SavedContent::Manifests { .. } => None,
        }
    }

    /// Whether the text is the one that was read last, or one that is not to be believed yet.
    fn is_known(&mut self, key: &FileKey, glance: &Glance, circumstances: Circumstances<'_>) -> bool {
        let root = self.folders[key.folder].absolute.clone();
        let file = self.files.entry(key.clone()).or_default();
        if glance.blank && file.holds_something() && circumstances.doubts(&mut file.doubt) {
            return true;
        }
        let same = file.digest == Some(glance.digest);
        let same = same && !file.includes.iter().any(|include| include.changed(&root));
        if same {
            file.settle(glance.stamp, Some(glance.digest));
        }
        same
    }

    fn take_saved_zone(
        &mut self,
        key: &FileKey,
        glance: &Glance,
        saved: SavedZoneFile,
        includes: Vec<Include>,
        batch: &mut Batch,
    ) {
        let label = self.label(key);
        let file = self.files.entry(key.clone()).or_default();
        file.settle(glance.stamp, Some(glance.digest));
        file.includes = includes;
        file.hold(saved.zone.clone(), &saved.notes);
        batch.changes.push(Change::PutFile(self.id, label, saved.zone, saved.notes));
    }

    fn take_nothing(
        &mut self,
        key: &FileKey,
        unread: Unread,
        circumstances: Circumstances<'_>,
        batch: &mut Batch,
    ) -> bool {
        let label = self.label(key);
        let file = self.files.entry(key.clone()).or_default();
        file.stamp = None;
        let why = match unread {
            Unread::Unsettled if circumstances.doubts(&mut file.doubt) => return true,
            Unread::Unsettled => "it is being written without end".to_owned(),
            Unread::Unreadable(why) => why,
        };
        let message = format!("it cannot be read ({why}): what it last said stays in force");
        // Where nothing is known of a zone but its name, it is unavailable rather than missing.
        if FileKind::of(&key.path) == Some(FileKind::Zone) && file.zone.is_none() && file.unread.is_none() {
            let note = FileNote { path: label.to_string(), line: 1, column: 1, message: message.clone() };
            batch.changes.push(Change::BrokenFile(self.id, label.clone(), dns::origin_of_path(&label), note));
        }
        file.unread = Some(Trouble::refused(0, 0, message));
        false
    }

    fn take_manifests(&mut self, key: &FileKey, text: String, batch: &mut Batch) -> bool {
        let manifests = match manifest::read(&self.label(key), &text) {
            Ok(manifests) => manifests,
            Err(trouble) => {
                self.hear(key, Speech::Nothing, vec![trouble]);
                return false;
            }
        };
        self.files.entry(key.clone()).or_default().secrets = manifests.secrets;
        let whole = manifests.declared.iter().all(|declared| matches!(declared.body, Body::Valid(_)));
        if manifests.unclear {
            self.declare_more(key, manifests.declared, batch);
            self.hear(key, Speech::Unclear, manifests.troubles);
            return false;
        }
        self.declare(key, manifests.declared, batch);
        self.hear(key, Speech::Clear, manifests.troubles);
        batch.keeps.insert(key.clone(), Keep::Text(text));
        whole
    }

    /// Replaces what a file declares, and lets stand what it does not mention any more.
    fn declare_more(&mut self, key: &FileKey, mut declared: Vec<Declared>, batch: &mut Batch) {
        let standing = self.files.get(key).map(|file| file.declared.clone()).unwrap_or_default();
        let new: BTreeSet<ObjectRef> = declared.iter().map(|declared| declared.reference.clone()).collect();
        declared.extend(standing.into_iter().filter(|old| !new.contains(&old.reference)));
        self.declare(key, declared, batch);
    }

    fn take_zone(&mut self, key: &FileKey, reading: ZoneReading, batch: &mut Batch) -> bool {
        let label = self.label(key);
        let texts = zone::texts(&reading.glance, &reading.includes);
        let file = self.files.entry(key.clone()).or_default();
        file.settle(reading.glance.stamp, Some(reading.glance.digest));
        file.includes = reading.includes;
        match reading.zone {
            Ok((zone, notes)) => {
                file.hold(zone.clone(), &notes);
                let saved = SavedZoneFile { zone: zone.clone(), texts, notes: notes.clone() };
                batch.keeps.insert(key.clone(), Keep::Zone(saved));
                batch.changes.push(Change::PutFile(self.id, label, zone, notes));
                true
            }
            Err((origin, note)) => {
                file.troubles = vec![zone_trouble(&note, Trouble::refused)];
                batch.changes.push(Change::BrokenFile(self.id, label, origin, note));
                false
            }
        }
    }

    fn hear(&mut self, key: &FileKey, speech: Speech, troubles: Vec<Trouble>) {
        let file = self.files.entry(key.clone()).or_default();
        file.speech = speech;
        file.troubles = troubles;
    }

    /// Puts the content that the state directory has in the place of what is missing.
    fn stand_in(&mut self, key: &FileKey, circumstances: Circumstances<'_>, batch: &mut Batch) {
        let saved = circumstances.state.and_then(|state| state.load_file(&self.saved_key(key)));
        if let Some(saved) = saved {
            self.restore(key, saved, batch);
        }
    }

    /// Everything that the state directory has of a folder that is not there.
    pub(super) fn restore_folder(
        &mut self,
        folder: usize,
        circumstances: Circumstances<'_>,
        batch: &mut Batch,
    ) -> bool {
        let absolute = self.folders[folder].absolute.display().to_string();
        let saved =
            circumstances.state.map(|state| state.load_folder(&self.name, &absolute)).unwrap_or_default();
        let any = !saved.is_empty();
        for saved in saved {
            let key = FileKey { folder, path: Arc::from(std::path::Path::new(&saved.key.path)) };
            self.files.entry(key.clone()).or_default();
            self.restore(&key, saved, batch);
        }
        any
    }

    fn restore(&mut self, key: &FileKey, saved: SavedFile, batch: &mut Batch) {
        match saved.content {
            SavedContent::Zone(saved) => self.restore_zone(key, saved.zone, batch),
            SavedContent::Manifests { text, last_valid } => {
                let objects = last_valid.iter().filter_map(yaml::object_from_value).map(Arc::new);
                batch.restored.extend(objects.map(|object| (manifest::reference(&object), object)));
                self.restore_manifests(key, &text, batch);
            }
        }
    }

    /// The saved text stands in for a file that says nothing. Where the file does speak, the valid
    /// versions of what is not valid in it are taken, and the objects that it may still mean.
    fn restore_manifests(&mut self, key: &FileKey, text: &str, batch: &mut Batch) {
        let Ok(saved) = manifest::read(&self.label(key), text) else { return };
        for declared in &saved.declared {
            if let Body::Valid(object) = &declared.body {
                batch.restored.insert(declared.reference.clone(), object.clone());
            }
        }
        match self.files.get(key).map(|file| file.speech) {
            Some(Speech::Nothing) | None => {
                self.files.entry(key.clone()).or_default().secrets = saved.secrets
            }
            _ => {}
        }
        match self.files.get(key).map(|file| file.speech) {
            Some(Speech::Clear) => {}
            Some(Speech::Unclear) => self.declare_behind(key, saved.declared, batch),
            _ => self.declare(key, saved.declared, batch),
        }
    }

    /// Adds to what a file declares what it does not mention.
    fn declare_behind(&mut self, key: &FileKey, behind: Vec<Declared>, batch: &mut Batch) {
        let spoken = self.files.get(key).map(|file| file.declared.clone()).unwrap_or_default();
        self.declare(key, behind, batch);
        self.declare_more(key, spoken, batch);
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

impl File {
    fn holds_something(&self) -> bool {
        !self.declared.is_empty() || !self.secrets.is_empty() || self.zone.is_some()
    }

    fn hold(&mut self, zone: Arc<PackedZone>, notes: &[FileNote]) {
        self.zone = Some(zone);
        self.troubles = notes.iter().map(|note| zone_trouble(note, Trouble::remark)).collect();
    }

    fn settle(&mut self, stamp: Stamp, digest: Option<Digest>) {
        self.stamp = Some(stamp);
        self.digest = digest;
        self.doubt = None;
        self.unread = None;
    }
}

fn zone_trouble(note: &FileNote, make: fn(u32, u32, String) -> Trouble) -> Trouble {
    Trouble { label: Some(note.path.clone()), ..make(note.line, note.column, note.message.clone()) }
}

fn digest_of(text: &str) -> Digest {
    let mut out = Digest::default();
    out.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
    out
}
