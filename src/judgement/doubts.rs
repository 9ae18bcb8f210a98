//! What only a second look at the checkpoint settles: the query may have moved on between the two reads.

use std::collections::{BTreeMap, BTreeSet};

use crate::measures::{Offset, TopicName, TopicPartition, Unread};
use crate::retention::{ClusterReading, TopicId, TopicSight};

/// What one round doubts of one query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Doubts {
    below: BTreeMap<TopicPartition, Below>,
    /// Topics that have another id than was known: which.
    topics: BTreeMap<TopicName, TopicId>,
    /// The cluster's id, where another one was known.
    cluster: Option<String>,
}

/// The log starts above the position.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Below {
    needed: Offset,
    earliest: Offset,
}

impl Doubts {
    pub(super) fn of_cluster(&mut self, id: &str) {
        self.cluster = Some(id.to_owned());
    }

    pub(super) fn of_topic(&mut self, name: &TopicName, id: TopicId) {
        self.topics.insert(TopicName::clone(name), id);
    }

    pub(super) fn of_position(&mut self, at: TopicPartition, needed: Offset, earliest: Offset) {
        self.below.insert(at, Below { needed, earliest });
    }

    /// Without those that the round before had already: the broker had said it before this round's first look at the
    /// checkpoint, which so was a second one.
    #[must_use]
    pub fn since(mut self, before: &Self) -> Self {
        self.below.retain(|at, now| before.below.get(at).is_none_or(|known| now.needed >= known.earliest));
        self.topics.retain(|name, id| before.topics.get(name) != Some(id));
        self.cluster = self.cluster.filter(|id| before.cluster.as_ref() != Some(id));
        self
    }

    /// Whether nothing is in doubt.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.below.is_empty() && self.topics.is_empty() && self.cluster.is_none()
    }

    /// The cluster as a query of these topics is to see it while nothing settles them: of what is doubted nothing was
    /// read.
    ///
    /// # Errors
    ///
    /// All of the cluster is doubted.
    pub fn hide(
        &self,
        cluster: &ClusterReading,
        topics: &BTreeSet<TopicName>,
        why: &Unread,
    ) -> Result<ClusterReading, Unread> {
        if self.cluster.is_some() {
            return Err(why.clone());
        }
        let mut cluster = cluster.only(topics);
        for name in self.topics.keys() {
            cluster.topics.insert(TopicName::clone(name), TopicSight::Unread(why.clone()));
        }
        for at in self.below.keys() {
            if let Some(TopicSight::Seen(topic)) = cluster.topics.get_mut(&at.topic) {
                topic.partitions.insert(at.partition, Err(why.clone()));
            }
        }
        Ok(cluster)
    }
}
