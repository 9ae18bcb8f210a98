//! Reads one checkpoint consistently: no lock, a few small requests, and again when the query was at work meanwhile.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use object_store::ObjectMeta;
use object_store::path::{Path, PathPart};
use tokio::time::{Instant, timeout_at};

use super::failure::{Failure, reason_of};
use super::local;
use super::location::{Place, StoreError};
use super::memory::{KeptFile, Memory, Standstill};
use super::opening::Stores;
use super::settings::StoreSettings;
use super::shared::{Fetched, LARGEST_FILE, SharedStore, is_same_tag};
use crate::checkpoint::{self, CheckpointReading, Listing, LogEntry, OlderEntry, ProblemKind};
use crate::measures::{BatchId, Moment, Reason, Unread};
use crate::readers::CheckpointReader;

/// How long a query gets to finish what it was writing.
const PAUSE: Duration = Duration::from_millis(200);
/// So many older entries are fetched side by side.
const FILES_AT_ONCE: usize = 8;
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
    store: Arc<SharedStore>,
    root: Path,
    directory: Option<PathBuf>,
    display: String,
    lists: Arc<AtomicU64>,
    gets: Arc<AtomicU64>,
    memory: Mutex<Memory>,
}

/// What lies directly in one directory.
#[derive(Debug, Default)]
pub(super) struct Children {
    pub(super) files: Vec<LogEntry>,
    pub(super) directories: Vec<String>,
    /// By the files' own names, where the store has tags.
    pub(super) e_tags: BTreeMap<String, String>,
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
    /// Opens a location with what the environment says of its store. Nothing is read yet, and it need not exist.
    ///
    /// # Errors
    /// When the location is of a kind that is not supported, or makes no sense.
    pub fn open(location: &str) -> Result<Self, StoreError> {
        Self::open_with(location, None)
    }

    /// Opens a location with settings of its store. Whoever opens several takes [`Stores`], which shares what lies in
    /// the same store.
    ///
    /// # Errors
    /// When the location is of a kind that is not supported, makes no sense, or does not go with the settings.
    pub fn open_with(location: &str, settings: Option<&StoreSettings>) -> Result<Self, StoreError> {
        Stores::default().open_with(location, settings)
    }

    pub(super) fn new(store: Arc<SharedStore>, place: Place) -> Self {
        Self {
            store,
            root: place.root,
            directory: place.directory,
            display: place.display,
            lists: Arc::default(),
            gets: Arc::default(),
            memory: Mutex::default(),
        }
    }

    async fn read_cheaply(&self, deadline: Instant) -> Result<CheckpointReading, Unread> {
        if let Some(reading) = self.read_standstill().await? {
            return Ok(reading);
        }
        self.read_settled(deadline).await.map(|pass| pass.reading)
    }

    /// The last reading, when two small requests show that the query stands still.
    async fn read_standstill(&self) -> Result<Option<CheckpointReading>, Unread> {
        let Some(still) = self.memory().standstill.clone().filter(Standstill::is_fresh) else { return Ok(None) };
        let (steady, e_tag) = still.steady();
        let (absent_path, steady_path) = (self.path(&still.absent), self.path(steady));
        let probes = futures::future::join(
            self.store.fetch(&absent_path, None, &self.gets),
            self.store.fetch(&steady_path, Some(e_tag), &self.gets),
        );
        let (next, last) = probes.await;
        let next = next.map_err(|failure| self.failed(&still.absent, failure))?;
        let last = last.map_err(|failure| self.failed(steady, failure))?;
        if !matches!((next, last), (Fetched::Missing, Fetched::Unchanged)) {
            return Ok(None);
        }
        let reading = still.reading.clone();
        self.memory().standstill = Some(still.turned());
        Ok(Some(reading))
    }

    /// Reads the checkpoint, and keeps the files that the reading was made of.
    ///
    /// # Errors
    /// When it cannot be read within the deadline.
    pub async fn read_with_files(&self, deadline: Duration) -> Result<(CheckpointReading, CheckpointFiles), Unread> {
        let pass = within(deadline, &self.display, self.read_settled(Instant::now() + deadline)).await?;
        Ok((pass.reading, pass.files))
    }

