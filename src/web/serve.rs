//! The server's life: it answers until told to stop, and then ends within a bounded time.

use std::future::IntoFuture;
use std::io;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// How long answers that are under way may take after the word to stop.
pub const GRACE: Duration = Duration::from_secs(2);

/// Serves until `shutdown` is cancelled, then lets answers under way finish, for [`GRACE`] at most.
///
/// # Errors
/// When the listener fails for good.
pub async fn serve(listener: TcpListener, router: Router, shutdown: CancellationToken) -> io::Result<()> {
    let server = axum::serve(listener, router).with_graceful_shutdown(shutdown.clone().cancelled_owned());
    let mut server = std::pin::pin!(server.into_future());
    tokio::select! {
        ended = &mut server => return ended,
        () = shutdown.cancelled() => {}
    }
    timeout(GRACE, server).await.unwrap_or_else(|_| {
        tracing::warn!(grace = ?GRACE, "connections were still open and are cut");
        Ok(())
    })
}
