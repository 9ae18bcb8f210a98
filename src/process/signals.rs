//! What the operating system asks of the process.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

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
}
