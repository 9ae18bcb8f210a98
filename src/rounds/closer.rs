//! A closer look where the verdict needs one: how old is what comes next, and when were older positions reached.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::future::{join, join_all};

use super::checkpoints::CheckpointPoll;
use super::state::ClusterState;
use super::targets::{ClusterTarget, QueryTarget};
use crate::checkpoint::OlderEntry;
use crate::judgement::{Entry, Questions};
use crate::measures::{BatchId, Offset, TopicPartition};
use crate::readers::AgeRequest;
use crate::retention::ClusterReading;

/// Look-ups by time, for those partitions alone that have something unread; and older entries of those checkpoints
/// alone that would be judged worse without. Answers with the entries, by place of the query among the targets.
pub(super) async fn look(
    target: &ClusterTarget,
    state: &ClusterState,
    asked: Vec<(usize, Questions)>,
    checkpoints: &[CheckpointPoll],
    cluster: &mut ClusterReading,
    deadline: Duration,
) -> BTreeMap<usize, Vec<Entry>> {
    let mut wanted: Vec<(TopicPartition, Offset)> = Vec::new();
    let mut histories: Vec<(usize, Vec<BatchId>)> = Vec::new();
    for (at, asked) in asked {
        wanted.extend(asked.ages);
        if !asked.history.is_empty() {
            histories.push((at, asked.history));
        }
    }
    wanted.sort();
    wanted.dedup();
    let requests: Vec<AgeRequest> =
        wanted.into_iter().filter_map(|(partition, committed)| AgeRequest::of(cluster, partition, committed)).collect();
    let ages = async {
        if requests.is_empty() {
            return BTreeMap::new();
        }
        target.brokers.ages(&requests, state.clock.now(), deadline).await
    };
    let entries = join_all(histories.into_iter().map(|(at, batches)| async move {
        (at, history(target.queries.get(at), checkpoints.get(at), &batches, deadline).await)
    }));
    let (ages, entries) = join(ages, entries).await;
    cluster.ages = ages;
    entries.into_iter().collect()
}

/// What is not read in time stays unknown, and the verdict as careful as it is without.
async fn history(
    query: Option<&QueryTarget>,
    poll: Option<&CheckpointPoll>,
    batches: &[BatchId],
    deadline: Duration,
) -> Vec<Entry> {
    let (Some(query), Some(Ok(reading))) = (query, poll.map(|poll| poll.outcome.as_ref())) else { return Vec::new() };
    let found = query.checkpoint.older(batches, deadline).await;
    let times = reading.batches.iter().filter_map(|times| Some((times, found.get(&times.batch)?)));
    let entry = |(times, older): (&crate::checkpoint::BatchTimes, &OlderEntry)| Entry {
        batch: times.batch,
        planned_at: times.planned_at,
        committed_at: times.committed_at,
        timestamp: older.timestamp,
        positions: positions(query, older),
    };
    times.map(entry).collect()
}

/// Of the sources that read this cluster; where several read one partition, the one that is furthest behind counts.
fn positions(query: &QueryTarget, older: &OlderEntry) -> BTreeMap<TopicPartition, Offset> {
    let ids: BTreeSet<String> = older.sources.iter().map(|source| source.id.clone()).collect();
    let mut positions: BTreeMap<TopicPartition, Offset> = BTreeMap::new();
    for source in older.sources.iter().filter(|source| query.sources.keeps(&source.id, source.index, &ids)) {
        for (at, offset) in &source.positions {
            positions.entry(at.clone()).and_modify(|known| *known = (*known).min(*offset)).or_insert(*offset);
        }
    }
    positions
}
