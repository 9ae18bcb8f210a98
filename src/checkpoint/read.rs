//! The resume rule: from what was listed and fetched to where a restart would begin.

use std::collections::BTreeMap;

use super::commit_log;
use super::history::missing_predecessor;
use super::initial::{self, Initial};
use super::kafka::Line;
use super::metadata;
use super::names::Log;
use super::offset_log::{self, Entry};
use super::reading::{BatchTimes, CheckpointReading, Listing, Problem, ProblemKind, SourceKind};
use super::sources::{self, Found, Layers, initial_file, offsets_file};
use super::text::{BadFile, is_blank};
use crate::measures::{BatchId, Moment};

/// Relative paths of the files whose content decides, as far as the two logs tell. Empty files are not among them.
#[must_use]
pub fn wanted(listing: &Listing) -> Vec<String> {
    let logs = Logs::of(listing, &BTreeMap::new());
    let mut wanted = Vec::new();
    if listing.metadata.as_ref().is_some_and(|file| file.size > 0) {
        wanted.push("metadata".to_owned());
    }
    for batch in [logs.newest, logs.previous, logs.before_previous].into_iter().flatten() {
        if logs.offsets.batches.get(&batch).is_some_and(|file| file.size > 0) {
            wanted.push(offsets_file(batch));
        }
    }
    if let Some((batch, file)) = logs.commits.batches.last_key_value()
        && (1..=commit_log::LARGEST_WORTH_READING).contains(&file.size)
    {
        wanted.push(format!("commits/{batch}"));
    }
    wanted
}

/// Whether the initial offsets decide as well. Mostly they do not, and then `sources/` need not be listed.
#[must_use]
pub fn wants_initial_offsets(listing: &Listing, contents: &BTreeMap<String, Vec<u8>>) -> bool {
    Reader::new(listing, contents).read().1
}

/// What the checkpoint says. A file that is listed and not among `contents` counts as not readable where its content
/// matters: it may have been deleted in between.
#[must_use]
pub fn read(listing: &Listing, contents: &BTreeMap<String, Vec<u8>>) -> CheckpointReading {
    Reader::new(listing, contents).read().0
}

/// Whether a second reading may clear this one's anomalies: a batch may have been planned, committed or purged between
/// two listings, or a file be seen before it was whole.
#[must_use]
pub fn needs_second_look(reading: &CheckpointReading) -> bool {
    reading.problems.iter().any(|problem| match problem.kind {
        ProblemKind::CommitLogLags
        | ProblemKind::CommitLogAhead
        | ProblemKind::CommitsMissing
        | ProblemKind::OffsetsLost
        | ProblemKind::PredecessorMissing
        | ProblemKind::GapInBatches
        | ProblemKind::NewestOffsetsEmpty
        | ProblemKind::NewestOffsetsMalformed
        | ProblemKind::NewestCommitEmpty
        | ProblemKind::MetadataMissing
        | ProblemKind::MetadataMalformed
        | ProblemKind::EmptyOffsetMap
        | ProblemKind::PartitionsDropped
        | ProblemKind::PlannedBelowCommitted
        | ProblemKind::InitialOffsetsMalformed
        | ProblemKind::SourceCountChanged => true,
        ProblemKind::UnsupportedVersion
        | ProblemKind::NegativeOffset
        | ProblemKind::NoncanonicalBatchName
        | ProblemKind::CopiedOrRestored
        | ProblemKind::NoKafkaSource
        | ProblemKind::Superseded => false,
    })
}

/// Both logs and what they make of the newest batch.
struct Logs<'a> {
    offsets: Log<'a>,
    commits: Log<'a>,
    newest: Option<BatchId>,
    previous: Option<BatchId>,
    /// Only while the newest batch is open: the entry before the one that a restart resumes from.
    before_previous: Option<BatchId>,
    /// The newest commit file holds nothing, so that it does not count.
    newest_commit_is_blank: bool,
    committed: Option<BatchId>,
    open: bool,
}

