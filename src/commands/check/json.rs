//! The JSON of `check`: a contract, with a version.

use serde_json::{Map, Value, json};

use super::answer::QueryAnswer;
use crate::commands::times::{deadline, rfc3339};
use crate::judgement::{PartitionVerdict, Restart};
use crate::measures::{Offset, TopicPartition};
use crate::recovery::line;

/// Raised when a field changes its meaning or goes away.
const VERSION: u32 = 1;

/// The whole answer.
pub(super) fn document(answers: &[QueryAnswer]) -> Value {
    json!({"version": VERSION, "queries": answers.iter().map(query).collect::<Vec<_>>()})
}

fn query(answer: &QueryAnswer) -> Value {
    let verdict = &answer.verdict;
    let partitions = answer.worst_first().into_iter().map(|(at, partition)| row(answer, at, partition));
    let problems = verdict
        .problems
        .iter()
        .map(|problem| json!({"problem": problem.kind.label(), "file": problem.file, "detail": problem.detail}));
    json!({
        "version": VERSION,
        "query": answer.query,
        "kafka_cluster": answer.kafka_cluster,
        "cluster_id": answer.cluster_id,
        "checked_at": rfc3339(answer.checked_at),
        "state": verdict.state.label(),
        "reason": verdict.reason,
        "restartable": verdict.restartable,
        "unread": unread(answer),
        "changed": answer.changed,
        "restart": restart(&answer.restart, answer.fail_on_data_loss),
        "restart_otherwise": restart(&answer.restart_otherwise, !answer.fail_on_data_loss),
        "partitions": partitions.collect::<Vec<_>>(),
        "lost_offsets": answer.lost_offsets(),
        "recoveries": answer.recoveries().iter().map(|recovery| json!({
            "path": recovery.way.label(), "fits": recovery.fits, "why": recovery.why, "command": recovery.command.as_deref().map(line),
        })).collect::<Vec<_>>(),
        "problems": problems.collect::<Vec<_>>(),
    })
}

fn unread(answer: &QueryAnswer) -> Value {
    let mut unread = Map::new();
    if let Some(cause) = &answer.verdict.unreadable {
        unread.insert("checkpoint".to_owned(), json!({"reason": cause.reason.label(), "detail": cause.detail}));
    }
    if let Some(cause) = &answer.cluster_unread {
        unread.insert("kafka".to_owned(), json!({"reason": cause.reason.label(), "detail": cause.detail}));
    }
    if unread.is_empty() { Value::Null } else { Value::Object(unread) }
}

fn restart(restart: &Restart, fail_on_data_loss: bool) -> Value {
    json!({
        "fail_on_data_loss": fail_on_data_loss,
        "outcome": restart.outcome.label(),
        "error_class": restart.error_class,
        "partition": restart.partition.as_ref().map(ToString::to_string),
        "detail": restart.detail,
        "skipped": restart.skipped.iter().map(|range| json!({
            "topic": range.partition.topic.as_ref(),
            "partition": range.partition.partition,
            "from": range.from.get(),
            "to": range.to.get(),
        })).collect::<Vec<_>>(),
    })
}

fn row(answer: &QueryAnswer, at: &TopicPartition, partition: &PartitionVerdict) -> Value {
    json!({
        "source": answer.sources.get(at),
        "kafka_cluster": answer.kafka_cluster,
        "topic": at.topic.as_ref(),
        "partition": at.partition,
        "state": partition.state.label(),
        "committed": partition.committed.map(Offset::get),
        "planned": partition.planned.map(Offset::get),
        "earliest": partition.earliest.map(Offset::get),
        "latest": partition.latest.map(Offset::get),
        "headroom_offsets": partition.headroom,
        "lag_offsets": partition.lag,
        "lost_offsets": partition.lost,
        "possibly_lost_offsets": partition.possibly_lost,
        "beyond_end_offsets": partition.beyond_end,
        "remaining_ratio": partition.ratio,
        "deadline": partition.deadline.and_then(deadline),
        "projected_loss": partition.forecast.and_then(deadline),
        "unproved": partition.unproved.map(|why| json!({"reason": why.label(), "detail": why.to_string()})),
        "reason": partition.reason,
    })
}
