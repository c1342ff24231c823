//! Zone files in a directory, for servers that load them.
//!
//! ```text
//! file ──► parser ──► content ──► edit (pure) ──► text ──► parser (again) ──► file aside ──► rename
//! ```
//!
//! One file per zone, `<origin>.zone`. A reader sees the old file or the new one, never a part of one,
//! and the new one only after our own parser has read back exactly what was meant. A file that we cannot
//! read is never written over, and one that somebody has edited is kept beside the new one.

mod disk;
mod edit;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use dns::Name;
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::{Batch, Entry, Failure, NewZone, OpenedZone, Provider, Reading, Reply, SetKey};
use disk::{Place, in_background};
use edit::Content;

/// A batch costs one writing of the whole file, however few changes it has.
const BATCH: usize = 10_000;

/// Zone files in one directory.
#[derive(Clone, Debug)]
pub struct ZoneFiles {
    directory: PathBuf,
    // Two writers of one file would each write back what the other has changed.
    turn: Arc<Mutex<()>>,
}

impl ZoneFiles {
    /// The zone files of a directory, which is made when the first zone is.
    pub fn new(directory: PathBuf) -> ZoneFiles {
        ZoneFiles { directory, turn: Arc::default() }
    }

    fn place(&self, zone: &Name) -> Place {
        Place { origin: zone.clone(), path: self.directory.join(file_name(zone)) }
    }

    fn open(&self, zone: &NewZone) -> Result<OpenedZone, Failure> {
        let place = self.place(&zone.origin);
        let made = match place.read() {
            Err(Failure::NoZone) => {
                disk::make_directory(&self.directory)?;
                place.write(None, &Content::of_new(zone))?;
                true
            }
            Err(failure) => return Err(failure),
            Ok((text, content)) => {
                let followed = content.following(zone);
                if disk::is_ours(&text) && followed != content {
                    place.write(Some(&text), &followed)?;
                }
                false
            }
        };
        Ok(OpenedZone { origin: zone.origin.clone(), made })
    }

    fn change(&self, batch: &Batch) -> Result<Vec<Result<(), Failure>>, Failure> {
        let place = self.place(&batch.zone);
        let (text, content) = place.read()?;
        let (changed, results) = content.edited(batch);
        if changed != content {
            place.write(Some(&text), &changed)?;
        }
        Ok(results)
    }

    /// Runs something that waits for the disk, alone.
    fn alone<T: Send + 'static>(
        &self,
        work: impl FnOnce(&ZoneFiles) -> Result<T, Failure> + Send + 'static,
    ) -> BoxFuture<'static, Result<T, Failure>> {
        let this = self.clone();
        let work = move || {
            let _turn = this.turn.lock().unwrap_or_else(PoisonError::into_inner);
            work(&this)
        };
        in_background(work).boxed()
    }
}

/// The name of a zone's file: what would be unusual in one stands as `%` and two digits.
fn file_name(zone: &Name) -> String {
    let origin = if zone.is_root() { "root".to_owned() } else { zone.undotted() };
    let is_usual = |octet: u8| octet.is_ascii_alphanumeric() || b"-_.".contains(&octet);
    let letter = |octet: u8| match is_usual(octet) {
        true => char::from(octet).to_string(),
        false => format!("%{octet:02x}"),
    };
    origin.bytes().map(letter).collect::<String>() + ".zone"
}

impl Provider for ZoneFiles {
    fn reading(&self) -> Reading {
        Reading::Zones
    }

    /// A folder of exports is nobody's but ours.
    fn is_shared(&self) -> bool {
        false
    }

    fn batch_size(&self) -> usize {
        BATCH
    }

    fn health(&self) -> Reply<'_, ()> {
        self.alone(|this| disk::is_usable(&this.directory))
    }

    fn open_zone<'a>(&'a self, zone: &'a NewZone) -> Reply<'a, OpenedZone> {
        let zone = zone.clone();
        self.alone(move |this| this.open(&zone))
    }

    fn revision<'a>(&'a self, zone: &'a Name) -> Reply<'a, Option<u64>> {
        let place = self.place(zone);
        in_background(move || place.revision().map(Some)).boxed()
    }

    fn read_zone<'a>(&'a self, zone: &'a Name) -> Reply<'a, Vec<Entry>> {
        let place = self.place(zone);
        in_background(move || Ok(place.read()?.1.into_sets().map(Entry::from).collect())).boxed()
    }

    fn read_sets<'a>(
        &'a self,
        zone: &'a Name,
        keys: &'a [(SetKey, Option<Name>)],
    ) -> Reply<'a, Vec<Option<Entry>>> {
        let place = self.place(zone);
        async move {
            let (_, content) = in_background(move || place.read()).await?;
            Ok(keys.iter().map(|(key, _)| content.get(key).cloned().map(Entry::from)).collect())
        }
        .boxed()
    }

    fn write<'a>(&'a self, batch: &'a Batch) -> BoxFuture<'a, Vec<Result<(), Failure>>> {
        let owned = batch.clone();
        let work = self.alone(move |this| this.change(&owned));
        async move {
            let failed = |failure: Failure| batch.changes.iter().map(|_| Err(failure.clone())).collect();
            work.await.unwrap_or_else(failed)
        }
        .boxed()
    }

    fn settle<'a>(&'a self, _: &'a Name) -> Reply<'a, ()> {
        async { Ok(()) }.boxed()
    }
}

/// The directory of a path, for syncing.
fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new("."))
}
