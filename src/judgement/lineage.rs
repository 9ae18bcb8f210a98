//! Whether the checkpoint is still the same one, and which of its oddities are believed.

use std::collections::{BTreeMap, BTreeSet};

use super::memory::{CheckpointMemory, QueryMemory, Replaced, TopicMemory};
use super::notes::Notes;
use super::states::EventKind;
use crate::checkpoint::{CheckpointReading, Problem, ProblemKind};
use crate::measures::{Moment, Offset, TopicName, TopicPartition};

/// A checkpoint with another query id is another lineage: positions, doubts and latches of the old one say nothing of
/// it. What was lost and what happened stays counted.
pub(super) fn follow(reading: &CheckpointReading, memory: &mut QueryMemory, notes: &mut Notes) -> bool {
    let Some(known) = &memory.checkpoint else { return false };
    let (Some(before), Some(now)) = (&known.query_id, &reading.query_id) else { return false };
    if before == now {
        return false;
    }
    let batch = known.newest_planned.map_or_else(|| "none".to_owned(), |batch| batch.to_string());
    notes.query(
        EventKind::CheckpointReplaced,
        format!("query id {before} (newest batch {batch}) was replaced by {now}; the last positions are kept here"),
    );
    notes.keep_positions(positions(memory));
    let replaced = Replaced {
        query_id: known.query_id.clone(),
        read_at: known.read_at,
        last_commit_at: known.last_commit_at,
        positions: memory.positions(),
    };
    let topics = memory.topics.iter().map(|(name, topic)| {
        let totals = TopicMemory {
            lost_total: topic.lost_total.clone(),
            last_loss_at: topic.last_loss_at.clone(),
            ..TopicMemory::default()
        };
        (TopicName::clone(name), totals)
    });
    *memory = QueryMemory {
        topics: topics.filter(|(_, topic)| !topic.lost_total.is_empty()).collect(),
        replaced: Some(replaced),
        event_totals: std::mem::take(&mut memory.event_totals),
        ..QueryMemory::default()
    };
    true
}

/// The last known committed offsets.
pub(super) fn positions(memory: &QueryMemory) -> BTreeMap<TopicPartition, Offset> {
    let partitions = memory
        .topics
        .iter()
        .flat_map(|(topic, known)| known.partitions.iter().map(move |(partition, one)| (topic, *partition, one)));
    partitions
        .filter_map(|(topic, partition, one)| Some((TopicPartition::new(topic, partition), one.committed?)))
        .collect()
}

/// A newest file that does not parse may be in the middle of being written: it is believed when seen in two rounds
/// running. Until then it is no problem, and whether Spark would start is not known.
pub(super) fn remember(reading: &CheckpointReading, now: Moment, memory: &mut QueryMemory) {
    let file = |problem: &Problem| problem.file.clone().unwrap_or_else(|| problem.kind.label().to_owned());
    let (torn, sound): (Vec<_>, Vec<_>) =
        reading.problems.iter().cloned().partition(|problem| may_be_in_writing(problem.kind));
    let believed = |problem: &Problem| memory.torn_files.contains(&file(problem));
    let doubted = torn.iter().any(|problem| !believed(problem));
    let mut problems: Vec<Problem> = torn.iter().filter(|problem| believed(problem)).cloned().collect();
    problems.extend(sound);
    let fatal_besides = problems.iter().any(|problem| blocks_a_restart(problem.kind));
    let restartable = reading.restartable.filter(|starts| *starts || !doubted || fatal_besides);
    memory.torn_files = torn.iter().map(file).collect::<BTreeSet<_>>();

    memory.open_batch = match (reading.batch_open, reading.newest_planned) {
        (true, Some(batch)) => {
            let known = memory.open_batch.filter(|(known, _)| *known == batch);
            Some(known.unwrap_or((batch, now)))
        }
        _ => None,
    };
    let first_seen = memory.open_batch.map(|(_, at)| at);
    memory.checkpoint = Some(CheckpointMemory {
        query_id: reading.query_id.clone().or_else(|| memory.checkpoint.as_ref()?.query_id.clone()),
        read_at: now,
        newest_planned: reading.newest_planned,
        newest_committed: reading.newest_committed,
        offset_log_version: reading.offset_log_version,
        restartable,
        last_commit_at: reading.last_commit_at,
        open_batch_at: first_seen.map(|seen| reading.planned_at.or(reading.batch_timestamp).unwrap_or(seen)),
        entries: reading.entries.clone(),
        batch_open: reading.batch_open,
        problems,
    });
}

const fn may_be_in_writing(kind: ProblemKind) -> bool {
    matches!(
        kind,
        ProblemKind::NewestOffsetsEmpty | ProblemKind::NewestOffsetsMalformed | ProblemKind::NewestCommitEmpty
    )
}

const fn blocks_a_restart(kind: ProblemKind) -> bool {
    matches!(
        kind,
        ProblemKind::CommitLogAhead
            | ProblemKind::OffsetsLost
            | ProblemKind::PredecessorMissing
            | ProblemKind::UnsupportedVersion
            | ProblemKind::MetadataMissing
            | ProblemKind::MetadataMalformed
            | ProblemKind::NoncanonicalBatchName
            | ProblemKind::InitialOffsetsMalformed
            | ProblemKind::NewestOffsetsEmpty
            | ProblemKind::NewestOffsetsMalformed
            | ProblemKind::NewestCommitEmpty
    )
}
