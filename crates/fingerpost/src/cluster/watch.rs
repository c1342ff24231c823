//! One watch per kind: reads everything once, then follows every change, for ever.
//!
//! ```text
//!            ┌────────── too old, or time for a full reading ──────────┐
//!            ▼                                                         │
//! read all (streamed, else paged) ──► Synced ──► follow ──► broken off ┴─► go on from the last position
//! ```
//!
//! Only what was positively seen is told. A reading that breaks off, is refused or shows nothing
//! where there was something deletes nothing.

use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use tokio::sync::mpsc::Sender;

use super::board::Standing;
use super::known::{Known, Read};
use super::stream::{Event, Failure, Lines, Place};
use super::{Arrival, Board, Connection, Key, Subject};

/// How often a kind that is not there is looked for.
const LOOK_AGAIN: Duration = Duration::from_secs(5);
/// Between two looks before a kind counts as missing: a server that just started may not know it yet.
const SECOND_LOOK: Duration = Duration::from_secs(1);
const FIRST_WAIT: Duration = Duration::from_millis(200);
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// What a watch has to tell.
#[derive(Debug)]
pub enum News {
    /// An object is there, new or changed.
    Seen(Subject, Box<Arrival>),
    /// An object is gone.
    Gone(Subject, Key),
    /// Everything of this kind has been told.
    Synced(Subject),
    /// There is no such kind (yet).
    Missing(Subject),
    /// The cluster was set back to an earlier state: versions count anew.
    Rewound(Subject),
}

/// The receiver of the news is gone, and so the watch may end.
struct NobodyListens;

/// Starts the watches of these subjects; they end when nobody receives their news any more.
pub fn start(
    connection: &Connection,
    subjects: &[Subject],
    resync: Duration,
    sender: &Sender<News>,
) -> Board {
    let board = Board::new(subjects);
    for subject in subjects {
        let place = Place {
            client: connection.client.clone(),
            path: subject.path(&connection.namespace),
            selector: subject.selector(),
        };
        let watch = Watch {
            subject: *subject,
            place,
            sender: sender.clone(),
            board: board.clone(),
            known: Known::default(),
            resync,
            streaming: true,
            misses: 0,
        };
        tokio::spawn(watch.run());
    }
    board
}

struct Watch {
    subject: Subject,
    place: Place,
    sender: Sender<News>,
    board: Board,
    known: Known,
    resync: Duration,
    /// Whether the server streams lists, as far as we know.
    streaming: bool,
    /// How often in a row the kind was not there.
    misses: u32,
}

/// Where to go on.
struct Position {
    version: String,
    read: Instant,
}

impl Watch {
    async fn run(mut self) {
        let mut position: Option<Position> = None;
        let mut wait = FIRST_WAIT;
        loop {
            let start = Instant::now();
            if position.as_ref().is_some_and(|position| position.read.elapsed() > self.resync) {
                position = None;
            }
            let outcome = self.go_on(&mut position).await;
            if start.elapsed() > LONGEST_WAIT {
                wait = FIRST_WAIT;
            }
            match outcome {
                Err(NobodyListens) => return,
                Ok(None) => wait = FIRST_WAIT,
                Ok(Some(failure)) => {
                    let pause = self.take_failure(failure, &mut position, wait).await;
                    tokio::time::sleep(pause).await;
                    wait = (wait * 2).min(LONGEST_WAIT);
                }
            }
        }
    }

    /// Reads or goes on reading until something ends it.
    async fn go_on(&mut self, position: &mut Option<Position>) -> Result<Option<Failure>, NobodyListens> {
        let opened = match position {
            Some(known) => match self.is_behind(known).await {
                Ok(false) => self.place.watch(&known.version).await,
                Ok(true) => {
                    *position = None;
                    self.rewind().await?;
                    return Ok(None);
                }
                Err(failure) => Err(failure),
            },
            None if self.streaming => match self.place.list_and_watch().await {
                Ok(lines) => {
                    self.known.begin();
                    Ok(lines)
                }
                failed => failed,
            },
            None => match self.read_pages().await? {
                Ok(version) => {
                    *position = Some(Position { version, read: Instant::now() });
                    return Ok(None);
                }
                Err(failure) => Err(failure),
            },
        };
        match opened {
            Ok(lines) => self.follow(lines, position).await,
            Err(failure) => Ok(Some(failure)),
        }
    }

    /// Whether the cluster is older than what we have seen of it, as after a restored backup. A watch from a
    /// position in its future would be silent until it has come that far.
    async fn is_behind(&self, position: &Position) -> Result<bool, Failure> {
        let now = self.place.version().await?;
        Ok(matches!((now.parse::<u64>(), position.version.parse::<u64>()), (Ok(now), Ok(seen)) if now < seen))
    }

    async fn rewind(&mut self) -> Result<(), NobodyListens> {
        tracing::warn!(kind = self.subject.qualified(), "the cluster was set back; everything is read anew");
        self.known.rewind();
        self.tell(News::Rewound(self.subject)).await
    }

    async fn follow(
        &mut self,
        mut lines: Lines,
        position: &mut Option<Position>,
    ) -> Result<Option<Failure>, NobodyListens> {
        if position.is_some() {
            self.board.set(self.subject, Standing::Synced);
        }
        loop {
            let event = match lines.next().await {
                Ok(Some(event)) => event,
                Ok(None) => return Ok(None),
                Err(failure) => return Ok(Some(failure)),
            };
            match event {
                Event::Object(text) => self.seen(text, position).await?,
                Event::Deleted(text) => self.deleted(text, position).await?,
                Event::Bookmark { version, end_of_list: false } => {
                    if let Some(position) = position {
                        position.version = version;
                    }
                }
                Event::Bookmark { version, end_of_list: true } => match self.all_read().await? {
                    Ok(()) => *position = Some(Position { version, read: Instant::now() }),
                    Err(failure) => return Ok(Some(failure)),
                },
            }
            self.board.heard(self.subject, self.known.len());
            if position.as_ref().is_some_and(|position| position.read.elapsed() > self.resync) {
                return Ok(None);
            }
        }
    }

