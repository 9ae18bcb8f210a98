//! The answer of `check`, as values: what the JSON holds and the table shows.

use std::collections::BTreeMap;

use crate::checkpoint::CheckpointReading;
use crate::commands::targets::Asked;
use crate::config::Config;
use crate::judgement::{Condition, Outcome, PartitionState, PartitionVerdict, QueryVerdict, Restart, predict};
use crate::measures::{Moment, Reason, TopicPartition, Unread};
use crate::recovery::{Subject, WayOn, changes, ways};
use crate::retention::ClusterReading;
use crate::rounds::{ClusterTarget, Found};

/// A look, and its topics once more.
pub(super) type Looked = (Found, Option<Result<ClusterReading, Unread>>);

/// What is to be said of one query on one cluster.
#[derive(Debug)]
pub(super) struct QueryAnswer {
    pub query: String,
    pub subject: Subject,
    pub kafka_cluster: String,
    pub cluster_id: Option<String>,
    pub checked_at: Moment,
    /// Why the cluster was not read.
    pub cluster_unread: Option<Unread>,
    /// What was no longer so when all was read, in words. The answer is of before.
    pub changed: Vec<String>,
    pub fail_on_data_loss: bool,
    /// What a restart would do with the configured failOnDataLoss, and with the other value.
    pub restart: Restart,
    pub restart_otherwise: Restart,
    pub verdict: QueryVerdict,
    /// The source that reads each partition; the first one where several do.
    pub sources: BTreeMap<TopicPartition, String>,
}

/// One answer per query of the cluster, in the order of the targets: of a look, and of its topics right after it.
pub(super) fn of(
    asked: &Asked<'_>,
    config: &Config,
    target: &ClusterTarget,
    (found, again): &Looked,
) -> Vec<QueryAnswer> {
    let queries = target.queries.iter().zip(&found.checkpoints).zip(&found.verdicts);
    queries
        .map(|((query, poll), verdict)| {
            let restart = |fail_on_data_loss| match (&poll.outcome, &found.cluster) {
                (Ok(reading), Ok(cluster)) => {
                    warned(predict(reading, cluster, &query.settings, fail_on_data_loss), verdict)
                }
                (Err(unread), _) if unread.reason == Reason::NotFound => Restart::unknown(
                    "there is no checkpoint: Spark would begin a new query at its startingOffsets option, and what lies \
                     before is not read; starting-offsets --at last-known prints where the query stood"
                        .to_owned(),
                ),
                (Err(unread), _) => Restart::unknown(format!("the checkpoint was not read: {unread}")),
                (_, Err(unread)) => Restart::unknown(format!("the cluster was not read: {unread}")),
            };
            let configured = query.settings.fail_on_data_loss;
            QueryAnswer {
                query: query.name.clone(),
                subject: asked.subject(&query.name, config),
                kafka_cluster: target.name.clone(),
                cluster_id: found.cluster.as_ref().ok().and_then(|cluster| cluster.cluster_id.clone()),
                checked_at: found.finished_at,
                cluster_unread: found.cluster.as_ref().err().cloned(),
                changed: changed(verdict, found, again.as_ref()),
                fail_on_data_loss: configured,
                restart: restart(configured),
                restart_otherwise: restart(!configured),
                verdict: verdict.clone(),
                sources: sources(poll.outcome.as_ref().ok()),
            }
        })
        .collect()
}

/// What changed in the topics of this query.
fn changed(verdict: &QueryVerdict, found: &Found, again: Option<&Result<ClusterReading, Unread>>) -> Vec<String> {
    match (&found.cluster, again) {
        (Ok(before), Some(Ok(after))) => {
            let mut own = before.clone();
            own.topics.retain(|name, _| verdict.partitions.keys().any(|at| at.topic == *name));
            changes(&own, after)
        }
        (_, Some(Err(unread))) => vec![format!("the topics could not be read again: {unread}")],
        _ => Vec::new(),
    }
}

/// Spark knows no topic by its id: it reads on in another log from the old position, and says nothing.
fn warned(restart: Restart, verdict: &QueryVerdict) -> Restart {
    let foreign = |partition: &&PartitionVerdict| {
        matches!(partition.state, PartitionState::Recreated | PartitionState::Unverified)
    };
    let Some(partition) = verdict.partitions.values().find(foreign) else { return restart };
    let detail = format!("{}; Spark does not notice that {}", restart.detail, partition.reason);
    Restart { detail, ..restart }
}

