//! The loop of a cluster whose targets change while it runs.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use futures::FutureExt;
use futures::future::{BoxFuture, ready};

use super::*;
use crate::checkpoint::CheckpointReading;
use crate::judgement::{EventKind, QueryMemory};
use crate::ledger::{Acknowledgement, DeskError, Health, Loaded, Remembered, RoundNotes, Settlement};
use crate::measures::{Moment, Offset, Reason, TopicPartition, Unread};
use crate::metrics::snapshot::ClusterRound;
use crate::process::clock;
use crate::readers::{AgeRequest, BrokerReader, CheckpointReader, FirstSince, RequestCounts, WantedTopic};
use crate::retention::{Age, ClusterReading};
use crate::rounds::{AT_ONCE, QueryTarget};

/// Nobody answers here: what is told of a query is what is remembered of it.
#[derive(Debug)]
struct Away;

fn away<T>() -> Result<T, Unread> {
    Err(Unread::new(Reason::Unreachable, "away"))
}

impl BrokerReader for Away {
    fn topics(&self, _: &[WantedTopic], _: Moment, _: Duration) -> BoxFuture<'_, Result<ClusterReading, Unread>> {
        ready(away()).boxed()
    }

    fn latest(
        &self,
        _: &[TopicPartition],
        _: Duration,
    ) -> BoxFuture<'_, BTreeMap<TopicPartition, Result<Offset, Unread>>> {
        ready(BTreeMap::new()).boxed()
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

impl CheckpointReader for Away {
    fn read(&self, _: Duration) -> BoxFuture<'_, Result<CheckpointReading, Unread>> {
        ready(away()).boxed()
    }

    fn location(&self) -> &str {
        "away"
    }

    fn requests(&self) -> RequestCounts {
        RequestCounts::default()
    }
}

/// Remembers one event of each query that it is asked for, one more each time it is asked.
#[derive(Debug, Default)]
struct Counting(Mutex<u64>);

impl Counting {
    fn remembered() -> Remembered {
        Remembered { health: Health { persistent: true, up: true }, unresolved: Some(BTreeMap::new()), opened: 0 }
    }
}

impl Ledger for Counting {
    fn gaps(&self) -> futures::future::BoxFuture<'_, Option<Vec<crate::ledger::Gap>>> {
        Box::pin(std::future::ready(None))
    }

    fn load(&self, _: &str) -> BoxFuture<'_, Loaded> {
        let mut loads = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *loads += 1;
        let event_totals = BTreeMap::from([(EventKind::PositionJumped, (*loads, Moment::from_millis(0)))]);
        let memory = QueryMemory { event_totals, ..QueryMemory::default() };
        let memories = ["first", "second"].map(|query| (query.to_owned(), memory.clone()));
        ready(Loaded { memories: memories.into(), ..Loaded::nothing(true, Self::remembered()) }).boxed()
    }

    fn acknowledgements(&self, _: &str) -> BoxFuture<'_, Vec<Acknowledgement>> {
        ready(Vec::new()).boxed()
    }

    fn settle(&self, id: i64, _: Settlement) -> BoxFuture<'_, Result<crate::ledger::Gap, DeskError>> {
        ready(Err(DeskError::NoGap { id })).boxed()
    }

    fn remember(&self, _: RoundNotes) -> BoxFuture<'_, Remembered> {
        ready(Self::remembered()).boxed()
    }
}

const AN_HOUR: Duration = Duration::from_secs(3600);

pub(in crate::rounds) fn target(queries: &[&str], poll_interval: Duration) -> Arc<ClusterTarget> {
    let query = |name: &&str| QueryTarget::new(name, Arc::new(Away));
    Arc::new(ClusterTarget {
        name: "main".to_owned(),
        brokers: Arc::new(Away),
        queries: queries.iter().map(query).collect(),
        poll_interval,
        stale_after: AN_HOUR * 3,
    })
}

/// Each query with how many of its polls were counted, and how many events are remembered of it.
fn told(round: &ClusterRound) -> Vec<(&str, u64, u64)> {
    let events = |verdict: &crate::judgement::QueryVerdict| {
        verdict.event_totals.get(&EventKind::PositionJumped).map_or(0, |(count, _)| *count)
    };
    let query = |(name, query): (&'static str, &crate::metrics::snapshot::QueryRound)| {
        (name, query.polls.total, query.verdict.as_deref().map_or(0, events))
    };
    let names = ["first", "second"].into_iter();
    names.filter_map(|name| Some(query((name, round.queries.get(name)?)))).collect()
}

/// The board once the cluster was polled so often.
async fn after(board: &Board, polls: u64) -> Arc<ClusterRound> {
    loop {
        let round = board.snapshot(clock::now()).into_iter().find(|round| round.polls.total >= polls);
        match round {
            Some(round) => return round,
            None => tokio::time::sleep(Duration::from_millis(10)).await,
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_of_the_targets_begins_a_round_and_forgets_who_left() {
    let targets = watch::Sender::new(target(&["first"], AN_HOUR));
    let (board, stop) = (Arc::new(Board::default()), CancellationToken::new());
    let (ledger, places) = (Arc::new(Counting::default()), Arc::new(Semaphore::new(AT_ONCE)));
    let looping =
        tokio::spawn(run(targets.subscribe(), ledger, Arc::clone(&board), places, Clock::default(), stop.clone()));
    let began = Instant::now();
    assert_eq!(told(after(&board, 1).await.as_ref()), [("first", 1, 1)]);
    // whoever comes is told with what the ledger remembers; whoever is here keeps what this process saw
    targets.send_replace(target(&["first", "second"], AN_HOUR));
    assert_eq!(told(after(&board, 2).await.as_ref()), [("first", 2, 1), ("second", 1, 2)]);
    targets.send_replace(target(&["first"], AN_HOUR));
    assert_eq!(told(after(&board, 3).await.as_ref()), [("first", 3, 1)]);
    targets.send_replace(target(&["second", "first"], AN_HOUR));
    assert_eq!(told(after(&board, 4).await.as_ref()), [("first", 4, 1), ("second", 1, 3)]);
    assert!(began.elapsed() < AN_HOUR, "no round waited for its hour");
    // a new rhythm counts at once, and the loop goes on when nobody can change its targets any more
    targets.send_replace(target(&["first"], Duration::from_secs(10)));
    drop(targets);
    after(&board, 8).await;
    assert!(began.elapsed() < Duration::from_secs(60));
    stop.cancel();
    looping.await.unwrap();
}

#[test]
fn a_round_ends_before_the_next_one_is_due() {
    assert_eq!(deadline(Duration::from_secs(30)), Duration::from_secs(27));
    assert_eq!(deadline(Duration::from_secs(600)), Duration::from_secs(60));
}

mod slow;
