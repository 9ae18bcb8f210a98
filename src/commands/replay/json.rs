//! The JSON of `replay`: one object a step.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::Played;
use crate::commands::times::{deadline, rfc3339};
use crate::judgement::{Certainty, Event, PartitionVerdict, QueryVerdict};
use crate::ledger::Gap;
use crate::measures::Offset;
use crate::replay::{self, Scenario};

/// One list; with several checkpoints, one list per name.
#[must_use]
pub fn document(scenario: &Scenario, played: &Played) -> Value {
    let list = |steps: &Vec<replay::Played>| Value::Array(steps.iter().map(step).collect());
    if scenario.several {
        return Value::Object(played.iter().map(|(name, steps)| (name.clone(), list(steps))).collect());
    }
    played.values().next().map_or_else(|| json!([]), list)
}

fn step(played: &replay::Played) -> Value {
    let verdict = &played.verdict;
    let partitions: Map<String, Value> =
        verdict.partitions.iter().map(|(at, one)| (at.to_string(), partition(one))).collect();
    json!({
        "at": rfc3339(played.at),
        "query_state": verdict.state.label(),
        "query_reason": verdict.reason,
        "query_problems": verdict.problems.iter().map(|problem| problem.kind.label()).collect::<Vec<_>>(),
        "restartable": verdict.restartable,
        "last_commit_at": verdict.last_commit_at.and_then(rfc3339),
        "last_progress_at": verdict.last_progress_at.and_then(rfc3339),
        "unread_since": verdict.unread_since.and_then(rfc3339),
        "open_batch_at": verdict.open_batch_at.and_then(rfc3339),
        "partitions": partitions,
        "lost_offsets_total": {
            "certain": total(verdict, Certainty::Certain),
            "possible": total(verdict, Certainty::Possible),
        },
        "gaps": played.gaps.iter().map(gap).collect::<Vec<_>>(),
        "events": verdict.events.iter().map(event).collect::<Vec<_>>(),
        "alerts": played.alerts.iter()
            .map(|(alert, severity)| json!({"alert": alert, "severity": severity.label()}))
            .collect::<Vec<_>>(),
    })
}

fn partition(verdict: &PartitionVerdict) -> Value {
    json!({
        "state": verdict.state.label(),
        "reason": verdict.reason,
        "committed": verdict.committed.map(Offset::get),
        "planned": verdict.planned.map(Offset::get),
        "headroom_offsets": verdict.headroom,
        "lag_offsets": verdict.lag,
        "lost_offsets": verdict.lost,
        "possibly_lost_offsets": verdict.possibly_lost,
        "oldest_unread_timestamp": verdict.oldest_unread.and_then(rfc3339),
        "beyond_end_offsets": verdict.beyond_end,
        "remaining_ratio": verdict.ratio,
        "deadline": verdict.deadline.and_then(deadline),
        "projected_loss": verdict.forecast.and_then(deadline),
    })
}

fn total(verdict: &QueryVerdict, certainty: Certainty) -> u64 {
    verdict.topics.values().filter_map(|topic| topic.lost_total.get(&certainty)).sum()
}

fn gap(gap: &Gap) -> Value {
    json!({
        "topic": gap.topic,
        "partition": gap.partition,
        "from": gap.from,
        "to": gap.to,
        "certainty": gap.certainty.label(),
    })
}

fn event(event: &Event) -> Value {
    let positions: BTreeMap<String, i64> =
        event.positions.iter().map(|(at, offset)| (at.to_string(), offset.get())).collect();
    let mut told = json!({"event": event.kind.label(), "topic": event.topic.as_deref(), "detail": event.detail});
    if let Some(told) = told.as_object_mut().filter(|_| !positions.is_empty()) {
        told.insert("positions".to_owned(), json!(positions));
    }
    told
}
