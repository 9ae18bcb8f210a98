//! What the two logs together say when the entry before the newest one is missing.

use super::names::Log;
use super::reading::ProblemKind;
use crate::measures::BatchId;

/// Why `offsets/N−1` is missing: `None` when it is there, or when both logs show a query with asynchronous progress
/// tracking, which writes only about one batch a second to either.
pub(super) fn missing_predecessor(offsets: &Log<'_>, commits: &Log<'_>, newest: BatchId) -> Option<ProblemKind> {
    let before = newest.previous()?;
    if offsets.batches.contains_key(&before) || skips_batches(offsets, commits, before) {
        return None;
    }
    if commits.batches.contains_key(&before) || (commits.batches.len() >= 2 && is_contiguous(commits)) {
        return Some(ProblemKind::PredecessorMissing);
    }
    Some(ProblemKind::GapInBatches)
}

/// Whether the same ids are missing from both logs, below the gap in question: damage hits one log, skipping hits both.
fn skips_batches(offsets: &Log<'_>, commits: &Log<'_>, below: BatchId) -> bool {
    let (Some((first_offset, _)), Some((first_commit, _)), Some(last_commit)) =
        (offsets.batches.first_key_value(), commits.batches.first_key_value(), commits.newest())
    else {
        return false;
    };
    let first = *first_offset.max(first_commit);
    let last = last_commit.min(below.previous().unwrap_or(below));
    if first > last {
        return false;
    }
    let planned = || offsets.batches.range(first..=last).map(|(id, _)| id);
    let present = u64::try_from(planned().count()).unwrap_or(u64::MAX);
    present <= last.0 - first.0 && planned().eq(commits.batches.range(first..=last).map(|(id, _)| id))
}

fn is_contiguous(log: &Log<'_>) -> bool {
    let (Some((first, _)), Some(last)) = (log.batches.first_key_value(), log.newest()) else { return false };
    u64::try_from(log.batches.len()).is_ok_and(|present| present - 1 == last.0 - first.0)
}
