//! The one writer of a daemon: a task of its own, which outlasts every trouble with the ledger.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use thiserror::Error;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;
use tracing::{error, info, warn};

use super::database::{Database, Told, is_cut, is_silence};
use super::files::Files;
use super::gap::Gap;
use super::lock;
use super::memory::Book;
use super::place::Place;
use super::schema::{self, SchemaError};
use super::seam::{Acknowledgement, Health, Loaded, Remembered, RoundNotes};
use super::shelf;
use super::transaction::{self, Backlog, Writing};
use super::watchers;
use crate::measures::with_causes;

/// A server that says nothing is not asked again for so long: each time would hold up the rounds of all clusters.
pub(super) const SILENCE: Duration = Duration::from_secs(5);

/// How often a daemon writes down that it is at work.
const SEEN: Duration = Duration::from_secs(600);

/// So many events are kept while the ledger cannot be written; then the oldest go.
const EVENTS_KEPT: usize = 10_000;

/// Why the ledger cannot be written.
#[derive(Debug, Error)]
pub(super) enum Trouble {
    #[error("the ledger's folder {} cannot be written", folder.display())]
    Folder {
        folder: PathBuf,
        #[source]
        cause: io::Error,
    },
    #[error("another brinkwatch daemon has taken the ledger")]
    Taken,
    #[error("the server did not answer a moment ago")]
    Silent,
    #[error("it does not open within a second")]
    Late,
    #[error(transparent)]
    Schema(#[from] SchemaError),
    #[error("what the ledger remembers cannot be read")]
    Read(#[source] Told),
    #[error("the ledger cannot be written")]
    Write(#[source] Told),
}

impl Trouble {
    fn of_database(&self) -> Option<&sqlx::Error> {
        match self {
            Self::Schema(SchemaError::Database(cause)) | Self::Read(cause) | Self::Write(cause) => Some(&cause.0),
            _ => None,
        }
    }
}

#[derive(Debug)]
pub(super) enum Request {
    Load(String, oneshot::Sender<Loaded>),
    Acknowledgements(String, oneshot::Sender<Vec<Acknowledgement>>),
    Remember(RoundNotes, oneshot::Sender<Remembered>),
}

pub(super) struct Writer {
    place: Place,
    /// Under which name this daemon remembers and hears.
    pub(super) watcher: String,
    pub(super) lock: Option<File>,
    pub(super) connection: Option<Database>,
    /// What it was last opened on, of a ledger in a folder.
    files: Option<Files>,
    /// The open gaps: those of the ledger when it was last written, and those found since.
    book: Book,
    backlog: Backlog,
    /// What was last logged, so that one trouble is told once.
    pub(super) told: Option<String>,
    /// The same of reading.
    unread: Option<String>,
    opened: u64,
    /// Since when the server says nothing, if it does not.
    silent_since: Option<Instant>,
    /// When it was last written down that this daemon is at work.
    seen: Option<Instant>,
}

impl Writer {
    pub(super) fn new(place: impl Into<Place>) -> Self {
        let place = place.into();
        Self {
            watcher: place.watcher().to_owned(),
            place,
            lock: None,
            connection: None,
            files: None,
            book: Book::default(),
            backlog: Backlog::default(),
            told: None,
            unread: None,
            opened: 0,
            silent_since: None,
            seen: None,
        }
    }

    pub(super) async fn run(mut self, mut inbox: mpsc::UnboundedReceiver<Request>) {
        // Whoever asked may have given up waiting: then nobody hears the answer, and that is no fault.
        while let Some(request) = inbox.recv().await {
            match request {
                Request::Load(_, reply) if reply.is_closed() => {}
                Request::Acknowledgements(_, reply) if reply.is_closed() => {}
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

    pub(super) async fn connect(&mut self) -> Result<(), Trouble> {
        if let Place::Folder(folder) = &self.place
            && self.lock.is_none()
        {
            let trouble = |cause| Trouble::Folder { folder: folder.clone(), cause };
            fs::create_dir_all(folder).map_err(trouble)?;
            self.lock = Some(lock::take(folder).map_err(trouble)?.ok_or(Trouble::Taken)?);
        }
        if self.is_silent() {
            return Err(Trouble::Silent);
        }
        let files = self.files_to_open()?;
        match schema::open(&self.place).await {
            Ok(connection) => (self.connection, self.files) = (Some(connection), files.map(Files::opened)),
            Err(cause) => {
                let trouble = Trouble::Schema(cause);
                self.listen(&trouble);
                return Err(trouble);
            }
        }
        self.opened += 1;
        if self.opened == 1 {
            info!(ledger = %self.place, "the ledger is open");
        }
        Ok(())
    }

    /// Of a folder: the file that is about to be opened, with nothing beside it that belongs to the one before.
    fn files_to_open(&self) -> Result<Option<Files>, Trouble> {
        let Place::Folder(folder) = &self.place else { return Ok(None) };
        if let Some(files) = &self.files {
            files.clear().map_err(|cause| Trouble::Folder { folder: folder.clone(), cause })?;
        }
        Ok(Some(Files::before(folder)))
    }

    fn is_silent(&self) -> bool {
        self.silent_since.is_some_and(|since| since.elapsed() < SILENCE)
    }

    fn listen(&mut self, trouble: &Trouble) {
        if trouble.of_database().is_some_and(is_silence) {
            self.silent_since = Some(Instant::now());
        }
    }

    pub(super) async fn load(&mut self, cluster: &str) -> Loaded {
        // A server is connected to by the first who asks, so that one which hangs holds up nobody else.
        if self.connection.is_none()
            && matches!(self.place, Place::Server(_))
            && let Err(trouble) = self.connect().await
        {
            self.note_trouble(&trouble);
        }
        match self.read(cluster).await {
            Ok((loaded, open)) => {
                self.unread = None;
                self.book.replace(cluster, open);
                // what could not be written yet is not in there
                self.backlog.gaps.all().for_each(|found| self.book.record(found));
                Loaded { remembered: self.remembered(cluster), ..loaded }
            }
            // Nothing was ever written: so nothing is forgotten either.
            Err(Trouble::Schema(SchemaError::Absent)) => Loaded::nothing(true, self.remembered(cluster)),
            Err(trouble) => {
                self.listen(&trouble);
                let words = with_causes(&trouble);
                let is_told = self.unread.as_ref() == Some(&words) || self.told.as_ref() == Some(&words);
                if !matches!(trouble, Trouble::Silent) && !is_told {
                    error!(ledger = %self.place, error = words, "what the ledger remembers cannot be read");
                    self.unread = Some(words);
                }
                self.connection = None;
                Loaded::nothing(false, self.remembered(cluster))
            }
        }
    }

    /// What cannot be written may still be read.
    async fn read(&mut self, cluster: &str) -> Result<(Loaded, Vec<Gap>), Trouble> {
        let silent = self.is_silent();
        let mut to_read;
        let connection = match &mut self.connection {
            Some(connection) => connection,
            None if silent => return Err(Trouble::Silent),
            None => {
                to_read = schema::open_to_read(&self.place).await?;
                &mut to_read
            }
        };
        read(connection, &self.watcher, cluster).await.map_err(|cause| Trouble::Read(cause.into()))
    }

    pub(super) async fn unheard(&mut self, cluster: &str) -> Vec<Acknowledgement> {
        let mut outcome = self.ask_unheard(cluster).await;
        if let Err(trouble) = &outcome
            && trouble.of_database().is_some_and(is_cut)
        {
            self.connection = None;
            outcome = match self.connect().await {
                Ok(()) => self.ask_unheard(cluster).await,
                Err(trouble) => Err(trouble),
            };
        }
        match outcome {
            Ok(mut unheard) => {
                unheard.retain(|one| !self.backlog.heard.contains(&one.id));
                unheard
            }
            Err(trouble) => {
                self.listen(&trouble);
                self.note_trouble(&trouble);
                Vec::new()
            }
        }
    }

    async fn ask_unheard(&mut self, cluster: &str) -> Result<Vec<Acknowledgement>, Trouble> {
        let Some(connection) = &mut self.connection else { return Ok(Vec::new()) };
        watchers::unheard(connection, &self.watcher, cluster).await.map_err(|cause| Trouble::Read(cause.into()))
    }

    pub(super) async fn remember(&mut self, round: RoundNotes) -> Remembered {
        let was_open = self.connection.is_some();
        let mut outcome = self.write(&round).await;
        if let Err(trouble) = &outcome
            && was_open
            && trouble.of_database().is_some_and(is_cut)
        {
            self.connection = None;
            outcome = self.write(&round).await;
        }
        match outcome {
            Ok(open) => {
                self.book.replace(&round.cluster, open);
                self.backlog = Backlog::default();
                if self.told.take().is_some() {
                    info!(ledger = %self.place, "the ledger is written again, with all that was kept meanwhile");
                }
            }
            Err(trouble) => {
                self.listen(&trouble);
                self.note_trouble(&trouble);
                self.keep(&round);
            }
        }
        self.remembered(&round.cluster)
    }

    async fn write(&mut self, round: &RoundNotes) -> Result<Vec<Gap>, Trouble> {
        if self.files.as_ref().is_some_and(|files| !files.are_in_place()) {
            self.leave_file().await;
        }
        if self.connection.is_none() {
            self.connect().await?;
        }
        let is_seen = matches!(self.place, Place::Server(_)) && self.seen.is_none_or(|at| at.elapsed() >= SEEN);
        let writing = Writing { watcher: &self.watcher, is_seen };
        let Some(connection) = &mut self.connection else { return Err(Trouble::Taken) };
        let open = transaction::write(connection, writing, round, &self.backlog)
            .await
            .map_err(|cause| Trouble::Write(cause.into()))?;
        if is_seen {
            self.seen = Some(Instant::now());
        }
        Ok(open)
    }

    /// Closes a file that is no longer in its place, before another is opened there: of two at once SQLite would take the
    /// locks of one for those of the other. By itself it does not bring the journal into a file that was moved.
    async fn leave_file(&mut self) {
        let Some(mut connection) = self.connection.take() else { return };
        warn!(ledger = %self.place, "the ledger's file was moved or replaced: what lies in its place is written from now on");
        let emptied = connection.empty_journal().await;
        if let Err(cause) = emptied.and(connection.close().await) {
            warn!(error = %cause, "the file that was there was not closed in order, and may lack what was written last");
        }
    }

    /// Keeps what could not be written. The memory is not kept: the next round brings all that the ledger lacks.
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

    pub(super) fn note_trouble(&mut self, trouble: &Trouble) {
        // A connection that failed is not trusted again: the next round opens the ledger anew.
        self.connection = None;
        if matches!(trouble, Trouble::Silent) {
            return;
        }
        let words = with_causes(trouble);
        if self.told.as_ref() != Some(&words) {
            error!(
                ledger = %self.place, error = words,
                "the ledger cannot be written; what is found is kept in memory, and written when that is possible again"
            );
            self.told = Some(words);
        }
    }

    fn remembered(&self, cluster: &str) -> Remembered {
        Remembered { health: self.health(), unresolved: Some(self.book.unresolved(cluster)), opened: self.opened }
    }

    pub(super) fn health(&self) -> Health {
        let up = self.connection.is_some();
        Health { persistent: up, up }
    }
}

/// What is remembered of a cluster, and the gaps that nobody has settled, as they were at one moment.
async fn read(connection: &mut Database, watcher: &str, cluster: &str) -> sqlx::Result<(Loaded, Vec<Gap>)> {
    connection.begin_to_read().await?;
    let shelved = shelf::memories(connection, Some(watcher), cluster).await?;
    let heard = watchers::heard(connection, cluster, &shelved.of).await?;
    let open = transaction::open_gaps(connection, cluster).await?;
    connection.commit().await?;
    for query in shelved.senseless {
        warn!(kafka_cluster = cluster, query, "the query's memory makes no sense and begins anew");
    }
    let of_others = shelved.of.into_iter().filter(|(_, of)| of != watcher);
    let adopted = of_others.map(|(query, _)| query).collect();
    let loaded = Loaded { memories: shelved.memories, adopted, heard, ..Loaded::nothing(true, Remembered::SILENT) };
    Ok((loaded, open))
}
