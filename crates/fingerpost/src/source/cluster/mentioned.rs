//! Objects that are gone from the file that declared them, while a file that cannot be understood mentions them: they may
//! have moved there, so nothing proves that they are deleted.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use planner::ObjectRef;

use super::super::batch::{Batch, Circumstances, Keep};
use super::super::claims::{Claim, FileKey};
use super::super::manifest::{Body, Declared};
use super::{Cluster, File};

impl Cluster {
    /// Lets files that cannot be understood keep the objects in force that they mention and that no file declares.
    pub(super) fn keep_mentioned(&mut self, circumstances: Circumstances<'_>, batch: &mut Batch) {
        let words = self.words_of_unclear_files();
        if words.is_empty() {
            return;
        }
        for (object, body) in self.undeclared(circumstances, batch) {
            let Some((key, _)) = words.iter().find(|(_, words)| mentions(words, &object)) else { continue };
            batch.before.entry(object.clone()).or_insert(None);
            let key = (*key).clone();
            let file = self.files.entry(key.clone()).or_default();
            let claim = Claim { gives_way: true, file: key.clone(), index: file.declared.len() as u32 };
            let (reference, line, column) = (object.clone(), 0, 0);
            file.declared.push(Declared { reference, line, column, body, kept: true, misspelt: false });
            self.claims.add(&object, claim);
            let text = file.text.as_deref().unwrap_or_default().to_owned();
            batch.keeps.insert(key, Keep::Text(text));
        }
    }

    fn words_of_unclear_files(&self) -> Vec<(FileKey, HashSet<String>)> {
        let unclear = self.files.iter().filter_map(|(key, file)| Some((key, file.unclear.as_ref()?)));
        unclear.map(|(key, text)| (key.clone(), words(text).map(str::to_owned).collect())).collect()
    }

    /// The objects that were declared before and are not now: before this reading, by an earlier process, or by the
    /// folders that these follow.
    fn undeclared(&self, circumstances: Circumstances<'_>, batch: &Batch) -> BTreeMap<ObjectRef, Body> {
        let before = batch.before.iter().filter_map(|(object, body)| Some((object.clone(), body.clone()?)));
        let earlier =
            batch.restored.iter().map(|(object, valid)| (object.clone(), Body::Valid(valid.clone())));
        let previous = circumstances.previous.iter().filter(|cluster| cluster.name == self.name);
        let previous = previous.flat_map(|cluster| cluster.files.values()).flat_map(File::valid);
        let all = previous.chain(earlier).chain(before);
        all.filter(|(object, _)| self.claims.first(object).is_none())
            .filter_map(|(object, body)| Some((object.clone(), self.last_valid_body(&object, body)?)))
            .collect()
    }

    /// What can stay in force of an object.
    fn last_valid_body(&self, object: &ObjectRef, body: Body) -> Option<Body> {
        match body {
            Body::Valid(_) => Some(body),
            _ => self.last_valid.get(object).cloned().map(Body::Valid),
        }
    }
}

impl File {
    fn valid(&self) -> impl Iterator<Item = (ObjectRef, Body)> {
        let valid = self.declared.iter().filter(|declared| matches!(declared.body, Body::Valid(_)));
        valid.map(|declared| (declared.reference.clone(), declared.body.clone()))
    }

    /// Keeps the text of a file that cannot be understood.
    pub(super) fn take_unclear(&mut self, text: Option<&str>) {
        self.unclear = text.map(Arc::from);
    }
}

/// Whether a text has the words that name an object.
fn mentions(words: &HashSet<String>, object: &ObjectRef) -> bool {
    let has = |word: &str| words.contains(word);
    let is_in_namespace = matches!(&*object.namespace, "" | "default") || has(&object.namespace);
    is_in_namespace && has(object.kind.kind()) && has(&object.name)
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_inside = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.');
    text.split(move |letter| !is_inside(letter)).filter(|word| !word.is_empty())
}
