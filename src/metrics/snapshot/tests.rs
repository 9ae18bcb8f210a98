use std::collections::BTreeSet;
use std::time::Duration;

use super::*;
use crate::judgement::Condition;
use crate::metrics::exposition::{of_round, text};
use crate::metrics::fixture::{self, NOW, blind, partition, verdict};

#[test]
fn a_round_is_stale_only_after_its_time() {
    let round = fixture::round();
    let finished = round.finished_at.unwrap();
    assert!(!round.is_stale(finished.plus(Duration::from_secs(90))));
    assert!(round.is_stale(finished.plus(Duration::from_millis(90_001))));
    let waiting = ClusterRound::waiting("main", Duration::from_secs(30), Duration::from_secs(90));
    assert!(!waiting.is_stale(NOW), "nothing was said that could be too old");
}

#[test]
fn of_an_aged_round_what_was_measured_goes_and_what_stays_true_is_kept() {
    let text = text([&of_round(&fixture::round().aged())]);
    let has = |start: &str| text.lines().any(|line| line.starts_with(start));
    for gone in [
        "brinkwatch_committed_offset",
        "brinkwatch_headroom_offsets",
        "brinkwatch_lag_offsets",
        "brinkwatch_query_topic_lag_offsets",
        "brinkwatch_query_topic_committed_offsets",
        "brinkwatch_query_topic_headroom_offsets",
        "brinkwatch_query_topic_retention_remaining_ratio",
        "brinkwatch_query_max_partition_lag_offsets",
        "brinkwatch_earliest_offset",
        "brinkwatch_latest_offset",
        "brinkwatch_topic_partitions",
    ] {
        assert!(!has(gone), "{gone}");
    }
    for kept in [
        "brinkwatch_deletion_deadline_timestamp_seconds",
        "brinkwatch_query_topic_deletion_deadline_timestamp_seconds",
        "brinkwatch_query_topic_oldest_unread_timestamp_seconds",
        "brinkwatch_query_topic_lost_offsets{query=\"orders-enriched\",kafka_cluster=\"ingest-eu\",topic=\"orders\"} 4200",
        "brinkwatch_query_topic_offsets_lost_total",
        "brinkwatch_query_events_total",
        "brinkwatch_topic_retention_seconds",
        "brinkwatch_cluster_up{kafka_cluster=\"ingest-eu\"} 0",
        "brinkwatch_checkpoint_up{query=\"price-updates\",kafka_cluster=\"ingest-eu\"} 0",
        "brinkwatch_cluster_poll_last_success_timestamp_seconds",
        "brinkwatch_query_state{query=\"price-updates\",kafka_cluster=\"ingest-eu\",state=\"unknown\"} 1",
        "brinkwatch_query_state{query=\"orders-enriched\",kafka_cluster=\"ingest-eu\",state=\"lost\"} 1",
        "brinkwatch_query_state{query=\"fraud-features\",kafka_cluster=\"ingest-eu\",state=\"at_risk\"} 1",
        "brinkwatch_query_condition{query=\"fraud-features\",kafka_cluster=\"ingest-eu\",condition=\"unknown\"} 1",
    ] {
        assert!(has(kept), "{kept}\n{text}");
    }
}

#[test]
fn ageing_twice_is_ageing_once() {
    let once = fixture::round().aged();
    assert_eq!(once.aged(), once);
}

#[test]
fn an_aged_topic_counts_its_partitions_as_unknown_but_for_latched_states() {
    let mut round = fixture::round();
    let judged = verdict(QueryState::Lost, &[("t", vec![partition(0, 5, 9), partition(5, 0, 9), blind()])]);
    round.queries = [("q".to_owned(), fixture::query(judged))].into();
    let aged = round.aged();
    let verdict = aged.queries["q"].verdict.as_ref().unwrap();
    let topic = verdict.topics.values().next().unwrap();
    assert_eq!(topic.states[&PartitionState::Lost], 1);
    assert_eq!(topic.states[&PartitionState::Unknown], 2);
    assert_eq!(topic.problems[&PartitionProblem::Unknown], 2);
    assert_eq!(topic.problems[&PartitionProblem::Lost], 1);
    assert!(verdict.conditions.contains(&Condition::Unknown));
}

#[test]
fn a_gone_partition_is_gone_or_gone_caught_up_and_never_both() {
    let mut each = blind();
    each.state = PartitionState::Gone;
    assert_eq!(problems(&each), BTreeSet::from([PartitionProblem::Gone]));
    each.problems.insert(PartitionProblem::GoneCaughtUp);
    assert_eq!(problems(&each), BTreeSet::from([PartitionProblem::GoneCaughtUp]));
}