fn sources(reading: Option<&CheckpointReading>) -> BTreeMap<TopicPartition, String> {
    let mut sources = BTreeMap::new();
    for source in reading.into_iter().flat_map(|reading| &reading.sources) {
        for (topic, partitions) in &source.topics {
            for partition in partitions.keys() {
                sources.entry(TopicPartition::new(topic, *partition)).or_insert_with(|| source.id.clone());
            }
        }
    }
    sources
}

impl QueryAnswer {
    /// Whether something that the answer needs could not be read.
    pub(super) fn is_incomplete(&self) -> bool {
        let unknown = |partition: &PartitionVerdict| partition.state == PartitionState::Unknown;
        self.cluster_unread.is_some()
            || !self.changed.is_empty()
            || self.verdict.unreadable.is_some()
            || self.verdict.partitions.values().any(unknown)
    }

    /// What could not be read as a whole, or did not stay as it was read, in words.
    pub(super) fn unread(&self) -> Vec<String> {
        let checkpoint = self.verdict.unreadable.as_ref().map(|unread| format!("checkpoint not read: {unread}"));
        let cluster = self.cluster_unread.as_ref().map(|unread| format!("cluster not read: {unread}"));
        let changed = self.changed.iter().map(|what| format!("changed while it was read: {what}; run it again"));
        checkpoint.into_iter().chain(cluster).chain(changed).collect()
    }

    /// Whether there is something that somebody should act on.
    pub(super) fn is_finding(&self) -> bool {
        const FINDINGS: [Condition; 7] = [
            Condition::ClusterMismatch,
            Condition::Recreated,
            Condition::Lost,
            Condition::BeyondEnd,
            Condition::Gone,
            Condition::AtRisk,
            Condition::Unverified,
        ];
        let possibly_lost = |partition: &PartitionVerdict| partition.possibly_lost.is_some_and(|lost| lost > 0);
        FINDINGS.iter().any(|condition| self.verdict.conditions.contains(condition))
            || self.verdict.restartable == Some(false)
            || self.verdict.partitions.values().any(possibly_lost)
    }
}

impl QueryAnswer {
    /// Offsets that are certainly gone, over all partitions. Absent when none was seen and not all was read.
    pub(super) fn lost_offsets(&self) -> Option<u64> {
        let lost = self.verdict.partitions.values().filter_map(|partition| partition.lost).sum();
        (lost > 0 || !self.is_incomplete()).then_some(lost)
    }

    /// The partitions, worst state first, then those with the least share of retention left, then as they are numbered.
    pub(super) fn worst_first(&self) -> Vec<(&TopicPartition, &PartitionVerdict)> {
        let mut rows: Vec<_> = self.verdict.partitions.iter().collect();
        let left = |partition: &PartitionVerdict| partition.ratio.unwrap_or(1.0);
        rows.sort_by(|(_, one), (_, other)| {
            let lost =
                |partition: &PartitionVerdict| partition.lost.unwrap_or(0) + partition.possibly_lost.unwrap_or(0);
            badness(one.state)
                .cmp(&badness(other.state))
                .then(lost(other).cmp(&lost(one)))
                .then(left(one).total_cmp(&left(other)))
        });
        rows
    }

    /// Every way on, those that fit first. Nothing is advised while something was not read.
    pub(super) fn recoveries(&self) -> Vec<WayOn> {
        if self.is_incomplete() || self.restart.outcome == Outcome::Unknown {
            return Vec::new();
        }
        ways(&self.subject, &self.verdict, &self.restart, self.restart_with(false))
    }

    fn restart_with(&self, fail_on_data_loss: bool) -> &Restart {
        if self.fail_on_data_loss == fail_on_data_loss { &self.restart } else { &self.restart_otherwise }
    }
}

/// The worse, the lower. Nothing unread is better than something, and what is not known is worse than both.
const fn badness(state: PartitionState) -> u8 {
    match state {
        PartitionState::Recreated => 0,
        PartitionState::Lost => 1,
        PartitionState::BeyondEnd => 2,
        PartitionState::Gone => 3,
        PartitionState::Unverified => 4,
        PartitionState::Unconfirmed => 5,
        PartitionState::Unknown => 6,
        PartitionState::Pending => 7,
        PartitionState::Behind => 8,
        PartitionState::CaughtUp => 9,
    }
}
