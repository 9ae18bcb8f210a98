//! The judgement's memory in pieces: one for each query, one for each partition. Only pieces that changed are written.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;

use crate::judgement::{Deadline, PartitionMemory, QueryMemory};
use crate::measures::{Moment, TopicName, TopicPartition};

/// What no round changes but the clock is written at most so often: when a checkpoint was last read, the window of
/// bounds.
const SELDOM: Duration = Duration::from_secs(600);

/// A piece of memory that the ledger does not have yet.
#[derive(Clone, Debug)]
pub struct Piece {
    /// Whose.
    pub query: String,
    /// Of this partition; absent: of the query as a whole.
    pub partition: Option<TopicPartition>,
    /// What to put in its place; absent: nothing is remembered any more.
    pub content: Option<Content>,
    /// Nothing of the query was written before: what may stand there is of no use.
    pub(super) is_first: bool,
    mark: Mark,
}

/// A piece as JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The memory, without what is empty and without the window.
    pub memory: String,
    /// The partition's window of bounds, where it is due.
    pub window: Option<String>,
}

/// How a piece is recognised once it is written.
#[derive(Clone, Debug)]
enum Mark {
    Query(Box<QueryMemory>),
    Partition(Known),
    Gone,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    fingerprint: u64,
    deadline: Option<Deadline>,
    /// The last sample of the window as written.
    window_until: Option<Moment>,
}

/// What a ledger has of the memories, piece by piece.
#[derive(Debug, Default)]
pub struct Written {
    queries: BTreeMap<String, WrittenQuery>,
}

#[derive(Debug, Default)]
struct WrittenQuery {
    whole: QueryMemory,
    partitions: BTreeMap<TopicPartition, Known>,
}

impl Written {
    /// As if this were written: it was just read from there.
    pub fn insert(&mut self, query: &str, memory: &QueryMemory) {
        let partitions = partitions(memory).map(|(at, one)| (at, Known::of(one))).collect();
        self.queries.insert(query.to_owned(), WrittenQuery { whole: memory.without_partitions(), partitions });
    }

    /// Knows nothing any more of queries that are not there.
    pub fn retain(&mut self, here: impl Fn(&String) -> bool) {
        self.queries.retain(|query, _| here(query));
    }

    /// The pieces that are other than what is written. A query of which nothing is written comes first with the query
    /// as a whole: that clears whatever an unreadable memory has left.
    ///
    /// # Errors
    /// When a memory cannot be told in JSON.
    pub fn changes(&self, memories: &BTreeMap<String, QueryMemory>) -> serde_json::Result<Vec<Piece>> {
        let mut pieces = Vec::new();
        for (query, memory) in memories {
            let written = self.queries.get(query);
            let whole = memory.without_partitions();
            if written.is_none_or(|written| !same(&written.whole, &whole)) {
                let content = Content { memory: compact(&whole)?, window: None };
                let mark = Mark::Query(Box::new(whole));
                let is_first = written.is_none();
                pieces.push(Piece { query: query.clone(), partition: None, content: Some(content), is_first, mark });
            }
            for (at, one) in partitions(memory) {
                let before = written.and_then(|written| written.partitions.get(&at));
                if let Some(piece) = changed(query, at, one, before)? {
                    pieces.push(piece);
                }
            }
            for at in written.iter().flat_map(|written| written.partitions.keys()) {
                if memory.topics.get(&at.topic).is_none_or(|topic| !topic.partitions.contains_key(&at.partition)) {
                    let (query, partition) = (query.clone(), Some(at.clone()));
                    pieces.push(Piece { query, partition, content: None, is_first: false, mark: Mark::Gone });
                }
            }
        }
        Ok(pieces)
    }

    /// Takes note that these are written now.
    pub fn accept(&mut self, pieces: Vec<Piece>) {
        for Piece { query, partition, mark, .. } in pieces {
            let known = self.queries.entry(query).or_default();
            match (mark, partition) {
                (Mark::Query(whole), _) => known.whole = *whole,
                (Mark::Partition(one), Some(at)) => _ = known.partitions.insert(at, one),
                (Mark::Gone, Some(at)) => _ = known.partitions.remove(&at),
                (Mark::Partition(_) | Mark::Gone, None) => {}
            }
        }
    }
}

impl Known {
    fn of(one: &PartitionMemory) -> Self {
        Self {
            fingerprint: one.fingerprint(),
            deadline: one.deadline,
            window_until: one.window.last().map(|sample| sample.at),
        }
    }

    /// Whether only such things differ as need not be written: a deadline that moved on was a proof before, too.
    fn covers(&self, now: &Self) -> bool {
        let deadline_holds = match (self.deadline, now.deadline) {
            (Some(before), Some(now)) => before <= now,
            (before, now) => before == now,
        };
        self.fingerprint == now.fingerprint && deadline_holds
    }
}

