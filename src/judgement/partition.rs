//! One partition after the other: row, loss, numbers, memory.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Duration;

use super::last_sight;
use super::latches::Healing;
use super::loss::{self, Account};
use super::memory::{PartitionMemory, TopicMemory};
use super::needs::{Need, Needs};
use super::notes::Notes;
use super::numbers::{self, Known};
use super::rows::{self, Row, TopicSigns};
use super::settings::{Isolation, QuerySettings, Subscribe};
use super::sighting::Entry;
use super::states::{PartitionProblem, PartitionState};
use super::verdict::PartitionVerdict;
use crate::checkpoint::CheckpointReading;
use crate::measures::{BatchId, Moment, Offset, TopicPartition, Unread};
use crate::retention::{Age, PartitionReading, Policy, Unproved};

/// A round that read the checkpoint.
#[derive(Debug)]
pub(super) struct Round<'a> {
    pub now: Moment,
    pub settings: &'a QuerySettings,
    pub reading: &'a CheckpointReading,
    pub history: &'a [Entry],
    pub needs: Needs,
    pub healing: Healing,
    /// Whether the open batch is believed to be still reading.
    pub young: bool,
    pub interval: Duration,
}

impl Round<'_> {
    pub(super) fn newest_planned(&self) -> Option<BatchId> {
        self.reading.newest_planned
    }

    pub(super) fn batch_open(&self) -> bool {
        self.reading.batch_open
    }

    /// Where the query can read to.
    pub(super) fn end(&self, bounds: &PartitionReading) -> Offset {
        match (self.settings.isolation, bounds.stable) {
            (Isolation::ReadCommitted, Some(stable)) => stable.min(bounds.latest),
            _ => bounds.latest,
        }
    }

    /// Whether a partition without a position is known to be the query's business.
    pub(super) fn reads_new_partitions(&self) -> bool {
        self.settings.subscribe.reads_new_partitions()
    }
}

/// What the broker said of one partition.
#[derive(Clone, Copy, Debug)]
pub(super) enum Bounds<'a> {
    /// A good answer of the broker does not have it.
    Missing,
    /// No good answer.
    Unread(&'a Unread),
    /// Its bounds.
    Read(&'a PartitionReading),
}

/// Judges one partition whose needed offset is known, and updates its memory.
pub(super) fn judge(
    round: &Round<'_>,
    at: &TopicPartition,
    need: &Need,
    bounds: Bounds<'_>,
    around: Around<'_>,
    one: &mut PartitionMemory,
    notes: &mut Notes,
) -> PartitionVerdict {
    let (row, reason) = match (bounds, around.other_cluster) {
        (Bounds::Unread(unread), _) => {
            if around.other_cluster.is_none() {
                forget_what_was_passed(need, one);
            }
            keep_position(need, one);
            return blind(Blindness::Bounds, Cow::Owned(unread.to_string()), None, one);
        }
        (_, Some(detail)) => (Row::OtherCluster, Cow::Owned(detail.to_owned())),
        (Bounds::Missing, None) => rows::missing(round, need, one),
        (Bounds::Read(read), None) => rows::judge(round, at, need, read, &around.signs, one, notes),
    };
    let read = match bounds {
        Bounds::Read(read) => Some(read),
        _ => None,
    };
    if let Some(read) = read.filter(|_| row.accounts()) {
        let account = Account { at, need, row, earliest: read.earliest, policy: around.policy };
        loss::account(round, &account, one, notes);
    }
    if let Some(read) = read.filter(|_| row.replaces_memory()) {
        remember_bounds(round, need, read, row, one);
    }
    let known = Known { row, need, read, policy: around.policy, age: around.age, unproved: around.unproved };
    let mut verdict = numbers::of(round, &known, one);
    verdict.reason = match verdict.unproved {
        Some(unproved) => Cow::Owned(format!("{reason}; {unproved}")),
        None => reason,
    };
    if row == (Row::Missing { confirmed: true }) {
        let caught_up = last_sight::of(need, one).is_none_or(|sight| sight.caught_up);
        verdict.problems.insert(if caught_up { PartitionProblem::GoneCaughtUp } else { PartitionProblem::Gone });
    }
    let at_risk_here = one.at_risk && one.committed == need.committed;
    keep_position(need, one);
    let retention = numbers::retention_here(round, around.policy, read, one);
    one.at_risk = numbers::at_risk(round, (row, around.policy), &verdict, retention, at_risk_here);
    remember_verdict(round, need, row, &verdict, one);
    verdict
}

/// What surrounds a partition.
#[derive(Clone, Copy, Debug)]
pub(super) struct Around<'a> {
    pub signs: TopicSigns,
    pub policy: Policy,
    pub age: Option<&'a Age>,
    /// Why nothing is proved from time.
    pub unproved: Option<Unproved>,
    /// Why the query is held to read another cluster.
    pub other_cluster: Option<&'a str>,
}

