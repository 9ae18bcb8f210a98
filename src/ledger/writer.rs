//! The one writer of the file: a task of its own, which outlasts every trouble with the file.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use sqlx::Connection;
use sqlx::sqlite::SqliteConnection;
use thiserror::Error;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::timeout;
use tracing::{error, info, warn};

use super::desk::{Desk, DeskError, Settlement};
use super::gap::Gap;
use super::lock;
use super::memory::Book;
use super::schema::{self, SchemaError};
use super::seam::{Acknowledgement, Health, Ledger, Loaded, Remembered, RoundNotes};
use super::shelf;
use super::transaction::{self, Backlog};
use crate::judgement::QueryMemory;
use crate::measures::with_causes;

/// The ledger's file in its folder.
pub const FILE_NAME: &str = "brinkwatch.sqlite";

/// A round waits so long for the ledger, and is published all the same. More than a writer waits for its turn.
const PATIENCE: Duration = Duration::from_secs(8);

/// A page and an answer tell no more gaps than these; the command tells all.
const GAPS_SHOWN: u32 = 10_000;

/// So many events are kept while the file cannot be written; then the oldest go.
const EVENTS_KEPT: usize = 10_000;

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

/// Why the file cannot be written.
#[derive(Debug, Error)]
enum Trouble {
    #[error("the ledger's folder {} cannot be written", folder.display())]
    Folder {
        folder: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("another brinkwatch daemon has taken the ledger")]
    Taken,
    #[error(transparent)]
    Schema(#[from] SchemaError),
    #[error("the ledger cannot be written")]
    Write(#[source] sqlx::Error),
}

#[derive(Debug)]
enum Request {
    Load(String, oneshot::Sender<Loaded>),
    Acknowledgements(String, oneshot::Sender<Vec<Acknowledgement>>),
    Remember(RoundNotes, oneshot::Sender<Remembered>),
}

/// A ledger in a file.
#[derive(Debug)]
pub struct FileLedger {
    requests: mpsc::Sender<Request>,
    /// Where pages read for themselves, one at a time.
    reading: Mutex<PathBuf>,
}

/// A ledger, and the one task that writes its file.
pub struct Opened {
    /// The ledger.
    pub ledger: FileLedger,
    /// How it does.
    pub health: Health,
    /// To be run until the ledger is dropped: then it closes the file and ends.
    pub writer: BoxFuture<'static, ()>,
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Opened").field("ledger", &self.ledger).field("health", &self.health).finish_non_exhaustive()
    }
}

impl FileLedger {
    /// Opens the ledger in a folder. Trouble with the file is no error: it is logged, said in the ledger's health, and
    /// the file is tried again with each round.
    ///
    /// # Errors
    /// When another daemon has the folder.
    pub async fn open(folder: &Path) -> Result<Opened, OpenError> {
        let mut writer = Writer::new(folder);
        match writer.connect().await {
            Ok(()) => info!(file = %writer.file.display(), "the ledger is open"),
            Err(Trouble::Taken) => return Err(OpenError::Taken { folder: folder.to_owned() }),
            Err(trouble) => writer.note_trouble(&trouble),
        }
        let (requests, inbox) = mpsc::channel(64);
        let health = writer.health();
        Ok(Opened {
            ledger: Self { requests, reading: Mutex::new(folder.to_owned()) },
            health,
            writer: writer.run(inbox).boxed(),
        })
    }

    async fn ask<T>(&self, request: impl FnOnce(oneshot::Sender<T>) -> Request) -> Option<T> {
        let (reply, answer) = oneshot::channel();
        self.requests.send(request(reply)).await.ok()?;
        answer.await.ok()
    }
}

impl Remembered {
    /// Of a writer that does not answer.
    const SILENT: Self = Self { health: Health { persistent: false, up: false }, unresolved: None, opened: 0 };
}

impl Ledger for FileLedger {
    fn load(&self, cluster: &str) -> BoxFuture<'_, Loaded> {
        let cluster = cluster.to_owned();
        async move {
            let loaded = timeout(PATIENCE, self.ask(|reply| Request::Load(cluster, reply))).await;
            loaded
                .ok()
                .flatten()
                .unwrap_or_else(|| Loaded { memories: BTreeMap::new(), remembered: Remembered::SILENT })
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
            let folder = self.reading.lock().await;
            Desk::open_to_write(&folder).await?.settle(id, &settlement).await
        };
        async move { timeout(PATIENCE, write).await.unwrap_or(Err(DeskError::Silent { waited: PATIENCE })) }.boxed()
    }

