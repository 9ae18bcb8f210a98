//! The answer of `check`, as values: what the JSON holds and the table shows.

use serde_json::{Map, Value, json};

use super::super::times::rfc3339;
use crate::judgement::restart::{self, Restart};
use crate::judgement::{Condition, Deadline, PartitionState, PartitionVerdict, QueryVerdict};
use crate::measures::{Moment, TopicPartition, Unread};
use crate::rounds::{ClusterTarget, Found, QueryTarget};

/// The version of the JSON.
const VERSION: u32 = 1;

/// What is to be said of one query on one cluster.
#[derive(Debug)]
pub struct QueryAnswer {
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
    /// Which source each partition was read by.
    pub sources: Vec<(TopicPartition, String)>,
}

/// One answer per query of the cluster, in the order of the targets.
pub fn of(target: &ClusterTarget, found: &Found) -> Vec<QueryAnswer> {
    let queries = target.queries.iter().zip(&found.checkpoints).zip(&found.verdicts);
    queries
        .map(|((query, poll), verdict)| {
            let predict = |fail_on_data_loss| match (&poll.outcome, &found.cluster) {
                (Ok(reading), Ok(cluster)) => restart::predict(reading, cluster, &query.settings, fail_on_data_loss),
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
                restart: predict(configured),
                restart_otherwise: predict(!configured),
                verdict: verdict.clone(),
                sources: sources(query, found),
            }
        })
        .collect()
}

fn sources(query: &QueryTarget, found: &Found) -> Vec<(TopicPartition, String)> {
    let _ = (query, found);
    Vec::new()
}

impl QueryAnswer {
    /// Whether something that the answer needs could not be read.
    pub fn is_incomplete(&self) -> bool {
        let unknown = |partition: &PartitionVerdict| partition.state == PartitionState::Unknown;
        self.cluster_unread.is_some()
            || self.verdict.unreadable.is_some()
            || self.verdict.partitions.values().any(unknown)
    }

    /// Whether there is something that somebody should act on.
    pub fn is_finding(&self) -> bool {
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