    /// The bytes of `offsets/` of these batches, as far as they are there and come in time.
    pub async fn older_files(&self, batches: &[BatchId], deadline: Duration) -> BTreeMap<BatchId, Vec<u8>> {
        let until = Instant::now() + deadline;
        let fetch = |batch: BatchId| async move {
            let path = self.path(&format!("offsets/{batch}"));
            let Ok(Fetched::File(_, bytes)) = self.store.fetch(&path, None, &self.gets).await else { return None };
            Some((batch, bytes.to_vec()))
        };
        let mut fetched = futures::stream::iter(batches.iter().copied().map(fetch)).buffer_unordered(FILES_AT_ONCE);
        let mut found = BTreeMap::new();
        while let Ok(Some(next)) = timeout_at(until, fetched.next()).await {
            found.extend(next);
        }
        found
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

    /// Commits are listed before offsets, so that a query at work never shows a commit without its plan. `metadata`
    /// comes before both: stores tell why a file can not be had, and not always why a listing can not.
    async fn read_once(&self) -> Result<Pass, Unread> {
        let mut listing = Listing::default();
        let mut contents = BTreeMap::new();
        let mut something_vanished = false;
        if let Some((entry, bytes)) = self.get("metadata", None).await? {
            contents.insert("metadata".to_owned(), bytes.to_vec());
            listing.metadata = Some(entry);
        }
        let commits = self.list("commits").await?;
        let offsets = self.list("offsets").await?;
        let e_tag = |file: &str| {
            let (log, batch) = file.split_once('/')?;
            let children = if log == "commits" { &commits } else { &offsets };
            children.e_tags.get(batch).cloned()
        };
        listing.commits = commits.files.clone();
        listing.offsets = offsets.files.clone();
        for file in checkpoint::wanted(&listing).into_iter().filter(|file| file != "metadata") {
            match self.get(&file, e_tag(&file).as_deref()).await? {
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
        let mut memory = self.memory();
        memory.files.retain(|file, _| contents.contains_key(file));
        memory.note(&reading, something_vanished);
        drop(memory);
        Ok(Pass { reading, files: CheckpointFiles { listing, contents }, something_vanished })
    }

    async fn add_initial_offsets(
        &self,
        listing: &mut Listing,
        contents: &mut BTreeMap<String, Vec<u8>>,
    ) -> Result<(), Unread> {
        let mut total = 0;
        for id in self.list("sources").await?.directories.into_iter().take(checkpoint::MOST_SOURCES) {
            let file = format!("sources/{id}/0");
            if let Some((entry, bytes)) = self.get(&file, None).await? {
                total += entry.size;
                if total > LARGEST_FILE {
                    return Err(self.too_large("sources", total));
                }
                listing.sources.insert(id, entry);
                contents.insert(file, bytes.to_vec());
            }
        }
        Ok(())
    }

    /// The files and directories directly below a directory; none when there is no such directory.
    pub(super) async fn list(&self, directory: &str) -> Result<Children, Unread> {
        let path = self.path(directory);
        let found = match (self.store.list(&path, &self.lists).await, &self.directory) {
            (Ok(found), _) => found,
            (Err(_), Some(root)) => {
                let listed = local::list(root.join(directory)).await;
                return listed.map_err(|error| self.io_failed(directory, &error));
            }
            (Err(failure), None) => return Err(self.failed(directory, failure)),
        };
        // stores without directories keep an empty object in the place of one
        let files: Vec<_> = found.objects.iter().filter(|meta| meta.location != path).collect();
        let e_tag = |meta: &&ObjectMeta| Some((meta.location.filename()?.to_owned(), meta.e_tag.clone()?));
        let directories = found.common_prefixes.iter().filter_map(|path| path.filename().map(str::to_owned));
        Ok(Children {
            e_tags: files.iter().filter_map(e_tag).collect(),
            files: files.into_iter().filter_map(entry).collect(),
            directories: directories.collect(),
        })
    }

    /// One file; `None` when it is not there. A listing may have shown its tag: an unchanged file is not fetched again.
    async fn get(&self, file: &str, listed: Option<&str>) -> Result<Option<(LogEntry, Bytes)>, Unread> {
        let kept = self.memory().files.get(file).cloned();
        if let (Some(kept), Some(listed)) = (&kept, listed)
            && is_same_tag(&kept.e_tag, listed)
        {
            return Ok(Some((kept.entry.clone(), kept.bytes.clone())));
        }
        let unless = kept.as_ref().map(|kept| kept.e_tag.as_str());
        let fetched = self.store.fetch(&self.path(file), unless, &self.gets).await;
        match fetched.map_err(|failure| self.failed(file, failure))? {
            Fetched::File(meta, bytes) => Ok(entry(&meta).map(|entry| {
                self.keep(file, &meta, &entry, &bytes);
                (entry, bytes)
            })),
            Fetched::Unchanged => Ok(kept.map(|kept| (kept.entry, kept.bytes))),
            Fetched::Missing => Ok(None),
            Fetched::TooLarge(size) => Err(self.too_large(file, size)),
        }
    }

    fn keep(&self, file: &str, meta: &ObjectMeta, entry: &LogEntry, bytes: &Bytes) {
        let Some(e_tag) = meta.e_tag.clone() else { return };
        let kept = KeptFile { e_tag, entry: entry.clone(), bytes: bytes.clone() };
        self.memory().files.insert(file.to_owned(), kept);
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        // what is remembered is replaced whole, never left half changed
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path(&self, relative: &str) -> Path {
        let parts = relative.split('/').filter(|part| !part.is_empty());
        parts.fold(self.root.clone(), |path, part| match PathPart::parse(part) {
            Ok(part) => path.join(part),
            Err(_) => path.join(part),
        })
    }

    /// Where a path below it lies.
    pub(super) fn location_of(&self, path: &str) -> String {
        if path.is_empty() { self.display.clone() } else { format!("{}/{path}", self.display) }
    }

    fn failed(&self, what: &str, failure: Failure) -> Unread {
        Unread::new(failure.reason, format!("{}/{what}: {}", self.display, failure.words))
    }

    fn too_large(&self, what: &str, size: u64) -> Unread {
        let detail = format!("{}/{what} holds {size} bytes, more than any checkpoint file", self.display);
        Unread::new(Reason::Malformed, detail)
    }

    fn io_failed(&self, what: &str, error: &io::Error) -> Unread {
        Unread::new(reason_of(error.kind()), format!("{}/{what}: {error}", self.display))
    }
}

impl CheckpointReader for CheckpointStore {
    fn read(&self, deadline: Duration) -> BoxFuture<'_, Result<CheckpointReading, Unread>> {
        async move {
            let until = Instant::now() + deadline;
            within(deadline, &self.display, self.read_cheaply(until)).await
        }
        .boxed()
    }

    fn older(&self, batches: &[BatchId], deadline: Duration) -> BoxFuture<'_, BTreeMap<BatchId, OlderEntry>> {
        let batches = batches.to_vec();
        async move {
            let found = self.older_files(&batches, deadline).await;
            found.into_iter().filter_map(|(batch, bytes)| Some((batch, checkpoint::older_entry(&bytes)?))).collect()
        }
        .boxed()
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
