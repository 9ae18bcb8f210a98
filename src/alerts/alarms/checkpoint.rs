//! Checkpoints that do not move, cannot be read, or cannot be started from.

use super::{Inputs, KEEP, Share, both_severities};
use crate::alerts::promql::{Condition, Over};
use crate::alerts::rule::{Rule, Severity, minutes};
use crate::judgement;
use crate::metrics::catalogue::{CHECKPOINT_UP, QUERY_CONDITION, QUERY_RESTARTABLE, QUERY_UNREAD_SINCE};

/// The critical alert waits so many times as long as the warning.
const CRITICAL_TIMES: f64 = 6.0;

pub(in crate::alerts) fn rules(inputs: &Inputs) -> Vec<Rule> {
    let mut rules = vec![not_restartable(inputs)];
    rules.extend(unreadable(inputs));
    let shares = inputs.split(|thresholds| (thresholds.stalled_after, thresholds.expected_interval));
    rules.extend(shares.iter().map(|share| stalled(inputs, share, Severity::Warning)));
    rules.extend(shares.iter().map(|share| stalled(inputs, share, Severity::Critical)));
    rules
}

fn not_restartable(inputs: &Inputs) -> Rule {
    Rule {
        alert: "SparkStreamCheckpointNotRestartable",
        severity: Severity::Critical,
        condition: inputs.newest(&QUERY_RESTARTABLE).value().equals(0.0),
        hold: minutes(10),
        keep_firing: KEEP,
        query: None,
        summary: "Spark would not start from a query's checkpoint.",
        description: "The checkpoint of query {{ $labels.query }} is damaged: if the query stops, Spark will not start it \
            again. It may still be running. For the file at fault: brinkwatch check {{ $labels.query }} \
            (problems), or brinkwatch inspect with the checkpoint's location. Copy the checkpoint before anything is \
            changed in it.",
    }
}

fn unreadable(inputs: &Inputs) -> Vec<Rule> {
    let mut up = inputs.newest(&CHECKPOINT_UP);
    // One good poll in the window is good enough.
    up.over = Over::Max;
    // Nobody waits for a checkpoint whose place another one took.
    let superseded = inputs.newest(&QUERY_CONDITION).only("condition", judgement::Condition::Superseded.label());
    let warning = Rule {
        alert: "SparkStreamCheckpointUnreadable",
        severity: Severity::Warning,
        condition: Condition::Unless(Box::new(up.value().equals(0.0)), Box::new(superseded.value().equals(1.0))),
        hold: minutes(10),
        keep_firing: KEEP,
        query: None,
        summary: "A Spark query's checkpoint cannot be read.",
        description: "Brinkwatch cannot read the checkpoint of query {{ $labels.query }}, so it does not see whether the query \
            moves. This is no loss, but a loss would be seen late. For the reason: \
            brinkwatch check {{ $labels.query }}, or the label reason of brinkwatch_checkpoint_poll_failures_total.",
    };
    both_severities(warning, minutes(60))
}

fn stalled(inputs: &Inputs, share: &Share<'_>, severity: Severity) -> Rule {
    let intervals = share.thresholds.expected_interval.saturating_mul(share.thresholds.stalled_after);
    let warning_after = intervals.max(inputs.window).as_secs_f64();
    let after = if severity == Severity::Critical { CRITICAL_TIMES * warning_after } else { warning_after };
    Rule {
        alert: "SparkStreamStalled",
        severity,
        condition: share.of(inputs.newest(&QUERY_UNREAD_SINCE)).age().above(after),
        hold: minutes(2),
        keep_firing: KEEP,
        query: share.static_query(),
        summary: "A Spark query has unread records and does not move.",
        description: "Query {{ $labels.query }} has had unread records on {{ $labels.kafka_cluster }} for \
            {{ $value | humanizeDuration }} and has committed none. It is stopped, failing at each start, or stuck in one \
            batch: brinkwatch check {{ $labels.query }} says which, and how long its data will live.",
    }
}
