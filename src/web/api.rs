//! The pages' content as JSON. Unknown is null, no limit is the text `never`, times are RFC 3339.
//!
//! `openapi.json` describes every answer, and a test holds the answers against it. An answer carries a weak `ETag` over
//! its content, the moment of asking left out: whoever asks often is told in a few bytes that nothing changed.

mod csv;
mod shapes;

use std::collections::BTreeSet;

use axum::extract::{Path, Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use self::shapes::{QueryDetail, QuerySummary, Target, ToldGap};
use super::WebState;
use super::fallback::nearest;
use super::words::rfc3339;
use crate::measures::Moment;
use crate::metrics::snapshot::Span;

const JSON: &str = "application/json";

#[derive(Serialize)]
struct Answer<T> {
    version: u32,
    as_of: String,
    #[serde(flatten)]
    content: T,
}

#[derive(Serialize)]
struct Queries {
    queries: Vec<QuerySummary>,
}

#[derive(Serialize)]
struct OneQuery {
    query: String,
    clusters: Vec<QueryDetail>,
}

#[derive(Serialize)]
struct Gaps {
    gaps: Vec<ToldGap>,
}

#[derive(Serialize)]
struct Targets {
    targets: Vec<Target>,
}

#[derive(Serialize)]
struct NotFound<'a> {
    error: &'static str,
    nearest: Vec<&'a str>,
}

/// How one query is asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Question {
    format: Format,
    span: String,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Format {
    #[default]
    Json,
    Csv,
}

pub(super) async fn queries(State(state): State<WebState>, headers: HeaderMap) -> Response {
    let now = state.now();
    let mut queries = Vec::new();
    for round in state.board().snapshot(now) {
        queries.extend(round.queries.iter().map(|(name, query)| QuerySummary::of(&round, name, query, now)));
    }
    json(&headers, StatusCode::OK, now, Queries { queries })
}

pub(super) async fn query(
    State(state): State<WebState>,
    Path(wanted): Path<String>,
    Query(question): Query<Question>,
    headers: HeaderMap,
) -> Response {
    let now = state.now();
    let rounds = state.board().snapshot(now);
    let span = Span::of_word(&question.span);
    let clusters: Vec<QueryDetail> = rounds
        .iter()
        .filter_map(|round| Some(QueryDetail::of(round, &wanted, round.queries.get(&wanted)?, span, now)))
        .collect();
    if clusters.is_empty() {
        let names: BTreeSet<&str> = rounds.iter().flat_map(|round| round.queries.keys()).map(String::as_str).collect();
        let answer = NotFound { error: "no such query", nearest: nearest(&wanted, names) };
        return json(&headers, StatusCode::NOT_FOUND, now, answer);
    }
    match question.format {
        Format::Json => json(&headers, StatusCode::OK, now, OneQuery { query: wanted, clusters }),
        Format::Csv => {
            let text = csv::partitions(&clusters);
            let etag = etag(text.as_bytes());
            tagged(&headers, StatusCode::OK, etag, "text/csv; charset=utf-8", text.into_bytes())
        }
    }
}

pub(super) async fn gaps(State(state): State<WebState>, headers: HeaderMap) -> Response {
    match state.gaps().await {
        Some(gaps) => {
            let gaps = gaps.iter().map(ToldGap::of).collect();
            json(&headers, StatusCode::OK, state.now(), Gaps { gaps })
        }
        // No list is not an empty list.
        None => {
            let answer = NotFound { error: "the ledger does not answer", nearest: Vec::new() };
            json(&headers, StatusCode::SERVICE_UNAVAILABLE, state.now(), answer)
        }
    }
}

pub(super) async fn targets(State(state): State<WebState>, headers: HeaderMap) -> Response {
    let now = state.now();
    let mut targets: Vec<Target> =
        state.board().snapshot(now).iter().flat_map(|round| shapes::targets(round)).collect();
    targets.extend(state.board().discoveries().iter().map(shapes::looked_through));
    json(&headers, StatusCode::OK, now, Targets { targets })
}

/// What the answers look like, for programs.
pub(super) async fn openapi(headers: HeaderMap) -> Response {
    let text = include_str!("assets/openapi.json").replace("{version}", env!("CARGO_PKG_VERSION"));
    tagged(&headers, StatusCode::OK, etag(text.as_bytes()), JSON, text.into_bytes())
}

fn json(headers: &HeaderMap, status: StatusCode, now: Moment, content: impl Serialize) -> Response {
    let written = serde_json::to_vec(&content)
        .map(|bytes| etag(&bytes))
        .and_then(|etag| Ok((etag, serde_json::to_vec(&Answer { version: 1, as_of: rfc3339(now), content })?)));
    match written {
        Ok((etag, text)) => tagged(headers, status, etag, JSON, text),
        Err(error) => {
            (StatusCode::INTERNAL_SERVER_ERROR, format!("cannot write the answer: {error}\n")).into_response()
        }
    }
}

/// Weak, since the moment of asking is left out, and since the same answer may be sent compressed.
fn etag(content: &[u8]) -> String {
    let digest = Sha256::digest(content);
    let hex: String = digest.iter().take(12).map(|byte| format!("{byte:02x}")).collect();
    format!("W/\"{hex}\"")
}

fn tagged(headers: &HeaderMap, status: StatusCode, etag: String, kind: &'static str, text: Vec<u8>) -> Response {
    let known = super::knows(headers, &etag);
    let head = [(header::ETAG, etag), (header::CACHE_CONTROL, "no-cache".to_owned())];
    if known && status == StatusCode::OK {
        return (StatusCode::NOT_MODIFIED, head).into_response();
    }
    (status, head, [(header::CONTENT_TYPE, kind)], text).into_response()
}
