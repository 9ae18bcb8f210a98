//! What becomes of one partition's range of offsets.

use super::{Finding, Stage};
use crate::measures::{Offset, TopicPartition};

const OFFSET_CHANGED: &str = "KAFKA_DATA_LOSS.PARTITION_OFFSET_CHANGED";
const COULD_NOT_READ: &str = "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE";

/// What a query can read of a partition.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) earliest: Offset,
    /// Latest, or the last stable offset.
    pub(super) end: Offset,
}

/// The open batch `[committed, planned)` is read again as it was planned, whatever the broker has now.
pub(super) fn check_open(at: &TopicPartition, committed: Offset, planned: Offset, bounds: Bounds) -> Option<Finding> {
    if planned < committed {
        return Some(driver(
            at.clone(),
            format!(
                "{at} is planned to end at {planned}, before its start {committed}; every start fails the same way"
            ),
            // Spark goes on from the lower number: what the new log has below it is never read.
            planned.above(bounds.earliest),
        ));
    }
    if planned == committed {
        return None;
    }
    if committed < bounds.earliest {
        let gone = bounds.earliest.min(planned);
        return Some(executor(
            at.clone(),
            format!("{at} is planned from {committed}, and Kafka begins at {}", bounds.earliest),
            gone.above(committed),
        ));
    }
    (planned > bounds.end)
        .then(|| executor(at.clone(), format!("{at} is planned to {planned}, and Kafka ends at {}", bounds.end), 0))
}

/// The next batch ends at the log's end: that is where a partition is found to be ahead of it, or too far behind.
pub(super) fn check_next(at: TopicPartition, from: Offset, bounds: Bounds) -> Option<Finding> {
    if from > bounds.end {
        let what = format!("{at} stands at {from}, and Kafka ends at {}; every start fails the same way", bounds.end);
        let skips = bounds.end.above(bounds.earliest);
        return Some(driver(at, what, skips));
    }
    if from < bounds.earliest {
        let what = format!("{at} stands at {from}, and Kafka begins at {}", bounds.earliest);
        return Some(executor(at, what, bounds.earliest.above(from)));
    }
    None
}

/// Real-time mode has no planned end: its task asks for the committed offset and dies where Kafka does not have it,
/// with failOnDataLoss true and false alike. A continuous reader reports the range like a batch's.
pub(super) fn check_streaming(at: TopicPartition, from: Offset, bounds: Bounds, real_time: bool) -> Option<Finding> {
    if !real_time {
        return check_next(at, from, bounds);
    }
    let inside = bounds.earliest <= from && from <= bounds.end;
    (!inside).then(|| Finding {
        stage: Stage::Executor,
        class: Some("OffsetOutOfRangeException"),
        what: format!(
            "{at} stands at {from}, and Kafka has {} to {}; in real-time mode failOnDataLoss does not matter",
            bounds.earliest, bounds.end
        ),
        partition: Some(at),
        skips: 0,
        always: true,
    })
}

fn driver(at: TopicPartition, what: String, skips: u64) -> Finding {
    Finding { stage: Stage::Driver, class: Some(OFFSET_CHANGED), partition: Some(at), what, skips, always: false }
}

fn executor(at: TopicPartition, what: String, skips: u64) -> Finding {
    Finding { stage: Stage::Executor, class: Some(COULD_NOT_READ), partition: Some(at), what, skips, always: false }
}
