//! What the trigger `AvailableNow` checks for itself when a query is started again in the middle of a batch.
//!
//! With that trigger Spark asks for the end of every partition once, before the first batch, and holds the end of each
//! batch against it: also of one that an earlier run has planned. What does not agree ends the query with an error of
//! the trigger's own, whatever `failOnDataLoss` says. A checkpoint does not tell which trigger its query has.

use std::collections::BTreeMap;

use super::restart::{Outcome, Restart};
use super::settings::{Isolation, QuerySettings, Subscribe};
use crate::checkpoint::{CheckpointReading, SourceKind, SourceReading};
use crate::measures::{Offset, TopicPartition};
use crate::retention::{ClusterReading, PartitionReading, TopicSight};

const OTHER_PARTITIONS: &str = "MISMATCHED_TOPIC_PARTITIONS_BETWEEN_END_OFFSET_AND_PREFETCHED";
const HIGHER_END: &str = "END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_PREFETCHED";

/// How a restart with that trigger would fail where one with another would not, or would fail otherwise. Nothing while
/// no batch is open, or where the brokers were not read.
#[must_use]
pub fn predict_available_now(
    reading: &CheckpointReading,
    cluster: &ClusterReading,
    settings: &QuerySettings,
) -> Option<Restart> {
    if !reading.batch_open || reading.restartable == Some(false) {
        return None;
    }
    let kafka = reading.sources.iter().filter(|source| source.kind == SourceKind::Kafka);
    kafka.filter_map(|source| of_source(source, cluster, settings)).next()
}

fn of_source(source: &SourceReading, cluster: &ClusterReading, settings: &QuerySettings) -> Option<Restart> {
    let planned: BTreeMap<TopicPartition, Offset> = source
        .topics
        .iter()
        .flat_map(|(topic, positions)| {
            let known = positions.iter().filter_map(|(number, position)| Some((*number, position.planned?)));
            known.map(|(number, planned)| (TopicPartition::new(topic, number), planned))
        })
        .collect();
    let there = ends(source, cluster, settings)?;
    let fails = |class, at: &TopicPartition, detail: String| {
        let partition = Some(at.clone());
        Some(Restart { outcome: Outcome::Fails, error_class: Some(class), partition, detail, skipped: Vec::new() })
    };
    if let Some(at) = there.keys().find(|at| !planned.contains_key(at)) {
        return fails(OTHER_PARTITIONS, at, format!("the open batch is planned without {at}, which the broker has"));
    }
    if let Some(at) = planned.keys().find(|at| !there.contains_key(at)) {
        return fails(OTHER_PARTITIONS, at, format!("the open batch is planned with {at}, which the broker does not have"));
    }
    let (at, planned, end) = planned.iter().find_map(|(at, planned)| {
        let end = there.get(at)?;
        (planned > end).then_some((at, planned, end))
    })?;
    fails(HIGHER_END, at, format!("{at} is planned up to {planned}, and ends at {end}"))
}

/// Where every partition ends that the source is assigned now. Nothing where one of them was not read, or where a topic
/// is not there: then Spark fails before it comes to these checks.
fn ends(
    source: &SourceReading,
    cluster: &ClusterReading,
    settings: &QuerySettings,
) -> Option<BTreeMap<TopicPartition, Offset>> {
    let matched = cluster.topics.keys().filter(|_| settings.subscribe == Subscribe::Pattern);
    let mut ends = BTreeMap::new();
    for topic in source.topics.keys().chain(matched) {
        let partitions = match cluster.topics.get(topic)? {
            TopicSight::Seen(seen) => &seen.partitions,
            TopicSight::Absent if settings.subscribe == Subscribe::Pattern => continue,
            TopicSight::Absent | TopicSight::Unread(_) => return None,
        };
        let assigned = source.topics.get(topic);
        for (number, bounds) in partitions {
            let is_assigned = assigned.is_some_and(|positions| positions.contains_key(number));
            if settings.subscribe == Subscribe::Assign && !is_assigned {
                continue;
            }
            ends.insert(TopicPartition::new(topic, *number), end(bounds.as_ref().ok()?, settings));
        }
    }
    Some(ends)
}

fn end(bounds: &PartitionReading, settings: &QuerySettings) -> Offset {
    let stable = bounds.stable.filter(|_| settings.isolation == Isolation::ReadCommitted);
    stable.map_or(bounds.latest, |stable| stable.min(bounds.latest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checkpoint::Position;
    use crate::measures::TopicName;
    use crate::retention::TopicReading;

    /// A batch is open that plans each partition up to there; the broker ends each there.
    fn said(planned: &[(i32, i64)], broker: &[(i32, i64)], subscribe: Subscribe) -> Option<(&'static str, String)> {
        let offset = |number| Offset::new(number).unwrap();
        let position = |planned| Position { committed: Some(offset(0)), planned: Some(offset(planned)), ..Position::default() };
        let topic = TopicName::from("orders");
        let positions = planned.iter().map(|(number, planned)| (*number, position(*planned))).collect();
        let source = SourceReading { topics: BTreeMap::from([(topic.clone(), positions)]), ..source() };
        let bounds = |latest| PartitionReading {
            earliest: offset(0),
            latest: offset(latest),
            stable: None,
            leader_epoch: None,
            oldest: None,
        };
        let partitions = broker.iter().map(|(number, latest)| (*number, Ok(bounds(*latest)))).collect();
        let mut cluster = ClusterReading::default();
        cluster.topics.insert(topic, TopicSight::Seen(TopicReading { partitions, ..TopicReading::default() }));
        let settings = QuerySettings { subscribe, ..QuerySettings::default() };
        of_source(&source, &cluster, &settings).map(|restart| (restart.error_class.unwrap(), restart.detail))
    }

    fn source() -> SourceReading {
        SourceReading {
            index: 0,
            id: "0".to_owned(),
            kind: SourceKind::Kafka,
            committed_from: Some("offsets/0".to_owned()),
            planned_from: Some("offsets/1".to_owned()),
            topics: BTreeMap::new(),
        }
    }

    #[test]
    fn the_end_of_an_open_batch_is_held_against_the_brokers() {
        let check = |planned: &[(i32, i64)], broker: &[(i32, i64)], subscribe, expected: Option<(&'static str, &str)>| {
            let expected = expected.map(|(class, detail)| (class, detail.to_owned()));
            assert_eq!(said(planned, broker, subscribe), expected, "{planned:?} {broker:?} {subscribe:?}");
        };
        use Subscribe::{Assign, Pattern, Subscribe as Subscribed};
        check(&[(0, 20)], &[(0, 20)], Subscribed, None);
        check(&[(0, 20)], &[(0, 90)], Pattern, None);
        let without = "the open batch is planned without orders/1, which the broker has";
        check(&[(0, 20)], &[(0, 20), (1, 0)], Subscribed, Some((OTHER_PARTITIONS, without)));
        check(&[(0, 20)], &[(0, 20), (1, 0)], Pattern, Some((OTHER_PARTITIONS, without)));
        check(&[(0, 20)], &[(0, 20), (1, 0)], Assign, None);
        let with = "the open batch is planned with orders/1, which the broker does not have";
        check(&[(0, 20), (1, 5)], &[(0, 20)], Subscribed, Some((OTHER_PARTITIONS, with)));
        let beyond = "orders/0 is planned up to 20, and ends at 5";
        check(&[(0, 20)], &[(0, 5)], Subscribed, Some((HIGHER_END, beyond)));
    }
}
