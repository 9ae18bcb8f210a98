//! Answers look-ups by time out of the points that a scenario lists.

use super::scenario::Partition;
use crate::measures::{Moment, Offset};
use crate::readers::AgeRequest;
use crate::retention::{Age, Proofs, Search};

/// As many as a reader of real brokers spends on one search.
const LOOK_UPS: usize = 10;

/// The first listed record at or above earliest whose timestamp is at least that, below the end that readers see.
pub(super) fn look_up(partition: &Partition, committed_only: bool, at_least: Moment) -> Option<(Offset, Moment)> {
    let end = partition.stable.filter(|_| committed_only).unwrap_or(partition.latest);
    let mut records = partition.records.iter().copied();
    records.find(|(offset, at)| (partition.earliest..end).contains(offset) && *at >= at_least)
}

/// Searches for the age of what comes next at a committed offset, with what earlier searches have shown.
pub(super) fn age(
    request: &AgeRequest,
    partition: &Partition,
    committed_only: bool,
    known: &mut Proofs,
    now: Moment,
) -> Age {
    known.observe(request.topic_id, &request.bounds);
    let bounds = (request.bounds.earliest, request.bounds.latest);
    let mut search = Search::new(request.committed, bounds, request.retention, now);
    for _ in 0..LOOK_UPS {
        let Some(time) = search.next(known) else { break };
        known.learn(time, look_up(partition, committed_only, time));
    }
    known.age(request.committed)
}
