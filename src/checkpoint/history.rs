//! What the two logs together say when the entry before the newest one is missing.

use super::names::Log;
use super::reading::ProblemKind;
use crate::measures::BatchId;

/// So many batches before the newest one are never cleaned away, at the least that anybody lets Spark keep
/// (`minBatchesToRetain` is 100 by default).
const NEVER_CLEANED: u64 = 3;

/// Why `offsets/N−1` is missing: `None` when it is there, or when both logs show a query with asynchronous progress
/// tracking, which writes only about one batch a second to either.
///
/// Such a query commits only what it has written, so a commit without its entry is damage. Nothing else is: where batches
/// take about as long as the interval, several stand in a row in both logs before one is left out. Of older commits the
/// entries may just have been deleted, since Spark cleans one log after the other.
pub(super) fn missing_predecessor(offsets: &Log<'_>, commits: &Log<'_>, newest: BatchId) -> Option<ProblemKind> {
    let before = newest.previous()?;
    if offsets.batches.contains_key(&before) || skips_batches(offsets, commits, before) {
        return None;
    }
    let young = BatchId(newest.0.saturating_sub(NEVER_CLEANED))..newest;
    let is_damaged = commits.batches.range(young).any(|(id, _)| !offsets.batches.contains_key(id));
    Some(if is_damaged { ProblemKind::PredecessorMissing } else { ProblemKind::GapInBatches })
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
