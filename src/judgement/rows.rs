//! The state of a partition: the first row that fits.

use std::borrow::Cow;

use super::last_sight;
use super::latches::{advance, healed_by_a_batch, latched};
use super::memory::{Identity, LatchKind, PartitionMemory, TopicMemory};
use super::needs::{Need, Origin};
use super::notes::Notes;
use super::partition::Round;
use super::settings::Isolation;
use super::states::{EventKind, PartitionState};
use crate::measures::{Offset, TopicPartition};
use crate::retention::{PartitionReading, TopicId};

/// Which row of the table fits a partition whose bounds were read, or that the broker does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Row {
    /// The query is held to read another cluster.
    OtherCluster,
    /// Not in a good answer of the broker.
    Missing { confirmed: bool },
    /// Earliest above latest.
    Crossed,
    /// The topic was deleted and made again.
    Recreated,
    /// The same, suspected and not confirmed.
    Suspected,
    /// Beyond the end of the log.
    Beyond { confirmed: bool },
    /// It was beyond the end, and the log has grown past it.
    PassedByTheEnd,
    /// No position. `lost`: the log's beginning is gone, and the query was to read it.
    NoPosition { lost: bool },
    /// Below earliest, but all of it was committed once.
    MovedBack,
    /// Below earliest, while a young batch may hold it all.
    PossiblyLost,
    /// Below earliest.
    Lost,
    /// Nothing to read.
    CaughtUp,
    /// Something to read.
    Behind,
    /// Something to read, of a partition that only the open batch names.
    Starting,
}

impl Row {
    /// The word for it.
    pub(super) const fn state(self) -> PartitionState {
        match self {
            Self::Missing { confirmed: true } => PartitionState::Gone,
            Self::Missing { .. } | Self::Crossed | Self::Suspected | Self::PossiblyLost => PartitionState::Unconfirmed,
            Self::Recreated => PartitionState::Recreated,
            Self::Beyond { confirmed: true } => PartitionState::BeyondEnd,
            Self::Beyond { .. } => PartitionState::Unconfirmed,
            Self::OtherCluster | Self::PassedByTheEnd | Self::MovedBack => PartitionState::Unverified,
            Self::NoPosition { lost: true } | Self::Lost => PartitionState::Lost,
            Self::NoPosition { .. } | Self::Starting => PartitionState::Pending,
            Self::CaughtUp => PartitionState::CaughtUp,
            Self::Behind => PartitionState::Behind,
        }
    }

    /// Whether loss can be counted: position and log belong together.
    pub(super) const fn accounts(self) -> bool {
        !matches!(
            self,
            Self::OtherCluster
                | Self::Missing { .. }
                | Self::Crossed
                | Self::Recreated
                | Self::Suspected
                | Self::Beyond { .. }
                | Self::PassedByTheEnd
        )
    }

    /// Whether what the broker said may replace what is remembered. A contradiction must still stand against the
    /// memory in the next round.
    pub(super) const fn replaces_memory(self) -> bool {
        !matches!(
            self,
            Self::OtherCluster
                | Self::Missing { .. }
                | Self::Crossed
                | Self::Suspected
                | Self::Beyond { confirmed: false }
        )
    }
}

/// A row, and why, in words.
pub(super) type Finding = (Row, Cow<'static, str>);

/// The partition is not in a good answer of the broker.
pub(super) fn missing(round: &Round<'_>, need: &Need, one: &mut PartitionMemory) -> Finding {
    let confirmed = advance(&mut one.missing, round.now, round.settings);
    let row = Row::Missing { confirmed };
    let why: Cow<'static, str> = match last_sight::of(need, one).map(|sight| sight.unread) {
        Some(0) => "the broker does not have it; it was caught up at the last sight".into(),
        Some(unread) => format!("the broker does not have it; {unread} offsets were unread at the last sight").into(),
        None => "the broker does not have it, and never had on this cluster: source not matched".into(),
    };
    match &one.latch {
        Some(latch) if latch.kind == LatchKind::Recreated => (row, format!("{why}; {}", latch.detail).into()),
        _ => (row, why),
    }
}

