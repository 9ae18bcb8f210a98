//! What commands print as JSON, against the schemas in `deploy/schemas/`: as it is, and no longer when it is spoilt.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::{BaseProducer, BaseRecord, DefaultProducerContext, Producer};
use serde_json::{Value, json};

use checkpoints::{cases, expected, laid_out};

mod checkpoints;

fn schema(name: &str) -> jsonschema::Validator {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("deploy/schemas/{name}.schema.json"));
    let schema: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    jsonschema::validator_for(&schema).unwrap()
}

fn printed(arguments: &[&str]) -> Value {
    let done = Command::new(env!("CARGO_BIN_EXE_brinkwatch")).args(arguments).output().unwrap();
    serde_json::from_slice(&done.stdout)
        .unwrap_or_else(|error| panic!("{arguments:?}: {error}\n{}", String::from_utf8_lossy(&done.stderr)))
}

fn agrees(name: &str, document: &Value) {
    let schema = schema(name);
    let wrong: Vec<String> =
        schema.iter_errors(document).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(wrong.is_empty(), "{name}:\n{}\n{document:#}", wrong.join("\n"));
    let mut spoilt = document.clone();
    spoilt["version"] = json!(2);
    assert!(!schema.is_valid(&spoilt), "{name}: another version is another schema");
    let mut unknown = document.clone();
    unknown["surprise"] = json!(true);
    assert!(!schema.is_valid(&unknown), "{name}: a field that the schema does not know");
}

#[test]
fn inspect_prints_what_its_schema_says_for_every_checkpoint_of_the_corpus() {
    for case in cases() {
        let copy = laid_out(&case, &expected(&case));
        agrees("inspect", &printed(&["inspect", copy.path().to_str().unwrap(), "--output", "json"]));
    }
}

/// A query that stands at these offsets of topic `orders`, each partition with 40 records.
fn checkpoint(folder: &Path, positions: &BTreeMap<&str, i64>) -> String {
    let root = folder.join("checkpoint");
    for (path, text) in [
        ("metadata", "{\"id\":\"943e4fff-ba4f-4018-99d0-a50c4477be0a\"}".to_owned()),
        (
            "offsets/0",
            format!(
                "v1\n{{\"batchWatermarkMs\":0,\"batchTimestampMs\":1796007188000,\"conf\":{{}}}}\n{}",
                json!({"orders": positions})
            ),
        ),
        ("commits/0", "v1\n{\"nextBatchWatermarkMs\":0}".to_owned()),
    ] {
        fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
        fs::write(root.join(path), text).unwrap();
    }
    root.to_str().unwrap().to_owned()
}

fn mock() -> MockCluster<'static, DefaultProducerContext> {
    let mock = MockCluster::new(1).unwrap();
    mock.create_topic("orders", 3, 1).unwrap();
    let producer: BaseProducer =
        ClientConfig::new().set("bootstrap.servers", mock.bootstrap_servers()).create().unwrap();
    for partition in 0..3 {
        for _ in 0..40 {
            producer.send(BaseRecord::<(), [u8]>::to("orders").partition(partition).payload(&[0; 10])).unwrap();
        }
    }
    producer.flush(Duration::from_secs(20)).unwrap();
    mock
}

