use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use prometheus::TextEncoder;
use prometheus::proto::{self, LabelPair, MetricFamily, MetricType};
use proptest::prelude::*;

use super::*;
use crate::judgement::QueryState;
use crate::measures::{Reason, Unread};
use crate::metrics::catalogue::{self, LAG_OFFSETS, Metric};
use crate::metrics::fixture::{self, ago, partition, verdict};
use crate::metrics::snapshot::{ClusterRound, DiscoveryRound, Granularity, PartitionMetrics, Polls, QueryRound};
use crate::shard::Shard;

fn whole() -> String {
    let own = about(&About {
        shard: Shard::new(2, 5).unwrap(),
        version: "0.1.0",
        revision: "abc",
        rustc: "rustc 1.88.0",
        config_ok: true,
        config_loaded_at: Some(ago(3_600)),
    });
    let ledger = ledger(LedgerHealth { persistent: true, up: true });
    let polls = Polls {
        up: false,
        total: 12,
        failures: BTreeMap::from([(Reason::Denied, 2)]),
        last_success: Some(ago(600)),
        last_attempt: Some(ago(60)),
        duration: Some(Duration::from_millis(450)),
        failure: Some(Unread::new(Reason::Denied, "AccessDenied")),
    };
    let looks = discovery(&DiscoveryRound {
        discovery: "lake".to_owned(),
        polls,
        watched: Some(17),
        refused: Some(1),
        requests: BTreeMap::from([("get".to_owned(), 0), ("list".to_owned(), 240)]),
        next_look: None,
    });
    text([&of_round(&fixture::round()), &own, &ledger, &looks])
}

fn lines_of<'a>(text: &'a str, metric: &Metric) -> Vec<&'a str> {
    text.lines().filter(|line| line.split(['{', ' ']).next() == Some(metric.name)).collect()
}

/// The lines of one query among those of its cluster.
fn only(query: QueryRound) -> String {
    let mut round = fixture::round();
    round.queries = BTreeMap::from([("q".to_owned(), query)]);
    text([&of_round(&round)])
}

#[test]
fn a_whole_scrape_reads_as_agreed() {
    let agreed = include_str!("../../../tests/golden/scrape.txt");
    let text = whole();
    for (number, (is, should)) in text.lines().zip(agreed.lines()).enumerate() {
        assert_eq!(is, should, "line {}", number + 1);
    }
    assert_eq!(text.len(), agreed.len());
}

#[test]
fn two_renders_of_one_round_are_byte_equal() {
    assert_eq!(whole(), whole());
}

#[test]
fn every_line_has_the_labels_that_the_catalogue_names() {
    let mut families = 0;
    for line in whole().lines() {
        if line.starts_with("# TYPE") {
            families += 1;
        }
        if line.starts_with('#') {
            continue;
        }
        let name = line.split(['{', ' ']).next().unwrap();
        let metric = catalogue::find(name).unwrap();
        let labels: Vec<&str> = line
            .split_once('{')
            .map(|(_, rest)| rest.rsplit_once('}').unwrap().0)
            .unwrap_or_default()
            .split("\",")
            .filter_map(|pair| pair.split_once('=').map(|(name, _)| name))
            .collect();
        assert_eq!(labels, metric.labels, "{line}");
    }
    assert!(families > 40, "{families}");
}

#[test]
fn every_metric_of_the_catalogue_occurs() {
    let mut round = fixture::round();
    for query in round.queries.values_mut() {
        query.publishing.partition_metrics = PartitionMetrics::All;
    }
    for sight in round.reading.topics.values_mut() {
        if let crate::retention::TopicSight::Seen(topic) = sight {
            for bounds in topic.partitions.values_mut().flatten() {
                bounds.stable = Some(bounds.latest);
            }
        }
    }
    let text = text([&of_round(&round)]) + &whole();
    for metric in catalogue::all() {
        assert!(!lines_of(&text, metric).is_empty(), "{}", metric.name);
    }
}

#[test]
fn a_topic_that_vanished_is_gone_from_the_next_text() {
    let mut round = fixture::round();
    assert!(text([&of_round(&round)]).contains("topic=\"prices\""));
    round.reading.topics.remove("prices");
    round.queries.remove("price-updates");
    assert!(!text([&of_round(&round)]).contains("topic=\"prices\""));
}

