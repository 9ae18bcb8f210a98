//! Drives the searches for the age of unread records: all partitions advance together, one look-up each at a time.

use std::collections::BTreeMap;
use std::mem;

use tokio::time::Instant;

use super::client::Connection;
use super::librdkafka::{Asked, Found, Isolation, Spec};
use super::lookups::{Pass, Place};
use super::memory::Memory;
use super::times::Times;
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
    times: Times,
    asked: usize,
    found: bool,
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
    let began = Instant::now();
    let mut lanes = lanes(memory, asked, now);
    // Where look-ups tell nothing, no search is begun.
    lanes.iter_mut().filter(|lane| !lane.times.is_worth_asking(began)).for_each(|lane| lane.searches.clear());
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
            lane.times.heard(&row, began);
            lane.asked += 1;
            match row {
                Ok(None) => lane.known.learn(*time, None),
                Ok(Some(Found { offset, timestamp: Some(timestamp), .. })) => {
                    lane.found = true;
                    lane.known.learn(*time, Some((offset, timestamp)));
                }
                // No answer, or one without a timestamp, tells nothing; asking on would not help in this round.
                _ => lane.searches.clear(),
            }
        }
    }
    let mut ages = Vec::with_capacity(asked.len());
    for mut lane in lanes {
        if lane.is_in_vain() {
            lane.times.searched_in_vain(began);
        }
        lane.known.keep_for(&lane.committed);
        ages.extend(lane.committed.iter().map(|offset| ((lane.at.clone(), *offset), lane.known.age(*offset))));
        if let Some(known) = memory.partition(lane.at) {
            (known.proofs, known.times) = (lane.known, lane.times);
        }
    }
    ages.into_iter().collect()
}

impl Lane<'_> {
    /// Every search came to its end, or has had its share, and none found a record. The oldest record does not show itself
    /// either: a search that knows of it begins there.
    fn is_in_vain(&mut self) -> bool {
        let over = self.asked >= LOOK_UPS || self.searches.iter_mut().all(|search| search.next(&self.known).is_none());
        let nothing = self.committed.iter().all(|offset| self.known.age(*offset).proved.is_none());
        !self.searches.is_empty() && self.asked > 0 && !self.found && over && nothing
    }
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
            times: memory.partition(at).map(|known| known.times).unwrap_or_default(),
            asked: 0,
            found: false,
        }
    };
    sorted.chunk_by(one_partition).map(lane).collect()
}
