//! A Kafka cluster inside this process: librdkafka's mock cluster, with a producer that fills it.
//!
//! It keeps at most 5 MiB of each partition and drops the oldest batches beyond that, which is retention by size. It
//! counts bytes as stored, so nothing is compressed.

use std::time::Duration;

use anyhow::Context as _;
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::KafkaError;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{BaseProducer, BaseRecord, DefaultProducerContext, Producer as _};
use rdkafka::types::RDKafkaErrorCode;
use tokio::time::Instant;

/// What the stand-in keeps of each partition.
pub(super) const RETENTION_BYTES: usize = 5 * 1024 * 1024;

const TIMEOUT: Duration = Duration::from_secs(10);
/// Twice a page of memory is enough noise that no two records look alike.
const NOISE_BYTES: usize = 8192;

/// Earliest and latest offset of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    pub(super) earliest: i64,
    pub(super) latest: i64,
}

impl Bounds {
    /// The offset that has so many thousandths of the log before it.
    pub(super) fn at_permille(self, permille: i64) -> i64 {
        self.earliest + (self.latest - self.earliest) * permille / 1000
    }

    /// How many thousandths of the log lie before an offset.
    pub(super) fn permille(self, offset: i64) -> i64 {
        (offset - self.earliest) * 1000 / (self.latest - self.earliest).max(1)
    }
}

/// Whether records that are written together are stored together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Batching {
    /// A few in each batch.
    Few,
    /// Each record in a batch of its own.
    Single,
}

/// The cluster and the two clients that the demo itself uses on it. It stays on the thread that made it.
pub(super) struct StandIn {
    // Clients before the cluster: fields are dropped in this order.
    producer: BaseProducer,
    consumer: BaseConsumer,
    cluster: MockCluster<'static, DefaultProducerContext>,
    noise: Noise,
}

impl StandIn {
    pub(super) fn start() -> anyhow::Result<Self> {
        let cluster = MockCluster::new(1).context("cannot start the Kafka stand-in")?;
        let producer = producer(&cluster.bootstrap_servers(), Batching::Few)?;
        let consumer = client(&cluster.bootstrap_servers())
            .set("allow.auto.create.topics", "false")
            .create()
            .context("cannot create the consumer of the Kafka stand-in")?;
        Ok(Self { producer, consumer, cluster, noise: Noise::new() })
    }

    pub(super) fn bootstrap_servers(&self) -> String {
        self.cluster.bootstrap_servers()
    }

    /// Creates a topic and writes a little more than is kept, so that from the first look on its start has moved.
    pub(super) fn create_full_topic(
        &mut self,
        topic: &str,
        partitions: i32,
        record_bytes: usize,
        batching: Batching,
    ) -> anyhow::Result<()> {
        self.create_topic(topic, partitions)?;
        let producer = producer(&self.bootstrap_servers(), batching)?;
        let records = u64::try_from(RETENTION_BYTES / record_bytes + 16)?;
        for partition in 0..partitions {
            write(&producer, &mut self.noise, (topic, partition), records, record_bytes)?;
        }
        flush(&producer)
    }

    pub(super) fn create_topic(&self, topic: &str, partitions: i32) -> anyhow::Result<()> {
        self.cluster.create_topic(topic, partitions, 1).with_context(|| format!("cannot create topic {topic}"))
    }

    /// Hands so many records over for sending. Waits only while the client's own queue is full.
    pub(super) fn write(
        &mut self,
        topic: &str,
        partition: i32,
        records: u64,
        record_bytes: usize,
    ) -> anyhow::Result<()> {
        write(&self.producer, &mut self.noise, (topic, partition), records, record_bytes)
    }

    /// Waits until all that was written is stored.
    #[cfg(test)]
    pub(super) fn flush(&self) -> anyhow::Result<()> {
        flush(&self.producer)
    }

    pub(super) fn bounds(&self, topic: &str, partition: i32) -> anyhow::Result<Bounds> {
        let (earliest, latest) = self
            .consumer
            .fetch_watermarks(topic, partition, TIMEOUT)
            .with_context(|| format!("cannot ask the Kafka stand-in for the bounds of {topic}/{partition}"))?;
        Ok(Bounds { earliest, latest })
    }
}

fn client(bootstrap_servers: &str) -> ClientConfig {
    let mut client = ClientConfig::new();
    client.set("bootstrap.servers", bootstrap_servers).set("client.id", "brinkwatch-demo");
    client
}

fn producer(bootstrap_servers: &str, batching: Batching) -> anyhow::Result<BaseProducer> {
    client(bootstrap_servers)
        .set("compression.type", "none")
        // Small batches, since the log's start moves by whole ones.
        .set("batch.size", "16384")
        .set("batch.num.messages", if batching == Batching::Single { "1" } else { "1000" })
        .set("linger.ms", "5")
        .set("queue.buffering.max.kbytes", "16384")
        .set("socket.nagle.disable", "true")
        .create()
        .context("cannot create a producer for the Kafka stand-in")
}

fn write(
    producer: &BaseProducer,
    noise: &mut Noise,
    (topic, partition): (&str, i32),
    records: u64,
    record_bytes: usize,
) -> anyhow::Result<()> {
    for _ in 0..records {
        let mut record = BaseRecord::<(), [u8]>::to(topic).partition(partition).payload(noise.record(record_bytes));
        while let Err((error, unsent)) = producer.send(record) {
            if error != KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull) {
                return Err(error).with_context(|| format!("cannot write to topic {topic}"));
            }
            producer.poll(Duration::from_millis(10));
            record = unsent;
        }
    }
    producer.poll(Duration::ZERO);
    Ok(())
}

/// The library's own flush looks only every tenth of a second.
fn flush(producer: &BaseProducer) -> anyhow::Result<()> {
    let begun = Instant::now();
    while producer.in_flight_count() > 0 {
        anyhow::ensure!(begun.elapsed() < TIMEOUT, "the Kafka stand-in does not take what is written");
        producer.poll(Duration::from_millis(2));
    }
    Ok(())
}

/// Bytes that look random. Each record is a window of one buffer, so that writing costs a copy and no more.
struct Noise {
    bytes: Vec<u8>,
    next: usize,
}

impl Noise {
    fn new() -> Self {
        // Marsaglia's xorshift; any seed but zero does.
        let mut state = 0x2545_f491_4f6c_dd1d_u64;
        let words = std::iter::repeat_with(|| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.to_le_bytes()
        });
        Self { bytes: words.take(NOISE_BYTES / 8).flatten().collect(), next: 0 }
    }

    fn record(&mut self, bytes: usize) -> &[u8] {
        let bytes = bytes.min(NOISE_BYTES / 2);
        // A prime step, so that the windows repeat late.
        self.next = (self.next + 4099) % (NOISE_BYTES - bytes);
        &self.bytes[self.next..self.next + bytes]
    }
}
