//! Where a new query has to start, for every partition of every topic, and what it passes over or reads twice.
//!
//! Spark takes `startingOffsets` only when it names exactly the partitions that the query is assigned: one too few or
//! one too many and the query does not start. So a partition that could not be read makes the whole answer impossible,
//! a new one is named with −2 (earliest), and one that the broker no longer has is left out.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use thiserror::Error;

use super::spark::{Form, SparkVersion};
use crate::measures::{Moment, Offset, TopicName, TopicPartition, Unread};
use crate::retention::{ClusterReading, PartitionReading, TopicSight};

/// What the start is reckoned from.
#[derive(Clone, Debug)]
pub enum Anchor {
    /// Where the query stood.
    Position,
    /// The log's start.
    Earliest,
    /// The log's end.
    Latest,
    /// The first record at or after a time, as the broker answered for each partition.
    Time(Moment, BTreeMap<TopicPartition, Result<Option<Offset>, Unread>>),
}

/// What a start is wanted for.
#[derive(Debug)]
pub struct Request<'a> {
    /// What the start is reckoned from.
    pub anchor: &'a Anchor,
    /// Where the query stood.
    pub positions: &'a BTreeMap<TopicPartition, Offset>,
    /// What the brokers say.
    pub cluster: &'a ClusterReading,
    /// The topics that the query reads.
    pub topics: &'a BTreeSet<TopicName>,
    /// Topics that were deleted and made again: positions in them mean nothing.
    pub made_again: &'a BTreeSet<TopicName>,
    /// The query is assigned just the partitions of its positions.
    pub assigned: bool,
    /// The query names its topics by a pattern: one that is gone is simply matched no more.
    pub pattern: bool,
    /// The query reads up to the last stable offset only.
    pub committed_only: bool,
}

/// Offsets from the first up to the second, which is not one of them.
pub type Range = (Offset, Offset);

/// Where one partition starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartitionStart {
    /// Which.
    pub at: TopicPartition,
    /// What is written: a number, or earliest (−2) where the number would age.
    pub start: Option<Offset>,
    /// Where that is now.
    pub begins: Offset,
    /// Why there.
    pub because: Because,
    /// Where the query stood.
    pub stood: Option<Offset>,
    /// Not read, and no longer in Kafka.
    pub gone: Option<Range>,
    /// Not read, still in Kafka, and passed over.
    pub skipped: Option<Range>,
    /// Read before, and read again.
    pub repeated: Option<Range>,
}

/// Why a partition starts where it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Because {
    /// As it was asked for.
    Asked,
    /// The query had no position in it.
    New,
    /// The position is below the log's start.
    Aged,
    /// The position is beyond the log's end: the log was cut, or made again.
    BeyondEnd,
    /// The topic was made again, so its start is taken.
    MadeAgain,
    /// No record is as young as the time, so the end is taken.
    NothingThatYoung,
}

/// The answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Every partition, in order.
    pub starts: Vec<PartitionStart>,
    /// Where the query stood in partitions that the broker does not have.
    pub left_out: BTreeMap<TopicPartition, Offset>,
}

/// Why there is no answer.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Refusal {
    /// Nothing says what the query reads.
    #[error("no topic is known: name the topics with --topic")]
    NoTopics,
    /// The query stood nowhere.
    #[error("no position is known: choose earliest, latest or a time")]
    NoPositions,
    /// A topic is not there.
    #[error("topic {topic} does not exist, and Spark refuses to subscribe to it")]
    Absent {
        /// Which.
        topic: TopicName,
    },
    /// Something was not read. A list with a hole in it is one that Spark refuses.
    #[error("{what} could not be read ({unread}), and Spark takes only a list of all partitions")]
    Unread {
        /// What.
        what: String,
        /// Why.
        unread: Unread,
    },
    /// The version does not know the option.
    #[error("Spark {version} does not know {}; it came with {}", .form.option(), .form.since())]
    NotKnown {
        /// Which option.
        form: Form,
        /// Which version.
        version: SparkVersion,
    },
    /// Only a time can be written as one.
    #[error("{} takes a time: give one with --at", .form.option())]
    NoTime {
        /// Which option.
        form: Form,
    },
    /// Spark would find no record.
    #[error("{at} holds no record that young, and Spark {version} refuses to start then: use startingOffsets")]
    NothingThatYoung {
        /// Where.
        at: TopicPartition,
        /// Which version.
        version: SparkVersion,
    },
}