fn changed(
    query: &str,
    at: TopicPartition,
    one: &PartitionMemory,
    before: Option<&Known>,
) -> serde_json::Result<Option<Piece>> {
    let mut now = Known::of(one);
    if before.is_some_and(|before| before.covers(&now)) {
        return Ok(None);
    }
    let window = window_due(one, before.and_then(|before| before.window_until));
    if !window {
        now.window_until = before.and_then(|before| before.window_until);
    }
    let slim = PartitionMemory { window: Vec::new(), ..one.clone() };
    let window = if window { Some(serde_json::to_string(&one.window)?) } else { None };
    let content = Content { memory: compact(&slim)?, window };
    Ok(Some(Piece {
        query: query.to_owned(),
        partition: Some(at),
        content: Some(content),
        is_first: false,
        mark: Mark::Partition(now),
    }))
}

/// The window goes along when nothing of the written one is left in it, or when that is old.
fn window_due(one: &PartitionMemory, written_until: Option<Moment>) -> bool {
    let Some(until) = written_until else { return !one.window.is_empty() };
    match (one.window.first(), one.window.last()) {
        (Some(first), Some(last)) => first.at > until || last.at.since(until) >= SELDOM,
        _ => true,
    }
}

/// When the checkpoint was read changes in every round, and is no news by itself.
fn same(before: &QueryMemory, now: &QueryMemory) -> bool {
    let mut before = before.clone();
    if let (Some(before), Some(now)) = (&mut before.checkpoint, &now.checkpoint)
        && now.read_at.since(before.read_at) < SELDOM
    {
        before.read_at = now.read_at;
    }
    before == *now
}

fn partitions(memory: &QueryMemory) -> impl Iterator<Item = (TopicPartition, &PartitionMemory)> {
    let topics = memory.topics.iter();
    topics.flat_map(|(name, topic)| {
        topic.partitions.iter().map(|(number, one)| (TopicPartition::new(name, *number), one))
    })
}

/// Without the fields that say nothing: a memory that was never told of a thing is the same as one that was told of
/// none.
fn compact(memory: &impl Serialize) -> serde_json::Result<String> {
    let mut value = serde_json::to_value(memory)?;
    if let Some(fields) = value.as_object_mut() {
        fields.retain(|_, field| match field {
            Value::Null | Value::Bool(false) => false,
            Value::Array(items) => !items.is_empty(),
            Value::Object(items) => !items.is_empty(),
            _ => true,
        });
    }
    Ok(value.to_string())
}

/// Pieces as they were written, to be put together again.
#[derive(Clone, Debug, Default)]
pub struct Pieces {
    wholes: BTreeMap<String, String>,
    partitions: BTreeMap<String, BTreeMap<TopicPartition, (String, Option<String>)>>,
}

impl Pieces {
    /// Puts a changed piece into its place.
    pub fn put(&mut self, piece: &Piece) {
        match (&piece.partition, &piece.content) {
            (None, Some(content)) => {
                if piece.is_first {
                    self.partitions.remove(&piece.query);
                }
                self.put_whole(piece.query.clone(), content.memory.clone());
            }
            (None, None) => {}
            (Some(at), Some(Content { memory, window })) => {
                let kept = self.partitions.get(&piece.query).and_then(|of_query| of_query.get(at)?.1.clone());
                let window = window.clone().or(kept);
                self.put_partition(piece.query.clone(), at.clone(), memory.clone(), window);
            }
            (Some(at), None) => {
                self.partitions.entry(piece.query.clone()).or_default().remove(at);
            }
        }
    }

    /// Of a query as a whole.
    pub(super) fn put_whole(&mut self, query: String, memory: String) {
        self.wholes.insert(query, memory);
    }

    /// Of one partition.
    pub(super) fn put_partition(&mut self, query: String, at: TopicPartition, memory: String, window: Option<String>) {
        self.partitions.entry(query).or_default().insert(at, (memory, window));
    }

    /// Each query's memory, or why it makes no sense. Partitions without their query say nothing.
    #[must_use]
    pub fn memories(&self) -> BTreeMap<String, serde_json::Result<QueryMemory>> {
        let memory = |query: &String, whole: &String| -> serde_json::Result<QueryMemory> {
            let mut memory: QueryMemory = serde_json::from_str(whole)?;
            for (at, (text, window)) in self.partitions.get(query).into_iter().flatten() {
                let mut one: PartitionMemory = serde_json::from_str(text)?;
                if let Some(window) = window {
                    one.window = serde_json::from_str(window)?;
                }
                let topic = memory.topics.entry(TopicName::clone(&at.topic)).or_default();
                topic.partitions.insert(at.partition, one);
            }
            Ok(memory)
        };
        self.wholes.iter().map(|(query, whole)| (query.clone(), memory(query, whole))).collect()
    }
}
