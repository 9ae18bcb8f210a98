//! `brinkwatch replay` as a person runs it.

#![expect(clippy::unwrap_used, reason = "in a test, what cannot be unwrapped has failed")]

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn replay(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_brinkwatch")).arg("replay").args(arguments).output().unwrap()
}

fn scenario(name: &str) -> String {
    format!("{}/tests/scenarios/{name}.json", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn a_scenario_becomes_one_object_a_step() {
    let ended = replay(&[&scenario("R09"), "--output", "json"]);
    assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
    let steps: Vec<Value> = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!(steps.len(), 6);
    let keys: Vec<&str> = steps[1].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        [
            "at",
            "query_state",
            "query_reason",
            "query_problems",
            "restartable",
            "last_commit_at",
            "last_progress_at",
            "unread_since",
            "open_batch_at",
            "partitions",
            "lost_offsets_total",
            "gaps",
            "events",
            "alerts"
        ]
    );
    assert_eq!(steps[1]["partitions"]["carts/0"]["lost_offsets"], 300);
}

#[test]
fn several_checkpoints_have_one_list_each() {
    let ended = replay(&[&scenario("U14"), "--output", "json"]);
    let lists: Value = serde_json::from_slice(&ended.stdout).unwrap();
    let names: Vec<&String> = lists.as_object().unwrap().keys().collect();
    assert_eq!(names, ["app-001", "app-002"]);
    assert_eq!(lists["app-002"].as_array().unwrap().len(), 2, "it came with the second step");
}

#[test]
fn a_mistake_is_told_with_line_key_and_reason() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"{\"brinkwatch_scenario\": 1,\n\"configuration\": {\"lag_flor\": 1},\n\"steps\": [{\"at\": \"2026-01-01T00:00:00Z\"}]}")
        .unwrap();
    let ended = replay(&[file.path().to_str().unwrap()]);
    assert_eq!(ended.status.code(), Some(2));
    let told = String::from_utf8(ended.stderr).unwrap();
    assert!(told.contains("line 2: configuration.lag_flor: unknown key; did you mean \"lag_floor\"?"), "{told}");
}

#[test]
fn a_file_that_is_not_there_is_not_read() {
    let ended = replay(&["/no/such/scenario.json"]);
    assert_eq!(ended.status.code(), Some(3));
    assert!(ended.stdout.is_empty());
}

#[test]
fn a_scenario_may_come_from_standard_input() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_brinkwatch"))
        .args(["replay", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(&std::fs::read(scenario("T01")).unwrap()).unwrap();
    let ended = child.wait_with_output().unwrap();
    let table = String::from_utf8(ended.stdout).unwrap();
    assert!(ended.status.success());
    assert!(table.contains("SparkStreamTopicRecreated critical"), "{table}");
}

#[test]
fn only_a_configured_query_can_be_recorded() {
    let ended = Command::new(env!("CARGO_BIN_EXE_brinkwatch"))
        .args(["record", "nobody", "--for", "1s", "--set", "clusters.main.bootstrap_servers=127.0.0.1:1"])
        .output()
        .unwrap();
    assert_eq!(ended.status.code(), Some(2), "{}", String::from_utf8_lossy(&ended.stderr));
    assert!(ended.stdout.is_empty());
}

#[test]
fn brokers_that_do_not_answer_are_recorded_as_such() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("metadata"), "{\"id\":\"q\"}").unwrap();
    let ended = Command::new(env!("CARGO_BIN_EXE_brinkwatch"))
        .args(["record", "orders", "--for", "100ms", "--set", "clusters.main.bootstrap_servers=127.0.0.1:1"])
        .args(["--set", "queries.orders.cluster=main", "--set", "poll_interval=1s"])
        .args(["--set", &format!("queries.orders.checkpoint={}", folder.path().display())])
        .output()
        .unwrap();
    assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
    let scenario: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert!(scenario["steps"][0]["kafka_error"].is_string(), "{scenario}");
    assert_eq!(scenario["steps"][0]["checkpoint"]["metadata"]["text"], "{\"id\":\"q\"}");
}
