//! Tables of the judgement, one per section, and what a story is made of.

mod confirmation;
mod estimates;
mod events;
mod identity;
mod loss;
mod numbers;
mod properties;
mod queries;
mod rhythm;
mod states;
mod untold;

use std::collections::BTreeMap;
use std::time::Duration;

use super::*;
use crate::checkpoint::{BatchTimes, CheckpointReading, Position, SourceKind, SourceReading};
use crate::measures::{BatchId, Moment, Offset, Reason, TopicName, TopicPartition, Unread};
use crate::retention::{Age, ClusterReading, Limits, PartitionReading, TopicId, TopicReading, TopicSight};

/// The moment at which every story begins, in seconds.
const BEGIN: i64 = 1_800_000_000;

fn offset(number: i64) -> Offset {
    Offset::new(number).unwrap()
}

fn at(seconds: i64) -> Moment {
    Moment::from_millis((BEGIN + seconds) * 1000)
}

fn orders(partition: i32) -> TopicPartition {
    TopicPartition::new(&TopicName::from("orders"), partition)
}

/// One query with one topic, `orders`, on one cluster: the plainest healthy world, to be changed by a story.
#[derive(Clone, Debug)]
struct World {
    settings: QuerySettings,
    now: i64,
    checkpoint: Result<CheckpointReading, Unread>,
    cluster: Result<ClusterReading, Unread>,
    history: Vec<Entry>,
    memory: QueryMemory,
}

fn world(committed: i64, earliest: i64, latest: i64) -> World {
    let mut world = World {
        settings: QuerySettings { expected_interval: Some(Duration::from_secs(60)), ..QuerySettings::default() },
        now: 0,
        checkpoint: Ok(CheckpointReading {
            query_id: Some("query".to_owned()),
            offset_log_version: Some(1),
            restartable: Some(true),
            sources: vec![SourceReading {
                index: 0,
                id: "0".to_owned(),
                kind: SourceKind::Kafka,
                committed_from: Some("offsets/7".to_owned()),
                planned_from: None,
                topics: BTreeMap::new(),
            }],
            ..CheckpointReading::default()
        }),
        cluster: Ok(ClusterReading { cluster_id: Some("K1".to_owned()), ..ClusterReading::default() }),
        history: Vec::new(),
        memory: QueryMemory::default(),
    };
    world.topic("orders", Some(1));
    world.commit(7, &[(0, committed)]).bounds(0, earliest, latest);
    world
}

impl World {
    fn topic(&mut self, name: &str, id: Option<u8>) -> &mut Self {
        let reading = TopicReading {
            topic_id: id.map(|id| TopicId([id; 16])),
            limits: Some(Ok(Limits {
                cleanup_policy: Some("delete".to_owned()),
                retention_ms: Some(3_600_000),
                retention_bytes: Some(-1),
                ..Limits::default()
            })),
            ..TopicReading::default()
        };
        self.kafka().topics.insert(TopicName::from(name), TopicSight::Seen(reading));
        self
    }

    fn kafka(&mut self) -> &mut ClusterReading {
        self.cluster.as_mut().unwrap()
    }

    fn reading(&mut self) -> &mut CheckpointReading {
        self.checkpoint.as_mut().unwrap()
    }

    fn orders(&mut self) -> &mut TopicReading {
        self.named("orders")
    }

    fn named(&mut self, name: &str) -> &mut TopicReading {
        match self.kafka().topics.get_mut(name).unwrap() {
            TopicSight::Seen(reading) => reading,
            other => panic!("{other:?}"),
        }
    }

    fn bounds(&mut self, partition: i32, earliest: i64, latest: i64) -> &mut Self {
        self.bounds_of("orders", partition, earliest, latest)
    }

    fn bounds_of(&mut self, topic: &str, partition: i32, earliest: i64, latest: i64) -> &mut Self {
        let reading = PartitionReading {
            earliest: offset(earliest),
            latest: offset(latest),
            stable: None,
            leader_epoch: None,
            oldest: None,
        };
        self.named(topic).partitions.insert(partition, Ok(reading));
        self
    }

