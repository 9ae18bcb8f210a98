//! What a reader remembers between passes. Nothing in it is published by itself; it saves requests, and makes an
//! answer that shrank doubtful.

use std::collections::{BTreeMap, BTreeSet};

use super::clocks::End;
use super::librdkafka::Described;
use super::limits::KnownLimits;
use super::lookups::Place;
use super::times::Times;
use crate::measures::{Moment, Offset, TopicName, TopicPartition};
use crate::retention::{Abilities, Clocks, Limits, PartitionReading, Proofs, TopicId};

/// Everything that is kept.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// The cluster's name, for the log.
    pub(super) cluster: String,
    pub(super) overrides: BTreeMap<TopicName, Limits>,
    pub(super) topics: BTreeMap<TopicName, KnownTopic>,
    /// Which brokers' clocks run ahead of ours.
    pub(super) clocks: Clocks,
    /// What the brokers can do.
    pub(super) abilities: Abilities,
}

/// A topic that somebody asks for.
#[derive(Debug, Default)]
pub(super) struct KnownTopic {
    /// Whether a good answer ever had it.
    pub(super) seen: bool,
    /// Its identity when it was last seen.
    pub(super) id: Option<TopicId>,
    pub(super) limits: Option<KnownLimits>,
    pub(super) partitions: BTreeMap<i32, KnownPartition>,
}

/// One partition of a topic that was seen.
#[derive(Debug, Default)]
pub(super) struct KnownPartition {
    /// Who leads it, as the newest answer said it.
    pub(super) leader: Option<i32>,
    pub(super) oldest: Option<Oldest>,
    pub(super) proofs: Proofs,
    /// Whether look-ups by time tell anything.
    pub(super) times: Times,
    /// Where it ended, where the leader stamps its records.
    pub(super) end: Option<End>,
}

/// The oldest record of a partition, and where the log started and ended when it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Oldest {
    pub(super) earliest: Offset,
    pub(super) latest: Offset,
    /// Absent when nothing answered.
    pub(super) record: Option<(Offset, Moment)>,
}

impl Oldest {
    /// Whether it may be another one by now. Where no topic id tells that the topic was made again, a log that is no
    /// longer as it was may be another one that starts at the same offset.
    pub(super) fn is_old(&self, now: &PartitionReading, has_id: bool) -> bool {
        self.earliest != now.earliest || (!has_id && self.latest != now.latest)
    }
}

impl Memory {
    pub(super) fn new(cluster: String, overrides: BTreeMap<TopicName, Limits>) -> Self {
        Self { cluster, overrides, ..Self::default() }
    }

    /// Forgets topics that nobody asks for any more.
    pub(super) fn keep(&mut self, wanted: &BTreeSet<TopicName>) {
        self.topics.retain(|topic, _| wanted.contains(topic));
    }

    /// Nobody is known to lead anything until the next answers are noted.
    pub(super) fn forget_leaders(&mut self) {
        let partitions = self.topics.values_mut().flat_map(|topic| topic.partitions.values_mut());
        partitions.for_each(|partition| partition.leader = None);
    }

    /// Takes note of a good answer.
    pub(super) fn note(&mut self, topic: &TopicName, described: &Described) {
        if !self.topics.contains_key(topic) {
            self.topics.insert(TopicName::clone(topic), KnownTopic::default());
        }
        if let Some(known) = self.topics.get_mut(topic) {
            known.note(described);
        }
    }

    pub(super) fn topic(&self, topic: &TopicName) -> Option<&KnownTopic> {
        self.topics.get(topic)
    }

    pub(super) fn partition(&mut self, at: &TopicPartition) -> Option<&mut KnownPartition> {
        self.topics.get_mut(&at.topic)?.partitions.get_mut(&at.partition)
    }

    /// The partition, with who leads it.
    pub(super) fn place(&self, at: &TopicPartition) -> Place {
        let known = self.topics.get(&at.topic).and_then(|topic| topic.partitions.get(&at.partition));
        let leader = known.and_then(|known| known.leader);
        Place { topic: TopicName::clone(&at.topic), partition: at.partition, leader }
    }
}

impl KnownTopic {
    fn note(&mut self, described: &Described) {
        // Kafka takes no partition from a topic that stays the same one: an answer that lacks some is incomplete.
        // Without an identity there is no telling, and what is not there is not there.
        if self.id != described.id {
            self.partitions.clear();
        } else if described.id.is_none() {
            self.partitions.retain(|at, _| described.leaders.contains_key(at));
        }
        self.seen = true;
        self.id = described.id;
        self.partitions.values_mut().for_each(|partition| partition.leader = None);
        for (at, leader) in &described.leaders {
            self.partitions.entry(*at).or_default().leader = *leader;
        }
    }

    /// Whether the answer has fewer partitions than were seen.
    pub(super) fn lacks_some(&self, described: &Described) -> bool {
        self.partitions.keys().any(|at| !described.leaders.contains_key(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_topic_id_the_oldest_record_is_asked_for_whenever_the_log_moved() {
        let offset = |number| Offset::new(number).unwrap();
        let known = Oldest { earliest: offset(0), latest: offset(300), record: None };
        let check = |earliest, latest, has_id, expected| {
            let (earliest, latest) = (offset(earliest), offset(latest));
            let now = PartitionReading { earliest, latest, stable: None, leader_epoch: None, oldest: None };
            assert_eq!(known.is_old(&now, has_id), expected, "{now:?} {has_id}");
        };
        check(0, 300, true, false);
        check(0, 300, false, false);
        check(1, 300, true, true);
        check(0, 301, true, false);
        // Deleted, made again and filled past the positions between two looks: only this record shows it.
        check(0, 301, false, true);
        check(0, 299, false, true);
    }

    fn described(id: u8, leaders: &[(i32, Option<i32>)]) -> Described {
        Described {
            id: (id > 0).then_some(TopicId([id; 16])),
            leaders: leaders.iter().copied().collect(),
            ..Described::default()
        }
    }

    #[test]
    fn partitions_stay_with_a_topic_as_long_as_it_is_the_same_one() {
        let check = |answers: &[Described], expected: &[(i32, Option<i32>)]| {
            let mut memory = Memory::default();
            let topic: TopicName = "t".into();
            answers.iter().for_each(|answer| memory.note(&topic, answer));
            let known: Vec<_> =
                memory.topics[&topic].partitions.iter().map(|(at, known)| (*at, known.leader)).collect();
            assert_eq!(known, expected, "{answers:?}");
        };
        let both = [(0, Some(1)), (1, Some(2))];
        check(&[described(1, &both)], &both);
        check(&[described(1, &both), described(1, &[(0, Some(1))])], &[(0, Some(1)), (1, None)]);
        check(&[described(1, &both), described(1, &[(0, None), (1, Some(2))])], &[(0, None), (1, Some(2))]);
        check(&[described(1, &both), described(2, &[(0, Some(1))])], &[(0, Some(1))]);
        check(&[described(0, &both), described(0, &[(0, Some(1))])], &[(0, Some(1))]);
    }
}