    /// Reads everything page by page, for servers that do not stream lists.
    async fn read_pages(&mut self) -> Result<Result<String, Failure>, NobodyListens> {
        self.known.begin();
        let mut next: Option<String> = None;
        loop {
            let page = match self.place.page(next.as_deref()).await {
                Ok(page) => page,
                Err(failure) => return Ok(Err(failure)),
            };
            next = page.next().map(str::to_owned);
            let version = page.version().to_owned();
            for item in page.items {
                self.seen(item, &mut None).await?;
            }
            if next.is_none() {
                return Ok(self.all_read().await?.map(|()| version));
            }
        }
    }

    /// Tells what a full reading no longer showed. Nothing at all is looked at twice.
    async fn all_read(&mut self) -> Result<Result<(), Failure>, NobodyListens> {
        let gone = match self.known.end(false) {
            Read::Gone(gone) => gone,
            Read::Emptied => match self.place.is_empty().await {
                Ok(true) => match self.known.end(true) {
                    Read::Gone(gone) => gone,
                    Read::Emptied => Vec::new(),
                },
                Ok(false) => {
                    let message = "a list was empty and a second look was not".to_owned();
                    return Ok(Err(Failure::Other(message, Duration::ZERO)));
                }
                Err(failure) => return Ok(Err(failure)),
            },
        };
        for key in gone {
            self.tell(News::Gone(self.subject, key)).await?;
        }
        self.misses = 0;
        self.board.heard(self.subject, self.known.len());
        // Before it is told: who is told looks at the board.
        self.board.set(self.subject, Standing::Synced);
        self.tell(News::Synced(self.subject)).await?;
        Ok(Ok(()))
    }

    async fn seen(
        &mut self,
        text: Box<RawValue>,
        position: &mut Option<Position>,
    ) -> Result<(), NobodyListens> {
        let Some(arrival) = self.arrived(text, position) else { return Ok(()) };
        if self.known.arrives(&arrival.key, arrival.version) {
            self.tell(News::Seen(self.subject, Box::new(arrival))).await?;
        }
        Ok(())
    }

    async fn deleted(
        &mut self,
        text: Box<RawValue>,
        position: &mut Option<Position>,
    ) -> Result<(), NobodyListens> {
        let Some(arrival) = self.arrived(text, position) else { return Ok(()) };
        if self.known.leaves(&arrival.key, arrival.version) {
            self.tell(News::Gone(self.subject, arrival.key)).await?;
        }
        Ok(())
    }

    /// An object has a name, or it is none; there is nothing to do about one that has not.
    fn arrived(&self, text: Box<RawValue>, position: &mut Option<Position>) -> Option<Arrival> {
        let parsed = Arrival::parse(text);
        let told =
            parsed.map_err(|error| tracing::warn!(kind = self.subject.qualified(), "no object: {error}"));
        told.ok().inspect(|arrival| advance(position, arrival.version))
    }

    /// Takes note of a failure and tells how long to wait.
    async fn take_failure(
        &mut self,
        failure: Failure,
        position: &mut Option<Position>,
        wait: Duration,
    ) -> Duration {
        match failure {
            Failure::Missing if self.subject.is_custom() => {
                *position = None;
                self.missed().await
            }
            Failure::Missing => self.troubled("404: the API server has no such path".to_owned(), wait),
            Failure::Denied(message) => {
                self.board.set(self.subject, Standing::Denied(message));
                wait
            }
            Failure::Outdated => {
                *position = None;
                jittered(FIRST_WAIT)
            }
            Failure::NoStreaming => {
                self.streaming = false;
                Duration::ZERO
            }
            Failure::Other(message, at_least) => self.troubled(message, wait).max(at_least),
        }
    }

    fn troubled(&self, message: String, wait: Duration) -> Duration {
        self.board.set(self.subject, Standing::Troubled(message));
        jittered(wait)
    }

    /// The kind is not there. What was known of it stays: the absence of a kind proves no deletion.
    async fn missed(&mut self) -> Duration {
        self.misses += 1;
        if self.misses < 2 {
            return SECOND_LOOK;
        }
        self.board.set(self.subject, Standing::Missing);
        // Nobody listening is noticed at the next news.
        let _ = self.tell(News::Missing(self.subject)).await;
        LOOK_AGAIN
    }

    async fn tell(&self, news: News) -> Result<(), NobodyListens> {
        self.sender.send(news).await.map_err(|_| NobodyListens)
    }
}

/// Every event is a position to go on from, once the first reading is over.
fn advance(position: &mut Option<Position>, version: u64) {
    if let Some(position) = position.as_mut().filter(|_| version > 0) {
        // Events may come late; a position never goes back.
        let newer = position.version.parse::<u64>().is_ok_and(|known| version > known);
        if newer {
            position.version = version.to_string();
        }
    }
}

/// Up to a quarter longer, so that watches do not all come back in one moment.
fn jittered(wait: Duration) -> Duration {
    let nanoseconds = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let share = nanoseconds.map_or(0, |time| time.subsec_nanos() % 256);
    wait + wait * share / 1024
}
