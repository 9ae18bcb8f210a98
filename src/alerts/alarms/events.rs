//! What happened once and may be over: told for a while after it was seen.

use super::{Inputs, KEEP};
use crate::alerts::rule::{Rule, Severity, minutes};
use crate::judgement::EventKind;
use crate::metrics::catalogue::QUERY_LAST_EVENT;

/// Most events are told for an hour …
const HOUR: f64 = 3600.0;
/// … and one that shows how the query is set, and not only what it did, for a day.
const DAY: f64 = 24.0 * HOUR;

pub(in crate::alerts) fn rules(inputs: &Inputs) -> Vec<Rule> {
    let rule = |alert, severity, (event, seconds): (EventKind, f64), summary, description| Rule {
        alert,
        severity,
        condition: inputs.newest(&QUERY_LAST_EVENT).only("event", event.label()).age().below(seconds),
        hold: minutes(0),
        keep_firing: KEEP,
        query: None,
        summary,
        description,
    };
    vec![
        rule(
            "SparkStreamPositionJumped",
            Severity::Warning,
            (EventKind::PositionJumped, HOUR),
            "A Spark query went on further ahead than it had read.",
            "{{ $value | humanizeDuration }} ago the position of query {{ $labels.query }} on {{ $labels.kafka_cluster }} \
             jumped ahead: what lies between was not read by any batch. Either somebody changed the starting offsets or the \
             checkpoint, or failOnDataLoss=false skipped. For the range: brinkwatch check {{ $labels.query }}",
        ),
        rule(
            "SparkStreamTwoWriters",
            Severity::Warning,
            (EventKind::OffsetsRewritten, HOUR),
            "Two Spark queries seem to write one checkpoint.",
            "{{ $value | humanizeDuration }} ago a batch in the checkpoint of query {{ $labels.query }} \
             ({{ $labels.kafka_cluster }}) was planned a second time with other offsets. Spark plans a batch once; two \
             drivers on one checkpoint overwrite each other, and each may skip what the other has read. Find the second \
             one and stop it: brinkwatch check {{ $labels.query }}",
        ),
        rule(
            "SparkStreamRunsPastLoss",
            Severity::Warning,
            (EventKind::ContinuedPastLoss, DAY),
            "A Spark query went on behind lost Kafka records without failing.",
            "{{ $value | humanizeDuration }} ago query {{ $labels.query }} on {{ $labels.kafka_cluster }} committed a batch \
             behind records that were deleted unread, so it runs with failOnDataLoss=false. It will not fail at the next \
             loss either: Brinkwatch's alerts are then the only word of it. For what is missing: brinkwatch gaps list",
        ),
        rule(
            "SparkStreamPositionMovedBack",
            Severity::Info,
            (EventKind::PositionMovedBack, HOUR),
            "A Spark query went back behind what it had committed.",
            "{{ $value | humanizeDuration }} ago the position of query {{ $labels.query }} on {{ $labels.kafka_cluster }} \
             moved back. It reads records a second time: a checkpoint was restored or rolled back by hand. A sink that does \
             not drop doubles has them now: brinkwatch check {{ $labels.query }}",
        ),
        rule(
            "SparkStreamCheckpointReplaced",
            Severity::Info,
            (EventKind::CheckpointReplaced, HOUR),
            "A Spark query has a new checkpoint.",
            "{{ $value | humanizeDuration }} ago the checkpoint of query {{ $labels.query }} ({{ $labels.kafka_cluster }}) was \
             found to be another one than before: it was deleted and made again, or another query writes there. What the \
             old one had not read yet may have been skipped: brinkwatch check {{ $labels.query }}",
        ),
    ]
}