impl<'a> Logs<'a> {
    fn of(listing: &'a Listing, contents: &BTreeMap<String, Vec<u8>>) -> Self {
        let (offsets, commits) = (Log::of(&listing.offsets), Log::of(&listing.commits));
        let newest = offsets.newest();
        let previous = newest.and_then(|batch| offsets.before(batch));
        let last_commit = commits.newest();
        let newest_commit_is_blank = commits.batches.last_key_value().is_some_and(|(batch, file)| {
            file.size == 0 || contents.get(&format!("commits/{batch}")).is_some_and(|bytes| is_blank(bytes))
        });
        let committed =
            last_commit.and_then(|last| if newest_commit_is_blank { commits.before(last) } else { Some(last) });
        let open = newest.is_some() && newest != committed;
        let before_previous = previous.filter(|_| open).and_then(|batch| offsets.before(batch));
        Self { offsets, commits, newest, previous, before_previous, newest_commit_is_blank, committed, open }
    }
}

struct Reader<'a> {
    listing: &'a Listing,
    contents: &'a BTreeMap<String, Vec<u8>>,
    logs: Logs<'a>,
    reading: CheckpointReading,
}

impl<'a> Reader<'a> {
    fn new(listing: &'a Listing, contents: &'a BTreeMap<String, Vec<u8>>) -> Self {
        let reading = CheckpointReading { restartable: Some(true), ..CheckpointReading::default() };
        Self { listing, contents, logs: Logs::of(listing, contents), reading }
    }

    /// The reading, and whether it depends on initial offsets.
    fn read(mut self) -> (CheckpointReading, bool) {
        self.read_metadata();
        self.check_logs();
        self.check_names();
        let previous = self.logs.previous.map(|batch| (batch, self.entry(batch)));
        let newest = self.logs.newest.map(|batch| (batch, self.newest_entry(batch, previous.as_ref())));
        let older = self.logs.before_previous.and_then(|batch| Some((batch, self.entry(batch).ok()?)));
        self.check_predecessor(previous.as_ref());

        let is_unsupported = |entry: &Option<(BatchId, Result<Entry, BadFile>)>| {
            matches!(entry, Some((_, Err(BadFile::Unsupported(_)))))
        };
        // an unknown format is not guessed at from its neighbours
        let no_numbers = is_unsupported(&newest) || (self.logs.open && is_unsupported(&previous));
        let newest = newest.and_then(|(batch, entry)| Some((batch, entry.ok()?)));
        let previous = previous.and_then(|(batch, entry)| Some((batch, entry.ok()?)));
        let entries = [older.as_ref(), previous.as_ref(), newest.as_ref()];
        self.note_times(entries);

        let initials = self.initials();
        let found = if no_numbers {
            Found::default()
        } else {
            match self.layers(older.as_ref(), previous.as_ref(), newest.as_ref(), &initials) {
                Some(layers) => sources::found(&layers),
                None => Found::default(),
            }
        };
        let initial_wanted = found.initial_wanted;
        self.take(found);
        (self.reading, initial_wanted)
    }

    fn read_metadata(&mut self) {
        if self.listing.metadata.is_none() {
            self.cannot_tell();
            let detail = "Spark 4.2 and later refuse to start without it; older ones go on under a new query id";
            self.problem(ProblemKind::MetadataMissing, Some("metadata".to_owned()), detail);
            return;
        }
        let bytes = self.contents.get("metadata").map(Vec::as_slice).unwrap_or_default();
        match metadata::query_id(bytes) {
            Ok(id) => self.reading.query_id = Some(id),
            Err(why) => {
                self.will_not_start();
                self.problem(ProblemKind::MetadataMalformed, Some("metadata".to_owned()), why);
            }
        }
    }

    /// What the two sets of ids say of each other.
    fn check_logs(&mut self) {
        self.reading.newest_planned = self.logs.newest;
        self.reading.newest_committed = self.logs.committed;
        self.reading.batch_open = self.logs.open;
        let last_commit = self.logs.commits.newest();
        if let Some(batch) = last_commit.filter(|_| self.logs.newest_commit_is_blank) {
            self.will_not_start();
            let detail = "the newest commit holds nothing; Spark stops at an incomplete commit log";
            self.problem(ProblemKind::NewestCommitEmpty, Some(format!("commits/{batch}")), detail);
        } else if let Some(batch) = last_commit {
            self.check_commit(batch);
        }
        match (self.logs.newest, last_commit) {
            (None, Some(last)) => {
                self.will_not_start();
                let detail = format!(
                    "batch {last} is committed, but no batch is planned; Spark 4 refuses to start, older ones begin \
                     again at the initial offsets"
                );
                self.problem(ProblemKind::OffsetsLost, None, detail);
            }
            (Some(newest), Some(last)) if last > newest => {
                self.will_not_start();
                let detail = format!(
                    "batch {last} is committed, but {newest} is the newest planned; Spark runs {newest} again and fails at its commit"
                );
                self.problem(ProblemKind::CommitLogAhead, Some(format!("commits/{last}")), detail);
            }
            (Some(newest), Some(last)) if self.logs.previous.is_some_and(|previous| last < previous) => {
                let detail = format!(
                    "batch {last} is the newest commit and {newest} the newest planned; Spark runs only {newest} again \
                     (real-time and continuous mode resume from offsets/{last})"
                );
                self.problem(ProblemKind::CommitLogLags, Some(format!("commits/{last}")), detail);
            }
            (Some(newest), None) if newest.0 > 0 => {
                let detail =
                    format!("batch {newest} is planned, so earlier ones were committed, yet there is no commit");
                self.problem(ProblemKind::CommitsMissing, None, detail);
            }
            _ => {}
        }
    }

