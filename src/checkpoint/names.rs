//! File names of the two logs. Spark takes a name for a batch when it parses as a 64-bit number, and then looks for
//! the canonical name of that number: so `005` is worse than a stray file.

use std::collections::BTreeMap;

use super::reading::LogEntry;
use crate::measures::BatchId;

/// One log's directory, sorted out. Temporary files, checksums and other strays are left out.
#[derive(Clone, Debug, Default)]
pub(super) struct Log<'a> {
    /// The batches, by number: object stores list `10` before `9`.
    pub(super) batches: BTreeMap<BatchId, &'a LogEntry>,
    /// Names that Spark takes for a batch and will not find.
    pub(super) odd: Vec<OddName<'a>>,
}

/// A name that parses as a number but is not how Spark writes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct OddName<'a> {
    /// As found.
    pub(super) name: &'a str,
    /// The number that Spark takes it for.
    pub(super) number: i64,
}

impl<'a> Log<'a> {
    /// Sorts out the files of one log.
    pub(super) fn of(entries: &'a [LogEntry]) -> Self {
        let mut log = Self::default();
        for entry in entries {
            let Ok(number) = entry.name.parse::<i64>() else { continue };
            match u64::try_from(number) {
                Ok(id) if id.to_string() == entry.name => {
                    log.batches.insert(BatchId(id), entry);
                }
                _ => log.odd.push(OddName { name: &entry.name, number }),
            }
        }
        log.odd.sort_by_key(|odd| odd.name);
        log
    }

    /// The highest batch.
    pub(super) fn newest(&self) -> Option<BatchId> {
        self.batches.keys().next_back().copied()
    }

    /// The next lower batch that exists.
    pub(super) fn before(&self, batch: BatchId) -> Option<BatchId> {
        self.batches.range(..batch).next_back().map(|(id, _)| *id)
    }

    /// An odd name that Spark would take for the newest batch; it then looks for the canonical name and does not start.
    pub(super) fn odd_newest(&self) -> Option<&OddName<'a>> {
        let newest = self.newest().and_then(|id| i64::try_from(id.0).ok()).unwrap_or(-1);
        self.odd.iter().find(|odd| odd.number > newest)
    }
}
