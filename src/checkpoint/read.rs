//! The resume rule: from what was listed and fetched to where a restart would begin.

use std::collections::BTreeMap;

use super::commit_log;
use super::findings::Findings;
use super::history::missing_predecessor;
use super::initial::{self, Initial};
use super::kafka::{Line, Tally};
use super::logs::Logs;
use super::metadata;
use super::offset_log::{self, Entry};
use super::reading::{CheckpointReading, Listing, Problem, ProblemKind, SourceKind};
use super::sources::{self, Found, Layers, initial_file, offsets_file};
use super::text::BadFile;
use super::times;
use crate::measures::BatchId;

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

struct Reader<'a> {
    listing: &'a Listing,
    contents: &'a BTreeMap<String, Vec<u8>>,
    logs: Logs<'a>,
    reading: CheckpointReading,
    findings: Findings,
}

impl<'a> Reader<'a> {
    fn new(listing: &'a Listing, contents: &'a BTreeMap<String, Vec<u8>>) -> Self {
        let logs = Logs::of(listing, contents);
        Self { listing, contents, logs, reading: CheckpointReading::default(), findings: Findings::default() }
    }

    /// The reading, and whether it depends on initial offsets.
    fn read(mut self) -> (CheckpointReading, bool) {
        self.read_metadata();
        self.logs.check(self.contents, &mut self.findings);
        let Logs { newest, committed, open, .. } = self.logs;
        (self.reading.newest_planned, self.reading.newest_committed, self.reading.batch_open) =
            (newest, committed, open);
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
        times::note(&mut self.reading, &self.logs, entries, &mut self.findings);

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
            self.findings.cannot_tell();
            let detail = "Spark 4.2 and later refuse to start without it; older ones go on under a new query id";
            self.findings.problem(ProblemKind::MetadataMissing, Some("metadata".to_owned()), detail);
            return;
        }
        let bytes = self.contents.get("metadata").map(Vec::as_slice).unwrap_or_default();
        match metadata::query_id(bytes) {
            Ok(id) => self.reading.query_id = Some(id),
            Err(why) => {
                self.findings.will_not_start();
                self.findings.problem(ProblemKind::MetadataMalformed, Some("metadata".to_owned()), why);
            }
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
                    self.findings.will_not_start();
                    let (now, then) = (entry.lines.len(), previous.lines.len());
                    let detail =
                        format!("{now} sources, and {then} in offsets/{before}; Spark wants as many as the query has");
                    self.findings.problem(ProblemKind::SourceCountChanged, file, detail);
                }
            }
            Err(BadFile::Empty) => {
                self.findings.will_not_start();
                let detail = "the newest offsets file holds nothing; Spark stops at an incomplete log file";
                self.findings.problem(ProblemKind::NewestOffsetsEmpty, file, detail);
            }
            Err(BadFile::Malformed(why)) => {
                self.findings.will_not_start();
                self.findings.problem(ProblemKind::NewestOffsetsMalformed, file, why.clone());
            }
            Err(BadFile::Doubtful(why)) => {
                self.findings.cannot_tell();
                self.findings.problem(ProblemKind::NewestOffsetsMalformed, file, why.clone());
            }
            Err(BadFile::Unsupported(what)) => {
                self.findings.cannot_tell();
                self.findings.problem(ProblemKind::UnsupportedVersion, file, what.clone());
            }
        }
        entry
    }

    /// Spark reads the entry before the newest one as well, even when the newest batch is committed.
    fn check_predecessor(&mut self, previous: Option<&(BatchId, Result<Entry, BadFile>)>) {
        let Some(newest) = self.logs.newest else { return };
        match previous {
            Some((batch, Err(BadFile::Unsupported(what)))) => {
                self.findings.cannot_tell();
                self.findings.problem(ProblemKind::UnsupportedVersion, Some(offsets_file(*batch)), what.clone());
            }
            Some((batch, Err(bad))) if Some(*batch) == newest.previous() => {
                if let BadFile::Doubtful(_) = bad {
                    self.findings.cannot_tell()
                } else {
                    self.findings.will_not_start()
                }
                let why = match bad {
                    BadFile::Malformed(why) | BadFile::Doubtful(why) => why,
                    _ => "it holds nothing",
                };
                let detail = format!("Spark reads it before it goes on after batch {newest}: {why}");
                self.findings.problem(ProblemKind::PredecessorMissing, Some(offsets_file(*batch)), detail);
            }
            _ => {}
        }
        let Some(kind) = missing_predecessor(&self.logs.offsets, &self.logs.commits, newest) else { return };
        let file = newest.previous().map(offsets_file);
        if kind == ProblemKind::PredecessorMissing {
            self.findings.will_not_start();
            self.findings.problem(kind, file, format!("Spark reads it before it goes on after batch {newest}"));
        } else {
            self.findings.cannot_tell();
            let detail = format!(
                "there is none before offsets/{newest}; only a query with asynchronous progress tracking starts so, and \
                 the logs are too short to tell whether it is one"
            );
            self.findings.problem(kind, file, detail);
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
        let mut tally = Tally::default();
        let parse = |id: &String| {
            let listed_empty = self.listing.sources.get(id).is_some_and(|file| file.size == 0);
            let bytes = self.contents.get(&initial_file(id)).map(Vec::as_slice);
            let bytes = if listed_empty { bytes.or(Some(&[])) } else { bytes };
            bytes.map(|bytes| (id.clone(), initial::parse(bytes, &mut tally)))
        };
        self.listing.sources.keys().filter_map(parse).collect()
    }

    fn take(&mut self, found: Found) {
        if found.initial_bad {
            self.findings.will_not_start();
        }
        let is_doubtful = |problem: &Problem| match problem.kind {
            // with failOnDataLoss it fails each time, without it goes on; the files do not say which
            ProblemKind::PlannedBelowCommitted => true,
            // unless it is bad for sure
            ProblemKind::InitialOffsetsMalformed | ProblemKind::UnsupportedVersion => true,
            _ => false,
        };
        if found.problems.iter().any(is_doubtful) {
            self.findings.cannot_tell();
        }
        self.findings.problems.extend(found.problems);
        self.reading.sources = found.sources;
        let kafka = self.reading.sources.iter().filter(|source| source.kind == SourceKind::Kafka);
        let written =
            |source: &super::SourceReading| self.listing.sources.get(&source.id).and_then(|file| file.modified);
        self.reading.started_at = kafka.filter_map(written).min();
        let others = |source: &super::SourceReading| source.kind == SourceKind::Other;
        if !self.reading.sources.is_empty() && self.reading.sources.iter().all(others) {
            self.findings.problem(ProblemKind::NoKafkaSource, None, "no source has an offset shaped like Kafka's");
        }
        let Findings { mut problems, restartable } = std::mem::take(&mut self.findings);
        problems.sort_by(|one, other| (one.kind, &one.file).cmp(&(other.kind, &other.file)));
        (self.reading.problems, self.reading.restartable) = (problems, restartable);
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
    if newest.lines.is_empty() && !previous.lines.is_empty() {
        return Some(format!("no offset of any source, and some in offsets/{before}: it is cut short"));
    }
    let lost_its_shape =
        |(id, line): &&(String, Line)| *line == Line::Other && matches!(previous.line(id), Some(Line::Kafka(_)));
    newest
        .lines
        .iter()
        .find(lost_its_shape)
        .map(|(id, _)| format!("source {id} has no Kafka offset here, and one in offsets/{before}"))
}