#[test]
fn check_verify_and_size_print_what_their_schemas_say() {
    let (folder, mock) = (tempfile::tempdir().unwrap(), mock());
    let checkpoint = checkpoint(folder.path(), &BTreeMap::from([("0", 30), ("1", 90), ("2", 40)]));
    let servers = mock.bootstrap_servers();
    let by_hand = ["--checkpoint", &checkpoint, "--bootstrap-servers", &servers, "--output", "json"];

    let checked = printed(&[&["check"], &by_hand[..]].concat());
    agrees("check", &checked);
    let query = &checked["queries"][0];
    assert_eq!(query["partitions"][0]["state"], "beyond_end", "worst first: {query:#}");
    assert_eq!(query["recoveries"].as_array().unwrap().len(), 4);
    let nowhere = printed(&["check", "--checkpoint", "/nowhere", "--bootstrap-servers", &servers, "--output", "json"]);
    agrees("check", &nowhere);
    assert_eq!(nowhere["queries"][0]["unread"]["checkpoint"]["reason"], "not_found");

    let sink = folder.path().join("sink.csv");
    fs::write(&sink, "topic,partition,min_offset,max_offset,count\r\norders,0,0,28,29\r\nclicks,0,0,5,6\r\n").unwrap();
    let verified = printed(&[&["verify", "--sink-offsets", sink.to_str().unwrap()], &by_hand[..]].concat());
    agrees("verify", &verified);
    let found: Vec<&str> = verified["partitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["findings"][0]["finding"].as_str().unwrap())
        .collect();
    assert_eq!(found, ["other_topic", "hole", "missing_partition", "missing_partition"]);

    agrees("size", &printed(&[&["size", "--outage", "72h"], &by_hand[..]].concat()));
}

/// One query of one cluster that the gap records are about, in a ledger of its own.
#[test]
fn every_form_of_a_gap_record_is_what_the_schema_says() {
    let (folder, mock) = (tempfile::tempdir().unwrap(), mock());
    let checkpoint = checkpoint(folder.path(), &BTreeMap::from([("0", 30), ("1", 40), ("2", 40)]));
    let state = format!("state_dir={}", folder.path().join("state").display());
    let servers = format!("clusters.main.bootstrap_servers={}", mock.bootstrap_servers());
    let place = format!("queries.orders.checkpoint={checkpoint}");
    let set = ["--config", "/dev/null", "--set", &state, "--set", &servers, "--set", &place];
    let set = [&set[..], &["--set", "queries.orders.cluster=main", "--output", "json"]].concat();
    let gaps = |arguments: &[&str]| {
        let told = printed(&[&["gaps"], arguments, &set[..]].concat());
        agrees("gaps", &told);
        told["gaps"].as_array().unwrap().clone()
    };
    let said = ["--evidence", "INC-4711, \"quoted\"\nand more", "--by", "anna"];
    assert!(gaps(&[&["record", "orders", "--found"], &said[..]].concat()).is_empty(), "nothing is lost");
    let range = ["record", "orders", "--topic", "orders", "--partition", "2", "--from", "3", "--to", "9"];
    let recorded = gaps(&[&range[..], &said[..]].concat());
    assert_eq!((&recorded[0]["missing_from_offset"], &recorded[0]["recovery_status"]), (&json!(3), &json!("open")));
    assert_eq!(gaps(&["list"]), recorded);
    assert_eq!(gaps(&["list", "--query", "orders"]), recorded);
    assert_eq!(gaps(&["show", "1"]), recorded);
    assert_eq!(gaps(&["export", "--query", "orders"]), recorded);
    let fate = ["resolve", "1", "--path", "backfill", "--status", "backfilled"];
    let settled = gaps(&[&fate[..], &said[..]].concat());
    assert_eq!((&settled[0]["recovery_path"], &settled[0]["recorded_by"]), (&json!("backfill"), &json!("anna")));
    assert!(gaps(&["list"]).is_empty());
    assert_eq!(gaps(&["list", "--all"]), settled);
    assert_eq!(gaps(&["export"]), settled);
}

#[test]
fn a_start_is_printed_whole_and_refused_by_name() {
    let (folder, mock) = (tempfile::tempdir().unwrap(), mock());
    let checkpoint = checkpoint(folder.path(), &BTreeMap::from([("0", 30), ("1", 40)]));
    let servers = mock.bootstrap_servers();
    let start = |more: &[&str]| {
        let by_hand = ["starting-offsets", "--checkpoint", &checkpoint, "--bootstrap-servers", &servers, "--at"];
        let done = Command::new(env!("CARGO_BIN_EXE_brinkwatch")).args(by_hand).args(more).output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        (done.status.code(), text(&done.stdout), text(&done.stderr))
    };
    let schema = schema("starting-offsets");
    for at in ["committed", "earliest", "latest"] {
        let (code, out, err) = start(&[at]);
        assert_eq!(code, Some(0), "{at}: {err}");
        assert!(schema.is_valid(&serde_json::from_str(&out).unwrap()), "{at}: {out}");
    }
    // The stand-in answers no look-ups by time.
    for time in [json!({"orders": {"0": 1_796_007_188_000_i64}}), json!(1_796_007_188_000_i64)] {
        assert!(schema.is_valid(&time), "{time}");
    }
    for spoilt in
        [json!({}), json!({"orders": {}}), json!({"orders": {"0": -3}}), json!({"orders": {"x": 1}}), json!(-1)]
    {
        assert!(!schema.is_valid(&spoilt), "{spoilt}");
    }
    let (code, out, err) = start(&["committed", "--subscribe", "subscribe"]);
    assert_eq!((code, out.as_str()), (Some(0), "{\"orders\":{\"0\":30,\"1\":40,\"2\":-2}}\n"), "{err}");
    assert!(err.contains("2 of 3 partitions go on exactly where the query stood"), "{err}");
    let (code, out, _) = start(&["committed", "--subscribe", "assign"]);
    assert_eq!((code, out.as_str()), (Some(0), "{\"orders\":{\"0\":30,\"1\":40}}\n"));
    let (code, out, err) = start(&["latest"]);
    assert_eq!((code, out.as_str()), (Some(0), "{\"orders\":{\"0\":40,\"1\":40,\"2\":40}}\n"));
    assert!(err.contains("skipped: at most 50 records"), "{err}");
    let (code, out, err) = start(&["earliest"]);
    assert_eq!((code, out.as_str()), (Some(0), "{\"orders\":{\"0\":-2,\"1\":-2,\"2\":-2}}\n"));
    assert!(err.contains("read twice: at most 70 records"), "{err}");
    for (more, expected, words) in [
        (&["tomorrow"][..], 2, "is no time"),
        (&["2100-01-01T00:00:00Z"], 2, "in the future"),
        (&["committed", "--timestamp"], 1, "startingTimestamp takes a time"),
        (&["committed", "--topic", "nobody"], 1, "topic nobody does not exist, and Spark refuses to subscribe to it"),
        (&["committed", "--spark", "1.6"], 2, "has no Structured Streaming"),
        (&["last-known"], 3, "state_dir is empty"),
    ] {
        let (code, out, err) = start(more);
        assert_eq!((code, out.as_str()), (Some(expected), ""), "{more:?}: {err}");
        assert!(err.contains(words), "{more:?}: {err}");
    }
}
