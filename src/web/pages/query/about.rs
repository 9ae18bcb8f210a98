//! The checkpoint and its past, on a query's page.

use super::super::steps::restart_words;
use super::super::{Line, Stamp};
use super::Problem;
use crate::judgement::QueryVerdict;
use crate::measures::Moment;
use crate::metrics::snapshot::QueryRound;
use crate::web::words::{self, count, counted};

/// What is known of the checkpoint, as pairs of a word and a line.
pub(super) fn checkpoint(query: &QueryRound, verdict: Option<&QueryVerdict>, now: Moment) -> Vec<(&'static str, Line)> {
    let mut pairs = vec![("Location", Line::plain(query.checkpoint.clone()))];
    if let Some(verdict) = verdict {
        let unknown = || Line::plain("unknown");
        pairs.push(("Query id", verdict.query_id.clone().map_or_else(unknown, Line::plain)));
        let committed = verdict.newest_committed.map(|batch| format!("batch {}", count(batch.0)));
        pairs.push((
            "Last committed",
            match (committed, verdict.last_commit_at) {
                (Some(batch), Some(at)) => Line::timed(
                    format!("{batch}, "),
                    Stamp::clock(at, now),
                    format!(", {} ago", words::duration(now.since(at))),
                ),
                (Some(batch), None) => Line::plain(format!("{batch}, time not known")),
                (None, _) => Line::plain("none"),
            },
        ));
        pairs.push((
            "Open",
            match (verdict.open_batch_at, verdict.newest_planned) {
                (Some(at), Some(batch)) => Line::timed(
                    format!("batch {}, planned ", count(batch.0)),
                    Stamp::clock(at, now),
                    format!(", {} ago", words::duration(now.since(at))),
                ),
                _ => Line::plain("none"),
            },
        ));
        pairs.push(("Expected", Line::plain(format!("a batch every {}", words::duration(verdict.expected_interval)))));
        if let Some(version) = verdict.offset_log_version {
            pairs.push(("Log format", Line::plain(format!("offsets v{version}"))));
        }
    }
    if query.restarts.is_some() {
        pairs.push(("Restart", Line::plain(restart_words(query.restarts.as_ref()))));
    }
    pairs.push((
        "Read",
        match query.polls.last_success {
            Some(at) => {
                let took = query.polls.duration.map_or_else(String::new, |took| format!(", {}", words::took(took)));
                Line::timed("", Stamp::clock(at, now), took)
            }
            None => Line::plain("never"),
        },
    ));
    if let Some(failure) = &query.polls.failure {
        let reason = words::spoken(failure.reason.label());
        pairs.push(("Not read", Line::plain(format!("{reason}: {}", failure.detail))));
    }
    pairs
}

/// What is wrong or odd with the checkpoint.
pub(super) fn problems(query: &QueryRound, verdict: Option<&QueryVerdict>) -> Vec<Problem> {
    let unread = verdict.and_then(|verdict| verdict.unreadable.as_ref()).filter(|_| query.polls.failure.is_none());
    let unread =
        unread.map(|unread| Problem { kind: unread.reason.label(), file: None, detail: unread.detail.clone() });
    let found = verdict.iter().flat_map(|verdict| &verdict.problems).map(|problem| Problem {
        kind: problem.kind.label(),
        file: problem.file.clone(),
        detail: problem.detail.clone(),
    });
    unread.into_iter().chain(found).collect()
}

/// What happened this round, and of what happened before, how often and when last.
pub(super) fn events(verdict: &QueryVerdict, now: Moment) -> Vec<(Stamp, String, String)> {
    let mut events: Vec<(Moment, String, String)> = verdict
        .events
        .iter()
        .map(|event| (event.at, words::spoken(event.kind.label()), event.detail.clone()))
        .collect();
    for (kind, (times, at)) in &verdict.event_totals {
        if !verdict.events.iter().any(|event| event.kind == *kind) {
            events.push((*at, words::spoken(kind.label()), counted(*times, "time in all", "times in all")));
        }
    }
    events.sort_by(|left, right| right.cmp(left));
    events.into_iter().map(|(at, word, detail)| (Stamp::clock(at, now), word, detail)).collect()
}
