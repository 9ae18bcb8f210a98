//! What one pass over a Kafka cluster says.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use super::abilities::Abilities;
use super::set_by::SetBy;
use super::unproved::Unproved;
use crate::measures::{Moment, Offset, TopicName, TopicPartition, Unread};

/// A topic's identity: sixteen bytes that change when a topic is deleted and made again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TopicId(pub [u8; 16]);

impl fmt::Debug for TopicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0 {
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

/// Everything that one round learned of one cluster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClusterReading {
    /// The cluster's own id, where a broker said it.
    pub cluster_id: Option<String>,
    /// Each topic that was asked for.
    pub topics: BTreeMap<TopicName, TopicSight>,
    /// What look-ups by time showed, per partition and committed offset that was asked for.
    pub ages: BTreeMap<(TopicPartition, Offset), Age>,
    /// Rights that the brokers refused, with the topics for which they did. Each takes away what needs it, and no more.
    pub missing_rights: BTreeMap<Right, BTreeSet<TopicName>>,
    /// Partitions of which nothing is proved from time, each with the reason.
    pub unproved: BTreeMap<TopicPartition, Unproved>,
    /// What the brokers can do, as far as they have shown it.
    pub abilities: Abilities,
}

impl ClusterReading {
    /// What of it concerns these topics.
    #[must_use]
    pub fn only(&self, topics: &BTreeSet<TopicName>) -> Self {
        let named = topics.iter().filter_map(|name| Some((TopicName::clone(name), self.topics.get(name)?.clone())));
        let ages = self.ages.iter().filter(|((at, _), _)| topics.contains(&at.topic));
        let unproved = self.unproved.iter().filter(|(at, _)| topics.contains(&at.topic));
        Self {
            cluster_id: self.cluster_id.clone(),
            topics: named.collect(),
            ages: ages.map(|(asked, age)| (asked.clone(), *age)).collect(),
            unproved: unproved.map(|(at, why)| (at.clone(), *why)).collect(),
            missing_rights: self.missing_rights.clone(),
            abilities: self.abilities.clone(),
        }
    }
}

/// A right that a reader needs on each topic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// To see the topic at all. Without it, a topic that is forbidden looks like one that does not exist.
    Describe,
    /// To read what limits its retention.
    DescribeConfigs,
}

impl Right {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Describe, Self::DescribeConfigs];

    /// As Kafka writes it.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Describe => "DESCRIBE",
            Self::DescribeConfigs => "DESCRIBE_CONFIGS",
        }
    }
}

/// What the cluster answered when asked for a topic.
#[derive(Clone, Debug, PartialEq)]
pub enum TopicSight {
    /// The topic exists.
    Seen(TopicReading),
    /// A good answer of the cluster does not have it.
    Absent,
    /// No good answer.
    Unread(Unread),
}

impl TopicSight {
    /// The topic, if it exists and was read.
    #[must_use]
    pub const fn seen(&self) -> Option<&TopicReading> {
        match self {
            Self::Seen(reading) => Some(reading),
            Self::Absent | Self::Unread(_) => None,
        }
    }
}

/// One existing topic.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TopicReading {
    /// Its identity; absent where the broker does not say (or says zero).
    pub topic_id: Option<TopicId>,
    /// What limits its retention. `Err` when the configuration could not be read and none was given by hand.
    pub limits: Option<Result<Limits, Unread>>,
    /// Each partition in the cluster's answer: bounds, or why they could not be read.
    pub partitions: BTreeMap<i32, Result<PartitionReading, Unread>>,
}

/// The effective settings that decide what is deleted. A field is absent when the broker did not name it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Limits {
    /// `cleanup.policy` as written: `delete`, `compact`, both, or empty.
    pub cleanup_policy: Option<String>,
    /// `retention.ms`; negative is no limit.
    pub retention_ms: Option<i64>,
    /// Who set it; absent where the broker does not say.
    pub retention_ms_set_by: Option<SetBy>,
    /// `retention.bytes`; negative is no limit.
    pub retention_bytes: Option<i64>,
    /// Who set it; absent where the broker does not say.
    pub retention_bytes_set_by: Option<SetBy>,
    /// `message.timestamp.type` is `LogAppendTime`.
    pub log_append_time: Option<bool>,
    /// `remote.storage.enable`.
    pub tiered: Option<bool>,
}

/// Bounds of one partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartitionReading {
    /// Log start offset.
    pub earliest: Offset,
    /// End offset (high watermark).
    pub latest: Offset,
    /// Last stable offset, where it was asked for and answered.
    pub stable: Option<Offset>,
    /// The leader's epoch, where the broker said it.
    pub leader_epoch: Option<i32>,
    /// The oldest record that a look-up of timestamp 0 answered. Absent when nothing answered or nobody asked:
    /// after DeleteRecords a partition that is not empty may answer nothing.
    pub oldest: Option<(Offset, Moment)>,
}

/// What look-ups by time left open about the records up to one committed offset.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Age {
    /// A record at or below the committed offset and at or above earliest, with its timestamp: the highest found.
    /// So the highest timestamp up to the committed offset is at least this. Absent: nothing proved.
    pub proved: Option<(Offset, Moment)>,
    /// The highest timestamp up to the committed offset is below this, if the log has not changed. Absent: open.
    pub below: Option<Moment>,
}
