//! Reads one checkpoint consistently: no lock, a few small requests, and again when the query was at work meanwhile.

use std::collections::BTreeMap;
use std::error::Error as _;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use futures::FutureExt;
use futures::future::BoxFuture;
use object_store::path::{Path, PathPart};
use object_store::{GetOptions, ObjectMeta, ObjectStore};
use tokio::time::Instant;

use super::local;
use super::location::{self, StoreError};
use crate::checkpoint::{self, CheckpointReading, Listing, LogEntry, ProblemKind};
use crate::measures::{Moment, Reason, Unread};
use crate::readers::CheckpointReader;

/// No file of a checkpoint comes near it: ten thousand partitions take 180 kB.
const LARGEST_FILE: u64 = 32 * 1024 * 1024;
/// More inputs than any query has.
const MOST_SOURCES: usize = 1000;
/// How long a query gets to finish what it was writing.
const PAUSE: Duration = Duration::from_millis(200);
/// How often a file that is missing, empty or cut short is looked at again.
const MOST_REPEATS: u32 = 3;

/// How many requests were made to a store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestCounts {
    /// Listings of one directory.
    pub list: u64,
    /// Fetches of one file.
    pub get: u64,
}

impl RequestCounts {
    /// Each operation with its count, in the order of their names.
    #[must_use]
    pub const fn by_operation(self) -> [(&'static str, u64); 2] {
        [("get", self.get), ("list", self.list)]
    }
}

/// One checkpoint in one store.
#[derive(Debug)]
pub struct CheckpointStore {
    store: Arc<dyn ObjectStore>,
    root: Path,
    directory: Option<PathBuf>,
    display: String,
    lists: AtomicU64,
    gets: AtomicU64,
}

/// What lies directly in one directory.
#[derive(Debug, Default)]
pub(super) struct Children {
    pub(super) files: Vec<LogEntry>,
    pub(super) directories: Vec<String>,
}

/// The files that a reading was made of: for whoever writes it down.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckpointFiles {
    /// What was listed.
    pub listing: Listing,
    /// What was fetched, by path.
    pub contents: BTreeMap<String, Vec<u8>>,
}

/// One pass over the checkpoint.
struct Pass {
    reading: CheckpointReading,
    files: CheckpointFiles,
    /// A file was listed and gone when it was fetched.
    something_vanished: bool,
}

impl CheckpointStore {
    /// Opens a location: a path, `file:/path` or `file:///path`. Nothing is read yet, and it need not exist.
    ///
    /// # Errors
    /// When the location is of a kind that is not supported, or makes no sense.
    pub fn open(location: &str) -> Result<Self, StoreError> {
        let place = location::open(location)?;
        Ok(Self {
            store: place.store,
            root: place.root,
            directory: place.directory,
            display: place.display,
            lists: AtomicU64::new(0),
            gets: AtomicU64::new(0),
        })
    }

    /// Reads the checkpoint, and keeps the files that the reading was made of.
    ///
    /// # Errors
    /// When it cannot be read within the deadline.
    pub async fn read_with_files(&self, deadline: Duration) -> Result<(CheckpointReading, CheckpointFiles), Unread> {
        let pass = within(deadline, &self.display, self.read_settled(Instant::now() + deadline)).await?;
        Ok((pass.reading, pass.files))
    }