#[test]
fn what_is_known_beforehand_stands_at_zero_before_the_first_round() {
    let mut round = ClusterRound::waiting("main", Duration::from_secs(30), Duration::from_secs(90));
    round.requests.insert("metadata".to_owned(), 0);
    round.queries.insert("orders".to_owned(), QueryRound::waiting("file:///orders"));
    let text = text([&of_round(&round)]);
    for line in [
        "brinkwatch_cluster_up{kafka_cluster=\"main\"} 0",
        "brinkwatch_cluster_polls_total{kafka_cluster=\"main\"} 0",
        "brinkwatch_cluster_poll_failures_total{kafka_cluster=\"main\",reason=\"overrun\"} 0",
        "brinkwatch_kafka_requests_total{kafka_cluster=\"main\",api=\"metadata\"} 0",
        "brinkwatch_checkpoint_up{query=\"orders\",kafka_cluster=\"main\"} 0",
        "brinkwatch_checkpoint_poll_failures_total{query=\"orders\",kafka_cluster=\"main\",reason=\"denied\"} 0",
        "brinkwatch_query_events_total{query=\"orders\",kafka_cluster=\"main\",event=\"topic_recreated\"} 0",
        "brinkwatch_query_series_dropped{query=\"orders\",kafka_cluster=\"main\"} 0",
        "brinkwatch_query_state{query=\"orders\",kafka_cluster=\"main\",state=\"unknown\"} 1",
        "brinkwatch_query_state{query=\"orders\",kafka_cluster=\"main\",state=\"idle\"} 0",
    ] {
        assert!(text.lines().any(|each| each == line), "{line}\n{text}");
    }
    assert!(!text.contains("last_success"), "no poll, no time");
    assert!(!text.contains("lag"), "nothing was read, so nothing is zero");
}

#[test]
fn an_unknown_number_is_absent_and_no_limit_is_infinite() {
    let text = whole();
    assert!(lines_of(&text, &LAG_OFFSETS).iter().all(|line| !line.contains("orders-copy")));
    let endless = "brinkwatch_deletion_deadline_timestamp_seconds\
                   {query=\"fraud-features\",kafka_cluster=\"ingest-eu\",topic=\"pageviews\",partition=\"0\"} +Inf";
    assert!(text.lines().any(|line| line == endless), "{text}");
    assert!(!text.contains("NaN"));
}

#[test]
fn a_query_of_topic_granularity_keeps_only_the_problems_of_its_partitions() {
    let mut query = fixture::query(verdict(QueryState::Lost, &[("orders", vec![partition(0, 10, 20)])]));
    query.publishing.granularity = Granularity::Topic;
    let text = only(query);
    assert_eq!(lines_of(&text, &catalogue::COMMITTED_OFFSET), Vec::<&str>::new());
    assert_eq!(lines_of(&text, &catalogue::PARTITION_PROBLEM).len(), 1);
    assert_eq!(lines_of(&text, &catalogue::QUERY_TOPIC_LAG_OFFSETS).len(), 1);
    assert!(lines_of(&text, &catalogue::QUERY_SERIES_DROPPED)[0].ends_with(" 0"), "asked for, not dropped");
}

#[test]
fn a_query_above_its_series_limit_falls_to_topics_and_says_so() {
    let many = |limit| {
        let partitions = (0..10).map(|_| partition(5, 0, 9)).collect();
        let mut query = fixture::query(verdict(QueryState::Behind, &[("orders", partitions)]));
        query.publishing.series_limit = limit;
        only(query)
    };
    let (below, above) = (many(40), many(39));
    assert_eq!(lines_of(&below, &catalogue::LAG_OFFSETS).len(), 10);
    assert!(lines_of(&below, &catalogue::QUERY_SERIES_DROPPED)[0].ends_with(" 0"));
    assert_eq!(lines_of(&above, &catalogue::LAG_OFFSETS).len(), 0);
    assert!(lines_of(&above, &catalogue::QUERY_SERIES_DROPPED)[0].ends_with(" 40"));
}

