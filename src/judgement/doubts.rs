//! What only a second look at the checkpoint settles: the query may have moved on between the two reads.

use std::borrow::Cow;
use std::collections::BTreeMap;

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

    /// Without those that an earlier round had already: this round's first look at the checkpoint came after the
    /// broker had said it, and so was a second one.
    #[must_use]
    pub fn since(mut self, before: &Self) -> Self {
        self.below.retain(|at, now| before.below.get(at).is_none_or(|known| now.needed >= known.earliest));
        self.topics.retain(|name, id| before.topics.get(name) != Some(id));
        self.cluster = self.cluster.filter(|id| before.cluster.as_ref() != Some(id));
        self
    }

    /// The cluster as the query is to see it while nothing settles them: of what is doubted nothing was read.
    ///
    /// # Errors
    ///
    /// All of the cluster is doubted.
    pub fn hide<'a>(&self, cluster: &'a ClusterReading, why: &Unread) -> Result<Cow<'a, ClusterReading>, Unread> {
        if self.cluster.is_some() {
            return Err(why.clone());
        }
        if self.below.is_empty() && self.topics.is_empty() {
            return Ok(Cow::Borrowed(cluster));
        }
        let mut cluster = cluster.clone();
        for name in self.topics.keys() {
            cluster.topics.insert(TopicName::clone(name), TopicSight::Unread(why.clone()));
        }
        for at in self.below.keys() {
            if let Some(TopicSight::Seen(topic)) = cluster.topics.get_mut(&at.topic) {
                topic.partitions.insert(at.partition, Err(why.clone()));
            }
        }
        Ok(Cow::Owned(cluster))
    }
}