    /// Reads until the checkpoint makes sense or has had its chances: what looks half written is looked at again three
    /// times, any other anomaly once.
    async fn read_settled(&self, deadline: Instant) -> Result<Pass, Unread> {
        let mut repeats = 0;
        loop {
            let began = Instant::now();
            let pass = self.read_once().await?;
            let ended = Instant::now();
            let is_unsettled = pass.something_vanished || looks_half_written(&pass.reading);
            let most = match (is_unsettled, checkpoint::needs_second_look(&pass.reading)) {
                (true, _) => MOST_REPEATS,
                (false, true) => 1,
                (false, false) => 0,
            };
            // One more look must end in time: a reading that is in doubt says more than none.
            let one_more = (ended - began) * 2 + PAUSE;
            if repeats >= most || ended + one_more > deadline {
                return Ok(pass);
            }
            repeats += 1;
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Commits are listed before offsets, so that a query at work never shows a commit without its plan.
    async fn read_once(&self) -> Result<Pass, Unread> {
        let mut listing = Listing::default();
        let mut contents = BTreeMap::new();
        let mut something_vanished = false;
        if let Some((entry, bytes)) = self.get("metadata").await? {
            contents.insert("metadata".to_owned(), bytes.to_vec());
            listing.metadata = Some(entry);
        }
        listing.commits = self.list("commits").await?.files;
        listing.offsets = self.list("offsets").await?.files;
        for file in checkpoint::wanted(&listing).into_iter().filter(|file| file != "metadata") {
            match self.get(&file).await? {
                Some((_, bytes)) => _ = contents.insert(file, bytes.to_vec()),
                None => something_vanished = true,
            }
        }
        if checkpoint::wants_initial_offsets(&listing, &contents) {
            self.add_initial_offsets(&mut listing, &mut contents).await?;
        }
        if listing == Listing::default() {
            let detail = format!("{}: no checkpoint here (no metadata, no offsets, no sources)", self.display);
            return Err(Unread::new(Reason::NotFound, detail));
        }
        let reading = checkpoint::read(&listing, &contents);
        Ok(Pass { reading, files: CheckpointFiles { listing, contents }, something_vanished })
    }

    async fn add_initial_offsets(
        &self,
        listing: &mut Listing,
        contents: &mut BTreeMap<String, Vec<u8>>,
    ) -> Result<(), Unread> {
        for id in self.list("sources").await?.directories.into_iter().take(MOST_SOURCES) {
            let file = format!("sources/{id}/0");
            if let Some((entry, bytes)) = self.get(&file).await? {
                listing.sources.insert(id, entry);
                contents.insert(file, bytes.to_vec());
            }
        }
        Ok(())
    }

    /// The files and directories directly below a directory; none when there is no such directory.
    async fn list(&self, directory: &str) -> Result<Children, Unread> {
        self.lists.fetch_add(1, Ordering::Relaxed);
        match self.store.list_with_delimiter(Some(&self.path(directory))).await {
            Ok(found) => Ok(Children {
                // stores without directories keep an empty object in the place of one
                files: found
                    .objects
                    .iter()
                    .filter(|meta| meta.location != self.path(directory))
                    .filter_map(entry)
                    .collect(),
                directories: found
                    .common_prefixes
                    .iter()
                    .filter_map(|path| path.filename().map(str::to_owned))
                    .collect(),
            }),
            Err(error) => match &self.directory {
                Some(root) => {
                    local::list(root.join(directory)).await.map_err(|error| self.io_failed(directory, &error))
                }
                None => Err(self.failed(directory, &error)),
            },
        }
    }

    /// One file; `None` when it is not there.
    async fn get(&self, file: &str) -> Result<Option<(LogEntry, Bytes)>, Unread> {
        self.gets.fetch_add(1, Ordering::Relaxed);
        let answer = match self.store.get_opts(&self.path(file), GetOptions::default()).await {
            Ok(answer) => answer,
            Err(error) if is_missing(&error) => return Ok(None),
            Err(error) => return Err(self.failed(file, &error)),
        };
        let Some(entry) = entry(&answer.meta) else { return Ok(None) };
        if entry.size > LARGEST_FILE {
            let detail = format!("{}/{file} holds {} bytes, more than any checkpoint file", self.display, entry.size);
            return Err(Unread::new(Reason::Malformed, detail));
        }
        match answer.bytes().await {
            Ok(bytes) => Ok(Some((entry, bytes))),
            Err(error) if is_missing(&error) => Ok(None),
            Err(error) => Err(self.failed(file, &error)),
        }
    }

    fn path(&self, relative: &str) -> Path {
        relative.split('/').fold(self.root.clone(), |path, part| match PathPart::parse(part) {
            Ok(part) => path.join(part),
            Err(_) => path.join(part),
        })
    }

    fn failed(&self, what: &str, error: &object_store::Error) -> Unread {
        let reason = match error {
            object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. } => {
                Reason::Denied
            }
            other => io_cause(other).map_or(Reason::Unreachable, |cause| reason_of(cause.kind())),
        };
        Unread::new(reason, format!("{}/{what}: {}", self.display, chain(error)))
    }

    fn io_failed(&self, what: &str, error: &io::Error) -> Unread {
        Unread::new(reason_of(error.kind()), format!("{}/{what}: {error}", self.display))
    }
}

impl CheckpointReader for CheckpointStore {
    fn read(&self, deadline: Duration) -> BoxFuture<'_, Result<CheckpointReading, Unread>> {
        async move { self.read_with_files(deadline).await.map(|(reading, _)| reading) }.boxed()
    }

    fn location(&self) -> &str {
        &self.display
    }

    fn requests(&self) -> RequestCounts {
        RequestCounts { list: self.lists.load(Ordering::Relaxed), get: self.gets.load(Ordering::Relaxed) }
    }
}

/// What the reading says if it ends in time.
pub(super) async fn within<T>(
    deadline: Duration,
    place: &str,
    reading: impl Future<Output = Result<T, Unread>>,
) -> Result<T, Unread> {
    tokio::time::timeout(deadline, reading).await.unwrap_or_else(|_| {
        let detail = format!("{place}: not read within {}", humantime::format_duration(deadline));
        Err(Unread::new(Reason::TimedOut, detail))
    })
}

fn looks_half_written(reading: &CheckpointReading) -> bool {
    reading.problems.iter().any(|problem| {
        matches!(
            problem.kind,
            ProblemKind::NewestOffsetsEmpty
                | ProblemKind::NewestOffsetsMalformed
                | ProblemKind::NewestCommitEmpty
                | ProblemKind::MetadataMalformed
                | ProblemKind::InitialOffsetsMalformed
        )
    })
}

fn entry(meta: &ObjectMeta) -> Option<LogEntry> {
    Some(LogEntry {
        name: meta.location.filename()?.to_owned(),
        size: meta.size,
        modified: Some(Moment::from_millis(meta.last_modified.timestamp_millis())),
    })
}

fn is_missing(error: &object_store::Error) -> bool {
    matches!(error, object_store::Error::NotFound { .. })
        || io_cause(error).is_some_and(|cause| reason_of(cause.kind()) == Reason::NotFound)
}

/// A file where a directory should be is as good as none.
fn reason_of(kind: io::ErrorKind) -> Reason {
    match kind {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Reason::NotFound,
        io::ErrorKind::PermissionDenied => Reason::Denied,
        io::ErrorKind::TimedOut => Reason::TimedOut,
        _ => Reason::Unreachable,
    }
}

fn io_cause(error: &object_store::Error) -> Option<&io::Error> {
    let mut cause = error.source();
    while let Some(error) = cause {
        if let Some(io) = error.downcast_ref::<io::Error>() {
            return Some(io);
        }
        cause = error.source();
    }
    None
}

/// The causes in one line. The library's errors repeat their causes, so that only what adds words is kept.
fn chain(error: &object_store::Error) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !words.contains(&text) {
            words = format!("{words}: {text}");
        }
        cause = error.source();
    }
    words
}
