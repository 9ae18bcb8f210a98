//! A round over a fleet that lives in memory: every partition has a position, bounds and an age of its own, so that the
//! text is as long, and as hard to compress, as a real one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use brinkwatch::checkpoint::Position;
use brinkwatch::judgement::{QuerySettings, Subscribe};
use brinkwatch::ledger::MemoryLedger;
use brinkwatch::measures::{Moment, Offset, TopicName, TopicPartition, Unread};
use brinkwatch::process::clock::Clock;
use brinkwatch::readers::{AgeRequest, BrokerReader, FirstSince, WantedTopic};
use brinkwatch::retention::{Age, ClusterReading, Limits, PartitionReading, TopicReading, TopicSight};
use brinkwatch::rounds::board::Board;
use brinkwatch::rounds::{AT_ONCE, ClusterTarget, QueryTarget, run};
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

use crate::checkpoint::{MadeUp, Positions};

const PARTITIONS: usize = 100;
/// Topics that one query reads.
const TOPICS: usize = 10;
const NEVER_AGAIN: Duration = Duration::from_secs(24 * 3600);
const WEEK_MS: i64 = 7 * 24 * 3600 * 1000;

/// A board on which one round over so many partitions hangs.
pub(crate) fn judged(partitions: usize) -> Arc<Board> {
    let topics: Vec<TopicName> = (0..partitions / PARTITIONS)
        .map(|number| TopicName::from(format!("orders-placed-{number:04}").as_str()))
        .collect();
    let queries = topics.chunks(TOPICS).enumerate().map(|(number, topics)| QueryTarget {
        settings: QuerySettings { subscribe: Subscribe::Subscribe, ..QuerySettings::default() },
        ..QueryTarget::new(&format!("query-{number}"), Arc::new(MadeUp::at(positions(topics))))
    });
    let target = ClusterTarget {
        name: "main".to_owned(),
        queries: queries.collect(),
        brokers: Arc::new(MadeUpBrokers(topics)),
        poll_interval: NEVER_AGAIN,
        stale_after: NEVER_AGAIN,
    };
    let (board, stop) = (Arc::new(Board::default()), CancellationToken::new());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (_sender, targets) = watch::channel(Arc::new(target));
        let (ledger, places) = (Arc::new(MemoryLedger::default()), Arc::new(Semaphore::new(AT_ONCE)));
        let rounds = run(targets, ledger, Arc::clone(&board), places, Clock::default(), stop.clone());
        let rounds = tokio::spawn(rounds);
        while board.snapshot(Clock::default().now()).iter().all(|round| round.finished_at.is_none()) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        stop.cancel();
        rounds.await.unwrap();
    });
    board
}

/// Numbers without a pattern, the same in every run.
fn scattered(topic: &str, partition: i32, below: i64) -> i64 {
    let bytes = topic.bytes().map(u64::from).chain([u64::try_from(partition).unwrap()]);
    let mixed = bytes.fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ byte).wrapping_mul(0x0100_0000_01b3));
    i64::try_from((mixed >> 20) % u64::try_from(below).unwrap()).unwrap()
}

fn committed(topic: &str, partition: i32) -> Offset {
    Offset::new(10_000_000 + scattered(topic, partition, 90_000_000)).unwrap()
}

fn numbers() -> impl Iterator<Item = i32> {
    0..i32::try_from(PARTITIONS).unwrap()
}

fn positions(topics: &[TopicName]) -> Positions {
    let at = |topic: &str, number| Position { committed: Some(committed(topic, number)), ..Position::default() };
    let of = |topic: &TopicName| (Arc::clone(topic), numbers().map(|number| (number, at(topic, number))).collect());
    topics.iter().map(of).collect()
}

#[derive(Debug)]
struct MadeUpBrokers(Vec<TopicName>);

fn bounds(topic: &str, partition: i32) -> PartitionReading {
    let (at, spread) = (committed(topic, partition).get(), scattered(topic, partition, 5_000_000));
    PartitionReading {
        earliest: Offset::new(at - 1 - spread).unwrap(),
        latest: Offset::new(at + 1 + spread / 50).unwrap(),
        stable: None,
        leader_epoch: Some(1),
        oldest: None,
    }
}

impl BrokerReader for MadeUpBrokers {
    fn topics(&self, _: &[WantedTopic], _: Moment, _: Duration) -> BoxFuture<'_, Result<ClusterReading, Unread>> {
        let limits = Limits {
            cleanup_policy: Some("delete".to_owned()),
            retention_ms: Some(WEEK_MS),
            retention_bytes: Some(-1),
            ..Limits::default()
        };
        let topic = |topic: &TopicName| TopicReading {
            limits: Some(Ok(limits.clone())),
            partitions: numbers().map(|number| (number, Ok(bounds(topic, number)))).collect(),
            ..TopicReading::default()
        };
        let topics = self.0.iter().map(|name| (Arc::clone(name), TopicSight::Seen(topic(name)))).collect();
        ready(Ok(ClusterReading { topics, ..ClusterReading::default() })).boxed()
    }

    fn latest(
        &self,
        partitions: &[TopicPartition],
        _: Duration,
    ) -> BoxFuture<'_, BTreeMap<TopicPartition, Result<Offset, Unread>>> {
        let answer = |place: &TopicPartition| (place.clone(), Ok(bounds(&place.topic, place.partition).latest));
        ready(partitions.iter().map(answer).collect()).boxed()
    }

    fn first_since(
        &self,
        asked: &[(TopicPartition, Moment)],
        _: Duration,
    ) -> BoxFuture<'_, BTreeMap<TopicPartition, FirstSince>> {
        ready(asked.iter().map(|(place, _)| (place.clone(), Ok(None))).collect()).boxed()
    }

    fn ages(
        &self,
        asked: &[AgeRequest],
        now: Moment,
        _: Duration,
    ) -> BoxFuture<'_, BTreeMap<(TopicPartition, Offset), Age>> {
        let answer = |request: &AgeRequest| {
            let place = &request.partition;
            let age = u64::try_from(scattered(&place.topic, place.partition, WEEK_MS / 2)).unwrap();
            let at = now.minus(Duration::from_millis(age));
            let age = Age { proved: Some((request.committed, at)), below: Some(at.plus(Duration::from_secs(1))) };
            ((place.clone(), request.committed), age)
        };
        ready(asked.iter().map(answer).collect()).boxed()
    }

    fn requests(&self) -> BTreeMap<&'static str, u64> {
        BTreeMap::new()
    }
}
