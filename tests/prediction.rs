//! What a restart would do, held against what Spark did when it was started again on a copy.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;
use std::time::Duration;

use brinkwatch::checkpoint::CheckpointReading;
use brinkwatch::judgement::{Outcome, QuerySettings, Restart, Subscribe, predict};
use brinkwatch::measures::{Offset, TopicName};
use brinkwatch::readers::CheckpointReader;
use brinkwatch::readers::stores::CheckpointStore;
use brinkwatch::retention::{ClusterReading, PartitionReading, TopicReading, TopicSight};
use serde_json::Value;

use checkpoints::{cases, expected, laid_out};

mod checkpoints;

const DEADLINE: Duration = Duration::from_secs(60);

/// Cases that were not started again.
const NOT_RESTARTED: [&str; 8] = [
    "no-data-batch-spark43",
    "partitions-1000-spark43",
    "rtm-first-interval-spark43",
    "self-join-spark35",
    "self-join-spark43",
    "self-join-two-loads-spark43",
    "skipped-silently-spark43",
    "transactions-spark43",
];

fn offset(number: &Value) -> Offset {
    Offset::new(number.as_i64().unwrap()).unwrap()
}

fn cluster(broker: &Value) -> ClusterReading {
    let mut reading = ClusterReading::default();
    for (name, topic) in broker["topics"].as_object().unwrap() {
        let sight = match topic["partitions"].as_object() {
            None => TopicSight::Absent,
            Some(partitions) => {
                let bounds = partitions.iter().map(|(number, bounds)| {
                    let bounds = PartitionReading {
                        earliest: offset(&bounds["earliest"]),
                        latest: offset(&bounds["latest"]),
                        stable: None,
                        leader_epoch: None,
                        oldest: None,
                    };
                    (number.parse().unwrap(), Ok(bounds))
                });
                TopicSight::Seen(TopicReading { partitions: bounds.collect(), ..TopicReading::default() })
            }
        };
        reading.topics.insert(TopicName::from(name.as_str()), sight);
    }
    reading
}

fn settings(query: &Value) -> QuerySettings {
    let asks = |option: &str| query.to_string().contains(&format!("\"{option}\""));
    let subscribe = match () {
        () if asks("subscribePattern") => Subscribe::Pattern,
        () if asks("assign") => Subscribe::Assign,
        () if asks("subscribe") => Subscribe::Subscribe,
        () => Subscribe::Unknown,
    };
    QuerySettings { subscribe, ..QuerySettings::default() }
}

/// What Spark's own texts of before version 4 are called since.
const CLASSES: [(&str, &str); 4] = [
    (" are gone", "KAFKA_DATA_LOSS.PARTITIONS_DELETED"),
    ("Added partition ", "KAFKA_DATA_LOSS.ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO"),
    ("'s offset was changed from ", "KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED"),
    ("Cannot fetch offset ", "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE"),
];

/// The error class that Spark showed, by today's names.
fn class(did: &Value) -> Option<String> {
    let class = did["error_class"].as_str()?;
    if class != "java.lang.IllegalStateException" {
        return Some(class.to_owned());
    }
    let texts = did["errors"].to_string();
    CLASSES.iter().find(|(text, _)| texts.contains(text)).map(|(_, class)| (*class).to_owned())
}

/// Whether a prediction and what Spark did are the same.
fn agrees(predicted: &Restart, did: &Value) -> bool {
    match did["outcome"].as_str().unwrap() {
        "success" => matches!(predicted.outcome, Outcome::Starts | Outcome::StartsAndSkips),
        "error" if did["error_class"].is_null() => failed(predicted),
        "error" => failed(predicted) && predicted.error_class.map(str::to_owned) == class(did),
        other => panic!("outcome {other}"),
    }
}

fn failed(predicted: &Restart) -> bool {
    matches!(predicted.outcome, Outcome::Fails | Outcome::StartsThenFails)
}

async fn read(case: &Path, expected: &Value) -> CheckpointReading {
    let copy = laid_out(case, expected);
    let store = CheckpointStore::open(copy.path().to_str().unwrap()).unwrap();
    store.read(DEADLINE).await.unwrap()
}

#[tokio::test]
async fn every_restart_does_what_was_predicted() {
    let (mut wrong, mut compared, mut silent, mut both) = (Vec::new(), 0, Vec::new(), 0);
    for case in cases() {
        let name = case.file_name().unwrap().to_str().unwrap().to_owned();
        let expected = expected(&case);
        let reading = read(&case, &expected).await;
        let (cluster, settings) = (cluster(&expected["broker"]), settings(&expected["query"]));
        let mut tried = 0;
        for (key, fail_on_data_loss) in [("fail_on_data_loss", true), ("continue_on_data_loss", false)] {
            let did = &expected["restart"][key];
            if !did.is_object() {
                continue;
            }
            tried += 1;
            compared += 1;
            let predicted = predict(&reading, &cluster, &settings, fail_on_data_loss);
            let line = format!(
                "{name:36} {key:22} {:17} {:62} Spark: {} {}",
                predicted.outcome.label(),
                predicted.error_class.unwrap_or("-"),
                did["outcome"].as_str().unwrap(),
                did["error_class"].as_str().unwrap_or("-"),
            );
            println!("{line}");
            if !agrees(&predicted, did) {
                wrong.push(format!("{line}\n    {}", predicted.detail));
            }
        }
        match tried {
            0 => silent.push(name),
            2 => both += 1,
            _ => {}
        }
    }
    println!(
        "{compared} restarts compared, {} differ; {both} situations with both values of failOnDataLoss",
        wrong.len()
    );
    assert!(wrong.is_empty(), "{} of {compared} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(silent, NOT_RESTARTED, "cases that tell nothing");
    assert_eq!(compared, 112);
    assert!(both >= 20, "{both} situations were tried with both values");
}
