//! One row of the fleet page: a query in a few words.

use std::sync::Arc;

use super::chart::{Spark, spark};
use super::tone::{Tone, tone, worst_ratio};
use super::{Line, Stamp};
use crate::judgement::{Deadline, Outcome, QueryState, QueryVerdict};
use crate::measures::Moment;
use crate::metrics::snapshot::{ClusterRound, QueryRound, total_lag};
use crate::web::words;

/// A query as the fleet page shows it.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) tone: Tone,
    pub(super) state: QueryState,
    pub(super) due_at: Option<Deadline>,
    pub(super) class: &'static str,
    pub(super) word: String,
    pub(super) meaning: String,
    pub(super) name: String,
    pub(super) link: String,
    pub(super) place: String,
    pub(super) bar: Bar,
    pub(super) due: String,
    pub(super) due_more: Line,
    pub(super) lag: Option<String>,
    pub(super) lag_more: String,
    pub(super) batch: Line,
    pub(super) batch_more: String,
    pub(super) batch_ago: String,
    pub(super) restart_fails: bool,
    pub(super) cluster: String,
    /// Drawn for the rows of the page that is shown only.
    pub(super) spark: Option<Spark>,
}

/// The picture of the remaining ratio.
#[derive(Debug)]
pub(super) struct Bar {
    /// Width in percent; absent: not known.
    pub(super) width: Option<String>,
    pub(super) empty: bool,
    pub(super) percent: String,
    pub(super) limit: String,
    pub(super) warning: String,
    pub(super) critical: String,
}

pub(super) fn row(round: &ClusterRound, name: &str, query: &QueryRound, now: Moment) -> Row {
    let verdict = query.verdict.as_deref();
    let tone = tone(query, now);
    let state = query.state();
    let topics: Vec<&str> = verdict.iter().flat_map(|verdict| verdict.topics.keys()).map(AsRef::as_ref).collect();
    let place = match topics.as_slice() {
        [] => round.cluster.clone(),
        [.., _] if topics.len() > 3 => format!("{} topics · {}", topics.len(), round.cluster),
        few => format!("{} · {}", few.join(", "), round.cluster),
    };
    let (due, due_more) = due(query, verdict, now);
    let (batch, batch_more) = batch(verdict, now);
    let lag = verdict.and_then(total_lag);
    Row {
        tone,
        state,
        due_at: verdict.and_then(deadline),
        class: tone.class(),
        word: words::spoken(state.label()),
        meaning: meaning(query, state, tone),
        name: name.to_owned(),
        link: format!("/queries/{}", super::fleet::encode(name)),
        place,
        bar: bar(query, verdict),
        due,
        due_more,
        lag: lag.map(words::count),
        lag_more: growth(query.history.lag_growth(now)).unwrap_or_else(|| {
            verdict.map_or_else(String::new, |verdict| {
                words::counted(number(verdict.partitions.len()), "partition", "partitions")
            })
        }),
        batch,
        batch_more,
        batch_ago: verdict
            .and_then(|verdict| verdict.last_commit_at)
            .map_or_else(|| "unknown".to_owned(), |at| format!("{} ago", words::duration(now.since(at)))),
        restart_fails: restart_fails(query, verdict),
        cluster: round.cluster.clone(),
        spark: None,
    }
}

impl Row {
    /// Draws what headroom was.
    pub(super) fn draw_history(&mut self, rounds: &[Arc<ClusterRound>], now: Moment) {
        let Some(round) = rounds.iter().find(|round| round.cluster == self.cluster) else { return };
        let Some(query) = round.queries.get(&self.name) else { return };
        let span = query.history.usual_span(now);
        let points: Vec<_> = query.history.points(span, now).copied().collect();
        self.spark = spark(&points, span, now, round.poll_interval);
    }
}

/// Whether Spark refuses the checkpoint's files, or would stop at what the brokers have.
fn restart_fails(query: &QueryRound, verdict: Option<&QueryVerdict>) -> bool {
    let foreseen = query.restarts.as_ref().map(|restarts| restarts.configured.outcome);
    matches!(foreseen, Some(Outcome::Fails | Outcome::StartsThenFails))
        || verdict.is_some_and(|verdict| verdict.restartable == Some(false))
}

/// How fast lag grows, where it does: `+61,800 a min`.
pub(super) fn growth(per_minute: Option<i64>) -> Option<String> {
    let per_minute = per_minute.filter(|growth| *growth != 0)?;
    let sign = if per_minute > 0 { "+" } else { "" };
    Some(format!("{sign}{} a min", words::signed(per_minute)))
}

