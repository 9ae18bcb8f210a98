//! The JSON of a Kafka offset, taken in one pass: a file that somebody made to be large must not grow into many times
//! its size in memory.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::text::{BadFile, shortened};
use crate::measures::TopicName;

/// More topics than a query can plan over within any useful time. Each costs a hundred times its name in memory.
const MOST_TOPICS: usize = 10_000;
/// As many as a whole Kafka cluster bears with ZooKeeper, and far more than one query reads.
const MOST_PARTITIONS: usize = 200_000;

/// Topic to partition to the number that stands there. Numbers may be −1 or −2, which only people write.
pub(super) type KafkaMap = BTreeMap<TopicName, BTreeMap<i32, i64>>;

/// How much was read so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tally {
    pub(super) topics: usize,
    pub(super) partitions: usize,
}

impl Tally {
    /// What there is too much of, in words.
    pub(super) fn excess(self) -> Option<String> {
        if self.topics > MOST_TOPICS {
            return Some(format!("more than {MOST_TOPICS} topics"));
        }
        (self.partitions > MOST_PARTITIONS).then(|| format!("more than {MOST_PARTITIONS} partitions"))
    }
}

/// The map, when the text is shaped like Kafka's: legal topic names, decimal partitions, numbers. An error when it is,
/// and it holds a number that is no offset, a name twice, or too much.
pub(super) fn map(text: &str, tally: &mut Tally) -> Result<Option<KafkaMap>, BadFile> {
    let mut topics = Topics { map: KafkaMap::new(), tally: *tally, odd: None };
    let mut json = serde_json::Deserializer::from_str(text);
    let read = DeserializeSeed::deserialize(&mut topics, &mut json).and_then(|()| json.end());
    if read.is_err() {
        return Ok(None);
    }
    let Topics { map, tally: now, odd } = topics;
    *tally = now;
    match odd {
        Some(why) => Err(why),
        None => Ok(Some(map).filter(|map| !map.is_empty())),
    }
}

struct Topics {
    map: KafkaMap,
    tally: Tally,
    /// The first thing that can not be right although the shape is. Told only when all of it has the shape.
    odd: Option<BadFile>,
}

impl<'de> DeserializeSeed<'de> for &mut Topics {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut Topics {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("topics")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut json: A) -> Result<(), A::Error> {
        while let Some(topic) = json.next_key::<String>()? {
            if !is_topic_name(&topic) {
                return Err(A::Error::custom("no topic"));
            }
            self.tally.topics += 1;
            let mut partitions = Partitions { topic: &topic, numbers: BTreeMap::new(), seen: false, all: self };
            json.next_value_seed(&mut partitions)?;
            let numbers = partitions.numbers;
            match self.map.entry(topic.into()) {
                Entry::Vacant(slot) => _ = slot.insert(numbers),
                Entry::Occupied(slot) => {
                    let twice = || BadFile::Doubtful(format!("topic {} stands in it twice", slot.key()));
                    self.odd.get_or_insert_with(twice);
                }
            }
        }
        Ok(())
    }
}

struct Partitions<'a> {
    topic: &'a str,
    numbers: BTreeMap<i32, i64>,
    seen: bool,
    all: &'a mut Topics,
}

impl<'de> DeserializeSeed<'de> for &mut Partitions<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for &mut Partitions<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("partitions")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut json: A) -> Result<(), A::Error> {
        while let Some(Partition(partition)) = json.next_key()? {
            self.seen = true;
            self.all.tally.partitions += 1;
            let number: &RawValue = json.next_value()?;
            self.take(partition, number.get()).map_err(A::Error::custom)?;
        }
        if self.seen { Ok(()) } else { Err(A::Error::custom("no partitions")) }
    }
}

impl Partitions<'_> {
    fn take(&mut self, partition: Option<i32>, number: &str) -> Result<(), &'static str> {
        if !number.starts_with(|first: char| first == '-' || first.is_ascii_digit()) {
            return Err("no number");
        }
        if self.all.odd.is_some() {
            return Ok(());
        }
        let topic = self.topic;
        let doubtful = |words: String| Some(BadFile::Doubtful(words));
        let offset = number.parse().ok().filter(|number| *number >= -2);
        let odd = match (partition, offset) {
            (None, _) => doubtful(format!("a partition of {topic} has a number beyond all partitions")),
            (Some(partition), None) => {
                doubtful(format!("{topic}/{partition} is at {}, which is no offset", shortened(number)))
            }
            (Some(partition), Some(offset)) => match self.numbers.insert(partition, offset) {
                Some(_) => doubtful(format!("{topic}/{partition} stands in it twice")),
                None => self.all.tally.excess().map(BadFile::Unsupported),
            },
        };
        self.all.odd = odd;
        Ok(())
    }
}

/// The number of a partition; absent when it is decimal and does not fit.
struct Partition(Option<i32>);

impl<'de> Deserialize<'de> for Partition {
    fn deserialize<D: Deserializer<'de>>(json: D) -> Result<Self, D::Error> {
        struct Decimal;
        impl Visitor<'_> for Decimal {
            type Value = Partition;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a partition")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Partition, E> {
                if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
                    return Err(E::custom("no partition"));
                }
                Ok(Partition(text.parse().ok()))
            }
        }
        json.deserialize_str(Decimal)
    }
}

/// Kafka's rule for names, and MapR's, whose topics are paths with `/` and `:`.
fn is_topic_name(name: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/:".contains(&byte);
    (1..=249).contains(&name.len()) && name != "." && name != ".." && name.bytes().all(legal)
}
