//! What the operating system asks of the process.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Notify, mpsc};
use tokio::time::timeout;
use tracing::warn;

/// The signal that asks for the configuration to be read again: SIGHUP.
#[derive(Debug)]
pub struct ReloadSignal(Signal);

impl ReloadSignal {
    /// Takes the signal over from its default handling, which would end the process.
    ///
    /// # Errors
    /// When the operating system refuses a handler.
    pub fn take_over() -> io::Result<Self> {
        signal(SignalKind::hangup()).map(Self)
    }

    /// Waits for the next one.
    pub async fn next(&mut self) {
        self.0.recv().await;
    }
}

/// So long a signal may go unheard, while something waits for a disk that hangs, before it ends the process by itself.
const PATIENCE: Duration = Duration::from_millis(1_800);

/// The signals that ask for an end: SIGTERM (init systems, Kubernetes) and SIGINT (a person at a terminal).
///
/// Whoever takes them over may be waiting for a file when one comes. So a task of their own receives them, and ends the
/// process, with code 0 as asked, when one is not heard in time.
#[derive(Debug)]
pub struct StopSignals {
    came: mpsc::UnboundedReceiver<&'static str>,
    heard: Arc<Notify>,
}

impl StopSignals {
    /// Takes both signals over from their default handling. Do it before anything that must be stopped in order.
    ///
    /// # Errors
    /// When the operating system refuses a handler.
    pub fn take_over() -> io::Result<Self> {
        let (terminate, interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let (tell, came) = mpsc::unbounded_channel();
        let heard = Arc::new(Notify::new());
        tokio::spawn(pass_on(terminate, interrupt, tell, Arc::clone(&heard)));
        Ok(Self { came, heard })
    }

    /// Waits for the next one, and names it. Can be called again: a second signal means *at once*.
    pub async fn next(&mut self) -> &'static str {
        match self.came.recv().await {
            Some(name) => {
                self.heard.notify_one();
                name
            }
            // The task that receives them ends only with us.
            None => std::future::pending().await,
        }
    }
}

async fn pass_on(
    mut terminate: Signal,
    mut interrupt: Signal,
    tell: mpsc::UnboundedSender<&'static str>,
    heard: Arc<Notify>,
) {
    loop {
        let name = tokio::select! {
            () = tell.closed() => return,
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        };
        if tell.send(name).is_err() {
            return;
        }
        if timeout(PATIENCE, heard.notified()).await.is_err() {
            at_once(name);
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "nobody else can end the process while its main thread waits for a disk")]
fn at_once(signal: &'static str) {
    warn!(signal, "stopping at once: something else is waited for, such as a disk that hangs");
    std::process::exit(0);
}
