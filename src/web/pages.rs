//! The pages for people: the fleet, and one query. No script, nothing from another host.
//!
//! Whatever a page says is worked out here; a template only prints it.

mod fleet;
mod partitions;
mod picture;
mod query;
mod row;
mod tone;

use askama::Template;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};

pub(in crate::web) use self::tone::tone;
use super::WebState;
use super::words::{clock, clock_in_full, rfc3339};
use crate::measures::Moment;
use crate::metrics::snapshot::ClusterRound;

const REFRESH: HeaderName = HeaderName::from_static("refresh");

/// The list of all queries. It renews itself, unless it is asked not to.
pub(super) async fn fleet(State(state): State<WebState>, Query(question): Query<fleet::Question>) -> Response {
    let now = state.now();
    let page = fleet::page(&state.board().snapshot(now), &question, now);
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
    let rounds = state.board().snapshot(now);
    match query::page(&rounds, &name, &question, now) {
        Some(page) => html(StatusCode::OK, &page),
        None => html(StatusCode::NOT_FOUND, &query::missing(&rounds, &name, now)),
    }
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
    as_of: Stamp,
    /// Clusters whose newest round is too old, in words.
    stale: Vec<String>,
    version: &'static str,
}

impl Frame {
    fn new(rounds: &[impl AsRef<ClusterRound>], now: Moment) -> Self {
        let stale = rounds
            .iter()
            .map(AsRef::as_ref)
            .filter(|round| round.is_stale(now))
            .filter_map(|round| {
                Some(format!("no round of {} has ended since {}", round.cluster, clock(round.finished_at?, now)))
            })
            .collect();
        Self { as_of: Stamp { iso: rfc3339(now), text: clock_in_full(now) }, stale, version: env!("CARGO_PKG_VERSION") }
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