/// Reckons where each partition starts.
///
/// # Errors
/// When Spark would refuse the answer, or it would have a hole.
pub fn plan(request: &Request<'_>) -> Result<Plan, Refusal> {
    if request.topics.is_empty() {
        return Err(Refusal::NoTopics);
    }
    if request.positions.is_empty() && (matches!(request.anchor, Anchor::Position) || request.assigned) {
        return Err(Refusal::NoPositions);
    }
    let mut plan = Plan::default();
    for topic in request.topics {
        let partitions = match request.cluster.topics.get(topic) {
            Some(TopicSight::Seen(reading)) => &reading.partitions,
            Some(TopicSight::Unread(unread)) => return Err(not_read(format!("topic {topic}"), unread)),
            Some(TopicSight::Absent) if request.pattern => &BTreeMap::new(),
            Some(TopicSight::Absent) | None => return Err(Refusal::Absent { topic: TopicName::clone(topic) }),
        };
        for (number, bounds) in partitions {
            let at = TopicPartition::new(topic, *number);
            if request.assigned && !request.positions.contains_key(&at) {
                continue;
            }
            let bounds = bounds.as_ref().map_err(|unread| not_read(format!("partition {at}"), unread))?;
            plan.starts.push(start(request, at, bounds)?);
        }
    }
    let there: BTreeSet<&TopicPartition> = plan.starts.iter().map(|start| &start.at).collect();
    let gone = request.positions.iter().filter(|(at, _)| request.topics.contains(&at.topic) && !there.contains(at));
    plan.left_out = gone.map(|(at, stood)| (at.clone(), *stood)).collect();
    if plan.starts.is_empty() { Err(Refusal::NoTopics) } else { Ok(plan) }
}

fn not_read(what: String, unread: &Unread) -> Refusal {
    Refusal::Unread { what, unread: unread.clone() }
}

fn start(request: &Request<'_>, at: TopicPartition, bounds: &PartitionReading) -> Result<PartitionStart, Refusal> {
    let earliest = bounds.earliest;
    let stable = bounds.stable.filter(|_| request.committed_only);
    let end = stable.map_or(bounds.latest, |stable| stable.min(bounds.latest)).max(earliest);
    let made_again = request.made_again.contains(&at.topic);
    let stood = request.positions.get(&at).copied().filter(|_| !made_again);
    // Earliest is written as such: its number may be gone by the time the query starts. The end is written as a number:
    // by then it would be further on, and what came in between would be skipped.
    let (written, begins, because) = match request.anchor {
        Anchor::Earliest => (None, earliest, Because::Asked),
        Anchor::Latest => (Some(end), end, Because::Asked),
        Anchor::Time(_, found) => match found.get(&at) {
            Some(Ok(Some(offset))) => {
                let begins = (*offset).clamp(earliest, end);
                (Some(begins), begins, Because::Asked)
            }
            Some(Ok(None)) => (Some(end), end, Because::NothingThatYoung),
            Some(Err(unread)) => return Err(not_read(format!("partition {at} at that time"), unread)),
            None => {
                let unread = Unread::new(crate::measures::Reason::NotFound, "it was not asked for");
                return Err(not_read(format!("partition {at} at that time"), &unread));
            }
        },
        Anchor::Position => match stood {
            None if made_again => (None, earliest, Because::MadeAgain),
            None => (None, earliest, Because::New),
            Some(stood) if stood < earliest => (Some(earliest), earliest, Because::Aged),
            Some(stood) if stood > end => (Some(end), end, Because::BeyondEnd),
            Some(stood) => (Some(stood), stood, Because::Asked),
        },
    };
    let range = |from: Offset, to: Offset| (from < to).then_some((from, to));
    Ok(PartitionStart {
        gone: stood.and_then(|stood| range(stood, earliest)),
        skipped: range(stood.unwrap_or(earliest).max(earliest), begins),
        repeated: stood.and_then(|stood| range(begins, stood.min(end))),
        at,
        start: written,
        begins,
        because,
        stood,
    })
}

/// An option as Spark takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// The option's name.
    pub option: &'static str,
    /// Its value.
    pub value: String,
    /// Options that have to stand beside it.
    pub beside: Vec<(&'static str, &'static str)>,
}

/// Writes the plan in one of the forms.
///
/// # Errors
/// When that version of Spark would refuse it.
pub fn write(plan: &Plan, anchor: &Anchor, form: Form, version: SparkVersion) -> Result<Written, Refusal> {
    if !version.knows(form) {
        return Err(Refusal::NotKnown { form, version });
    }
    if form == Form::Offsets {
        let value = by_topic(plan, |start| start.start.map_or(json!(-2), |offset| json!(offset.get())));
        return Ok(Written { option: form.option(), value, beside: Vec::new() });
    }
    let Anchor::Time(at, _) = anchor else { return Err(Refusal::NoTime { form }) };
    let past_the_end = plan.starts.iter().find(|start| start.because == Because::NothingThatYoung);
    let beside = match past_the_end {
        Some(start) if !version.takes_times_past_the_end() => {
            return Err(Refusal::NothingThatYoung { at: start.at.clone(), version });
        }
        Some(_) => vec![("startingOffsetsByTimestampStrategy", "latest")],
        None => Vec::new(),
    };
    let value = match form {
        Form::Timestamp => at.millis().to_string(),
        _ => by_topic(plan, |_| json!(at.millis())),
    };
    Ok(Written { option: form.option(), value, beside })
}

fn by_topic(plan: &Plan, number: impl Fn(&PartitionStart) -> Value) -> String {
    let mut topics = Map::new();
    for start in &plan.starts {
        let topic = topics.entry(start.at.topic.to_string()).or_insert_with(|| json!({}));
        topic[start.at.partition.to_string()] = number(start);
    }
    Value::Object(topics).to_string()
}
