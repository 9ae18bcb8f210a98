//! Drives the searches for the age of unread records: all partitions advance together, one look-up each at a time.

use std::collections::BTreeMap;
use std::mem;
use std::ops::Range;

use tokio::time::Instant;

use super::client::Connection;
use super::librdkafka::{Asked, CallError, Found, Isolation, Spec};
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
    send_pilots(connection, began, until, &mut lanes);
    look_up(&pass, began, 0..lanes.len(), &mut lanes);
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

/// Lets these lanes search to the end.
fn look_up(pass: &Pass<'_>, began: Instant, which: impl Iterator<Item = usize> + Clone, lanes: &mut [Lane<'_>]) {
    while !pass.is_over() {
        // A call holds a partition once.
        let next = which.clone().filter_map(|number| {
            let lane = lanes.get_mut(number)?;
            Some(((number, lane.next()?), lane.place.clone()))
        });
        let (next, places): (Vec<(usize, Moment)>, Vec<Place>) = next.unzip();
        if next.is_empty() {
            break;
        }
        let rows = pass.spread(&places, |leader, chunk| {
            let asked: Vec<Asked<'_>> = chunk.iter().map(|(at, place)| place.ask(Spec::At(next[*at].1))).collect();
            pass.ask(leader, &asked, Isolation::Uncommitted)
        });
        for ((number, time), row) in next.iter().zip(rows) {
            if let Some(lane) = lanes.get_mut(*number) {
                lane.learn(*time, row, began);
            }
        }
    }
}

/// From so many partitions of a topic on that all depend on when their log came to its end, one goes first.
const WORTH_A_PILOT: usize = 8;
/// Pilots have this share of the time, lest one whose leader is silent use up that of the others.
const SHARE: u32 = 4;

/// One partition of a topic whose search is done before those of the others begin, which start from what it showed.
#[derive(Debug, PartialEq, Eq)]
struct Ahead {
    pilot: usize,
    others: Range<usize>,
}

fn send_pilots(connection: &Connection, began: Instant, until: Instant, lanes: &mut [Lane<'_>]) {
    let pilots = pilots(lanes);
    let numbers = pilots.iter().map(|ahead| ahead.pilot);
    let searches: Vec<Vec<Search>> = numbers.clone().map(|number| lanes[number].searches.clone()).collect();
    let pass = Pass::new(connection, began + until.saturating_duration_since(began) / SHARE);
    look_up(&pass, began, numbers, lanes);
    for (ahead, searches) in pilots.iter().zip(searches) {
        ahead.tell(lanes);
        let pilot = &mut lanes[ahead.pilot];
        if pilot.searches.is_empty() && pilot.times.is_worth_asking(began) {
            // It got no answer, and has its turn among the others.
            pilot.searches = searches;
        }
    }
}

/// Who stands in the middle of the log halves with each guess what is left to search, and sees enough of the pace.
fn pilots(lanes: &[Lane<'_>]) -> Vec<Ahead> {
    let mut pilots = Vec::new();
    let mut first = 0;
    for topic in lanes.chunk_by(|one, other| one.at.topic == other.at.topic) {
        let others = first..first + topic.len();
        first = others.end;
        let off_the_middle = |lane: &Lane<'_>| {
            let asked = lane.place.leader.into_iter().flat_map(|_| &lane.searches);
            let depends = asked.filter(|search| search.depends_on_the_end(&lane.known));
            depends.map(Search::off_the_middle).min()
        };
        let numbered = topic.iter().zip(others.clone());
        let depending: Vec<(u64, usize)> =
            numbered.filter_map(|(lane, number)| Some((off_the_middle(lane)?, number))).collect();
        if let Some((_, pilot)) = depending.iter().min().filter(|_| depending.len() >= WORTH_A_PILOT) {
            pilots.push(Ahead { pilot: *pilot, others });
        }
    }
    pilots
}

impl Ahead {
    fn tell(&self, lanes: &mut [Lane<'_>]) {
        let told = |lane: &Lane<'_>| lane.searches.iter().filter_map(|search| search.end_of_log(&lane.known)).max();
        let Some(end) = lanes.get(self.pilot).and_then(told) else { return };
        let others = lanes.get_mut(self.others.clone()).into_iter().flatten();
        others.flat_map(|lane| &mut lane.searches).for_each(|search| search.expect_end(end));
    }
}

impl Lane<'_> {
    /// The time to look up next, of the first search that is not at its end.
    fn next(&mut self) -> Option<Moment> {
        if self.has_had_its_share() {
            return None;
        }
        self.searches.iter_mut().find_map(|search| search.next(&self.known))
    }

    fn has_had_its_share(&self) -> bool {
        self.asked >= LOOK_UPS * self.searches.len()
    }

    fn learn(&mut self, time: Moment, row: Result<Option<Found>, CallError>, began: Instant) {
        self.times.heard(&row, began);
        self.asked += 1;
        match row {
            Ok(None) => self.known.learn(time, None),
            Ok(Some(Found { offset, timestamp: Some(timestamp), .. })) => {
                self.found = true;
                self.known.learn(time, Some((offset, timestamp)));
            }
            // No answer, or one without a timestamp, tells nothing; asking on would not help in this round.
            _ => self.searches.clear(),
        }
    }

    /// Every search came to its end, or has had its share, and none found a record. The oldest record does not show itself
    /// either: a search that knows of it begins there.
    fn is_in_vain(&mut self) -> bool {
        let over =
            self.has_had_its_share() || self.searches.iter_mut().all(|search| search.next(&self.known).is_none());
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

#[cfg(test)]
mod tests;