    fn partition(&mut self, partition: i32) -> &mut PartitionReading {
        self.orders().partitions.get_mut(&partition).unwrap().as_mut().unwrap()
    }

    fn positions(&mut self, topic: &str) -> &mut BTreeMap<i32, Position> {
        self.reading().sources[0].topics.entry(TopicName::from(topic)).or_default()
    }

    /// Batch `batch` was planned five seconds ago and is committed now, with these positions of `orders`.
    fn commit(&mut self, batch: u64, positions: &[(i32, i64)]) -> &mut Self {
        let now = self.now;
        for (partition, committed) in positions {
            let position = Position { committed: Some(offset(*committed)), ..Position::default() };
            self.positions("orders").insert(*partition, position);
        }
        let reading = self.reading();
        reading.newest_planned = Some(BatchId(batch));
        reading.newest_committed = Some(BatchId(batch));
        reading.batch_open = false;
        reading.planned_at = Some(at(now - 5));
        reading.batch_timestamp = Some(at(now - 5));
        reading.last_commit_at = Some(at(now));
        let times = BatchTimes { batch: BatchId(batch), planned_at: Some(at(now - 5)), committed_at: Some(at(now)) };
        reading.batches.push(times);
        for position in self.positions("orders").values_mut() {
            position.planned = None;
        }
        self
    }

    /// Batch `batch` is open since `planned_at`, up to these offsets.
    fn open(&mut self, batch: u64, planned_at: i64, planned: &[(i32, i64)]) -> &mut Self {
        for (partition, end) in planned {
            self.positions("orders").entry(*partition).or_default().planned = Some(offset(*end));
        }
        let reading = self.reading();
        reading.newest_planned = Some(BatchId(batch));
        reading.batch_open = true;
        reading.planned_at = Some(at(planned_at));
        self
    }

    /// The look-ups prove a record so many seconds old at the committed offset.
    fn age(&mut self, partition: i32, committed: i64, seconds: i64) -> &mut Self {
        let found = at(self.now - seconds);
        let age = Age { proved: Some((offset(committed), found)), below: Some(found) };
        self.kafka().ages.insert((orders(partition), offset(committed)), age);
        self
    }

    fn unread_cluster(&mut self) -> &mut Self {
        self.cluster = Err(Unread::new(Reason::Unreachable, "no broker answered"));
        self
    }

    fn unread_checkpoint(&mut self) -> &mut Self {
        self.checkpoint = Err(Unread::new(Reason::Denied, "listing offsets/ was refused"));
        self
    }

    /// One round, so many seconds after the one before.
    fn round(&mut self, later: i64) -> QueryVerdict {
        self.now += later;
        let sighting = Sighting {
            now: at(self.now),
            checkpoint: self.checkpoint.as_ref(),
            cluster: self.cluster.as_ref(),
            history: &self.history,
            superseded: false,
        };
        let (verdict, memory) = judge(&self.settings, &sighting, self.memory.clone());
        // What a ledger stores is what the next round sees.
        self.memory = serde_json::from_str(&serde_json::to_string(&memory).unwrap()).unwrap();
        assert_eq!(self.memory, memory);
        verdict
    }

    /// The verdict on partition 0 of `orders` after one more round.
    fn look(&mut self, later: i64) -> PartitionVerdict {
        self.round(later).partitions[&orders(0)].clone()
    }
}

/// Ranges in short: partition, from, to, certainty.
fn ranges(lost: &[LostRange]) -> Vec<(i32, i64, i64, Certainty)> {
    lost.iter().map(|range| (range.partition.partition, range.from.get(), range.to.get(), range.certainty)).collect()
}

fn kinds(verdict: &QueryVerdict) -> Vec<EventKind> {
    verdict.events.iter().map(|event| event.kind).collect()
}
