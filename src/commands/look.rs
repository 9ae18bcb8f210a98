//! A look at a cluster that lasts as long as a person waits: for every command that answers once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::anyhow;
use tokio::sync::Semaphore;
use tokio::time::sleep;

use super::Ended;
use crate::judgement::PartitionState;
use crate::measures::{Moment, Offset, TopicName, TopicPartition, Unread};
use crate::process::clock::now;
use crate::process::exit_code::ExitCode;
use crate::readers::{AgeRequest, WantedTopic};
use crate::recovery::{changes, moved};
use crate::retention::{ClusterReading, TopicSight, oldest_unread};
use crate::rounds::{AT_ONCE, ClusterState, ClusterTarget, Found, once};

/// How often a contradiction is looked at, and how far apart.
const LOOKS: u32 = 3;
const BETWEEN_LOOKS: Duration = Duration::from_secs(1);

/// One round; and as long as a contradiction waits for confirmation, another one. Nobody waits for the daemon's patience.
pub(super) async fn look(target: &ClusterTarget, mut state: ClusterState, timeout: Duration) -> Found {
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let mut found = once(target, &mut state, &places, timeout).await;
    for _ in 1..LOOKS {
        if !waits_for_confirmation(&found) && !may_be_in_writing(&found) {
            break;
        }
        sleep(BETWEEN_LOOKS).await;
        found = once(target, &mut state, &places, timeout).await;
    }
    found
}

/// Shortens the patience of every query to what [`look`] has.
pub(super) fn hurry(targets: &mut [ClusterTarget]) {
    for query in targets.iter_mut().flat_map(|target| &mut target.queries) {
        query.settings.confirm_polls = query.settings.confirm_polls.min(LOOKS);
        query.settings.confirm_time = query.settings.confirm_time.min(BETWEEN_LOOKS * (LOOKS - 1));
    }
}

/// A newest file that does not parse is believed when it is seen in two rounds running.
fn may_be_in_writing(found: &Found) -> bool {
    found.checkpoints.iter().zip(&found.verdicts).any(|(poll, verdict)| {
        poll.outcome.as_ref().is_ok_and(|reading| reading.problems.len() > verdict.problems.len())
    })
}

fn waits_for_confirmation(found: &Found) -> bool {
    let partitions = found.verdicts.iter().flat_map(|verdict| verdict.partitions.values());
    partitions.into_iter().any(|partition| partition.state == PartitionState::Unconfirmed)
}

/// The topics of a look once more, right before its answer is printed; nothing where they were not read at all.
pub(super) async fn again(
    target: &ClusterTarget,
    found: &Found,
    timeout: Duration,
) -> Option<Result<ClusterReading, Unread>> {
    let before = found.cluster.as_ref().ok()?;
    let wanted: Vec<WantedTopic> =
        before.topics.keys().map(|name| WantedTopic { name: TopicName::clone(name), stable: false }).collect();
    Some(target.brokers.topics(&wanted, now(), timeout).await)
}

/// Whether an answer is made of where its query stands, so that one that moves on makes it wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Position {
    Counts,
    DoesNotCount,
}

/// Reads once more, and refuses to print what is no longer so.
pub(super) async fn ensure_unchanged(
    target: &ClusterTarget,
    found: &Found,
    position: Position,
    timeout: Duration,
) -> anyhow::Result<()> {
    let mut changed = Vec::new();
    if position == Position::Counts {
        for (query, poll) in target.queries.iter().zip(&found.checkpoints) {
            let Ok(before) = &poll.outcome else { continue };
            match query.checkpoint.read(timeout).await {
                Ok(after) => changed.extend(moved(before, &after)),
                Err(unread) => changed.push(format!("the checkpoint could not be read again: {unread}")),
            }
        }
    }
    match (&found.cluster, again(target, found, timeout).await) {
        (Ok(before), Some(Ok(after))) => changed.extend(changes(before, &after)),
        (_, Some(Err(unread))) => changed.push(format!("the topics could not be read again: {unread}")),
        _ => {}
    }
    if changed.is_empty() {
        return Ok(());
    }
    let changed = anyhow!("{}", changed.join("; "));
    Err(changed.context(Ended::with(ExitCode::NotRead, "something changed while it was read; run it again")))
}

/// Estimated times of the records at these offsets, as far as look-ups tell.
pub(super) async fn times_of(
    target: &ClusterTarget,
    cluster: &ClusterReading,
    wanted: impl IntoIterator<Item = (TopicPartition, Offset)>,
    now: Moment,
    timeout: Duration,
) -> BTreeMap<(TopicPartition, Offset), Moment> {
    // Whatever retention says: a record that is overdue has its time, too.
    let request = |(at, offset)| Some(AgeRequest { retention: None, ..AgeRequest::of(cluster, at, offset)? });
    let requests: Vec<AgeRequest> = wanted.into_iter().filter_map(request).collect();
    if requests.is_empty() {
        return BTreeMap::new();
    }
    let ages = target.brokers.ages(&requests, now, timeout).await;
    let time = |request: &AgeRequest| {
        let key = (request.partition.clone(), request.committed);
        let at = oldest_unread(ages.get(&key), request.bounds.oldest, request.committed, now)?;
        Some((key, at))
    };
    requests.iter().filter_map(time).collect()
}

/// The one cluster of a command that is about one query.
pub(super) fn only(mut targets: Vec<ClusterTarget>, cluster: Option<&str>) -> anyhow::Result<ClusterTarget> {
    let names: Vec<String> = targets.iter().map(|target| target.name.clone()).collect();
    if let Some(cluster) = cluster {
        targets.retain(|target| target.name == cluster);
    }
    match targets.pop() {
        Some(target) if targets.is_empty() => Ok(target),
        _ => Err(anyhow!("it reads {}: choose one with --cluster", names.join(" and "))
            .context(Ended::with(ExitCode::Usage, "not one cluster is meant"))),
    }
}

/// The sight of a topic in words, where it was not seen.
pub(super) fn unseen(sight: Option<&TopicSight>) -> Option<String> {
    match sight {
        Some(TopicSight::Seen(_)) => None,
        Some(TopicSight::Absent) => Some("the topic does not exist".to_owned()),
        Some(TopicSight::Unread(unread)) => Some(unread.to_string()),
        None => Some("the topic was not asked for".to_owned()),
    }
}
