//! Earliest, then latest: so a log that is deleted from meanwhile looks too full, never too empty.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::time::Instant;

use super::client::Connection;
use super::faults;
use super::librdkafka::{Asked, CallError, Found, Isolation, NO_ANSWER, Spec};
use super::lookups::{Pass, Place};
use super::memory::{Memory, Oldest};
use super::topics;
use crate::measures::{Moment, Offset, Reason, TopicPartition, Unread};
use crate::readers::FirstSince;
use crate::retention::PartitionReading;

/// Bounds of one partition, or the error in the way.
pub(super) type Bounds = Result<PartitionReading, CallError>;

/// Reads earliest, latest and, where `is_stable` says so, the last stable offset; in the order of the partitions.
pub(super) fn read(pass: &Pass<'_>, places: &[Place], is_stable: impl Fn(&Place) -> bool + Sync) -> Vec<Bounds> {
    pass.spread(places, |leader, chunk| {
        let chunk: Vec<&Place> = chunk.iter().map(|(_, place)| *place).collect();
        of_one_leader(pass, leader, &chunk, &is_stable)
    })
}

fn of_one_leader(pass: &Pass<'_>, leader: i32, chunk: &[&Place], is_stable: impl Fn(&Place) -> bool) -> Vec<Bounds> {
    let asked = |places: &[usize], spec| -> Vec<Asked<'_>> { places.iter().map(|at| chunk[*at].ask(spec)).collect() };
    let all: Vec<usize> = (0..chunk.len()).collect();
    let earliest = pass.ask(leader, &asked(&all, Spec::Earliest), Isolation::Uncommitted);
    let mut bounds: Vec<Bounds> = earliest.into_iter().map(|row| row.and_then(found).map(only_earliest)).collect();
    let good: Vec<usize> = all.into_iter().filter(|at| bounds[*at].is_ok()).collect();
    let latest = pass.ask(leader, &asked(&good, Spec::Latest), Isolation::Uncommitted);
    for (at, row) in good.iter().zip(latest) {
        match (row.and_then(found), &mut bounds[*at]) {
            (Ok(latest), Ok(read)) => (read.latest, read.leader_epoch) = (latest.offset, latest.leader_epoch),
            (Err(error), read) => *read = Err(error),
            (Ok(_), Err(_)) => {}
        }
    }
    let stable: Vec<usize> = good.into_iter().filter(|at| bounds[*at].is_ok() && is_stable(chunk[*at])).collect();
    let rows = pass.ask(leader, &asked(&stable, Spec::Latest), Isolation::Committed);
    for (at, row) in stable.into_iter().zip(rows) {
        if let (Ok(Some(found)), Ok(read)) = (row, &mut bounds[at]) {
            read.stable = Some(found.offset);
        }
    }
    bounds
}

const fn only_earliest(found: Found) -> PartitionReading {
    PartitionReading { earliest: found.offset, latest: found.offset, stable: None, leader_epoch: None, oldest: None }
}

fn found(answer: Option<Found>) -> Result<Found, CallError> {
    answer.ok_or_else(|| CallError::of(NO_ANSWER))
}

/// The latest offset again. Leaders that changed are asked for once.
pub(super) fn latest(
    connection: &Connection,
    memory: &mut Memory,
    partitions: &[TopicPartition],
    until: Instant,
) -> BTreeMap<TopicPartition, Result<Offset, Unread>> {
    let asked: BTreeMap<&TopicPartition, Spec> = partitions.iter().map(|at| (at, Spec::Latest)).collect();
    let plain = |row: Result<Option<Found>, CallError>| {
        row.and_then(found).map(|found| found.offset).map_err(|error| faults::unread(&error))
    };
    let rows = persistently(connection, memory, &asked, until);
    asked.into_keys().cloned().zip(rows.into_iter().map(plain)).collect()
}

/// The first record at or after a time.
pub(super) fn first_since(
    connection: &Connection,
    memory: &mut Memory,
    asked: &BTreeMap<TopicPartition, Moment>,
    until: Instant,
) -> BTreeMap<TopicPartition, FirstSince> {
    let specs: BTreeMap<&TopicPartition, Spec> = asked.iter().map(|(at, time)| (at, Spec::At(*time))).collect();
    let plain = |row: Result<Option<Found>, CallError>| match row {
        Ok(None) => Ok(None),
        // A record without a timestamp cannot be the first one after a time.
        Ok(Some(Found { timestamp: None, .. })) => {
            Err(Unread::new(Reason::Unsupported, "the broker's records carry no timestamps"))
        }
        Ok(Some(Found { offset, timestamp: Some(timestamp), .. })) => Ok(Some((offset, timestamp))),
        Err(error) => Err(faults::unread(&error)),
    };
    let rows = persistently(connection, memory, &specs, until);
    asked.keys().cloned().zip(rows.into_iter().map(plain)).collect()
}

