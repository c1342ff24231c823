//! Everything in the store, read once for all who ask for it at the same time.
//!
//! A listing of a large zone is large. Readers of the same content share one, and no more than two are in memory:
//! while two are read slowly, a reader that needs a newer one waits and is then asked to come back.

use std::sync::{Arc, Weak};
use std::time::Duration;

use backends::{Entry, Failure};
use tokio::sync::{Mutex, OwnedSemaphorePermit, Semaphore};

use super::store::Store;

/// How many listings are in memory at once.
const MOST: usize = 2;
/// How long a reader waits for room.
const WAIT: Duration = Duration::from_secs(5);

/// The listings in memory.
pub struct Listings {
    room: Arc<Semaphore>,
    newest: Mutex<Option<(Vec<u64>, Weak<Listing>)>>,
    wait: Duration,
}

/// Everything in the store at one moment.
pub struct Listing {
    /// The record sets.
    pub entries: Vec<Entry>,
    _room: OwnedSemaphorePermit,
}

/// Why there is no listing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ListingError {
    /// Two are in memory already.
    #[error("other readers have not finished: try again in a few seconds")]
    Busy,
    /// The store cannot be read.
    #[error("{0}")]
    Failed(#[from] Failure),
}

impl Default for Listings {
    fn default() -> Listings {
        Listings::waiting(WAIT)
    }
}

impl Listings {
    /// No listing yet; a reader waits so long for room.
    pub fn waiting(wait: Duration) -> Listings {
        Listings { room: Arc::new(Semaphore::new(MOST)), newest: Mutex::new(None), wait }
    }

    /// The content of a store.
    pub async fn read(&self, store: &Store) -> Result<Arc<Listing>, ListingError> {
        // One reader reads the store; those that come meanwhile share what it has read.
        let newest = tokio::time::timeout(self.wait, self.newest.lock()).await;
        let mut newest = newest.map_err(|_| ListingError::Busy)?;
        let revision = store.revision().await?;
        if let (Some(revision), Some((known, listing))) = (&revision, &*newest)
            && revision == known
            && let Some(listing) = listing.upgrade()
        {
            return Ok(listing);
        }
        let room = tokio::time::timeout(self.wait, self.room.clone().acquire_owned()).await;
        let room = room.ok().and_then(Result::ok).ok_or(ListingError::Busy)?;
        let listing = Arc::new(Listing { entries: store.list().await?, _room: room });
        *newest = revision.map(|revision| (revision, Arc::downgrade(&listing)));
        Ok(listing)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
    use backends::SetKey;
    use dns::{Name, Rdata, RecordSet, Rtype};

    use super::super::embedded::Embedded;
    use super::super::store::Wish;
    use super::*;

    async fn write(store: &Store, number: u8) {
        let name = Name::parse("www.example.org").unwrap();
        let set = RecordSet::new(name, Rtype::A, 60, vec![Rdata::a([192, 0, 2, number].into())]);
        store.apply(vec![Wish { key: SetKey::of(&set), after: Some(set.into()) }], 1).await[0]
            .clone()
            .unwrap();
    }

    #[tokio::test]
    async fn readers_of_one_content_share_it_and_two_contents_are_in_memory() {
        let embedded = Embedded::open(None).unwrap().0;
        let store = Store::new(Arc::new(embedded), vec![Name::parse("example.org").unwrap()]);
        let listings = Listings::waiting(Duration::from_millis(50));
        write(&store, 1).await;
        let first = listings.read(&store).await.unwrap();
        assert!(Arc::ptr_eq(&first, &listings.read(&store).await.unwrap()));
        write(&store, 2).await;
        let second = listings.read(&store).await.unwrap();
        assert!(!Arc::ptr_eq(&first, &second));
        write(&store, 3).await;
        assert_eq!(listings.read(&store).await.err(), Some(ListingError::Busy));
        drop(first);
        assert_eq!(listings.read(&store).await.unwrap().entries.len(), second.entries.len());
    }
}
