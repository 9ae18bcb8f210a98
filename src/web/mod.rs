//! What the daemon serves: scrape, health, rules, API, pages.
//!
//! Nothing here asks Kafka or a store, and nothing waits for a round: every answer comes from the board. Whether the
//! process is healthy or ready never depends on whether Kafka answers; an outage is the message, not an error.

mod access;
mod api;
mod fallback;
mod health;
mod pages;
mod reload;
mod renewed;
mod same_origin;
mod scrape;
mod serve;
#[cfg(test)]
mod tests;
pub mod words;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Weak};

use arc_swap::ArcSwap;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Query, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{from_fn, from_fn_with_state, map_response};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tower_http::compression::CompressionLayer;

pub use self::access::{Access, AccessSettings, ClientCertificates, FileError, TlsSettings};
pub use self::reload::ReloadAsked;
pub use self::scrape::about_this_build;
pub use self::serve::{GRACE, serve};
use crate::alerts::Rendered;
use crate::ledger::{Gap, Ledger};
use crate::measures::Moment;
use crate::rounds::board::Board;
use crate::shard::Shard;

/// All that the answers are made of.
#[derive(Clone)]
pub struct WebState(Arc<Shared>);

struct Shared {
    sources: Sources,
    /// Set once and for all when every first round has ended.
    was_ready: AtomicBool,
}

/// Where the answers come from.
#[derive(Clone)]
pub struct Sources {
    /// Where finished rounds hang.
    pub board: Arc<Board>,
    /// Keeps the gaps. Not held: a ledger ends when its rounds end, whoever still looks at a page.
    pub ledger: Weak<dyn Ledger>,
    /// Which of the fleet's queries are shown here.
    pub shard: Shard,
    /// What ends every command of ours on a page, such as the configuration's file.
    pub options: Vec<String>,
    /// Says what time it is.
    pub clock: Clock,
    /// What the configuration decides: swapped whole.
    pub settings: Arc<ArcSwap<Settings>>,
    /// Whom to ask that the configuration be read again.
    pub reload: mpsc::Sender<ReloadAsked>,
    /// Cancelled when the process begins to stop: from then on it is not ready.
    pub stopping: CancellationToken,
}

impl fmt::Debug for Sources {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sources").field("settings", &self.settings).finish_non_exhaustive()
    }
}

/// What the configuration decides of the answers.
pub struct Settings {
    /// Who may ask.
    pub access: Arc<Access>,
    /// Bootstrap servers by cluster, for commands on pages.
    pub brokers: BTreeMap<String, String>,
    /// The effective configuration, with secrets redacted.
    pub config: String,
    /// Makes the alert rules.
    pub rules: Rules,
    /// Whether it may be read again when somebody asks for it by HTTP.
    pub enable_reload: bool,
}

impl fmt::Debug for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Settings").field("access", &self.access).field("brokers", &self.brokers).finish_non_exhaustive()
    }
}

/// Says what time it is.
pub type Clock = Arc<dyn Fn() -> Moment + Send + Sync>;
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
    /// Answers out of these sources.
    #[must_use]
    pub fn new(sources: Sources) -> Self {
        Self(Arc::new(Shared { sources, was_ready: AtomicBool::new(false) }))
    }

    fn board(&self) -> &Board {
        &self.0.sources.board
    }

    fn now(&self) -> Moment {
        (self.0.sources.clock)()
    }

    fn settings(&self) -> Arc<Settings> {
        self.0.sources.settings.load_full()
    }

    fn shard(&self) -> Shard {
        self.0.sources.shard
    }

    fn options(&self) -> &[String] {
        &self.0.sources.options
    }

    /// Whether what is remembered outlives the process, so that commands can read it.
    fn remembers(&self) -> bool {
        self.ledger().is_some_and(|ledger| ledger.keeps_memories())
    }

    /// Where the ledger lies, if anywhere.
    fn ledger_lies_at(&self) -> Option<String> {
        self.ledger()?.lies_at()
    }

    fn ledger(&self) -> Option<Arc<dyn Ledger>> {
        self.0.sources.ledger.upgrade()
    }

    /// Every gap; absent while the ledger does not answer.
    async fn gaps(&self) -> Option<Vec<Gap>> {
        self.ledger()?.gaps().await
    }
}

impl fmt::Debug for WebState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebState").finish_non_exhaustive()
    }
}

/// Every path that is answered.
pub fn router(state: WebState) -> Router {
    let compressed = Router::new()
        .route("/", get(pages::fleet))
        .route("/queries/{query}", get(pages::query))
        .route("/gaps", get(pages::gaps))
        .route("/gaps/settle", post(pages::settle).layer(DefaultBodyLimit::max(LARGEST_FORM)))
        .route("/assets/brinkwatch.css", get(pages::style))
        .route("/config", get(config))
        .route("/rules", get(rules))
        .route("/api/v1/queries", get(api::queries))
        .route("/api/v1/queries/{query}", get(api::query))
        .route("/api/v1/gaps", get(api::gaps))
        .route("/api/v1/targets", get(api::targets))
        .route("/api/v1/openapi.json", get(api::openapi))
        .layer(CompressionLayer::new());
    // A scrape is compressed when a round ends, once for all who ask.
    Router::new()
        .route("/metrics", get(scrape::metrics))
        .route("/-/healthy", get(health::healthy))
        .route("/-/ready", get(health::ready))
        .route("/-/reload", post(reload::reload))
        .merge(compressed)
        .fallback(fallback::not_found)
        .layer(from_fn(same_origin::check))
        .layer(from_fn_with_state(state.clone(), access::authenticate))
        .layer(map_response(guard))
        .with_state(state)
}

/// Ten thousand gaps, each with a long number.
const LARGEST_FORM: usize = 256 * 1_024;

/// No page may load or run anything but its own style, whatever text got into it.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";

async fn guard(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    // To ourselves only, where a form's origin is looked at.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

async fn config(State(state): State<WebState>) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; charset=utf-8")], state.settings().config.clone()).into_response()
}

#[derive(Deserialize)]
struct RulesQuestion {
    #[serde(default)]
    format: RulesFormat,
}

/// A sidecar that asks often and holds the newest text is told so in a few bytes.
async fn rules(State(state): State<WebState>, Query(question): Query<RulesQuestion>, headers: HeaderMap) -> Response {
    let Rendered { text, etag } = (state.settings().rules)(question.format);
    let is_known = knows(&headers, &etag);
    let head = [(header::ETAG, etag), (header::CACHE_CONTROL, "no-cache".to_owned())];
    if is_known {
        return (StatusCode::NOT_MODIFIED, head).into_response();
    }
    (head, [(header::CONTENT_TYPE, "application/yaml; charset=utf-8")], text).into_response()
}

/// Whether the asker holds the answer with this tag. Compared weakly, as a question for something newer must be.
fn knows(headers: &HeaderMap, etag: &str) -> bool {
    let strong = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    let known = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    known.flat_map(|tags| tags.split(',')).any(|tag| tag.trim() == "*" || strong(tag) == strong(etag))
}