pub(super) fn number(length: usize) -> u64 {
    u64::try_from(length).unwrap_or(u64::MAX)
}

fn meaning(query: &QueryRound, state: QueryState, tone: Tone) -> String {
    match (state, tone) {
        (QueryState::AtRisk, Tone::Critical) => format!("critical: below {}", words::percent(query.risk_critical)),
        (QueryState::AtRisk, _) if worst_ratio(query).is_some_and(|ratio| ratio < query.settings.risk_warning) => {
            format!("warning: below {}", words::percent(query.settings.risk_warning))
        }
        (QueryState::AtRisk, _) => "warning: by forecast".to_owned(),
        (QueryState::Behind | QueryState::Idle, Tone::Warning) => "but a restart would fail".to_owned(),
        _ if query.verdict.is_none() => "first round under way".to_owned(),
        _ => words::meaning(state).to_owned(),
    }
}

fn bar(query: &QueryRound, verdict: Option<&QueryVerdict>) -> Bar {
    let lost = query.state() == QueryState::Lost;
    let ratio = if lost { Some(0.0) } else { worst_ratio(query) };
    let retention = verdict
        .and_then(|verdict| verdict.topics.values().filter_map(|topic| topic.retention_seconds).reduce(f64::min));
    let idle = query.state() == QueryState::Idle;
    Bar {
        width: ratio.map(|ratio| format!("{:.1}", ratio.clamp(0.0, 1.0) * 100.0)),
        empty: lost,
        percent: ratio.map_or_else(|| "unknown".to_owned(), words::percent),
        limit: match (ratio, retention) {
            (None, _) => "not read".to_owned(),
            (Some(_), _) if idle => "nothing unread".to_owned(),
            (Some(_), Some(f64::INFINITY)) => "no limit".to_owned(),
            (Some(_), Some(seconds)) => {
                format!("of {}", words::duration(std::time::Duration::from_secs_f64(seconds.max(0.0))))
            }
            (Some(_), None) => String::new(),
        },
        warning: format!("{:.0}", query.settings.risk_warning * 100.0),
        critical: format!("{:.0}", query.risk_critical * 100.0),
    }
}

/// The first proved deadline of a query.
pub(super) fn deadline(verdict: &QueryVerdict) -> Option<Deadline> {
    verdict.topics.values().filter_map(|topic| topic.deadline).min()
}

/// The nearest forecast of a query.
pub(super) fn forecast(verdict: &QueryVerdict) -> Option<Deadline> {
    verdict.topics.values().filter_map(|topic| topic.forecast).min()
}

/// All that is lost for certain, and in how many partitions.
pub(super) fn lost(verdict: &QueryVerdict) -> (u64, u64) {
    let lost: Vec<u64> = verdict.partitions.values().filter_map(|each| each.lost).filter(|lost| *lost > 0).collect();
    (lost.iter().sum(), number(lost.len()))
}

/// When unread data starts to go: the answer, and what belongs to it.
fn due(query: &QueryRound, verdict: Option<&QueryVerdict>, now: Moment) -> (String, Line) {
    let Some(verdict) = verdict else {
        return ("not read yet".to_owned(), Line::plain("the first round has not ended"));
    };
    let (lost, partitions) = lost(verdict);
    if lost > 0 {
        let what = format!(
            "lost {} in {}",
            words::counted(lost, "offset", "offsets"),
            words::counted(partitions, "partition", "partitions")
        );
        return (what, next_to_go(verdict, now));
    }
    match query.state() {
        QueryState::Unreadable | QueryState::Unknown | QueryState::Unverified => not_read(verdict, now),
        QueryState::Idle => ("nothing unread".to_owned(), spare(verdict, now)),
        QueryState::ClusterMismatch | QueryState::Recreated | QueryState::BeyondEnd | QueryState::Gone => {
            (verdict.reason.to_string(), Line::default())
        }
        QueryState::NotStarted => ("no position to judge".to_owned(), Line::plain(verdict.reason.to_string())),
        QueryState::Superseded => ("not judged".to_owned(), Line::plain(verdict.reason.to_string())),
        state => until(state, verdict, now),
    }
}

