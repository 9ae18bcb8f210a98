//! The two seams of a round, served from a scenario.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, ready};

use super::lookups::{age, look_up};
use super::scenario::{File, Partition};
use super::world::{Kafka, State, Topic, World, overlay};
use crate::checkpoint::{self, CheckpointReading, Listing, LogEntry, OlderEntry};
use crate::measures::{BatchId, Moment, Offset, Reason, TopicName, TopicPartition, Unread};
use crate::readers::{AgeRequest, BrokerReader, CheckpointReader, FirstSince, RequestCounts, WantedTopic};
use crate::retention::{Age, ClusterReading, PartitionReading, TopicReading, TopicSight, Unproved};

/// Reads a checkpoint as it stands in the step.
#[derive(Debug)]
pub(super) struct WrittenCheckpoint {
    pub(super) name: String,
    pub(super) world: World,
}

/// Answers for the brokers as they stand in the step.
#[derive(Debug)]
pub(super) struct WrittenKafka {
    pub(super) world: World,
    /// Whether queries read committed records only.
    pub(super) committed_only: bool,
}

impl CheckpointReader for WrittenCheckpoint {
    fn read(&self, _deadline: Duration) -> BoxFuture<'_, Result<CheckpointReading, Unread>> {
        ready(read(&mut self.world.state(), &self.name)).boxed()
    }

    fn older(&self, batches: &[BatchId], _deadline: Duration) -> BoxFuture<'_, BTreeMap<BatchId, OlderEntry>> {
        let state = self.world.state();
        let entry = |batch: &BatchId| match state.checkpoints.get(&self.name)?.get(&format!("offsets/{batch}"))? {
            File::There { bytes, .. } => Some((*batch, checkpoint::older_entry(bytes)?)),
            File::Unread(_) => None,
        };
        ready(batches.iter().filter_map(entry).collect()).boxed()
    }

    fn location(&self) -> &str {
        &self.name
    }

    fn requests(&self) -> RequestCounts {
        RequestCounts::default()
    }
}

fn read(state: &mut State, name: &str) -> Result<CheckpointReading, Unread> {
    if let Some(error) = &state.step.checkpoint_error {
        return Err(error.clone());
    }
    let mut files = state.checkpoints.get(name).cloned().unwrap_or_default();
    let reads = state.step.reads.entry(name.to_owned()).or_default();
    if *reads > 0 {
        overlay(&mut files, &state.step.files_again);
    }
    *reads += 1;
    let mut listing = listing(&files);
    let sources = std::mem::take(&mut listing.sources);
    let mut contents = BTreeMap::new();
    for path in checkpoint::wanted(&listing) {
        if let Some(bytes) = fetch(&files, &path)? {
            contents.insert(path, bytes);
        }
    }
    if checkpoint::wants_initial_offsets(&listing, &contents) {
        for id in sources.keys() {
            let path = format!("sources/{id}/0");
            if let Some(bytes) = fetch(&files, &path)? {
                contents.insert(path, bytes);
            }
        }
        listing.sources = sources;
    }
    if listing == Listing::default() {
        return Err(Unread::new(Reason::NotFound, "no checkpoint here (no metadata, no offsets, no sources)"));
    }
    Ok(checkpoint::read(&listing, &contents))
}

fn listing(files: &BTreeMap<String, File>) -> Listing {
    let mut listing = Listing::default();
    for (path, file) in files {
        let entry = |name: &str| match file {
            File::There { bytes, modified } => LogEntry {
                name: name.to_owned(),
                size: u64::try_from(bytes.len()).unwrap_or(u64::MAX),
                modified: *modified,
            },
            // A listing shows it all the same.
            File::Unread(_) => LogEntry { name: name.to_owned(), size: 1, modified: None },
        };
        match path.split('/').collect::<Vec<_>>().as_slice() {
            ["metadata"] => listing.metadata = Some(entry("metadata")),
            ["offsets", name] => listing.offsets.push(entry(name)),
            ["commits", name] => listing.commits.push(entry(name)),
            ["sources", id, "0"] => _ = listing.sources.insert((*id).to_owned(), entry("0")),
            _ => {}
        }
    }
    listing
}

fn fetch(files: &BTreeMap<String, File>, path: &str) -> Result<Option<Vec<u8>>, Unread> {
    match files.get(path) {
        None => Ok(None),
        Some(File::There { bytes, .. }) => Ok(Some(bytes.clone())),
        Some(File::Unread(unread)) => Err(Unread::new(unread.reason, format!("{path}: {}", unread.detail))),
    }
}

