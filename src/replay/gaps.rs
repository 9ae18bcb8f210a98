//! The rows of what was lost: each offset in one row, neighbours of equal certainty in one.

use crate::judgement::{Certainty, LostRange};
use crate::measures::{Offset, TopicPartition};

/// Offsets that were deleted unread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Where.
    pub partition: TopicPartition,
    /// The first of them.
    pub from: Offset,
    /// The first behind them.
    pub to: Offset,
    /// How sure it is.
    pub certainty: Certainty,
}

/// Adds a range that was counted for the first time.
pub(super) fn add(gaps: &mut Vec<Gap>, range: &LostRange) {
    let mut row =
        Gap { partition: range.partition.clone(), from: range.from, to: range.to, certainty: range.certainty };
    gaps.retain(|gap| {
        let same = gap.partition == row.partition && gap.certainty == row.certainty;
        let touches = same && gap.from <= row.to && row.from <= gap.to;
        if touches {
            (row.from, row.to) = (row.from.min(gap.from), row.to.max(gap.to));
        }
        !touches
    });
    gaps.push(row);
    gaps.sort_by(|one, other| (&one.partition, one.from).cmp(&(&other.partition, other.from)));
}

/// Takes a range out of the rows that called it possible, and calls it certain.
pub(super) fn turn_certain(gaps: &mut Vec<Gap>, range: &LostRange) {
    let mut kept = Vec::with_capacity(gaps.len());
    for gap in gaps.drain(..) {
        if gap.partition != range.partition || gap.certainty != Certainty::Possible {
            kept.push(gap);
            continue;
        }
        let parts = [(gap.from, gap.to.min(range.from)), (gap.from.max(range.to), gap.to)];
        kept.extend(parts.into_iter().filter(|(from, to)| from < to).map(|(from, to)| Gap { from, to, ..gap.clone() }));
    }
    *gaps = kept;
    add(gaps, &LostRange { certainty: Certainty::Certain, ..range.clone() });
}
