//! When batches were planned and committed.

use std::collections::BTreeMap;

use super::findings::Findings;
use super::logs::Logs;
use super::offset_log::Entry;
use super::reading::{BatchTimes, CheckpointReading, ProblemKind};
use crate::measures::{BatchId, Moment};

/// Times of batches: the store's, else the driver's clock out of the entries.
pub(super) fn note(
    reading: &mut CheckpointReading,
    logs: &Logs<'_>,
    entries: [Option<&(BatchId, Entry)>; 3],
    findings: &mut Findings,
) {
    let parsed: BTreeMap<BatchId, &Entry> =
        entries.into_iter().flatten().map(|(batch, entry)| (*batch, entry)).collect();
    reading.entries = parsed.iter().rev().take(2).map(|(batch, entry)| (*batch, entry.fingerprint())).collect();
    reading.offset_log_version = parsed.last_key_value().map(|(_, entry)| entry.version);
    let timestamp = |batch: BatchId| parsed.get(&batch).and_then(|entry| entry.batch_timestamp);
    let file_times_lie = copied(logs, &timestamp);
    if let Some(detail) = &file_times_lie {
        findings.problem(ProblemKind::CopiedOrRestored, None, detail.clone());
    }
    let believed = |time: Option<Moment>| time.filter(|_| file_times_lie.is_none());
    let Logs { offsets, commits, newest, committed, .. } = logs;
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
    reading.batches = batches.collect();
    reading.planned_at = newest.as_ref().and_then(planned_at);
    reading.batch_timestamp = newest.and_then(timestamp);
    reading.last_commit_at = committed.and_then(|batch| committed_at(&batch).or_else(|| timestamp(batch)));
}

/// Whether file times were lost on the way: a copy writes within seconds what took minutes to come about, or
/// leaves files older than the batch that they hold.
fn copied(logs: &Logs<'_>, timestamp: &dyn Fn(BatchId) -> Option<Moment>) -> Option<String> {
    const MINUTE: i64 = 60_000;
    const SECONDS: i64 = 5_000;
    let times = |batch: Option<BatchId>| {
        let batch = batch?;
        let file = logs.offsets.batches.get(&batch)?.modified?.millis();
        Some((batch, file, timestamp(batch)?.millis()))
    };
    let (newest, file, batch_time) = times(logs.newest)?;
    if file.saturating_add(MINUTE) < batch_time {
        return Some(format!("offsets/{newest} is older than the batch that it holds; its own timestamp is used"));
    }
    let (previous, file_before, batch_time_before) = times(logs.previous)?;
    let (files, batches) = (file.saturating_sub(file_before), batch_time.saturating_sub(batch_time_before));
    (files < SECONDS && batches > MINUTE).then(|| {
        format!(
            "offsets/{previous} and offsets/{newest} were written together, but their batches lie {} s apart; \
             their own timestamps are used",
            batches / 1000
        )
    })
}
