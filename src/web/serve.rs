//! The server's life: it answers until told to stop, and then ends within a bounded time.
//!
//! Who connects and then says nothing, or takes its answer too slowly, is cut off after a while; and no more than so
//! many connections are held at once. So a scraper that hangs costs a place for some time, and never an answer to
//! another.

use std::future::IntoFuture;
use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_io_timeout::TimeoutStream;
use tokio_util::sync::CancellationToken;

/// How long answers that are under way may take after the word to stop.
pub const GRACE: Duration = Duration::from_secs(2);

/// What a client may cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Connections at once; further ones wait in the system's queue.
    pub(super) connections: usize,
    /// Without a word for so long, a client is cut off. More than a usual scrape interval, so that its connection stays.
    pub(super) silence: Duration,
    /// Without taking a byte for so long, a client is cut off.
    pub(super) stall: Duration,
}

const LIMITS: Limits = Limits { connections: 1_024, silence: Duration::from_secs(90), stall: Duration::from_secs(30) };

/// Serves until `shutdown` is cancelled, then lets answers under way finish, for [`GRACE`] at most.
///
/// # Errors
/// When the listener fails for good.
pub async fn serve(listener: TcpListener, router: Router, shutdown: CancellationToken) -> io::Result<()> {
    serve_within(LIMITS, listener, router, shutdown).await
}

pub(super) async fn serve_within(
    limits: Limits,
    listener: TcpListener,
    router: Router,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let listener = Guard { listener, limits, places: Arc::new(Semaphore::new(limits.connections)) };
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

/// Takes connections as long as there is a place for them.
struct Guard {
    listener: TcpListener,
    limits: Limits,
    places: Arc<Semaphore>,
}

impl Listener for Guard {
    type Io = Guarded;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        // The semaphore is never closed.
        let place = Arc::clone(&self.places).acquire_owned().await.ok();
        let (stream, address) = Listener::accept(&mut self.listener).await;
        let mut stream = TimeoutStream::new(stream);
        stream.set_read_timeout(Some(self.limits.silence));
        stream.set_write_timeout(Some(self.limits.stall));
        (Guarded { stream: Box::pin(stream), _place: place }, address)
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

/// A connection that ends when its client hangs, and gives its place back.
struct Guarded {
    stream: Pin<Box<TimeoutStream<TcpStream>>>,
    _place: Option<OwnedSemaphorePermit>,
}

impl AsyncRead for Guarded {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_read(cx, buffer)
    }
}

impl AsyncWrite for Guarded {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.stream.as_mut().poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream.as_mut().poll_shutdown(cx)
    }
}
