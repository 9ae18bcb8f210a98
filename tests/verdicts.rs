//! Real checkpoints and what real brokers said of them, judged as a monitor with memory does.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::time::Duration;

use brinkwatch::checkpoint::CheckpointReading;
use brinkwatch::judgement::{
    Isolation, PartitionVerdict, QueryMemory, QuerySettings, QueryVerdict, Sighting, Subscribe, judge,
};
use brinkwatch::measures::{Moment, Offset, TopicName, TopicPartition};
use brinkwatch::readers::CheckpointReader;
use brinkwatch::readers::stores::CheckpointStore;
use brinkwatch::retention::{ClusterReading, Limits, PartitionReading, TopicId, TopicReading, TopicSight};
use serde_json::Value;
use sha2::{Digest, Sha256};

use checkpoints::{cases, expected, laid_out};

mod checkpoints;

fn moment(text: &Value) -> Moment {
    Moment::from_millis(chrono::DateTime::parse_from_rfc3339(text.as_str().unwrap()).unwrap().timestamp_millis())
}

/// Any sixteen bytes do, as long as another text makes others.
fn topic_id(text: &Value) -> Option<TopicId> {
    let digest = Sha256::digest(text.as_str()?.as_bytes());
    Some(TopicId(digest[..16].try_into().unwrap()))
}

fn limits(config: &Value) -> Limits {
    let number = |key: &str| config[key].as_str().and_then(|text| text.parse().ok());
    Limits {
        cleanup_policy: config["cleanup.policy"].as_str().map(str::to_owned),
        retention_ms: number("retention.ms"),
        retention_bytes: number("retention.bytes"),
        ..Limits::default()
    }
}

fn cluster(broker: &Value, stable: &Value) -> ClusterReading {
    let offset = |number: &Value| number.as_i64().and_then(Offset::new);
    let mut reading =
        ClusterReading { cluster_id: broker["cluster_id"].as_str().map(str::to_owned), ..ClusterReading::default() };
    for (name, topic) in broker["topics"].as_object().unwrap() {
        let sight = match topic["partitions"].as_object() {
            None => TopicSight::Absent,
            Some(partitions) => {
                let bounds = partitions.iter().map(|(number, bounds)| {
                    let reading = PartitionReading {
                        earliest: offset(&bounds["earliest"]).unwrap(),
                        latest: offset(&bounds["latest"]).unwrap(),
                        stable: offset(&stable[name][number]),
                        leader_epoch: None,
                        oldest: None,
                    };
                    (number.parse().unwrap(), Ok(reading))
                });
                TopicSight::Seen(TopicReading {
                    topic_id: topic_id(&topic["topic_id"]),
                    limits: Some(Ok(limits(&topic["config"]))),
                    partitions: bounds.collect(),
                })
            }
        };
        reading.topics.insert(TopicName::from(name.as_str()), sight);
    }
    reading
}

fn settings(query: &Value) -> QuerySettings {
    let asks = |option: &str| query.to_string().contains(&format!("\"{option}\""));
    QuerySettings {
        subscribe: match () {
            () if asks("subscribePattern") => Subscribe::Pattern,
            () if asks("assign") => Subscribe::Assign,
            () => Subscribe::Subscribe,
        },
        isolation: if query.to_string().contains("read_committed") {
            Isolation::ReadCommitted
        } else {
            Isolation::ReadUncommitted
        },
        ..QuerySettings::default()
    }
}

/// Sees `broker_before` once, then `broker` until every doubt is settled.
fn watched(reading: &CheckpointReading, expected: &Value) -> QueryVerdict {
    let settings = settings(&expected["query"]);
    let mut memory = QueryMemory::default();
    let mut look = |broker: &Value, later: u64| {
        let cluster = cluster(broker, &expected["stable"]);
        let sighting = Sighting {
            now: moment(&broker["observed_at"]).plus(Duration::from_secs(later)),
            checkpoint: Ok(reading),
            cluster: Ok(&cluster),
            history: &[],
            superseded: false,
        };
        let (verdict, after) = judge(&settings, &sighting, std::mem::take(&mut memory));
        memory = after;
        verdict
    };
    if expected["broker_before"]["topics"].is_object() {
        look(&expected["broker_before"], 0);
    }
    look(&expected["broker"], 0);
    look(&expected["broker"], 30);
    look(&expected["broker"], 60)
}

/// What differs between a verdict and what a monitor should say; unknown must be unknown.
fn differences(verdict: Option<&PartitionVerdict>, expected: &Value) -> Vec<String> {
    let Some(verdict) = verdict else { return vec!["no verdict".to_owned()] };
    let number = |offset: Option<Offset>| offset.map_or(Value::Null, |offset| Value::from(offset.get()));
    let count = |count: Option<u64>| count.map_or(Value::Null, Value::from);
    let said = [
        ("state", Value::from(verdict.state.label())),
        ("committed", number(verdict.committed)),
        ("planned", number(verdict.planned)),
        ("headroom_offsets", verdict.headroom.map_or(Value::Null, Value::from)),
        ("lag_offsets", count(verdict.lag)),
        ("lost_offsets", count(verdict.lost)),
        ("beyond_end_offsets", count(verdict.beyond_end)),
    ];
    let depends_on_the_batch = expected["state"].is_null();
    said.into_iter()
        .filter(|(key, _)| !(depends_on_the_batch && matches!(*key, "state" | "lost_offsets")))
        .filter(|(key, value)| expected.get(*key).is_some_and(|wanted| wanted != value))
        .map(|(key, value)| format!("{key} {value} for {}", expected[key]))
        .collect()
}

#[tokio::test]
async fn every_real_checkpoint_gets_the_verdict_that_a_monitor_should_give() {
    let (mut wrong, mut judged) = (BTreeMap::new(), 0);
    for case in cases() {
        let name = case.file_name().unwrap().to_str().unwrap().to_owned();
        let expected = expected(&case);
        let copy = laid_out(&case, &expected);
        let store = CheckpointStore::open(copy.path().to_str().unwrap()).unwrap();
        let reading = store.read(Duration::from_secs(60)).await.unwrap();
        let verdict = watched(&reading, &expected);
        for partition in expected["partitions"].as_array().unwrap() {
            let topic = TopicName::from(partition["topic"].as_str().unwrap());
            let number = i32::try_from(partition["partition"].as_i64().unwrap()).unwrap();
            let at = TopicPartition::new(&topic, number);
            judged += 1;
            let differences = differences(verdict.partitions.get(&at), partition);
            if !differences.is_empty() {
                let reason = verdict.partitions.get(&at).map(|one| one.reason.clone());
                wrong.insert(format!("{name} {at}"), (differences, reason));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {judged} differ:\n{wrong:#?}", wrong.len());
    assert_eq!(judged, 152);
}
