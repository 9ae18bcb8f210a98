//! What stands in a step: everything that the steps so far have left.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::scenario::{Change, File, Files, KafkaChange, Partition, Step, TopicChange};
use crate::measures::{TopicName, TopicPartition, Unread};
use crate::retention::{Limits, Proofs, TopicId};

/// Shared by the readers of one replay.
#[derive(Clone, Debug, Default)]
pub(super) struct World(Arc<Mutex<State>>);

#[derive(Debug, Default)]
pub(super) struct State {
    /// The files of each checkpoint.
    pub(super) checkpoints: BTreeMap<String, BTreeMap<String, File>>,
    pub(super) kafka: Kafka,
    /// What holds for this step alone.
    pub(super) step: OneStep,
    /// Facts that look-ups have shown, as a reader of real brokers keeps them.
    pub(super) proofs: BTreeMap<TopicPartition, Proofs>,
}

#[derive(Debug, Default)]
pub(super) struct OneStep {
    pub(super) checkpoint_error: Option<Unread>,
    pub(super) kafka_error: Option<Unread>,
    /// What the second read of a checkpoint sees otherwise than the first.
    pub(super) files_again: Files,
    /// What the second look at the brokers sees.
    pub(super) kafka_again: Option<Kafka>,
    /// How often each checkpoint was read.
    pub(super) reads: BTreeMap<String, u32>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Kafka {
    pub(super) cluster_id: Option<String>,
    pub(super) topics: BTreeMap<TopicName, Topic>,
}

#[derive(Clone, Debug)]
pub(super) enum Topic {
    Unread(Unread),
    Seen(SeenTopic),
}

#[derive(Clone, Debug, Default)]
pub(super) struct SeenTopic {
    pub(super) topic_id: Option<TopicId>,
    pub(super) limits: Option<Result<Limits, Unread>>,
    pub(super) partitions: BTreeMap<i32, Result<Partition, Unread>>,
}

impl World {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Goes on to the next step.
    pub(super) fn apply(&mut self, step: &Step) {
        if step.restart.is_some() {
            self.proofs.clear();
        }
        if step.checkpoint_reset {
            self.checkpoints.clear();
        }
        for (name, files) in &step.checkpoints {
            overlay(self.checkpoints.entry(name.clone()).or_default(), files);
        }
        if step.kafka_reset {
            self.kafka = Kafka::default();
        }
        self.kafka.apply(&step.kafka);
        self.step = OneStep {
            checkpoint_error: step.checkpoint_error.clone(),
            kafka_error: step.kafka_error.clone(),
            files_again: step.checkpoint_again.clone(),
            kafka_again: step.kafka_again.as_ref().map(|change| {
                let mut again = self.kafka.clone();
                again.apply(change);
                again
            }),
            reads: BTreeMap::new(),
        };
    }
}

/// Puts changed files over those that were there.
pub(super) fn overlay(files: &mut BTreeMap<String, File>, changes: &Files) {
    for (path, change) in changes {
        match change {
            Some(file) => drop(files.insert(path.clone(), file.clone())),
            None => drop(files.remove(path)),
        }
    }
}

impl Kafka {
    fn apply(&mut self, change: &KafkaChange) {
        change.cluster_id.clone().apply(&mut self.cluster_id);
        for (name, change) in &change.topics {
            match change {
                None => drop(self.topics.remove(name)),
                Some(TopicChange::Unread(unread)) => {
                    self.topics.insert(TopicName::clone(name), Topic::Unread(unread.clone()));
                }
                Some(TopicChange::Seen { topic_id, limits, partitions }) => {
                    let mut topic = match self.topics.remove(name) {
                        Some(Topic::Seen(topic)) => topic,
                        _ => SeenTopic::default(),
                    };
                    topic.apply(*topic_id, limits.clone(), partitions);
                    self.topics.insert(TopicName::clone(name), Topic::Seen(topic));
                }
            }
        }
    }
}

impl SeenTopic {
    fn apply(
        &mut self,
        topic_id: Change<TopicId>,
        limits: Change<Result<Limits, Unread>>,
        partitions: &BTreeMap<i32, Option<Result<Partition, Unread>>>,
    ) {
        topic_id.apply(&mut self.topic_id);
        limits.apply(&mut self.limits);
        for (number, change) in partitions {
            match change {
                Some(partition) => drop(self.partitions.insert(*number, partition.clone())),
                None => drop(self.partitions.remove(number)),
            }
        }
    }
}
