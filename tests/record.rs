//! What is recorded gives the verdicts that were given while it was recorded.

#![expect(clippy::unwrap_used, reason = "in a test, what cannot be unwrapped has failed")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};

use brinkwatch::commands::replay::setup;
use brinkwatch::judgement::QueryVerdict;
use brinkwatch::measures::{Moment, Offset, Reason, TopicName, TopicPartition, Unread};
use brinkwatch::process::clock::Clock;
use brinkwatch::readers::stores::CheckpointStore;
use brinkwatch::readers::{AgeRequest, BrokerReader, FirstSince, WantedTopic};
use brinkwatch::replay::{Recorder, parse, play};
use brinkwatch::retention::{
    Age, ClusterReading, Limits, PartitionReading, TopicId, TopicReading, TopicSight, Unproved,
};
use brinkwatch::rounds::{ClusterState, ClusterTarget, QueryTarget, once};
use futures::FutureExt;
use futures::future::{BoxFuture, ready};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

const START: i64 = 1_790_000_000_000;
const TOPIC: &str = "secret-orders";

/// Brokers that say what the test tells them.
#[derive(Debug, Default)]
struct Told(Mutex<Option<ClusterReading>>);

impl BrokerReader for Told {
    fn topics(&self, _: &[WantedTopic], _: Moment, _: Duration) -> BoxFuture<'_, Result<ClusterReading, Unread>> {
        let told = self.0.lock().unwrap().clone();
        ready(told.ok_or_else(|| Unread::new(Reason::TimedOut, "no answer"))).boxed()
    }

    fn latest(
        &self,
        partitions: &[TopicPartition],
        _: Duration,
    ) -> BoxFuture<'_, BTreeMap<TopicPartition, Result<Offset, Unread>>> {
        let told = self.0.lock().unwrap().clone().unwrap();
        let bounds = |at: &TopicPartition| {
            told.topics[&at.topic].seen().unwrap().partitions[&at.partition].clone().map(|bounds| bounds.latest)
        };
        ready(partitions.iter().map(|at| (at.clone(), bounds(at))).collect()).boxed()
    }

    fn first_since(
        &self,
        _: &[(TopicPartition, Moment)],
        _: Duration,
    ) -> BoxFuture<'_, BTreeMap<TopicPartition, FirstSince>> {
        ready(BTreeMap::new()).boxed()
    }

    fn ages(
        &self,
        asked: &[AgeRequest],
        _: Moment,
        _: Duration,
    ) -> BoxFuture<'_, BTreeMap<(TopicPartition, Offset), Age>> {
        let age = |one: &AgeRequest| Age { proved: Some((one.committed, at(-600))), below: Some(at(-590)) };
        ready(asked.iter().map(|one| ((one.partition.clone(), one.committed), age(one))).collect()).boxed()
    }

    fn requests(&self) -> BTreeMap<&'static str, u64> {
        BTreeMap::new()
    }
}

fn offset(number: i64) -> Offset {
    Offset::new(number).unwrap()
}

fn at(seconds: i64) -> Moment {
    Moment::from_millis(START + 1000 * seconds)
}

fn cluster(id: u8, earliest: i64, latest: i64) -> ClusterReading {
    let bounds = PartitionReading {
        earliest: offset(earliest),
        latest: offset(latest),
        stable: None,
        leader_epoch: Some(4),
        oldest: Some((offset(earliest), at(-3600))),
    };
    let limits = Limits {
        cleanup_policy: Some("delete".to_owned()),
        retention_ms: Some(7_200_000),
        retention_bytes: Some(-1),
        ..Limits::default()
    };
    let topic = TopicReading {
        topic_id: Some(TopicId([id; 16])),
        limits: Some(Ok(limits)),
        partitions: BTreeMap::from([(0, Ok(bounds)), (1, Err(Unread::new(Reason::Unreachable, "no leader")))]),
    };
    ClusterReading {
        cluster_id: Some("secret-cluster".to_owned()),
        topics: BTreeMap::from([(TopicName::from(TOPIC), TopicSight::Seen(topic))]),
        unproved: BTreeMap::from([(
            TopicPartition::new(&TopicName::from(TOPIC), 0),
            Unproved::FastClock { broker: 2, by: Duration::from_secs(7) },
        )]),
        ..ClusterReading::default()
    }
}

fn write(root: &Path, path: &str, text: &str, seconds: i64) {
    let file = root.join(path);
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, text).unwrap();
    let since_epoch = Duration::from_millis(u64::try_from(at(seconds).millis()).unwrap());
    File::options().write(true).open(file).unwrap().set_modified(UNIX_EPOCH + since_epoch).unwrap();
}

fn batch(root: &Path, number: u64, end: i64, seconds: i64) {
    let metadata = json!({"batchWatermarkMs": 0, "batchTimestampMs": at(seconds).millis(),
        "conf": {"spark.secret": "1"}});
    let entry = format!("v1\n{metadata}\n{{\"{TOPIC}\":{{\"0\":{end},\"1\":7}}}}");
    write(root, &format!("offsets/{number}"), &entry, seconds);
    write(root, &format!("commits/{number}"), "v1\n{}", seconds + 1);
}

