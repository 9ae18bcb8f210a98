//! What the operating system asks of the process.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{Notify, mpsc};
use tokio::time::sleep;
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

/// The signals that ask for an end: SIGTERM (init systems, Kubernetes) and SIGINT (a person at a terminal).
#[derive(Debug)]
pub struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    /// Takes both signals over from their default handling. Do it before anything that must be stopped in order.
    ///
    /// # Errors
    /// When the operating system refuses a handler.
    pub fn take_over() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for the next one, and names it. Can be called again: a second signal means *at once*.
    pub async fn next(&mut self) -> &'static str {
        tokio::select! {
            _ = self.terminate.recv() => "SIGTERM",
            _ = self.interrupt.recv() => "SIGINT",
        }
    }

    /// For a process that has nothing to finish: one that nobody hears within `patience` (they may be waiting for a disk
    /// that hangs), or a second one meanwhile, ends the process, with code 0 as asked.
    #[must_use]
    pub fn heard_within(self, patience: Duration) -> HeardSignals {
        let (tell, came) = mpsc::unbounded_channel();
        let heard = Arc::new(Notify::new());
        tokio::spawn(pass_on(self, patience, tell, Arc::clone(&heard)));
        HeardSignals { came, heard }
    }
}

/// Stop signals that are received by a task of their own.
#[derive(Debug)]
pub struct HeardSignals {
    came: mpsc::UnboundedReceiver<&'static str>,
    heard: Arc<Notify>,
}

impl HeardSignals {
    /// As [`StopSignals::next`].
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
    mut signals: StopSignals,
    patience: Duration,
    tell: mpsc::UnboundedSender<&'static str>,
    heard: Arc<Notify>,
) {
    loop {
        let signal = tokio::select! {
            () = tell.closed() => return,
            signal = signals.next() => signal,
        };
        if tell.send(signal).is_err() {
            return;
        }
        tokio::select! {
            biased;
            () = heard.notified() => {}
            second = signals.next() => at_once(second),
            () = sleep(patience) => at_once(signal),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "nobody else can end the process while its main thread waits for a disk")]
fn at_once(signal: &'static str) {
    warn!(signal, "stopping at once: something else is waited for, such as a disk that hangs");
    std::process::exit(0);
}
