//! The page of one query. A query that reads two clusters has one part for each.

use std::sync::Arc;

use askama::Template;
use serde::Deserialize;

use super::fleet::encode;
use super::partitions::{Topic, names, page_of, topics};
use super::row::{Row, lost, next_to_go, number, row};
use super::tone::Tone;
use super::{Frame, Line, Stamp};
use crate::judgement::{QueryState, QueryVerdict};
use crate::measures::Moment;
use crate::metrics::snapshot::{ClusterRound, QueryRound};
use crate::retention::Right;
use crate::web::fallback::nearest;
use crate::web::words::{self, count, counted};

/// What the page is asked to show.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::web) struct Question {
    page: String,
}

#[derive(Debug, Template)]
#[template(path = "query.html", config = "src/web/templates/askama.toml")]
pub(super) struct QueryPage {
    frame: Frame,
    title: String,
    name: String,
    command_name: String,
    link: String,
    loud: bool,
    sides: Vec<Side>,
}

/// What is said of the query on one cluster.
#[derive(Debug)]
struct Side {
    cluster: String,
    row: Row,
    crumb: String,
    verdict: String,
    next: Line,
    reason: Option<String>,
    facts: Vec<Fact>,
    topics: Vec<Topic>,
    checkpoint: Vec<(&'static str, Line)>,
    problems: Vec<Problem>,
    rights: Vec<String>,
    events: Vec<(Stamp, String, String)>,
}

#[derive(Debug)]
struct Fact {
    name: &'static str,
    value: String,
    toned: bool,
    more: String,
}

#[derive(Debug)]
struct Problem {
    kind: &'static str,
    file: Option<String>,
    detail: String,
}

#[derive(Debug, Template)]
#[template(path = "missing.html", config = "src/web/templates/askama.toml")]
pub(super) struct MissingPage {
    frame: Frame,
    name: String,
    nearest: Vec<(String, String)>,
}

pub(super) fn page(rounds: &[Arc<ClusterRound>], name: &str, question: &Question, now: Moment) -> Option<QueryPage> {
    let mut sides: Vec<Side> =
        rounds.iter().filter_map(|round| Some(side(round, name, round.queries.get(name)?, question, now))).collect();
    sides.sort_by_key(|side| (side.row.tone, side.row.state));
    let worst = sides.first()?;
    Some(QueryPage {
        frame: Frame::new(rounds, now),
        title: title(&worst.row, name),
        name: name.to_owned(),
        command_name: shell_word(name),
        link: format!("/queries/{}", encode(name)),
        loud: worst.row.tone < Tone::Unknown,
        sides,
    })
}

pub(super) fn missing(rounds: &[Arc<ClusterRound>], name: &str, now: Moment) -> MissingPage {
    let names = rounds.iter().flat_map(|round| round.queries.keys()).map(String::as_str);
    let nearest = nearest(name, names);
    MissingPage {
        frame: Frame::new(rounds, now),
        name: name.to_owned(),
        nearest: nearest.into_iter().map(|name| (name.to_owned(), format!("/queries/{}", encode(name)))).collect(),
    }
}

/// The title starts with the state, so that a row of tabs can be read.
fn title(row: &Row, name: &str) -> String {
    let mut word = row.word.clone();
    if let Some(first) = word.get_mut(..1) {
        first.make_ascii_uppercase();
    }
    format!("{word}: {name}")
}

fn side(round: &ClusterRound, name: &str, query: &QueryRound, question: &Question, now: Moment) -> Side {
    let row = row(round, name, query, now);
    let verdict = query.verdict.as_deref();
    let topic_names = verdict.map(names).unwrap_or_default().join(", ");
    let crumb = if topic_names.is_empty() {
        format!("cluster {}", round.cluster)
    } else {
        format!("{topic_names} · cluster {}", round.cluster)
    };
    let (sentence, next) = sentence(&row, verdict, now);
    Side {
        cluster: round.cluster.clone(),
        crumb,
        verdict: sentence,
        next,
        reason: verdict.map(|verdict| verdict.reason.to_string()).filter(|reason| !reason.is_empty()),
        facts: verdict.map(|verdict| facts(&row, verdict)).unwrap_or_default(),
        topics: verdict.map(|verdict| topics(query, verdict, page_of(&question.page), now)).unwrap_or_default(),
        checkpoint: checkpoint(query, verdict, now),
        problems: problems(query, verdict),
        rights: verdict.map(|verdict| missing_rights(round, verdict)).unwrap_or_default(),
        events: verdict.map(|verdict| events(verdict, now)).unwrap_or_default(),
        row,
    }
}

/// What the brokers refuse to tell of the query's topics.
fn missing_rights(round: &ClusterRound, verdict: &QueryVerdict) -> Vec<String> {
    let own = names(verdict);
    let missing = round.reading.missing_rights.iter().flat_map(|(right, topics)| {
        let mine = topics.iter().filter(|topic| own.iter().any(|name| **name == ***topic));
        mine.map(move |topic| (*right, topic))
    });
    missing
        .map(|(right, topic)| match right {
            Right::Describe => format!(
                "The right DESCRIBE on topic {topic} is missing, or there is no such topic: nothing is known of it."
            ),
            Right::DescribeConfigs => format!(
                "The right DESCRIBE_CONFIGS on topic {topic} is missing: what limits its retention is not read."
            ),
        })
        .collect()
}

/// What happened, and what goes next.
fn sentence(row: &Row, verdict: Option<&QueryVerdict>, now: Moment) -> (String, Line) {
    let Some(verdict) = verdict else {
        return ("The first round has not ended: nothing is known yet.".to_owned(), Line::default());
    };
    let (lost, partitions) = lost(verdict);
    let mut next = if lost > 0 { next_to_go(verdict, now) } else { Line::default() };
    next.before = capital(&next.before);
    if next.time.is_some() {
        next.after.push('.');
    }
    let sentence = match row.state {
        _ if lost > 0 => format!(
            "{} {} gone, in {} of {}.",
            counted(lost, "unread offset", "unread offsets"),
            if lost == 1 { "is" } else { "are" },
            count(partitions),
            counted(number(verdict.partitions.len()), "partition", "partitions"),
        ),
        QueryState::AtRisk | QueryState::Stalled | QueryState::Behind | QueryState::Idle => capital(&row.due) + ".",
        state => capital(words::meaning(state)) + ".",
    };
    (sentence, next)
}

fn capital(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

fn facts(row: &Row, verdict: &QueryVerdict) -> Vec<Fact> {
    let (lost, partitions) = lost(verdict);
    let fact = |name, value: String, toned, more: &str| Fact { name, value, toned, more: more.to_owned() };
    let unread_here = verdict.partitions.values().all(|partition| partition.lost.is_none());
    let worst_headroom = verdict.topics.values().filter_map(|topic| topic.headroom).min();
    vec![
        if unread_here {
            fact("Lost", "unknown".to_owned(), false, "not read")
        } else {
            fact(
                "Lost",
                count(lost),
                lost > 0,
                &format!("certain; in {}", counted(partitions, "partition", "partitions")),
            )
        },
        fact("Retention remaining", row.bar.percent.clone(), row.tone < Tone::Unknown, &row.bar.limit),
        match verdict.restartable {
            Some(true) => fact("Checkpoint", "restartable".to_owned(), false, "its files are whole"),
            Some(false) => fact("Checkpoint", "not restartable".to_owned(), true, "Spark would refuse its files"),
            None => fact("Checkpoint", "cannot tell".to_owned(), false, "whether Spark would take its files"),
        },
        fact("Lag", row.lag.clone().unwrap_or_else(|| "unknown".to_owned()), false, "offsets, still readable"),
        fact(
            "Headroom, worst",
            worst_headroom.map_or_else(|| "unknown".to_owned(), words::signed),
            worst_headroom.is_some_and(|headroom| headroom < 0),
            "committed \u{2212} earliest, offsets",
        ),
    ]
}

fn checkpoint(query: &QueryRound, verdict: Option<&QueryVerdict>, now: Moment) -> Vec<(&'static str, Line)> {
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

fn problems(query: &QueryRound, verdict: Option<&QueryVerdict>) -> Vec<Problem> {
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
fn events(verdict: &QueryVerdict, now: Moment) -> Vec<(Stamp, String, String)> {
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

/// A name as a shell takes it.
fn shell_word(name: &str) -> String {
    if name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./:".contains(&byte)) && !name.is_empty() {
        return name.to_owned();
    }
    format!("'{}'", name.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_a_command_is_one_word_of_the_shell() {
        for (name, word) in [("orders-v2", "orders-v2"), ("a b", "'a b'"), ("x'; rm y", "'x'\\''; rm y'"), ("", "''")] {
            assert_eq!(shell_word(name), word);
        }
    }
}
