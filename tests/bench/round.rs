//! Measures one round over a real broker beside the bare look-ups that no round can do without.
//!
//! `BOOTSTRAP=localhost:9092 TOPICS=bench- cargo bench --bench round`
//!
//! Both kinds alternate in the same process. The bare kind is rust-rdkafka's own batched look-up, 250 partitions a call,
//! four calls at a time. CPU is that of this process, from the kernel's count of ticks, summed over all rounds.

#![expect(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "run by hand: it may stop, and it measures wall time"
)]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::{Duration, Instant, UNIX_EPOCH};

use brinkwatch::measures::{Moment, Offset, TopicName, TopicPartition};
use brinkwatch::readers::kafka::{KafkaOptions, KafkaReader};
use brinkwatch::readers::{AgeRequest, BrokerReader, WantedTopic};
use brinkwatch::retention::{ClusterReading, TopicReading, TopicSight};
use rdkafka::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::topic_partition_list::{Offset as Place, TopicPartitionList};

const ROUNDS: usize = 20;
const CHUNK: usize = 250;
const DEADLINE: Duration = Duration::from_secs(60);

/// Wall time of each round, and CPU ticks of all.
#[derive(Default)]
struct Cost {
    wall: Vec<Duration>,
    ticks: u64,
}

impl Cost {
    fn measure<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let (ticks, began) = (ticks(), Instant::now());
        let answer = work();
        self.wall.push(began.elapsed());
        self.ticks += ticks_since(ticks);
        answer
    }

    fn median(&self) -> f64 {
        let mut wall = self.wall.clone();
        wall.sort();
        wall[wall.len() / 2].as_secs_f64() * 1e3
    }

    /// A tick is 10 ms on every Linux.
    fn cpu(&self) -> f64 {
        let rounds = u32::try_from(self.wall.len()).unwrap();
        Duration::from_millis(self.ticks * 10).as_secs_f64() * 1e3 / f64::from(rounds)
    }
}

fn ticks() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // The name in parentheses may hold spaces; user and system time are the 12th and 13th field after it.
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

fn ticks_since(before: u64) -> u64 {
    ticks() - before
}

