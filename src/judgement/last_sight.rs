//! What was unread of a log when it was last seen.

use super::latches::latched;
use super::memory::{LatchKind, PartitionMemory};
use super::needs::Need;
use crate::measures::Offset;

/// How a partition stood that the broker does not have any more.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastSight {
    pub caught_up: bool,
    /// Offsets that were there and not read.
    pub unread: u64,
}

/// The offsets between the position and the end, of the log that memory knows.
pub(super) fn unread(position: Option<Offset>, one: &PartitionMemory) -> Option<(Offset, Offset)> {
    Some((position.or(one.earliest)?, one.latest?))
}

/// The last sight; `None` for one that was never seen on this cluster. A topic that was made again has two logs: of the
/// new one the position says nothing, and what was unread of the old one is not read since.
pub(super) fn of(need: &Need, one: &PartitionMemory) -> Option<LastSight> {
    let made_again = latched(one, LatchKind::Recreated);
    let position = need.offset().filter(|_| !made_again);
    let here = unread(position, one).map(|(from, to)| LastSight {
        caught_up: from >= to,
        unread: to.above(one.earliest.map_or(from, |earliest| earliest.max(from))),
    });
    let before = one.latch.as_ref().and_then(|latch| latch.unread);
    let before = before.map(|(from, to)| LastSight { caught_up: from >= to, unread: to.above(from) });
    match (before, here) {
        (Some(before), Some(here)) => Some(LastSight {
            caught_up: before.caught_up && here.caught_up,
            unread: before.unread.saturating_add(here.unread),
        }),
        (before, here) => before.or(here),
    }
}