    /// By a connection of its own, for which the writer does not wait.
    fn gaps(&self) -> BoxFuture<'_, Option<Vec<Gap>>> {
        let read = async {
            let folder = self.reading.lock().await;
            let mut desk = Desk::open_to_read(&folder).await?;
            desk.newest_gaps(GAPS_SHOWN).await
        };
        async move {
            match timeout(PATIENCE, read).await {
                Ok(Ok(gaps)) => Some(gaps),
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

pub(super) struct Writer {
    folder: PathBuf,
    pub(super) file: PathBuf,
    lock: Option<File>,
    pub(super) connection: Option<SqliteConnection>,
    /// The open gaps: those of the file when it was last written, and those found since.
    book: Book,
    backlog: Backlog,
    /// What was last logged, so that one trouble is told once.
    told: Option<String>,
    opened: u64,
}

impl Writer {
    pub(super) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            file: folder.join(FILE_NAME),
            lock: None,
            connection: None,
            book: Book::default(),
            backlog: Backlog::default(),
            told: None,
            opened: 0,
        }
    }

    async fn run(mut self, mut inbox: mpsc::Receiver<Request>) {
        // Whoever asked may have given up waiting: then nobody hears the answer, and that is no fault.
        while let Some(request) = inbox.recv().await {
            match request {
                Request::Load(cluster, reply) => drop(reply.send(self.load(&cluster).await)),
                Request::Acknowledgements(cluster, reply) => drop(reply.send(self.unheard(&cluster).await)),
                Request::Remember(round, reply) => drop(reply.send(self.remember(round).await)),
            }
        }
        if let Some(connection) = self.connection.take()
            && let Err(cause) = connection.close().await
        {
            warn!(error = %cause, "the ledger was not closed in order; nothing is lost by that");
        }
    }

    async fn connect(&mut self) -> Result<(), Trouble> {
        if self.lock.is_none() {
            let folder = |cause| Trouble::Folder { folder: self.folder.clone(), cause };
            fs::create_dir_all(&self.folder).map_err(folder)?;
            self.lock = Some(lock::take(&self.folder).map_err(folder)?.ok_or(Trouble::Taken)?);
        }
        self.connection = Some(schema::open(&self.file).await?);
        self.opened += 1;
        Ok(())
    }

    pub(super) async fn load(&mut self, cluster: &str) -> Loaded {
        let (memories, book) = match self.read(cluster).await {
            Ok(read) => read,
            Err(cause) => {
                error!(
                    kafka_cluster = cluster,
                    error = with_causes(&cause),
                    "what the ledger remembers cannot be read"
                );
                (BTreeMap::new(), None)
            }
        };
        if let Some(book) = book {
            self.book = book;
            // what could not be written yet is not in the file
            self.backlog.gaps.all().for_each(|found| self.book.record(found));
        }
        Loaded { memories, remembered: self.remembered(cluster) }
    }

    /// A file that cannot be written may still be read.
    async fn read(&mut self, cluster: &str) -> Result<(BTreeMap<String, QueryMemory>, Option<Book>), SchemaError> {
        let mut to_read;
        let connection = match &mut self.connection {
            Some(connection) => connection,
            None if !self.file.exists() => return Ok((BTreeMap::new(), None)),
            None => {
                to_read = schema::open_to_read(&self.file).await?;
                &mut to_read
            }
        };
        let (memories, senseless) = shelf::memories(connection, cluster).await?;
        for query in senseless {
            warn!(kafka_cluster = cluster, query, "the query's memory makes no sense and begins anew");
        }
        Ok((memories, Some(Book::of(transaction::open_gaps(connection).await?))))
    }

    pub(super) async fn unheard(&mut self, cluster: &str) -> Vec<Acknowledgement> {
        let Some(connection) = &mut self.connection else { return Vec::new() };
        match transaction::unheard(connection, cluster).await {
            Ok(mut unheard) => {
                unheard.retain(|one| !self.backlog.heard.contains(&one.id));
                unheard
            }
            Err(cause) => {
                self.note_trouble(&Trouble::Write(cause));
                Vec::new()
            }
        }
    }

    pub(super) async fn remember(&mut self, round: RoundNotes) -> Remembered {
        match self.write(&round).await {
            Ok(open) => {
                self.book = Book::of(open);
                self.backlog = Backlog::default();
                if self.told.take().is_some() {
                    info!(file = %self.file.display(), "the ledger is written again, with all that was kept meanwhile");
                }
            }
            Err(trouble) => {
                self.note_trouble(&trouble);
                self.keep(&round);
            }
        }
        self.remembered(&round.cluster)
    }

    async fn write(&mut self, round: &RoundNotes) -> Result<Vec<Gap>, Trouble> {
        // One that was moved away is still open, and whatever goes there is never found again.
        if self.connection.is_some() && !self.file.exists() {
            self.connection = None;
        }
        if self.connection.is_none() {
            self.connect().await?;
        }
        let Some(connection) = &mut self.connection else { return Err(Trouble::Taken) };
        transaction::write(connection, round, &self.backlog).await.map_err(Trouble::Write)
    }

    /// Keeps what could not be written. The memory is not kept: the next round brings all that the file lacks.
    fn keep(&mut self, round: &RoundNotes) {
        for found in &round.findings {
            self.book.record(found);
            self.backlog.gaps.record(found);
        }
        self.backlog.events.extend(round.events.iter().cloned());
        let too_many = self.backlog.events.len().saturating_sub(EVENTS_KEPT);
        self.backlog.events.drain(..too_many);
        self.backlog.heard.extend(&round.acknowledged);
    }

    fn note_trouble(&mut self, trouble: &Trouble) {
        // A connection that failed is not trusted again: the next round opens the file anew.
        self.connection = None;
        let words = with_causes(trouble);
        if self.told.as_ref() != Some(&words) {
            error!(
                file = %self.file.display(), error = words,
                "the ledger cannot be written; what is found is kept in memory, and written when that is possible again"
            );
            self.told = Some(words);
        }
    }

    fn remembered(&self, cluster: &str) -> Remembered {
        Remembered { health: self.health(), unresolved: Some(self.book.unresolved(cluster)), opened: self.opened }
    }

    fn health(&self) -> Health {
        let up = self.connection.is_some();
        Health { persistent: up, up }
    }
}