fn until(state: QueryState, verdict: &QueryVerdict, now: Moment) -> (String, Line) {
    let expected = match forecast(verdict) {
        Some(Deadline::At(at)) => Line::timed(
            "forecast: at about ",
            Stamp::clock(at, now),
            format!(", in {}", words::duration(at.since(now))),
        ),
        Some(Deadline::Never) => Line::plain("forecast: it keeps up"),
        None => Line::default(),
    };
    let by_size = verdict.topics.values().any(|topic| topic.deadline.is_none());
    match deadline(verdict) {
        None if is_estimated(verdict) => ("no proved time, an estimate at most".to_owned(), expected),
        None => ("no proved time: a size limit rules, or times are not known".to_owned(), expected),
        Some(Deadline::Never) if by_size => ("no proved time for every topic".to_owned(), expected),
        // A log that size cuts has no time limit either, and is anything but safe.
        Some(Deadline::Never) if !all_is_left(verdict) => ("no proved time: a size limit rules".to_owned(), expected),
        Some(Deadline::Never) => ("safe: no time limit deletes it".to_owned(), expected),
        Some(Deadline::At(at)) if at <= now => {
            ("unread data may go at any moment".to_owned(), Line::timed("since ", Stamp::clock(at, now), ""))
        }
        Some(Deadline::At(at)) if state == QueryState::Behind => {
            (format!("safe for {}", words::duration(at.since(now))), Line::timed("until ", Stamp::clock(at, now), ""))
        }
        Some(Deadline::At(at)) => (
            format!("data starts to go in {}", words::duration(at.since(now))),
            Line::timed("at ", Stamp::clock(at, now), ""),
        ),
    }
}

fn is_estimated(verdict: &QueryVerdict) -> bool {
    verdict.partitions.values().any(|partition| partition.unproved.is_some())
}

/// For how long a query that has read all could be down: what arrives next lives at least so long.
fn spare(verdict: &QueryVerdict, now: Moment) -> Line {
    let is_proved = verdict.topics.values().all(|topic| topic.deadline.is_some());
    match deadline(verdict).filter(|_| is_proved) {
        Some(Deadline::At(at)) if at > now => Line::timed(
            format!("could be down for {}, until ", words::duration(at.since(now))),
            Stamp::clock(at, now),
            "",
        ),
        Some(Deadline::Never) if all_is_left(verdict) => Line::plain("could be down for ever: no time limit"),
        _ => Line::default(),
    }
}

fn all_is_left(verdict: &QueryVerdict) -> bool {
    verdict.topics.values().all(|topic| topic.ratio.is_some_and(|ratio| ratio >= 1.0))
}

/// Which part follows what is already lost.
pub(super) fn next_to_go(verdict: &QueryVerdict, now: Moment) -> Line {
    match deadline(verdict) {
        Some(Deadline::At(at)) if at > now => Line::timed(
            "the next partition follows from ",
            Stamp::clock(at, now),
            format!(", in {}", words::duration(at.since(now))),
        ),
        Some(Deadline::At(_)) => Line::plain("the next partition may follow at any moment"),
        Some(Deadline::Never) | None => Line::default(),
    }
}

/// Why it cannot be told, and what was proved before.
fn not_read(verdict: &QueryVerdict, now: Moment) -> (String, Line) {
    let known = last_known(verdict, now);
    let Some(unread) = &verdict.unreadable else { return (verdict.reason.to_string(), known) };
    let known = if known.before.is_empty() { Line::plain(unread.detail.clone()) } else { known };
    (words::spoken(unread.reason.label()), known)
}

fn last_known(verdict: &QueryVerdict, now: Moment) -> Line {
    match deadline(verdict) {
        Some(Deadline::At(at)) if at > now => Line::timed("last known: safe until ", Stamp::clock(at, now), ""),
        Some(Deadline::At(at)) => Line::timed("last known: safe until ", Stamp::clock(at, now), ", and that is over"),
        Some(Deadline::Never) => Line::plain("last known: no time limit"),
        None => Line::default(),
    }
}

fn batch(verdict: Option<&QueryVerdict>, now: Moment) -> (Line, String) {
    let Some(verdict) = verdict else { return (Line::plain("unknown"), String::new()) };
    let committed = verdict.newest_committed.map(|batch| format!("batch {}", words::count(batch.0)));
    let open = verdict.open_batch_at.map(|at| format!("open for {}", words::duration(now.since(at))));
    let more = committed.into_iter().chain(open).collect::<Vec<String>>().join(" · ");
    let line = match (verdict.last_commit_at, verdict.newest_committed) {
        (Some(at), _) => {
            let ago = format!("{} ago", words::duration(now.since(at)));
            Line::timed("committed ", Stamp { iso: words::rfc3339(at), text: ago }, "")
        }
        (None, Some(_)) => Line::plain("committed, no time known"),
        (None, None) => Line::plain(if verdict.unreadable.is_some() { "unknown" } else { "none" }),
    };
    (line, more)
}
