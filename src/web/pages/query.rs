//! The page of one query. A query that reads two clusters has one part for each.

mod about;
mod hindrances;

use std::collections::BTreeMap;
use std::sync::Arc;

use askama::Template;
use serde::Deserialize;

use self::about::{checkpoint, events, problems};
use self::hindrances::hindrances;
use super::chart::{Axis, Chart, Curve, draw, headroom, lag};
use super::fleet::encode;
use super::partitions::{Asked, Topic, names, topics};
use super::row::{Row, forecast, growth, lost, next_to_go, number, row};
use super::settle::SettleForm;
use super::steps::{Case, GAP_LINES, Never, Step, gap_lines, never, restart_words, steps};
use super::tone::Tone;
use super::{Fact, Frame, Line, Stamp};
use crate::judgement::{Deadline, Outcome, QueryState, QueryVerdict};
use crate::ledger::Gap;
use crate::measures::Moment;
use crate::metrics::snapshot::{ClusterRound, HistoryPoint, QueryRound, Span, worst_headroom};
use crate::recovery::Subject;
use crate::shard::Shard;
use crate::web::fallback::nearest;
use crate::web::words::{self, count, counted};

/// What the page is asked to show.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(in crate::web) struct Question {
    topic: String,
    page: String,
    span: String,
}

/// What a page is told beside the board.
pub(super) struct Around<'a> {
    /// Absent: the ledger does not answer.
    pub(super) gaps: Option<&'a [Gap]>,
    /// Bootstrap servers by cluster.
    pub(super) brokers: &'a BTreeMap<String, String>,
    /// What ends every command of ours.
    pub(super) options: &'a [String],
    /// Whether what is remembered outlives the process, so that commands can read it.
    pub(super) remembers: bool,
    /// Whether gaps can be settled here.
    pub(super) settles: bool,
}

#[derive(Debug, Template)]
#[template(path = "query.html", config = "src/web/templates/askama.toml")]
pub(super) struct QueryPage {
    frame: Frame,
    title: String,
    name: String,
    link: String,
    sides: Vec<Side>,
}

