//! The answer of `check`, as values: what the JSON holds and the table shows.

use std::collections::BTreeMap;

use crate::checkpoint::CheckpointReading;
use crate::judgement::{Condition, Outcome, PartitionState, PartitionVerdict, QueryVerdict, Restart, predict};
use crate::measures::{Moment, TopicPartition, Unread};
use crate::rounds::{ClusterTarget, Found};

/// What is to be said of one query on one cluster.
#[derive(Debug)]
pub(super) struct QueryAnswer {
    pub query: String,
    pub kafka_cluster: String,
    pub cluster_id: Option<String>,
    pub checked_at: Moment,
    /// Why the cluster was not read.
    pub cluster_unread: Option<Unread>,
    pub fail_on_data_loss: bool,
    /// What a restart would do with the configured failOnDataLoss, and with the other value.
    pub restart: Restart,
    pub restart_otherwise: Restart,
    pub verdict: QueryVerdict,
    /// The source that reads each partition; the first one where several do.
    pub sources: BTreeMap<TopicPartition, String>,
}

/// One answer per query of the cluster, in the order of the targets.
pub(super) fn of(target: &ClusterTarget, found: &Found) -> Vec<QueryAnswer> {
    let queries = target.queries.iter().zip(&found.checkpoints).zip(&found.verdicts);
    queries
        .map(|((query, poll), verdict)| {
            let restart = |fail_on_data_loss| match (&poll.outcome, &found.cluster) {
                (Ok(reading), Ok(cluster)) => {
                    warned(predict(reading, cluster, &query.settings, fail_on_data_loss), verdict)
                }
                (Err(unread), _) => Restart::unknown(format!("the checkpoint was not read: {unread}")),
                (_, Err(unread)) => Restart::unknown(format!("the cluster was not read: {unread}")),
            };
            let configured = query.settings.fail_on_data_loss;
            QueryAnswer {
                query: query.name.clone(),
                kafka_cluster: target.name.clone(),
                cluster_id: found.cluster.as_ref().ok().and_then(|cluster| cluster.cluster_id.clone()),
                checked_at: found.finished_at,
                cluster_unread: found.cluster.as_ref().err().cloned(),
                fail_on_data_loss: configured,
                restart: restart(configured),
                restart_otherwise: restart(!configured),
                verdict: verdict.clone(),
                sources: sources(poll.outcome.as_ref().ok()),
            }
        })
        .collect()
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
            || self.verdict.unreadable.is_some()
            || self.verdict.partitions.values().any(unknown)
    }

    /// What could not be read as a whole, in words.
    pub(super) fn unread(&self) -> Vec<String> {
        let checkpoint = self.verdict.unreadable.as_ref().map(|unread| format!("checkpoint not read: {unread}"));
        let cluster = self.cluster_unread.as_ref().map(|unread| format!("cluster not read: {unread}"));
        checkpoint.into_iter().chain(cluster).collect()
    }

    /// Whether the positions speak of another log than the one that is there now.
    fn is_about_another_log(&self) -> bool {
        const ANOTHER: [Condition; 4] =
            [Condition::ClusterMismatch, Condition::Recreated, Condition::BeyondEnd, Condition::Unverified];
        ANOTHER.iter().any(|condition| self.verdict.conditions.contains(condition))
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

/// A way on, and whether it fits.
#[derive(Debug)]
pub(super) struct Recovery {
    /// The bounded word of the JSON.
    pub path: &'static str,
    /// Why it fits.
    pub why: String,
    /// What to run next, if a command can do it.
    pub command: Option<String>,
}

impl QueryAnswer {
    /// Offsets that are certainly gone, over all partitions. Absent when none was seen and not all was read.
    pub(super) fn lost_offsets(&self) -> Option<u64> {
        let lost = self.verdict.partitions.values().filter_map(|partition| partition.lost).sum();
        (lost > 0 || !self.is_incomplete()).then_some(lost)
    }

    /// The partitions, lost ones first, then by share of retention left, then as they are numbered.
    pub(super) fn worst_first(&self) -> Vec<(&TopicPartition, &PartitionVerdict)> {
        let mut rows: Vec<_> = self.verdict.partitions.iter().collect();
        let rank = |partition: &PartitionVerdict| {
            let fine = matches!(partition.state, PartitionState::CaughtUp | PartitionState::Behind);
            (fine, partition.ratio.unwrap_or(if fine { 1.0 } else { 0.0 }))
        };
        rows.sort_by(|(_, one), (_, other)| {
            let ((one_fine, one_left), (other_fine, other_left)) = (rank(one), rank(other));
            one_fine.cmp(&other_fine).then(one_left.total_cmp(&other_left))
        });
        rows
    }

    /// Which ways on fit. Nothing is advised while something was not read.
    pub(super) fn recoveries(&self) -> Vec<Recovery> {
        if self.is_incomplete() {
            return Vec::new();
        }
        let lost = self.lost_offsets().unwrap_or(0);
        if lost == 0 && matches!(self.restart.outcome, Outcome::Starts) && !self.is_about_another_log() {
            let why = "nothing is lost: restart the query as it is, with the checkpoint as it is".to_owned();
            return vec![Recovery { path: "none_needed", why, command: None }];
        }
        let mut ways = Vec::new();
        if matches!(self.restart_with(false).outcome, Outcome::StartsAndSkips) {
            ways.push(Recovery {
                path: "accept_gap",
                why: format!(
                    "with failOnDataLoss=false this checkpoint goes on and skips what is gone ({lost} offsets); set it \
                     for one restart, then set it back"
                ),
                command: None,
            });
        }
        ways.push(Recovery {
            path: "new_checkpoint",
            why: "a new checkpoint location, with startingOffsets for every partition, leaves this one as evidence; \
                  what the sink already has must be made idempotent or will be doubled"
                .to_owned(),
            command: None,
        });
        if lost > 0 {
            ways.push(Recovery {
                path: "backfill",
                why: format!(
                    "{lost} offsets are no longer in Kafka: only the systems that produced them can give them again"
                ),
                command: None,
            });
        }
        ways
    }

    fn restart_with(&self, fail_on_data_loss: bool) -> &Restart {
        if self.fail_on_data_loss == fail_on_data_loss { &self.restart } else { &self.restart_otherwise }
    }
}
