//! The look-ups that no round can do without, made as cheaply as rust-rdkafka offers: batched, 250 partitions a call,
//! four calls at a time.

use std::sync::Mutex;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::topic_partition_list::{Offset as Place, TopicPartitionList};

const CHUNK: usize = 250;
const DEADLINE: Duration = Duration::from_secs(120);

/// A plain consumer and the partitions that it asks for.
pub(crate) struct Bare {
    consumer: BaseConsumer,
    pub(crate) partitions: Vec<(String, i32)>,
}

impl Bare {
    /// Finds every partition of topics whose names begin with `prefix`.
    pub(crate) fn connect(bootstrap: &str, prefix: &str) -> Self {
        let consumer: BaseConsumer = ClientConfig::new()
            .set("bootstrap.servers", bootstrap)
            .set("allow.auto.create.topics", "false")
            .set("isolation.level", "read_uncommitted")
            .create()
            .unwrap();
        let metadata = consumer.fetch_metadata(None, DEADLINE).unwrap();
        let topics = metadata.topics().iter().filter(|topic| topic.name().starts_with(prefix));
        let mut partitions: Vec<(String, i32)> =
            topics.flat_map(|topic| topic.partitions().iter().map(|at| (topic.name().to_owned(), at.id()))).collect();
        partitions.sort();
        Self { consumer, partitions }
    }

    /// Earliest, then latest, of all partitions; how many answers came.
    pub(crate) fn read(&self) -> usize {
        self.ask(&[Place::Beginning, Place::End])
    }

    /// The first record since that time, in milliseconds, of all partitions; how many have one.
    pub(crate) fn look_up(&self, time: i64) -> usize {
        self.ask(&[Place::Offset(time)])
    }

    fn ask(&self, places: &[Place]) -> usize {
        let chunks = Mutex::new(self.partitions.chunks(CHUNK));
        let good = Mutex::new(0);
        let work = || {
            loop {
                let Some(chunk) = chunks.lock().unwrap().next() else { break };
                let ask = |place: &Place| {
                    let mut list = TopicPartitionList::with_capacity(chunk.len());
                    for (topic, partition) in chunk {
                        list.add_partition_offset(topic, *partition, *place).unwrap();
                    }
                    let answer = self.consumer.offsets_for_times(list, DEADLINE).unwrap();
                    answer.elements().iter().filter(|row| matches!(row.offset(), Place::Offset(_))).count()
                };
                *good.lock().unwrap() += places.iter().map(ask).min().unwrap_or(0);
            }
        };
        std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(work))));
        good.into_inner().unwrap()
    }
}
