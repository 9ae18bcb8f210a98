//! The pages' content as JSON. Unknown is null, no limit is the text `never`, times are RFC 3339.

mod shapes;

use std::collections::BTreeSet;

use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

use self::shapes::{QueryDetail, QuerySummary, Target};
use super::WebState;
use super::fallback::nearest;

#[derive(Serialize)]
struct Queries {
    version: u32,
    as_of: String,
    queries: Vec<QuerySummary>,
}

#[derive(Serialize)]
struct OneQuery {
    version: u32,
    as_of: String,
    query: String,
    clusters: Vec<QueryDetail>,
}

#[derive(Serialize)]
struct Targets {
    version: u32,
    as_of: String,
    targets: Vec<Target>,
}

#[derive(Serialize)]
struct NotFound<'a> {
    version: u32,
    error: &'static str,
    nearest: Vec<&'a str>,
}

pub(super) async fn queries(State(state): State<WebState>) -> Response {
    let now = state.now();
    let mut queries = Vec::new();
    for round in state.board().snapshot(now) {
        queries.extend(round.queries.iter().map(|(name, query)| QuerySummary::of(&round, name, query, now)));
    }
    json(StatusCode::OK, &Queries { version: 1, as_of: super::words::rfc3339(now), queries })
}

pub(super) async fn query(State(state): State<WebState>, Path(wanted): Path<String>) -> Response {
    let now = state.now();
    let rounds = state.board().snapshot(now);
    let clusters: Vec<QueryDetail> = rounds
        .iter()
        .filter_map(|round| Some(QueryDetail::of(round, &wanted, round.queries.get(&wanted)?, now)))
        .collect();
    if clusters.is_empty() {
        let names: BTreeSet<&str> = rounds.iter().flat_map(|round| round.queries.keys()).map(String::as_str).collect();
        let answer = NotFound { version: 1, error: "no such query", nearest: nearest(&wanted, names) };
        return json(StatusCode::NOT_FOUND, &answer);
    }
    json(StatusCode::OK, &OneQuery { version: 1, as_of: super::words::rfc3339(now), query: wanted, clusters })
}

pub(super) async fn targets(State(state): State<WebState>) -> Response {
    let now = state.now();
    let targets = state.board().snapshot(now).iter().flat_map(|round| shapes::targets(round)).collect();
    json(StatusCode::OK, &Targets { version: 1, as_of: super::words::rfc3339(now), targets })
}

fn json(status: StatusCode, answer: &impl Serialize) -> Response {
    match serde_json::to_vec(answer) {
        Ok(text) => (status, [(header::CONTENT_TYPE, "application/json")], text).into_response(),
        Err(error) => {
            (StatusCode::INTERNAL_SERVER_ERROR, format!("cannot write the answer: {error}\n")).into_response()
        }
    }
}
