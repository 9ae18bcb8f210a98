//! What a restart would do, held against what Spark did: every real checkpoint that was started again, with
//! failOnDataLoss true and false.

#![expect(clippy::unwrap_used, reason = "a fixture that does not parse has failed the test")]

mod checkpoints;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use brinkwatch::judgement::restart::{Outcome, Restart, predict};
use brinkwatch::judgement::{QuerySettings, Subscribe};
use brinkwatch::measures::Offset;
use brinkwatch::readers::CheckpointReader;
use brinkwatch::readers::stores::CheckpointStore;
use brinkwatch::retention::{ClusterReading, PartitionReading, TopicReading, TopicSight};
use serde_json::Value;

#[tokio::test]
async fn a_restart_does_what_was_predicted() {
    let mut wrong = Vec::new();
    let mut compared = 0;
    println!("{:<38} {:<6} {:<28} {:<28}", "checkpoint", "fails?", "predicted", "Spark did");
    for case in checkpoints::cases() {
        let name = case.file_name().unwrap().to_str().unwrap().to_owned();
        let expected = checkpoints::expected(&case);
        let copy = checkpoints::laid_out(&case, &expected);
        let store = CheckpointStore::open(copy.path().to_str().unwrap()).unwrap();
        let reading = store.read(Duration::from_secs(20)).await.unwrap();
        let (cluster, settings) = (cluster(&expected["broker"]), settings(&expected["query"]));
        for (fail_on_data_loss, key) in [(true, "fail_on_data_loss"), (false, "continue_on_data_loss")] {
            let did = &expected["restart"][key];
            let Some(did) = did_in_words(did) else { continue };
            let predicted = in_words(&predict(&reading, &cluster, &settings, fail_on_data_loss));
            compared += 1;
            println!("{name:<38} {fail_on_data_loss:<6} {predicted:<28} {did:<28}");
            if predicted != did {
                wrong.push(format!("{name}, failOnDataLoss={fail_on_data_loss}: predicted {predicted}, Spark: {did}"));
            }
        }
    }
    assert!(compared > 100, "only {compared} restarts were compared");
    assert!(wrong.is_empty(), "{} of {compared} predictions are wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// `goes on`, or the error's class.
fn in_words(restart: &Restart) -> String {
    match restart.outcome {
        Outcome::Starts | Outcome::StartsAndSkips => "goes on".to_owned(),
        Outcome::Fails | Outcome::StartsThenFails => short(restart.error_class.unwrap_or("no class")),
        Outcome::Unknown => format!("unknown: {}", restart.detail),
    }
}

/// The same of what Spark did. Spark 3.5 has no error classes yet: there the message tells which check it was.
fn did_in_words(did: &Value) -> Option<String> {
    const MESSAGES: [(&str, &str); 4] = [
        ("Added partition", "ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO"),
        ("are gone", "PARTITIONS_DELETED"),
        ("offset was changed", "PARTITION_OFFSET_CHANGED"),
        ("Cannot fetch", "COULD_NOT_READ_OFFSET_RANGE"),
    ];
    if did["outcome"].as_str()? == "success" {
        return Some("goes on".to_owned());
    }
    let class = did["error_class"].as_str()?;
    if class != "java.lang.IllegalStateException" {
        return Some(short(class));
    }
    let text = did["errors"].to_string();
    let known = MESSAGES.into_iter().find(|(message, _)| text.contains(message));
    Some(known.map_or_else(|| format!("unknown message: {text}"), |(_, class)| class.to_owned()))
}

fn short(class: &str) -> String {
    class.rsplit('.').next().unwrap().to_owned()
}

fn settings(query: &Value) -> QuerySettings {
    let source = query["sources"].as_array().and_then(|sources| sources.first()).unwrap_or(query);
    let subscribe = if source["subscribePattern"].is_string() {
        Subscribe::Pattern
    } else if !source["assign"].is_null() {
        Subscribe::Assign
    } else {
        Subscribe::Subscribe
    };
    QuerySettings { subscribe, ..QuerySettings::default() }
}

fn cluster(broker: &Value) -> ClusterReading {
    let topics = broker["topics"].as_object().unwrap();
    let sights = topics.iter().map(|(name, topic)| (Arc::from(name.as_str()), sight(topic)));
    ClusterReading { topics: sights.collect(), ..ClusterReading::default() }
}

fn sight(topic: &Value) -> TopicSight {
    let Some(partitions) = topic["partitions"].as_object() else { return TopicSight::Absent };
    let offset = |value: &Value| Offset::new(value.as_i64().unwrap()).unwrap();
    let bounds = |partition: &Value| PartitionReading {
        earliest: offset(&partition["earliest"]),
        latest: offset(&partition["latest"]),
        stable: None,
        leader_epoch: None,
        oldest: None,
    };
    let partitions: BTreeMap<i32, _> =
        partitions.iter().map(|(number, partition)| (number.parse().unwrap(), Ok(bounds(partition)))).collect();
    TopicSight::Seen(TopicReading { partitions, ..TopicReading::default() })
}