/// Records five rounds, in which data is lost, a broker is away and the topic is made again.
async fn recorded(anonymise: bool) -> (String, Vec<QueryVerdict>) {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "metadata", "{\"id\":\"secret-query\"}", -9000);
    batch(folder.path(), 8, 30, -500);
    batch(folder.path(), 9, 50, -400);
    let brokers = Arc::new(Told::default());
    let mut recorder = Recorder::new(anonymise);
    let target = ClusterTarget {
        name: "main".to_owned(),
        brokers: recorder.brokers(Arc::<Told>::clone(&brokers)),
        queries: vec![QueryTarget::new(
            "orders",
            recorder.checkpoint(CheckpointStore::open(folder.path().to_str().unwrap()).unwrap()),
        )],
        poll_interval: Duration::from_secs(30),
        stale_after: Duration::from_secs(90),
    };
    let now = Arc::new(Mutex::new(at(0)));
    let clock = {
        let now = Arc::clone(&now);
        Clock::given(move || *now.lock().unwrap())
    };
    let mut state = ClusterState { clock, ..ClusterState::default() };
    let mut verdicts = Vec::new();
    let rounds = [Some((1, 40, 90)), Some((1, 60, 95)), None, Some((1, 60, 99)), Some((2, 0, 70))];
    for (round, told) in (0..).zip(rounds) {
        *now.lock().unwrap() = at(30 * round);
        *brokers.0.lock().unwrap() = told.map(|(id, earliest, latest)| cluster(id, earliest, latest));
        if round == 3 {
            batch(folder.path(), 10, 80, 80);
        }
        let found = once(&target, &mut state, &Arc::new(Semaphore::new(4)), Duration::from_secs(30)).await;
        verdicts.extend(found.verdicts);
        let told = chrono::DateTime::from_timestamp_millis(at(30 * round).millis()).unwrap();
        recorder.step(at(30 * round), &told.to_rfc3339());
    }
    (serde_json::to_string_pretty(&recorder.scenario("five rounds", &json!({}))).unwrap(), verdicts)
}

#[tokio::test(start_paused = true)]
async fn a_recording_gives_the_verdicts_that_were_given() {
    let (text, given) = recorded(false).await;
    let scenario = parse(&text).unwrap();
    let played = play(&scenario, &setup(&scenario).unwrap()).await.unwrap();
    let again: Vec<&QueryVerdict> = played.values().flatten().map(|played| &played.verdict).collect();
    assert_eq!(again.len(), given.len());
    for (round, (again, given)) in again.into_iter().zip(&given).enumerate() {
        let told = |verdict: &QueryVerdict| {
            let partitions = verdict.partitions.clone().into_iter();
            let numbers = partitions.map(|(at, one)| {
                let offsets = (one.committed, one.earliest, one.latest, one.headroom, one.lag, one.lost);
                (at, one.state, offsets, one.possibly_lost, one.beyond_end, one.deadline)
            });
            let events: Vec<_> = verdict.events.iter().map(|event| event.kind).collect();
            (verdict.state, numbers.collect::<Vec<_>>(), events, verdict.newly_lost.clone(), verdict.conditions.clone())
        };
        assert_eq!(told(again), told(given), "round {round}\n{text}");
    }
    let lost: usize = given.iter().map(|verdict| verdict.newly_lost.len()).sum();
    assert!(lost > 0 && given.last().unwrap().state.label() == "recreated", "the rounds showed what they were to show");
}

#[tokio::test(start_paused = true)]
async fn an_anonymous_recording_names_nothing_and_says_the_same() {
    let (text, given) = recorded(true).await;
    assert!(!text.contains("secret"), "{text}");
    let scenario = parse(&text).unwrap();
    let played = play(&scenario, &setup(&scenario).unwrap()).await.unwrap();
    let again: Vec<_> = played.values().flatten().map(|played| played.verdict.state).collect();
    assert_eq!(again, given.iter().map(|verdict| verdict.state).collect::<Vec<_>>(), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_step_holds_only_what_changed() {
    let (text, _) = recorded(false).await;
    let scenario: Value = serde_json::from_str(&text).unwrap();
    let steps = scenario["steps"].as_array().unwrap();
    assert_eq!(steps[1]["checkpoint"], Value::Null);
    assert_eq!(steps[2]["kafka_error"], "timed_out");
    let files: Vec<&String> = steps[3]["checkpoint"].as_object().unwrap().keys().collect();
    assert!(files.contains(&&"offsets/10".to_owned()) && !files.contains(&&"metadata".to_owned()), "{files:?}");
    assert_eq!(steps[1]["kafka"]["topics"][TOPIC]["config"], Value::Null, "it did not change");
}
