//! What is remembered of a checkpoint from one reading to the next, to spare its store requests. It never changes what
//! is read: a file is taken from memory only under the tag that the store gives it now, and a whole reading only while
//! two small requests show that nothing happened.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::shared::jittered;
use crate::checkpoint::{CheckpointReading, LogEntry};

/// After this time the logs are listed again, whatever the small requests show.
const LISTED_AT_LEAST_EVERY: Duration = Duration::from_secs(600);
/// So many quiet readings, and the logs are listed for the first time after something happened.
const FIRST_PATIENCE: u32 = 2;
/// With fewer batches one can not tell that a log has no gaps.
const FEWEST_BATCHES: usize = 3;

/// What is remembered of one checkpoint.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub(super) files: BTreeMap<String, KeptFile>,
    pub(super) standstill: Option<Standstill>,
    /// The query, by its id, that was seen to leave batches out.
    leaves_out: Option<Option<String>>,
}

impl Memory {
    /// Remembers a reading and what would show that it is over. A query that was once seen to leave batches out may do
    /// so again when nothing in a short log tells of it any more.
    pub(super) fn note(&mut self, reading: &CheckpointReading, something_vanished: bool) {
        if self.leaves_out.as_ref().is_some_and(|query| *query != reading.query_id) {
            self.leaves_out = None;
        }
        if !leaves_none_out(reading) {
            self.leaves_out = Some(reading.query_id.clone());
        }
        let before = self.standstill.take().filter(|before| before.reading == *reading);
        if something_vanished || self.leaves_out.is_some() {
            return;
        }
        // as it came with the file: listings write tags in other ways, which a condition may not know
        let tag_of = |file: &str| self.files.get(file).map(|kept| kept.e_tag.clone());
        self.standstill = Standstill::of(reading, tag_of);
        if let (Some(still), Some(before)) = (&mut self.standstill, before) {
            still.patience = before.patience.saturating_mul(2);
        }
    }
}

fn leaves_none_out(reading: &CheckpointReading) -> bool {
    reading.batches.is_sorted_by(|a, b| b.batch.0.checked_sub(a.batch.0) == Some(1))
}

/// A file as it was.
#[derive(Clone, Debug)]
pub(super) struct KeptFile {
    pub(super) e_tag: String,
    pub(super) entry: LogEntry,
    pub(super) bytes: Bytes,
}

/// A reading that stays right as long as some files are as they were and another one is not there.
#[derive(Clone, Debug)]
pub(super) struct Standstill {
    pub(super) reading: CheckpointReading,
    /// Each with its tag. They are looked at in turn, one at each reading: whoever edits a log by hand is noticed at
    /// the second reading at the latest.
    steady: [(String, String); 2],
    turn: usize,
    pub(super) absent: String,
    /// How many readings have shown nothing new since the logs were listed, and after how many they are listed again.
    quiet: u32,
    patience: u32,
    until: Instant,
}

impl Standstill {
    /// Whether it may still be asked for. Asynchronous progress may leave a batch out for the first time, and then the
    /// next file is another one than the absent one: so the logs are listed after two quiet readings, four more, eight more.
    pub(super) fn is_fresh(&self) -> bool {
        Instant::now() < self.until && self.quiet < self.patience
    }

    /// The file whose turn it is, and its tag.
    pub(super) fn steady(&self) -> (&str, &str) {
        let [first, second] = &self.steady;
        let (file, e_tag) = if self.turn == 0 { first } else { second };
        (file, e_tag)
    }

    /// The other file's turn.
    pub(super) fn turned(self) -> Self {
        Self { turn: 1 - self.turn, quiet: self.quiet.saturating_add(1), ..self }
    }

    /// What would show that the query moved on. The next thing a query without asynchronous progress does is known: it
    /// commits the open batch, or plans the next one. Of one that leaves batches out nobody knows the next number.
    fn of(reading: &CheckpointReading, e_tag: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let newest = reading.newest_planned?;
        let is_whole = reading.problems.is_empty() && reading.batches.len() >= FEWEST_BATCHES;
        if !is_whole {
            return None;
        }
        let (steady, absent) = if !reading.batch_open {
            // the commit, and the positions that count by it
            (
                [format!("commits/{newest}"), format!("offsets/{newest}")],
                format!("offsets/{}", newest.0.checked_add(1)?),
            )
        } else if reading.newest_committed == newest.previous() {
            // the plan, and the positions that count until it is committed
            ([newest, newest.previous()?].map(|batch| format!("offsets/{batch}")), format!("commits/{newest}"))
        } else {
            return None;
        };
        let tagged = |file: String| Some((file.clone(), e_tag(&file)?));
        let [first, second] = steady.map(tagged);
        let until = Instant::now() + jittered(LISTED_AT_LEAST_EVERY);
        Some(Self {
            reading: reading.clone(),
            steady: [first?, second?],
            turn: 0,
            absent,
            quiet: 0,
            patience: FIRST_PATIENCE,
            until,
        })
    }
}
