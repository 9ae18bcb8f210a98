//! What the judgement counted as lost, as records for the ledger.

use std::collections::BTreeMap;

use crate::judgement::{QueryMemory, QueryVerdict};
use crate::ledger::{Finding, RecoveryStatus};
use crate::measures::{Moment, TopicName, TopicPartition};
use crate::retention::TopicId;

/// Who records what the daemon finds.
const RECORDED_BY: &str = "brinkwatch";

/// What was known of a query before this round. The judgement forgets a topic that was made again, and the loss that it
/// counts then is the old topic's.
#[derive(Debug, Default)]
pub(super) struct Before {
    topic_ids: BTreeMap<TopicName, TopicId>,
    /// The estimated time of the next unread record.
    unread: BTreeMap<TopicPartition, Moment>,
}

impl Before {
    pub(super) fn of(memory: &QueryMemory) -> Self {
        let ids = memory.topics.iter().filter_map(|(name, topic)| Some((TopicName::clone(name), topic.topic_id?)));
        // In order: a map is made of it at one go.
        let unread = memory.topics.iter().flat_map(|(name, topic)| {
            let partitions = topic.partitions.iter();
            partitions.filter_map(|(number, one)| Some((TopicPartition::new(name, *number), one.oldest_unread?)))
        });
        Self { topic_ids: ids.collect(), unread: unread.collect() }
    }
}

pub(super) fn findings(
    query: &str,
    cluster: &str,
    before: &Before,
    after: &QueryMemory,
    verdict: &QueryVerdict,
    now: Moment,
) -> Vec<Finding> {
    let ranges = verdict.newly_lost.iter().chain(&verdict.turned_certain);
    ranges
        .map(|range| {
            let at = &range.partition;
            let topic = after.topics.get(&at.topic);
            let id = before.topic_ids.get(&at.topic).copied().or_else(|| topic?.topic_id);
            let oldest = topic.and_then(|topic| topic.partitions.get(&at.partition)?.oldest);
            Finding {
                id: None,
                stream_name: query.to_owned(),
                kafka_cluster: cluster.to_owned(),
                topic: at.topic.as_ref().to_owned(),
                topic_id: id.map(|id| format!("{id:?}")),
                partition: at.partition,
                from: range.from.get(),
                to: range.to.get(),
                certainty: range.certainty,
                detected_at: now,
                first_missing_at: before.unread.get(at).copied(),
                // The oldest record that is left stands right behind the gap.
                last_missing_at: oldest.filter(|(offset, _)| *offset >= range.to).map(|(_, written)| written),
                recovery_path: None,
                recovery_status: RecoveryStatus::Open,
                evidence: evidence(verdict, at),
                recorded_by: RECORDED_BY.to_owned(),
            }
        })
        .collect()
}

/// The numbers of the round that found it, and the verdict's own words.
fn evidence(verdict: &QueryVerdict, at: &TopicPartition) -> String {
    let Some(partition) = verdict.partitions.get(at) else { return verdict.reason.clone().into_owned() };
    let number = |offset: Option<_>| {
        offset.map_or_else(|| "unknown".to_owned(), |offset: crate::measures::Offset| offset.to_string())
    };
    format!(
        "{}; committed {}, earliest {}, latest {}, newest committed batch {}",
        partition.reason,
        number(partition.committed),
        number(partition.earliest),
        number(partition.latest),
        verdict.newest_committed.map_or_else(|| "unknown".to_owned(), |batch| batch.to_string()),
    )
}