/// Asks, and once more where the leader has changed. Rows come in the order of the partitions.
fn persistently(
    connection: &Connection,
    memory: &mut Memory,
    asked: &BTreeMap<&TopicPartition, Spec>,
    until: Instant,
) -> Vec<Result<Option<Found>, CallError>> {
    let pass = Pass::new(connection, until);
    let partitions: Vec<&TopicPartition> = asked.keys().copied().collect();
    let specs: Vec<Spec> = asked.values().copied().collect();
    let ask = |of: &[usize], places: &[Place]| {
        pass.spread(places, |leader, chunk| {
            let asked: Vec<Asked<'_>> = chunk.iter().map(|(at, place)| place.ask(specs[of[*at]])).collect();
            pass.ask(leader, &asked, Isolation::Uncommitted)
        })
    };
    let all: Vec<usize> = (0..partitions.len()).collect();
    let places: Vec<Place> = partitions.iter().map(|at| memory.place(at)).collect();
    let mut rows = ask(&all, &places);
    let curable = |row: &Result<_, CallError>| row.as_ref().is_err_and(faults::curable);
    let again: Vec<usize> = (0..rows.len()).filter(|at| curable(&rows[*at])).collect();
    if !again.is_empty() && !pass.is_over() {
        topics::refresh_leaders(&pass, memory, again.iter().map(|at| &partitions[*at].topic));
        let placed = again.into_iter().map(|at| (at, memory.place(partitions[at])));
        let (again, places): (Vec<usize>, Vec<Place>) = placed.filter(|(_, place)| pass.worth_asking(place)).unzip();
        let second = ask(&again, &places);
        for (at, row) in again.into_iter().zip(second) {
            rows[at] = row;
        }
    }
    rows
}

/// The places of one topic after the other, with their bounds.
pub(super) fn by_topic<'a>(
    places: &'a [Place],
    bounds: &'a [Bounds],
) -> impl Iterator<Item = (&'a [Place], &'a [Bounds])> {
    let mut rest = bounds;
    places.chunk_by(|one, other| one.topic == other.topic).map(move |places| {
        let (own, others) = rest.split_at(places.len());
        rest = others;
        (places, own)
    })
}

/// Adds the oldest record to each partition that holds one, and tells the proofs what there is now. The oldest record
/// is asked for anew when earliest moved only; where no topic id vouches for the log, when it moved at all.
pub(super) fn add_oldest(pass: &Pass<'_>, memory: &mut Memory, places: &[Place], bounds: &mut [Bounds]) {
    let now = Instant::now();
    let mut asked: Vec<(usize, Place)> = Vec::new();
    let mut start = 0;
    for group in places.chunk_by(|one, other| Arc::ptr_eq(&one.topic, &other.topic)) {
        let topic = memory.topics.get(&group[0].topic);
        let has_id = topic.is_some_and(|topic| topic.id.is_some());
        for (at, place) in (start..).zip(group) {
            let Ok(reading) = &bounds[at] else { continue };
            let known = topic.and_then(|topic| topic.partitions.get(&place.partition));
            let times = known.map(|known| known.times).unwrap_or_default();
            let oldest = known.and_then(|known| known.oldest);
            let due = times.hidden().is_some() || oldest.is_none_or(|known| known.is_old(reading, has_id));
            if reading.latest > reading.earliest && due && times.is_worth_asking(now) {
                asked.push((at, place.clone()));
            }
        }
        start += group.len();
    }
    let (asked, of): (Vec<usize>, Vec<Place>) = asked.into_iter().unzip();
    let rows = pass.spread(&of, |leader, chunk| {
        let asked: Vec<Asked<'_>> =
            chunk.iter().map(|(_, place)| place.ask(Spec::At(Moment::from_millis(0)))).collect();
        pass.ask(leader, &asked, Isolation::Uncommitted)
    });
    let mut answers = asked.into_iter().zip(rows).peekable();
    let mut start = 0;
    for group in places.chunk_by(|one, other| Arc::ptr_eq(&one.topic, &other.topic)) {
        let first = start;
        start += group.len();
        let Some(topic) = memory.topics.get_mut(&group[0].topic) else { continue };
        let id = topic.id;
        for (at, place) in (first..).zip(group) {
            let answer = answers.next_if(|(answered, _)| *answered == at);
            let (Ok(reading), Some(known)) = (&mut bounds[at], topic.partitions.get_mut(&place.partition)) else {
                continue;
            };
            if let Some((_, row)) = &answer {
                known.times.heard(row, now);
            }
            if let Some((_, Ok(row))) = answer {
                let record = row.and_then(|found| Some((found.offset, found.timestamp?)));
                known.oldest = Some(Oldest { earliest: reading.earliest, latest: reading.latest, record });
            }
            let current = known.oldest.filter(|oldest| oldest.earliest == reading.earliest);
            // Between the two answers the log may have been deleted from, or emptied.
            let inside = |offset: &Offset| (reading.earliest..reading.latest).contains(offset);
            reading.oldest = current.and_then(|oldest| oldest.record).filter(|(offset, _)| inside(offset));
            // Proofs hear of every change, also while nobody asks for ages.
            known.proofs.observe(id, reading);
        }
    }
}
