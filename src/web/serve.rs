//! The server's life: it answers until told to stop, and then ends within a bounded time.
//!
//! Who connects and then says nothing, or takes its answer too slowly, is cut off after a while; and no more than so
//! many connections are held at once. So a scraper that hangs costs a place for some time, and never an answer to
//! another.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::serve::Listener;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::access::Tls;
use super::{WebState, router};

/// How long answers that are under way may take after the word to stop. Less than the daemon gives to all its parts, so
/// that it is said which connections were cut.
pub const GRACE: Duration = Duration::from_millis(1_200);

/// What a client may cost.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Connections at once; further ones wait in the system's queue.
    pub(super) connections: usize,
    /// A client must have agreed on encryption within so long.
    pub(super) handshake: Duration,
    /// Without a word for so long, a client is cut off; and so long after it connected, or after its last answer, the
    /// head of its next question must be whole. More than a usual scrape interval, so that its connection stays.
    pub(super) silence: Duration,
    /// Without taking a byte for so long, a client is cut off.
    pub(super) stall: Duration,
    /// Bytes of a question's head, give or take what one read brings: all that a browser behind some proxies sends,
    /// several times over.
    pub(super) head: usize,
}

pub(super) const LIMITS: Limits = Limits {
    connections: 1_024,
    handshake: Duration::from_secs(10),
    silence: Duration::from_secs(90),
    stall: Duration::from_secs(30),
    head: 32 * 1_024,
};

/// Serves until `shutdown` is cancelled, then lets answers under way finish, for [`GRACE`] at most.
pub async fn serve(listener: TcpListener, state: WebState, shutdown: CancellationToken) {
    serve_within(LIMITS, listener, state, shutdown).await;
}

pub(super) async fn serve_within(
    limits: Limits,
    mut listener: TcpListener,
    state: WebState,
    shutdown: CancellationToken,
) {
    let places = Arc::new(Semaphore::new(limits.connections));
    let router = router(state.clone());
    // Dropped with what is left in it, which cuts it off.
    let mut connections = JoinSet::new();
    let next = async |listener: &mut TcpListener| {
        // The semaphore is never closed.
        let place = Arc::clone(&places).acquire_owned().await.ok();
        (place, Listener::accept(listener).await.0)
    };
    loop {
        let (place, stream) = tokio::select! {
            () = shutdown.cancelled() => break,
            accepted = next(&mut listener) => accepted,
        };
        let (router, shutdown) = (router.clone(), shutdown.clone());
        let tls = state.settings().access.tls().cloned();
        connections.spawn(async move {
            let _place = place;
            connection(limits, stream, tls, router, shutdown).await;
        });
        while connections.try_join_next().is_some() {}
    }
    drop(listener);
    if timeout(GRACE, async { while connections.join_next().await.is_some() {} }).await.is_err() {
        tracing::warn!(grace = ?GRACE, "connections were still open and are cut");
    }
}

async fn connection(limits: Limits, stream: TcpStream, tls: Option<Tls>, router: Router, shutdown: CancellationToken) {
    let Some(tls) = tls else { return talk(limits, guarded(limits, stream), router, shutdown).await };
    let agreed = tokio::select! {
        () = shutdown.cancelled() => return,
        agreed = timeout(limits.handshake, encrypted(limits, stream, &tls)) => agreed,
    };
    match agreed {
        Ok(Ok(Some(stream))) => talk(limits, stream, router, shutdown).await,
        Ok(Ok(None)) => tracing::debug!("a client spoke without encryption"),
        Ok(Err(error)) => tracing::debug!(%error, "a client and we did not agree on encryption"),
        Err(_) => tracing::debug!("a client took too long to agree on encryption"),
    }
}

/// What each encrypted connection begins with.
const HANDSHAKE: u8 = 22;
const PLAIN: &[u8] = b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\nconnection: close\r\n\
                       content-length: 24\r\n\r\nthis port speaks HTTPS.\n";

/// Agrees on encryption; `None` when the client speaks plain HTTP, which is told why that does not work here.
async fn encrypted(
    limits: Limits,
    stream: TcpStream,
    tls: &Tls,
) -> io::Result<Option<impl AsyncRead + AsyncWrite + Unpin + Send + 'static>> {
    let mut first = [0];
    if stream.peek(&mut first).await? == 1 && first[0] != HANDSHAKE {
        let mut stream = stream;
        // What is left unread would have the answer thrown away with the connection.
        let mut head = vec![0; limits.head];
        if stream.read(&mut head).await? > 0 {
            stream.write_all(PLAIN).await?;
            stream.shutdown().await?;
        }
        return Ok(None);
    }
    let acceptor = TlsAcceptor::from(tls.current().await);
    acceptor.accept(guarded(limits, stream)).await.map(Some)
}

/// A connection that ends when its client hangs.
fn guarded(limits: Limits, stream: TcpStream) -> std::pin::Pin<Box<TimeoutStream<TcpStream>>> {
    let mut stream = TimeoutStream::new(stream);
    stream.set_read_timeout(Some(limits.silence));
    stream.set_write_timeout(Some(limits.stall));
    Box::pin(stream)
}

/// Answers until the client has had enough, or the daemon stops.
async fn talk(
    limits: Limits,
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    shutdown: CancellationToken,
) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(limits.silence).max_buf_size(limits.head);
    let mut talk = pin!(http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router)));
    let ended = tokio::select! {
        ended = talk.as_mut() => ended,
        () = shutdown.cancelled() => {
            talk.as_mut().graceful_shutdown();
            talk.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection broke off");
    }
}
