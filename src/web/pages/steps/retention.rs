//! Steps about how long Kafka keeps the data.

use std::time::Duration;

use super::command::shell;
use super::{Case, Command, Step, with};
use crate::judgement::Deadline;
use crate::retention::{SetBy, TopicSight};
use crate::web::words::duration;

/// A limit of a century is none, and half as much again would be more than a number can hold.
const LONGEST: i64 = 100 * 365 * 86_400_000;

/// A longer retention, for the topic of which data goes first. Nothing where no limit of time is known.
pub(super) fn stop_the_clock(case: &Case<'_>, title: &str) -> Step {
    let mut topics: Vec<(Option<Deadline>, &str, i64, bool)> = Vec::new();
    for (name, topic) in &case.verdict.topics {
        let Some(TopicSight::Seen(seen)) = case.round.reading.topics.get(name) else { continue };
        let Some(limits) = seen.limits.as_ref().and_then(|limits| limits.as_ref().ok()) else { continue };
        if let Some(limit) = limits.retention_ms.filter(|limit| (1..LONGEST).contains(limit) && topic.lag != Some(0)) {
            let gone = topic.lost.is_some_and(|lost| lost > 0);
            let inherited = matches!(limits.retention_ms_set_by, Some(SetBy::Brokers | SetBy::Default));
            topics.push((topic.deadline.filter(|_| !gone), name, limit, inherited));
        }
    }
    let Some((_, topic, limit, inherited)) = topics.into_iter().min() else { return Step::default() };
    const HOUR: i64 = 3_600_000;
    let longer = (limit + limit / 2).div_euclid(HOUR) * HOUR + HOUR;
    let said = |millis: i64| duration(Duration::from_millis(u64::try_from(millis).unwrap_or(0)));
    let more = (longer - limit).saturating_mul(100) / limit;
    let setting = format!("retention.ms={longer}");
    let undo = if inherited {
        format!(
            "The topic has no retention.ms of its own and takes {limit} from its brokers: when the query has caught up, \
             take this one away again with --delete-config retention.ms."
        )
    } else {
        format!("Put {limit} back when the query has caught up.")
    };
    let words = [
        "kafka-configs.sh",
        "--bootstrap-server",
        case.brokers.unwrap_or("BROKER:9092"),
        "--alter",
        "--entity-type",
        "topics",
        "--entity-name",
        topic,
        "--add-config",
        &setting,
    ];
    Step {
        title: title.to_owned(),
        text: format!("Works at once for data that is still there; deleted data does not come back. {undo}"),
        commands: vec![Command {
            effect: format!("changes the topic: {} instead of {}, about {more} % more disk", said(longer), said(limit)),
            changes: true,
            words: shell(&words.map(str::to_owned)),
        }],
        choices: Vec::new(),
    }
}

/// For how long the query could be down.
pub(super) fn size(case: &Case<'_>, title: &str) -> Step {
    with(
        title,
        "For an outage as long as the query's max_outage: whether today's limits last through it, which one is too tight, \
         and which would do.",
        vec![case.reads(&["size"], &[])],
    )
}
