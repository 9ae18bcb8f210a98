//! Drives the searches for the age of unread records: all partitions advance together, one look-up each at a time.

use std::collections::BTreeMap;

use tokio::time::Instant;

use super::client::Connection;
use super::librdkafka::{Found, Isolation, Spec};
use super::lookups::Pass;
use super::memory::Memory;
use crate::measures::{Moment, Offset, TopicPartition};
use crate::readers::AgeRequest;
use crate::retention::{Age, Search};

/// Look-ups for each search. Two are enough for most; what is proved by then holds in any case.
const LOOK_UPS: usize = 10;

/// Answers every request, from what is known and from as few look-ups as that leaves necessary.
pub(super) fn read(
    connection: &Connection,
    memory: &mut Memory,
    asked: &[AgeRequest],
    now: Moment,
    until: Instant,
) -> BTreeMap<(TopicPartition, Offset), Age> {
    let pass = Pass::new(connection, until);
    let mut searches: BTreeMap<&TopicPartition, Vec<Search>> = BTreeMap::new();
    for request in asked {
        memory.proofs.entry(request.partition.clone()).or_default().observe(request.topic_id, &request.bounds);
        let bounds = (request.bounds.earliest, request.bounds.latest);
        let search = Search::new(request.committed, bounds, request.retention, now);
        searches.entry(&request.partition).or_default().push(search);
    }
    // Searches of one partition take turns.
    let most = searches.values().map(Vec::len).max().unwrap_or(0);
    for _ in 0..LOOK_UPS * most {
        // A call holds a partition once; its other searches may learn from the answer.
        let next: Vec<(TopicPartition, Moment)> = searches
            .iter_mut()
            .filter_map(|(partition, searches)| {
                let known = memory.proofs.get(*partition)?;
                let time = searches.iter_mut().find_map(|search| search.next(known))?;
                Some(((*partition).clone(), time))
            })
            .collect();
        if next.is_empty() || pass.is_over() {
            break;
        }
        let specs = next.iter().map(|(partition, time)| (partition.clone(), Spec::At(*time)));
        let mut rows = pass.look_up(&memory.leaders, specs, Isolation::Uncommitted);
        for (partition, time) in next {
            match (rows.remove(&partition), memory.proofs.get_mut(&partition)) {
                (Some(Ok(None)), Some(known)) => known.learn(time, None),
                (Some(Ok(Some(Found { offset, timestamp: Some(timestamp), .. }))), Some(known)) => {
                    known.learn(time, Some((offset, timestamp)));
                }
                // No answer, or one without a timestamp, tells nothing; asking on would not help in this round.
                _ => drop(searches.remove(&partition)),
            }
        }
    }
    answers(memory, asked)
}

fn answers(memory: &mut Memory, asked: &[AgeRequest]) -> BTreeMap<(TopicPartition, Offset), Age> {
    let mut committed: BTreeMap<&TopicPartition, Vec<Offset>> = BTreeMap::new();
    for request in asked {
        committed.entry(&request.partition).or_default().push(request.committed);
    }
    for (partition, committed) in committed {
        if let Some(known) = memory.proofs.get_mut(partition) {
            known.keep_for(&committed);
        }
    }
    let age = |request: &AgeRequest| memory.proofs.get(&request.partition).map(|known| known.age(request.committed));
    asked
        .iter()
        .map(|request| ((request.partition.clone(), request.committed), age(request).unwrap_or_default()))
        .collect()
}
