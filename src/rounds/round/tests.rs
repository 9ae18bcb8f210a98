//! Doubts, and the second look that settles them.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use futures::FutureExt;
use futures::future::{BoxFuture, ready};

use super::*;
use crate::checkpoint::{CheckpointReading, Position, SourceKind, SourceReading};
use crate::judgement::{Certainty, EventKind, PartitionState, PartitionVerdict};
use crate::measures::{BatchId, Offset, Reason, TopicPartition};
use crate::process::clock::Clock;
use crate::readers::{AgeRequest, BrokerReader, CheckpointReader, FirstSince, RequestCounts};
use crate::retention::{Age, PartitionReading, TopicId, TopicReading, TopicSight};
use crate::rounds::AT_ONCE;

/// What is committed in each partition of `orders`; `None`: it cannot be read.
type Committed = Option<Vec<i64>>;

/// A checkpoint and its brokers. The last one of a list stays.
#[derive(Debug, Default)]
struct World {
    looks: Mutex<VecDeque<Committed>>,
    /// Log start and end of each partition, by round.
    logs: Mutex<VecDeque<Vec<(i64, i64)>>>,
    /// The ends when they are asked for once more.
    ends: Mutex<Vec<i64>>,
    id: Mutex<u8>,
    batch: Mutex<u64>,
}

fn next<T: Clone>(list: &Mutex<VecDeque<T>>) -> T {
    let mut list = list.lock().unwrap_or_else(PoisonError::into_inner);
    if list.len() > 1 { list.pop_front().unwrap() } else { list[0].clone() }
}

fn offset(number: i64) -> Offset {
    Offset::new(number).unwrap()
}

fn orders(partition: usize) -> TopicPartition {
    TopicPartition::new(&TopicName::from("orders"), i32::try_from(partition).unwrap())
}

impl CheckpointReader for World {
    fn read(&self, _: Duration) -> BoxFuture<'_, Result<CheckpointReading, Unread>> {
        let away = || Unread::new(Reason::TimedOut, "too slow");
        ready(next(&self.looks).map(|committed| self.reading(&committed)).ok_or_else(away)).boxed()
    }

    fn location(&self) -> &str {
        "world"
    }

    fn requests(&self) -> RequestCounts {
        RequestCounts::default()
    }
}

impl World {
    fn reading(&self, committed: &[i64]) -> CheckpointReading {
        let mut batch = self.batch.lock().unwrap();
        *batch += 1;
        let position = |at: &i64| Position { committed: Some(offset(*at)), ..Position::default() };
        let positions = committed.iter().enumerate().map(|(at, end)| (orders(at).partition, position(end)));
        CheckpointReading {
            query_id: Some("query".to_owned()),
            restartable: Some(true),
            newest_planned: Some(BatchId(*batch)),
            newest_committed: Some(BatchId(*batch)),
            sources: vec![SourceReading {
                index: 0,
                id: "0".to_owned(),
                kind: SourceKind::Kafka,
                committed_from: Some(format!("offsets/{batch}")),
                planned_from: None,
                topics: BTreeMap::from([(TopicName::from("orders"), positions.collect())]),
            }],
            ..CheckpointReading::default()
        }
    }
}

impl BrokerReader for World {
    fn topics(&self, _: &[WantedTopic], _: Moment, _: Duration) -> BoxFuture<'_, Result<ClusterReading, Unread>> {
        let read = |(earliest, latest)| {
            Ok(PartitionReading {
                earliest: offset(earliest),
                latest: offset(latest),
                stable: None,
                leader_epoch: None,
                oldest: None,
            })
        };
        let logs = next(&self.logs).into_iter().enumerate();
        let reading = TopicReading {
            topic_id: Some(TopicId([*self.id.lock().unwrap(); 16])),
            partitions: logs.map(|(at, log)| (orders(at).partition, read(log))).collect(),
            ..TopicReading::default()
        };
        let topics = BTreeMap::from([(TopicName::from("orders"), TopicSight::Seen(reading))]);
        ready(Ok(ClusterReading { cluster_id: Some("K1".to_owned()), topics, ..ClusterReading::default() })).boxed()
    }

    fn latest(
        &self,
        asked: &[TopicPartition],
        _: Duration,
    ) -> BoxFuture<'_, BTreeMap<TopicPartition, Result<Offset, Unread>>> {
        let ends = self.ends.lock().unwrap();
        let end = |at: &TopicPartition| Ok(offset(ends[usize::try_from(at.partition).unwrap()]));
        ready(asked.iter().map(|at| (at.clone(), end(at))).collect()).boxed()
    }

    fn first_since(
        &self,
        _: &[(TopicPartition, Moment)],
        _: Duration,
    ) -> BoxFuture<'_, BTreeMap<TopicPartition, FirstSince>> {
        ready(BTreeMap::new()).boxed()
    }

    fn ages(&self, _: &[AgeRequest], _: Moment, _: Duration) -> BoxFuture<'_, BTreeMap<(TopicPartition, Offset), Age>> {
        ready(BTreeMap::new()).boxed()
    }

    fn requests(&self) -> BTreeMap<&'static str, u64> {
        BTreeMap::new()
    }
}

