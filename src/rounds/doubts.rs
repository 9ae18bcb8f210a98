//! A doubt is checked before it is spoken: what would be said of a query is held against a second look at its checkpoint
//! and at the log's end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use super::checkpoints::{CheckpointPoll, read_all};
use super::state::ClusterState;
use super::targets::{ClusterTarget, QueryTarget};
use crate::judgement::{Doubts, Questions};
use crate::measures::{Offset, TopicPartition, Unread};
use crate::retention::{ClusterReading, TopicSight};

/// Doubts that no second look settled, and why none did; by place of the query among the targets.
pub(super) type Unsettled = BTreeMap<usize, (Doubts, Unread)>;

/// Reads checkpoints again whose committed offset below earliest may only mean that the query moved on between the two
/// reads. Answers which of these second looks failed; `None` when nothing was in doubt.
pub(super) async fn read_again(
    target: &ClusterTarget,
    state: &ClusterState,
    places: &Arc<Semaphore>,
    asked: &[(usize, Questions)],
    checkpoints: &mut [CheckpointPoll],
    deadline: Duration,
) -> Option<BTreeMap<usize, Unread>> {
    let doubted: Vec<usize> = asked.iter().filter(|(_, asked)| asked.reread_checkpoint).map(|(at, _)| *at).collect();
    if doubted.is_empty() {
        return None;
    }
    let again: Vec<&QueryTarget> = doubted.iter().map(|at| &target.queries[*at]).collect();
    let mut failed = BTreeMap::new();
    for (at, second) in doubted.into_iter().zip(read_all(&again, places, deadline, &state.clock).await) {
        match &second.outcome {
            Ok(_) => checkpoints[at] = second,
            // The first one was good, and stands for all that it does not have to settle.
            Err(unread) => _ = failed.insert(at, unread.clone()),
        }
    }
    Some(failed)
}

/// Asks for the log's end once more where a position lies outside of the log. Says whether anything was asked.
pub(super) async fn ask_ends_again(
    target: &ClusterTarget,
    asked: &[(usize, Questions)],
    cluster: &mut ClusterReading,
    deadline: Duration,
) -> bool {
    let partitions: BTreeSet<&TopicPartition> = asked.iter().flat_map(|(_, asked)| &asked.latest_again).collect();
    if partitions.is_empty() {
        return false;
    }
    let partitions: Vec<TopicPartition> = partitions.into_iter().cloned().collect();
    for (partition, latest) in target.brokers.latest(&partitions, deadline).await {
        replace_latest(cluster, &partition, latest);
    }
    true
}

fn replace_latest(cluster: &mut ClusterReading, partition: &TopicPartition, latest: Result<Offset, Unread>) {
    let Some(TopicSight::Seen(topic)) = cluster.topics.get_mut(&partition.topic) else { return };
    let Some(read) = topic.partitions.get_mut(&partition.partition) else { return };
    match (read.as_mut(), latest) {
        (Ok(bounds), Ok(latest)) => bounds.latest = latest,
        // The bounds are doubted and could not be confirmed: then they are not known.
        (Ok(_), Err(unread)) => *read = Err(unread),
        (Err(_), _) => {}
    }
}

/// What stays in doubt of the queries whose second look failed. A store that never manages a second one costs a round:
/// what the round before had seen already is settled by this round's first look.
pub(super) fn unsettled(
    target: &ClusterTarget,
    state: &mut ClusterState,
    asked: &[(usize, Questions)],
    failed: &BTreeMap<usize, Unread>,
) -> Unsettled {
    let before = std::mem::take(&mut state.doubts);
    let nothing = Doubts::default();
    let mut unsettled = Unsettled::new();
    for (at, asked) in asked.iter().filter(|(_, asked)| !asked.doubts.is_empty()) {
        let name = &target.queries[*at].name;
        state.doubts.insert(name.clone(), asked.doubts.clone());
        let Some(unread) = failed.get(at) else { continue };
        let left = asked.doubts.clone().since(before.get(name).unwrap_or(&nothing));
        if left.is_empty() {
            continue;
        }
        let why = Unread::new(unread.reason, format!("no second look at the checkpoint: {}", unread.detail));
        tracing::debug!(query = name, reason = %why.reason, error = %why.detail, "a doubt is not settled in this round");
        unsettled.insert(*at, (left, why));
    }
    unsettled
}