    fn check_commit(&mut self, batch: BatchId) {
        let file = format!("commits/{batch}");
        match self.contents.get(&file).map(|bytes| commit_log::check(bytes)) {
            None | Some(Ok(_)) => {}
            Some(Err(BadFile::Unsupported(what))) => {
                self.cannot_tell();
                self.problem(ProblemKind::UnsupportedVersion, Some(file), what);
            }
            Some(Err(BadFile::Malformed(why))) => {
                self.will_not_start();
                self.problem(ProblemKind::UnsupportedVersion, Some(file), why);
            }
            // counted as blank before
            Some(Err(BadFile::Empty)) => {}
        }
    }

    /// Odd names: told of, a few of them, since a directory may be full of them.
    fn check_names(&mut self) {
        const MOST: usize = 5;
        let mut odd = Vec::new();
        for (directory, log) in [("offsets", &self.logs.offsets), ("commits", &self.logs.commits)] {
            let stops_spark = log.odd_newest().is_some();
            for name in log.odd.iter().take(MOST) {
                odd.push((format!("{directory}/{}", name.name), name.number, stops_spark));
            }
        }
        for (file, number, stops_spark) in odd {
            if stops_spark {
                self.will_not_start();
            }
            let detail = format!("Spark takes the name for batch {number} and then looks for a file named {number}");
            self.problem(ProblemKind::NoncanonicalBatchName, Some(file), detail);
        }
    }

    fn entry(&self, batch: BatchId) -> Result<Entry, BadFile> {
        let listed_empty = self.logs.offsets.batches.get(&batch).is_some_and(|file| file.size == 0);
        match self.contents.get(&offsets_file(batch)) {
            _ if listed_empty => Err(BadFile::Empty),
            Some(bytes) => offset_log::parse(bytes),
            None => Err(BadFile::Malformed("it was listed, and gone when it was to be read".to_owned())),
        }
    }

    /// The newest entry, held against the one before: a file cut at the end of a line parses, too.
    fn newest_entry(
        &mut self,
        batch: BatchId,
        previous: Option<&(BatchId, Result<Entry, BadFile>)>,
    ) -> Result<Entry, BadFile> {
        let previous = previous.and_then(|(batch, entry)| Some((*batch, entry.as_ref().ok()?)));
        let entry = self.entry(batch).and_then(|entry| {
            let contradiction = previous.and_then(|(before, previous)| contradiction(&entry, before, previous));
            contradiction.map_or(Ok(entry), |why| Err(BadFile::Malformed(why)))
        });
        let file = Some(offsets_file(batch));
        match &entry {
            Ok(entry) => {
                let more = previous.filter(|(_, p)| both_positional(entry, p) && entry.lines.len() > p.lines.len());
                if let Some((before, previous)) = more {
                    self.will_not_start();
                    let (now, then) = (entry.lines.len(), previous.lines.len());
                    let detail =
                        format!("{now} sources, and {then} in offsets/{before}; Spark wants as many as the query has");
                    self.problem(ProblemKind::SourceCountChanged, file, detail);
                }
            }
            Err(BadFile::Empty) => {
                self.will_not_start();
                let detail = "the newest offsets file holds nothing; Spark stops at an incomplete log file";
                self.problem(ProblemKind::NewestOffsetsEmpty, file, detail);
            }
            Err(BadFile::Malformed(why)) => {
                self.will_not_start();
                self.problem(ProblemKind::NewestOffsetsMalformed, file, why.clone());
            }
            Err(BadFile::Unsupported(what)) => {
                self.cannot_tell();
                self.problem(ProblemKind::UnsupportedVersion, file, what.clone());
            }
        }
        entry
    }

