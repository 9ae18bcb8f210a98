//! What the tests of this room share: a cluster in a line, and offsets without ceremony.

mod ways;
mod sinks;
mod sizes;
mod starts;
mod times;
mod verifying;

use std::collections::{BTreeMap, BTreeSet};

use crate::measures::{Moment, Offset, Reason, TopicName, TopicPartition, Unread};
use crate::retention::{ClusterReading, PartitionReading, TopicReading, TopicSight};

const NOW: Moment = Moment::from_millis(1_796_007_188_000);

fn offset(number: i64) -> Offset {
    Offset::new(number).unwrap()
}

fn at(partition: i32) -> TopicPartition {
    TopicPartition { topic: "orders".into(), partition }
}

fn bounds(earliest: i64, latest: i64) -> PartitionReading {
    PartitionReading {
        earliest: offset(earliest),
        latest: offset(latest),
        stable: None,
        leader_epoch: None,
        oldest: None,
    }
}

/// Topic `orders`, whose partitions have these bounds; none: the partition could not be read.
fn cluster(partitions: &[Option<(i64, i64)>]) -> ClusterReading {
    let read = |bounds_of: &Option<(i64, i64)>| match bounds_of {
        Some((earliest, latest)) => Ok(bounds(*earliest, *latest)),
        None => Err(Unread::new(Reason::Unreachable, "no leader")),
    };
    let topic =
        TopicReading { partitions: (0..).zip(partitions.iter().map(read)).collect(), ..TopicReading::default() };
    ClusterReading { topics: BTreeMap::from([("orders".into(), TopicSight::Seen(topic))]), ..ClusterReading::default() }
}

fn positions(numbers: &[(i32, i64)]) -> BTreeMap<TopicPartition, Offset> {
    numbers.iter().map(|(partition, stood)| (at(*partition), offset(*stood))).collect()
}

fn topics() -> BTreeSet<TopicName> {
    BTreeSet::from(["orders".into()])
}
