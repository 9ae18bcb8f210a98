//! Stands between the rounds and the readers of the real thing, and writes down what each of them said.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};

use super::anonymous::Names;
use super::written;
use crate::checkpoint::{self, CheckpointReading, OlderEntry};
use crate::measures::{BatchId, Moment, Offset, TopicPartition, Unread};
use crate::readers::stores::{CheckpointFiles, CheckpointStore};
use crate::readers::{AgeRequest, BrokerReader, CheckpointReader, FirstSince, RequestCounts, WantedTopic};
use crate::retention::{Age, ClusterReading};

/// Writes one query down, round by round.
#[derive(Debug)]
pub struct Recorder {
    heard: Arc<Mutex<Heard>>,
    names: Names,
    /// What stands in the steps so far.
    files: Map<String, Value>,
    kafka: Map<String, Value>,
    steps: Vec<Value>,
}

/// What the readers said in the round under way.
#[derive(Debug, Default)]
pub(super) struct Heard {
    pub(super) checkpoints: Vec<Result<CheckpointFiles, Unread>>,
    /// Files of older batches that were read besides, by path.
    pub(super) older: BTreeMap<String, Vec<u8>>,
    pub(super) cluster: Option<Result<ClusterReading, Unread>>,
    pub(super) latest: BTreeMap<TopicPartition, Result<Offset, Unread>>,
    pub(super) ages: BTreeMap<(TopicPartition, Offset), Age>,
}

impl Recorder {
    /// Begins a recording; names are replaced where `anonymise` says so.
    #[must_use]
    pub fn new(anonymise: bool) -> Self {
        Self {
            heard: Arc::default(),
            names: Names::new(anonymise),
            files: Map::new(),
            kafka: Map::new(),
            steps: Vec::new(),
        }
    }

    /// A reader that reads the checkpoint for the rounds, and for the recording.
    #[must_use]
    pub fn checkpoint(&self, store: CheckpointStore) -> Arc<dyn CheckpointReader> {
        Arc::new(HeardCheckpoint { store, heard: Arc::clone(&self.heard) })
    }

    /// A reader that asks the brokers for the rounds, and for the recording.
    #[must_use]
    pub fn brokers(&self, brokers: Arc<dyn BrokerReader>) -> Arc<dyn BrokerReader> {
        Arc::new(HeardBrokers { brokers, heard: Arc::clone(&self.heard) })
    }

    /// Ends a round: what changed in it becomes a step. A clock that stepped back cannot be told, and is not.
    pub fn step(&mut self, at: Moment, told: &str) {
        let mut heard = std::mem::take(&mut *lock(&self.heard));
        for files in heard.checkpoints.iter_mut().flatten() {
            files.contents.extend(heard.older.clone());
        }
        let mut step = Map::new();
        step.insert("at".to_owned(), json!(told));
        let mut reads = heard.checkpoints.iter();
        match reads.next() {
            Some(Ok(files)) => {
                let files = written::files(files, &mut self.names);
                put(&mut step, "checkpoint", written::difference(&self.files, &files));
                self.files = files;
            }
            Some(Err(unread)) => _ = step.insert("checkpoint_error".to_owned(), json!(unread.reason.label())),
            None => {}
        }
        if let Some(Ok(files)) = reads.next() {
            let again = written::files(files, &mut self.names);
            put(&mut step, "checkpoint_again", written::difference(&self.files, &again));
        }
        match &heard.cluster {
            Some(Ok(cluster)) => {
                let kafka = written::kafka(cluster, &heard.ages, at, &mut self.names);
                put(&mut step, "kafka", written::kafka_difference(&self.kafka, &kafka));
                put(&mut step, "kafka_again", written::kafka_again(cluster, &heard.latest, &mut self.names));
                self.kafka = kafka;
            }
            Some(Err(unread)) => _ = step.insert("kafka_error".to_owned(), json!(unread.reason.label())),
            None => {}
        }
        self.steps.push(Value::Object(step));
    }

