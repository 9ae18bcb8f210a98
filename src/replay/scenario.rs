//! A scenario as values: what changed in each step.

use std::collections::BTreeMap;

use crate::measures::{Moment, Offset, TopicName, Unread};
use crate::retention::{Limits, TopicId, Unproved};

/// What was observed, step by step.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// What it tells, in a sentence.
    pub about: String,
    /// What was configured.
    pub configuration: Vec<Setting>,
    /// Whether several checkpoints of one discovery are told of, each with its name.
    pub several: bool,
    /// Ascending in time.
    pub steps: Vec<Step>,
}

/// One configured value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The key; words of tables stand before it, with dots.
    pub key: String,
    /// The value as text.
    pub value: String,
    /// Where it stands in the file.
    pub line: usize,
}

/// What changed since the step before. Each step is one round.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// When.
    pub at: Moment,
    pub(super) restart: Option<Restart>,
    pub(super) acknowledge: Vec<Acknowledgement>,
    pub(super) checkpoint_reset: bool,
    /// By name; a scenario with one checkpoint has it under the empty name.
    pub(super) checkpoints: BTreeMap<String, Files>,
    pub(super) checkpoint_again: Files,
    pub(super) checkpoint_error: Option<Unread>,
    pub(super) kafka_reset: bool,
    pub(super) kafka: KafkaChange,
    pub(super) kafka_again: Option<KafkaChange>,
    pub(super) kafka_error: Option<Unread>,
}

/// The daemon was restarted before the step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Restart {
    WithLedger,
    WithoutLedger,
}

/// A person settled a state: of everything, of one topic, or of one partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Acknowledgement {
    pub(super) topic: Option<String>,
    pub(super) partition: Option<i32>,
}

/// Files by path; `None` is gone.
pub(super) type Files = BTreeMap<String, Option<File>>;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum File {
    There { bytes: Vec<u8>, modified: Option<Moment> },
    Unread(Unread),
}

/// What the brokers said otherwise than before.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct KafkaChange {
    pub(super) cluster_id: Change<String>,
    /// `None` is gone.
    pub(super) topics: BTreeMap<TopicName, Option<TopicChange>>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum TopicChange {
    Unread(Unread),
    Seen {
        topic_id: Change<TopicId>,
        limits: Change<Result<Limits, Unread>>,
        /// `None` is gone.
        partitions: BTreeMap<i32, Option<Result<Partition, Unread>>>,
    },
}

/// A fact that may have changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Change<T> {
    /// As before.
    #[default]
    Same,
    /// The broker does not say it any more.
    Silent,
    /// It is this now.
    Is(T),
}

impl<T> Change<T> {
    pub(super) fn apply(self, to: &mut Option<T>) {
        match self {
            Self::Same => {}
            Self::Silent => *to = None,
            Self::Is(value) => *to = Some(value),
        }
    }
}

/// Bounds of a partition, and points of its log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Partition {
    pub(super) earliest: Offset,
    pub(super) latest: Offset,
    pub(super) stable: Option<Offset>,
    pub(super) leader_epoch: Option<i32>,
    /// Offset and timestamp, ascending by offset.
    pub(super) records: Vec<(Offset, Moment)>,
    /// Why nothing is proved from time here.
    pub(super) unproved: Option<Unproved>,
}