/// Of what was gone when the log was last read, only what lies behind the position is still missed; it never grows while
/// nothing is read.
fn forget_what_was_passed(need: &Need, one: &mut PartitionMemory) {
    let (lost, possibly_lost) = (one.lost.unwrap_or(0), one.possibly_lost.unwrap_or(0));
    let gone = lost.saturating_add(possibly_lost);
    let (Some(needed), Some(earliest)) = (need.offset(), one.earliest) else { return };
    if gone == 0 {
        return;
    }
    let missed = earliest.above(needed).min(gone);
    // The lower part is what the open batch might have read.
    let certainly = lost.min(missed);
    let possibly = missed - certainly;
    (one.lost, one.possibly_lost) = (Some(certainly), Some(possibly));
    for (left, problem) in [(certainly, PartitionProblem::Lost), (possibly, PartitionProblem::PossiblyLost)] {
        if left == 0 {
            one.problems.remove(&problem);
        }
    }
    if missed == 0 && one.state == Some(PartitionState::Lost) {
        one.state = Some(PartitionState::Unknown);
    }
}

fn keep_position(need: &Need, one: &mut PartitionMemory) {
    one.committed = need.committed;
    one.planned = need.planned;
    one.dropped = need.origin == super::needs::Origin::Dropped;
}

/// How many rises of earliest are remembered: enough for a typical one.
const JUMPS: usize = 8;

fn remember_bounds(round: &Round<'_>, need: &Need, read: &PartitionReading, row: Row, one: &mut PartitionMemory) {
    let rose = need.committed.is_some() && one.earliest.is_some_and(|before| read.earliest > before);
    if rose && row.accounts() {
        one.rises.push(round.now);
        let surplus = one.rises.len().saturating_sub(2);
        one.rises.drain(..surplus);
        one.jumps.extend(one.earliest.map(|before| read.earliest.above(before)));
        let surplus = one.jumps.len().saturating_sub(JUMPS);
        one.jumps.drain(..surplus);
    }
    one.earliest = Some(read.earliest);
    one.latest = Some(read.latest);
    one.leader_epoch = read.leader_epoch.or(one.leader_epoch);
    one.oldest = read.oldest.or(one.oldest.filter(|(offset, _)| *offset >= read.earliest));
}

fn remember_verdict(round: &Round<'_>, need: &Need, row: Row, verdict: &PartitionVerdict, one: &mut PartitionMemory) {
    if !outlasts_a_doubt(need, row, one) {
        one.state = Some(verdict.state);
        one.problems.clone_from(&verdict.problems);
        one.lost = verdict.lost;
        one.possibly_lost = verdict.possibly_lost;
    }
    // A doubt that passes must not have forgotten a proof, nor have stopped a clock.
    if row.replaces_memory() {
        one.deadline = verdict.deadline;
        one.oldest_unread = verdict.oldest_unread;
    }
    if row.state() != PartitionState::Unconfirmed || verdict.lag.is_some() {
        let not_its_business =
            need.committed.is_none() && need.planned.is_none() && round.settings.subscribe == Subscribe::Assign;
        one.lagging = !not_its_business && verdict.lag.is_some_and(|lag| lag > round.settings.lag_floor);
    }
    if !row.accounts() {
        one.window.clear();
    }
}

