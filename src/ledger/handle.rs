//! The ledger of a daemon, as its rounds and pages see it. One task writes; whoever asks waits for it so long and no
//! longer.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use thiserror::Error;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::{Instant, timeout};
use tracing::warn;

use super::database::CONNECT;
use super::desk::{Desk, DeskError, Settlement};
use super::gap::Gap;
use super::place::Place;
use super::seam::{Acknowledgement, Health, Ledger, Loaded, Remembered, RoundNotes};
use super::writer::{Request, SILENCE, Trouble, Writer};
use crate::measures::with_causes;

/// A round waits so long for the ledger, and is published all the same. More than a writer waits for its turn.
const PATIENCE: Duration = Duration::from_secs(8);

/// A daemon waits so long for its ledger before it answers: one that is held by another process is opened with the first round.
const FIRST_PATIENCE: Duration = Duration::from_secs(1);

/// A page and an answer tell no more gaps than these; the command tells all.
const GAPS_SHOWN: u32 = 10_000;

/// Why a daemon must not start on a folder.
#[derive(Debug, Error)]
pub enum OpenError {
    /// Two daemons on one ledger would judge with each other's memory.
    #[error("another brinkwatch daemon keeps its ledger in {}", folder.display())]
    Taken {
        /// The folder.
        folder: PathBuf,
    },
}

/// A ledger in a database.
#[derive(Debug)]
pub struct DatabaseLedger {
    /// Without an end: what a round found must not get lost because the writer is late.
    requests: mpsc::UnboundedSender<Request>,
    place: Place,
    /// Pages read for themselves, one at a time. Since when the server says nothing, if it does not.
    reading: Mutex<Option<Instant>>,
}

/// A ledger, and the one task that writes it.
pub struct Opened {
    /// The ledger.
    pub ledger: DatabaseLedger,
    /// How it does.
    pub health: Health,
    /// To be run until the ledger is dropped: then it closes the ledger and ends.
    pub writer: BoxFuture<'static, ()>,
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened").field("ledger", &self.ledger).field("health", &self.health).finish_non_exhaustive()
    }
}

impl DatabaseLedger {
    /// Opens a ledger. Trouble with it is no error: it is logged, said in the ledger's health, and tried again with each
    /// round.
    ///
    /// # Errors
    /// When another daemon has the folder.
    pub async fn open(place: impl Into<Place>) -> Result<Opened, OpenError> {
        let place = place.into();
        let mut writer = Writer::new(place.clone());
        // A server may hang, and nobody waits for it here: whoever asks first connects.
        if let Place::Folder(folder) = &place {
            match timeout(FIRST_PATIENCE, writer.connect()).await {
                Ok(Ok(())) => {}
                Ok(Err(Trouble::Taken)) => return Err(OpenError::Taken { folder: folder.clone() }),
                Ok(Err(trouble)) => writer.note_trouble(&trouble),
                Err(_) => writer.note_trouble(&Trouble::Late),
            }
        }
        let (requests, inbox) = mpsc::unbounded_channel();
        let health = writer.health();
        Ok(Opened {
            ledger: Self { requests, place, reading: Mutex::new(None) },
            health,
            writer: writer.run(inbox).boxed(),
        })
    }

    /// Reads for a page, by a connection of its own, for which the writer does not wait.
    async fn read_gaps(&self) -> Result<Option<Vec<Gap>>, DeskError> {
        let mut silent_since = self.reading.lock().await;
        if silent_since.is_some_and(|since| since.elapsed() < SILENCE) {
            return Ok(None);
        }
        let began = Instant::now();
        let read = async { Desk::open_to_read(&self.place).await?.newest_gaps(GAPS_SHOWN).await };
        let read = read.await;
        *silent_since = (read.is_err() && began.elapsed() >= CONNECT).then(Instant::now);
        read.map(Some)
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> Request) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.requests.send(request(reply)).ok()?;
        answer.await.ok()
    }
}

impl Ledger for DatabaseLedger {
    fn lies_at(&self) -> Option<String> {
        Some(self.place.to_string())
    }

    fn load(&self, cluster: &str) -> BoxFuture<'_, Loaded> {
        let cluster = cluster.to_owned();
        async move {
            let loaded = timeout(PATIENCE, self.ask(|reply| Request::Load(cluster, reply))).await;
            loaded.ok().flatten().unwrap_or_else(|| Loaded::nothing(false, Remembered::SILENT))
        }
        .boxed()
    }

    fn acknowledgements(&self, cluster: &str) -> BoxFuture<'_, Vec<Acknowledgement>> {
        let cluster = cluster.to_owned();
        async move {
            let heard = timeout(PATIENCE, self.ask(|reply| Request::Acknowledgements(cluster, reply))).await;
            heard.ok().flatten().unwrap_or_default()
        }
        .boxed()
    }

    fn settle(&self, id: i64, settlement: Settlement) -> BoxFuture<'_, Result<Gap, DeskError>> {
        let write = async move {
            let _one_at_a_time = self.reading.lock().await;
            Desk::open_to_write(&self.place).await?.settle(id, &settlement).await
        };
        async move { timeout(PATIENCE, write).await.unwrap_or(Err(DeskError::Silent { waited: PATIENCE })) }.boxed()
    }

    fn gaps(&self) -> BoxFuture<'_, Option<Vec<Gap>>> {
        async move {
            match timeout(PATIENCE, self.read_gaps()).await {
                Ok(Ok(gaps)) => gaps,
                // Before the first round nothing was ever written.
                Ok(Err(DeskError::NotThere { .. })) | Err(_) => None,
                Ok(Err(cause)) => {
                    warn!(error = with_causes(&cause), "the gaps cannot be read for a page");
                    None
                }
            }
        }
        .boxed()
    }

    fn remember(&self, round: RoundNotes) -> BoxFuture<'_, Remembered> {
        async move {
            // A writer that is late has the notes all the same, and writes them when it can.
            let remembered = timeout(PATIENCE, self.ask(|reply| Request::Remember(round, reply))).await;
            remembered.ok().flatten().unwrap_or(Remembered::SILENT)
        }
        .boxed()
    }
}
