//! Queries whose checkpoints are made up and whose brokers are real, so that a round costs what the brokers' side costs.

use std::sync::Arc;
use std::time::Duration;

use brinkwatch::checkpoint::Position;
use brinkwatch::judgement::{QuerySettings, Subscribe};
use brinkwatch::measures::{Offset, TopicName};
use brinkwatch::readers::kafka::{KafkaOptions, KafkaReader};
use brinkwatch::retention::TopicSight;
use brinkwatch::rounds::{AT_ONCE, ClusterState, ClusterTarget, Found, QueryTarget, once};
use tokio::sync::Semaphore;

use crate::checkpoint::{MadeUp, Positions};

const DEADLINE: Duration = Duration::from_secs(600);
/// Topics that one query reads.
const TOPICS: usize = 10;

/// One cluster, its queries, and what its rounds remember.
pub(crate) struct Fleet {
    pub(crate) reader: Arc<KafkaReader>,
    target: ClusterTarget,
    state: ClusterState,
    checkpoints: Vec<Arc<MadeUp>>,
    places: Arc<Semaphore>,
    runtime: tokio::runtime::Runtime,
}

impl Fleet {
    pub(crate) fn open(bootstrap: &str, partitions: &[(String, i32)]) -> Self {
        let options = KafkaOptions {
            cluster: "bench".to_owned(),
            bootstrap_servers: bootstrap.to_owned(),
            ..KafkaOptions::default()
        };
        let reader = Arc::new(KafkaReader::open(options).unwrap());
        let mut topics = Positions::new();
        for (topic, partition) in partitions {
            topics.entry(TopicName::from(topic.as_str())).or_default().insert(*partition, at(Offset::ZERO));
        }
        let topics: Vec<_> = topics.into_iter().collect();
        let checkpoints: Vec<Arc<MadeUp>> =
            topics.chunks(TOPICS).map(|chunk| Arc::new(MadeUp::at(chunk.iter().cloned().collect()))).collect();
        let queries = checkpoints.iter().enumerate().map(|(number, checkpoint)| QueryTarget {
            settings: QuerySettings { subscribe: Subscribe::Subscribe, ..QuerySettings::default() },
            ..QueryTarget::new(&format!("query-{number}"), Arc::<MadeUp>::clone(checkpoint))
        });
        let target = ClusterTarget {
            name: "bench".to_owned(),
            brokers: Arc::<KafkaReader>::clone(&reader),
            queries: queries.collect(),
            poll_interval: DEADLINE,
            stale_after: DEADLINE,
        };
        Self {
            reader,
            target,
            state: ClusterState::default(),
            checkpoints,
            places: Arc::new(Semaphore::new(AT_ONCE)),
            runtime: tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap(),
        }
    }

    /// One whole round, from checkpoints to verdicts.
    pub(crate) fn round(&mut self) -> Found {
        let found = self.runtime.block_on(once(&self.target, &mut self.state, &self.places, DEADLINE));
        found.cluster.as_ref().unwrap();
        found
    }

    /// Puts each position where `place` says: from the partition's number, its earliest and its latest offset.
    pub(crate) fn place(&self, seen: &Found, place: impl Fn(i32, i64, i64) -> i64) {
        let cluster = seen.cluster.as_ref().unwrap();
        for checkpoint in &self.checkpoints {
            let mut reading = checkpoint.0.lock().unwrap();
            for (name, positions) in &mut reading.sources[0].topics {
                let TopicSight::Seen(topic) = &cluster.topics[name] else { panic!("{name} was not read") };
                for (number, position) in positions {
                    let read = topic.partitions[number].as_ref().unwrap();
                    *position = at(Offset::new(place(*number, read.earliest.get(), read.latest.get())).unwrap());
                }
            }
        }
    }
}

fn at(offset: Offset) -> Position {
    Position { committed: Some(offset), ..Position::default() }
}

/// How many partitions of a round have their bounds.
pub(crate) fn read_well(found: &Found) -> usize {
    let topics = found.cluster.as_ref().unwrap().topics.values().filter_map(TopicSight::seen);
    topics.flat_map(|topic| topic.partitions.values()).filter(|read| read.is_ok()).count()
}
