//! What the time limit says of a position: a proof, or what stands in for one where nothing is proved from time.
//!
//! Where a clock is wrong the same reckoning goes on, with what is known of the clock taken off. Where the records' own
//! times cannot be looked up, a record is taken to be as old as its arrival, which lies between two rounds. Neither is a
//! proof: it makes a forecast, and no deadline.

use super::memory::PartitionMemory;
use super::numbers::Known;
use super::partition::Round;
use crate::measures::{Moment, Offset};
use crate::retention::{Age, Arrivals, Deadline, Limit, PartitionReading, Policy, Unproved, deadline, oldest_unread};

/// The time limit's word on one position.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ByTime {
    /// Not deleted by time before this.
    pub proved: Option<Deadline>,
    /// The same as an estimate; absent beside a proof.
    pub estimated: Option<Deadline>,
    /// Estimate of the time of the next unread record.
    pub oldest_unread: Option<Moment>,
    /// Why nothing is proved, where that matters.
    pub unproved: Option<Unproved>,
}

/// Reckons it, and takes note of what later rounds may need for an estimate.
pub(super) fn by_time(
    round: &Round<'_>,
    known: &Known<'_>,
    read: &PartitionReading,
    needed: Offset,
    one: &mut PartitionMemory,
) -> ByTime {
    let unread = needed < read.latest;
    let is_found = known.age.is_some_and(|age| age.proved.is_some());
    let limited = !matches!(known.policy.time, Limit::Unlimited);
    let looked_up = if unread { oldest_unread(known.age, read.oldest, needed, round.now) } else { None };
    let reckon = |age: Option<&Age>, skew| deadline(known.policy, unread, age, round.now, skew);
    let skew = round.settings.clock_skew;
    let proof = ByTime { proved: reckon(known.age, skew), oldest_unread: looked_up, ..ByTime::default() };
    let hidden = known.unproved.is_some_and(Unproved::hides_times);
    if is_found {
        one.arrivals = Arrivals::default();
    } else if limited && (hidden || unread) {
        // It may take another round until it is known that look-ups do not tell.
        watch_the_end(round, read, needed, one);
    }
    match known.unproved.filter(|_| limited) {
        Some(unproved @ Unproved::FastClock { by, .. }) => ByTime {
            proved: None,
            estimated: reckon(known.age, skew.saturating_add(by)),
            oldest_unread: looked_up,
            unproved: Some(unproved),
        },
        Some(unproved) if !(unread && is_found) => {
            // What is not there yet will live for a whole retention from now, whatever can be looked up.
            let Some(arrival) = one.arrivals.of(needed).filter(|_| unread) else {
                return ByTime { unproved: Some(unproved).filter(|_| unread), ..proof };
            };
            let age = Age { proved: Some((needed, arrival.after)), below: Some(arrival.by) };
            ByTime {
                proved: None,
                estimated: reckon(Some(&age), skew),
                oldest_unread: Some(arrival.by.min(round.now)),
                unproved: Some(unproved),
            }
        }
        _ => proof,
    }
}

/// What was seen before anything was unread is not lost: the window has it.
fn watch_the_end(round: &Round<'_>, read: &PartitionReading, needed: Offset, one: &mut PartitionMemory) {
    if one.arrivals.is_empty() {
        one.window.iter().for_each(|sample| one.arrivals.note(sample.at, sample.latest));
    }
    one.arrivals.note(round.now, read.latest);
    one.arrivals.keep_from(needed);
}

/// The part of a ratio that time has: of a proof alone, but for logs that are compacted too. There the same bound is good
/// enough for a share.
pub(super) fn for_a_share(round: &Round<'_>, known: &Known<'_>, unread: bool, time: &ByTime) -> Option<Deadline> {
    if time.unproved.is_some() {
        return time.proved;
    }
    let estimating = Policy { cleanup: crate::retention::Cleanup::Delete, ..known.policy };
    deadline(estimating, unread, known.age, round.now, round.settings.clock_skew)
}