    /// Spark reads the entry before the newest one as well, even when the newest batch is committed.
    fn check_predecessor(&mut self, previous: Option<&(BatchId, Result<Entry, BadFile>)>) {
        let Some(newest) = self.logs.newest else { return };
        match previous {
            Some((batch, Err(BadFile::Unsupported(what)))) => {
                self.cannot_tell();
                self.problem(ProblemKind::UnsupportedVersion, Some(offsets_file(*batch)), what.clone());
            }
            Some((batch, Err(bad))) if Some(*batch) == newest.previous() => {
                self.will_not_start();
                let why = if let BadFile::Malformed(why) = bad { why } else { "it holds nothing" };
                let detail = format!("Spark reads it before it goes on after batch {newest}: {why}");
                self.problem(ProblemKind::PredecessorMissing, Some(offsets_file(*batch)), detail);
            }
            _ => {}
        }
        let Some(kind) = missing_predecessor(&self.logs.offsets, &self.logs.commits, newest) else { return };
        let file = newest.previous().map(offsets_file);
        if kind == ProblemKind::PredecessorMissing {
            self.will_not_start();
            self.problem(kind, file, format!("Spark reads it before it goes on after batch {newest}"));
        } else {
            self.cannot_tell();
            let detail = format!(
                "there is none before offsets/{newest}; only a query with asynchronous progress tracking starts so, and \
                 the logs are too short to tell whether it is one"
            );
            self.problem(kind, file, detail);
        }
    }

