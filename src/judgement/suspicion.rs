//! Signs that a topic was deleted and made again, where no id tells.

use std::time::Duration;

use super::memory::{PartitionMemory, TopicMemory};
use super::needs::Need;
use super::partition::Round;
use crate::measures::{Moment, Offset, TopicName, TopicPartition};
use crate::retention::{PartitionReading, TopicReading};

/// A driver plans a batch within so much of the time that it stamps into it.
const PLANNING: Duration = Duration::from_secs(600);

/// Why the topic is suspected: some sign on every partition where there can be one, and at least one such partition.
pub(super) fn test(
    round: &Round<'_>,
    name: &TopicName,
    needs: &std::collections::BTreeMap<i32, Need>,
    reading: &TopicReading,
    topic: &TopicMemory,
) -> Option<String> {
    let mut first = None;
    for (partition, need) in needs {
        let (Some(committed), Some(Ok(bounds))) = (need.committed, reading.partitions.get(partition)) else { continue };
        if bounds.earliest >= committed {
            continue;
        }
        let at = TopicPartition::new(name, *partition);
        let claimed = (!topic.accepted).then(|| claimed_at(round, &at, committed)).flatten();
        match sign(round, committed, bounds, claimed, topic.partitions.get(partition)) {
            Sign::Seen(why) => first = first.or_else(|| Some(format!("partition {partition}: {why}"))),
            Sign::Absent => return None,
            Sign::CannotTell => {}
        }
    }
    first
}

enum Sign {
    Seen(String),
    Absent,
    CannotTell,
}

fn sign(
    round: &Round<'_>,
    committed: Offset,
    bounds: &PartitionReading,
    claimed: Option<Moment>,
    memory: Option<&PartitionMemory>,
) -> Sign {
    let mut testable = false;
    if let (Some((offset, at)), Some(claimed)) = (bounds.oldest, claimed) {
        testable = true;
        // A stamp from the future proves nothing: any clock may be wrong that way.
        if offset < committed && at > claimed && at <= round.now.plus(round.settings.clock_skew) {
            return Sign::Seen(format!(
                "the oldest record, at {offset}, is younger than the batch that read up to {committed}"
            ));
        }
    }
    let Some(memory) = memory else { return if testable { Sign::Absent } else { Sign::CannotTell } };
    if let (Some((offset, at)), Some((now_offset, now_at))) = (memory.oldest, bounds.oldest)
        && offset >= bounds.earliest
    {
        testable = true;
        if offset == now_offset && at != now_at {
            return Sign::Seen(format!("the record at {offset} has another timestamp than before"));
        }
    }
    if let (Some(before), Some(now)) = (memory.leader_epoch, bounds.leader_epoch) {
        testable = true;
        if now < before {
            return Sign::Seen(format!("the leader epoch went down from {before} to {now}"));
        }
    }
    if let (Some(earliest), Some(latest)) = (memory.earliest, memory.latest) {
        testable = true;
        if bounds.earliest < earliest && bounds.latest < latest {
            return Sign::Seen(format!("earliest and latest both went down, from {earliest} and {latest}"));
        }
    }
    if testable { Sign::Absent } else { Sign::CannotTell }
}

/// The latest moment at which the batch that claims this position can have been planned: the oldest one with it, as far
/// as entries are known. File times survive no copy, stamps survive no rerun: the earlier of both counts.
fn claimed_at(round: &Round<'_>, at: &TopicPartition, committed: Offset) -> Option<Moment> {
    let oldest = round.history.iter().rev().take_while(|entry| entry.positions.get(at) == Some(&committed)).last();
    let (planned, stamped) = match oldest {
        Some(entry) => (entry.planned_at, entry.timestamp),
        None => {
            round.reading.newest_committed?;
            (round.healing.committed.and_then(|times| times.planned_at), round.reading.batch_timestamp)
        }
    };
    let planned = planned.map(|at| at.plus(round.settings.clock_skew));
    let stamped = stamped.map(|at| at.plus(PLANNING));
    match (planned, stamped) {
        (Some(planned), Some(stamped)) => Some(planned.min(stamped)),
        (one, other) => one.or(other),
    }
}