fn main() -> ExitCode {
    let (Ok(bootstrap), Ok(prefix)) = (std::env::var("BOOTSTRAP"), std::env::var("TOPICS")) else {
        eprintln!("set BOOTSTRAP to a broker's host and port, and TOPICS to the prefix of the topics to read");
        return ExitCode::from(2);
    };
    let bare: BaseConsumer = ClientConfig::new()
        .set("bootstrap.servers", &bootstrap)
        .set("allow.auto.create.topics", "false")
        .set("isolation.level", "read_uncommitted")
        .create()
        .unwrap();
    let metadata = bare.fetch_metadata(None, DEADLINE).unwrap();
    let topics = metadata.topics().iter().filter(|topic| topic.name().starts_with(&prefix));
    let partitions: Vec<(String, i32)> =
        topics.flat_map(|topic| topic.partitions().iter().map(|at| (topic.name().to_owned(), at.id()))).collect();
    if partitions.is_empty() {
        eprintln!("no topic begins with {prefix}");
        return ExitCode::from(2);
    }
    let names: std::collections::BTreeSet<&String> = partitions.iter().map(|(topic, _)| topic).collect();
    let wanted: Vec<WantedTopic> =
        names.iter().map(|name| WantedTopic { name: TopicName::from(name.as_str()), stable: false }).collect();
    let reader = KafkaReader::open(KafkaOptions {
        cluster: "bench".to_owned(),
        bootstrap_servers: bootstrap,
        ..KafkaOptions::default()
    })
    .unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let pass = || runtime.block_on(reader.topics(&wanted, DEADLINE)).unwrap();
    let ages = |reading: &ClusterReading, round: usize| {
        let now = Moment::from_millis(i64::try_from(UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap());
        let asked = requests(reading, round);
        (asked.len(), runtime.block_on(reader.ages(&asked, now, DEADLINE)).len())
    };

    // The first of each kind connects, and learns what later ones know.
    let (mut first, mut look_ups, mut topics, mut searches) =
        (Cost::default(), Cost::default(), Cost::default(), Cost::default());
    first.measure(|| ages(&pass(), 0));
    read_bare(&bare, &partitions);
    let before = reader.requests();
    let mut searched = 0;
    for round in 1..=ROUNDS {
        assert_eq!(look_ups.measure(|| read_bare(&bare, &partitions)), partitions.len());
        let reading = topics.measure(pass);
        assert_eq!(read_well(&reading), partitions.len());
        searched += searches.measure(|| ages(&reading, round)).0;
    }
    let after = reader.requests();
    println!("{} partitions in {} topics, {ROUNDS} rounds of each kind", partitions.len(), wanted.len());
    println!("{:<38} {:>12} {:>12}", "", "wall ms, med", "CPU ms, mean");
    for (what, cost) in [
        ("bare batched earliest and latest", &look_ups),
        ("a round's topics (identity, bounds)", &topics),
        ("a round's ages", &searches),
        ("the first round, with connecting", &first),
    ] {
        println!("{what:<38} {:>12.1} {:>12.1}", cost.median(), cost.cpu());
    }
    let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { f64::NAN };
    println!(
        "topics and ages over bare: wall {:.2}, CPU {:.2}",
        ratio(topics.median() + searches.median(), look_ups.median()),
        ratio(topics.cpu() + searches.cpu(), look_ups.cpu())
    );
    let mut counts = String::new();
    for (api, count) in &after {
        let of_rounds = count - before.get(api).copied().unwrap_or(0);
        let per_round = f64::from(u32::try_from(of_rounds).unwrap()) / f64::from(u32::try_from(ROUNDS).unwrap());
        write!(counts, " {api} {per_round:.2}").unwrap();
    }
    println!("requests a round:{counts}; {} partitions a round had an unread record", searched / ROUNDS);
    ExitCode::SUCCESS
}

/// Earliest, then latest, of all partitions; how many answers came.
fn read_bare(consumer: &BaseConsumer, partitions: &[(String, i32)]) -> usize {
    let chunks = Mutex::new(partitions.chunks(CHUNK));
    let good = Mutex::new(0);
    let work = || {
        loop {
            let Some(chunk) = chunks.lock().unwrap().next() else { break };
            let ask = |place: Place| {
                let mut list = TopicPartitionList::with_capacity(chunk.len());
                for (topic, partition) in chunk {
                    list.add_partition_offset(topic, *partition, place).unwrap();
                }
                let answer = consumer.offsets_for_times(list, DEADLINE).unwrap();
                answer.elements().iter().filter(|row| matches!(row.offset(), Place::Offset(_))).count()
            };
            *good.lock().unwrap() += ask(Place::Beginning).min(ask(Place::End));
        }
    };
    std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(work))));
    good.into_inner().unwrap()
}

fn seen(reading: &ClusterReading) -> impl Iterator<Item = (&TopicName, &TopicReading)> {
    reading.topics.iter().filter_map(|(name, sight)| match sight {
        TopicSight::Seen(topic) => Some((name, topic)),
        _ => None,
    })
}

fn read_well(reading: &ClusterReading) -> usize {
    seen(reading).flat_map(|(_, topic)| topic.partitions.values()).filter(|read| read.is_ok()).count()
}

/// A query that lags by half, and moves on in two of three partitions a round.
fn requests(reading: &ClusterReading, round: usize) -> Vec<AgeRequest> {
    let mut asked = Vec::new();
    let round = i64::try_from(round).unwrap();
    for (name, topic) in seen(reading) {
        let limits: BTreeMap<i32, _> =
            topic.partitions.iter().filter_map(|(at, read)| Some((*at, *read.as_ref().ok()?))).collect();
        let retention = topic.limits.as_ref().and_then(|limits| limits.as_ref().ok()?.retention_ms);
        for (at, bounds) in limits {
            let length = bounds.latest.minus(bounds.earliest);
            let moved = if at % 3 == 0 { 0 } else { round * (length / 100).max(1) };
            let committed = bounds.earliest.get() + (length / 2 + moved).min(length);
            asked.push(AgeRequest {
                partition: TopicPartition::new(name, at),
                committed: Offset::new(committed).unwrap(),
                topic_id: topic.topic_id,
                bounds,
                retention: retention.and_then(|millis| u64::try_from(millis).ok()).map(Duration::from_millis),
            });
        }
    }
    asked.retain(|request| request.committed < request.bounds.latest);
    asked
}