impl BrokerReader for WrittenKafka {
    fn topics(
        &self,
        wanted: &[WantedTopic],
        _now: Moment,
        _deadline: Duration,
    ) -> BoxFuture<'_, Result<ClusterReading, Unread>> {
        let state = self.world.state();
        let answer = match &state.step.kafka_error {
            Some(error) => Err(error.clone()),
            None => Ok(ClusterReading {
                cluster_id: state.kafka.cluster_id.clone(),
                topics: wanted
                    .iter()
                    .map(|wanted| (TopicName::clone(&wanted.name), sight(&state.kafka, wanted)))
                    .collect(),
                unproved: unproved(&state.kafka, wanted),
                ..ClusterReading::default()
            }),
        };
        ready(answer).boxed()
    }

    fn latest(
        &self,
        partitions: &[TopicPartition],
        _deadline: Duration,
    ) -> BoxFuture<'_, BTreeMap<TopicPartition, Result<Offset, Unread>>> {
        let state = self.world.state();
        let kafka = state.step.kafka_again.as_ref().unwrap_or(&state.kafka);
        let latest = |at: &TopicPartition| match partition(kafka, at) {
            Some(Ok(found)) => Ok(found.latest),
            Some(Err(unread)) => Err(unread.clone()),
            None => Err(Unread::new(Reason::NotFound, "the topic or partition is not there any more")),
        };
        ready(partitions.iter().map(|at| (at.clone(), latest(at))).collect()).boxed()
    }

    fn first_since(
        &self,
        asked: &[(TopicPartition, Moment)],
        _deadline: Duration,
    ) -> BoxFuture<'_, BTreeMap<TopicPartition, FirstSince>> {
        let state = self.world.state();
        let first = |at: &TopicPartition, time: Moment| match partition(&state.kafka, at) {
            Some(Ok(found)) => Ok(look_up(found, self.committed_only, time)),
            Some(Err(unread)) => Err(unread.clone()),
            None => Err(Unread::new(Reason::NotFound, "the topic or partition is not there any more")),
        };
        ready(asked.iter().map(|(at, time)| (at.clone(), first(at, *time))).collect()).boxed()
    }

    fn ages(
        &self,
        asked: &[AgeRequest],
        now: Moment,
        _deadline: Duration,
    ) -> BoxFuture<'_, BTreeMap<(TopicPartition, Offset), Age>> {
        let mut state = self.world.state();
        let State { kafka, proofs, .. } = &mut *state;
        let mut answers = BTreeMap::new();
        for request in asked {
            let known = proofs.entry(request.partition.clone()).or_default();
            let answer = match partition(kafka, &request.partition) {
                Some(Ok(found)) => age(request, found, self.committed_only, known, now),
                _ => Age::default(),
            };
            answers.insert((request.partition.clone(), request.committed), answer);
        }
        ready(answers).boxed()
    }

    fn requests(&self) -> BTreeMap<&'static str, u64> {
        BTreeMap::new()
    }
}

fn partition<'a>(kafka: &'a Kafka, at: &TopicPartition) -> Option<&'a Result<Partition, Unread>> {
    match kafka.topics.get(&at.topic)? {
        Topic::Seen(topic) => topic.partitions.get(&at.partition),
        Topic::Unread(_) => None,
    }
}

/// What the scenario says cannot be proved.
fn unproved(kafka: &Kafka, wanted: &[WantedTopic]) -> BTreeMap<TopicPartition, Unproved> {
    let mut unproved = BTreeMap::new();
    for wanted in wanted {
        let Some(Topic::Seen(topic)) = kafka.topics.get(&wanted.name) else { continue };
        for (number, found) in &topic.partitions {
            if let Ok(Partition { unproved: Some(why), .. }) = found {
                unproved.insert(TopicPartition::new(&wanted.name, *number), *why);
            }
        }
    }
    unproved
}

fn sight(kafka: &Kafka, wanted: &WantedTopic) -> TopicSight {
    match kafka.topics.get(&wanted.name) {
        None => TopicSight::Absent,
        Some(Topic::Unread(unread)) => TopicSight::Unread(unread.clone()),
        Some(Topic::Seen(topic)) => {
            let bounds = |found: &Partition| PartitionReading {
                earliest: found.earliest,
                latest: found.latest,
                stable: found.stable.filter(|_| wanted.stable),
                leader_epoch: found.leader_epoch,
                oldest: look_up(found, wanted.stable, Moment::from_millis(0)),
            };
            let partitions = topic.partitions.iter().map(|(number, found)| (*number, found.as_ref().map(bounds)));
            TopicSight::Seen(TopicReading {
                topic_id: topic.topic_id,
                limits: topic.limits.clone(),
                partitions: partitions.map(|(number, found)| (number, found.map_err(Unread::clone))).collect(),
            })
        }
    }
}