/// The rows that need the bounds, from earliest above latest on.
pub(super) fn judge(
    round: &Round<'_>,
    at: &TopicPartition,
    need: &Need,
    bounds: &PartitionReading,
    topic: &TopicSigns,
    one: &mut PartitionMemory,
    notes: &mut Notes,
) -> Finding {
    let PartitionReading { earliest, latest, .. } = *bounds;
    one.missing = None;
    if earliest > latest {
        return (Row::Crossed, format!("earliest {earliest} above latest {latest}").into());
    }
    heal(round, at, need, bounds, topic, one, notes);
    if latched(one, LatchKind::Recreated) {
        let detail = one.latch.as_ref().map_or("", |latch| latch.detail.as_str());
        let skipped = need.committed.map_or(0, |committed| committed.min(latest).above(earliest));
        return (Row::Recreated, format!("{detail}; a restart would skip {skipped} offsets of the new topic").into());
    }
    if topic.suspected && need.offset().is_some() {
        return (Row::Suspected, "suspected: the log looks like that of another topic under the same name".into());
    }
    match need.committed {
        Some(committed) if committed > latest => return beyond(round, committed, latest, topic, one),
        _ => (one.beyond, one.lowest_beyond) = (None, None),
    }
    if let (Some(latch), Some(committed)) = (&mut one.latch, need.committed) {
        let lowest = latch.lowest_latest.map_or(latest, |lowest| lowest.min(latest));
        latch.lowest_latest = Some(lowest);
        let skipped = committed.above(lowest);
        return (
            Row::PassedByTheEnd,
            format!("was beyond the end, and the log has grown past it: {skipped} offsets of the new history will be skipped").into(),
        );
    }
    let Some(needed) = need.offset() else { return no_position(round, need, earliest) };
    if earliest > needed {
        return below_earliest(round, need, needed, bounds, one);
    }
    readable(round, need, needed, bounds)
}

/// What is known of the topic as a whole.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TopicSigns {
    /// A suspicion stands and is not confirmed.
    pub suspected: bool,
    /// The id is the one under which the positions were found sane.
    pub vouched: bool,
    /// The id that the broker says now.
    pub id: Option<TopicId>,
}

impl TopicSigns {
    /// Reads the signs off the memory of a topic.
    pub(super) fn of(topic: &TopicMemory, id: Option<TopicId>) -> Self {
        Self { suspected: topic.suspicion.is_some(), vouched: topic.sane && id.is_some() && id == topic.topic_id, id }
    }
}

fn heal(
    round: &Round<'_>,
    at: &TopicPartition,
    need: &Need,
    bounds: &PartitionReading,
    topic: &TopicSigns,
    one: &mut PartitionMemory,
    notes: &mut Notes,
) {
    let Some(mut latch) = one.latch.take() else { return };
    latch.set_back(round.now);
    if let (Some(Identity::Topic(before)), Some(now)) = (&latch.before, topic.id) {
        if *before != now {
            latch.back = None;
        } else if advance(&mut latch.back, round.now, round.settings) {
            one.back_in_the_old_log(latch.unread);
            return;
        }
    }
    let before = latch.position;
    if healed_by_a_batch(&mut latch, round.healing, need.committed, bounds) {
        let words = |offset: Option<Offset>| offset.map_or_else(|| "nowhere".to_owned(), |offset| offset.to_string());
        let skipped = before.map_or(0, |before| before.min(bounds.latest).above(bounds.earliest));
        let detail = format!(
            "from {} to {}; {skipped} offsets of this log below were never read",
            words(before),
            words(need.committed)
        );
        notes.partition(EventKind::PositionJumped, at, &detail);
        one.committed = need.committed;
        one.start_anew();
        return;
    }
    one.latch = Some(latch);
}

