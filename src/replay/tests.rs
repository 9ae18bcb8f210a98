//! The format, key by key.

use std::collections::BTreeMap;

use super::parse;
use super::scenario::{Change, TopicChange};

fn scenario(steps: &str) -> String {
    format!("{{\n\"brinkwatch_scenario\": 1,\n\"steps\": [\n{steps}\n]\n}}")
}

fn check(steps: &str, line: usize, key: &str, reason: &str) {
    let error = parse(&scenario(steps)).expect_err(steps);
    assert_eq!((error.line, error.key.as_str()), (line, key), "{error}");
    assert!(error.reason.contains(reason), "{error}");
}

#[test]
fn a_mistake_is_told_with_its_line_its_key_and_the_reason() {
    let at = "\"at\": \"2026-01-01T00:00:00Z\"";
    check("{}", 4, "steps[0]", "lacks \"at\"");
    check("{\"at\": 7}", 4, "steps[0].at", "must be a time");
    check("{\"at\": \"2026-01-01\"}", 4, "steps[0].at", "must be a time");
    check(&format!("{{{at}}},\n{{{at}}}"), 5, "steps[1].at", "must be later");
    check(&format!("{{{at},\n\"kafak\": {{}}}}"), 5, "steps[0].kafak", "did you mean \"kafka\"?");
    check(&format!("{{{at}, {at}}}"), 4, "steps[0].at", "is given twice");
    check(&format!("{{{at}, \"restart\": \"yes\"}}"), 4, "steps[0].restart", "with_ledger");
    check(&format!("{{{at}, \"kafka_reset\": 1}}"), 4, "steps[0].kafka_reset", "true or false");
    check(&format!("{{{at}, \"kafka_error\": \"slow\"}}"), 4, "steps[0].kafka_error", "neither a reason");
    check(&format!("{{{at}, \"kafka_error\": \"denid\"}}"), 4, "steps[0].kafka_error", "did you mean \"denied\"?");
    check(&format!("{{{at}, \"acknowledge\": [\"orders/x\"]}}"), 4, "steps[0].acknowledge[0]", "is no partition");
}

#[test]
fn a_mistake_in_a_checkpoint_names_the_file() {
    let file = |file: &str, key: &str, reason: &str| {
        let step = format!("{{\"at\": \"2026-01-01T00:00:00Z\", \"checkpoint\": {{\n\"offsets/7\": {file}}}}}");
        check(&step, 5, &format!("steps[0].checkpoint.\"offsets/7\"{key}"), reason);
    };
    file("{}", "", "either \"text\" or \"base64\"");
    file("{\"text\": \"\", \"base64\": \"\"}", "", "either \"text\" or \"base64\"");
    file("{\"base64\": \"?\"}", ".base64", "is not base64");
    file("{\"text\": 1}", ".text", "must be a text");
    file("{\"text\": \"\", \"modified\": \"today\"}", ".modified", "must be a time");
    file("{\"text\": \"\", \"size\": 3}", ".size", "unknown key");
    file("[]", "", "must be an object");
    let outside = "{\"at\": \"2026-01-01T00:00:00Z\", \"checkpoint\": {\"../x\": {\"text\": \"\"}}}";
    check(outside, 4, "steps[0].checkpoint.\"../x\"", "is no path inside a checkpoint");
    let both = "{\"at\": \"2026-01-01T00:00:00Z\", \"checkpoint\": {}, \"checkpoints\": {}}";
    check(both, 4, "steps[0].checkpoints", "either one");
}

#[test]
fn a_mistake_in_the_brokers_answer_names_topic_and_partition() {
    let partition = |partition: &str, key: &str, reason: &str| {
        let topics = format!("{{\"orders\": {{\"partitions\": {{\n\"0\": {partition}}}}}}}");
        let step = format!("{{\"at\": \"2026-01-01T00:00:00Z\", \"kafka\": {{\"topics\": {topics}}}}}");
        check(&step, 5, &format!("steps[0].kafka.topics.orders.partitions.0{key}"), reason);
    };
    partition("{\"earliest\": 1}", "", "lacks \"latest\"");
    partition("{\"earliest\": 1, \"latest\": 1.5}", ".latest", "whole number");
    partition("{\"earliest\": 1, \"latest\": 2, \"lates\": 3}", ".lates", "did you mean \"latest\"?");
    partition("{\"earliest\": 0, \"latest\": 9, \"records\": [[3, 1], [3, 2]]}", ".records[1]", "must ascend");
    partition("{\"earliest\": 0, \"latest\": 9, \"records\": [[3]]}", ".records[0]", "pair");
    partition("{\"error\": \"no_leadr\"}", ".error", "did you mean \"no_leader\"?");
}

#[test]
fn what_is_no_scenario_is_told_so() {
    let reason = |text: &str| parse(text).expect_err(text).to_string();
    assert!(reason("{\n\"a\": ,\n}").starts_with("line 2: is not JSON"));
    assert!(reason("[]").starts_with("line 1: must be an object"));
    assert!(reason("{}").contains("lacks \"brinkwatch_scenario\""));
    assert!(reason("{\"brinkwatch_scenario\": 2, \"steps\": []}").contains("only version 1"));
    assert!(reason(&scenario("")).contains("at least one step"));
    let list = "{\"brinkwatch_scenario\": 1, \"configuration\": {\"lag_floor\": [1]}, \"steps\": [{}]}";
    assert!(reason(list).contains("configuration.lag_floor"));
}

#[test]
fn what_is_left_out_stays_and_null_is_gone() {
    let steps = "{\"at\": \"2026-01-01T00:00:00Z\", \"kafka\": {\"topics\": {\"a\": {\"topic_id\": \"T1\", \
                 \"partitions\": {\"0\": {\"earliest\": 0, \"latest\": 5}, \"1\": {\"earliest\": 0, \"latest\": 6}}}}}},\n\
                 {\"at\": \"2026-01-01T00:01:00Z\", \"kafka\": {\"topics\": {\"a\": {\"topic_id\": null, \
                 \"partitions\": {\"1\": null}}}}}";
    let parsed = parse(&scenario(steps)).unwrap();
    let world = super::world::World::default();
    let mut state = world.state();
    state.apply(&parsed.steps[0]);
    state.apply(&parsed.steps[1]);
    let super::world::Topic::Seen(topic) = &state.kafka.topics["a"] else { panic!("seen") };
    assert_eq!(topic.topic_id, None);
    assert_eq!(topic.partitions.keys().copied().collect::<Vec<_>>(), [0]);
}

#[test]
fn two_ids_are_the_same_when_their_texts_are_and_a_zero_id_is_none() {
    let id = |text: &str| {
        let kafka = format!("{{\"topics\": {{\"a\": {{\"topic_id\": \"{text}\"}}}}}}");
        let parsed = parse(&scenario(&format!("{{\"at\": \"2026-01-01T00:00:00Z\", \"kafka\": {kafka}}}"))).unwrap();
        let topics: BTreeMap<_, _> = parsed.steps[0].kafka.topics.clone();
        match topics.into_values().next() {
            Some(Some(TopicChange::Seen { topic_id, .. })) => topic_id,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(id("T1"), id("T1"));
    assert_ne!(id("T1"), id("T2"));
    assert_eq!(id("AAAAAAAAAAAAAAAAAAAAAA"), Change::Silent);
    assert_eq!(id("00000000-0000-0000-0000-000000000000"), Change::Silent);
}
