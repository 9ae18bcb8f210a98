//! Is the process alive, and may traffic come.

use std::sync::atomic::Ordering;

use axum::extract::State;
use axum::http::StatusCode;

use super::WebState;

/// Answers as long as the process can answer; touches nothing outside.
pub(super) async fn healthy() -> &'static str {
    "healthy\n"
}

/// Ready once the first round of every cluster has ended, well or badly; never taken back but for the stop, so that a
/// cluster that is added later, or an outage, takes no dashboard away.
pub(super) async fn ready(State(state): State<WebState>) -> (StatusCode, &'static str) {
    if state.0.sources.stopping.is_cancelled() {
        return (StatusCode::SERVICE_UNAVAILABLE, "stopping\n");
    }
    if state.0.was_ready.load(Ordering::Relaxed) || state.board().is_ready() {
        state.0.was_ready.store(true, Ordering::Relaxed);
        return (StatusCode::OK, "ready\n");
    }
    (StatusCode::SERVICE_UNAVAILABLE, "the first round of a cluster has not ended yet\n")
}
