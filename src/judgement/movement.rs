//! How the positions moved since the last look, and what that says.

use super::lineage::positions;
use super::memory::{CheckpointMemory, PartitionMemory, QueryMemory};
use super::needs::{Need, Needs, Origin};
use super::notes::Notes;
use super::states::EventKind;
use crate::checkpoint::CheckpointReading;
use crate::measures::{BatchId, Offset, TopicPartition};

/// A rise so many times the largest batch before it was no reading.
const JUMP: u64 = 10;
/// So many batches must be known before their size says anything.
const KNOWN_BATCHES: u64 = 3;

/// Notes every movement of the positions that means something. Returns whether any committed offset changed.
pub(super) fn observe(reading: &CheckpointReading, needs: &Needs, memory: &mut QueryMemory, notes: &mut Notes) -> bool {
    let Some(before) = memory.checkpoint.clone() else { return false };
    let kept = positions(memory);
    let mismatched = memory.mismatch.is_some();
    let passed = batches_between(&before, reading);
    rewritten(reading, &before, notes);
    let mut changed = false;
    for (topic, partitions) in needs {
        let Some(known) = memory.topics.get_mut(topic) else { continue };
        for (partition, need) in partitions {
            let Some(one) = known.partitions.get_mut(partition) else { continue };
            let at = TopicPartition::new(topic, *partition);
            changed |= need.committed != one.committed;
            step(&at, need, one, passed, mismatched, notes);
        }
    }
    if changed && reading.newest_planned < before.newest_planned {
        let words = |batch: Option<BatchId>| batch.map_or_else(|| "none".to_owned(), |id| id.to_string());
        notes.query(
            EventKind::CheckpointReplaced,
            format!(
                "the newest batch fell from {} to {} under the same query id, and positions changed",
                words(before.newest_planned),
                words(reading.newest_planned)
            ),
        );
        notes.keep_positions(kept);
    }
    changed
}

/// A batch that is known says other positions than before: a second driver, or a hand.
fn rewritten(reading: &CheckpointReading, before: &CheckpointMemory, notes: &mut Notes) {
    for (batch, hash) in &reading.entries {
        if before.entries.get(batch).is_some_and(|known| known != hash) {
            notes.query(EventKind::OffsetsRewritten, format!("offsets/{batch} says other positions than before"));
        }
    }
}

/// What one partition's position did.
fn step(at: &TopicPartition, need: &Need, one: &mut PartitionMemory, passed: u64, mismatched: bool, notes: &mut Notes) {
    let Some(now) = need.committed else { return };
    if one.dropped && need.origin == Origin::Entry {
        let detail = format!("left out of an earlier batch, and read again from {now}");
        notes.partition(EventKind::PartitionsRestartedFromEarliest, at, &detail);
    }
    if let Some((from, to)) = one.certain.filter(|(from, _)| now > *from) {
        let detail = format!("a batch was committed up to {now} although [{from}, {to}) was lost");
        notes.partition(EventKind::ContinuedPastLoss, at, &detail);
        one.certain = None;
    }
    let Some(was) = one.committed else { return };
    if now < was {
        notes.partition(EventKind::PositionMovedBack, at, &format!("from {was} to {now}"));
        return;
    }
    let risen = now.above(was);
    if risen == 0 {
        return;
    }
    let (count, largest) = one.batches;
    let too_far = count >= KNOWN_BATCHES && risen > largest.saturating_mul(JUMP).saturating_mul(passed);
    if one.latch.is_none() && !mismatched && (too_far || from_lost_to_the_end(one, was, now)) {
        notes.partition(EventKind::PositionJumped, at, &format!("from {was} to {now}, {risen} offsets at once"));
    }
    one.batches = (count.saturating_add(passed), largest.max(risen.div_ceil(passed)));
}

fn from_lost_to_the_end(one: &PartitionMemory, was: Offset, now: Offset) -> bool {
    one.earliest.is_some_and(|earliest| was < earliest) && one.latest.is_some_and(|latest| now >= latest)
}

/// How many batches were committed since the last look: at least one, since a position moved.
fn batches_between(before: &CheckpointMemory, reading: &CheckpointReading) -> u64 {
    match (before.newest_committed, reading.newest_committed) {
        (Some(before), Some(now)) => now.0.saturating_sub(before.0).max(1),
        (None, Some(now)) => now.0.saturating_add(1),
        _ => 1,
    }
}
