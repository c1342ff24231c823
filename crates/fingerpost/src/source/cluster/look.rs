//! Looking at one file: its text, what it gives, and what stands in for it when it gives nothing.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use dns::PackedZone;
use planner::{Change, FileNote, ObjectRef};
use ring::digest::{SHA256, digest};

use super::super::batch::{Batch, Circumstances, Keep};
use super::super::claims::FileKey;
use super::super::documents;
use super::super::manifest::{self, Body, Declared, Manifests, Refused};
use super::super::problem::Trouble;
use super::super::settled::Unread;
use super::super::walk::{FileKind, Stamp};
use super::super::zone::{self, Digest, Glance, Include, LastIncludes, ZoneReading};
use super::emit::named;
use super::{Cluster, File, Speech};
use crate::render::numbers::count as counted;
use crate::secrets::Secret;
use crate::state::{SavedContent, SavedZoneFile};

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
            _ => self.folders[key.folder]
                .text(&key.path)
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
        let digest = Some(digest_of(&text));
        let file = self.files.entry(key.clone()).or_default();
        if file.digest == digest {
            file.settle(stamp, digest);
            return true;
        }
        let read = manifest::read(&self.label(key), &text);
        let file = self.files.entry(key.clone()).or_default();
        if read.as_ref().is_ok_and(|manifests| manifests.contents == 0) {
            if file.holds_something() && circumstances.doubts(&mut file.doubt) {
                return true;
            }
            file.settle(stamp, digest);
            self.take_empty(key, batch);
            return false;
        }
        file.settle(stamp, digest);
        let read = match self.cut_off(key, &text, circumstances) {
            Some(trouble) => Err(Box::new(Refused { trouble, zones: Vec::new() })),
            None => read,
        };
        let is_unclear = read.as_ref().is_ok_and(|manifests| manifests.unclear) || read.is_err();
        self.files.entry(key.clone()).or_default().take_unclear(is_unclear.then_some(&*text));
        self.take_manifests(key, read, text, batch)
    }

    /// A text that declares nothing is no proof that the objects are to go: a write that was cut off leaves
    /// such a file. What it declared stays in force, behind what other files declare.
    fn take_empty(&mut self, key: &FileKey, batch: &mut Batch) {
        self.hear(key, Speech::Nothing, Vec::new());
        let file = self.files.entry(key.clone()).or_default();
        file.empty = true;
        file.take_unclear(None);
        let declared = file.declared.iter().cloned().map(Declared::kept).collect();
        self.declare(key, declared, batch);
    }

    /// Reports how many objects an empty file keeps in force.
    pub(super) fn empty_trouble(&self, key: &FileKey, file: &File) -> Trouble {
        match self.kept_objects(key, file).count() + file.secrets.len() {
            0 => Trouble::remark(0, 0, "empty: it declares no object"),
            kept => Trouble::refused(0, 0, emptied(kept, "object")),
        }
    }

    /// Reports the objects that a file with a broken document keeps in force.
    pub(super) fn kept_trouble(&self, key: &FileKey, file: &File) -> Option<Trouble> {
        let kept: Vec<Arc<str>> = self.kept_objects(key, file).map(named).collect();
        let shown = kept.iter().take(MOST_NAMED).map(|name| &**name).collect::<Vec<_>>().join(", ");
        let more = kept.len().checked_sub(MOST_NAMED).filter(|more| *more > 0);
        let more = more.map(|more| format!(" and {more} more")).unwrap_or_default();
        let message = format!(
            "{shown}{more}: not found in the file, but in force while a document in it is broken; correct that, or \
             delete the file to remove its objects"
        );
        (!kept.is_empty()).then(|| Trouble::refused(0, 0, message))
    }

    /// The objects that a file keeps in force and does not mention.
    fn kept_objects<'a>(&'a self, key: &'a FileKey, file: &'a File) -> impl Iterator<Item = &'a ObjectRef> {
        let is_first = |object: &ObjectRef| self.claims.first(object).is_some_and(|claim| claim.file == *key);
        let kept = file.declared.iter().filter(|declared| declared.kept).map(|declared| &declared.reference);
        kept.filter(move |object| is_first(object))
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
        let known = self.files.get(key).or_else(|| self.previous(key, circumstances));
        let last = Last::of(known, saved.as_ref());
        let file = self.files.entry(key.clone()).or_default();
        if saved.is_some() || file.digest.is_some() || file.holds_something() {
            let glance = zone::glance(&self.folders[key.folder].absolute, path)?;
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
        let mut reading = zone::read(self.place(key), &label, path, &last.includes, circumstances.meter)?;
        if let (true, Err((_, note))) = (reading.glance.blank, &mut reading.zone) {
            note.message = match last.records {
                0 => "empty: it holds no zone".to_owned(),
                records => emptied(records, "record"),
            };
        }
        if reading.glance.is_cut_off(last.length)
            && let Ok((zone, _)) = &reading.zone
        {
            let note =
                FileNote { path: label.to_string(), line: 1, column: 1, message: CUT_OFF_ZONE.to_owned() };
            reading.zone = Err((Some(zone.origin().clone()), note));
        }
        Ok(self.take_zone(key, reading, last, batch))
    }

    /// What the state directory has of a zone file that is seen for the first time.
    fn saved_zone(&self, key: &FileKey, circumstances: Circumstances<'_>) -> Option<SavedZoneFile> {
        if self.files.contains_key(key) {
            return None;
        }
        match self.saved_file(key, circumstances)?.content {
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
        file.good_length = glance.whole();
        file.good_includes = zone::last_includes(&includes);
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

    fn take_manifests(
        &mut self,
        key: &FileKey,
        read: Result<Manifests, Box<Refused>>,
        text: String,
        batch: &mut Batch,
    ) -> bool {
        self.files.entry(key.clone()).or_default().empty = false;
        let mut manifests = match read {
            Ok(manifests) => manifests,
            Err(refused) => {
                let Refused { trouble, zones } = *refused;
                if !self.has_objects_in_force(key) {
                    self.declare(key, zones, batch);
                }
                self.hear(key, Speech::Nothing, vec![trouble]);
                return false;
            }
        };
        let is_valid = |declared: &Declared| matches!(declared.body, Body::Valid(_));
        if !manifests.unclear && manifests.declared.iter().all(is_valid) {
            self.take_whole(key, manifests, text, batch);
            return true;
        }
        let (unclear, troubles) = (manifests.unclear, std::mem::take(&mut manifests.troubles));
        let before = self.files.get(key).map(File::content).unwrap_or_default();
        let keeps_more = self.declare_beside(key, manifests.into(), before, batch);
        self.hear(key, Speech::Unclear, troubles);
        // The saved text is the one that has everything that is in force.
        if !unclear && !keeps_more {
            batch.keeps.insert(key.clone(), Keep::Text(text.clone()));
            self.files.entry(key.clone()).or_default().text = Some(text.into());
        }
        false
    }

    fn has_objects_in_force(&self, key: &FileKey) -> bool {
        let is_in_force = |declared: &Declared| {
            matches!(declared.body, Body::Valid(_)) || self.last_valid.contains_key(&declared.reference)
        };
        self.files.get(key).is_some_and(|file| file.declared.iter().any(is_in_force))
    }

    fn take_whole(&mut self, key: &FileKey, manifests: Manifests, text: String, batch: &mut Batch) {
        self.declare(key, manifests.declared, batch);
        self.hear(key, Speech::Clear, manifests.troubles);
        let file = self.files.entry(key.clone()).or_default();
        file.secrets = manifests.secrets;
        file.text = Some(text.as_str().into());
        batch.keeps.insert(key.clone(), Keep::Text(text));
    }

    /// Replaces what a file with a broken document declares. What it declared before and does not mention stays in
    /// force, since a write that was cut off leaves such a file. Tells whether there is something of that kind.
    pub(super) fn declare_beside(
        &mut self,
        key: &FileKey,
        mut now: Content,
        before: Content,
        batch: &mut Batch,
    ) -> bool {
        let mentioned: BTreeSet<ObjectRef> =
            now.declared.iter().map(|declared| declared.reference.clone()).collect();
        let is_kept = |declared: &Declared| !mentioned.contains(&declared.reference);
        let kept: Vec<Declared> = before.declared.into_iter().filter(is_kept).map(Declared::kept).collect();
        let is_named = |(name, _): &(SecretName, Secret)| now.secrets.iter().any(|(other, _)| other == name);
        let secrets: Vec<_> = before.secrets.into_iter().filter(|secret| !is_named(secret)).collect();
        let keeps_more = !kept.is_empty() || !secrets.is_empty();
        now.declared.extend(kept);
        now.secrets.extend(secrets);
        self.declare(key, now.declared, batch);
        self.files.entry(key.clone()).or_default().secrets = now.secrets;
        keeps_more
    }

    /// What is wrong with a text that is only the beginning of the last good one.
    fn cut_off(&self, key: &FileKey, text: &str, circumstances: Circumstances<'_>) -> Option<Trouble> {
        let last = self.last_text(key, circumstances)?;
        let line = text.lines().count() as u32;
        documents::is_cut_off(text, &last).then(|| Trouble::refused(line, 1, CUT_OFF))
    }

    fn take_zone(&mut self, key: &FileKey, reading: ZoneReading, last: Last, batch: &mut Batch) -> bool {
        let label = self.label(key);
        let texts = zone::texts(&reading.glance, &reading.includes);
        let file = self.files.entry(key.clone()).or_default();
        file.settle(reading.glance.stamp, Some(reading.glance.digest));
        file.includes = reading.includes;
        match reading.zone {
            Ok((zone, notes)) => {
                file.good_length = reading.glance.whole();
                file.good_includes = zone::last_includes(&file.includes);
                file.hold(zone.clone(), &notes);
                let saved = SavedZoneFile { zone: zone.clone(), texts, notes: notes.clone() };
                batch.keeps.insert(key.clone(), Keep::Zone(saved));
                batch.changes.push(Change::PutFile(self.id, label, zone, notes));
                true
            }
            Err((origin, note)) => {
                file.good_length = last.length;
                file.good_includes = last.includes;
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
}

impl File {
    /// What it declares, for the next reading.
    pub(super) fn content(&self) -> Content {
        Content { declared: self.declared.clone(), secrets: self.secrets.clone() }
    }

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

/// What a file of manifests declares.
#[derive(Default)]
pub(super) struct Content {
    pub(super) declared: Vec<Declared>,
    pub(super) secrets: Vec<(SecretName, Secret)>,
}

impl From<Manifests> for Content {
    fn from(manifests: Manifests) -> Content {
        Content { declared: manifests.declared, secrets: manifests.secrets }
    }
}

/// The namespace and name of a Secret.
type SecretName = (String, String);

/// What the last good content of a zone file was made of.
#[derive(Default)]
struct Last {
    records: usize,
    /// The length of the text, where its last line is whole.
    length: Option<u64>,
    includes: LastIncludes,
}

impl Last {
    fn of(file: Option<&File>, saved: Option<&SavedZoneFile>) -> Last {
        let saved = saved.map(|saved| {
            let includes = zone::saved_includes(&saved.texts);
            Last { records: saved.zone.len(), length: saved.texts.whole, includes }
        });
        let known = file.and_then(|file| {
            let records = file.zone.as_ref()?.len();
            Some(Last { records, length: file.good_length, includes: file.good_includes.clone() })
        });
        known.or(saved).unwrap_or_default()
    }
}

/// How many objects one report names.
const MOST_NAMED: usize = 3;

/// What is said of a text that ends too early.
const CUT_OFF: &str = "the file is the beginning of its last good content and ends inside a document, as when a write is \
                       cut off: what it last held stays in force; if that is meant, add a comment at its end";

/// The same of a zone file.
const CUT_OFF_ZONE: &str = "the file is shorter than its last good content and ends inside a line, as when a write is cut \
                            off: if that is meant, end it with a new line";

/// What is said of a file that lost its whole content.
fn emptied(count: usize, what: &str) -> String {
    format!("empty; delete the file to remove its {}", counted(count as u64, what))
}

fn zone_trouble(note: &FileNote, make: fn(u32, u32, String) -> Trouble) -> Trouble {
    Trouble { label: Some(note.path.clone()), ..make(note.line, note.column, note.message.clone()) }
}

fn digest_of(text: &str) -> Digest {
    let mut out = Digest::default();
    out.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
    out
}
