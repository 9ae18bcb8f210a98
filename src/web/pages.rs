//! The pages for people: the fleet, one query, the gaps. No script, nothing from another host.
//!
//! Whatever a page says is worked out here; a template only prints it.

mod chart;
mod fleet;
mod gaps;
mod heat;
mod partitions;
mod picture;
mod query;
mod row;
mod settle;
mod steps;
mod tone;

use std::collections::BTreeMap;

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

#[cfg(test)]
pub(in crate::web) use self::fleet::encode;
pub(in crate::web) use self::settle::settle;
pub(in crate::web) use self::tone::tone;
use super::WebState;
use super::words::{self, clock, clock_in_full, rfc3339};
use crate::measures::Moment;
use crate::metrics::snapshot::ClusterRound;
use crate::shard::Shard;

const REFRESH: HeaderName = HeaderName::from_static("refresh");

/// The list of all queries. It renews itself, unless it is asked not to.
pub(super) async fn fleet(State(state): State<WebState>, Query(question): Query<fleet::Question>) -> Response {
    let now = state.now();
    let remembers = state.remembers();
    let page = fleet::page(&state.board().snapshot(now), state.shard(), &question, remembers, now);
    let mut response = html(StatusCode::OK, &page);
    if !question.paused() {
        response.headers_mut().insert(REFRESH, HeaderValue::from_static("30"));
    }
    response
}

/// One query. It never renews itself: someone may be copying from it.
pub(super) async fn query(
    State(state): State<WebState>,
    Path(name): Path<String>,
    Query(question): Query<query::Question>,
) -> Response {
    let now = state.now();
    let (rounds, shard) = (state.board().snapshot(now), state.shard());
    if !rounds.iter().any(|round| round.queries.contains_key(&name)) {
        return html(StatusCode::NOT_FOUND, &query::missing(&rounds, shard, &name, now));
    }
    let (gaps, settings) = (state.gaps().await, state.settings());
    let around = query::Around {
        gaps: gaps.as_deref(),
        brokers: &settings.brokers,
        options: state.options(),
        remembers: state.remembers(),
        settles: settings.access.knows_callers(),
    };
    match query::page(&rounds, shard, &name, &question, &around, now) {
        Some(page) => html(StatusCode::OK, &page),
        None => html(StatusCode::NOT_FOUND, &query::missing(&rounds, shard, &name, now)),
    }
}

/// What was lost, and what became of it.
pub(super) async fn gaps(State(state): State<WebState>, Query(question): Query<gaps::Question>) -> Response {
    let now = state.now();
    let frame = Frame::new("gaps", &state.board().snapshot(now), state.shard(), now);
    let gaps = state.gaps().await;
    let around = gaps::Around {
        options: state.options(),
        settles: state.settings().access.knows_callers(),
        remembers: state.remembers(),
        lies_at: state.ledger_lies_at(),
    };
    html(StatusCode::OK, &gaps::page(frame, gaps.as_deref(), &question, &around, now))
}

/// The one style sheet.
pub(super) async fn style() -> Response {
    let head = [(header::CONTENT_TYPE, "text/css; charset=utf-8"), (header::CACHE_CONTROL, "max-age=300")];
    (head, include_str!("assets/brinkwatch.css")).into_response()
}

fn html(status: StatusCode, page: &impl Template) -> Response {
    match page.render() {
        Ok(text) => (status, [(header::CONTENT_TYPE, "text/html; charset=utf-8")], text).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("cannot write the page: {error}\n")).into_response(),
    }
}

/// What every page says around its content.
#[derive(Debug)]
pub(super) struct Frame {
    /// Which page it is.
    page: &'static str,
    as_of: Stamp,
    /// Clusters whose newest round is too old, in words.
    stale: Vec<String>,
    /// Which part of the fleet is shown, where it is cut into shards.
    shard: Option<String>,
    version: &'static str,
}

impl Frame {
    fn new(page: &'static str, rounds: &[impl AsRef<ClusterRound>], shard: Shard, now: Moment) -> Self {
        let stale = rounds
            .iter()
            .map(AsRef::as_ref)
            .filter(|round| round.is_stale(now))
            .filter_map(|round| {
                Some(format!("no round of {} has ended since {}", round.cluster, clock(round.finished_at?, now)))
            })
            .collect();
        Self {
            page,
            as_of: Stamp { iso: rfc3339(now), text: clock_in_full(now) },
            stale,
            shard: (!shard.is_whole()).then(|| words::shard(shard)),
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

/// A moment for machines and for people.
#[derive(Debug)]
pub(super) struct Stamp {
    iso: String,
    text: String,
}

impl Stamp {
    fn clock(at: Moment, now: Moment) -> Self {
        Self { iso: rfc3339(at), text: clock(at, now) }
    }
}

/// A line with at most one moment in it.
#[derive(Debug, Default)]
pub(super) struct Line {
    before: String,
    time: Option<Stamp>,
    after: String,
}

impl Line {
    fn plain(text: impl Into<String>) -> Self {
        Self { before: text.into(), ..Self::default() }
    }

    fn timed(before: impl Into<String>, time: Stamp, after: impl Into<String>) -> Self {
        Self { before: before.into(), time: Some(time), after: after.into() }
    }
}

/// A name with its value, for the band at the top of a page.
#[derive(Debug)]
pub(super) struct Fact {
    name: &'static str,
    value: String,
    more: Line,
    toned: bool,
}

/// A link that shows one kind only.
#[derive(Debug)]
pub(super) struct Chip {
    label: String,
    symbol: Option<&'static str>,
    class: &'static str,
    count: usize,
    link: String,
    current: bool,
}

/// Where the others are.
#[derive(Debug)]
pub(super) struct Pager {
    text: String,
    before: Option<String>,
    after: Option<String>,
}

/// Keeps what belongs on the page that is asked for, and says where the rest is.
fn paged<T>(mut all: Vec<T>, on_a_page: usize, asked: &str, link: impl Fn(&str) -> String) -> (Vec<T>, Option<Pager>) {
    let (whole, pages) = (all.len(), all.len().div_ceil(on_a_page));
    if pages <= 1 {
        return (all, None);
    }
    let page = asked.parse::<usize>().unwrap_or(1).clamp(1, pages);
    let first = (page - 1) * on_a_page;
    all.drain(..first);
    all.truncate(on_a_page);
    let pager = Pager {
        text: format!("{} to {} of {}", first + 1, first + all.len(), super::words::count(row::number(whole))),
        before: (page > 1).then(|| link(&(page - 1).to_string())),
        after: (page < pages).then(|| link(&(page + 1).to_string())),
    };
    (all, Some(pager))
}

/// A page's address with some parts changed; what is empty is left out.
fn address(path: &str, parts: &[(&str, &str)], changes: &[(&str, &str)]) -> String {
    let parts: BTreeMap<&str, &str> = parts.iter().chain(changes).copied().collect();
    let filled = parts.into_iter().filter(|(_, value)| !value.is_empty());
    let query: Vec<String> = filled.map(|(key, value)| format!("{key}={}", fleet::encode(value))).collect();
    if query.is_empty() { path.to_owned() } else { format!("{path}?{}", query.join("&")) }
}