fn beyond(
    round: &Round<'_>,
    committed: Offset,
    latest: Offset,
    topic: &TopicSigns,
    one: &mut PartitionMemory,
) -> Finding {
    let cause = if topic.vouched { "log truncated (same topic id)" } else { "cause unconfirmed" };
    let why = format!("committed {committed} lies {} beyond the end {latest}: {cause}", committed.above(latest));
    if let Some(latch) = &mut one.latch {
        latch.lowest_latest = Some(latch.lowest_latest.map_or(latest, |lowest| lowest.min(latest)));
        return (Row::Beyond { confirmed: true }, why.into());
    }
    let lowest = one.lowest_beyond.map_or(latest, |lowest| lowest.min(latest));
    one.lowest_beyond = Some(lowest);
    let confirmed = advance(&mut one.beyond, round.now, round.settings);
    if confirmed {
        let mut latch =
            super::latches::set(LatchKind::BeyondEnd, why.clone(), round.now, round.newest_planned(), Some(committed));
        latch.lowest_latest = Some(lowest);
        one.latch = Some(latch);
    }
    (Row::Beyond { confirmed }, why.into())
}

fn no_position(round: &Round<'_>, need: &Need, earliest: Offset) -> Finding {
    if need.origin == Origin::NotFixed {
        return (Row::NoPosition { lost: false }, "where the query will start is not fixed yet".into());
    }
    if earliest == Offset::ZERO {
        return (Row::NoPosition { lost: false }, "on the broker, no position yet".into());
    }
    if round.settings.subscribe.reads_new_partitions() {
        let why = format!("never read, and the log starts at {earliest} already");
        return (Row::NoPosition { lost: true }, why.into());
    }
    (Row::NoPosition { lost: false }, "unread history, or not read by this query".into())
}

fn below_earliest(
    round: &Round<'_>,
    need: &Need,
    needed: Offset,
    bounds: &PartitionReading,
    one: &PartitionMemory,
) -> Finding {
    let earliest = bounds.earliest;
    if one.seen.is_some_and(|seen| seen >= earliest) {
        let why = "position moved back below earliest; all of it was committed once; a restart fails or skips";
        return (Row::MovedBack, why.into());
    }
    if round.young && need.planned.is_some_and(|planned| planned >= earliest) {
        let batch = round.newest_planned().map_or(0, |batch| batch.0);
        return (Row::PossiblyLost, format!("earliest passed the committed offset while batch {batch} is open").into());
    }
    let lost = earliest.above(needed);
    let mut why = format!("{lost} unread offsets [{needed}, {earliest}) are gone");
    if round.batch_open() && need.planned.is_some_and(|planned| planned > needed) && !round.young {
        why.push_str("; the open batch is too old to be still reading them");
    }
    if need.origin == Origin::Dropped {
        why.push_str("; ");
        why.push_str(NOT_IN_THE_NEWEST);
    }
    if earliest == bounds.latest {
        let at_once = one.earliest.is_some_and(|before| before <= needed) && one.latest == Some(bounds.latest);
        why.push_str(if at_once {
            "; log start jumped to the end; nothing left to read"
        } else {
            "; nothing left to read"
        });
    }
    (Row::Lost, why.into())
}

const NOT_IN_THE_NEWEST: &str =
    "not in the newest batch, though the broker has it; a restart reads it from earliest again";

fn readable(round: &Round<'_>, need: &Need, needed: Offset, bounds: &PartitionReading) -> Finding {
    let end = round.end(bounds);
    if need.origin == Origin::OpenBatch {
        return (Row::Starting, "only the open batch names it; it is needed from its beginning".into());
    }
    let row = if needed >= end { Row::CaughtUp } else { Row::Behind };
    if need.origin == Origin::Dropped {
        return (row, NOT_IN_THE_NEWEST.into());
    }
    let committed_only = round.settings.isolation == Isolation::ReadCommitted;
    let why: Cow<'static, str> = match row {
        _ if committed_only && bounds.stable.is_none() => {
            "the stable offset is not known: latest counts as the end".into()
        }
        Row::CaughtUp if end < bounds.latest => {
            format!("open transaction: {} offsets wait", bounds.latest.above(end)).into()
        }
        Row::CaughtUp => "nothing unread".into(),
        _ if committed_only => "unread data; the stable offset counts as the end".into(),
        _ => "unread data".into(),
    };
    (row, why)
}
