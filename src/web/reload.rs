//! `POST /-/reload`: reads the configuration again, where the configuration allows it.

use axum::extract::State;
use axum::http::StatusCode;
use tokio::sync::oneshot;

use super::WebState;

/// Somebody asked that the configuration be read again, and waits.
#[derive(Debug)]
pub struct ReloadAsked(oneshot::Sender<Result<(), String>>);

impl ReloadAsked {
    /// Says how it went; on a failure, in words.
    pub fn answer(self, outcome: Result<(), String>) {
        if self.0.send(outcome).is_err() {
            tracing::debug!("who asked for the configuration to be read again did not wait");
        }
    }
}

pub(super) async fn reload(State(state): State<WebState>) -> (StatusCode, String) {
    if !state.settings().enable_reload {
        let words =
            "reading the configuration again by HTTP is not allowed; set server.enable_reload, or send SIGHUP\n";
        return (StatusCode::FORBIDDEN, words.to_owned());
    }
    let (tell, told) = oneshot::channel();
    if state.0.sources.reload.send(ReloadAsked(tell)).await.is_err() {
        return (StatusCode::SERVICE_UNAVAILABLE, "stopping\n".to_owned());
    }
    match told.await {
        Ok(Ok(())) => (StatusCode::OK, "the configuration was read again\n".to_owned()),
        Ok(Err(why)) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{why}\n")),
        Err(_) => (StatusCode::SERVICE_UNAVAILABLE, "stopping\n".to_owned()),
    }
}
