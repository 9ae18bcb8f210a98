//! Earliest, then latest: so a log that is deleted from meanwhile looks too full, never too empty.

use std::collections::{BTreeMap, BTreeSet};

use tokio::time::Instant;

use super::client::Connection;
use super::faults;
use super::librdkafka::{CallError, Found, Isolation, Spec};
use super::lookups::{Leaders, Pass, Rows};
use super::memory::{Memory, Oldest};
use super::topics;
use crate::measures::{Moment, Offset, Reason, TopicName, TopicPartition, Unread};
use crate::readers::FirstSince;
use crate::retention::{PartitionReading, TopicId};

/// Bounds of each partition, or the error in the way.
pub(super) type Bounds = BTreeMap<TopicPartition, Result<PartitionReading, CallError>>;

/// Reads earliest, latest and, for topics in `stable`, the last stable offset.
pub(super) fn read(
    pass: &Pass<'_>,
    leaders: &Leaders,
    partitions: &[TopicPartition],
    stable: &BTreeSet<TopicName>,
) -> Bounds {
    let all = partitions.iter().cloned().map(|partition| (partition, Spec::Earliest));
    let earliest = pass.look_up(leaders, all, Isolation::Uncommitted);
    let good = earliest.iter().filter(|(_, row)| row.is_ok()).map(|(partition, _)| (partition.clone(), Spec::Latest));
    let latest = pass.look_up(leaders, good, Isolation::Uncommitted);
    let wanted = latest.iter().filter(|(partition, row)| row.is_ok() && stable.contains(&partition.topic));
    let wanted = wanted.map(|(partition, _)| (partition.clone(), Spec::Latest));
    let stable = pass.look_up(leaders, wanted, Isolation::Committed);
    let join = |(partition, row): (TopicPartition, Result<Option<Found>, CallError>)| {
        let read = row.and_then(|earliest| {
            let earliest = found(earliest)?;
            let latest = found(latest.get(&partition).cloned().unwrap_or(Ok(None))?)?;
            let stable = stable.get(&partition).and_then(|row| row.as_ref().ok().copied().flatten());
            Ok(PartitionReading {
                earliest: earliest.offset,
                latest: latest.offset,
                stable: stable.map(|found| found.offset),
                leader_epoch: latest.leader_epoch,
                oldest: None,
            })
        });
        (partition, read)
    };
    earliest.into_iter().map(join).collect()
}

fn found(answer: Option<Found>) -> Result<Found, CallError> {
    answer.ok_or_else(|| CallError::of(super::librdkafka::NO_ANSWER))
}

/// The latest offset again. Leaders that changed are asked for once.
pub(super) fn latest(
    connection: &Connection,
    memory: &mut Memory,
    partitions: &[TopicPartition],
    until: Instant,
) -> BTreeMap<TopicPartition, Result<Offset, Unread>> {
    let asked = partitions.iter().map(|partition| (partition.clone(), Spec::Latest)).collect();
    let plain = |row: Result<Option<Found>, CallError>| {
        row.and_then(found).map(|found| found.offset).map_err(|error| faults::unread(&error))
    };
    let rows = persistently(connection, memory, &asked, until);
    rows.into_iter().map(|(partition, row)| (partition, plain(row))).collect()
}

/// The first record at or after a time.
pub(super) fn first_since(
    connection: &Connection,
    memory: &mut Memory,
    asked: BTreeMap<TopicPartition, Moment>,
    until: Instant,
) -> BTreeMap<TopicPartition, FirstSince> {
    let asked = asked.into_iter().map(|(partition, time)| (partition, Spec::At(time))).collect();
    let plain = |row: Result<Option<Found>, CallError>| match row {
        Ok(None) => Ok(None),
        // A record without a timestamp cannot be the first one after a time.
        Ok(Some(Found { timestamp: None, .. })) => {
            Err(Unread::new(Reason::Unsupported, "the broker's records carry no timestamps"))
        }
        Ok(Some(Found { offset, timestamp: Some(timestamp), .. })) => Ok(Some((offset, timestamp))),
        Err(error) => Err(faults::unread(&error)),
    };
    let rows = persistently(connection, memory, &asked, until);
    rows.into_iter().map(|(partition, row)| (partition, plain(row))).collect()
}

/// Asks, and once more where the leader has changed.
fn persistently(
    connection: &Connection,
    memory: &mut Memory,
    asked: &BTreeMap<TopicPartition, Spec>,
    until: Instant,
) -> Rows {
    let pass = Pass::new(connection, until);
    let ask = |leaders: &Leaders, wanted: BTreeSet<TopicPartition>| {
        let specs = wanted.into_iter().filter_map(|partition| {
            let spec = *asked.get(&partition)?;
            Some((partition, spec))
        });
        pass.look_up(leaders, specs, Isolation::Uncommitted)
    };
    let mut rows = ask(&memory.leaders, asked.keys().cloned().collect());
    let again: BTreeSet<TopicPartition> = rows
        .iter()
        .filter(|(_, row)| row.as_ref().is_err_and(faults::curable))
        .map(|(partition, _)| partition.clone())
        .collect();
    if !again.is_empty() && !pass.is_over() {
        topics::refresh_leaders(&pass, memory, &again);
        let again = again.into_iter().filter(|partition| worth_asking(&pass, &memory.leaders, partition)).collect();
        rows.extend(ask(&memory.leaders, again));
    }
    rows
}

/// A leader that has just been silent would be silent again.
pub(super) fn worth_asking(pass: &Pass<'_>, leaders: &Leaders, partition: &TopicPartition) -> bool {
    leaders.get(partition).is_some_and(|leader| !pass.is_silent(*leader))
}

/// Adds the oldest record to each partition that holds one. It is asked for anew when earliest moved only.
pub(super) fn add_oldest(
    pass: &Pass<'_>,
    memory: &mut Memory,
    bounds: &mut Bounds,
    ids: &BTreeMap<TopicName, Option<TopicId>>,
) {
    let id_of = |partition: &TopicPartition| ids.get(&partition.topic).copied().flatten();
    let current = |memory: &Memory, partition: &TopicPartition, reading: &PartitionReading| {
        let known = memory.oldest.get(partition)?;
        (known.earliest == reading.earliest && known.topic_id == id_of(partition)).then_some(known.record)
    };
    let filled = bounds.iter().filter_map(|(partition, read)| Some((partition, read.as_ref().ok()?)));
    let filled = filled.filter(|(_, reading)| reading.latest > reading.earliest);
    let asked: Vec<_> = filled
        .filter(|(partition, reading)| current(memory, partition, reading).is_none())
        .map(|(partition, _)| (partition.clone(), Spec::At(Moment::from_millis(0))))
        .collect();
    for (partition, row) in pass.look_up(&memory.leaders, asked, Isolation::Uncommitted) {
        let (Ok(row), Some(Ok(reading))) = (row, bounds.get(&partition)) else { continue };
        let record = row.and_then(|found| Some((found.offset, found.timestamp?)));
        let known = Oldest { topic_id: id_of(&partition), earliest: reading.earliest, record };
        memory.oldest.insert(partition, known);
    }
    for (partition, read) in bounds.iter_mut() {
        let Ok(reading) = read else { continue };
        let record = current(memory, partition, reading).flatten();
        // Between the two answers the log may have been deleted from, or emptied.
        reading.oldest = record.filter(|(offset, _)| (reading.earliest..reading.latest).contains(offset));
    }
}