/// What is said of the query on one cluster.
#[derive(Debug)]
struct Side {
    /// Ends the names of its places in the page; nothing for the first one.
    end: String,
    cluster: String,
    row: Row,
    crumb: String,
    verdict: String,
    next: Line,
    reason: Option<String>,
    restart: String,
    facts: Vec<Fact>,
    steps: Vec<Step>,
    never: Vec<Never>,
    history: History,
    topics: Vec<Topic>,
    checkpoint: Vec<(&'static str, Line)>,
    problems: Vec<Problem>,
    hindrances: Vec<String>,
    events: Vec<(Stamp, String, String)>,
    gaps: Gaps,
}

/// The charts, and the same as a table.
#[derive(Debug)]
struct History {
    about: String,
    charts: Vec<Chart>,
    rows: Vec<(Stamp, String, String)>,
    spans: Vec<(&'static str, bool)>,
}

/// The gap records of the query.
#[derive(Debug)]
struct Gaps {
    said: String,
    lines: Vec<(Option<i64>, String)>,
    link: String,
    form: Option<SettleForm>,
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
    /// The shard that would watch it, where that is another one.
    elsewhere: Option<u32>,
}

pub(super) fn page(
    rounds: &[Arc<ClusterRound>],
    shard: Shard,
    name: &str,
    question: &Question,
    around: &Around<'_>,
    now: Moment,
) -> Option<QueryPage> {
    let mut sides: Vec<Side> = rounds
        .iter()
        .filter_map(|round| Some(side(round, name, round.queries.get(name)?, question, around, now)))
        .collect();
    sides.sort_by_key(|side| (side.row.tone, side.row.state));
    for (place, side) in sides.iter_mut().enumerate().skip(1) {
        side.end = format!("-{place}");
    }
    let worst = sides.first()?;
    Some(QueryPage {
        frame: Frame::new("query", rounds, shard, now),
        title: title(worst, name),
        name: name.to_owned(),
        link: format!("/queries/{}", encode(name)),
        sides,
    })
}

pub(super) fn missing(rounds: &[Arc<ClusterRound>], shard: Shard, name: &str, now: Moment) -> MissingPage {
    let names = rounds.iter().flat_map(|round| round.queries.keys()).map(String::as_str);
    let nearest = nearest(name, names);
    MissingPage {
        frame: Frame::new("query", rounds, shard, now),
        name: name.to_owned(),
        elsewhere: (!shard.holds(name)).then(|| shard.holder(name)),
        nearest: nearest.into_iter().map(|name| (name.to_owned(), format!("/queries/{}", encode(name)))).collect(),
    }
}

/// The title starts with the state, so that a row of tabs can be read.
fn title(worst: &Side, name: &str) -> String {
    match worst.row.state {
        QueryState::Lost | QueryState::AtRisk if worst.row.tone < Tone::Unknown => {
            format!("{}: {name}", capital(&worst.row.due))
        }
        _ => format!("{}: {name}", capital(&worst.row.word)),
    }
}

fn side(
    round: &ClusterRound,
    name: &str,
    query: &QueryRound,
    question: &Question,
    around: &Around<'_>,
    now: Moment,
) -> Side {
    let row = row(round, name, query, now);
    let verdict = query.verdict.as_deref();
    let topic_names = verdict.map(names).unwrap_or_default().join(", ");
    let crumb = if topic_names.is_empty() {
        format!("cluster {}", round.cluster)
    } else {
        format!("{topic_names} · cluster {}", round.cluster)
    };
    let (sentence, next) = sentence(&row, verdict, now);
    let of_query = |gap: &&Gap| gap.stream_name == name && gap.kafka_cluster == round.cluster;
    let gaps: Option<Vec<Gap>> = around.gaps.map(|gaps| gaps.iter().filter(of_query).cloned().collect());
    let brokers = around.brokers.get(&round.cluster).map(String::as_str);
    let case = verdict.map(|verdict| Case {
        subject: Subject::query(name, around.options),
        round,
        query,
        verdict,
        gaps: gaps.as_deref(),
        brokers,
        remembers: around.remembers,
        now,
    });
    let loud = row.tone < Tone::Unknown;
    let api = format!("/api/v1/queries/{}", encode(name));
    let asked = Asked { topic: &question.topic, page: &question.page, api: &api };
    Side {
        end: String::new(),
        cluster: round.cluster.clone(),
        crumb,
        verdict: sentence,
        next,
        reason: verdict.map(|verdict| verdict.reason.to_string()).filter(|reason| !reason.is_empty()),
        restart: verdict.map_or_else(String::new, |_| restart_words(query.restarts.as_ref())),
        facts: verdict.map(|verdict| facts(&row, query, verdict, now)).unwrap_or_default(),
        steps: case.as_ref().map(steps).unwrap_or_default(),
        never: case.as_ref().filter(|_| loud).map(never).unwrap_or_default(),
        history: history(round, query, Span::of_word(&question.span), now),
        topics: verdict.map(|verdict| topics(query, verdict, &asked, now)).unwrap_or_default(),
        checkpoint: checkpoint(query, verdict, now),
        problems: problems(query, verdict),
        hindrances: verdict.map(|verdict| hindrances(round, verdict)).unwrap_or_default(),
        events: verdict.map(|verdict| events(verdict, now)).unwrap_or_default(),
        gaps: gaps_of(gaps.as_deref(), name, around.settles),
        row,
    }
}

fn gaps_of(gaps: Option<&[Gap]>, name: &str, settles: bool) -> Gaps {
    let said = match gaps {
        None => "Not known: the ledger does not answer.".to_owned(),
        Some([]) => "No gap is recorded for this query.".to_owned(),
        Some(gaps) => format!("{} recorded.", counted(number(gaps.len()), "gap is", "gaps are")),
    };
    let gaps = gaps.unwrap_or_default();
    Gaps {
        said,
        lines: gap_lines(gaps),
        link: format!("/gaps?q={}", encode(name)),
        form: SettleForm::of(name, gaps.iter().take(GAP_LINES), true).filter(|_| settles),
    }
}

fn history(round: &ClusterRound, query: &QueryRound, asked: Option<Span>, now: Moment) -> History {
    let span = asked.unwrap_or_else(|| query.history.usual_span(now));
    let points: Vec<HistoryPoint> = query.history.points(span, now).copied().collect();
    let due = query.verdict.as_deref().and_then(super::row::deadline);
    let expected = query.verdict.as_deref().and_then(forecast);
    let axis = Axis::new(span, now, round.poll_interval, &[due, expected]);
    let none = None::<Deadline>;
    let charts = if points.is_empty() {
        Vec::new()
    } else {
        let curve = |title, sub, height, value, due, forecast| Curve {
            title,
            sub,
            height,
            points: &points,
            value,
            due,
            forecast,
        };
        vec![
            draw(
                &axis,
                &curve(
                    "Headroom, worst partition",
                    "committed \u{2212} earliest; below 0 it is lost",
                    152.0,
                    headroom,
                    due,
                    expected,
                ),
            ),
            draw(&axis, &curve("Lag, all partitions", "unread and still readable", 102.0, lag, none, none)),
        ]
    };
    let stride = points.len().div_ceil(8).max(1);
    // Counted from the newest, so that what holds now is always told.
    let mut rows: Vec<(Stamp, String, String)> =
        points.iter().rev().step_by(stride).map(|point| table_row(point, now)).collect();
    rows.reverse();
    let about = match (points.first(), span) {
        (None, _) => "no reading in this time".to_owned(),
        (Some(_), Span::HalfHour) => "last 30 min, UTC".to_owned(),
        (Some(_), Span::SixHours) => "last 6 h, UTC".to_owned(),
        (Some(_), Span::Day) => "last 24 h, UTC".to_owned(),
        (Some(_), Span::Week) => "last 7 d, UTC".to_owned(),
    };
    let spans = Span::ALL.iter().map(|each| (each.word(), *each == span)).collect();
    History { about, charts, rows, spans }
}

fn table_row(point: &HistoryPoint, now: Moment) -> (Stamp, String, String) {
    let unknown = || "unknown".to_owned();
    (
        Stamp::clock(point.at, now),
        point.headroom.map_or_else(unknown, words::signed),
        point.lag.map_or_else(unknown, count),
    )
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

fn facts(row: &Row, query: &QueryRound, verdict: &QueryVerdict, now: Moment) -> Vec<Fact> {
    let (lost, partitions) = lost(verdict);
    let fact = |name, value: String, toned, more: &str| Fact { name, value, toned, more: Line::plain(more) };
    let unread_here = verdict.partitions.values().all(|partition| partition.lost.is_none());
    let worst = worst_headroom(verdict);
    let lag_more = growth(query.history.lag_growth(now))
        .map_or_else(|| "offsets, still readable".to_owned(), |growth| format!("offsets, still readable; {growth}"));
    vec![
        if unread_here {
            fact("Lost", "unknown".to_owned(), false, "not read")
        } else {
            let whence = if lost > 0 {
                format!("certain; in {}", counted(partitions, "partition", "partitions"))
            } else {
                "certain".to_owned()
            };
            let open: Option<u64> = query.gaps_unresolved.as_ref().map(|gaps| gaps.values().sum());
            let more = match open {
                Some(open) if open > 0 => format!("{whence}; {}", counted(open, "gap is open", "gaps are open")),
                _ => whence,
            };
            fact("Lost", count(lost), lost > 0, &more)
        },
        fact("Retention remaining", row.bar.percent.clone(), row.tone < Tone::Warning, &row.bar.limit),
        restart_fact(query, verdict),
        fact("Lag", row.lag.clone().unwrap_or_else(|| "unknown".to_owned()), false, &lag_more),
        fact(
            "Headroom, worst",
            worst.map_or_else(|| "unknown".to_owned(), words::signed),
            worst.is_some_and(|headroom| headroom < 0),
            "committed \u{2212} earliest, offsets",
        ),
        fact("Last batch", row.batch_ago.clone(), false, &row.batch_more),
    ]
}

fn restart_fact(query: &QueryRound, verdict: &QueryVerdict) -> Fact {
    let (value, toned, more) = match query.restarts.as_ref().map(|restarts| &restarts.configured) {
        Some(restart) => match restart.outcome {
            Outcome::Starts => ("starts", false, String::new()),
            Outcome::StartsAndSkips => ("skips data", true, "without an error".to_owned()),
            Outcome::Unknown => ("unknown", false, "not all was read".to_owned()),
            Outcome::StartsThenFails | Outcome::Fails => {
                let at = restart.partition.as_ref().map(|partition| format!("at {partition}"));
                ("fails", true, at.unwrap_or_else(|| "its files are at fault".to_owned()))
            }
        },
        None if verdict.restartable == Some(false) => ("fails", true, "Spark would refuse its files".to_owned()),
        None => ("unknown", false, "nothing was read lately".to_owned()),
    };
    Fact { name: "Restart", value: value.to_owned(), toned, more: Line::plain(more) }
}
