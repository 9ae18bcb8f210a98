//! What the service manager is told: systemd's `Type=notify`. Without one, nobody is told anything.

use std::future::pending;
use std::time::Duration;

use sd_notify::NotifyState;
use tokio::time::{Interval, MissedTickBehavior, interval};
use tracing::warn;

/// The address is taken and HTTP answers. Not later: the service has started, whatever Kafka or a store does.
pub fn tell_ready() {
    tell(&[NotifyState::Ready]);
}

/// The configuration is being read again; [`tell_ready`] ends it.
pub fn tell_reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(cause) => warn!(error = %cause, "the system does not tell its monotonic time"),
    }
}

/// It has begun to stop.
pub fn tell_stopping() {
    tell(&[NotifyState::Stopping]);
}

/// It is alive, as the watchdog wants to hear again and again.
pub fn tell_alive() {
    tell(&[NotifyState::Watchdog]);
}

/// When the watchdog wants to hear of us.
#[derive(Debug)]
pub struct Watchdog(Option<Interval>);

impl Watchdog {
    /// As the service manager asked for (`WatchdogSec=`), or never.
    #[must_use]
    pub fn asked_for() -> Self {
        let mut micros = 0;
        // The variables stay: other threads may be reading the environment.
        let is_asked_for = sd_notify::watchdog_enabled(false, &mut micros) && micros > 0;
        Self(is_asked_for.then(|| {
            // Twice as often as it must be, so that a late one does no harm.
            let mut ticks = interval((Duration::from_micros(micros) / 2).max(Duration::from_millis(1)));
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            ticks
        }))
    }

    /// Waits until it is time.
    pub async fn due(&mut self) {
        match &mut self.0 {
            Some(ticks) => {
                ticks.tick().await;
            }
            None => pending().await,
        }
    }
}

fn tell(states: &[NotifyState<'_>]) {
    // The variable stays: other threads may be reading the environment.
    if let Err(cause) = sd_notify::notify(false, states) {
        warn!(?states, error = %cause, "the service manager could not be told");
    }
}
