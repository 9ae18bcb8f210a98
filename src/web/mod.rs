//! What the daemon serves: scrape, health, rules, API, pages.
//!
//! Nothing here asks Kafka or a store, and nothing waits for a round: every answer comes from the board. Whether the
//! process is healthy or ready never depends on whether Kafka answers; an outage is the message, not an error.

mod api;
mod fallback;
mod health;
mod pages;
mod scrape;
mod serve;
#[cfg(test)]
mod tests;
pub mod words;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use axum::Router;
use axum::extract::{Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::map_response;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Deserialize;
use tokio_util::sync::CancellationToken;

pub use self::scrape::about_this_build;
pub use self::serve::{GRACE, serve};
use crate::alerts::Rendered;
use crate::measures::Moment;
use crate::rounds::board::Board;

/// All that the answers are made of.
#[derive(Clone)]
pub struct WebState(Arc<Shared>);

struct Shared {
    board: Arc<Board>,
    clock: Clock,
    config: Text,
    rules: Rules,
    /// Cancelled when the process begins to stop: from then on it is not ready.
    stopping: CancellationToken,
    /// Set once and for all when every first round has ended.
    was_ready: AtomicBool,
}

/// Says what time it is.
pub type Clock = Arc<dyn Fn() -> Moment + Send + Sync>;
/// Makes a text when it is asked for.
pub type Text = Arc<dyn Fn() -> String + Send + Sync>;
/// Makes the rule file in a format.
pub type Rules = Arc<dyn Fn(RulesFormat) -> Rendered + Send + Sync>;

/// The forms in which alert rules are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RulesFormat {
    /// A rule file of Prometheus.
    #[default]
    Prometheus,
    /// A `PrometheusRule` of the Prometheus operator.
    PrometheusRule,
}

impl WebState {
    /// Names the sources of the answers. `config` makes the effective configuration with secrets redacted.
    #[must_use]
    pub fn new(board: Arc<Board>, clock: Clock, config: Text, rules: Rules, stopping: CancellationToken) -> Self {
        Self(Arc::new(Shared { board, clock, config, rules, stopping, was_ready: AtomicBool::new(false) }))
    }

    fn board(&self) -> &Board {
        &self.0.board
    }

    fn now(&self) -> Moment {
        (self.0.clock)()
    }
}

impl fmt::Debug for WebState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebState").finish_non_exhaustive()
    }
}

/// Every path that is answered.
pub fn router(state: WebState) -> Router {
    Router::new()
        .route("/", get(pages::fleet))
        .route("/queries/{query}", get(pages::query))
        .route("/assets/brinkwatch.css", get(pages::style))
        .route("/metrics", get(scrape::metrics))
        .route("/-/healthy", get(health::healthy))
        .route("/-/ready", get(health::ready))
        .route("/config", get(config))
        .route("/rules", get(rules))
        .route("/api/v1/queries", get(api::queries))
        .route("/api/v1/queries/{query}", get(api::query))
        .route("/api/v1/targets", get(api::targets))
        .fallback(fallback::not_found)
        .layer(map_response(guard))
        .with_state(state)
}

/// No page may load or run anything but its own style, whatever text got into it.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";

async fn guard(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

async fn config(State(state): State<WebState>) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], (state.0.config)()).into_response()
}

#[derive(Deserialize)]
struct RulesQuestion {
    #[serde(default)]
    format: RulesFormat,
}

/// A sidecar that asks often and holds the newest text is told so in a few bytes.
async fn rules(State(state): State<WebState>, Query(question): Query<RulesQuestion>, headers: HeaderMap) -> Response {
    let Rendered { text, etag } = (state.0.rules)(question.format);
    let known = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let is_known = known.flat_map(|tags| tags.split(',')).any(|tag| matches!(tag.trim(), "*") || tag.trim() == etag);
    let head = [(header::ETAG, etag), (header::CACHE_CONTROL, "no-cache".to_owned())];
    if is_known {
        return (StatusCode::NOT_MODIFIED, head).into_response();
    }
    (head, [(header::CONTENT_TYPE, "application/yaml; charset=utf-8")], text).into_response()
}
