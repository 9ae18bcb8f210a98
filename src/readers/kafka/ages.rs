//! Drives the searches for the age of unread records: all partitions advance together, one look-up each at a time.

use std::collections::BTreeMap;
use std::mem;

use tokio::time::Instant;

use super::client::Connection;
use super::librdkafka::{Asked, Found, Isolation, Spec};
use super::lookups::{Pass, Place};
use super::memory::Memory;
use crate::measures::{Moment, Offset, TopicPartition};
use crate::readers::AgeRequest;
use crate::retention::{Age, Proofs, Search};

/// Look-ups for each search. Two are enough for most; what is proved by then holds in any case.
const LOOK_UPS: usize = 10;

/// The searches of one partition. They take turns, and learn from each other's answers.
struct Lane<'a> {
    place: Place,
    at: &'a TopicPartition,
    committed: Vec<Offset>,
    searches: Vec<Search>,
    known: Proofs,
}

/// Answers every request, from what is known and from as few look-ups as that leaves necessary.
pub(super) fn read(
    connection: &Connection,
    memory: &mut Memory,
    asked: &[AgeRequest],
    now: Moment,
    until: Instant,
) -> BTreeMap<(TopicPartition, Offset), Age> {
    let pass = Pass::new(connection, until);
    let mut lanes = lanes(memory, asked, now);
    let most = lanes.iter().map(|lane| lane.searches.len()).max().unwrap_or(0);
    for _ in 0..LOOK_UPS * most {
        // A call holds a partition once.
        let next = lanes.iter_mut().enumerate().filter_map(|(number, lane)| {
            let time = lane.searches.iter_mut().find_map(|search| search.next(&lane.known))?;
            Some(((number, time), lane.place.clone()))
        });
        let (next, places): (Vec<(usize, Moment)>, Vec<Place>) = next.unzip();
        if next.is_empty() || pass.is_over() {
            break;
        }
        let rows = pass.spread(&places, |leader, chunk| {
            let asked: Vec<Asked<'_>> = chunk.iter().map(|(at, place)| place.ask(Spec::At(next[*at].1))).collect();
            pass.ask(leader, &asked, Isolation::Uncommitted)
        });
        for ((number, time), row) in next.iter().zip(rows) {
            let lane = &mut lanes[*number];
            match row {
                Ok(None) => lane.known.learn(*time, None),
                Ok(Some(Found { offset, timestamp: Some(timestamp), .. })) => {
                    lane.known.learn(*time, Some((offset, timestamp)));
                }
                // No answer, or one without a timestamp, tells nothing; asking on would not help in this round.
                _ => lane.searches.clear(),
            }
        }
    }
    let mut ages = Vec::with_capacity(asked.len());
    for mut lane in lanes {
        lane.known.keep_for(&lane.committed);
        ages.extend(lane.committed.iter().map(|offset| ((lane.at.clone(), *offset), lane.known.age(*offset))));
        if let Some(known) = memory.partition(lane.at) {
            known.proofs = lane.known;
        }
    }
    ages.into_iter().collect()
}

/// One lane for each partition, with what is known of it taken out of the memory.
fn lanes<'a>(memory: &mut Memory, asked: &'a [AgeRequest], now: Moment) -> Vec<Lane<'a>> {
    let mut sorted: Vec<&AgeRequest> = asked.iter().collect();
    sorted.sort_by(|one, other| (&one.partition, one.committed).cmp(&(&other.partition, other.committed)));
    let one_partition = |one: &&AgeRequest, other: &&AgeRequest| one.partition == other.partition;
    let lane = |requests: &[&'a AgeRequest]| {
        let at = &requests[0].partition;
        let mut known = memory.partition(at).map(|known| mem::take(&mut known.proofs)).unwrap_or_default();
        let search = |request: &&AgeRequest| {
            let bounds = (request.bounds.earliest, request.bounds.latest);
            Search::new(request.committed, bounds, request.retention, now)
        };
        requests.iter().for_each(|request| known.observe(request.topic_id, &request.bounds));
        Lane {
            place: memory.place(at),
            at,
            committed: requests.iter().map(|request| request.committed).collect(),
            searches: requests.iter().map(search).collect(),
            known,
        }
    };
    sorted.chunk_by(one_partition).map(lane).collect()
}