/// Whether what was bad in the last good round goes on, of which a doubtful one says nothing: should nothing be read
/// after it, that is what was read last.
fn outlasts_a_doubt(need: &Need, row: Row, one: &PartitionMemory) -> bool {
    if row.state() != PartitionState::Unconfirmed || row.replaces_memory() {
        return false;
    }
    match one.state {
        None => false,
        Some(PartitionState::Gone) => matches!(row, Row::Missing { .. }),
        Some(PartitionState::Recreated | PartitionState::BeyondEnd) => true,
        Some(PartitionState::Unverified) if one.latch.is_some() => true,
        // Of the log start only the one read without a doubt counts.
        Some(_) => need.offset() < one.earliest,
    }
}

/// What kept a partition from being judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Blindness {
    /// The checkpoint was not read: the last position holds, and can only be too low.
    Checkpoint,
    /// The broker's bounds were not read.
    Bounds,
}

/// The verdict on a partition that was not read: what was bad stays bad, what was measured is gone.
pub(super) fn blind(
    blindness: Blindness,
    reason: Cow<'static, str>,
    read: Option<&PartitionReading>,
    one: &PartitionMemory,
) -> PartitionVerdict {
    let kept = one.state.filter(|state| stays(*state));
    let mut verdict = numbers::nothing(kept.unwrap_or(PartitionState::Unknown));
    verdict.reason = match kept {
        Some(state) => Cow::Owned(format!("{state} when last read; {reason}")),
        None => reason,
    };
    verdict.problems = match kept {
        Some(_) => one.problems.clone(),
        None => BTreeSet::from([PartitionProblem::Unknown]),
    };
    verdict.committed = one.committed;
    verdict.planned = one.planned;
    verdict.earliest = read.map(|read| read.earliest);
    verdict.latest = read.map(|read| read.latest);
    if !matches!(kept, None | Some(PartitionState::Lost)) {
        return verdict;
    }
    verdict.deadline = one.deadline;
    verdict.oldest_unread = one.oldest_unread;
    verdict.lost = one.lost.filter(|lost| *lost > 0);
    verdict.possibly_lost = one.possibly_lost.filter(|lost| *lost > 0);
    if let (Blindness::Checkpoint, Some(committed), Some(read)) = (blindness, one.committed, read)
        && one.beyond.is_none()
        && one.missing.is_none()
        && read.earliest.max(committed) <= read.latest
    {
        verdict.headroom = Some(committed.minus(read.earliest));
        verdict.lost = Some(read.earliest.above(committed));
        verdict.possibly_lost = None;
    }
    if verdict.lost.is_some_and(|lost| lost > 0) {
        verdict.problems.insert(PartitionProblem::Lost);
    }
    if verdict.possibly_lost.is_some() {
        verdict.problems.insert(PartitionProblem::PossiblyLost);
    }
    verdict
}

const fn stays(state: PartitionState) -> bool {
    matches!(
        state,
        PartitionState::Lost
            | PartitionState::Recreated
            | PartitionState::BeyondEnd
            | PartitionState::Gone
            | PartitionState::Unverified
    )
}

/// Takes a topic's id and remembers whether the positions are sane under it.
pub(super) fn vouch<'v>(topic: &mut TopicMemory, verdicts: impl Iterator<Item = &'v PartitionVerdict>) {
    let mut read = 0_usize;
    let mut sane = true;
    for verdict in verdicts {
        match verdict.state {
            PartitionState::Unknown => {}
            PartitionState::CaughtUp | PartitionState::Behind | PartitionState::Lost | PartitionState::Pending => {
                read += 1
            }
            PartitionState::Unconfirmed if verdict.possibly_lost.is_some() => read += 1,
            _ => sane = false,
        }
    }
    topic.sane = topic.sane || (sane && read > 0 && topic.suspicion.is_none());
}
