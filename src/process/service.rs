//! What the service manager is told: systemd's `Type=notify`. Without one, nobody is told anything.

use sd_notify::NotifyState;
use tracing::warn;

/// The address is taken and HTTP answers. Not later: the service has started, whatever Kafka or a store does.
pub fn tell_ready() {
    tell(&NotifyState::Ready);
}

/// It has begun to stop.
pub fn tell_stopping() {
    tell(&NotifyState::Stopping);
}

fn tell(state: &NotifyState<'_>) {
    // The variable stays: other threads may be reading the environment.
    if let Err(cause) = sd_notify::notify(false, std::slice::from_ref(state)) {
        warn!(%state, error = %cause, "the service manager could not be told");
    }
}
