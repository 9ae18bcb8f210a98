//! Whether the brokers' clocks run ahead of ours: of each leader that stamps records itself, one look-up in a pass, in
//! the log that grew most since the pass before. Where nothing came nothing is learned, and nothing is asked. A broker
//! before Kafka 3.0 does not know the look-up, and its clock stays unjudged.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::bounds::{Bounds, by_topic};
use super::librdkafka::{CallError, Found, Isolation, Spec};
use super::limits;
use super::lookups::{Pass, Place};
use super::memory::Memory;
use crate::measures::{Moment, Offset, TopicPartition};
use crate::retention::Stamp;

/// Our clock, while a pass lasts.
#[derive(Clone, Copy, Debug)]
pub(super) struct OurClock {
    began: Instant,
    showed: Moment,
    /// How far a broker's may be ahead of it.
    skew: Duration,
}

impl OurClock {
    pub(super) fn shows(now: Moment, skew: Duration) -> Self {
        Self { began: Instant::now(), showed: now, skew }
    }

    fn now(&self) -> Moment {
        self.showed.plus(self.began.elapsed())
    }
}

/// The end of a log that its leader stamps, as the pass before saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    leader: i32,
    epoch: Option<i32>,
    offset: Offset,
    /// What our clock showed before it was asked for.
    asked: Moment,
}

/// A log that may tell of its leader's clock.
struct Witness {
    place: Place,
    /// The end that the same leader had before; absent where another one led, or nobody looked.
    before: Option<End>,
    grown: u64,
}

/// Looks at the clocks of leaders, and remembers which run ahead.
pub(super) fn look(pass: &Pass<'_>, memory: &mut Memory, places: &[Place], bounds: &[Bounds], ours: &OurClock) {
    let witnesses = witnesses(memory, places, bounds, ours);
    let youngest = ask(pass, &witnesses, |_| Spec::Youngest);
    let heard = ours.now();
    let mut doubted: BTreeMap<i32, Witness> = BTreeMap::new();
    for ((leader, witness), row) in witnesses.into_iter().zip(youngest) {
        let Ok(Some(Found { offset, timestamp: Some(at), .. })) = row else { continue };
        // Who led before may have stamped what was there before; and so may a producer, under other settings.
        let came = witness.before.is_some_and(|before| offset >= before.offset);
        if came || witness.before.is_none() {
            if memory.clocks.stamped(leader, Stamp { at, heard, sure: came }, ours.skew) {
                tell(memory, leader, &witness.place);
            }
        } else if memory.clocks.outlived(leader) {
            tell(memory, leader, &witness.place);
        }
        let fast = at > heard.plus(ours.skew) && came;
        if witness.before.is_some() && !fast && memory.clocks.ahead(leader).is_some() {
            doubted.insert(leader, witness);
        }
    }
    let since = |before: &End| before.asked.plus(ours.skew);
    let answers =
        ask(pass, &doubted, |witness| witness.before.as_ref().map_or(Spec::Youngest, |end| Spec::At(since(end))));
    for ((leader, witness), row) in doubted.into_iter().zip(answers) {
        let (Some(before), Ok(found)) = (witness.before, row) else { continue };
        if memory.clocks.looked_up(leader, before.offset, found.map(|found| found.offset)) {
            tell(memory, leader, &witness.place);
        }
    }
}

/// One log for each leader: of those that it stamps, and that have something new, the one with most of it. Takes note of
/// where all of them end.
fn witnesses(memory: &mut Memory, places: &[Place], bounds: &[Bounds], ours: &OurClock) -> BTreeMap<i32, Witness> {
    let mut witnesses: BTreeMap<i32, Witness> = BTreeMap::new();
    for (places, bounds) in by_topic(places, bounds) {
        if !limits::is_stamped_by_leaders(memory, &places[0].topic) {
            continue;
        }
        let Some(topic) = memory.topics.get_mut(&places[0].topic) else { continue };
        for (place, bounds) in places.iter().zip(bounds) {
            let (Some(leader), Ok(read)) = (place.leader, bounds) else { continue };
            let Some(known) = topic.partitions.get_mut(&place.partition) else { continue };
            let end = End { leader, epoch: read.leader_epoch, offset: read.latest, asked: ours.showed };
            // What was deleted meanwhile tells nothing by its absence.
            let is_same =
                |end: &End| end.leader == leader && end.epoch == read.leader_epoch && end.offset >= read.earliest;
            let before = known.end.replace(end).filter(is_same);
            let grown = read.latest.above(before.map_or(read.earliest, |end| end.offset));
            if grown > witnesses.get(&leader).map_or(0, |known| known.grown) {
                witnesses.insert(leader, Witness { place: place.clone(), before, grown });
            }
        }
    }
    witnesses
}

/// The answers, in the order of the leaders.
fn ask(
    pass: &Pass<'_>,
    witnesses: &BTreeMap<i32, Witness>,
    spec: impl Fn(&Witness) -> Spec + Sync,
) -> Vec<Result<Option<Found>, CallError>> {
    let witnesses: Vec<&Witness> = witnesses.values().collect();
    let places: Vec<Place> = witnesses.iter().map(|witness| witness.place.clone()).collect();
    pass.spread(&places, |leader, chunk| {
        let asked: Vec<_> = chunk.iter().map(|(at, place)| place.ask(spec(witnesses[*at]))).collect();
        pass.ask(leader, &asked, Isolation::Uncommitted)
    })
}

/// Said once, when it is found out, and once more when it is over.
fn tell(memory: &Memory, broker: i32, seen_in: &Place) {
    let (cluster, seen_in) = (&memory.cluster, TopicPartition::new(&seen_in.topic, seen_in.partition));
    match memory.clocks.ahead(broker) {
        Some(by) => tracing::warn!(
            target: "kafka", cluster, broker, by_seconds = by.as_secs(), %seen_in,
            "the clock of a broker is ahead of ours: no deadline is proved of what it holds"
        ),
        None => {
            tracing::info!(target: "kafka", cluster, broker, %seen_in, "nothing shows any more that the clock of a broker is ahead of ours")
        }
    }
}
