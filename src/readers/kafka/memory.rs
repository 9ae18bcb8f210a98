//! What a reader remembers between passes. Nothing in it is published by itself; it saves requests, and makes an
//! answer that shrank doubtful.

use std::collections::{BTreeMap, BTreeSet};

use super::limits::KnownLimits;
use super::lookups::Leaders;
use crate::measures::{Moment, Offset, TopicName, TopicPartition};
use crate::retention::{Limits, Proofs, TopicId};

/// The oldest record of a partition, and the state of the log that it was asked in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Oldest {
    pub(super) topic_id: Option<TopicId>,
    pub(super) earliest: Offset,
    /// Absent when nothing answered.
    pub(super) record: Option<(Offset, Moment)>,
}

/// A topic as it was last seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SeenTopic {
    pub(super) id: Option<TopicId>,
    pub(super) partitions: BTreeSet<i32>,
}

/// Everything that is kept.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub(super) overrides: BTreeMap<TopicName, Limits>,
    pub(super) seen: BTreeMap<TopicName, SeenTopic>,
    pub(super) limits: BTreeMap<TopicName, KnownLimits>,
    pub(super) leaders: Leaders,
    pub(super) oldest: BTreeMap<TopicPartition, Oldest>,
    pub(super) proofs: BTreeMap<TopicPartition, Proofs>,
}

impl Memory {
    pub(super) fn new(overrides: BTreeMap<TopicName, Limits>) -> Self {
        Self { overrides, ..Self::default() }
    }

    /// Forgets topics that nobody asks for any more.
    pub(super) fn keep(&mut self, wanted: &BTreeSet<TopicName>) {
        self.seen.retain(|topic, _| wanted.contains(topic));
        self.limits.retain(|topic, _| wanted.contains(topic));
        self.leaders.retain(|partition, _| wanted.contains(&partition.topic));
        self.oldest.retain(|partition, _| wanted.contains(&partition.topic));
        self.proofs.retain(|partition, _| wanted.contains(&partition.topic));
    }
}
