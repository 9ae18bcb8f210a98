use super::*;

/// What `promtool check metrics` refuses between underscores: abbreviated and other than base units, and own kinds.
const REFUSED: &[&str] = &[
    "s",
    "ms",
    "us",
    "ns",
    "sec",
    "b",
    "kb",
    "mb",
    "tb",
    "pb",
    "m",
    "h",
    "d",
    "minutes",
    "hours",
    "days",
    "weeks",
    "milliseconds",
    "microseconds",
    "nanoseconds",
    "kilobytes",
    "megabytes",
    "gigabytes",
    "percent",
    "gauge",
    "counter",
    "histogram",
    "summary",
];

/// Labels that collide with what service discovery attaches to a target.
const COLLIDING: &[&str] =
    &["cluster", "region", "zone", "env", "environment", "service", "stage", "dc", "owner", "type"];

fn mistakes(metric: &Metric) -> Vec<String> {
    let mut found = Vec::new();
    let mut check = |right: bool, mistake: &str| {
        if !right {
            found.push(format!("{}: {mistake}", metric.name));
        }
    };
    let name = metric.name;
    check(name.starts_with(PREFIX), "lacks the prefix");
    check(
        name.starts_with(|c: char| c.is_ascii_lowercase())
            && name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
            && !name.contains("__")
            && !name.ends_with('_'),
        "is not snake case",
    );
    check(!name.split('_').any(|word| REFUSED.contains(&word)), "holds a word that promtool refuses");
    check(name.ends_with("_total") == (metric.kind == Kind::Counter), "_total is for counters, and only for them");
    check(!["_count", "_sum", "_bucket"].iter().any(|end| name.ends_with(end)), "has a histogram's suffix");
    check(name.ends_with("_seconds") == matches!(metric.unit, Unit::Seconds | Unit::Timestamp), "suffix _seconds");
    check(name.ends_with("_timestamp_seconds") == (metric.unit == Unit::Timestamp), "suffix _timestamp_seconds");
    check(name.ends_with("_ratio") == (metric.unit == Unit::Ratio), "suffix _ratio");
    check(name.ends_with("_bytes") == (metric.unit == Unit::Bytes), "suffix _bytes");
    check(metric.help.ends_with('.') && metric.help.len() > 10, "HELP is not a sentence");
    check(!metric.help.contains(['\n', '\\']), "HELP needs escaping");
    for label in metric.labels {
        check(!COLLIDING.contains(label), "a label collides with a target's");
        check(label.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "a label is not snake case");
    }
    found
}

#[test]
fn every_metric_keeps_the_rules_of_naming() {
    let found: Vec<String> = all().into_iter().flat_map(mistakes).collect();
    assert_eq!(found, Vec::<String>::new());
}

#[test]
fn a_bad_metric_is_noticed() {
    let bad = Metric { name: "brinkwatch_poll_time_ms", help: "Time", labels: &["cluster"], ..COMMITTED_OFFSET };
    assert_eq!(mistakes(&bad).len(), 3, "{:?}", mistakes(&bad));
}

#[test]
fn every_name_is_there_once() {
    let mut names: Vec<&str> = all().iter().map(|metric| metric.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn every_polled_value_says_so() {
    for metric in [PARTITION_METRICS, QUERY_TOPIC_METRICS, KAFKA_METRICS].concat() {
        assert!(metric.help.contains("Polled"), "{}", metric.name);
    }
}

#[test]
fn a_metric_is_found_by_its_name() {
    assert_eq!(find("brinkwatch_cluster_up"), Some(&CLUSTER_UP));
    assert_eq!(find("brinkwatch_nothing"), None);
}

#[test]
fn the_worse_side_of_a_share_or_a_deadline_is_the_lower_and_of_lag_the_higher() {
    for (metric, side) in [
        (&RETENTION_REMAINING_RATIO, Side::Min),
        (&DELETION_DEADLINE, Side::Min),
        (&QUERY_TOPIC_PROJECTED_LOSS, Side::Min),
        (&QUERY_RESTARTABLE, Side::Min),
        (&CLUSTER_UP, Side::Min),
        (&LAG_OFFSETS, Side::Max),
        (&QUERY_TOPIC_LOST_OFFSETS, Side::Max),
        (&QUERY_TOPIC_PARTITION_PROBLEMS, Side::Max),
        (&QUERY_LAST_EVENT, Side::Max),
    ] {
        assert_eq!(metric.worse, side, "{}", metric.name);
    }
}
