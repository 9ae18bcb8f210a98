//! Loss, counted once, however often one looks.

use super::memory::PartitionMemory;
use super::needs::{Need, Origin};
use super::notes::Notes;
use super::partition::Round;
use super::rows::Row;
use super::sighting::Entry;
use super::states::Certainty;
use super::verdict::LostRange;
use crate::measures::{Offset, TopicPartition};
use crate::retention::{Cleanup, Deadline, Limit, Policy};

/// One partition whose position and log belong together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Account<'a> {
    pub at: &'a TopicPartition,
    pub need: &'a Need,
    pub row: Row,
    pub earliest: Offset,
    pub policy: Policy,
}

/// Accounts for everything below earliest that was not accounted for, and remembers how far that went.
pub(super) fn account(round: &Round<'_>, what: &Account<'_>, one: &mut PartitionMemory, notes: &mut Notes) {
    let Account { at, need, row, earliest, policy } = *what;
    if need.origin == Origin::NotFixed {
        return;
    }
    if row == (Row::NoPosition { lost: false }) {
        // Known to be the query's: from 0 on nothing is lost yet. Else what is gone was perhaps never its business.
        one.waiting = true;
        if round.settings.subscribe.reads_new_partitions() {
            one.counted = one.counted.max(Some(earliest));
        }
        return;
    }
    let needed = need.offset().unwrap_or(Offset::ZERO);
    let done = done(need, one, needed);
    let young = if round.young { need.planned.unwrap_or(Offset::ZERO) } else { Offset::ZERO };
    for (from, to, certainty) in parts(done, needed, earliest, young) {
        let passed = to <= needed;
        if passed && proved_in_time(round, at, to, policy, one) {
            continue;
        }
        note(at, from, to, certainty, notes);
        match certainty {
            Certainty::Certain => one.certain = Some(one.certain.map_or((from, to), |known| hull(known, (from, to)))),
            Certainty::Possible if !passed => {
                one.hopeful = Some(one.hopeful.map_or((from, to), |known| hull(known, (from, to))));
            }
            Certainty::Possible => {}
        }
    }
    one.waiting = false;
    one.counted = one.counted.max(Some(earliest));
    one.seen = one.seen.max(Some(needed));
    if row == (Row::NoPosition { lost: true }) {
        one.seen = None;
    }
    settle_hope(at, needed, earliest.min(young), row, one, notes);
}

/// What is unread of a topic that was deleted: as if its log had been cut at its last known end.
pub(super) fn of_the_old_topic(
    round: &Round<'_>,
    at: &TopicPartition,
    need: &Need,
    one: &mut PartitionMemory,
    notes: &mut Notes,
) {
    let (Some(latest), Some(needed)) = (one.latest, one.committed.max(need.offset()).or(one.counted)) else { return };
    let done = needed.max(one.seen.unwrap_or(needed)).max(one.counted.unwrap_or(needed));
    let young = if round.young { need.planned.unwrap_or(Offset::ZERO) } else { Offset::ZERO };
    for (from, to, certainty) in parts(done, needed, latest, young) {
        note(at, from, to, certainty, notes);
    }
}

/// Up to where everything was committed or accounted for, in the round before.
fn done(need: &Need, one: &PartitionMemory, needed: Offset) -> Offset {
    if let Some(done) = one.seen.max(one.counted) {
        return done;
    }
    match one.earliest {
        // It waited for its first position since the last look: what went since then is accounted for now.
        Some(earliest) if one.waiting && need.origin != Origin::OpenBatch => earliest,
        _ if need.origin == Origin::BrokerOnly => Offset::ZERO,
        _ => needed,
    }
}

/// Splits [done, earliest) by who may have read it: committed batches, the open one (up to `young`), nobody.
fn parts(
    done: Offset,
    needed: Offset,
    earliest: Offset,
    young: Offset,
) -> impl Iterator<Item = (Offset, Offset, Certainty)> {
    let committed = done.max(needed.min(earliest));
    let open = committed.max(young.min(earliest));
    [
        (done, committed, Certainty::Possible),
        (committed, open, Certainty::Possible),
        (open, earliest, Certainty::Certain),
    ]
    .into_iter()
    .filter(|(from, to, _)| from < to)
}

/// Whether what was committed since the last look was read before anything could be deleted: time alone is at work, the
/// entry that covers it was committed by the deadline known then, and that deadline is over. The deadline has to be that
/// of a record which was there: one that comes later may bear an earlier time, when its producer had to wait.
fn proved_in_time(round: &Round<'_>, at: &TopicPartition, to: Offset, policy: Policy, one: &PartitionMemory) -> bool {
    if one.seen.is_none() || one.seen >= one.latest {
        return false;
    }
    let Some(Deadline::At(deadline)) = one.deadline.filter(|_| time_alone(policy)) else { return false };
    let covers = |entry: &&Entry| entry.positions.get(at).is_some_and(|offset| *offset >= to);
    let covering = round.history.iter().filter(covers).find_map(|entry| entry.committed_at);
    let committed_at = covering.or_else(|| round.healing.committed?.committed_at);
    round.now >= deadline && committed_at.is_some_and(|committed| committed <= deadline)
}

/// Whether nothing but age deletes records, so that a proved deadline says all.
pub(super) fn time_alone(policy: Policy) -> bool {
    policy.cleanup == Cleanup::Delete && matches!(policy.time, Limit::At(_)) && matches!(policy.size, Limit::Unlimited)
}

/// A range that was possibly lost, while an open batch might read it, is lost once that batch is not believed to read
/// any more. One that a batch has passed stays possible for ever.
fn settle_hope(
    at: &TopicPartition,
    needed: Offset,
    still_open: Offset,
    row: Row,
    one: &mut PartitionMemory,
    notes: &mut Notes,
) {
    let Some((from, to)) = one.hopeful else { return };
    if needed >= to {
        one.hopeful = None;
        return;
    }
    if row != Row::Lost {
        return;
    }
    let lost_from = from.max(needed).max(still_open);
    if lost_from < to {
        notes.turned.push(LostRange { partition: at.clone(), from: lost_from, to, certainty: Certainty::Certain });
        one.certain = Some(one.certain.map_or((lost_from, to), |known| hull(known, (lost_from, to))));
        one.hopeful = (from < lost_from).then_some((from, lost_from));
    }
}

/// Neighbours of equal certainty make one range.
fn note(at: &TopicPartition, from: Offset, to: Offset, certainty: Certainty, notes: &mut Notes) {
    match notes.lost.last_mut() {
        Some(last) if last.partition == *at && last.to == from && last.certainty == certainty => last.to = to,
        _ => notes.lost.push(LostRange { partition: at.clone(), from, to, certainty }),
    }
}

fn hull(one: (Offset, Offset), other: (Offset, Offset)) -> (Offset, Offset) {
    (one.0.min(other.0), one.1.max(other.1))
}