/// Rounds over one world.
struct Rounds {
    world: Arc<World>,
    target: ClusterTarget,
    state: ClusterState,
}

impl Rounds {
    fn over(looks: &[Committed], logs: &[&[(i64, i64)]], ends: &[i64]) -> Self {
        let world = Arc::new(World {
            looks: Mutex::new(looks.iter().cloned().collect()),
            logs: Mutex::new(logs.iter().map(|round| round.to_vec()).collect()),
            ends: Mutex::new(ends.to_vec()),
            ..World::default()
        });
        let target = ClusterTarget {
            name: "main".to_owned(),
            brokers: Arc::clone(&world) as Arc<dyn BrokerReader>,
            queries: vec![QueryTarget::new("q", Arc::clone(&world) as Arc<dyn CheckpointReader>)],
            poll_interval: Duration::from_secs(30),
            stale_after: Duration::from_secs(90),
        };
        Self { world, target, state: ClusterState { clock: Clock::default(), ..ClusterState::default() } }
    }

    async fn round(&mut self) -> QueryVerdict {
        let places = Arc::new(Semaphore::new(AT_ONCE));
        let mut found = once(&self.target, &mut self.state, &places, Duration::from_secs(27)).await;
        found.verdicts.remove(0)
    }

    async fn partition(&mut self, at: usize) -> PartitionVerdict {
        self.round().await.partitions[&orders(at)].clone()
    }
}

fn certain(verdict: &QueryVerdict) -> Vec<(u64, u64)> {
    let ranges = verdict.newly_lost.iter().filter(|range| range.certainty == Certainty::Certain);
    ranges.map(|range| (range.from.get().unsigned_abs(), range.to.get().unsigned_abs())).collect()
}

#[tokio::test(start_paused = true)]
async fn a_loss_that_no_second_look_confirms_is_not_spoken_of() {
    // 100 was committed at the first look; 200 was, before the log started at 150.
    let looks = [Some(vec![100]), Some(vec![100]), None, Some(vec![200])];
    let mut rounds = Rounds::over(&looks, &[&[(0, 300)], &[(150, 300)]], &[300]);
    assert_eq!(rounds.partition(0).await.state, PartitionState::Behind);
    let doubted = rounds.round().await;
    assert_eq!(doubted.partitions[&orders(0)].state, PartitionState::Unknown);
    assert_eq!(doubted.partitions[&orders(0)].lost, None);
    assert_eq!(certain(&doubted), []);
    let after = rounds.round().await;
    assert_eq!(after.partitions[&orders(0)].state, PartitionState::Behind);
    assert_eq!(certain(&after), []);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_never_manages_a_second_look_costs_a_loss_one_round() {
    let looks = [Some(vec![100]), Some(vec![100]), None, Some(vec![100]), None, Some(vec![100]), None];
    let mut rounds = Rounds::over(&looks, &[&[(0, 300)], &[(150, 300)]], &[300]);
    rounds.round().await;
    assert_eq!(certain(&rounds.round().await), []);
    // The position was read after the broker had said 150.
    let told = rounds.round().await;
    assert_eq!(told.partitions[&orders(0)].state, PartitionState::Lost);
    assert_eq!(certain(&told), [(100, 150)]);
    assert_eq!(rounds.partition(0).await.lost, Some(50));
}

#[tokio::test(start_paused = true)]
async fn another_topic_id_waits_for_the_second_look_as_well() {
    let looks = [Some(vec![100]), Some(vec![100]), None, Some(vec![100]), None];
    let mut rounds = Rounds::over(&looks, &[&[(0, 300)]], &[300]);
    rounds.round().await;
    *rounds.world.id.lock().unwrap() = 1;
    let doubted = rounds.round().await;
    assert_eq!((doubted.partitions[&orders(0)].state, doubted.events.len()), (PartitionState::Unknown, 0));
    let told = rounds.round().await;
    assert_eq!(told.partitions[&orders(0)].state, PartitionState::Recreated);
    assert_eq!(told.events.iter().map(|event| event.kind).collect::<Vec<_>>(), [EventKind::TopicRecreated]);
}

#[tokio::test(start_paused = true)]
async fn a_position_that_a_second_look_brings_is_held_against_an_end_read_after_it() {
    // Of the first partition something is lost for good: each round looks twice. The other one moves on meanwhile.
    let looks = [Some(vec![100, 500]), Some(vec![100, 610])];
    let mut rounds = Rounds::over(&looks, &[&[(150, 300), (0, 600)]], &[300, 620]);
    let verdict = rounds.round().await;
    assert_eq!(verdict.partitions[&orders(0)].state, PartitionState::Lost);
    let moved = &verdict.partitions[&orders(1)];
    assert_eq!((moved.state, moved.latest, moved.lag), (PartitionState::Behind, Some(offset(620)), Some(10)));
}

#[test]
fn who_left_leaves_nothing_behind() {
    let mut state = ClusterState::default();
    state.histories.insert("gone".to_owned(), Arc::default());
    state.histories.insert("here".to_owned(), Arc::default());
    state.keep(|name| name == "here");
    assert_eq!(state.histories.keys().collect::<Vec<_>>(), ["here"]);
}