#[test]
fn limits_of_a_topic_are_told_apart() {
    let check = |policy: Option<&str>, millis: Option<i64>, bytes: Option<i64>, size_rules: bool, limit: &str| {
        let mut round = fixture::round();
        let limits = crate::retention::Limits {
            cleanup_policy: policy.map(str::to_owned),
            retention_ms: millis,
            retention_bytes: bytes,
            ..Default::default()
        };
        let topic = crate::retention::TopicReading { limits: Some(Ok(limits)), ..Default::default() };
        round.reading.topics = [(Arc::from("t"), crate::retention::TopicSight::Seen(topic))].into();
        if size_rules {
            round.size_rules.insert(Arc::from("t"));
        }
        let text = text([&of_round(&round)]);
        let line = format!(
            "{}{{kafka_cluster=\"ingest-eu\",topic=\"t\",limit=\"{limit}\"}} 1",
            catalogue::TOPIC_RETENTION_LIMIT.name
        );
        assert!(text.lines().any(|each| each == line), "{policy:?} {millis:?} {bytes:?} {limit}");
    };
    check(Some("delete"), Some(1), Some(-1), false, "time");
    check(Some("delete"), Some(-1), Some(9), false, "size");
    check(Some("delete"), Some(1), Some(9), false, "time");
    check(Some("delete"), Some(1), Some(9), true, "size");
    check(Some("delete"), Some(-1), Some(-1), false, "none");
    check(Some("compact"), Some(1), Some(9), false, "none");
    check(Some("compact,delete"), Some(1), Some(-1), false, "time");
    check(Some(""), Some(1), Some(-1), false, "none");
    check(None, Some(1), Some(-1), false, "unknown");
    check(Some("delete"), None, Some(-1), false, "unknown");
}

/// Our lines and the lines of the `prometheus` crate's encoder, for the same samples.
fn both(samples: &[(Vec<(String, String)>, f64)]) -> (String, String) {
    let mut blocks = Blocks::default();
    let mut family = MetricFamily::default();
    family.set_name(LAG_OFFSETS.name.to_owned());
    family.set_help(LAG_OFFSETS.help.to_owned());
    family.set_field_type(MetricType::GAUGE);
    let mut metrics = Vec::new();
    for (pairs, value) in samples {
        let mut labels = Labels::none();
        let mut theirs = Vec::new();
        for (name, text) in pairs {
            labels = labels.and(name, text);
            let mut pair = LabelPair::default();
            pair.set_name(name.clone());
            pair.set_value(text.clone());
            theirs.push(pair);
        }
        blocks.put(&LAG_OFFSETS, &labels, *value);
        let mut gauge = proto::Gauge::default();
        gauge.set_value(*value);
        let mut metric = proto::Metric::from_gauge(gauge);
        metric.set_label(theirs);
        metrics.push(metric);
    }
    family.set_metric(metrics);
    let theirs = TextEncoder::new().encode_to_string(&[family]).unwrap();
    // The crate writes infinity as Rust does; Prometheus' own writers say +Inf.
    (text([&blocks]), theirs.replace(" inf\n", " +Inf\n").replace(" -inf\n", " -Inf\n"))
}

proptest! {
    #[test]
    fn the_writer_and_the_crates_encoder_agree(
        samples in prop::collection::vec(
            (
                prop::collection::vec(("[a-z_]{1,8}", any::<String>()), 0..4),
                prop_oneof![
                    any::<f64>().prop_filter("a value", |value| !value.is_nan()),
                    any::<i32>().prop_map(f64::from),
                    Just(f64::INFINITY),
                ],
            ),
            1..6,
        )
    ) {
        let (ours, theirs) = both(&samples);
        prop_assert_eq!(ours, theirs);
    }
}

#[test]
fn hostile_label_values_are_escaped() {
    let labels = Labels::none().and("topic", "a\"b\\c\nd");
    let mut blocks = Blocks::default();
    blocks.put(&LAG_OFFSETS, &labels, 1_u64);
    assert!(text([&blocks]).ends_with("{topic=\"a\\\"b\\\\c\\nd\"} 1\n"));
}
