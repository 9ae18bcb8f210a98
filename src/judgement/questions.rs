//! What a round should still ask before it judges: a doubt is checked before it is spoken.

use super::memory::{QueryMemory, TopicMemory};
use super::needs::{Need, Origin, needs};
use super::settings::QuerySettings;
use crate::checkpoint::CheckpointReading;
use crate::measures::{Offset, TopicPartition};
use crate::retention::{ClusterReading, Limit, Policy, TopicReading, TopicSight};

/// What to ask once more, or in addition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Questions {
    /// Read the checkpoint again: the query may have moved on between the two reads.
    pub reread_checkpoint: bool,
    /// Ask the log's end of these once more.
    pub latest_again: Vec<TopicPartition>,
    /// Look up how old the next unread record is, at this needed offset.
    pub ages: Vec<(TopicPartition, Offset)>,
    /// The oldest record (look-up of timestamp 0) of these matters.
    pub oldest: Vec<TopicPartition>,
    /// Older entries of the checkpoint would sharpen the verdict.
    pub history: bool,
}

/// Names what is worth asking before this round is judged.
#[must_use]
pub fn questions(
    settings: &QuerySettings,
    checkpoint: &CheckpointReading,
    cluster: &ClusterReading,
    memory: &QueryMemory,
) -> Questions {
    let mut questions = Questions::default();
    let other_cluster = matches!((&memory.cluster_id, &cluster.cluster_id), (Some(known), Some(now)) if known != now);
    questions.reread_checkpoint = other_cluster && memory.mismatch.is_none();
    for (name, needs) in &needs(checkpoint, memory) {
        let Some(TopicSight::Seen(reading)) = cluster.topics.get(name) else { continue };
        let topic = memory.topics.get(name);
        let changed = matches!((topic.and_then(|topic| topic.topic_id), reading.topic_id), (Some(known), Some(now)) if known != now);
        questions.reread_checkpoint |= changed;
        let doubtful = !other_cluster && needs_testing(topic, reading);
        questions.history |= doubtful && memory.checkpoint.is_none();
        let policy = Policy::of(reading.limits.as_ref());
        for (number, read) in &reading.partitions {
            let Ok(read) = read else { continue };
            let need = needs.get(number).copied().unwrap_or(Need::BROKER_ONLY);
            let at = || TopicPartition::new(name, *number);
            if doubtful || matches!(policy.size, Limit::At(_)) {
                questions.oldest.push(at());
            }
            let needed = match need.offset() {
                Some(needed) => needed,
                None if need.origin == Origin::BrokerOnly && settings.subscribe.reads_new_partitions() => read.earliest,
                None => continue,
            };
            if needed < read.earliest || needed > read.latest {
                questions.reread_checkpoint = true;
                questions.latest_again.push(at());
                continue;
            }
            let passed = |topic: &TopicMemory| {
                topic
                    .partitions
                    .get(number)
                    .and_then(|one| one.seen.max(one.counted))
                    .is_some_and(|done| read.earliest > done)
            };
            questions.history |= topic.is_some_and(passed);
            if needed < read.latest {
                questions.ages.push((at(), needed));
            }
        }
    }
    questions
}

/// No id vouches for the positions.
fn needs_testing(topic: Option<&TopicMemory>, reading: &TopicReading) -> bool {
    topic.is_none_or(|topic| !topic.sane || reading.topic_id.is_none() || topic.topic_id != reading.topic_id)
}
