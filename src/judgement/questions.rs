//! What a round should still ask before it judges: a doubt is checked before it is spoken.

use super::doubts::Doubts;
use super::memory::{QueryMemory, TopicMemory};
use super::needs::{Need, Origin, needs};
use super::older::History;
use super::settings::QuerySettings;
use crate::checkpoint::CheckpointReading;
use crate::measures::{BatchId, Offset, TopicPartition};
use crate::retention::{ClusterReading, Policy, TopicReading, TopicSight};

/// What to ask once more, or in addition.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Questions {
    /// Read the checkpoint again: the query may have moved on between the two reads.
    pub reread_checkpoint: bool,
    /// What must not be said unless that second look still says so.
    pub doubts: Doubts,
    /// Ask the log's end of these once more.
    pub latest_again: Vec<TopicPartition>,
    /// Look up how old the next unread record is, at this needed offset.
    pub ages: Vec<(TopicPartition, Offset)>,
    /// Entries of these older batches would sharpen the verdict; ascending.
    pub history: Vec<BatchId>,
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
    let mut history = History::of(checkpoint, memory);
    let other_cluster = matches!((&memory.cluster_id, &cluster.cluster_id), (Some(known), Some(now)) if known != now);
    questions.reread_checkpoint = other_cluster && memory.mismatch.is_none();
    if let (true, Some(id)) = (questions.reread_checkpoint, &cluster.cluster_id) {
        questions.doubts.of_cluster(id);
    }
    for (name, needs) in &needs(checkpoint, memory) {
        let Some(TopicSight::Seen(reading)) = cluster.topics.get(name) else { continue };
        let topic = memory.topics.get(name);
        let known = topic.and_then(|topic| topic.topic_id);
        if let Some(id) = reading.topic_id.filter(|now| known.is_some_and(|known| known != *now)) {
            questions.reread_checkpoint = true;
            questions.doubts.of_topic(name, id);
        }
        let same = !other_cluster && reading.topic_id.is_none_or(|now| known == Some(now));
        let doubtful = !other_cluster && needs_testing(topic, reading);
        let policy = Policy::of(reading.limits.as_ref());
        for (number, read) in &reading.partitions {
            let Ok(read) = read else { continue };
            let need = needs.get(number).copied().unwrap_or(Need::BROKER_ONLY);
            let at = || TopicPartition::new(name, *number);
            let needed = match need.offset() {
                Some(needed) => needed,
                None if need.origin == Origin::BrokerOnly && settings.subscribe.reads_new_partitions() => read.earliest,
                None => continue,
            };
            let one = topic.and_then(|topic| topic.partitions.get(number));
            if needed > read.latest {
                questions.reread_checkpoint = true;
                questions.latest_again.push(at());
                continue;
            }
            if needed < read.earliest {
                // Of a loss that was told in an earlier round, this look is a second one.
                let told = one.filter(|one| same && one.committed.is_some() && one.committed < one.earliest);
                let known = told.and_then(|one| one.earliest);
                if known.is_none_or(|known| needed >= known) {
                    questions.doubts.of_position(at(), needed, read.earliest);
                }
                if known != Some(read.earliest) {
                    questions.reread_checkpoint = true;
                    questions.latest_again.push(at());
                }
                continue;
            }
            history.for_loss(one, needed, read, policy);
            if doubtful {
                history.for_suspicion(needed, read);
            }
            if needed < read.latest {
                questions.ages.push((at(), needed));
            }
        }
    }
    questions.history = history.batches();
    questions
}

/// No id vouches for the positions.
fn needs_testing(topic: Option<&TopicMemory>, reading: &TopicReading) -> bool {
    topic.is_none_or(|topic| !topic.sane || reading.topic_id.is_none() || topic.topic_id != reading.topic_id)
}