    /// The scenario.
    #[must_use]
    pub fn scenario(self, about: &str, configuration: &Value) -> Value {
        json!({"brinkwatch_scenario": 1, "about": about, "configuration": configuration, "steps": self.steps})
    }
}

fn put(step: &mut Map<String, Value>, key: &str, value: Map<String, Value>) {
    if !value.is_empty() {
        step.insert(key.to_owned(), Value::Object(value));
    }
}

fn lock(heard: &Mutex<Heard>) -> MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Debug)]
struct HeardCheckpoint {
    store: CheckpointStore,
    heard: Arc<Mutex<Heard>>,
}

impl CheckpointReader for HeardCheckpoint {
    fn read(&self, deadline: Duration) -> BoxFuture<'_, Result<CheckpointReading, Unread>> {
        async move {
            let answer = self.store.read_with_files(deadline).await;
            let (reading, files) = match answer {
                Ok((reading, files)) => (Ok(reading), Ok(files)),
                Err(unread) => (Err(unread.clone()), Err(unread)),
            };
            lock(&self.heard).checkpoints.push(files);
            reading
        }
        .boxed()
    }

    fn older(&self, batches: &[BatchId], deadline: Duration) -> BoxFuture<'_, BTreeMap<BatchId, OlderEntry>> {
        let batches = batches.to_vec();
        async move {
            let files = self.store.older_files(&batches, deadline).await;
            let entry = |(batch, bytes): (&BatchId, &Vec<u8>)| Some((*batch, checkpoint::older_entry(bytes)?));
            let entries = files.iter().filter_map(entry).collect();
            let named = files.into_iter().map(|(batch, bytes)| (format!("offsets/{batch}"), bytes));
            lock(&self.heard).older.extend(named);
            entries
        }
        .boxed()
    }

    fn location(&self) -> &str {
        self.store.location()
    }

    fn requests(&self) -> RequestCounts {
        self.store.requests()
    }
}

#[derive(Debug)]
struct HeardBrokers {
    brokers: Arc<dyn BrokerReader>,
    heard: Arc<Mutex<Heard>>,
}

impl BrokerReader for HeardBrokers {
    fn topics(
        &self,
        wanted: &[WantedTopic],
        now: Moment,
        deadline: Duration,
    ) -> BoxFuture<'_, Result<ClusterReading, Unread>> {
        let wanted = wanted.to_vec();
        async move {
            let answer = self.brokers.topics(&wanted, now, deadline).await;
            lock(&self.heard).cluster = Some(answer.clone());
            answer
        }
        .boxed()
    }

    fn latest(
        &self,
        partitions: &[TopicPartition],
        deadline: Duration,
    ) -> BoxFuture<'_, BTreeMap<TopicPartition, Result<Offset, Unread>>> {
        let partitions = partitions.to_vec();
        async move {
            let answer = self.brokers.latest(&partitions, deadline).await;
            lock(&self.heard).latest.clone_from(&answer);
            answer
        }
        .boxed()
    }

    /// Of a person's own question, which no verdict is made of: it is not part of what was observed.
    fn first_since(
        &self,
        asked: &[(TopicPartition, Moment)],
        deadline: Duration,
    ) -> BoxFuture<'_, BTreeMap<TopicPartition, FirstSince>> {
        self.brokers.first_since(asked, deadline)
    }

    fn ages(
        &self,
        asked: &[AgeRequest],
        now: Moment,
        deadline: Duration,
    ) -> BoxFuture<'_, BTreeMap<(TopicPartition, Offset), Age>> {
        let asked = asked.to_vec();
        async move {
            let answer = self.brokers.ages(&asked, now, deadline).await;
            lock(&self.heard).ages.clone_from(&answer);
            answer
        }
        .boxed()
    }

    fn requests(&self) -> BTreeMap<&'static str, u64> {
        self.brokers.requests()
    }
}
