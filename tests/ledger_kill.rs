//! Killed at random moments, while losses go on: the ledger opens, holds every gap that was ever visible, none twice.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use brinkwatch::checkpoint::{CheckpointReading, Position, SourceKind, SourceReading};
use brinkwatch::judgement::{Certainty, QuerySettings};
use brinkwatch::ledger::{Desk, FileLedger, Ledger};
use brinkwatch::measures::{BatchId, Moment, Offset, TopicName, TopicPartition, Unread};
use brinkwatch::metrics::snapshot::Publishing;
use brinkwatch::process::clock;
use brinkwatch::readers::{AgeRequest, BrokerReader, CheckpointReader, RequestCounts, WantedTopic};
use brinkwatch::retention::{Age, ClusterReading, PartitionReading, TopicId, TopicReading, TopicSight};
use brinkwatch::rounds::board::Board;
use brinkwatch::rounds::{self, AT_ONCE, ClusterTarget, QueryTarget, SourceFilter};
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

const FOLDER: &str = "LEDGER_KILL_FOLDER";
const BEGAN: &str = "LEDGER_KILL_BEGAN";

/// A broker whose log start moves on by one offset each millisecond, whoever asks and however often it is restarted.
#[derive(Debug)]
struct Deleting {
    began: Moment,
}

impl BrokerReader for Deleting {
    fn topics(&self, _: &[WantedTopic], _: Duration) -> BoxFuture<'_, Result<ClusterReading, Unread>> {
        let earliest = i64::try_from(clock::now().since(self.began).as_millis()).unwrap();
        let bounds = PartitionReading {
            earliest: Offset::new(earliest).unwrap(),
            latest: Offset::new(earliest + 1_000).unwrap(),
            stable: None,
            leader_epoch: Some(1),
            oldest: None,
        };
        let topic = TopicReading {
            topic_id: Some(TopicId([7; 16])),
            limits: None,
            partitions: BTreeMap::from([(0, Ok(bounds))]),
        };
        let reading = ClusterReading {
            cluster_id: Some("K1".to_owned()),
            topics: BTreeMap::from([(TopicName::from("orders"), TopicSight::Seen(topic))]),
            ..ClusterReading::default()
        };
        ready(Ok(reading)).boxed()
    }

    fn latest(
        &self,
        _: &[TopicPartition],
        _: Duration,
    ) -> BoxFuture<'_, BTreeMap<TopicPartition, Result<Offset, Unread>>> {
        ready(BTreeMap::new()).boxed()
    }

    fn ages(
        &self,
        asked: &[AgeRequest],
        _: Moment,
        _: Duration,
    ) -> BoxFuture<'_, BTreeMap<(TopicPartition, Offset), Age>> {
        let unproved = asked.iter().map(|asked| ((asked.partition.clone(), asked.committed), Age::default()));
        ready(unproved.collect()).boxed()
    }

    fn requests(&self) -> BTreeMap<&'static str, u64> {
        BTreeMap::new()
    }
}

/// A query that stopped at offset 0.
#[derive(Debug)]
struct Stopped;

impl CheckpointReader for Stopped {
    fn read(&self, _: Duration) -> BoxFuture<'_, Result<CheckpointReading, Unread>> {
        let position = Position { committed: Some(Offset::ZERO), ..Position::default() };
        let source = SourceReading {
            index: 0,
            id: "0".to_owned(),
            kind: SourceKind::Kafka,
            committed_from: Some("offsets/0".to_owned()),
            planned_from: None,
            topics: BTreeMap::from([(TopicName::from("orders"), BTreeMap::from([(0, position)]))]),
        };
        let reading = CheckpointReading {
            query_id: Some("943e4fff-ba4f-4018-99d0-a50c4477be0a".to_owned()),
            newest_planned: Some(BatchId(0)),
            newest_committed: Some(BatchId(0)),
            restartable: Some(true),
            sources: vec![source],
            ..CheckpointReading::default()
        };
        ready(Ok(reading)).boxed()
    }

    fn location(&self) -> &str {
        "memory"
    }

    fn requests(&self) -> RequestCounts {
        RequestCounts::default()
    }
}