    /// Which entries decide. `None` when the only entry is committed and can not be read: then nothing tells a position.
    fn layers<'b>(
        &self,
        older: Option<&'b (BatchId, Entry)>,
        previous: Option<&'b (BatchId, Entry)>,
        newest: Option<&'b (BatchId, Entry)>,
        initials: &'b BTreeMap<String, Initial>,
    ) -> Option<Layers<'b>> {
        fn pair(layer: Option<&(BatchId, Entry)>) -> Option<(BatchId, &Entry)> {
            layer.map(|(batch, entry)| (*batch, entry))
        }
        let (older, previous, newest) = (pair(older), pair(previous), pair(newest));
        if !self.logs.open && newest.is_some() {
            return Some(Layers { older: previous, older_counts: true, base: newest, planned: None, initials });
        }
        let base_is_bad = previous.is_none() && self.logs.previous.is_some();
        let committed_is_bad = self.logs.newest.is_some() && !self.logs.open && previous.is_none();
        if base_is_bad || committed_is_bad {
            return None;
        }
        Some(Layers { older, older_counts: false, base: previous, planned: newest, initials })
    }

    fn initials(&self) -> BTreeMap<String, Initial> {
        let parse = |id: &String| {
            let listed_empty = self.listing.sources.get(id).is_some_and(|file| file.size == 0);
            let bytes = self.contents.get(&initial_file(id)).map(Vec::as_slice);
            let bytes = if listed_empty { bytes.or(Some(&[])) } else { bytes };
            bytes.map(|bytes| (id.clone(), initial::parse(bytes)))
        };
        self.listing.sources.keys().filter_map(parse).collect()
    }

    /// Times of batches: the store's, else the driver's clock out of the entries.
    fn note_times(&mut self, entries: [Option<&(BatchId, Entry)>; 3]) {
        let parsed: BTreeMap<BatchId, &Entry> =
            entries.into_iter().flatten().map(|(batch, entry)| (*batch, entry)).collect();
        self.reading.entries =
            parsed.iter().rev().take(2).map(|(batch, entry)| (*batch, entry.fingerprint())).collect();
        self.reading.offset_log_version = parsed.last_key_value().map(|(_, entry)| entry.version);
        let timestamp = |batch: BatchId| parsed.get(&batch).and_then(|entry| entry.batch_timestamp);
        let file_times_lie = self.are_copied(&timestamp);
        if let Some(detail) = &file_times_lie {
            self.problem(ProblemKind::CopiedOrRestored, None, detail.clone());
        }
        let believed = |time: Option<Moment>| time.filter(|_| file_times_lie.is_none());
        let Logs { offsets, commits, newest, committed, .. } = &self.logs;
        let planned_at = |batch: &BatchId| {
            believed(offsets.batches.get(batch).and_then(|file| file.modified)).or_else(|| timestamp(*batch))
        };
        let committed_at = |batch: &BatchId| believed(commits.batches.get(batch).and_then(|file| file.modified));
        let counts = |batch: &BatchId| committed.is_some_and(|last| *batch <= last);
        let mut ids: Vec<BatchId> = offsets.batches.keys().chain(commits.batches.keys()).copied().collect();
        ids.sort_unstable();
        ids.dedup();
        let batches = ids.iter().map(|batch| BatchTimes {
            batch: *batch,
            planned_at: planned_at(batch),
            committed_at: committed_at(batch).filter(|_| counts(batch)),
        });
        self.reading.batches = batches.collect();
        self.reading.planned_at = newest.as_ref().and_then(planned_at);
        self.reading.batch_timestamp = newest.and_then(timestamp);
        self.reading.last_commit_at = committed.and_then(|batch| committed_at(&batch).or_else(|| timestamp(batch)));
    }

    /// Whether file times were lost on the way: a copy writes within seconds what took minutes to come about, or
    /// leaves files older than the batch that they hold.
    fn are_copied(&self, timestamp: &dyn Fn(BatchId) -> Option<Moment>) -> Option<String> {
        const MINUTE: i64 = 60_000;
        const SECONDS: i64 = 5_000;
        let times = |batch: Option<BatchId>| {
            let batch = batch?;
            let file = self.logs.offsets.batches.get(&batch)?.modified?.millis();
            Some((batch, file, timestamp(batch)?.millis()))
        };
        let (newest, file, batch_time) = times(self.logs.newest)?;
        if file.saturating_add(MINUTE) < batch_time {
            return Some(format!("offsets/{newest} is older than the batch that it holds; its own timestamp is used"));
        }
        let (previous, file_before, batch_time_before) = times(self.logs.previous)?;
        let (files, batches) = (file.saturating_sub(file_before), batch_time.saturating_sub(batch_time_before));
        (files < SECONDS && batches > MINUTE).then(|| {
            format!(
                "offsets/{previous} and offsets/{newest} were written together, but their batches lie {} s apart; \
                 their own timestamps are used",
                batches / 1000
            )
        })
    }

    fn take(&mut self, found: Found) {
        if found.initial_bad {
            self.will_not_start();
        }
        let below = |problem: &Problem| problem.kind == ProblemKind::PlannedBelowCommitted;
        if found.problems.iter().any(below) {
            // with failOnDataLoss it fails each time, without it goes on; the files do not say which
            self.cannot_tell();
        }
        self.reading.problems.extend(found.problems);
        self.reading.sources = found.sources;
        let kafka = self.reading.sources.iter().filter(|source| source.kind == SourceKind::Kafka);
        let written =
            |source: &super::SourceReading| self.listing.sources.get(&source.id).and_then(|file| file.modified);
        self.reading.started_at = kafka.filter_map(written).min();
        let others = |source: &super::SourceReading| source.kind == SourceKind::Other;
        if !self.reading.sources.is_empty() && self.reading.sources.iter().all(others) {
            self.problem(ProblemKind::NoKafkaSource, None, "no source has an offset shaped like Kafka's");
        }
        self.reading.problems.sort_by(|one, other| (one.kind, &one.file).cmp(&(other.kind, &other.file)));
    }

    fn problem(&mut self, kind: ProblemKind, file: Option<String>, detail: impl Into<String>) {
        self.reading.problems.push(Problem { kind, file, detail: detail.into() });
    }

    fn will_not_start(&mut self) {
        self.reading.restartable = Some(false);
    }

    fn cannot_tell(&mut self) {
        if self.reading.restartable == Some(true) {
            self.reading.restartable = None;
        }
    }
}

fn both_positional(one: &Entry, other: &Entry) -> bool {
    one.version == 1 && other.version == 1
}

/// Why the newest entry can not be whole, given the one before.
fn contradiction(newest: &Entry, before: BatchId, previous: &Entry) -> Option<String> {
    if both_positional(newest, previous) && newest.lines.len() < previous.lines.len() {
        let (now, then) = (newest.lines.len(), previous.lines.len());
        return Some(format!("{now} sources, and {then} in offsets/{before}: it is cut short"));
    }
    if newest.version != previous.version {
        return None;
    }
    let lost_its_shape =
        |(id, line): &&(String, Line)| *line == Line::Other && matches!(previous.line(id), Some(Line::Kafka(_)));
    newest
        .lines
        .iter()
        .find(lost_its_shape)
        .map(|(id, _)| format!("source {id} has no Kafka offset here, and one in offsets/{before}"))
}
