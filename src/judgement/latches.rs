//! Doubts that wait for confirmation, and verdicts that numbers alone do not lift.

use super::memory::{Doubt, Latch, LatchKind, PartitionMemory};
use super::settings::QuerySettings;
use crate::checkpoint::BatchTimes;
use crate::measures::{BatchId, Moment, Offset};
use crate::retention::PartitionReading;

/// Sees a doubt once more. Returns whether it is confirmed now: seen in enough rounds running, and for long enough.
pub(super) fn advance(doubt: &mut Option<Doubt>, now: Moment, settings: &QuerySettings) -> bool {
    let seen = match *doubt {
        // No further than is asked for: a doubt that stands for days would be news in every round.
        // Nor since a time to come: our clock ran ahead then, and is right again.
        Some(known) => {
            Doubt { since: known.since.min(now), rounds: known.rounds.saturating_add(1).min(settings.confirm_polls) }
        }
        None => Doubt { since: now, rounds: 1 },
    };
    *doubt = Some(seen);
    seen.rounds >= settings.confirm_polls && now.since(seen.since) >= settings.confirm_time
}

/// A latch on one partition, set in this round.
pub(super) fn set(
    kind: LatchKind,
    detail: String,
    now: Moment,
    batch: Option<BatchId>,
    position: Option<Offset>,
) -> Latch {
    let (lowest_latest, unread, before, since, back) = (None, None, None, None, None);
    Latch { kind, detail, set_at: now, batch, position, lowest_latest, unread, before, since, back }
}

/// What a latch needs to know of the checkpoint to be healed by it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Healing {
    /// Times of the newest committed batch.
    pub committed: Option<BatchTimes>,
}

impl Latch {
    /// Our clock ran ahead when it was set, and is right again: no batch could heal it until that time came.
    pub(super) fn set_back(&mut self, now: Moment) {
        self.set_at = self.set_at.min(now);
    }

    /// What it is about changed once more: no batch that was planned until now heals it. Its position is the caller's.
    pub(super) fn renew(&mut self, now: Moment, newest_planned: Option<BatchId>) {
        (self.set_at, self.batch) = (now, newest_planned);
    }
}

/// Whether the newest committed batch was planned after the latch was set. Its time tells; where the store knows no
/// times, a number above all that had been planned then.
pub(super) fn planned_later(latch: &Latch, healing: Healing) -> bool {
    let Some(committed) = healing.committed else { return false };
    match (committed.planned_at, latch.batch) {
        (Some(planned), _) => planned > latch.set_at,
        (None, Some(newest)) => committed.batch > newest,
        (None, None) => false,
    }
}

/// Whether a batch that was planned after the latch was set moved the position, and into the log.
pub(super) fn healed_by_a_batch(
    latch: &mut Latch,
    healing: Healing,
    committed: Option<Offset>,
    bounds: &PartitionReading,
) -> bool {
    if !planned_later(latch, healing) {
        latch.position = committed;
        return false;
    }
    let Some(committed) = committed else { return false };
    latch.position != Some(committed) && (bounds.earliest..=bounds.latest).contains(&committed)
}

/// Whether a partition carries a latch of this kind.
pub(super) fn latched(memory: &PartitionMemory, kind: LatchKind) -> bool {
    memory.latch.as_ref().is_some_and(|latch| latch.kind == kind)
}