/// Not a test: the daemon's rounds, in a process that is going to be killed. Prints each total that is visible.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "started by the test below"]
async fn rounds_until_killed() {
    let folder = PathBuf::from(std::env::var(FOLDER).unwrap());
    let began = Moment::from_millis(std::env::var(BEGAN).unwrap().parse().unwrap());
    let opened = FileLedger::open(&folder).await.unwrap();
    tokio::spawn(opened.writer);
    let query = QueryTarget {
        name: "orders".to_owned(),
        checkpoint: Arc::new(Stopped),
        superseded: false,
        sources: SourceFilter::everything(),
        settings: QuerySettings::default(),
        publishing: Publishing::default(),
        risk_critical: 0.2,
    };
    let target = ClusterTarget {
        name: "main".to_owned(),
        brokers: Arc::new(Deleting { began }),
        queries: vec![query],
        poll_interval: Duration::from_millis(20),
        stale_after: Duration::from_secs(60),
    };
    let board = Arc::new(Board::default());
    let places = Arc::new(Semaphore::new(AT_ONCE));
    let ledger: Arc<dyn Ledger> = Arc::new(opened.ledger);
    tokio::spawn(rounds::run(target, ledger, Arc::clone(&board), places, CancellationToken::new()));
    let mut before = None;
    loop {
        tokio::time::sleep(Duration::from_millis(1)).await;
        let rounds = board.snapshot(clock::now());
        let verdict = rounds.first().and_then(|round| round.queries["orders"].verdict.clone());
        let topic = verdict.and_then(|verdict| verdict.topics.get("orders").cloned());
        let visible = topic.and_then(|topic| topic.lost_total.get(&Certainty::Certain).copied());
        if let Some(total) = visible.filter(|_| visible != before) {
            println!("visible {total}");
            std::io::stdout().flush().unwrap();
            before = visible;
        }
    }
}

/// Lets the rounds go on for a while, kills them, and answers with what was last visible.
fn one_life(folder: &Path, began: Moment, lasts: Duration) -> Option<i64> {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "rounds_until_killed", "--nocapture"])
        .env(FOLDER, folder)
        .env(BEGAN, began.millis().to_string())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    thread::sleep(lasts);
    child.kill().unwrap();
    child.wait().unwrap();
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    let whole_lines = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    whole_lines.filter_map(|line| line.split_once("visible ")?.1.parse().ok()).next_back()
}

#[tokio::test]
async fn after_a_kill_at_any_moment_every_gap_that_was_visible_is_there_once() {
    let folder = tempfile::tempdir().unwrap();
    let began = clock::now();
    let (mut seen, mut random) = (0, 7_u64);
    for life in 0..20 {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let visible = one_life(folder.path(), began, Duration::from_millis(60 + (random >> 33) % 400));
        if !folder.path().join(brinkwatch::ledger::FILE_NAME).exists() {
            continue;
        }
        let Some(visible) = visible else { continue };
        assert!(visible >= seen, "life {life}: the counter fell from {seen} to {visible}");
        seen = visible;
        let gaps = Desk::open_to_read(folder.path()).await.unwrap().gaps().await.unwrap();
        assert_eq!(gaps.len(), 1, "life {life}: one loss is one record: {gaps:?}");
        assert_eq!(gaps[0].from, 0);
        assert!(gaps[0].to >= visible, "life {life}: {visible} was visible, the record ends at {}", gaps[0].to);
    }
    assert!(seen > 0, "no life lasted long enough to see a loss: {:?}", fs::read_dir(folder.path()).unwrap().count());
    let opened = FileLedger::open(folder.path()).await.unwrap();
    let writer = tokio::spawn(opened.writer);
    let memory = opened.ledger.load("main").await.memories;
    drop(opened.ledger);
    writer.await.unwrap();
    let gaps = Desk::open_to_read(folder.path()).await.unwrap().gaps().await.unwrap();
    let counted = memory["orders"].topics["orders"].lost_total[&Certainty::Certain];
    assert_eq!(i64::try_from(counted).unwrap(), gaps[0].to, "the counter and the record tell the same");
}
